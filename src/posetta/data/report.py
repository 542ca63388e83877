"""`ReadReport`: everything a reader changed, dropped or noticed, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class ReadReport:
    """What reading did to the file, beyond copying it. Nothing happens without a count here."""

    files: tuple[str, ...] = ()
    format: str = ""
    detected: str = ""
    """How the format was decided, in words."""
    notes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Sentence -> how many times it happened. Insertion order is reading order."""

    def lines(self) -> list[str]:
        """Return the report as sentences, counts first."""
        return [f"{count:,} {what}" for what, count in self.notes.items()]

"""`ReadReport`: everything a reader changed, dropped or noticed, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ReadReport:
    """What reading did to the file, beyond copying it. Nothing happens without a count here."""

    files: tuple[str, ...] = ()
    format: str = ""
    """Name of the format; several, separated by commas, when files of different formats merged."""
    detected: str = ""
    """How the format was decided and how it was read, in words."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """Sentence -> how many times it happened. Insertion order is reading order."""

    def lines(self) -> list[str]:
        """Return the report as sentences, counts first."""
        return [f"{count:,} {what}" for what, count in self.notes.items()]

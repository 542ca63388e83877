"""What a reader is: a function from a `Source` to raw traces, and a `Format` that names it.

A reader knows one syntax and nothing else. It decides nothing: repeats, ties and empty traces are
handed on as they stand, and `posetta.data.policies` acts on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from posetta.data.source import Source
from posetta.data.traces import NO_METADATA


@dataclass(slots=True)
class RawTrace:
    """One trace as it stands in the file."""

    labels: Sequence[str]
    """Items, first to last."""
    id: str | None = None
    count: int = 1
    choice_set: Sequence[str] | None = None
    line: int = 0
    """Line of the trace in its file, from 1; 0 when the format has no lines."""
    metadata: Mapping[str, Any] = field(default_factory=lambda: NO_METADATA)
    ranks: Sequence[int] | None = None
    """One number per label, never falling; equal numbers are a tie. None: there are no ties."""
    item_lines: Sequence[int] | None = None
    """Line of each label, where a trace spreads over several lines."""


class Columns(NamedTuple):
    """Names of the columns or attributes to read; None asks for the usual names.

    An empty ``time`` says that the file order counts even though there are times.
    """

    case: str | None = None
    item: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class Parsed:
    """What a reader gives back."""

    traces: Iterator[RawTrace]
    how: str = ""
    """How the file was understood (its separator, its columns), as a short phrase."""
    items: tuple[str, ...] = ()
    """Items that the file itself declares, whether or not a trace lists them."""


@dataclass(frozen=True)
class Format:
    """One file format: how it is called, recognised and read."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, Columns], Parsed]
    """What it skips, it counts in the notes of the source."""
    looks_like: Callable[[str], str]
    """Given the beginning of a file, the reason why it looks like this format, or ``""``."""
    has_columns: bool = False
    """Whether ``case``, ``item`` and ``time`` mean something here."""

"""What happens to repeats, ties and empty traces: one explicit policy each, every act counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from posetta.data.place import trace_fault
from posetta.data.readers.contract import RawTrace
from posetta.errors import choice

REPEATS = ("error", "first", "last", "number")
TIES = ("error", "file-order", "drop")
EMPTY = ("error", "drop")


@dataclass(frozen=True)
class Policies:
    """The policies of one call of `read_traces`, checked."""

    repeats: str = "error"
    ties: str = "error"
    empty: str = "error"

    def __post_init__(self) -> None:
        choice(self.repeats, REPEATS, "repeats")
        choice(self.ties, TIES, "ties")
        choice(self.empty, EMPTY, "empty")

    def apply(self, file: str, name: str, trace: RawTrace, notes: Counter[str]) -> RawTrace | None:
        """Return the trace as the policies leave it, or None if they drop it."""
        if not trace.labels:
            if self.empty == "drop":
                notes["empty trace(s) dropped"] += trace.count
                return None
            raise trace_fault(
                file, trace.line, name, 'is empty. Remove it, or pass empty="drop" to leave it out.'
            )
        if len(set(trace.labels)) < len(trace.labels):
            trace = self._without_repeats(file, name, trace, notes)
        if trace.ranks is not None and (pair := _tied_pair(trace)):
            first, second = pair
            if self.ties == "error":
                raise trace_fault(
                    file,
                    _line_of(trace, second),
                    name,
                    f'has "{trace.labels[first]}" and "{trace.labels[second]}" tied (positions '
                    f'{first + 1} and {second + 1}). A trace is a strict order; pass ties="file-'
                    'order" to keep the order of the file, or ties="drop" to leave the trace out.',
                )
            if self.ties == "drop":
                notes["trace(s) with ties dropped"] += trace.count
                return None
            notes["trace(s) with ties kept in the order of the file"] += trace.count
        return trace

    def _without_repeats(
        self, file: str, name: str, trace: RawTrace, notes: Counter[str]
    ) -> RawTrace:
        labels = trace.labels
        if self.repeats == "error":
            first, second = _repeated_pair(labels)
            raise trace_fault(
                file,
                _line_of(trace, second),
                name,
                f'lists "{labels[first]}" twice (positions {first + 1} and {second + 1}). Each '
                'item may appear once; pass repeats="first" to keep the first.',
            )
        kept = {}
        for position, label in enumerate(labels):
            if self.repeats == "last" or label not in kept:
                kept[label] = position
        positions = sorted(kept.values())
        dropped = (len(labels) - len(positions)) * trace.count
        notes[f"repeated item(s) dropped, the {self.repeats} kept"] += dropped
        return replace(
            trace,
            labels=[labels[k] for k in positions],
            ranks=None if trace.ranks is None else [trace.ranks[k] for k in positions],
            item_lines=None
            if trace.item_lines is None
            else [trace.item_lines[k] for k in positions],
        )


def _repeated_pair(labels: Sequence[str]) -> tuple[int, int]:
    """Return the positions of the first item that is listed again, and of its first repeat."""
    seen: dict[str, int] = {}
    for position, label in enumerate(labels):
        if label in seen:
            return seen[label], position
        seen[label] = position
    raise AssertionError("called only when there is a repeat")


def _tied_pair(trace: RawTrace) -> tuple[int, int] | None:
    """Return two neighbouring positions of equal rank, or None."""
    ranks = trace.ranks or ()
    for k in range(1, len(ranks)):
        if ranks[k] == ranks[k - 1]:
            return k - 1, k
    return None


def _line_of(trace: RawTrace, position: int) -> int:
    return trace.line if trace.item_lines is None else int(trace.item_lines[position])

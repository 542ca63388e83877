"""``repeats="number"``: an item that repeats in any trace is numbered in every trace.

The first ``a`` of a trace becomes ``a#1`` also where it stands alone, because it is the same step
there: otherwise ``a`` and ``a#1`` would be two items that never meet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from posetta.data.place import named, place
from posetta.data.readers.contract import RawTrace
from posetta.errors import InputError

Placed = tuple[str, RawTrace]
"""A raw trace and the file that it comes from."""


class Numbering:
    """The new names of all items that repeat somewhere in the given traces."""

    def __init__(self, traces: Sequence[Placed], declared: Sequence[str]) -> None:
        self._most: dict[str, int] = {}
        for _, trace in traces:
            if len(set(trace.labels)) < len(trace.labels):
                for label, uses in Counter(trace.labels).items():
                    if uses > 1:
                        self._most[label] = max(uses, self._most.get(label, 0))
        self._refuse_collisions(traces, declared)

    def note(self, notes: Counter[str]) -> None:
        """Report which items were numbered."""
        if self._most:
            labels = list(self._most)
            notes[f"item(s) that repeat and were numbered ({named(labels)})"] += len(labels)

    def items(self, declared: Sequence[str]) -> list[str]:
        """Return declared items with every repeating one replaced by its numbered names."""
        return [name for label in declared for name in self._names(label, self._most.get(label, 1))]

    def renamed(self, trace: RawTrace) -> RawTrace:
        """Return the trace with its repeating items numbered from first to last."""
        uses: Counter[str] = Counter()
        labels: list[str] = []
        for label in trace.labels:
            uses[label] += 1
            labels.append(f"{label}#{uses[label]}" if label in self._most else label)
        choice_set = trace.choice_set
        if choice_set is not None:  # an unlisted item is a candidate for its first use
            choice_set = [n for c in choice_set for n in self._names(c, max(uses[c], 1))]
        ranks = trace.ranks
        if ranks is not None:
            ranks = list(_ranks_apart(trace.labels, ranks))
        return replace(trace, labels=labels, choice_set=choice_set, ranks=ranks)

    def _names(self, label: str, uses: int) -> list[str]:
        return [f"{label}#{k}" for k in range(1, uses + 1)] if label in self._most else [label]

    def _refuse_collisions(self, traces: Sequence[Placed], declared: Sequence[str]) -> None:
        new = {
            name: label for label, most in self._most.items() for name in self._names(label, most)
        }

        def refuse(names: Sequence[str], where: str) -> None:
            for name in names:
                if name in new:
                    raise InputError(
                        f'{where}there already is an item "{name}", the name that '
                        f'repeats="number" gives to an item "{new[name]}". Rename it.'
                    )

        refuse(declared, "")
        if new:
            for file, trace in traces:
                refuse(trace.labels, place(file, trace.line))
                refuse(trace.choice_set or (), place(file, trace.line))


def _ranks_apart(labels: Sequence[str], ranks: Sequence[int]) -> Iterator[int]:
    """Raise ranks so that copies of one item are no tie: their numbers order them."""
    shift = 0
    for k, rank in enumerate(ranks):
        if k and rank == ranks[k - 1] and labels[k] == labels[k - 1]:
            shift += 1
        yield rank + shift

"""`Gate`: where labels become integers, and where every trace is checked, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from posetta.data.place import place, trace_fault
from posetta.data.report import ReadReport
from posetta.data.traces import NO_METADATA, Records, Traces, frozen
from posetta.errors import InputError
from posetta.order.labels import index_labels, is_text, list_problem

MAX_COUNT = 10**9
"""Largest count of one record: sums of counts stay exact in 64 bits."""


class Gate:
    """Collects labelled traces one by one, checks each, and closes into a `Traces`.

    Readers feed it; so does `Traces.from_lists`.
    """

    def __init__(self, items: Sequence[str] | None = None) -> None:
        self._fixed = items is not None
        self._index: dict[str, int] = {} if items is None else index_labels(items)
        self._rows: dict[tuple[bytes, int], int] = {}
        self._row: list[int] = []
        self._count: list[int] = []
        self._ids: list[str | None] = []
        self._known_ids: dict[str, int] = {}
        self._file: list[str] = []
        self._line: list[int] = []
        self._metadata: list[Mapping[str, Any]] = []

    @property
    def n_records(self) -> int:
        """How many records were added so far."""
        return len(self._row)

    @property
    def items(self) -> tuple[str, ...]:
        """The universe so far."""
        return tuple(self._index)

    def declare(self, labels: Sequence[str], file: str = "") -> None:
        """Add items that a file names apart from its traces, unless the universe is fixed."""
        if not self._fixed:
            self._encode(labels, lambda text: InputError(f"{place(file)}the header {text}"))

    def add(
        self,
        labels: Sequence[str],
        *,
        id: str | None = None,
        count: int = 1,
        choice_set: Sequence[str] | Set[str] | None = None,
        file: str = "",
        line: int = 0,
        metadata: Mapping[str, Any] = NO_METADATA,
    ) -> None:
        """Check one trace and keep it. An `InputError` names file, line, trace and item."""
        name = str(self.n_records + 1) if id is None else id

        def fault(text: str) -> InputError:
            return trace_fault(file, line, name, text)

        if id is not None:
            self._check_id(id, fault)
        if problem := count_problem(count):
            raise fault(problem)
        if problem := list_problem(labels):
            raise fault(f"is {problem}, not a list of items. Pass its items as a list, in order.")
        if len(labels) == 0:
            raise fault("is empty. Every trace lists at least one item; remove it.")
        listed = self._encode(labels, fault)
        if len(set(listed)) < len(listed):
            raise _repeat_fault(labels, fault)
        members = listed
        if choice_set is not None:
            members = listed + self._unlisted(labels, listed, choice_set, fault)
        key = (np.array(members, dtype=np.int32).tobytes(), len(listed))
        if id is not None:
            self._known_ids[id] = self.n_records
        self._row.append(self._rows.setdefault(key, len(self._rows)))
        self._count.append(int(count))
        self._ids.append(id)
        self._file.append(file)
        self._line.append(line)
        self._metadata.append(metadata or NO_METADATA)

    def _check_id(self, id: str, fault: Callable[[str], InputError]) -> None:
        if not isinstance(id, str) or not is_text(id):
            raise fault("has an id that is not text.")
        if id in self._known_ids:
            first = self._known_ids[id]
            where = f" on line {self._line[first]}" if self._line[first] else ""
            raise fault(f"has the same id as an earlier trace{where}. Ids must differ.")

    def _unlisted(
        self,
        labels: Sequence[str],
        listed: list[int],
        choice_set: Sequence[str] | Set[str],
        fault: Callable[[str], InputError],
    ) -> list[int]:
        """Return what the choice set holds beyond the listed items, in ascending order."""
        if isinstance(choice_set, Set):  # numbers must not depend on the hash seed
            choice_set = sorted(choice_set, key=str)
        elif problem := list_problem(choice_set):
            raise fault(f"has a choice_set that is {problem}. Pass a list or a set of items.")
        allowed = self._encode(choice_set, fault)
        rest = set(allowed)
        if len(rest) < len(allowed):
            raise fault("has a choice_set that holds an item twice. Name each item once.")
        for i, label in zip(listed, labels, strict=True):
            if i not in rest:
                raise fault(f'lists "{label}", which is not in its own choice_set. Add it there.')
            rest.discard(i)
        return sorted(rest)

    def _encode(self, labels: Sequence[str], fault: Callable[[str], InputError]) -> list[int]:
        index = self._index
        try:
            return [index[label] for label in labels]
        except (KeyError, TypeError):  # an item not met before, or something that is no label
            return [self._number(label, fault) for label in labels]

    def _number(self, label: str, fault: Callable[[str], InputError]) -> int:
        if not isinstance(label, str):
            raise fault(f"holds {label!r}; items are text. Convert them with str().")
        number = self._index.get(label)
        if number is not None:
            return number
        if not label.strip():
            raise fault("holds an item whose name is empty. Give every item a name.")
        if not is_text(label):
            raise fault(f"holds the item {label!r}, which is not valid Unicode text.")
        if self._fixed:
            raise fault(
                f'holds the item "{label}", which is not among the {len(self._index)} items '
                "of the fixed universe. Correct the trace, or fix a universe that holds it."
            )
        return self._index.setdefault(str(label), len(self._index))

    def close(self, report: ReadReport | None = None) -> Traces:
        """Return the collected traces."""
        if not self._row and not self._fixed:
            raise InputError("there are no traces. Pass items=... to work with the prior alone.")
        if not self._index:
            raise InputError("there are no items.")
        rows = [np.frombuffer(key, dtype=np.int32) for key, _ in self._rows]
        counts = np.zeros(len(rows), dtype=np.int64)
        np.add.at(counts, np.array(self._row, dtype=np.int64), self._count)
        offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
        return Traces(
            items=self.items,
            members=frozen(np.concatenate(rows) if rows else np.zeros(0, np.int32)),
            offsets=frozen(offsets),
            n_listed=frozen(np.array([listed for _, listed in self._rows], dtype=np.int64)),
            counts=frozen(counts),
            records=Records(
                row=frozen(np.array(self._row, dtype=np.int64)),
                count=frozen(np.array(self._count, dtype=np.int64)),
                ids=self._all_ids(),
                file=tuple(self._file),
                line=frozen(np.array(self._line, dtype=np.int64)),
                metadata=tuple(self._metadata),
            ),
            report=report or ReadReport(),
        )

    def _all_ids(self) -> tuple[str, ...]:
        """Return an id for every record: its own, else its number, starred if that is taken."""
        names = []
        for number, id in enumerate(self._ids, start=1):
            name = str(number) if id is None else id
            while id is None and name in self._known_ids:
                name += "*"
            names.append(name)
        return tuple(names)


def count_problem(count: Any) -> str:
    """Say what is wrong with the count of a trace; nothing if it is right."""
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if whole and 1 <= count <= MAX_COUNT:
        return ""
    return f"has the count {str(count)[:40]}; counts are whole numbers from 1 to {MAX_COUNT:,}."


def _repeat_fault(labels: Sequence[str], fault: Callable[[str], InputError]) -> InputError:
    seen: dict[str, int] = {}
    for position, label in enumerate(labels, start=1):
        if label in seen:
            break
        seen[label] = position
    return fault(
        f'lists "{label}" twice (positions {seen[label]} and {position}). Each item may appear '
        "once; remove one, or give the two different names."
    )

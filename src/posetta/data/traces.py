"""`Traces`: what was observed, checked once at the gate.

Layout. Identical traces are collapsed into *unique rows*. Row ``r`` owns
``members[offsets[r]:offsets[r + 1]]``: first its ``n_listed[r]`` items in the order in which they
were observed, then the unlisted rest of its choice set in ascending order. The remainder at step
``t`` is therefore the plain slice ``members[offsets[r] + t : offsets[r + 1]]``, for complete traces
and top-k lists alike, and every likelihood kernel works on that one layout.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data.place import place
from posetta.data.report import ReadReport
from posetta.errors import InputError
from posetta.order.labels import index_labels, list_problem
from posetta.rng import child

NO_METADATA: Mapping[str, Any] = {}
"""Shared by all records without metadata, so that a large log does not hold a dict per case."""


@dataclass(frozen=True)
class Records:
    """Where each unique row came from: one entry per line or case that was read."""

    row: NDArray[np.int64]
    """Unique row of each record."""
    count: NDArray[np.int64]
    """How many observations a record stands for (``3: a,b,c`` stands for three)."""
    ids: tuple[str, ...]
    file: tuple[str, ...]
    """Source file of each record; empty when the traces came from Python."""
    line: NDArray[np.int64]
    """Line in that file, from 1; 0 when unknown."""
    metadata: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Traces:
    """Linear traces over a fixed universe of items. Build with `from_lists` or `read_traces`.

    ``len(traces)`` counts observations; ``traces.n_unique`` counts distinct rows.
    """

    items: tuple[str, ...]
    members: NDArray[np.int32]
    offsets: NDArray[np.int64]
    n_listed: NDArray[np.int64]
    counts: NDArray[np.int64]
    records: Records
    report: ReadReport = field(default_factory=ReadReport)

    @classmethod
    def from_lists(
        cls,
        lists: Iterable[Sequence[str]],
        items: Sequence[str] | None = None,
        *,
        counts: Sequence[int] | None = None,
        ids: Sequence[str] | None = None,
        choice_sets: Sequence[Sequence[str] | Set[str] | None] | None = None,
    ) -> Traces:
        """Build traces from Python lists of labels.

        ``items`` fixes the universe (and allows an empty list of traces); otherwise items are
        numbered in the order in which they first appear. ``choice_sets`` gives, per trace, a larger
        list or set that the trace was chosen from (a top-k list), or None.
        """
        from posetta.data.gate import Gate  # the gate builds Traces, so it cannot come first

        if isinstance(lists, str | bytes | Set | Mapping) or not isinstance(lists, Iterable):
            raise InputError(
                f"the traces are {list_problem(lists)}, not a list. Pass a list of lists; read "
                "files with read_traces."
            )
        lists = list(lists)
        for name, given in (("counts", counts), ("ids", ids), ("choice_sets", choice_sets)):
            if given is None:
                continue
            if problem := list_problem(given):
                raise InputError(f"{name} is {problem}. Pass a list, one entry per trace.")
            if len(given) != len(lists):
                raise InputError(f"{name} has {len(given)} entries for {len(lists)} traces.")
        gate = Gate(items)
        for k, labels in enumerate(lists):
            gate.add(
                labels,
                id=None if ids is None else ids[k],
                count=1 if counts is None else counts[k],
                choice_set=None if choice_sets is None else choice_sets[k],
            )
        return gate.close()

    # -- sizes -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return int(self.counts.sum())

    @property
    def n_items(self) -> int:
        """Size of the universe."""
        return len(self.items)

    @property
    def n_unique(self) -> int:
        """Number of distinct rows."""
        return len(self.counts)

    @property
    def n_steps(self) -> int:
        """Number of observed choices, identical traces counted once."""
        return int(self.n_listed.sum())

    @property
    def listings(self) -> NDArray[np.int64]:
        """How many observations list each item."""
        widths = np.diff(self.offsets)
        step = np.arange(len(self.members)) - np.repeat(self.offsets[:-1], widths)
        listed = step < np.repeat(self.n_listed, widths)
        total = np.zeros(self.n_items, dtype=np.int64)
        np.add.at(total, self.members[listed], np.repeat(self.counts, self.n_listed))
        return total

    @property
    def max_length(self) -> int:
        """Number of items in the longest trace (0 when there are none)."""
        return int(self.n_listed.max(initial=0))

    # -- rows ------------------------------------------------------------------------------------

    @property
    def ids(self) -> tuple[str, ...]:
        """Id of every record, in the order in which they were read."""
        return self.records.ids

    @property
    def source(self) -> tuple[tuple[str, int], ...]:
        """(file, line) of every record; line 0 and an empty file mean unknown."""
        return tuple(zip(self.records.file, self.records.line.tolist(), strict=True))

    @property
    def sequences(self) -> list[NDArray[np.int32]]:
        """The listed items of each unique row, as indices into ``items``."""
        return [self.sequence(r) for r in range(self.n_unique)]

    def sequence(self, row: int) -> NDArray[np.int32]:
        """Return the listed items of one unique row, first to last."""
        start = self.offsets[row]
        return self.members[start : start + self.n_listed[row]]

    def choice_set(self, row: int) -> NDArray[np.int32]:
        """Return the choice set of one unique row: its listed items, then the unlisted rest."""
        return self.members[self.offsets[row] : self.offsets[row + 1]]

    @property
    def arrays(
        self,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Members, offsets, listed lengths and counts as compiled kernels take them.

        Indices are unsigned, so that numba emits no wrap-around test. All are read-only views, also
        after unpickling, so that a kernel is compiled for one signature only.
        """
        return (
            frozen(self.members.view(np.uint32)),
            frozen(self.offsets.view()),
            frozen(self.n_listed.view()),
            frozen(self.counts.view()),
        )

    def labels(self, row: int) -> list[str]:
        """Return the labels of one unique row, first to last."""
        return [self.items[i] for i in self.sequence(row)]

    def describe_row(self, row: int) -> str:
        """Say which trace a unique row is, in the words of the data: file, line, id."""
        record = int(np.flatnonzero(self.records.row == row)[0])
        where = place(self.records.file[record], int(self.records.line[record]))
        return f'{where}trace "{self.records.ids[record]}"'

    def __iter__(self) -> Iterator[list[str]]:
        """Iterate over all observations as lists of labels, in the order of the records."""
        for row, count in zip(self.records.row, self.records.count, strict=True):
            for _ in range(count):
                yield self.labels(row)

    def __repr__(self) -> str:
        return (
            f"Traces({len(self)} traces, {self.n_unique} distinct, over {self.n_items} items, "
            f"longest {self.max_length})"
        )

    @property
    def hash(self) -> str:
        """Fingerprint of items, rows and counts; independent of ids and files."""
        digest = hashlib.sha256(json.dumps(self.items).encode())
        rows = sorted(
            (self.choice_set(r).tobytes(), int(self.n_listed[r]), int(self.counts[r]))
            for r in range(self.n_unique)
        )
        for members, listed, count in rows:
            digest.update(b"%d %d %d " % (len(members), listed, count) + members)
        return digest.hexdigest()[:16]

    # -- derived sets of traces ------------------------------------------------------------------

    def take(self, observations: Sequence[int] | NDArray[np.int64]) -> Traces:
        """Keep the given observations (0 .. len - 1, in the order of the records).

        The universe stays that of the parent. A record that stands for several observations keeps
        as many as were asked for.
        """
        wanted = np.asarray(observations, dtype=np.int64)
        if wanted.size and (wanted.min() < 0 or wanted.max() >= len(self)):
            raise InputError(f"observation numbers must lie in 0 .. {len(self) - 1}.")
        # Observation k belongs to the first record whose running total of counts exceeds k.
        record = np.searchsorted(np.cumsum(self.records.count), wanted, side="right")
        kept = np.bincount(record, minlength=len(self.records.row))
        return self._with_record_counts(kept)

    def split(self, fraction: float, seed: int) -> tuple[Traces, Traces]:
        """Split at random into (rest, held out), ``fraction`` of the observations held out.

        Both parts keep the universe of the parent and neither is empty.
        """
        total = len(self)
        if not 0.0 < fraction < 1.0:
            raise InputError(f"the held-out fraction must lie between 0 and 1, not {fraction}.")
        if total < 2:
            raise InputError("a split needs at least two traces.")
        size = min(max(round(fraction * total), 1), total - 1)
        held_out = _draw_without_replacement(child(seed, "split"), self.records.count, size)
        rest = self.records.count - held_out
        return self._with_record_counts(rest), self._with_record_counts(held_out)

    def with_items(self, items: Sequence[str]) -> Traces:
        """Re-index to another universe; an item that it does not hold is an error."""
        items = tuple(items)
        if items == self.items:
            return self
        index = index_labels(items)
        used = np.unique(self.members)
        new_index = np.full(self.n_items, -1, dtype=np.int32)
        for i in used:
            if self.items[i] not in index:
                row = next(r for r in range(self.n_unique) if i in self.choice_set(r))
                raise InputError(
                    f'{self.describe_row(row)} holds the item "{self.items[i]}", which is not '
                    f"among the {len(items)} items that count here. Name every item that may "
                    "appear with items=... where these traces, or those of the fit, are read."
                )
            new_index[i] = index[self.items[i]]
        members = new_index[self.members]
        for r in range(self.n_unique):  # the unlisted rest is kept in ascending order
            members[self.offsets[r] + self.n_listed[r] : self.offsets[r + 1]].sort()
        return replace(self, items=items, members=frozen(members))

    def over_all_items(self) -> Traces:
        """Let every trace be chosen from the whole universe: complete traces become top-k lists.

        Refused where a trace already has a choice set larger than what it lists.
        """
        partial = np.flatnonzero(np.diff(self.offsets) > self.n_listed)
        if partial.size:
            raise InputError(
                f"{self.describe_row(int(partial[0]))} has a choice set of its own. "
                "Remove it, or do not widen the choice sets to all items."
            )
        unlisted = np.ones((self.n_unique, self.n_items), dtype=bool)
        unlisted[np.repeat(np.arange(self.n_unique), self.n_listed), self.members] = False
        everything = np.arange(self.n_items, dtype=np.int32)
        pieces = [
            piece
            for row in range(self.n_unique)
            for piece in (self.sequence(row), everything[unlisted[row]])
        ]
        return replace(
            self,
            members=frozen(np.concatenate(pieces) if pieces else np.zeros(0, np.int32)),
            offsets=frozen(np.arange(self.n_unique + 1, dtype=np.int64) * self.n_items),
        )

    def _with_record_counts(self, count: NDArray[np.int64]) -> Traces:
        kept = np.flatnonzero(count)
        rows, row = np.unique(self.records.row[kept], return_inverse=True)
        pieces = [self.choice_set(r) for r in rows]
        lengths = np.array([len(p) for p in pieces], dtype=np.int64)
        counts = np.zeros(len(rows), dtype=np.int64)
        np.add.at(counts, row, count[kept])
        old = self.records
        return replace(
            self,
            members=frozen(np.concatenate(pieces) if pieces else np.zeros(0, np.int32)),
            offsets=frozen(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)),
            n_listed=frozen(self.n_listed[rows]),
            counts=frozen(counts),
            records=Records(
                row=frozen(row.astype(np.int64)),
                count=frozen(count[kept].astype(np.int64)),
                ids=tuple(old.ids[k] for k in kept),
                file=tuple(old.file[k] for k in kept),
                line=frozen(old.line[kept]),
                metadata=tuple(old.metadata[k] for k in kept),
            ),
        )


def _draw_without_replacement(
    generator: np.random.Generator, counts: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Return how many of each kind are among ``size`` observations, every subset equally likely.

    Tossing one coin per observation gives a uniform subset of a random size S; giving back, or
    adding, a uniform choice of the |S - size| in excess makes it a uniform subset of the right
    size. Memory grows with the kinds and with the square root of the total, and the total has no
    limit (numpy's multivariate hypergeometric stops at 10^9).
    """
    chosen = generator.binomial(counts, size / counts.sum())
    excess = int(chosen.sum()) - size
    pool = chosen if excess > 0 else counts - chosen
    moved = generator.choice(int(pool.sum()), abs(excess), replace=False, shuffle=False)
    kind = np.searchsorted(np.cumsum(pool), moved, side="right")
    return chosen - np.sign(excess) * np.bincount(kind, minlength=len(counts))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, made read-only: a `Traces` never changes."""
    array.flags.writeable = False
    return array

"""What the traces say about each pair of items, before any model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.data.traces import Traces


@njit(cache=True, nogil=True)
def _count_before(
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    counts: NDArray[np.int64],
    before: NDArray[np.int64],
) -> None:
    for r in range(len(counts)):
        row = members[offsets[r] : offsets[r + 1]]
        for a in range(n_listed[r]):
            for b in range(a + 1, len(row)):
                before[row[a], row[b]] += counts[r]


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """How often each pair was observed in each order.

    An item listed before one that stays unlisted counts as evidence only where the choice set of
    the trace is explicit; two unlisted items say nothing about each other.
    """

    items: tuple[str, ...]
    before: NDArray[np.int64]
    """``before[i, j]``: number of observations that show i before j."""

    @classmethod
    def of(cls, traces: Traces) -> PairEvidence:
        """Count the pairs of all observations."""
        before = np.zeros((traces.n_items, traces.n_items), dtype=np.int64)
        _count_before(*traces.arrays, before)
        return cls(traces.items, before)

    @cached_property
    def together(self) -> NDArray[np.int64]:
        """Number of observations that order each pair, either way (symmetric)."""
        return self.before + self.before.T

    @cached_property
    def both_orders(self) -> NDArray[np.bool_]:
        """Pairs observed in both orders (symmetric)."""
        return (self.before > 0) & (self.before.T > 0)

    def n_lone_reversals(self, least: int) -> int:
        """Return how many pairs ``least`` or more observations order, all but one of them alike."""
        lone = (self.before.T == 1) & (self.before > 1) & (self.together >= least)
        return int(lone.sum())

    @cached_property
    def one_order(self) -> NDArray[np.bool_]:
        """``[i, j]``: i was observed before j and never after it."""
        return (self.before > 0) & (self.before.T == 0)

    @cached_property
    def never_together(self) -> NDArray[np.bool_]:
        """Pairs that no observation orders (symmetric, diagonal false)."""
        unseen = self.together == 0
        np.fill_diagonal(unseen, False)
        return unseen

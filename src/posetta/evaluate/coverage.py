"""How much concurrency do the traces show? Incomparable-pair coverage."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.model.coverage import coverage
from posetta.order import Poset


class UncoveredPair(NamedTuple):
    """A pair that is free in the truth and was not seen both ways."""

    first: str
    second: str
    n_first: int
    """Observations that show ``first`` before ``second``."""
    n_second: int
    """Observations that show ``second`` before ``first``."""


def ip_cov(traces: Traces, truth: Poset) -> float:
    """Return the share of the truth's incomparable pairs that the traces show in both orders."""
    return coverage(PairEvidence.of(traces.with_items(truth.items)), truth)


def uncovered_pairs(traces: Traces, truth: Poset) -> list[UncoveredPair]:
    """Return the incomparable pairs of the truth that the traces do not show in both orders.

    Each pair once, in the order of the truth's items.
    """
    evidence = PairEvidence.of(traces.with_items(truth.items))
    free = np.triu(~(truth.closure | truth.closure.T), k=1)
    return [
        UncoveredPair(
            truth.items[i],
            truth.items[j],
            int(evidence.before[i, j]),
            int(evidence.before[j, i]),
        )
        for i, j in np.argwhere(free & ~evidence.both_orders).tolist()
    ]

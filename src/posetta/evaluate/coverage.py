"""How much concurrency do the traces show? Incomparable-pair coverage."""

from __future__ import annotations

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.model.coverage import coverage
from posetta.order import Poset


def ip_cov(traces: Traces, truth: Poset) -> float:
    """Return the share of the truth's incomparable pairs that the traces show in both orders."""
    return coverage(PairEvidence.of(traces.with_items(truth.items)), truth)

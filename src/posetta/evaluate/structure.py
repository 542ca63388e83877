"""How well does an order match the truth? Precision, recall and F1 of the closures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from posetta.data import Traces
from posetta.order import Poset


@dataclass(frozen=True)
class ClosureScores:
    """Closure-level recovery (appendix "Closure-level structural recovery")."""

    precision: float
    recall: float
    f1: float
    n_recovered: int
    n_spurious: int
    n_missed: int


def closure_scores(
    order: Poset, truth: Poset, items: Iterable[str] | Traces | None = None
) -> ClosureScores:
    """Compare the closures of two orders over the same items, aligned by label.

    ``items`` restricts both to some items: labels, or traces, whose observed items are meant (see
    `observed_items`). Precision of an empty estimate and recall of an empty truth are 1; F1 of two
    empty orders is 1.
    """
    if items is not None:
        kept = observed_items(items) if isinstance(items, Traces) else list(items)
        order, truth = order.suborder(kept), truth.suborder(kept)
    aligned = order.reindex(truth.items)
    recovered = int((aligned.closure & truth.closure).sum())
    spurious = int((aligned.closure & ~truth.closure).sum())
    missed = int((truth.closure & ~aligned.closure).sum())
    precision = recovered / (recovered + spurious) if recovered + spurious else 1.0
    recall = recovered / (recovered + missed) if recovered + missed else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return ClosureScores(precision, recall, f1, recovered, spurious, missed)


def observed_items(traces: Traces) -> list[str]:
    """Return the labels that at least one trace lists, in the order of the universe."""
    return [label for label, n in zip(traces.items, traces.listings, strict=True) if n > 0]

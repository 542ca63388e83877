"""From pair probabilities to one order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posetta.errors import check_threshold
from posetta.order import transitive_closure
from posetta.order.relation import strong_components


def decode(precedence: NDArray[np.float64], threshold: float = 0.5) -> NDArray[np.bool_]:
    """Keep pairs with probability above ``threshold``, break cycles, close (section 4, decoding).

    Equality does not count as above: at 1/2 a pair seen equally often both ways stays free.
    """
    check_threshold(threshold)
    return transitive_closure(break_cycles(precedence > threshold, precedence))


def break_cycles(relation: NDArray[np.bool_], weight: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Remove least-weight pairs until no cycle is left (algorithm CycleBreakAndCover).

    The algorithm's choice of a cycle is free; here every strongly connected component loses its
    least-weight pair, all ties at once, so that relabelling the items commutes with it.

    Pairs leave a component in increasing weight, and one that outlives its component is on no
    cycle again. So (i, j) is removed exactly if the pairs that weigh no less lead from j back to i:
    if the widest path from j to i, the one whose lightest pair is heaviest, is as heavy as (i, j).
    """
    relation = relation.copy()
    np.fill_diagonal(relation, False)
    component = strong_components(relation)
    labels, sizes = np.unique(component, return_counts=True)
    for label in labels[sizes > 1]:
        members = np.flatnonzero(component == label)
        here = np.ix_(members, members)
        pair_weight = np.where(relation[here], weight[here], -np.inf)
        relation[here] &= pair_weight > _widest_paths(pair_weight).T
    return relation


def _widest_paths(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for all i and j, the heaviest lightest pair of a path from i to j."""
    # Floyd's algorithm, with (max, min) in the place of (min, +).
    widest = weight.copy()
    for k in range(len(widest)):
        np.maximum(widest, np.minimum(widest[:, k, None], widest[k]), out=widest)
    return widest

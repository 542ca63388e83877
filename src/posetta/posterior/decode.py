"""From pair probabilities to one order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posetta.errors import SettingError
from posetta.order import transitive_closure
from posetta.order.relation import strong_components


def decode(precedence: NDArray[np.float64], threshold: float = 0.5) -> NDArray[np.bool_]:
    """Keep pairs with probability above ``threshold``, break cycles, close (section 4, decoding).

    Equality does not count as above: at 1/2 a pair seen equally often both ways stays free.
    """
    if not 0.0 <= threshold < 1.0:
        raise SettingError(f"threshold={threshold} must lie in [0, 1).")
    return transitive_closure(break_cycles(precedence > threshold, precedence))


def break_cycles(relation: NDArray[np.bool_], weight: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Remove least-weight pairs until no cycle is left (algorithm CycleBreakAndCover).

    The algorithm's choice of a cycle is free; here every strongly connected component loses its
    least-weight pair, all ties at once, so that relabelling the items commutes with it.
    """
    relation = relation.copy()
    np.fill_diagonal(relation, False)
    while True:
        component = strong_components(relation)
        inside = relation & (component[:, None] == component[None, :])
        if not inside.any():
            return relation
        for label in np.unique(component[inside.any(axis=1)]):
            mine = inside & (component == label)[:, None]
            relation[mine & (weight == weight[mine].min())] = False

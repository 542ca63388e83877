"""One order from many draws, by other rules than a threshold. None claims to be optimal.

The expected loss of an order C is the expected number of ordered pairs on which its closure
differs from that of a draw,

    E |C xor c| = sum_{(i,j) in C} (1 - 2 P_ij) + const,

and its expected F1 is the mean over draws of 2 |C ∩ c| / (|C| + |c|). Given the size m of C, that
too is a sum over its pairs, of g_m(i, j) = mean_s 2 c_s(i, j) / (m + |c_s|): local search follows
the linear form at the current order, and the exact value decides.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posetta.posterior.climb import climb
from posetta.posterior.decode import decode
from posetta.posterior.summaries import pair_sums, weighted_mean

if TYPE_CHECKING:
    from posetta.posterior.posterior import Draws

# Thresholds from which the search for the expected F1 starts.
_THRESHOLDS = np.linspace(0.05, 0.95, 19)
_LEAST_GAIN = 1e-10


def medoid(draws: Draws, n_items: int) -> NDArray[np.bool_]:
    """Return the draw with the least mean distance to all draws (the first, if several have)."""
    return _draw(draws, int(np.argmin(_distances(draws, n_items))), n_items)


def most_frequent(draws: Draws, n_items: int) -> NDArray[np.bool_]:
    """Return the order that most draws are; of several, the one nearest to all draws.

    With many items no two draws are equal, and this is the medoid.
    """
    seen = Counter(bits.tobytes() for bits in _flat(draws))
    highest = max(seen.values())
    often = [seen[bits.tobytes()] == highest for bits in _flat(draws)]
    candidates = np.flatnonzero(often)
    distance = _distances(draws, n_items)
    return _draw(draws, int(candidates[np.argmin(distance[candidates])]), n_items)


def least_loss(draws: Draws, precedence: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return an order of small expected loss: local search from the threshold 1/2 and the medoid.

    The pairs above 1/2 would be the optimum if they were an order. They need not be: closing them
    may add improbable pairs, and dropping one may be better than that.
    """
    weight = 2.0 * precedence - 1.0
    starts = (decode(precedence), medoid(draws, len(precedence)))
    ends = [climb(start, weight) for start in starts]
    return max(ends, key=lambda order: float(weight[order].sum()))


def best_f1(draws: Draws, precedence: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return an order of large expected F1: the best of many thresholds, then local search."""
    n_items = len(precedence)
    starts = {
        order.tobytes(): order
        for order in (
            *(decode(precedence, float(threshold)) for threshold in _THRESHOLDS),
            medoid(draws, n_items),
        )
    }
    scored = [(expected_f1(draws, order), order) for order in starts.values()]
    best, order = max(scored, key=lambda pair: pair[0])
    while True:
        weight = _f1_weight(draws, order)
        # The linear form holds near the order only: if its own optimum is no better, one step is.
        for most in (None, 1):
            moved = climb(order, weight, most)
            value = expected_f1(draws, moved)
            if value > best + _LEAST_GAIN:
                best, order = value, moved
                break
        else:
            return order


def expected_f1(draws: Draws, closure: NDArray[np.bool_]) -> float:
    """Return the mean over draws of the F1 of an order; two empty orders agree fully."""
    common = pair_sums(_flat(draws), closure.astype(np.float64))
    both = int(closure.sum()) + _sizes(draws)
    return float(np.where(both > 0, 2.0 * common / np.maximum(both, 1), 1.0).mean())


def expected_loss(precedence: NDArray[np.float64], closure: NDArray[np.bool_]) -> float:
    """Return the expected number of ordered pairs on which an order and a draw differ."""
    return float(np.where(closure, 1.0 - precedence, precedence).sum())


def _f1_weight(draws: Draws, order: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return what each pair adds to the expected F1 when it joins the order, to first order.

    That is g_m(i, j) less what one more pair costs all others: mean_s 2 |C ∩ c_s| / (m + |c_s|)^2.
    """
    both = np.maximum(int(order.sum()) + _sizes(draws), 1)
    common = pair_sums(_flat(draws), order.astype(np.float64))
    price = float((2.0 * common / both**2).mean())
    return weighted_mean(_flat(draws), 2.0 / both / len(both)) - price


def _flat(draws: Draws) -> NDArray[np.uint8]:
    """Return the packed closures as (draw, item, byte), chains one after another."""
    return draws.closure_bits.reshape(-1, *draws.closure_bits.shape[2:])


def _sizes(draws: Draws) -> NDArray[np.int64]:
    """Return the number of related pairs of every draw, chains one after another."""
    return draws.n_relations.reshape(-1)


def _distances(draws: Draws, n_items: int) -> NDArray[np.float64]:
    """Return the mean distance of every draw to all draws, up to a constant."""
    return pair_sums(_flat(draws), 1.0 - 2.0 * draws.mean_closure(n_items))


def _draw(draws: Draws, s: int, n_items: int) -> NDArray[np.bool_]:
    return np.unpackbits(_flat(draws)[s], axis=-1, count=n_items).astype(np.bool_)

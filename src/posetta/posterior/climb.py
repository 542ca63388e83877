"""Local search among orders: change one relation at a time while that helps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A change must gain more than rounding can.
_LEAST_GAIN = 1e-10


def climb(
    closure: NDArray[np.bool_], weight: NDArray[np.float64], most: int | None = None
) -> NDArray[np.bool_]:
    """Raise the total ``weight`` of the related pairs by the best single change, again and again.

    A change either adds one pair (with all that follows by transitivity) or drops one cover, so
    every order on the way is a valid one. ``most`` bounds the number of changes. The end is a local
    optimum: no single change helps.

    Adding i before j relates everything up to i with everything from j on, so the gains of all
    additions at once are a product of three matrices.
    """
    order = closure.copy()
    made = 0
    while most is None or made < most:
        up_to = (order | np.eye(len(order), dtype=np.bool_)).astype(np.float64)
        missing = np.where(order, 0.0, weight)
        gain = up_to.T @ missing @ up_to.T
        gain[order | order.T] = -np.inf
        np.fill_diagonal(gain, -np.inf)
        covers = order & ~((order.astype(np.float64) @ order) > 0.0)
        gain[covers] = -weight[covers]
        best = int(np.argmax(gain)) if gain.size else 0
        i, j = divmod(best, max(len(order), 1))
        if not gain.size or gain[i, j] <= _LEAST_GAIN:
            break
        if order[i, j]:
            order[i, j] = False
        else:
            order |= np.outer(up_to[:, i], up_to[j]).astype(np.bool_)
        made += 1
    return order

"""Standard errors of quantities that are made of pairs of items."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def item_jackknife(
    statistic: Callable[[NDArray[np.bool_]], NDArray[np.float64]], n_items: int
) -> NDArray[np.float64]:
    """Return the standard errors of a statistic of pairs, by leaving out one item at a time.

        SE^2 = (n - 1) / n sum_i (theta_(-i) - mean theta_(-))^2

    Pairs that share an item are not independent, so an error that counts pairs would be too small;
    items are what could have been others. ``statistic`` takes a mask of items. NaN below three
    items, and where leaving one out leaves nothing.
    """
    if n_items < 3:
        return np.full_like(np.asarray(statistic(np.ones(n_items, dtype=np.bool_))), np.nan)
    left_out = np.array([statistic(np.arange(n_items) != i) for i in range(n_items)])
    return jackknife_error(left_out)


def jackknife_error(left_out: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard errors from the statistics with one unit left out, (unit, ...)."""
    n = len(left_out)
    spread = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt((n - 1) / n * spread))


def pairs_among(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the ordered pairs (i, j), i != j, of the items in a mask."""
    return np.outer(mask, mask) & ~np.eye(len(mask), dtype=np.bool_)

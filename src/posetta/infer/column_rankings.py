"""Orders as intersections of independent random rankings, without simulation.

An order is contained in the intersection of ``dim`` independent rankings when it is contained in
each of them:

    Pr(intersection contains R) = (sum of Pr(ranking) over the linear extensions of R)^dim

The probability of each order follows by inclusion and exclusion over the orders that contain it.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import ndtr

from posetta.infer.all_orders import all_orders, codes_of

# Items ten standard deviations apart are as good as ranked: an upset has probability 1e-12.
_WIDEST_GAP = 10.0
_TAIL = 6.5
# Running integrals are of fourth order: at 0.1, even rankings with probability 1e-12 are right to
# 0.2 %, likely ones to 1e-6.
_STEP = 0.1


def class_probabilities(n: int, dim: int, rankings: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pr(class of the intersection of ``dim`` rankings), (draw, class).

    ``rankings`` holds Pr(ranking), (draw, ranking), in the order of `permutations`.
    """
    extensions, inversion, membership = _inversion(n)
    containing = (rankings @ extensions) ** dim
    found = containing @ inversion
    # What cancellation leaves of the leading term is not a probability.
    rounding = 64 * np.finfo(float).eps * (containing @ membership)
    return np.where(found > rounding, found, 0.0)


@cache
def _inversion(
    n: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return which rankings extend which order, inclusion-exclusion by class, and the classes.

    Pr(H) is Pr(order contains H), less the sum of Pr(R) over the R that contain H strictly.
    """
    orders = all_orders(n)
    place = np.argsort(np.array(list(permutations(range(n)))), axis=1)
    before = place[:, :, None] < place[:, None, :]
    codes, ranking_codes = codes_of(orders.closures), codes_of(before)
    extensions = (codes[None, :] & ~ranking_codes[:, None]) == 0
    membership = (orders.class_of[:, None] == np.arange(orders.n_classes)).astype(float)
    inversion = membership.copy()
    by_size = np.argsort(orders.closures.sum(axis=(1, 2)), kind="stable")
    for k, order in enumerate(by_size):
        smaller = by_size[:k]
        inside = smaller[(codes[smaller] & ~codes[order]) == 0]
        inversion[order] -= inversion[inside].sum(axis=0)
    return extensions.astype(float), inversion, membership


def ranking_probabilities(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pr(x_a > x_b > ...) of independent x ~ N(mean, 1) for all permutations (a, b, ...)."""
    means = _close_gaps(means)
    n = means.shape[1]
    start = means.min(axis=1) - _TAIL
    n_nodes = np.ceil((means.max(axis=1) + _TAIL - start) / _STEP).astype(np.int64) + 1
    nodes = start[:, None] + _STEP * np.arange(n_nodes.max())
    difference = nodes[:, None, :] - means[:, :, None]
    density = np.exp(-0.5 * difference**2)
    found = np.empty((len(means), len(_permutations(n))))
    _integrate_rankings(density, ndtr(difference), n_nodes, _permutations(n), found)
    return found / found.sum(axis=1, keepdims=True)


@cache
def _permutations(n: int) -> NDArray[np.int64]:
    return np.array(list(permutations(range(n))))


@njit(cache=True, nogil=True)
def _integrate_rankings(
    density: NDArray[np.float64],
    below: NDArray[np.float64],
    n_nodes: NDArray[np.int64],
    rankings: NDArray[np.int64],
    found: NDArray[np.float64],
) -> None:
    """Integrate over the item in the middle: those above it, times its density, times those below.

    At most two items are on either side. ``above[i, j]`` is Pr(x_i > x_j > t) and ``under[i, j]``
    is Pr(t > x_i > x_j), up to the constant of the density; (i, i) stands for i alone.
    """
    n = density.shape[1]
    n_above = (n - 1) // 2
    n_below = n - 1 - n_above
    above = np.ones((n, n, density.shape[2]))
    under = np.ones((n, n, density.shape[2]))
    integrand = np.empty(density.shape[2])
    for r in range(len(density)):
        size = n_nodes[r]
        for i in range(n):
            for t in range(size):
                above[i, i, t] = 1.0 - below[r, i, t]
                under[i, i, t] = below[r, i, t]
        for i in range(n):
            for j in range(n):
                if i != j and n_above == 2:
                    for t in range(size):
                        integrand[t] = density[r, j, t] * above[i, i, t]
                    _accumulate(integrand[:size][::-1], above[i, j, :size][::-1])
                if i != j and n_below == 2:
                    for t in range(size):
                        integrand[t] = density[r, i, t] * under[j, j, t]
                    _accumulate(integrand[:size], under[i, j, :size])
        for k in range(len(rankings)):
            order = rankings[k]
            total = 0.0
            middle = density[r, order[n_above]]
            upper = above[order[0], order[n_above - 1]] if n_above > 0 else middle
            lower = under[order[n_above + 1], order[n - 1]] if n_below > 0 else middle
            for t in range(size):
                value = middle[t]
                if n_above > 0:
                    value *= upper[t]
                if n_below > 0:
                    value *= lower[t]
                total += value
            found[r, k] = total


@njit(cache=True, nogil=True)
def _accumulate(values: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    """Fill ``sums`` with the running integral; of fourth order, in units of the step."""
    last = len(values) - 1
    sums[0] = 0.0
    for t in range(last):
        before = values[t - 1] if t > 0 else 0.0
        after = values[t + 2] if t + 2 <= last else 0.0
        step = (13.0 * (values[t] + values[t + 1]) - before - after) / 24.0
        sums[t + 1] = sums[t] + max(step, 0.0)


def _close_gaps(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shorten gaps between neighbours in size that are wider than they need be."""
    order = np.argsort(means, axis=1)
    gaps = np.diff(np.take_along_axis(means, order, axis=1), axis=1, prepend=0.0)
    gaps[:, 0] = 0.0
    closed = np.empty_like(means)
    np.put_along_axis(closed, order, np.cumsum(np.minimum(gaps, _WIDEST_GAP), axis=1), axis=1)
    return closed

"""Can importance weights be trusted? The shape k of the generalised Pareto tail of the weights.

The diagnostic of Vehtari, Simpson, Gelman, Yao and Gabry (2024): up to 0.7 the draws, reweighted,
can stand for the posterior; above it the approximation misses too much of the tail for that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PARETO_K_LIMIT = 0.7
_FEWEST_IN_TAIL = 5
FEWEST_WEIGHTS = 5 * _FEWEST_IN_TAIL
"""With fewer weights their largest fifth is too short for a k."""


def pareto_k(log_weights: NDArray[np.float64]) -> float:
    """Return k of the largest of the weights exp(``log_weights``); NaN with too few of them."""
    return smooth_tail(log_weights)[1]


def smooth_tail(log_weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the log weights, normalised, with a smooth tail, and the shape k of the tail.

    The tail is the largest fifth, and at most 3 sqrt(S) of the S weights. Where it has a shape,
    its M weights become the expected order statistics of that generalised Pareto distribution, the
    quantiles (m - 1/2) / M, but none greater than the largest was.
    """
    shifted = log_weights - np.max(log_weights)
    order = np.argsort(shifted, kind="stable")
    ordered = np.exp(shifted[order])
    size = int(min(0.2 * len(ordered), 3.0 * np.sqrt(len(ordered))))
    if size < _FEWEST_IN_TAIL:
        return _normalised(shifted), float("nan")
    cutoff = ordered[-size - 1]
    tail = order[-size:]
    excess = ordered[-size:] - cutoff
    if excess[0] <= 0.0:  # ties or underflow: the tail has no shape of its own
        tail, excess = tail[excess > 0.0], excess[excess > 0.0]
        if len(excess) < _FEWEST_IN_TAIL:
            return _normalised(shifted), float("nan") if excess.size == 0 else float("inf")
    k, sigma = _generalised_pareto(excess)
    # A weak prior of ten observations with k = 1/2 steadies short tails.
    k = (len(excess) * k + 10 * 0.5) / (len(excess) + 10)
    if np.isfinite(k):
        survival = np.log1p(-(np.arange(len(excess)) + 0.5) / len(excess))
        quantile = -sigma * survival if k == 0.0 else sigma * np.expm1(-k * survival) / k
        shifted[tail] = np.minimum(np.log(quantile + cutoff), 0.0)
    return _normalised(shifted), float(k)


def _normalised(log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return log_weights - np.logaddexp.reduce(log_weights)


def _generalised_pareto(x: NDArray[np.float64]) -> tuple[float, float]:
    """Return the shape k and the scale sigma of sorted excesses, by Zhang and Stephens (2009).

    With theta = -k / sigma the likelihood has a closed-form k(theta) = mean log(1 - theta x); theta
    is averaged over a grid that follows the quartile of the data, weighted by its likelihood.
    """
    n = len(x)
    n_grid = 30 + int(np.sqrt(n))
    quartile = x[int(n / 4 + 0.5) - 1]
    step = 1.0 - np.sqrt(n_grid / (np.arange(1, n_grid + 1) - 0.5))
    theta = 1.0 / x[-1] + step / (3.0 * quartile)
    k = np.log1p(-theta[:, None] * x).mean(axis=1)
    log_likelihood = n * (np.log(-theta / k) - k - 1.0)
    weight = np.exp(log_likelihood - log_likelihood.max())
    best = float(weight @ theta / weight.sum())
    shape = float(np.log1p(-best * x).mean())
    return shape, -shape / best

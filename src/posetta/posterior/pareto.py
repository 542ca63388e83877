"""Can importance weights be trusted? The shape k of the generalised Pareto tail of the weights.

The diagnostic of Vehtari, Simpson, Gelman, Yao and Gabry (2024): up to 0.7 the draws, reweighted,
can stand for the posterior; above it the approximation misses too much of the tail for that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PARETO_K_LIMIT = 0.7
_FEWEST_IN_TAIL = 5


def pareto_k(log_weights: NDArray[np.float64]) -> float:
    """Return k of the largest of the weights exp(``log_weights``); NaN with too few of them.

    The tail is the largest fifth, and at most 3 sqrt(S) of the S weights.
    """
    ordered = np.sort(np.exp(log_weights - np.max(log_weights)))
    size = int(min(0.2 * len(ordered), 3.0 * np.sqrt(len(ordered))))
    if size < _FEWEST_IN_TAIL:
        return float("nan")
    excess = ordered[-size:] - ordered[-size - 1]
    if excess[0] <= 0.0:  # ties or underflow: the tail has no shape of its own
        excess = excess[excess > 0.0]
        if len(excess) < _FEWEST_IN_TAIL:
            return float("nan") if excess.size == 0 else float("inf")
    k = _generalised_pareto_shape(excess)
    # A weak prior of ten observations with k = 1/2 steadies short tails.
    return float((len(excess) * k + 10 * 0.5) / (len(excess) + 10))


def _generalised_pareto_shape(x: NDArray[np.float64]) -> float:
    """Return the shape k of sorted excesses, by Zhang and Stephens (2009).

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
    return float(np.log1p(-best * x).mean())

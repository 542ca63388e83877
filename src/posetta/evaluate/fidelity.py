"""How far apart are two posteriors? Differences and correlations of their pair probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from posetta.errors import InputError
from posetta.evaluate.jackknife import item_jackknife, pairs_among
from posetta.evaluate.measured import Measured
from posetta.order import Poset
from posetta.posterior import Posterior
from posetta.posterior.matrix import matrix_over

# Probabilities that differ by less are equal, and must not be ranked by their rounding.
_DECIMALS = 12
_ROUNDING = 10.0**-_DECIMALS


@dataclass(frozen=True)
class ClosureAgreement:
    """How well the pair probabilities of two results agree, over all ordered pairs i != j.

    The standard errors are those of leaving out one item at a time.
    """

    mae: Measured
    """Mean of |P_ij - Q_ij|."""
    pearson: Measured
    """Linear correlation; NaN if either result says the same of every pair."""
    spearman: Measured
    """Linear correlation of the ranks, ties sharing their mean rank."""
    n_pairs: int


def closure_mae(first: Posterior | Poset, second: Posterior | Poset) -> float:
    """Return the mean of |P_ij - Q_ij| over ordered pairs i != j (eq. mae_hard).

    A single order counts as a matrix of 0 and 1. The two are aligned by label.
    """
    P, Q = matrix_over(first, first.items), matrix_over(second, first.items)
    if len(P) < 2:
        return 0.0
    return float(np.abs(P - Q)[pairs_among(np.ones(len(P), dtype=np.bool_))].mean())


def closure_agreement(first: Posterior | Poset, second: Posterior | Poset) -> ClosureAgreement:
    """Return MAE, Pearson and Spearman correlation of two results, aligned by label."""
    P, Q = matrix_over(first, first.items), matrix_over(second, first.items)
    if len(P) < 2:
        raise InputError("agreement needs at least two items.")

    def statistic(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        pairs = pairs_among(mask)
        p, q = P[pairs].round(_DECIMALS), Q[pairs].round(_DECIMALS)
        return np.array(
            [np.abs(p - q).mean(), _correlation(p, q), _correlation(rankdata(p), rankdata(q))]
        )

    values = statistic(np.ones(len(P), dtype=np.bool_))
    errors = item_jackknife(statistic, len(P))
    mae, pearson, spearman = (
        Measured(float(value), float(error) if np.isfinite(error) else None)
        for value, error in zip(values, errors, strict=True)
    )
    return ClosureAgreement(mae, pearson, spearman, n_pairs=len(P) * (len(P) - 1))


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    if min(np.ptp(x), np.ptp(y)) <= _ROUNDING:
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))

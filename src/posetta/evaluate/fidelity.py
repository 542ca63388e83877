"""How far apart are two posteriors? Mean absolute difference of their pair probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posetta.errors import InputError
from posetta.order import Poset
from posetta.posterior import Posterior


def closure_mae(first: Posterior | Poset, second: Posterior | Poset) -> float:
    """Return the mean of |P_ij - Q_ij| over ordered pairs i != j (eq. mae_hard).

    A single order counts as a matrix of 0 and 1. The two are aligned by label.
    """
    n = len(first.items)
    if set(first.items) != set(second.items):
        raise InputError("the two results are over different items; their pairs do not match up.")
    if n < 2:
        return 0.0
    position = {label: k for k, label in enumerate(second.items)}
    order = [position[label] for label in first.items]
    difference = np.abs(_matrix(first) - _matrix(second)[np.ix_(order, order)])
    return float(difference[~np.eye(n, dtype=bool)].mean())


def _matrix(result: Posterior | Poset) -> NDArray[np.float64]:
    if isinstance(result, Poset):
        return result.closure.astype(float)
    return result.precedence

"""The Plackett-Luce model and finite mixtures of it: every step is a choice by support.

With supports p_gi > 0 (sum over items 1) and weights omega_g (sum 1) of G components, a list
y = (y_1, ..., y_k) over the remainders R_1, ..., R_k has the probability

    p(y) = sum_g omega_g  prod_t  p_{g, y_t} / sum_{a in R_t} p_{g, a}

and its step t, given the steps before it, p(y_1..y_t) / p(y_1..y_{t-1}): the prefix says which
component the list is likely to come from. The steps of a list multiply to its probability.

One matrix holds all parameters: ``log_support[i, g] = log(omega_g p_gi)``. The probability of a
list does not change when a column's supports are scaled, so the sum of a column is free to hold
the component's weight.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import InputError
from posetta.model.hard import sum_steps


@njit(cache=True, nogil=True, error_model="numpy")
def _log_add(a: float, b: float) -> float:
    """Return log(e^a + e^b) of two numbers of which not both are minus infinity."""
    return max(a, b) + np.log1p(np.exp(-abs(a - b)))


@njit(cache=True, nogil=True, error_model="numpy")
def step_log_probabilities(
    log_support: NDArray[np.float64],
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    steps: NDArray[np.float64],
) -> None:
    """Fill ``steps`` with log p of every listed step given its prefix, row after row."""
    n_items, n_components = log_support.shape
    log_weight = np.empty(n_components)
    for g in range(n_components):
        log_weight[g] = log_support[0, g]
        for i in range(1, n_items):
            log_weight[g] = _log_add(log_weight[g], log_support[i, g])
    widest = 0
    for r in range(len(n_listed)):
        widest = max(widest, offsets[r + 1] - offsets[r])
    log_choice = np.empty((n_components, widest))
    so_far = np.empty(n_components)
    first_step = 0
    for r in range(len(n_listed)):
        row = members[offsets[r] : offsets[r + 1]]
        size, listed = len(row), n_listed[r]
        for g in range(n_components):
            # The remainder grows from the end of the row; a last item has no rival.
            total = log_support[row[size - 1], g]
            log_choice[g, size - 1] = 0.0
            for t in range(size - 2, -1, -1):
                chosen = log_support[row[t], g]
                total = _log_add(total, chosen)
                log_choice[g, t] = chosen - total
            so_far[g] = log_weight[g]
        last = so_far[0]
        for g in range(1, n_components):
            last = _log_add(last, so_far[g])
        for t in range(listed):
            so_far[0] += log_choice[0, t]
            here = so_far[0]
            for g in range(1, n_components):
                so_far[g] += log_choice[g, t]
                here = _log_add(here, so_far[g])
            steps[first_step + t] = here - last
            last = here
        first_step += listed


def plackett_luce_step_log_probabilities(
    log_support: NDArray[np.float64], traces: Traces
) -> NDArray[np.float64]:
    """Return log p of every listed step given its prefix, rows one after another (one copy each).

    ``log_support[i, g]`` is log(omega_g p_gi), up to a constant for the whole matrix.
    """
    checked = np.ascontiguousarray(log_support, dtype=np.float64)
    if checked.ndim != 2 or len(checked) != traces.n_items or checked.shape[1] == 0:
        raise InputError(
            f"expected log supports of shape ({traces.n_items}, components), one row per item of "
            f"the traces; got {checked.shape}."
        )
    if not np.isfinite(checked).all():
        raise InputError("the log supports hold values that are not finite.")
    steps = np.empty(traces.n_steps)
    if len(steps):
        step_log_probabilities(checked, *traces.arrays[:3], steps)
    return steps


def plackett_luce_trace_log_likelihood(
    log_support: NDArray[np.float64], traces: Traces
) -> NDArray[np.float64]:
    """Return the log probability of ONE copy of each unique row, summed over components."""
    return sum_steps(plackett_luce_step_log_probabilities(log_support, traces), traces)


def plackett_luce_log_likelihood(log_support: NDArray[np.float64], traces: Traces) -> float:
    """Return the count-weighted log-likelihood of all traces."""
    return float(plackett_luce_trace_log_likelihood(log_support, traces) @ traces.counts)


def plackett_luce_pairs(log_support: NDArray[np.float64], i: int) -> NDArray[np.float64]:
    """Return, for every j, sum_g omega_g p_gi / (p_gi + p_gj): i comes before j in a list of both.

    ``log_support`` is (..., item, component), the result (..., item); at j = i it is 1/2.
    """
    top = log_support.max(axis=-2, keepdims=True)
    log_weight = top + np.log(np.exp(log_support - top).sum(axis=-2, keepdims=True))
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    # 1 / (1 + e^-x) as a tanh, which overflows nowhere.
    before = 0.5 + 0.5 * np.tanh(0.5 * (log_support[..., i, None, :] - log_support))
    return np.asarray((weight * before).sum(axis=-1))

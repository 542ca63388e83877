"""The relaxed likelihood (eqs. softmin_definition to relaxed_trace_likelihood) and its gradient.

The arithmetic is in `relaxed_kernel`; this module checks shapes and gives the public forms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import InputError
from posetta.model import relaxed_kernel
from posetta.model.hard import check_scalars, sum_steps


class RelaxedGradient(NamedTuple):
    """Value and gradient of the relaxed log-likelihood."""

    value: float
    d_latent: NDArray[np.float64]
    d_beta: float
    d_gamma: float


def soft_margins(latent: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
    """Return M[i, j] = softmin_tau(u_i - u_j) (eq. soft_margin); the diagonal is 0."""
    check_scalars(tau=tau)
    latent = _as_latent(latent)
    margins = np.empty((len(latent), len(latent)))
    relaxed_kernel.soft_margins(latent, float(tau), margins)
    return margins


def soft_precedence(latent: NDArray[np.float64], gamma: float, tau: float) -> NDArray[np.float64]:
    """Return D[i, j] = sigmoid(gamma M[i, j]) (eq. soft_pairwise_precedence); D[i, i] = 0."""
    return _precedence_and_free(latent, gamma, tau)[0]


def relaxed_step_log_probabilities(
    latent: NDArray[np.float64],
    beta: float,
    gamma: float,
    tau: float,
    traces: Traces,
    noise: float = 0.0,
) -> NDArray[np.float64]:
    """Return log p_t of every listed step, rows of ``traces`` one after another (one copy each)."""
    _check_items(latent, traces)
    check_scalars(beta=beta, noise=noise)
    D, log_free = _precedence_and_free(latent, gamma, tau)
    steps = np.empty(traces.n_steps)
    unused = np.empty((0, 0))
    relaxed_kernel.trace_pass(
        D,
        np.ascontiguousarray(D.T),
        log_free,
        np.ascontiguousarray(log_free.T),
        *traces.arrays,
        float(beta),
        float(noise),
        False,
        unused,
        unused,
        steps,
    )
    return steps


def relaxed_trace_log_likelihood(
    latent: NDArray[np.float64],
    beta: float,
    gamma: float,
    tau: float,
    traces: Traces,
    noise: float = 0.0,
) -> NDArray[np.float64]:
    """Return the log probability of ONE copy of each unique row (eq. relaxed_trace_likelihood)."""
    steps = relaxed_step_log_probabilities(latent, beta, gamma, tau, traces, noise)
    return sum_steps(steps, traces)


def relaxed_log_likelihood(
    latent: NDArray[np.float64],
    beta: float,
    gamma: float,
    tau: float,
    traces: Traces,
    noise: float = 0.0,
) -> float:
    """Return the count-weighted relaxed log-likelihood of all traces."""
    per_row = relaxed_trace_log_likelihood(latent, beta, gamma, tau, traces, noise)
    return float(per_row @ traces.counts)


def relaxed_log_likelihood_and_grad(
    latent: NDArray[np.float64],
    beta: float,
    gamma: float,
    tau: float,
    traces: Traces,
    noise: float = 0.0,
) -> RelaxedGradient:
    """Return value, d latent, d beta and d gamma from one fused pass, O(size^2) per row."""
    _check_items(latent, traces)
    check_scalars(beta=beta, gamma=gamma, tau=tau, noise=noise)
    latent = _as_latent(latent)
    d_latent = np.empty_like(latent)
    value, d_beta, d_gamma, _ = relaxed_kernel.value_and_gradient(
        latent,
        float(beta),
        float(gamma),
        float(tau),
        float(noise),
        *traces.arrays,
        d_latent,
    )
    return RelaxedGradient(value, d_latent, d_beta, d_gamma)


def _precedence_and_free(
    latent: NDArray[np.float64], gamma: float, tau: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    check_scalars(gamma=gamma)
    margins = soft_margins(latent, tau)
    D, log_free = np.empty_like(margins), np.empty_like(margins)
    relaxed_kernel.soft_precedence(margins, float(gamma), D, log_free)
    return D, log_free


def _as_latent(latent: NDArray[np.float64]) -> NDArray[np.float64]:
    latent = np.ascontiguousarray(latent, dtype=np.float64)
    if latent.ndim != 2 or latent.shape[1] == 0:
        raise InputError(f"expected a latent of shape (items, dim); got {latent.shape}.")
    if not np.isfinite(latent).all():
        raise InputError("the latent matrix holds values that are not finite.")
    return latent


def _check_items(latent: NDArray[np.float64], traces: Traces) -> None:
    if np.ndim(latent) != 2 or len(latent) != traces.n_items:
        raise InputError(
            f"expected a latent of shape ({traces.n_items}, dim), one row per item of the traces; "
            f"got {np.shape(latent)}."
        )

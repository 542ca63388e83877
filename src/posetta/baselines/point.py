"""A single order as a `Posterior`: what every baseline returns."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from posetta.data import Traces
from posetta.model.hard import hard_trace_log_likelihood
from posetta.model.model import Model
from posetta.posterior import Draws, Posterior

# log beta is sought here: below it is a uniform choice, above it a deterministic one.
_LOG_BETA = (-7.0, 5.0)


def point_posterior(
    closure: NDArray[np.bool_],
    traces: Traces,
    model: Model,
    *,
    method: str,
    settings: Any,
    seed: int,
    started: float,
) -> Posterior:
    """Wrap one order; beta (unless fixed) is the best fit to the traces that the order allows.

    The order is scored by the hard frontier model with that beta and the model's noise; a noise
    to be inferred is taken at its prior mean, since a point has no posterior.
    """
    noise = model.noise
    if noise is None:
        noise = model.noise_prior[0] / sum(model.noise_prior)
    beta = fit_beta(closure, traces, noise) if model.beta is None else model.beta
    log_likelihood = hard_trace_log_likelihood(closure, beta, traces, noise)
    impossible = int(traces.counts[np.isneginf(log_likelihood)].sum())
    warnings: tuple[str, ...] = ()
    if impossible:
        warnings = (
            f"{impossible} of {len(traces)} traces contradict the order and have probability 0: "
            "set noise above 0 to score them.",
        )
    return Posterior(
        items=traces.items,
        method=method,
        likelihood="hard",
        model=model,
        settings=asdict(settings),
        seed=seed,
        traces=traces,
        draws=Draws(
            closure_bits=Draws.pack(closure)[None, None],
            scalars={"beta": np.array([[beta]]), "noise": np.array([[noise]])},
            log_likelihood=log_likelihood[None, None],
        ),
        precedence=closure.astype(float),
        warnings=warnings,
        diagnostics={"impossible_traces": impossible},
        seconds={"compile": 0.0, "run": time.perf_counter() - started},
        is_point=True,
    )


def fit_beta(closure: NDArray[np.bool_], traces: Traces, noise: float) -> float:
    """Return the beta that fits the possible traces best; 1 when nothing can be learnt."""
    possible = np.isfinite(hard_trace_log_likelihood(closure, 1.0, traces, noise))
    if not possible.any():
        return 1.0

    def objective(eta: float) -> float:
        rows = hard_trace_log_likelihood(closure, float(np.exp(eta)), traces, noise)
        return -float(rows[possible] @ traces.counts[possible])

    best = minimize_scalar(objective, bounds=_LOG_BETA, method="bounded")
    return float(np.exp(best.x))

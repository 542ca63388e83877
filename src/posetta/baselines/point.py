"""A single order as a `Posterior`: what every baseline returns."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from posetta.data import Traces
from posetta.errors import SettingError
from posetta.model.hard import hard_trace_log_likelihood
from posetta.model.model import Model
from posetta.posterior import Draws, Posterior
from posetta.posterior.posterior import Status

# log beta is sought here: below it is a uniform choice, above it a deterministic one.
_LOG_BETA = (-7.0, 5.0)
# Differences of a trace's log probability below this are rounding, not information about beta.
_FLAT = 1e-9


def point_posterior(
    closure: NDArray[np.bool_],
    traces: Traces,
    model: Model,
    *,
    method: str,
    settings: Any,
    seed: int,
    started: float,
    compiled: float = 0.0,
    status: Status = "ok",
    warnings: tuple[str, ...] = (),
    diagnostics: Mapping[str, Any] | None = None,
) -> Posterior:
    """Wrap one order; beta (unless fixed) is the best fit to the traces that the order allows.

    The order is scored by the hard frontier model with that beta and the model's noise,
    which must be a number: a point has no posterior to infer it with. ``compiled`` are the seconds
    since ``started`` that went into compiling.
    """
    noise = fixed_noise(model, method)
    if model.beta is None:
        beta = fit_beta(closure, traces, noise)
        warnings += _beta_warnings(beta)
    else:
        beta = model.beta
    log_likelihood = hard_trace_log_likelihood(closure, beta, traces, noise)
    impossible = int(traces.counts[np.isneginf(log_likelihood)].sum())
    if impossible:
        warnings += (
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
        status=status,
        warnings=warnings,
        diagnostics={**(diagnostics or {}), "impossible_traces": impossible},
        seconds={"compile": compiled, "run": time.perf_counter() - started - compiled},
        is_point=True,
    )


def fixed_noise(model: Model, method: str) -> float:
    """Return the model's noise, or say that ``method`` needs a number."""
    if model.noise is None:
        raise SettingError(
            f"method {method!r} cannot infer the noise. Give a number, such as 0.05."
        )
    return model.noise


def fit_beta(closure: NDArray[np.bool_], traces: Traces, noise: float) -> float:
    """Return the beta that fits the possible traces best, one end of the range where it lies there.

    Rows whose probability does not depend on beta are left out, so that their counts cannot drown
    the others in rounding; where no row is left, nothing can be learnt and beta is 1.
    """

    def rows_at(eta: float) -> NDArray[np.float64]:
        return hard_trace_log_likelihood(closure, float(np.exp(eta)), traces, noise)

    low, high = _LOG_BETA
    probes = np.stack([rows_at(eta) for eta in (low, 0.0, high)])
    telling = np.flatnonzero(np.isfinite(probes).all(axis=0))
    telling = telling[np.ptp(probes[:, telling], axis=0) > _FLAT]
    if not len(telling):
        return 1.0
    weights = traces.counts[telling] / traces.counts[telling].sum()

    def objective(eta: float) -> float:
        return -float(rows_at(eta)[telling] @ weights)

    best = minimize_scalar(objective, bounds=_LOG_BETA, method="bounded")
    # An optimum beyond an end shows as a value there that the search did not better.
    for end in _LOG_BETA:
        if objective(end) <= best.fun + _FLAT:
            return float(np.exp(end))
    return float(np.exp(best.x))


def _beta_warnings(beta: float) -> tuple[str, ...]:
    if beta == np.exp(_LOG_BETA[0]):
        return (
            f"the fit of beta ended at the least value sought, {beta:.2g}: the traces choose as if "
            "what follows an item did not matter. Set beta=0 in the model to say so.",
        )
    if beta == np.exp(_LOG_BETA[1]):
        return (
            f"the fit of beta ended at the greatest value sought, {beta:.3g}: the traces always "
            "choose the item that most others must follow. Fix beta in the model (beta=1, say) if "
            "that is too sharp for new traces.",
        )
    return ()

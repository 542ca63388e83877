"""What fits to the ELBO share: restarts, which one is kept, and how good the kept one is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.infer.methods import FullRankVI, StartKind
from posetta.model.target import Target
from posetta.posterior import Draws
from posetta.posterior.diagnostics import LET_IT_RUN, STOPPED
from posetta.posterior.pareto import PARETO_K_LIMIT, pareto_k
from posetta.posterior.posterior import Status

WINDOW = 25
"""Steps behind one entry of the ELBO's trace."""

_NOISE_LIMIT = (5.0, 0.2)
"""Nats, or a share of the ELBO: two standard errors of a gain above both say nothing of it."""

S = TypeVar("S")


def start_kinds(settings: FullRankVI) -> list[StartKind]:
    """Return the kind of start of every restart."""
    return [settings.starts[k % len(settings.starts)] for k in range(settings.restarts)]


class Restart(Generic[S]):
    """One run of an optimiser: where it is, how it got there, and how it ended."""

    def __init__(self, state: S) -> None:
        self.state = state
        self.elbo = -np.inf
        self.trace: list[float] = []
        self.n_steps = 0
        self.converged: bool | None = None
        """None until there were steps enough to compare."""
        self.stopped = False
        """Ended by time or by the user."""
        self.diverged = False

    def words(self, k: int) -> str:
        """Say how far restart ``k`` has come."""
        elbo = f", ELBO {self.trace[-1]:.1f}" if self.trace else ""
        return f"restart {k + 1}, step {self.n_steps}{elbo}"


def no_gain(before: NDArray[np.float64], now: NDArray[np.float64], tolerance: float = 0.0) -> bool:
    """Return whether the mean rose by less than ``tolerance`` or twice its standard error.

    An error as large as a good part of the ELBO itself, as after steps through nowhere, tells
    nothing: then there may have been a gain.
    """
    noise = np.sqrt(before.var(ddof=1) / len(before) + now.var(ddof=1) / len(now))
    if 2.0 * noise > max(tolerance, _NOISE_LIMIT[0], _NOISE_LIMIT[1] * abs(now.mean())):
        return False
    return bool(now.mean() - before.mean() < max(tolerance, 2.0 * noise))


R = TypeVar("R", bound="Restart[Any]")


def kept(restarts: Sequence[R]) -> R:
    """Return the restart with the best ELBO; one that diverged only if all did."""
    return max(restarts, key=lambda one: (not one.diverged, np.nan_to_num(one.elbo, nan=-np.inf)))


def judged(
    restarts: Sequence[Restart[Any]],
    target: Target,
    points: NDArray[np.float64],
    draws: Draws,
    log_q: NDArray[np.float64],
) -> tuple[Status, tuple[str, ...], dict[str, Any]]:
    """Return status, warnings and diagnostics of the kept restart from its draws.

    ``points`` (draw, coordinate) have the density ``log_q`` under the fit. The ELBO is their mean
    of log p - log q; Pareto k tells whether these weights could turn them into the posterior.
    """
    best = kept(restarts)
    log_ratios = log_density_of(target, points, draws) - log_q
    finite = bool(np.isfinite(log_ratios).all())
    k = pareto_k(log_ratios) if finite else float("inf")
    diagnostics = {
        "elbo": float(log_ratios.mean()),
        "elbo_se": float(log_ratios.std(ddof=1) / np.sqrt(len(log_ratios))) if finite else None,
        "elbo_restarts": [float(one.elbo) for one in restarts],
        "elbo_trace": [round(value, 3) for value in best.trace],
        "elbo_trace_steps": WINDOW,
        "pareto_k": k,
        "steps": [one.n_steps for one in restarts],
        "converged": bool(best.converged),
    }
    warnings = []
    status: Status = "approximate"
    if best.diverged or not finite:
        status = "diverged"
        warnings.append(
            "the fit left the range of finite densities. Lower learning_rate, or raise "
            "gradient_samples."
        )
    elif any(one.stopped for one in restarts):
        status = "budget_reached"
        warnings.append(f"{STOPPED}. {LET_IT_RUN}")
    elif best.converged is None:
        status = "budget_reached"
        warnings.append(
            f"too few steps ({best.n_steps}) to tell whether the ELBO still rises. Raise "
            "iterations."
        )
    elif not best.converged:
        status = "budget_reached"
        warnings.append(f"the ELBO still rose after {best.n_steps} steps. Raise iterations.")
    if k > PARETO_K_LIMIT:
        warnings.append(
            f"Pareto k is {k:.2f} (above {PARETO_K_LIMIT}): the approximation misses tails of the "
            'posterior. Probabilities near 1/2 may be off; method="nuts" tells.'
        )
    return status, tuple(warnings), diagnostics


def log_density_of(
    target: Target, points: NDArray[np.float64], draws: Draws
) -> NDArray[np.float64]:
    """Return the log density of the points that ``draws`` were made of.

    The draws carry their likelihood; what it lacks is the density without traces.
    """
    nothing = Traces.from_lists([], items=target.traces.items)
    prior = Target(target.model, nothing)
    likelihood = draws.log_likelihood.reshape(len(points), -1) @ target.traces.counts
    return likelihood + np.array([prior.log_density(point) for point in points])

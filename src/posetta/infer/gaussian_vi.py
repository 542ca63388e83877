"""FullRank-VI: one Gaussian with full covariance for the relaxed posterior (appendix C.3).

`natural_gradient` climbs; this module starts it, several times, decides when it has arrived, keeps
the best, and says how good it is.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.infer.methods import FullRankVI
from posetta.infer.natural_gradient import Cooling, Gaussian, Step, ascend
from posetta.infer.progress import Report
from posetta.infer.relaxed_draws import draws_of, posterior_of
from posetta.infer.score_batch import Scores, score_batch
from posetta.infer.start import starting_points
from posetta.infer.variational import HARD_SWEEPS, Restart, judged, kept, start_kinds
from posetta.model.model import Model
from posetta.model.target import Target
from posetta.posterior import Posterior
from posetta.rng import child

WINDOW = 25
"""Steps behind one entry of the ELBO's trace."""
_FIRST_SCALE = 0.1


class Climb(Restart[Gaussian]):
    """One restart: its Gaussian so far, the ELBO's trace, and whether it has converged.

    The points of the steps estimate the ELBO at no cost. The climb has converged when a window of
    steps gains less than ``tolerance`` over the window before, or less than twice the standard
    error of that difference.
    """

    def __init__(self, start: NDArray[np.float64], settings: FullRankVI) -> None:
        super().__init__(Gaussian(start, _FIRST_SCALE * np.eye(len(start))))
        self.settings = settings
        self._window: list[NDArray[np.float64]] = []
        self._before: NDArray[np.float64] | None = None

    def visit(self, number: int, step: Step) -> bool:
        """Take note of a step; return whether to go on."""
        if not np.isfinite(step.log_ratios).all() or not np.isfinite(step.gaussian.factor).all():
            self.diverged = True
            return False
        self.state = step.gaussian
        self.n_steps = number + 1
        self._window.append(step.log_ratios)
        if len(self._window) == WINDOW:
            self._close_window()
        return not self.converged and self.n_steps < self.settings.iterations

    def _close_window(self) -> None:
        now, before = np.concatenate(self._window), self._before
        self._window = []
        self.trace.append(float(now.mean()))
        if self.n_steps - WINDOW < self.settings.cooling:
            return  # the temperature still falls
        if before is not None:
            noise = np.sqrt((now.var(ddof=1) + before.var(ddof=1)) / len(now))
            gain = now.mean() - before.mean()
            self.converged = bool(gain < max(self.settings.tolerance, 2.0 * noise))
        self._before = now


def run(traces: Traces, model: Model, settings: FullRankVI, seed: int, report: Report) -> Posterior:
    """Fit a Gaussian from several starts; draw from the one with the best ELBO.

    Ctrl-C and ``max_seconds`` end the run with the best fit so far; the status says so.
    """
    model.fixed_dim("fullrank")
    began = time.perf_counter()
    target = Target(model, traces)
    with score_batch(target) as scores:
        scores(np.zeros((1, target.n_parameters)))  # compiles or loads the kernel
        compiled = time.perf_counter()
        report(0.0, "looking for starting points")
        kinds = start_kinds(settings, traces.n_items)
        starts = starting_points(target, kinds, seed, hard_sweeps=HARD_SWEEPS)
        climbs = _climb_all(scores, starts, settings, seed, report, compiled)
    best = kept(climbs)
    noise = child(seed, "fullrank", "draws").standard_normal((settings.draws, len(starts[0])))
    points = best.state.at(noise)
    draws = draws_of(target, points[None])
    status, warnings, diagnostics = judged(
        climbs, target, points, draws, best.state.log_density_at(noise)
    )
    diagnostics["elbo_trace_steps"] = WINDOW
    return posterior_of(
        target,
        draws,
        method="fullrank",
        settings=settings,
        seed=seed,
        status=status,
        warnings=warnings,
        diagnostics=diagnostics,
        seconds={"compile": compiled - began, "run": time.perf_counter() - compiled},
    )


def _climb_all(
    scores: Scores,
    starts: NDArray[np.float64],
    settings: FullRankVI,
    seed: int,
    report: Report,
    began: float,
) -> list[Climb]:
    """Run one restart after another, as far as time and the user allow."""
    deadline = np.inf if settings.max_seconds is None else began + settings.max_seconds
    cooling = Cooling(settings.temperature, settings.cooling)
    climbs: list[Climb] = []
    try:
        for k, start in enumerate(starts):
            climb = Climb(start, settings)
            climbs.append(climb)

            def visit(number: int, step: Step, climb: Climb = climb, k: int = k) -> bool:
                go_on = climb.visit(number, step)
                share = (k + climb.n_steps / settings.iterations) / settings.restarts
                report(share, climb.words(k))
                if go_on and time.perf_counter() > deadline:
                    climb.stopped = True
                return go_on and not climb.stopped

            ascend(
                scores,
                climb.state,
                child(seed, "fullrank", k),
                n_points=settings.gradient_samples,
                learning_rate=settings.learning_rate,
                cooling=cooling,
                visit=visit,
            )
            _estimate(scores, climb, settings.elbo_samples, seed)
            if climb.stopped:
                break
    except KeyboardInterrupt:
        climbs[-1].stopped = True
        _estimate(scores, climbs[-1], settings.elbo_samples, seed)
    return climbs


def _estimate(scores: Scores, climb: Climb, n_points: int, seed: int) -> None:
    """Estimate the ELBO of a finished climb, with the same noise for all of them."""
    noise = child(seed, "fullrank", "elbo").standard_normal((n_points, len(climb.state.mean)))
    climb.elbo = float(
        np.mean(scores(climb.state.at(noise))[0] - climb.state.log_density_at(noise))
    )

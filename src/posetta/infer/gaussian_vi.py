"""FullRank-VI: one Gaussian with full covariance for the relaxed posterior (appendix C.3).

`natural_gradient` climbs; this module starts it, several times, decides when it has arrived, keeps
the best, and says how good it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.infer.methods import FullRankVI
from posetta.infer.natural_gradient import Cooling, Gaussian, Step, ascend
from posetta.infer.progress import Report
from posetta.infer.relaxed_draws import draws_of, posterior_of
from posetta.infer.score_batch import Scores, one_blas_thread, score_batch
from posetta.infer.start import starting_point, starting_points
from posetta.infer.variational import WINDOW, Restart, judged, kept, no_gain, start_kinds
from posetta.model.model import Model
from posetta.model.target import Target
from posetta.posterior import Posterior
from posetta.rng import child

_FIRST_SCALE = 0.1
# Steps after cooling by which restarts are compared: their order hardly changes later.
_TRIAL_STEPS = 100


class Climb(Restart[Gaussian]):
    """One restart: its Gaussian so far, the ELBO's trace, and whether it has converged.

    The points of the steps estimate the ELBO at no cost. The climb has converged when a window of
    steps gains less than ``tolerance`` over the window before, or less than twice the standard
    error of that difference.
    """

    def __init__(
        self, start: NDArray[np.float64], settings: FullRankVI, generator: np.random.Generator
    ) -> None:
        super().__init__(Gaussian(start, _FIRST_SCALE * np.eye(len(start))))
        self.settings, self.generator = settings, generator
        self._window: list[NDArray[np.float64]] = []
        self._before: NDArray[np.float64] | None = None

    def visit(self, number: int, step: Step) -> bool:
        """Take note of a step; return whether to go on."""
        if not all(np.isfinite(part).all() for part in (step.log_ratios, *step.gaussian)):
            self.diverged = True
            return False
        self.state = step.gaussian
        self.n_steps = number + 1
        self._window.append(step.log_ratios)
        if len(self._window) == WINDOW:
            self._close_window()
        return self.unfinished

    @property
    def unfinished(self) -> bool:
        """Whether more steps may help."""
        done = self.converged or self.diverged or self.n_steps >= self.settings.iterations
        return not done

    def _close_window(self) -> None:
        now, before = np.concatenate(self._window), self._before
        self._window = []
        self.trace.append(float(now.mean()))
        if self.n_steps - WINDOW < self.settings.cooling:
            return  # the temperature still falls
        if before is not None:
            self.converged = no_gain(before, now, self.settings.tolerance)
        self._before = now


def _say_nothing(climb: Climb) -> None:
    """Climb elsewhere: nobody is listening."""


def run(traces: Traces, model: Model, settings: FullRankVI, seed: int, report: Report) -> Posterior:
    """Fit a Gaussian from several starts; draw from the one with the best ELBO.

    Ctrl-C and ``max_seconds`` end the run with the best fit so far; the status says so.
    """
    model.fixed_dim("fullrank")
    began = time.perf_counter()
    target = Target(model, traces)
    with score_batch(target) as scores:
        compiled = time.perf_counter()
        deadline = np.inf if settings.max_seconds is None else compiled + settings.max_seconds
        climbs = climb_all(target, scores, settings, seed, report, deadline)
    return _posterior(target, settings, seed, climbs, compiled - began, compiled)


def run_part(
    traces: Traces, model: Model, settings: FullRankVI, seed: int, number: int
) -> tuple[Climb, float]:
    """Try one start alone; return where it came to, and the seconds it took."""
    model.fixed_dim("fullrank")
    target = Target(model, traces)
    with score_batch(target) as scores:
        began = time.perf_counter()
        deadline = np.inf if settings.max_seconds is None else began + settings.max_seconds
        start = starting_point(target, start_kinds(settings)[number], seed, number)
        climb = Climb(start, settings, child(seed, "fullrank", number))
        _climb_on(climb, scores, seed, _trial_steps(settings), deadline)
    return climb, time.perf_counter() - began


def put_together(
    traces: Traces,
    model: Model,
    settings: FullRankVI,
    seed: int,
    ran: Sequence[tuple[Climb, float]],
) -> Posterior:
    """Let the best of the starts that were tried elsewhere go on to the end, and draw from it."""
    target = Target(model, traces)
    with score_batch(target) as scores:
        climbs, began, deadline = gathered(ran, settings.max_seconds)
        finish_best(climbs, scores, settings, seed, deadline)
    return _posterior(target, settings, seed, climbs, 0.0, began)


def gathered(
    ran: Sequence[tuple[Climb, float]], max_seconds: float | None
) -> tuple[list[Climb], float, float]:
    """Return climbs from elsewhere, when they began if they had run here, and their deadline."""
    began = time.perf_counter() - max(seconds for _, seconds in ran)
    deadline = np.inf if max_seconds is None else began + max_seconds
    return [climb for climb, _ in ran], began, deadline


def _posterior(
    target: Target,
    settings: FullRankVI,
    seed: int,
    climbs: list[Climb],
    compile_seconds: float,
    began: float,
) -> Posterior:
    best = kept(climbs)
    noise = child(seed, "fullrank", "draws").standard_normal((settings.draws, target.n_parameters))
    with one_blas_thread:
        points = best.state.at(noise)
    draws = draws_of(target, points[None])
    status, warnings, diagnostics = judged(
        climbs, target, points, draws, best.state.log_density_at(noise)
    )
    return posterior_of(
        target,
        draws,
        method="fullrank",
        settings=settings,
        seed=seed,
        status=status,
        warnings=warnings,
        diagnostics=diagnostics,
        seconds={"compile": compile_seconds, "run": time.perf_counter() - began},
    )


def climb_all(
    target: Target,
    scores: Scores,
    settings: FullRankVI,
    seed: int,
    report: Report,
    deadline: float,
) -> list[Climb]:
    """Try every start, then let the best go on to the end, as far as time and the user allow."""
    report(0.0, "looking for starting points")
    starts = starting_points(target, start_kinds(settings), seed)
    trial = _trial_steps(settings)
    total = trial * len(starts) + settings.iterations - trial
    climbs: list[Climb] = []

    def tell(climb: Climb) -> None:
        done = sum(one.n_steps for one in climbs)
        report(done / total, climb.words(climbs.index(climb)))

    for k, start in enumerate(starts):
        climbs.append(Climb(start, settings, child(seed, "fullrank", k)))
        _climb_on(climbs[k], scores, seed, trial, deadline, tell)
        if climbs[k].stopped:
            return climbs
    finish_best(climbs, scores, settings, seed, deadline, tell)
    return climbs


def finish_best(
    climbs: list[Climb],
    scores: Scores,
    settings: FullRankVI,
    seed: int,
    deadline: float,
    tell: Callable[[Climb], None] = _say_nothing,
) -> None:
    """Let the best climb go on to its end, and another if it is the best by then.

    One that was stopped ends all: the time is over.
    """
    while kept(climbs).unfinished and not any(climb.stopped for climb in climbs):
        _climb_on(kept(climbs), scores, seed, settings.iterations, deadline, tell)


def _trial_steps(settings: FullRankVI) -> int:
    return min(settings.cooling + _TRIAL_STEPS, settings.iterations)


def _climb_on(
    climb: Climb,
    scores: Scores,
    seed: int,
    until: int,
    deadline: float,
    tell: Callable[[Climb], None] = _say_nothing,
) -> None:
    """Take steps up to number ``until``, as far as time and the user allow."""
    settings = climb.settings

    def visit(number: int, step: Step) -> bool:
        unfinished = climb.visit(number, step)
        tell(climb)
        climb.stopped = unfinished and time.perf_counter() > deadline
        return unfinished and not climb.stopped and climb.n_steps < until

    try:
        ascend(
            scores,
            climb.state,
            climb.generator,
            n_points=settings.gradient_samples,
            learning_rate=settings.learning_rate,
            cooling=Cooling(settings.temperature, settings.cooling),
            visit=visit,
            first=climb.n_steps,
        )
        climb.elbo = _elbo(scores, climb.state, settings.elbo_samples, seed)
    except KeyboardInterrupt:
        climb.stopped = True
        climb.elbo = climb.trace[-1] if climb.trace else climb.elbo


def _elbo(scores: Scores, gaussian: Gaussian, n_points: int, seed: int) -> float:
    """Estimate the ELBO, with the same noise for every restart."""
    noise = child(seed, "fullrank", "elbo").standard_normal((n_points, len(gaussian.mean)))
    return float(np.mean(scores(gaussian.at(noise))[0] - gaussian.log_density_at(noise)))

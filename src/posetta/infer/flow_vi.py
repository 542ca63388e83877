"""Flow-VI: a neural spline flow for the relaxed posterior (appendix C.4), trained with Adam.

The target stays the compiled kernel: one jitted function draws points, the kernel gives their
gradients g, another jitted function pulls them back through the flow. That is the reparameterised
gradient of the ELBO, since d E[log p(w)] = E[g' dw].
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import MissingExtra
from posetta.infer import gaussian_vi
from posetta.infer.gaussian_vi import Climb, climb_all, finish_best, gathered
from posetta.infer.methods import FlowVI, FullRankVI
from posetta.infer.natural_gradient import Gaussian
from posetta.infer.progress import Report, silent
from posetta.infer.relaxed_draws import draws_of, posterior_of
from posetta.infer.score_batch import Scores, score_batch
from posetta.infer.variational import WINDOW, Restart, judged, kept, no_gain
from posetta.model.model import Model
from posetta.model.target import Target
from posetta.posterior import Posterior
from posetta.rng import child

try:
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import optax

    from posetta.infer.spline_flow import SplineFlow
except ModuleNotFoundError as missing:
    raise MissingExtra('method "flow"', "flow") from missing

_ADAM = optax.scale_by_adam()
_LAST_RATE = 0.2
# The Gaussian is most of the work at the start and the flow at the end: what the bar shows.
_GAUSSIAN_SHARE = 0.5


class Training(Restart[SplineFlow]):
    """The flow in training: parameters, Adam's memory, and the best checkpoint so far."""

    def __init__(
        self, scores: Scores, gaussian: Gaussian, settings: FlowVI, generator: np.random.Generator
    ) -> None:
        self.flow = SplineFlow(gaussian, settings.layers, settings.bins, settings.width)
        super().__init__(self.flow)
        self.scores, self.settings, self.generator = scores, settings, generator
        self.memory = _ADAM.init(_trained(self.flow))
        self.waited = 0
        self.ratios: list[NDArray[np.float64]] = []
        # The same noise for every checkpoint: their differences then have little noise.
        self.yardstick = self._mirrored(settings.elbo_samples)

    def step(self) -> bool:
        """Take one step of Adam; return whether to go on."""
        noise = self._mirrored(self.settings.gradient_samples)
        points, log_q = self.draw(self.flow, noise)
        values, gradients = self.scores(points)
        ratios = values - log_q
        if not np.isfinite(ratios).all():
            self.diverged = True
            return False
        self.flow, self.memory = _update(
            self.flow,
            self.memory,
            jnp.asarray(noise, jnp.float32),
            jnp.asarray(gradients, jnp.float32),
            jnp.float32(self._rate()),
            jnp.float32(self.settings.clip),
        )
        self.ratios.append(ratios)
        self.n_steps += 1
        if self.n_steps % WINDOW == 0:
            self._checkpoint()
        return self.waited < self.settings.patience and self.n_steps < self.settings.iterations

    def draw(
        self, flow: SplineFlow, noise: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the flow's points for ``noise``, and their log densities.

        As many at a time as a step takes: one shape to compile, and thousands at once would need
        gigabytes at hundreds of items.
        """
        size = self.settings.gradient_samples
        padded = np.zeros((-(-len(noise) // size) * size, noise.shape[1]))
        padded[: len(noise)] = noise
        blocks = padded.reshape(-1, size, noise.shape[1])
        drawn = [_draw(flow, jnp.asarray(block, jnp.float32)) for block in blocks]
        points, log_q = (
            np.concatenate(parts, dtype=np.float64) for parts in zip(*drawn, strict=True)
        )
        return points[: len(noise)], log_q[: len(noise)]

    def look(self) -> bool:
        """Keep the flow as it is now if its ELBO is the best so far; return whether it is."""
        elbo = self._elbo()
        better = elbo > self.elbo
        if better:
            self.elbo, self.state = elbo, self.flow
        return better

    def finish(self) -> None:
        """Say if the second half of the last steps was any better than the first."""
        half = min(len(self.ratios) // 2, self.settings.patience * WINDOW // 2)
        if self.waited >= self.settings.patience:
            self.converged = True
        elif half > 1:
            before = np.concatenate(self.ratios[-2 * half : -half])
            self.converged = no_gain(before, np.concatenate(self.ratios[-half:]))

    def _checkpoint(self) -> None:
        self.trace.append(float(np.mean(self.ratios[-WINDOW:])))
        self.waited = 0 if self.look() else self.waited + 1

    def _elbo(self) -> float:
        points, log_q = self.draw(self.flow, self.yardstick)
        return float(np.mean(self.scores(points)[0] - log_q))

    def _rate(self) -> float:
        """Return the step size: a linear rise, then an exponential fall to a fifth."""
        settings = self.settings
        rise = min(1.0, (self.n_steps + 1) / max(settings.warmup, 1))
        return float(
            settings.learning_rate * rise * _LAST_RATE ** (self.n_steps / settings.iterations)
        )

    def _mirrored(self, n_points: int) -> NDArray[np.float64]:
        half = self.generator.standard_normal((n_points // 2, self.flow.mean.shape[0]))
        return np.concatenate([half, -half])


def run(traces: Traces, model: Model, settings: FlowVI, seed: int, report: Report) -> Posterior:
    """Fit Gaussians from several starts, then a flow around the best of them; draw from it.

    Ctrl-C and ``max_seconds`` end the run with the best checkpoint so far; the status says so.
    """
    model.fixed_dim("flow")
    began = time.perf_counter()
    target = Target(model, traces)
    with score_batch(target) as scores:
        _compile(scores, target, settings)
        compiled = time.perf_counter()
        deadline = np.inf if settings.max_seconds is None else compiled + settings.max_seconds
        climbs = climb_all(
            target,
            scores,
            _gaussian(settings),
            seed,
            lambda p, w: report(_GAUSSIAN_SHARE * p, w),
            deadline,
        )
        training, generator = _around(climbs, scores, settings, seed, report, deadline)
    return _posterior(
        target, settings, seed, climbs, training, generator, compiled - began, compiled
    )


def run_part(
    traces: Traces, model: Model, settings: FlowVI, seed: int, number: int
) -> tuple[Climb, float]:
    """Try one start of the Gaussian alone."""
    model.fixed_dim("flow")
    return gaussian_vi.run_part(traces, model, _gaussian(settings), seed, number)


def put_together(
    traces: Traces, model: Model, settings: FlowVI, seed: int, ran: Sequence[tuple[Climb, float]]
) -> Posterior:
    """Finish the best Gaussian of those that were tried elsewhere, and train the flow around it."""
    target = Target(model, traces)
    before = time.perf_counter()
    with score_batch(target) as scores:
        _compile(scores, target, settings)
        compiling = time.perf_counter() - before
        climbs, began, deadline = gathered(ran, settings.max_seconds)
        finish_best(climbs, scores, _gaussian(settings), seed, deadline)
        training, generator = _around(climbs, scores, settings, seed, silent, deadline)
    return _posterior(target, settings, seed, climbs, training, generator, compiling, began)


def _gaussian(settings: FlowVI) -> FullRankVI:
    return FullRankVI(
        restarts=settings.restarts, starts=settings.starts, max_seconds=settings.max_seconds
    )


def _around(
    climbs: list[Climb],
    scores: Scores,
    settings: FlowVI,
    seed: int,
    report: Report,
    deadline: float,
) -> tuple[Training, np.random.Generator]:
    """Train a flow around the best Gaussian; return it, and the stream that its draws take."""
    generator = child(seed, "flow")
    training = Training(scores, kept(climbs).state, settings, generator)
    training.stopped = any(climb.stopped for climb in climbs)
    _train(training, report, deadline)
    return training, generator


def _posterior(
    target: Target,
    settings: FlowVI,
    seed: int,
    climbs: list[Climb],
    training: Training,
    generator: np.random.Generator,
    compile_seconds: float,
    began: float,
) -> Posterior:
    noise = generator.standard_normal((settings.draws, target.n_parameters))
    points, log_q = training.draw(training.state, noise)
    draws = draws_of(target, points[None])
    status, warnings, diagnostics = judged([training], target, points, draws, log_q)
    diagnostics["elbo_gaussians"] = [climb.elbo for climb in climbs]
    return posterior_of(
        target,
        draws,
        method="flow",
        settings=settings,
        seed=seed,
        status=status,
        warnings=warnings,
        diagnostics=diagnostics,
        seconds={"compile": compile_seconds, "run": time.perf_counter() - began},
    )


def _train(training: Training, report: Report, deadline: float) -> None:
    try:
        training.look()
        while not training.stopped and training.step():
            share = training.n_steps / training.settings.iterations
            report(_GAUSSIAN_SHARE + (1.0 - _GAUSSIAN_SHARE) * share, training.words(0))
            training.stopped = time.perf_counter() > deadline
        training.look()
    except KeyboardInterrupt:
        training.stopped = True
    training.finish()


def compile_for(traces: Traces, model: Model, settings: FlowVI) -> None:
    """Compile all that a fit of this shape needs; it then spends no time on that."""
    target = Target(model, traces)
    with score_batch(target) as scores:
        _compile(scores, target, settings)


def _compile(scores: Scores, target: Target, settings: FlowVI) -> None:
    """Compile everything on a throw-away flow, so that its time is reported apart."""
    size = target.n_parameters
    training = Training(scores, Gaussian(np.zeros(size), np.eye(size)), settings, child(0))
    for _ in range(2):  # the second step takes what the first gave back, which may compile anew
        training.step()


def _trained(flow: SplineFlow) -> Any:
    """Return the flow's trained parameters, None elsewhere."""
    return eqx.filter(flow, _is_trained(flow))


def _is_trained(flow: SplineFlow) -> Any:
    everywhere = jax.tree_util.tree_map(eqx.is_inexact_array, flow)
    return eqx.tree_at(lambda f: (f.mean, f.factor), everywhere, (False, False))


# Compiled once for each shape, not once for each fit: all that varies is an argument.
@eqx.filter_jit
def _draw(flow: SplineFlow, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
    return flow.at(noise)


@eqx.filter_jit
def _update(
    flow: SplineFlow,
    memory: Any,
    noise: jax.Array,
    gradients: jax.Array,
    rate: jax.Array,
    clip: jax.Array,
) -> tuple[SplineFlow, Any]:
    """Take one step of Adam up the ELBO, given the gradients of the target at the points."""
    trained, rest = eqx.partition(flow, _is_trained(flow))

    def negative_elbo(trained: Any) -> jax.Array:
        points, log_q = eqx.combine(trained, rest).at(noise)
        return (log_q - (gradients * points).sum(axis=1)).mean()

    downhill = eqx.filter_grad(negative_elbo)(trained)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree_util.tree_leaves(downhill)))
    shrink = jnp.minimum(1.0, clip / norm)
    downhill = jax.tree_util.tree_map(lambda g: shrink * g, downhill)
    change, memory = _ADAM.update(downhill, memory)
    return eqx.apply_updates(flow, jax.tree_util.tree_map(lambda c: -rate * c, change)), memory

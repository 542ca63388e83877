"""Where relaxed methods start: points on the unconstrained coordinates of a `Target`.

Three kinds, from near to far. "hard" is the end of a short Hard-MCMC chain; "traces" takes the rank
scores of a few observed traces as columns; "prior" is a draw from the prior. Points of one kind
differ, so several of them are over-dispersed starts of chains or restarts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from posetta.data import Traces
from posetta.errors import InputError, SettingError
from posetta.infer.hard_mcmc import run as run_hard
from posetta.infer.methods import HardMCMC, StartKind
from posetta.infer.progress import silent
from posetta.model.model import Model
from posetta.model.target import SCALARS, Parameters, Target
from posetta.rng import child, seed_sequence

# A hard chain starts from columns arranged to the traces: it has to leave their extremes only.
_HARD_SWEEPS_AN_ITEM = 10
# Sweeps times items times steps, at most: about a minute. Beyond some 100 items chains are shorter.
_HARD_WORK = 2e9
_LEAST_HARD_SWEEPS = 100
_CANDIDATE_TRACES = 64
# Logs and logits of the scalars stay finite, whatever a sharp prior gives.
_EDGE = 1e-6
_LARGEST_USUAL_BETA = 50.0
_BETAS = (0.5, 1.0, 2.0)
_GAMMAS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def starting_points(
    target: Target, kinds: Sequence[StartKind], seed: int, *, hard_sweeps: int | None = None
) -> NDArray[np.float64]:
    """Return one point (coordinate,) for each of ``kinds``, stacked.

    Point k is the same whatever the other kinds are. ``hard_sweeps`` is the length of a hard chain,
    by default `usual_hard_sweeps`. Where no hard chain can run (one column, and traces that
    contradict each other), "hard" falls back to "traces"; without traces every point is from the
    prior.
    """
    point = partial(starting_point, target, seed=seed, hard_sweeps=hard_sweeps)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # hard chains release the interpreter lock
        return np.stack(list(pool.map(lambda k: point(kinds[k], k=k), range(len(kinds)))))


def starting_point(
    target: Target, kind: StartKind, seed: int, k: int, *, hard_sweeps: int | None = None
) -> NDArray[np.float64]:
    """Return point number ``k`` alone, as `starting_points` gives it."""
    if hard_sweeps is None:
        hard_sweeps = usual_hard_sweeps(target.traces)
    generator = child(seed, "start", k)
    if len(target.traces) == 0:
        return prior_point(target, generator)
    if kind == "hard":
        chain_seed = int(seed_sequence(seed, "start", "hard", k).generate_state(1)[0])
        try:
            return hard_point(target, chain_seed, hard_sweeps)
        except InputError:
            kind = "traces"
    return trace_point(target, generator) if kind == "traces" else prior_point(target, generator)


def usual_hard_sweeps(traces: Traces) -> int:
    """Return 10 sweeps an item, or as many as take about a minute."""
    wanted = _HARD_SWEEPS_AN_ITEM * traces.n_items
    affordable = _HARD_WORK / max(traces.n_items * traces.n_steps, 1)
    return int(min(wanted, max(affordable, _LEAST_HARD_SWEEPS)))


def prior_point(target: Target, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return a draw from the prior."""
    scalars = _prior_scalars(target, generator)
    zeros = np.zeros((target.traces.n_items, target.dim))
    point = target.unconstrain(Parameters(zeros, **scalars))
    point[: zeros.size] = generator.standard_normal(zeros.size)
    return point


def trace_point(target: Target, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return latents whose columns are rank scores of observed traces.

    An item that is missing in a trace takes its mean place over all of them. The first trace is
    drawn; each further one is the one that leaves fewest pairs in one order in all columns, since
    pairs that were seen both ways must come apart.
    """
    places = relative_places(target.traces)
    rows = generator.permutation(len(places))[:_CANDIDATE_TRACES]
    places = places[rows] + _EDGE * generator.standard_normal((len(rows), places.shape[1]))
    chosen = [0]
    kept = _earlier(places[0])
    while len(chosen) < target.dim:
        left = [np.count_nonzero(kept & _earlier(row)) for row in places]
        best = int(np.argmin(left))
        chosen.append(best)
        kept &= _earlier(places[best])
    n = places.shape[1]
    latent = -ndtri((rankdata(places[chosen], axis=1).T - 0.5) / n)
    # Columns may repeat a trace: no two latents are to be equal.
    latent += 0.05 * generator.standard_normal(latent.shape)
    scalars = _prior_scalars(target, generator)
    if target.model.rho is None and target.dim > 1 and n > 2:
        correlation = np.corrcoef(latent.T)
        off_diagonal = correlation[~np.eye(target.dim, dtype=bool)]
        scalars["rho"] = float(np.clip(off_diagonal.mean(), 0.05, 0.95))
    return _best(target, Parameters(latent, **scalars), beta=_BETAS, gamma=_GAMMAS)


def hard_point(target: Target, seed: int, sweeps: int) -> NDArray[np.float64]:
    """Return the last state of a short Hard-MCMC chain, with the gamma that suits it best."""
    settings = HardMCMC(draws=4, warmup=sweeps, chains=1, thin=1, rungs=1)
    try:
        draws = run_hard(target.traces, target.model, settings, seed, silent).draws
    except SettingError:  # scalars beyond what a hard chain can do: a start may do without them
        draws = run_hard(target.traces, _usual(target.model), settings, seed, silent).draws
    assert draws.latent is not None
    scalars = _prior_scalars(target, child(seed, "gamma"))
    for name in set(target.inferred) - {"gamma"}:
        scalars[name] = _inside(name, float(draws.scalars[name][0, -1]))
    return _best(target, Parameters(draws.latent[0, -1], **scalars), gamma=_GAMMAS)


def _usual(model: Model) -> Model:
    """Return the model with its usual priors, and fixed scalars that any method can take."""
    usual = Model()
    return replace(
        model,
        **{name + "_prior": getattr(usual, name + "_prior") for name in SCALARS},
        beta=None if model.beta is None else min(model.beta, _LARGEST_USUAL_BETA),
        noise=None if model.noise is None else 0.0 if model.noise < _EDGE else model.noise,
    )


def relative_places(traces: Traces) -> NDArray[np.float64]:
    """Return the place of every item in every unique row: (rank + 1/2) / size of its choice set.

    Unlisted items of a larger choice set share the end; items outside it take their mean place over
    all rows, or the middle if no row has them.
    """
    places = np.full((traces.n_unique, traces.n_items), np.nan)
    for r in range(traces.n_unique):
        members = traces.choice_set(r)
        rank = np.minimum(np.arange(len(members)), traces.n_listed[r])
        places[r, members] = (rank + 0.5) / len(members)
    present = ~np.isnan(places)
    weight = traces.counts[:, None] * present
    total = (weight * np.where(present, places, 0.0)).sum(axis=0)
    seen = weight.sum(axis=0)
    mean = np.where(seen > 0, total / np.maximum(seen, 1), 0.5)
    return np.where(present, places, mean)


def _earlier(places: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(places[:, None] < places)


def _prior_scalars(target: Target, generator: np.random.Generator) -> dict[str, float]:
    scalars = {}
    for name in SCALARS:
        fixed = getattr(target.model, name)
        a, b = getattr(target.model, name + "_prior")
        beta_like = name in ("rho", "noise")
        drawn = generator.beta(a, b) if beta_like else generator.gamma(a, 1.0 / b)
        scalars[name] = _inside(name, drawn) if fixed is None else float(fixed)
    return scalars


def _inside(name: str, value: float) -> float:
    """Return a scalar moved off the edges of its range."""
    return float(np.clip(value, _EDGE, 1.0 - _EDGE if name in ("rho", "noise") else np.inf))


def _best(target: Target, parameters: Parameters, **grids: Sequence[float]) -> NDArray[np.float64]:
    """Return the point with the densest choice from the grids of those scalars that are inferred.

    A hard chain knows no gamma, and rank scores know neither gamma nor beta.
    """
    free = {name: grid for name, grid in grids.items() if name in target.inferred}
    choices = [dict(zip(free, values, strict=True)) for values in product(*free.values())]
    points = [target.unconstrain(Parameters(**{**parameters._asdict(), **c})) for c in choices]
    return max(points, key=target.log_density)

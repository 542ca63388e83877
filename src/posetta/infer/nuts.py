"""Relaxed-MCMC: the no-U-turn sampler on the relaxed posterior (appendix C.2)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import SettingError
from posetta.infer import compiled_callbacks as callbacks
from posetta.infer.frame import fitted_frame
from posetta.infer.methods import RelaxedNUTS
from posetta.infer.natural_gradient import Gaussian
from posetta.infer.nuts_chains import Chain, Drawn, JumpingChain, compile_walk
from posetta.infer.progress import Report, silent
from posetta.infer.relaxed_draws import draws_of, posterior_of
from posetta.infer.score_batch import score_batch
from posetta.infer.start import starting_point, starting_points
from posetta.model.model import Model
from posetta.model.target import Target
from posetta.posterior import Posterior
from posetta.posterior.diagnostics import (
    chain_diagnostics,
    length_warning,
    mixing_status,
    split_r_hat,
)
from posetta.posterior.posterior import Status
from posetta.rng import child
from posetta.side_by_side import run_side_by_side

DIVERGENCE_LIMIT = 0.01
"""Share of iterations that may diverge before the result is not to be trusted."""
SATURATION_LIMIT = 0.1
"""Share of trajectories that may stop at the largest depth without a warning."""
_FRAME_SHARE = 0.3
"""Of ``max_seconds``, for the Gaussians of all chains together."""
_CUT_FRAMES = (
    "max_seconds cut short the Gaussians in whose coordinates the chains walk, so the same seed "
    "gives other draws on a faster machine. Raise max_seconds."
)
_COMPARE_SECONDS = 2.0
"""Between two looks at the draws of running chains, which cost some 10 milliseconds a chain."""
_DRAWS_TO_COMPARE = 20
# Statistics of the draws: ArviZ's name, nutpie's name.
_STATISTICS = {
    "lp": "logp",
    "diverging": "diverging",
    "n_steps": "n_steps",
    "reached_max_tree_depth": "maxdepth_reached",
}


def run(
    traces: Traces, model: Model, settings: RelaxedNUTS, seed: int, report: Report
) -> Posterior:
    """Fit by NUTS: chains side by side from over-dispersed starts, each with its own stream.

    Ctrl-C and ``max_seconds`` end the run with what was drawn; the status says so.
    """
    model.fixed_dim("nuts")
    settings = _in_full(settings, traces)
    began = time.perf_counter()
    target = Target(model, traces)
    kinds = [settings.start_of(c, traces.n_items) for c in range(settings.chains)]
    report(0.0, "looking for starting points")
    starts = dict(enumerate(starting_points(target, kinds, seed)))
    seconds = {"start": time.perf_counter() - began}
    seconds["compile"] = compile_walk() if settings.jumps else 0.0
    frames, words, compiling = _frames(target, settings, starts, seed, report)
    seconds["compile"] += compiling
    started = began + sum(seconds.values())
    seconds["compile"] += callbacks.compile_seconds()
    deadline = np.inf if settings.max_seconds is None else started + settings.max_seconds
    chains = [_chain(target, settings, starts[c], seed, c, frames[c], deadline) for c in starts]
    agreement: list[str] = []
    compared = started

    def look() -> None:
        nonlocal agreement, compared
        done = [chain.n_done for chain in chains]
        now = time.perf_counter()
        if report is not silent and now - compared > _COMPARE_SECONDS:
            agreement, compared = _agreement(chains), now
        told = [_words(chains, settings, now - started), *agreement]
        report(sum(done) / sum(chain.total for chain in chains), ", ".join(told))

    interrupted = run_side_by_side(chains, look)
    stopped = interrupted or not all(chain.finished for chain in chains)
    drawn = [chain.drawn for chain in chains]
    gradients = sum(chain.n_gradients for chain in chains)
    return _posterior(target, settings, seed, drawn, gradients, stopped, words, seconds, started)


def run_part(
    traces: Traces, model: Model, settings: RelaxedNUTS, seed: int, number: int
) -> dict[str, Any]:
    """Run one chain alone to its end, from its own starting point; return what it drew."""
    model.fixed_dim("nuts")
    settings = _in_full(settings, traces)
    began = time.perf_counter()
    target = Target(model, traces)
    start = starting_point(target, settings.start_of(number, traces.n_items), seed, number)
    start_seconds = time.perf_counter() - began
    compiling = compile_walk() if settings.jumps else 0.0
    frames, words, frame_compiling = _frames(target, settings, {number: start}, seed, silent)
    started = began + start_seconds + compiling + frame_compiling
    deadline = np.inf if settings.max_seconds is None else started + settings.max_seconds
    chain = _chain(target, settings, start, seed, number, frames[number], deadline)
    chain(Event())
    return {
        "drawn": chain.drawn,
        "gradients": chain.n_gradients,
        "stopped": not chain.finished,
        "words": words,
        "start_seconds": start_seconds,
        "run_seconds": time.perf_counter() - started,
    }


def put_together(
    traces: Traces, model: Model, settings: RelaxedNUTS, seed: int, ran: Sequence[dict[str, Any]]
) -> Posterior:
    """Return the posterior of chains that ran elsewhere, in the order of their numbers."""
    settings = _in_full(settings, traces)
    drawn = [one["drawn"] for one in ran]
    gradients = sum(one["gradients"] for one in ran)
    stopped = any(one["stopped"] for one in ran)
    words = tuple(dict.fromkeys(text for one in ran for text in one["words"]))
    seconds = {"compile": callbacks.compile_seconds()}
    seconds["start"] = max(one["start_seconds"] for one in ran)
    # As if the longest chain had started here and just ended.
    started = time.perf_counter() - max(one["run_seconds"] for one in ran)
    target = Target(model, traces)
    return _posterior(target, settings, seed, drawn, gradients, stopped, words, seconds, started)


def _in_full(settings: RelaxedNUTS, traces: Traces) -> RelaxedNUTS:
    """Return the settings with the choices that these data ask for, where none were made."""
    n = traces.n_items
    return replace(
        settings,
        thin=settings.thin_of(n),
        mass_matrix=settings.scales(n),
        jumps=settings.jumps_of(n),
        starts=tuple(settings.start_of(c, n) for c in range(settings.chains)),
    )


def _chain(
    target: Target,
    settings: RelaxedNUTS,
    start: NDArray[np.float64],
    seed: int,
    c: int,
    frame: Gaussian | None,
    deadline: float,
) -> Chain:
    """Return the chain that the settings ask for."""
    kind = JumpingChain if settings.jumps else Chain
    return kind(target, settings, start, seed, c, frame, deadline)


def _frames(
    target: Target,
    settings: RelaxedNUTS,
    starts: Mapping[int, NDArray[np.float64]],
    seed: int,
    report: Report,
) -> tuple[dict[int, Gaussian | None], tuple[str, ...], float]:
    """Return the Gaussian in whose coordinates each chain walks, and the seconds of compiling.

    There are none unless the masses are "full-rank". The words say if time cut one short.
    """
    if settings.mass_matrix != "full-rank":
        return dict.fromkeys(starts), (), 0.0
    share = np.inf if settings.max_seconds is None else _FRAME_SHARE * settings.max_seconds
    frames: dict[int, Gaussian | None] = {}
    any_cut = False
    began = time.perf_counter()
    with score_batch(target) as scores:
        compiling = time.perf_counter() - began
        for c, start in starts.items():
            report(0.0, f"a Gaussian for chain {c + 1} of {settings.chains}")
            deadline = time.perf_counter() + share / settings.chains
            generator = child(seed, "nuts", "frame", c)
            frames[c], cut = fitted_frame(scores, start, generator, deadline)
            any_cut |= cut
    return frames, (_CUT_FRAMES,) * any_cut, compiling


def _posterior(
    target: Target,
    settings: RelaxedNUTS,
    seed: int,
    chains: list[Drawn],
    gradients: int,
    stopped: bool,
    words: tuple[str, ...],
    seconds: dict[str, float],
    started: float,
) -> Posterior:
    thin = settings.thin_of(target.traces.n_items)
    drawn, left_out = _stacked(chains, thin)
    statistics = {ours: drawn[theirs] for ours, theirs in _STATISTICS.items()}
    draws = replace(draws_of(target, drawn["point"]), statistics=statistics)
    quantities = {"log_density": draws.statistics["lp"]}
    quantities |= {name: draws.scalars[name] for name in target.inferred}
    diagnostics = chain_diagnostics(quantities, draws.closure_bits, draws.latent)
    diagnostics |= _sampler_diagnostics(chains, thin)
    diagnostics["gradients"] = gradients
    status, warnings_ = _status(diagnostics, stopped)
    warnings_ += left_out + words
    return posterior_of(
        target,
        draws,
        method="nuts",
        settings=settings,
        seed=seed,
        status=status,
        warnings=warnings_,
        diagnostics=diagnostics,
        seconds={**seconds, "run": time.perf_counter() - started},
    )


def _words(chains: list[Chain], settings: RelaxedNUTS, seconds: float) -> str:
    """Say how far the chains have come, and how fast."""
    thin = settings.thin_of(chains[0].target.traces.n_items)
    kept = (min(chain.n_done for chain in chains) - settings.warmup) // thin
    rate = sum(chain.n_gradients for chain in chains) / max(seconds, 1e-3)
    return f"{f'{kept} draws a chain' if kept > 0 else 'warming up'}, {rate:,.0f} gradients/s"


def _agreement(chains: list[Chain]) -> list[str]:
    """Say how well the chains agree so far, and how many of their draws diverged."""
    drawn = [chain.so_far() for chain in chains]
    words = []
    kept = min(len(one["logp"]) for one in drawn)
    if kept >= _DRAWS_TO_COMPARE:
        log_density = np.stack([one["logp"][:kept] for one in drawn])
        words.append(f"R-hat {split_r_hat(log_density):.3f}")
    if diverged := sum(int(one["diverging"].sum()) for one in drawn):
        words.append(f"{diverged} diverged")
    return words


def _stacked(chains: list[Drawn], thin: int) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """Return points and statistics as (chain, draw, ...), those of every ``thin``-th iteration.

    A run that was stopped may have chains of several lengths: all are cut to the shortest, and
    those without a draw are left out. The words that come along say so.
    """
    lengths = [len(chain["logp"]) // thin for chain in chains]
    drawing = [c for c, length in enumerate(lengths) if length > 0]
    if not drawing:
        raise SettingError(
            "the run was stopped before any draw was kept. Let it run on, raise max_seconds if "
            "that ended it, or lower warmup or thin."
        )
    words = []
    if len(drawing) < len(chains):
        idle = ", ".join(str(c + 1) for c, length in enumerate(lengths) if length == 0)
        words.append(f"chains that had not come to their first draw are left out: {idle}.")
    words += length_warning([lengths[c] for c in drawing])
    n_draws = min(lengths[c] for c in drawing)
    kept = slice(thin - 1, n_draws * thin, thin)
    stacked = {
        name: np.stack([chains[c][name][kept] for c in drawing])
        for name in chains[0]
        if name != "point"
    }
    points = np.stack([chains[c]["point"][:n_draws] for c in drawing])
    return {"point": points, **stacked}, tuple(words)


def _sampler_diagnostics(chains: list[Drawn], thin: int) -> dict[str, Any]:
    """Sum up all iterations after the warm-up, also those between two draws that are kept."""

    def of_all(name: str) -> NDArray[Any]:
        return np.concatenate([chain[name] for chain in chains])

    found = {
        "divergences": int(of_all("diverging").sum()),
        "divergent_share": float(of_all("diverging").mean()),
        "depth_saturation": float(of_all("maxdepth_reached").mean()),
        "gradients_per_draw": float(of_all("n_steps").mean()) * thin,
    }
    if "n_moved" in chains[0]:
        found["items_moved_per_draw"] = float(of_all("n_moved").mean()) * thin
    return found


def _status(found: dict[str, Any], stopped: bool) -> tuple[Status, tuple[str, ...]]:
    saturated = found["depth_saturation"] > SATURATION_LIMIT
    status, words = mixing_status(
        found,
        stopped=stopped,
        remedy="Raise max_depth." if saturated else "Raise warmup and draws.",
    )
    if saturated:
        words += (
            f"{found['depth_saturation']:.0%} of the trajectories stopped at max_depth, so draws "
            "are correlated. Raise max_depth.",
        )
    if found["divergent_share"] > DIVERGENCE_LIMIT:
        words += (
            f"{found['divergences']} iterations diverged ({found['divergent_share']:.1%}): parts "
            "of the posterior may be missing. Raise target_accept.",
        )
        status = "budget_reached" if stopped else "diverged"
    return status, words

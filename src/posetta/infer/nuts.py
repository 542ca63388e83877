"""Relaxed-MCMC: the no-U-turn sampler of nutpie on the relaxed posterior (appendix C.2)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import SettingError
from posetta.infer import compiled_callbacks as callbacks
from posetta.infer.frame import fitted_frame
from posetta.infer.methods import RelaxedNUTS
from posetta.infer.natural_gradient import Gaussian
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

with warnings.catch_warnings():
    # ArviZ, which nutpie loads, announces its next major version at every import.
    warnings.simplefilter("ignore", FutureWarning)
    import nutpie
    from nutpie.compile_pymc import CompiledPyMCModel

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
_LOOK_SECONDS = 0.05
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


class Chain:
    """One chain of nutpie, running in a thread of its own from the moment it is made.

    With a frame it walks in the coordinates of that Gaussian, and starts from a draw of it.
    """

    def __init__(
        self,
        target: Target,
        settings: RelaxedNUTS,
        start: NDArray[np.float64],
        seed: int,
        c: int,
        frame: Gaussian | None = None,
    ) -> None:
        size = target.n_parameters
        generator = child(seed, "nuts", c)
        noise = generator.standard_normal(size)
        # nutpie refuses a gradient that is exactly 0 anywhere, as at the mode of a prior.
        start = start + 1e-3 * noise if frame is None else noise
        self.block = callbacks.pack(target, frame)
        self.total = settings.warmup + settings.draws * settings.thin
        # One sampler for each chain: chain 2 is the same whether two or eight of them run.
        model = CompiledPyMCModel(
            dims={},
            compiled_logp_func=callbacks.log_density_callback,
            compiled_expand_func=callbacks.keep_callback,
            initial_point_func=lambda _: start,
            shared_data={},
            user_data=self.block,
            n_expanded=size,
            shape_info=(["point"], [slice(0, size)], [(size,)]),
            logp_func=None,
            expand_func=None,
            _n_dim=size,
            _shapes={"point": (size,)},
            _coords={},
        )
        self._sampler = nutpie.sample(
            model,
            draws=settings.draws * settings.thin,
            tune=settings.warmup,
            chains=1,
            cores=1,
            seed=int(generator.integers(2**32)),
            low_rank_modified_mass_matrix=settings.mass_matrix == "low-rank",
            target_accept=settings.target_accept,
            maxdepth=settings.max_depth,
            progress_bar=False,
            blocking=False,
        )
        self._found: Any = None

    @property
    def n_done(self) -> int:
        """Iterations so far, warm-up included."""
        return int(self.block[callbacks.DRAWS_SO_FAR])

    @property
    def n_gradients(self) -> int:
        """Gradients so far, warm-up included."""
        return int(self.block[callbacks.GRADIENTS_SO_FAR])

    def finishes_within(self, seconds: float) -> bool:
        """Wait at most so long; return whether all iterations are done."""
        if self._found is None:
            # Its `is_finished` raises as long as the answer is no, so this is the way to ask.
            with suppress(TimeoutError):
                self._found = self._sampler.wait(timeout=seconds)
        return self._found is not None

    def so_far(self) -> dict[str, NDArray[Any]]:
        """Return log densities and divergences of the draws so far, the warm-up left out."""
        with _no_draws_are_no_wonder():
            found = self._sampler.inspect() if self._found is None else self._found
        statistics = found["sample_stats"]
        return {name: statistics[name].to_numpy()[0] for name in ("logp", "diverging")}

    def collect(self) -> dict[str, NDArray[Any]]:
        """End the chain where it is; return points and statistics, the warm-up left out."""
        with _no_draws_are_no_wonder():
            found = self._sampler.abort() if self._found is None else self._found
        statistics = found["sample_stats"]
        drawn = {"point": found["posterior"]["point"].to_numpy()[0]}
        for name in ("logp", "diverging", "maxdepth_reached", "n_steps"):
            drawn[name] = statistics[name].to_numpy()[0]
        return drawn


@contextmanager
def _no_draws_are_no_wonder() -> Iterator[None]:
    """Silence ArviZ, which finds it odd that a chain has no draws; `_stacked` says it better."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


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
    frames, words, seconds["compile"] = _frames(target, settings, starts, seed, report)
    started = began + sum(seconds.values())
    seconds["compile"] += callbacks.compile_seconds()
    deadline = np.inf if settings.max_seconds is None else started + settings.max_seconds
    chains = [Chain(target, settings, starts[c], seed, c, frames[c]) for c in starts]
    interrupted = False
    agreement: list[str] = []
    compared = started
    try:
        while not _all_finish(chains) and time.perf_counter() < deadline:
            done = [chain.n_done for chain in chains]
            now = time.perf_counter()
            if report is not silent and now - compared > _COMPARE_SECONDS:
                agreement, compared = _agreement(chains), now
            told = [_words(chains, settings, now - started), *agreement]
            report(sum(done) / sum(chain.total for chain in chains), ", ".join(told))
    except KeyboardInterrupt:
        interrupted = True
    stopped = interrupted or not _all_finish(chains)
    # All at once: each ends its trajectory first, which may take a thousand gradients.
    with ThreadPoolExecutor(len(chains)) as pool:
        drawn = list(pool.map(Chain.collect, chains))
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
    frames, words, compiling = _frames(target, settings, {number: start}, seed, silent)
    started = began + start_seconds + compiling
    deadline = np.inf if settings.max_seconds is None else started + settings.max_seconds
    chain = Chain(target, settings, start, seed, number, frames[number])
    while not _all_finish([chain]) and time.perf_counter() < deadline:
        pass
    stopped = not _all_finish([chain])
    return {
        "drawn": chain.collect(),
        "gradients": chain.n_gradients,
        "stopped": stopped,
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
    starts = tuple(settings.start_of(c, n) for c in range(settings.chains))
    return replace(settings, mass_matrix=settings.scales(n), starts=starts)


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
    chains: list[dict[str, NDArray[Any]]],
    gradients: int,
    stopped: bool,
    words: tuple[str, ...],
    seconds: dict[str, float],
    started: float,
) -> Posterior:
    drawn, left_out = _stacked(chains, settings.thin)
    statistics = {ours: drawn[theirs] for ours, theirs in _STATISTICS.items()}
    draws = replace(draws_of(target, drawn["point"]), statistics=statistics)
    quantities = {"log_density": draws.statistics["lp"]}
    quantities |= {name: draws.scalars[name] for name in target.inferred}
    diagnostics = chain_diagnostics(quantities, draws.closure_bits, draws.latent)
    diagnostics |= _sampler_diagnostics(chains, settings.thin)
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


def _all_finish(chains: list[Chain]) -> bool:
    """Wait a moment for every chain; return whether all are done."""
    finished = [chain.finishes_within(_LOOK_SECONDS / len(chains)) for chain in chains]
    return all(finished)


def _words(chains: list[Chain], settings: RelaxedNUTS, seconds: float) -> str:
    """Say how far the chains have come, and how fast."""
    kept = (min(chain.n_done for chain in chains) - settings.warmup) // settings.thin
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


def _stacked(
    chains: list[dict[str, NDArray[Any]]], thin: int
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """Return points and statistics as (chain, draw, ...), every ``thin``-th draw of each chain.

    A run that was stopped may have chains of several lengths: all are cut to the shortest, and
    those without a draw are left out. The words that come along say so.
    """
    lengths = [len(chain["logp"]) // thin for chain in chains]
    drawing = [c for c, length in enumerate(lengths) if length > 0]
    if not drawing:
        raise SettingError(
            "the run was stopped before any draw was kept. Let it run on, raise max_seconds if "
            "that ended it, or lower warmup."
        )
    words = []
    if len(drawing) < len(chains):
        idle = ", ".join(str(c + 1) for c, length in enumerate(lengths) if length == 0)
        words.append(f"chains that were still warming up are left out: {idle}.")
    words += length_warning([lengths[c] for c in drawing])
    n_draws = min(lengths[c] for c in drawing)
    kept = slice(thin - 1, n_draws * thin, thin)
    stacked = {name: np.stack([chains[c][name][kept] for c in drawing]) for name in chains[0]}
    return stacked, tuple(words)


def _sampler_diagnostics(chains: list[dict[str, NDArray[Any]]], thin: int) -> dict[str, Any]:
    """Sum up all iterations after the warm-up, also those between two draws that are kept."""

    def of_all(name: str) -> NDArray[Any]:
        return np.concatenate([chain[name] for chain in chains])

    return {
        "divergences": int(of_all("diverging").sum()),
        "divergent_share": float(of_all("diverging").mean()),
        "depth_saturation": float(of_all("maxdepth_reached").mean()),
        "gradients_per_draw": float(of_all("n_steps").mean()) * thin,
    }


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

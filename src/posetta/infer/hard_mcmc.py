"""Hard-MCMC: draws from p(Z, rho, beta | data) under the exact frontier likelihood."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaincc

from posetta.baselines.maximal import maximal_order
from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.errors import InputError, SettingError
from posetta.infer.hard import checkpoint
from posetta.infer.hard.chain import ChainRun, rows_of
from posetta.infer.hard.scalar_moves import CLOSEST, LARGEST_BETA
from posetta.infer.hard.state import MOVES
from posetta.infer.methods import HardMCMC
from posetta.infer.progress import Report
from posetta.model.model import Model
from posetta.plain import plain
from posetta.posterior import Draws, Posterior
from posetta.posterior.diagnostics import (
    chain_diagnostics,
    length_warning,
    mixing_status,
    split_r_hat,
)
from posetta.side_by_side import run_side_by_side

# A portion of sweeps between two looks at the clock.
_PORTION_SECONDS = 0.1
_CHECKPOINT_SECONDS = 30.0
# With fewer draws R-hat is mostly noise.
_DRAWS_TO_COMPARE = 20
# Prior mass beyond one end of the chains' reach that nobody would notice. Common priors have less
# there: Beta(0.5, 0.5) loses 6e-7 at each end, and Beta(0.5, 9) loses 3e-6 at 0.
_CUT_MASS = 1e-5


def run(
    traces: Traces,
    model: Model,
    settings: HardMCMC,
    seed: int,
    report: Report,
) -> Posterior:
    """Fit by Metropolis-Hastings: several chains in threads, each with its own stream.

    Ctrl-C and ``max_seconds`` end the run with what was drawn; the status says so. With a
    checkpoint the same call goes on from there, with the draws of an uninterrupted run.
    """
    _check(traces, model)
    settings = _in_full(settings, traces, model)
    started = time.perf_counter()
    report(0.0, "compiling or loading the sampler")
    _compile(model)
    compiled = time.perf_counter()
    rows = rows_of(traces)
    chains = [ChainRun(traces, rows, model, settings, seed, c) for c in range(settings.chains)]
    path = None if settings.checkpoint is None else Path(settings.checkpoint)
    identity = _identity(traces, model, settings, seed)
    seconds_before = 0.0
    if path is not None and path.exists():
        saved, seconds_before = checkpoint.load(path, identity)
        n_saved = max(len(frozen["kept_log_posterior"]) for frozen in saved)
        if n_saved > settings.draws:
            raise SettingError(
                f"checkpoint={settings.checkpoint!r} already holds {n_saved} draws of a chain. "
                f"Ask for draws={n_saved} or more, or name another file."
            )
        for chain, frozen in zip(chains, saved, strict=True):
            chain.thaw(frozen)
    made_before = _proposals(chains)
    deadline = np.inf if settings.max_seconds is None else compiled + settings.max_seconds
    total = _total(chains[0], settings)
    frozen_chains: list[dict[str, Any]] = []
    if path is not None:
        frozen_chains = [chain.frozen() for chain in chains]
        # What cannot be written is said now.
        checkpoint.save(path, identity, frozen_chains, seconds_before)

    def work(c: int, stop: Event) -> None:
        chain, portion = chains[c], 1
        frozen_at = time.perf_counter()
        while chain.done < total:  # however late a thread comes to run, it makes one sweep
            began = time.perf_counter()
            chain.sweep(min(portion, total - chain.done))
            ended = time.perf_counter()
            if stop.is_set() or ended > deadline:
                return
            if ended - began < _PORTION_SECONDS:
                portion *= 2
            if path is not None and ended - frozen_at > _CHECKPOINT_SECONDS:
                frozen_chains[c], frozen_at = chain.frozen(), ended

    saved_at = compiled

    def look() -> None:
        nonlocal saved_at
        now = time.perf_counter()
        share = sum(chain.done for chain in chains) / (total * settings.chains)
        rate = (_proposals(chains) - made_before) / max(now - compiled, 1e-3)
        report(share, _words(chains, rate))
        if path is not None and now - saved_at > _CHECKPOINT_SECONDS:
            checkpoint.save(path, identity, frozen_chains, seconds_before + now - compiled)
            saved_at = now

    interrupted = run_side_by_side([partial(work, c) for c in range(settings.chains)], look)
    run_seconds = time.perf_counter() - compiled
    rate = (_proposals(chains) - made_before) / run_seconds
    seconds = {"compile": compiled - started, "run": seconds_before + run_seconds}
    if path is not None:
        frozen_chains = [chain.frozen() for chain in chains]
        checkpoint.save(path, identity, frozen_chains, seconds["run"])
    stopped = interrupted or min(chain.done for chain in chains) < total
    return _posterior(traces, model, settings, seed, chains, stopped, seconds, rate)


def run_part(
    traces: Traces, model: Model, settings: HardMCMC, seed: int, number: int
) -> dict[str, Any]:
    """Run one chain alone to its end; return its frozen state, which holds its draws."""
    _check(traces, model)
    _compile(model)
    chain = ChainRun(traces, rows_of(traces), model, settings, seed, number)
    total, portion = _total(chain, settings), 1
    began = now = time.perf_counter()
    deadline = np.inf if settings.max_seconds is None else began + settings.max_seconds
    while chain.done < total and now < deadline:
        chain.sweep(min(portion, total - chain.done))
        before, now = now, time.perf_counter()
        if now - before < _PORTION_SECONDS:
            portion *= 2
    return {"frozen": chain.frozen(), "seconds": now - began}


def put_together(
    traces: Traces, model: Model, settings: HardMCMC, seed: int, ran: Sequence[dict[str, Any]]
) -> Posterior:
    """Return the posterior of chains that ran elsewhere, in the order of their numbers."""
    settings = _in_full(settings, traces, model)
    rows = rows_of(traces)
    chains = [ChainRun(traces, rows, model, settings, seed, c) for c in range(len(ran))]
    for chain, one in zip(chains, ran, strict=True):
        chain.thaw(one["frozen"])
    stopped = min(chain.done for chain in chains) < _total(chains[0], settings)
    seconds = {"compile": 0.0, "run": max(one["seconds"] for one in ran)}
    rate = _proposals(chains) / seconds["run"]
    return _posterior(traces, model, settings, seed, chains, stopped, seconds, rate)


def _in_full(settings: HardMCMC, traces: Traces, model: Model) -> HardMCMC:
    """Return the settings with the lengths that these data ask for, where none were given."""
    sweeps = settings.sweeps(traces.n_items, random_dim=model.dim == "random")
    return replace(settings, **sweeps._asdict())


def _total(chain: ChainRun, settings: HardMCMC) -> int:
    """Return the sweeps of a whole run."""
    return int(chain.plan.warmup + settings.draws * chain.plan.thin)


def _check(traces: Traces, model: Model) -> None:
    """Refuse what no chain can start from, before anything is compiled or written."""
    if model.beta is not None and model.beta * np.log(max(traces.n_items, 2)) > 600.0:
        raise SettingError(f"beta={model.beta} is too large for {traces.n_items} items.")
    if model.noise is not None and 0.0 < model.noise < CLOSEST:
        raise SettingError(f"noise={model.noise} must be 0, or at least {CLOSEST}.")
    _check_priors(model)
    widest = model.dim_max if model.dim == "random" else model.dim
    if widest == 1 and model.noise == 0.0:
        evidence = PairEvidence.of(traces)
        if ((evidence.before > 0) & ~maximal_order(evidence, 0.0)).any():
            raise InputError(
                "with dim=1 the order is total, and these traces contradict each other. "
                "Use a larger dim, or a noise above 0."
            )


def _check_priors(model: Model) -> None:
    """Refuse priors with mass where the chains do not go: they would draw from a cut prior."""
    shape, rate = model.beta_prior
    if model.beta is None and gammaincc(shape, rate * LARGEST_BETA) > _CUT_MASS:
        raise SettingError(
            f"beta_prior={model.beta_prior} has mass beyond {LARGEST_BETA:g}, where this method "
            "does not go. Use a larger rate, or fix beta."
        )
    for name in ("rho", "noise"):
        a, b = prior = getattr(model, name + "_prior")
        for end, number, lost in (
            (0, "first", betainc(a, b, CLOSEST)),
            (1, "second", betainc(b, a, CLOSEST)),
        ):
            if getattr(model, name) is None and lost > _CUT_MASS:
                raise SettingError(
                    f"{name}_prior={prior} has mass within {CLOSEST:g} of {end}, where this method "
                    f"does not go. Use a larger {number} number, or fix {name}."
                )


def _compile(model: Model) -> None:
    """Compile (or load) the kernels on a throw-away chain, so that their time is reported apart."""
    tiny = Traces.from_lists([["a", "b"]])
    ChainRun(tiny, rows_of(tiny), model, HardMCMC(draws=4, warmup=0, thin=1), 0, 0).sweep(1)


def _identity(traces: Traces, model: Model, settings: HardMCMC, seed: int) -> dict[str, Any]:
    """Return what must agree for a checkpoint to be of this run; ``draws`` may have been raised."""
    free = ("draws", "max_seconds", "checkpoint")
    same = {name: value for name, value in asdict(settings).items() if name not in free}
    # A frozen chain holds an entry for each row and step, so the order of the rows matters.
    rows = hashlib.sha256(b"".join(array.tobytes() for array in traces.arrays))
    identity: dict[str, Any] = plain(
        {
            "posetta version": version("posetta"),
            "traces": traces.hash,
            "order of the traces": rows.hexdigest()[:16],
            "model": model.to_dict(),
            "seed": seed,
            **same,
        }
    )
    return identity


def _proposals(chains: Sequence[ChainRun]) -> int:
    """Return the proposals that all rungs have made so far."""
    return sum(int(rung.moves[:, 0].sum()) for chain in chains for rung in chain.rungs)


def _words(chains: Sequence[ChainRun], rate: float) -> str:
    """Say how far the chains have come, how fast, and how well they agree so far."""
    if not any(chain.done for chain in chains):
        return "looking for starting points"
    words = [f"{rate / 1e3:,.0f} k proposals/s"]
    kept = min(chain.n_kept for chain in chains)
    if kept >= _DRAWS_TO_COMPARE:
        so_far = np.stack([chain.kept.log_posterior[:kept] for chain in chains])
        words.append(f"R-hat {split_r_hat(so_far):.3f}")
    return ", ".join([f"{kept} draws a chain" if kept else "warming up", *words])


def _posterior(
    traces: Traces,
    model: Model,
    settings: HardMCMC,
    seed: int,
    chains: list[ChainRun],
    stopped: bool,
    seconds: dict[str, float],
    rate: float,
) -> Posterior:
    lengths = [chain.n_kept for chain in chains]
    n_draws = min(lengths)
    if n_draws == 0:
        remedy = "Let it run on, raise max_seconds if that ended it, or lower warmup."
        if settings.checkpoint is not None:
            remedy = f"Run it again to go on from {settings.checkpoint!r}."
        raise SettingError(f"the run was stopped before any draw was kept. {remedy}")

    def stacked(name: str) -> NDArray[Any]:
        return np.stack([getattr(chain.kept, name)[:n_draws] for chain in chains])

    scalars = stacked("scalars")
    named = {name: scalars[:, :, k] for k, name in enumerate(("rho", "beta", "noise", "dim"))}
    draws = Draws(
        closure_bits=stacked("closure_bits"),
        scalars=named,
        log_likelihood=stacked("row_value"),
        latent=stacked("latent"),
        statistics={"lp": stacked("log_posterior")},
    )
    inferred = [name for name in ("rho", "beta", "noise") if getattr(model, name) is None]
    inferred += ["dim"] if model.dim == "random" else []
    quantities = {
        "log_posterior": draws.statistics["lp"],
        "relations": draws.n_relations.astype(float),
    }
    quantities |= {name: named[name] for name in inferred}
    diagnostics = chain_diagnostics(quantities, draws.closure_bits)
    moves = np.sum([chain.chain.moves for chain in chains], axis=0)
    sampling = moves - np.sum([chain.moves_in_warmup for chain in chains], axis=0)
    diagnostics["acceptance"] = {
        name: round(float(accepted / proposed), 4)
        for name, (proposed, accepted) in zip(MOVES, sampling, strict=True)
        if proposed
    }
    diagnostics["proposals_per_second"] = round(rate)
    if len(chains[0].rungs) > 1:
        proposed, accepted = np.sum([chain.trades for chain in chains], axis=(0, 1))
        diagnostics["trades_accepted"] = round(float(accepted / max(proposed, 1)), 4)
        diagnostics["least_power"] = round(float(min(chain.powers[-1] for chain in chains)), 4)
    status, warnings = mixing_status(
        diagnostics, stopped=stopped, remedy="Raise warmup and thin, or rungs."
    )
    warnings += length_warning(lengths) + _dim_warning(model, traces.n_items)
    return Posterior(
        items=traces.items,
        method="hard",
        likelihood="hard",
        model=model,
        settings=asdict(settings),
        seed=seed,
        traces=traces,
        draws=draws,
        precedence=draws.mean_closure(traces.n_items),
        status=status,
        warnings=warnings,
        diagnostics=diagnostics,
        seconds=seconds,
    )


def _dim_warning(model: Model, n: int) -> tuple[str, ...]:
    """Say when the truncated prior of a random dimension leaves the data little to choose."""
    if model.dim != "random" or np.argmax(model.dim_log_prior(n)) + 1 < model.dim_max:
        return ()
    share = np.exp(model.dim_log_prior(n)[-1])
    return (
        f"with {n} items the prior of the dimension puts {share:.0%} on dim_max={model.dim_max}. "
        "Set dim_prior_mean or dim_max, or fix dim.",
    )

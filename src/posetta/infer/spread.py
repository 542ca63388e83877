"""Chains as separate jobs of an executor: processes, a cluster, anything with `submit`.

Every chain has its own random stream, addressed by its number, so a chain that runs elsewhere draws
what it would have drawn here. A job runs one chain to its end and sends back what it drew; the
chains are then put together as if they had run in threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from typing import Any

import numpy as np

from posetta.data import Traces
from posetta.errors import SettingError
from posetta.infer.methods import HardMCMC, RelaxedNUTS, Settings
from posetta.infer.progress import Report
from posetta.model.model import Model
from posetta.posterior import Posterior

SPREADABLE = ("hard", "nuts")
"""Methods whose chains can run apart."""
_LOOK_SECONDS = 0.2
# Sweeps between two looks at the clock where the run has a time limit.
_PORTION = 16


def run_spread(
    traces: Traces, model: Model, settings: Settings, seed: int, report: Report, executor: Any
) -> Posterior:
    """Fit with one job of the executor for each chain; the same seed gives the same draws as here.

    Ctrl-C ends the fit without a result: chains elsewhere cannot be asked for what they have.
    """
    if isinstance(settings, HardMCMC):
        from posetta.infer import hard_mcmc

        if settings.checkpoint is not None:
            raise SettingError("checkpoint needs the chains in this process: drop the executor.")
        hard_mcmc.check(traces, model)
        began = time.perf_counter()
        frozen = _all_chains(_hard_chain, traces, model, settings, seed, report, executor)
        return hard_mcmc.put_together(
            traces, model, settings, seed, frozen, run_seconds=time.perf_counter() - began
        )
    assert isinstance(settings, RelaxedNUTS)
    from posetta.infer import nuts

    model.fixed_dim("nuts")
    began = time.perf_counter()
    drawn = _all_chains(_nuts_chain, traces, model, settings, seed, report, executor)
    seconds = {"compile": 0.0, "run": time.perf_counter() - began}
    return nuts.put_together(traces, model, settings, seed, drawn, seconds)


def _all_chains(
    work: Callable[..., Any],
    traces: Traces,
    model: Model,
    settings: HardMCMC | RelaxedNUTS,
    seed: int,
    report: Report,
    executor: Any,
) -> list[Any]:
    futures = [
        executor.submit(work, traces, model, settings, seed, c) for c in range(settings.chains)
    ]
    try:
        pending = set(futures)
        while pending:
            _, pending = wait(pending, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            done = len(futures) - len(pending)
            report(done / len(futures), f"{done} of {len(futures)} chains")
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


def _hard_chain(
    traces: Traces, model: Model, settings: HardMCMC, seed: int, number: int
) -> dict[str, Any]:
    """Run one chain of Hard-MCMC to its end; return its frozen state, which holds its draws."""
    from posetta.infer.hard.chain import ChainRun, rows_of

    chain = ChainRun(traces, rows_of(traces), model, settings, seed, number)
    total = settings.warmup + settings.draws * settings.thin
    limited = settings.max_seconds is not None
    deadline = time.perf_counter() + (settings.max_seconds or np.inf)
    while chain.done < total and time.perf_counter() < deadline:
        chain.sweep(min(_PORTION, total - chain.done) if limited else total - chain.done)
    return chain.frozen()


def _nuts_chain(
    traces: Traces, model: Model, settings: RelaxedNUTS, seed: int, number: int
) -> dict[str, Any]:
    """Run one chain of NUTS from its own starting point; return its draws and statistics."""
    from posetta.infer.nuts import Chain
    from posetta.infer.start import starting_point
    from posetta.model.target import Target

    target = Target(model, traces)
    start = starting_point(target, settings.starts[number % len(settings.starts)], seed, number)
    chain = Chain(target, settings, start, seed, number)
    deadline = time.perf_counter() + (settings.max_seconds or np.inf)
    finished = False
    while not finished and time.perf_counter() < deadline:
        finished = chain.finishes_within(_LOOK_SECONDS)
    return {**chain.collect(), "stopped": not finished, "gradients": chain.n_gradients}

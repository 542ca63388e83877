"""Chains and restarts as separate jobs of an executor: processes, a cluster, whatever has `submit`.

Each of these parts has its own random stream, addressed by its number, so one that runs elsewhere
does what it would have done here. A method that can be spread has two functions beside `run`:
`run_part` runs one chain, or tries one start, and returns what came of it; `put_together` makes the
posterior.
"""

from __future__ import annotations

from concurrent.futures import FIRST_EXCEPTION, wait
from importlib import import_module
from typing import Any

from posetta.data import Traces
from posetta.errors import SettingError
from posetta.infer.methods import METHODS, FlowVI, FullRankVI, HardMCMC, RelaxedNUTS
from posetta.infer.progress import Report
from posetta.model.model import Model
from posetta.posterior import Posterior

_LOOK_SECONDS = 0.2


def run_spread(
    name: str,
    traces: Traces,
    model: Model,
    settings: Any,
    seed: int,
    report: Report,
    executor: Any,
) -> Posterior:
    """Fit with one job of the executor for each chain or restart; the draws are those of `run`.

    Ctrl-C ends the fit without a result: jobs elsewhere cannot be asked for what they have.
    ``seconds`` are those of the slowest job, and of what is done here after it; compiling in the
    workers is not told apart.
    """
    if isinstance(settings, HardMCMC | RelaxedNUTS):
        n_parts, noun = settings.chains, "chains"
    elif isinstance(settings, FullRankVI | FlowVI):
        n_parts, noun = settings.restarts, "restarts"
    else:
        raise SettingError(
            f"method {name!r} cannot use an executor: only the chains of hard and nuts and the "
            "restarts of fullrank and flow run apart. Drop it."
        )
    if isinstance(settings, HardMCMC) and settings.checkpoint is not None:
        raise SettingError("checkpoint needs the chains in this process: drop the executor.")
    method = import_module(METHODS[name].module)
    futures = [
        executor.submit(method.run_part, traces, model, settings, seed, number)
        for number in range(n_parts)
    ]
    try:
        pending = set(futures)
        while pending:
            ended, pending = wait(pending, timeout=_LOOK_SECONDS, return_when=FIRST_EXCEPTION)
            for future in ended:
                future.result()  # one that failed ends the fit now
            done = n_parts - len(pending)
            report(done / n_parts, f"{done} of {n_parts} {noun}")
        ran = [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()
    posterior: Posterior = method.put_together(traces, model, settings, seed, ran)
    return posterior

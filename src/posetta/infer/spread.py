"""Chains as separate jobs of an executor: processes, a cluster, anything with `submit`.

Every chain has its own random stream, addressed by its number, so a chain that runs elsewhere draws
what it would have drawn here. A method that can be spread has two functions beside `run`:
`run_chain` runs one chain to its end and returns what it drew, `put_together` makes the posterior.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, wait
from importlib import import_module
from typing import Any

from posetta.data import Traces
from posetta.errors import SettingError
from posetta.infer.methods import METHODS, HardMCMC, RelaxedNUTS
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
    """Fit with one job of the executor for each chain; the draws are those of `run`.

    Ctrl-C ends the fit without a result: chains elsewhere cannot be asked for what they have.
    ``seconds`` are those of the slowest chain; compiling in the workers is not told apart.
    """
    if not isinstance(settings, HardMCMC | RelaxedNUTS):
        raise SettingError(
            f"method {name!r} cannot use an executor: only the chains of hard and nuts run apart. "
            "Drop it."
        )
    if isinstance(settings, HardMCMC) and settings.checkpoint is not None:
        raise SettingError("checkpoint needs the chains in this process: drop the executor.")
    method = import_module(METHODS[name].module)
    futures = [
        executor.submit(method.run_chain, traces, model, settings, seed, number)
        for number in range(settings.chains)
    ]
    try:
        pending = set(futures)
        while pending:
            _, pending = wait(pending, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            done = len(futures) - len(pending)
            report(done / len(futures), f"{done} of {len(futures)} chains")
        ran = [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()
    posterior: Posterior = method.put_together(traces, model, settings, seed, ran)
    return posterior

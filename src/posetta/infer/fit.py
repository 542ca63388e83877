"""`fit`: one function for every method."""

from __future__ import annotations

from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.errors import InputError, SettingError
from posetta.infer.exact import LARGEST
from posetta.infer.methods import METHODS, Settings, settings_of
from posetta.infer.progress import progress_bar
from posetta.infer.spread import run_spread
from posetta.model.model import Model
from posetta.posterior import Posterior
from posetta.rng import seed_sequence

LARGEST_FOR_HARD = 200
# What says nothing unless the scalar is inferred.
_PRIORS = {
    "dim": ("dim_prior_mean", "dim_max"),
    **{name: (name + "_prior",) for name in ("rho", "beta", "gamma", "noise")},
}
# What calls for a word about noise: see `_signs_of_noise`.
_MANY_TRACES, _MANY_REVERSALS, _LONE_SHARE = 20, 6, 0.12


def fit(
    traces: Traces,
    method: str | Settings = "auto",
    model: Model | None = None,
    *,
    seed: int = 0,
    progress: bool = False,
    executor: Any = None,
) -> Posterior:
    """Infer the partial order behind the traces.

    ``method`` is a name or a settings object (``Exact(draws=1000)``); "auto" follows
    `choose_method`. ``model`` says which density (default `Model()`). The same seed gives the same
    result, on any number of cores. ``progress=True`` shows a bar with the time left on standard
    error. ``executor`` (anything with ``submit``: a process pool, ``Client.get_executor()`` of
    Dask) runs each chain of "hard" or "nuts" and each restart of "fullrank" or "flow" as a job of
    its own, with the same draws. Ctrl-C ends a sampler early and gives back what was drawn, status
    "budget_reached"; with an executor it ends the fit.
    """
    if not isinstance(traces, Traces):
        raise InputError(
            f"fit needs Traces, not {type(traces).__name__}. Use read_traces or Traces.from_lists."
        )
    model = Model() if model is None else model
    if not isinstance(model, Model):
        raise SettingError(f"model must be a Model, not {type(model).__name__}.")
    seed_sequence(seed)  # refuses a bad seed, also where the method draws nothing
    if executor is not None and not hasattr(executor, "submit"):
        raise SettingError(
            f"executor must have submit, as a process pool has, not be {type(executor).__name__}."
        )
    if method == "auto":
        method = choose_method(traces)
    name, settings = settings_of(method)
    remarks = [*_unused(model, name), *_signs_of_noise(traces, model, name)]
    run = import_module(METHODS[name].module).run
    posterior: Posterior
    if executor is not None:
        with progress_bar(name, shown=progress) as report:
            posterior = run_spread(name, traces, model, settings, int(seed), report, executor)
    elif METHODS[name].reports:
        with progress_bar(name, shown=progress) as report:
            posterior = run(traces, model, settings, int(seed), report)
    else:
        posterior = run(traces, model, settings, int(seed))
    return replace(posterior, warnings=(*posterior.warnings, *remarks)) if remarks else posterior


def _unused(model: Model, name: str) -> list[str]:
    """Say which settings of the model play no part in the method, and which priors in this fit."""
    uses = METHODS[name].uses
    changed = [field.name for field in fields(Model) if getattr(model, field.name) != field.default]
    foreign = [setting for setting in changed if setting not in uses]
    remarks = [f"{', '.join(foreign)} of the model: no part of method {name!r}."] if foreign else []
    for scalar, priors in _PRIORS.items():
        value = getattr(model, scalar)
        idle = [setting for setting in changed if setting in uses and setting in priors]
        if idle and value is not None and value != "random":
            remarks.append(
                f"{', '.join(idle)} of the model: no part of this fit, since {scalar}={value} is "
                "fixed."
            )
    return remarks


def _signs_of_noise(traces: Traces, model: Model, name: str) -> list[str]:
    """Say when a fit that believes in no noise rests on many reversals by a single trace.

    ``benchmarks/signs_of_noise.py``: of noise-free data sets 0 to 7 % are spoken of; of those with
    2 % random steps a quarter at 10 items and 60 to 90 % beyond, unless pairs are seen too seldom.
    """
    if model.noise != 0.0 or "noise_prior" not in METHODS[name].uses:
        return []
    evidence = PairEvidence.of(traces)
    n_lone, n_both = evidence.n_lone_reversals(_MANY_TRACES), int(evidence.both_orders.sum() // 2)
    if n_lone < _MANY_REVERSALS or n_lone < _LONE_SHARE * n_both:
        return []
    return [
        f"{n_lone} of the {n_both} pairs seen in both orders owe it to a single trace of "
        f"{_MANY_TRACES} or more. If steps can be wrong, that hides precedences: infer the noise "
        "(noise=None)."
    ]


def choose_method(traces: Traces) -> str:
    """Return what "auto" stands for: enumeration up to 5 items, Hard-MCMC up to 200.

    It takes seconds at 20 items and minutes at 100 to 200, and nothing else that we measured has
    better probabilities. Above 200 items "auto" gives the intersection of the traces, and a
    posterior must be asked for by name.
    """
    if traces.n_items <= LARGEST:
        return "exact"
    return "hard" if traces.n_items <= LARGEST_FOR_HARD else "maximal"

"""`fit`: one function for every method."""

from __future__ import annotations

from importlib import import_module

from posetta.data import Traces
from posetta.errors import InputError, SettingError
from posetta.infer.exact import LARGEST
from posetta.infer.methods import Settings, settings_of
from posetta.model.model import Model
from posetta.posterior import Posterior
from posetta.rng import seed_sequence


def fit(
    traces: Traces,
    method: str | Settings = "auto",
    model: Model | None = None,
    *,
    seed: int = 0,
) -> Posterior:
    """Infer the partial order behind the traces.

    ``method`` is a name or a settings object (``Exact(draws=1000)``); "auto" follows
    `choose_method`. ``model`` says which density (default `Model()`). The same seed gives the same
    result, on any number of cores.
    """
    if not isinstance(traces, Traces):
        raise InputError(
            f"fit needs Traces, not {type(traces).__name__}. Use read_traces or Traces.from_lists."
        )
    model = Model() if model is None else model
    if not isinstance(model, Model):
        raise SettingError(f"model must be a Model, not {type(model).__name__}.")
    seed_sequence(seed)  # refuses a bad seed, also where the method draws nothing
    if method == "auto":
        method = choose_method(traces)
    _, settings, module = settings_of(method)
    posterior: Posterior = import_module(module).run(traces, model, settings, int(seed))
    return posterior


def choose_method(traces: Traces) -> str:
    """Return what "auto" stands for: enumeration up to five items, else the intersection."""
    return "exact" if traces.n_items <= LARGEST else "maximal"

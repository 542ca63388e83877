"""Posetta: from many linear traces of one process to the partial order behind them.

Names load on first use, so that ``import posetta`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posetta import (
        baselines,
        data,
        evaluate,
        infer,
        model,
        order,
        plots,
        posterior,
        report,
        suite,
    )
    from posetta.data import ReadReport, Traces, read_traces, write_traces
    from posetta.data.demo import demo_order, demo_traces
    from posetta.errors import InputError, MissingExtra, SettingError
    from posetta.infer import (
        Exact,
        FlowVI,
        FullRankVI,
        HardMCMC,
        Majority,
        Maximal,
        PlackettLuce,
        RelaxedNUTS,
        SoftDAG,
        fit,
    )
    from posetta.model.model import Model
    from posetta.model.simulate import Simulation, simulate
    from posetta.order import Poset, read_order, write_order
    from posetta.posterior import Posterior
    from posetta.posterior.io import load, save

__version__ = "0.1.0"

_HOME = {
    "ReadReport": "posetta.data",
    "Traces": "posetta.data",
    "read_traces": "posetta.data",
    "write_traces": "posetta.data",
    "demo_order": "posetta.data.demo",
    "demo_traces": "posetta.data.demo",
    "InputError": "posetta.errors",
    "MissingExtra": "posetta.errors",
    "SettingError": "posetta.errors",
    "Exact": "posetta.infer",
    "FlowVI": "posetta.infer",
    "FullRankVI": "posetta.infer",
    "HardMCMC": "posetta.infer",
    "Majority": "posetta.infer",
    "Maximal": "posetta.infer",
    "PlackettLuce": "posetta.infer",
    "RelaxedNUTS": "posetta.infer",
    "SoftDAG": "posetta.infer",
    "fit": "posetta.infer",
    "Model": "posetta.model.model",
    "Simulation": "posetta.model.simulate",
    "simulate": "posetta.model.simulate",
    "Poset": "posetta.order",
    "read_order": "posetta.order",
    "write_order": "posetta.order",
    "Posterior": "posetta.posterior",
    "load": "posetta.posterior.io",
    "save": "posetta.posterior.io",
}
_ROOMS = (
    "baselines",
    "data",
    "evaluate",
    "infer",
    "model",
    "order",
    "plots",
    "posterior",
    "report",
    "suite",
)

__all__ = [
    "Exact",
    "FlowVI",
    "FullRankVI",
    "HardMCMC",
    "InputError",
    "Majority",
    "Maximal",
    "MissingExtra",
    "Model",
    "PlackettLuce",
    "Poset",
    "Posterior",
    "ReadReport",
    "RelaxedNUTS",
    "SettingError",
    "Simulation",
    "SoftDAG",
    "Traces",
    "__version__",
    "baselines",
    "data",
    "demo_order",
    "demo_traces",
    "evaluate",
    "fit",
    "infer",
    "load",
    "model",
    "order",
    "plots",
    "posterior",
    "read_order",
    "read_traces",
    "report",
    "save",
    "simulate",
    "suite",
    "write_order",
    "write_traces",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"posetta.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'posetta' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""How do we draw? Settings of the methods, and `fit`."""

from __future__ import annotations

from posetta.infer.fit import choose_method, fit
from posetta.infer.methods import (
    METHODS,
    Exact,
    FlowVI,
    FullRankVI,
    HardMCMC,
    Majority,
    Maximal,
    PlackettLuce,
    RelaxedNUTS,
    Settings,
    SoftDAG,
)

__all__ = [
    "METHODS",
    "Exact",
    "FlowVI",
    "FullRankVI",
    "HardMCMC",
    "Majority",
    "Maximal",
    "PlackettLuce",
    "RelaxedNUTS",
    "Settings",
    "SoftDAG",
    "choose_method",
    "fit",
]

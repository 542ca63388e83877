"""What would simpler do? One order, or a model of rankings, through the same `fit`."""

from __future__ import annotations

from posetta.baselines.majority import majority_order
from posetta.baselines.maximal import maximal_order
from posetta.baselines.settings import Majority, Maximal, PlackettLuce, SoftDAG

__all__ = [
    "Majority",
    "Maximal",
    "PlackettLuce",
    "SoftDAG",
    "majority_order",
    "maximal_order",
]

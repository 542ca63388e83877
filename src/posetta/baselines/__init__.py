"""What would simpler do? Each baseline gives one order through the same `fit`."""

from __future__ import annotations

from posetta.baselines.majority import majority_order
from posetta.baselines.maximal import maximal_order
from posetta.baselines.settings import Majority, Maximal

__all__ = ["Majority", "Maximal", "majority_order", "maximal_order"]

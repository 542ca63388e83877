"""How good is it? Structure, fidelity, prediction, coverage."""

from __future__ import annotations

from posetta.evaluate.coverage import ip_cov
from posetta.evaluate.fidelity import closure_mae
from posetta.evaluate.measured import Measured
from posetta.evaluate.predictive import NegativeLogLikelihood, Waic, step_nll, trace_nll, waic
from posetta.evaluate.structure import ClosureScores, closure_scores

__all__ = [
    "ClosureScores",
    "Measured",
    "NegativeLogLikelihood",
    "Waic",
    "closure_mae",
    "closure_scores",
    "ip_cov",
    "step_nll",
    "trace_nll",
    "waic",
]

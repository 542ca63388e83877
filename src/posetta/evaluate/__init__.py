"""How good is it? Structure, fidelity, prediction, calibration, coverage."""

from __future__ import annotations

from posetta.evaluate.calibration import Calibration, ReliabilityBin, calibration
from posetta.evaluate.coverage import UncoveredPair, ip_cov, uncovered_pairs
from posetta.evaluate.fidelity import ClosureAgreement, closure_agreement, closure_mae
from posetta.evaluate.loo import KFold, Loo, kfold, loo
from posetta.evaluate.measured import Measured
from posetta.evaluate.predictive import NegativeLogLikelihood, Waic, step_nll, trace_nll, waic
from posetta.evaluate.structure import ClosureScores, closure_scores, observed_items
from posetta.evaluate.training import sole_witnesses

__all__ = [
    "Calibration",
    "ClosureAgreement",
    "ClosureScores",
    "KFold",
    "Loo",
    "Measured",
    "NegativeLogLikelihood",
    "ReliabilityBin",
    "UncoveredPair",
    "Waic",
    "calibration",
    "closure_agreement",
    "closure_mae",
    "closure_scores",
    "ip_cov",
    "kfold",
    "loo",
    "observed_items",
    "sole_witnesses",
    "step_nll",
    "trace_nll",
    "uncovered_pairs",
    "waic",
]

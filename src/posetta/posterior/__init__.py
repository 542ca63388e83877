"""What did we learn? `Posterior`, decoding, prediction, saving and loading."""

from __future__ import annotations

from posetta.posterior.decode import break_cycles, decode
from posetta.posterior.decoders import expected_f1, expected_loss
from posetta.posterior.merge import merge
from posetta.posterior.posterior import Draws, Posterior
from posetta.posterior.predict import NextItem, Predictive, next_item, predictive
from posetta.posterior.surprise import Contradiction, TraceScore, score_traces

__all__ = [
    "Contradiction",
    "Draws",
    "NextItem",
    "Posterior",
    "Predictive",
    "TraceScore",
    "break_cycles",
    "decode",
    "expected_f1",
    "expected_loss",
    "merge",
    "next_item",
    "predictive",
    "score_traces",
]

"""What did we learn? `Posterior`, decoding, prediction, saving and loading."""

from __future__ import annotations

from posetta.posterior.decode import break_cycles, decode
from posetta.posterior.posterior import Draws, Posterior
from posetta.posterior.predict import Predictive, predictive

__all__ = ["Draws", "Posterior", "Predictive", "break_cycles", "decode", "predictive"]

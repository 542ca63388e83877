"""The Majority baseline (algorithm majority_baseline)."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from posetta.baselines.cycles import Uncycled, cut_words, without_cycles
from posetta.baselines.point import point_posterior
from posetta.baselines.settings import Majority
from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.model.model import Model
from posetta.posterior import Posterior


def majority_order(evidence: PairEvidence, threshold: float) -> NDArray[np.bool_]:
    """Return the closure of the pairs that a majority shows, cycles broken at the weakest.

    With r_ij the share of the traces ordering (i, j) that put i first, i -> j is kept when
    r_ij > threshold and r_ij > r_ji; its weight is |r_ij - r_ji|.
    """
    return _majority(evidence, threshold).closure


def _majority(evidence: PairEvidence, threshold: float) -> Uncycled:
    """Return the order, and how many pairs were cut for it."""
    share = evidence.before / np.maximum(evidence.together, 1)
    kept = (share > threshold) & (share > share.T)
    return without_cycles(kept, np.abs(share - share.T))


def run(traces: Traces, model: Model, settings: Majority, seed: int) -> Posterior:
    """Fit the baseline."""
    started = time.perf_counter()
    order = _majority(PairEvidence.of(traces), settings.threshold)
    return point_posterior(
        order.closure,
        traces,
        model,
        method="majority",
        settings=settings,
        seed=seed,
        started=started,
        warnings=(cut_words(order.n_cut, "that a majority shows"),) if order.n_cut else (),
        diagnostics={"cut_pairs": order.n_cut},
    )

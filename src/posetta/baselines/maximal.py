"""The maximal order that the traces allow: the intersection of the traces, or almost."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from posetta.baselines.cycles import Uncycled, cut_words, without_cycles
from posetta.baselines.point import point_posterior
from posetta.baselines.settings import Maximal
from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.model.model import Model
from posetta.posterior import Posterior


def maximal_order(evidence: PairEvidence, eps: float) -> NDArray[np.bool_]:
    """Return the closure of the pairs that at most a share ``eps`` of their traces contradict.

    Pairs never listed together are left out. Cycles (possible when traces are partial) are broken
    at the pair with the least support, as in decoding.
    """
    return _maximal(evidence, eps).closure


def _maximal(evidence: PairEvidence, eps: float) -> Uncycled:
    """Return the order, and how many pairs were cut for it."""
    share = evidence.before / np.maximum(evidence.together, 1)
    against = share.T
    kept = (evidence.before > 0) & (against <= eps)
    return without_cycles(kept, share)


def run(traces: Traces, model: Model, settings: Maximal, seed: int) -> Posterior:
    """Fit the baseline."""
    started = time.perf_counter()
    order = _maximal(PairEvidence.of(traces), settings.eps)
    return point_posterior(
        order.closure,
        traces,
        model,
        method="maximal",
        settings=settings,
        seed=seed,
        started=started,
        warnings=(cut_words(order.n_cut, "that the traces allow"),) if order.n_cut else (),
        diagnostics={"cut_pairs": order.n_cut},
    )

"""The maximal order that the traces allow: the intersection of the traces, or almost."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from posetta.baselines.point import point_posterior
from posetta.baselines.settings import Maximal
from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.model.model import Model
from posetta.order import transitive_closure
from posetta.posterior import Posterior, break_cycles


def maximal_order(evidence: PairEvidence, eps: float) -> NDArray[np.bool_]:
    """Return the closure of the pairs that at most a share ``eps`` of their traces contradict.

    Pairs never listed together are left out. Cycles (possible when traces are partial) are broken
    at the pair with the least support, as in decoding.
    """
    share = evidence.before / np.maximum(evidence.together, 1)
    against = share.T
    kept = (evidence.before > 0) & (against <= eps)
    return transitive_closure(break_cycles(kept, share))


def run(traces: Traces, model: Model, settings: Maximal, seed: int) -> Posterior:
    """Fit the baseline."""
    started = time.perf_counter()
    closure = maximal_order(PairEvidence.of(traces), settings.eps)
    return point_posterior(
        closure, traces, model, method="maximal", settings=settings, seed=seed, started=started
    )

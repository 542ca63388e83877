"""What WAIC and LOO share: the training traces' log-likelihood, and where the two mislead.

At noise 0 the hard model gives 0 to a trace that breaks the order, so every draw allows every
training trace. A trace that alone shows b before a rules out all orders with a before b: without it
they would be possible, and no reweighting of the draws can bring them back. Importance weights do
not see what is missing, and neither does their Pareto k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.errors import InputError
from posetta.posterior import Posterior


def training_log_likelihood(posterior: Posterior, traces: Traces, what: str) -> NDArray[np.float64]:
    """Return (draw, unique row of the posterior's traces): log probability of one copy."""
    if posterior.is_point:
        raise InputError(f"{what} needs a posterior; a baseline's single order has no draws.")
    if traces.with_items(posterior.items).hash != posterior.traces.hash:
        raise InputError(f"{what} is for the traces that were fitted; these are others.")
    draws = posterior.draws.log_likelihood
    log_likelihood = draws.reshape(draws.shape[0] * draws.shape[1], draws.shape[2])
    if len(log_likelihood) < 2:
        raise InputError(f"{what} needs at least two draws.")
    return log_likelihood


def support_warnings(posterior: Posterior, what: str) -> list[str]:
    """Name the traces that alone rule out an order of a pair, where ``what`` is then optimistic."""
    if posterior.likelihood != "hard" or np.any(posterior.draws.scalar("noise") > 0.0):
        return []
    traces = posterior.traces
    witnesses = sole_witnesses(traces)
    if not witnesses:
        return []
    named = ", ".join(traces.describe_row(row) for row in witnesses[:3])
    more = f" and {len(witnesses) - 3} more" if len(witnesses) > 3 else ""
    return [
        f"at noise 0 {what} of hard draws is optimistic: these traces alone show a pair in one "
        f"direction, so leaving one out changes which orders are possible: {named}{more}. "
        "Compare by refitting without them (evaluate.kfold)."
    ]


def sole_witnesses(traces: Traces) -> list[int]:
    """Return the unique rows, observed once, that alone show some pair in one direction.

    Whether others show the pair the other way round, or not at all, makes no difference: without
    the row an order that forbids it is possible.
    """
    alone = PairEvidence.of(traces).before == 1
    rows = []
    for row in np.flatnonzero(traces.counts == 1).tolist():
        members, listed = traces.choice_set(row), traces.n_listed[row]
        shown = alone[np.ix_(members[:listed], members)]
        if np.triu(shown, k=1).any():
            rows.append(row)
    return rows

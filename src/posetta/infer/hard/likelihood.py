"""The likelihood of a chain, by the engine that its noise asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.infer.hard.clean import count_relations, evaluate_clean, keep_clean, weigh_clean
from posetta.infer.hard.compile import compiled, copy, inner
from posetta.infer.hard.noisy import evaluate_noisy, keep_noisy, weigh_noisy
from posetta.infer.hard.relations import put_old
from posetta.infer.hard.state import S_NOISE, S_POWER, S_VALUE, Chain, Rows, Work


@compiled
def fill_weights(beta: float, weight: NDArray[np.float64], log_weight: NDArray[np.float64]) -> None:
    """Fill (1 + s)^beta and its logarithm."""
    for s in range(len(weight)):
        log_weight[s] = beta * np.log(1.0 + s)
        weight[s] = np.exp(log_weight[s])


@compiled
def evaluate(
    rows: Rows,
    closure: NDArray[np.bool_],
    weight: NDArray[np.float64],
    log_weight: NDArray[np.float64],
    noise: float,
    state: Any,
) -> float:
    """Fill the likelihood of a `Chain` or a `Work` from scratch; return its weighted total."""
    if noise > 0.0:
        return evaluate_noisy(rows, closure, weight, noise, state.W, state.own, state.row_value)
    count_relations(rows, closure, state.n_after, state.last_before)
    return evaluate_clean(
        rows, weight, log_weight, state.n_after, state.last_before, state.W, state.row_value
    )


@compiled
def refresh(rows: Rows, chain: Chain) -> None:
    """Evaluate the chain where it stands: clears what rounding has left in sums of differences."""
    chain.scalars[S_VALUE] = evaluate(
        rows, chain.closure, chain.weight, chain.log_weight, chain.scalars[S_NOISE], chain
    )


@inner
def keep_evaluation(chain: Chain, work: Work, value: float) -> None:
    """Make an evaluation of ``work`` that of the chain."""
    chain.scalars[S_VALUE] = value
    copy(work.W, chain.W)
    copy(work.own, chain.own)
    copy(work.row_value, chain.row_value)
    copy(work.n_after, chain.n_after)
    copy(work.last_before, chain.last_before)


@inner
def change(
    rows: Rows,
    chain: Chain,
    work: Work,
    i: int,
    n_partners: int,
    log_ratio: float,
    log_uniform: float,
) -> bool:
    """Propose new relations of item i with its partners; accept or reject.

    ``log_ratio`` is the log ratio of prior and proposal; the likelihood comes on top.
    """
    clean = chain.scalars[S_NOISE] <= 0.0
    if clean:
        log_likelihood = weigh_clean(rows, chain, work, i, n_partners)
    else:
        log_likelihood = weigh_noisy(rows, chain, work, i, n_partners)
    if log_uniform < log_ratio + chain.scalars[S_POWER] * log_likelihood:
        chain.scalars[S_VALUE] += log_likelihood
        if clean:
            keep_clean(rows, chain, work, i, n_partners)
        else:
            keep_noisy(rows, chain, work)
        return True
    put_old(chain.closure, work, i, n_partners)
    return False

"""The likelihood of a chain: what is carried of every row, and how it is computed from scratch.

Item a of a row is on the frontier from just after its last predecessor in the row to its `top`: its
own position, or the last step if it is an unlisted item of a top-k list. (A predecessor beyond the
top keeps it off for good.) Its weight at step t is (1 + S_t)^beta with S_t its successors at
positions >= t: the late ones, at or beyond its top, and those early ones, before its top, that are
not yet taken at t. A trace that keeps the order has no early successors, so the weight is constant
there. With W[t] the weight of the frontier and own[t] that of the item taken (0 if it was not
free),

    p_t = (1 - noise) own[t] / W[t] + noise / |R_t|.

At noise 0 no trace breaks the order: nothing is early and the item taken is always free.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.infer.hard.compile import compiled, copy, inlined, inlined_fast, inner
from posetta.infer.hard.state import S_NOISE, S_VALUE, Chain, Rows, Work
from posetta.model.vector_math import log


@compiled
def fill_weights(beta: float, weight: NDArray[np.float64], log_weight: NDArray[np.float64]) -> None:
    """Fill (1 + s)^beta and its logarithm."""
    for s in range(len(weight)):
        log_weight[s] = beta * np.log(1.0 + s)
        weight[s] = np.exp(log_weight[s])


@inlined
def find_last_before(rows: Rows, closure: NDArray[np.bool_], r: int, a: int, highest: int) -> int:
    """Return the position of the last predecessor of a, known to be at most ``highest``."""
    start, c = rows.offsets[r], highest
    while c >= 0 and not closure[rows.members[start + c], a]:
        c -= 1
    return c


@inner
def _count_relations(
    rows: Rows,
    closure: NDArray[np.bool_],
    n_late: NDArray[np.int32],
    n_early: NDArray[np.int32],
    last_before: NDArray[np.int32],
) -> None:
    """Fill, for every item of every row, its successors and its last predecessor there."""
    for r in range(len(rows.counts)):
        row = rows.members[rows.offsets[r] : rows.offsets[r + 1]]
        for b in range(len(row)):
            a = row[b]
            top = min(b, rows.n_listed[r] - 1)
            early, late, last = 0, 0, -1
            for c in range(top):
                early += closure[a, row[c]]
                if closure[row[c], a]:
                    last = c
            for c in range(top, len(row)):
                late += closure[a, row[c]]
                if closure[row[c], a]:
                    last = c
            n_late[r, a] = late
            n_early[r, a] = early
            last_before[r, a] = last


@inlined
def fill_row(
    rows: Rows,
    r: int,
    closure: NDArray[np.bool_],
    weight: NDArray[np.float64],
    n_late: NDArray[np.int32],
    n_early: NDArray[np.int32],
    last_before: NDArray[np.int32],
    W: NDArray[np.float64],
    own: NDArray[np.float64],
) -> None:
    """Fill W and own of a row from its counts. Nothing is subtracted, so no digits are lost."""
    row = rows.members[rows.offsets[r] : rows.offsets[r + 1]]
    base, listed = rows.first_step[r], rows.n_listed[r]
    W[base : base + listed] = 0.0
    for b in range(len(row)):
        a = row[b]
        top, last, s = min(b, listed - 1), last_before[r, a], n_late[r, a]
        if b < listed:
            own[base + b] = weight[s] if last < b else 0.0
        if n_early[r, a] == 0:
            for t in range(last + 1, top + 1):
                W[base + t] += weight[s]
        else:
            for t in range(top, last, -1):
                s += t < top and closure[a, row[t]]
                W[base + t] += weight[s]


@inlined_fast
def row_value(
    rows: Rows, r: int, noise: float, W: NDArray[np.float64], own: NDArray[np.float64]
) -> float:
    """Return sum_t log p_t of one copy of a row."""
    base, listed = rows.first_step[r], rows.n_listed[r]
    W_row, own_row = W[base : base + listed], own[base : base + listed]
    chance = rows.chance[base : base + listed]
    total = 0.0
    for t in range(len(W_row)):
        total += log((1.0 - noise) * own_row[t] / W_row[t] + noise * chance[t])
    return total


@inner
def total_value(
    rows: Rows,
    noise: float,
    W: NDArray[np.float64],
    own: NDArray[np.float64],
    values: NDArray[np.float64],
) -> float:
    """Fill the row values from W and own; return the count-weighted log-likelihood."""
    total = 0.0
    for r in range(len(rows.counts)):
        values[r] = row_value(rows, r, noise, W, own)
        total += rows.counts[r] * values[r]
    return total


@inner
def evaluate_counts(
    rows: Rows,
    closure: NDArray[np.bool_],
    weight: NDArray[np.float64],
    noise: float,
    n_late: NDArray[np.int32],
    n_early: NDArray[np.int32],
    last_before: NDArray[np.int32],
    W: NDArray[np.float64],
    own: NDArray[np.float64],
    values: NDArray[np.float64],
) -> float:
    """Fill W, own and the row values from the counts; return the weighted log-likelihood."""
    for r in range(len(rows.counts)):
        fill_row(rows, r, closure, weight, n_late, n_early, last_before, W, own)
    return total_value(rows, noise, W, own, values)


@compiled
def evaluate(
    rows: Rows, closure: NDArray[np.bool_], weight: NDArray[np.float64], noise: float, state: Any
) -> float:
    """Fill the likelihood of a `Chain` or a `Work` from scratch; return its weighted total."""
    _count_relations(rows, closure, state.n_late, state.n_early, state.last_before)
    return evaluate_counts(
        rows, closure, weight, noise, state.n_late, state.n_early, state.last_before,
        state.W, state.own, state.row_value,
    )  # fmt: skip


@compiled
def refresh(rows: Rows, chain: Chain) -> None:
    """Evaluate the chain where it stands: clears what rounding has left in sums of differences."""
    chain.scalars[S_VALUE] = evaluate(
        rows, chain.closure, chain.weight, chain.scalars[S_NOISE], chain
    )


@inner
def keep_evaluation(chain: Chain, work: Work, value: float) -> None:
    """Make an evaluation of ``work`` that of the chain."""
    chain.scalars[S_VALUE] = value
    copy(work.W, chain.W)
    copy(work.own, chain.own)
    copy(work.n_late, chain.n_late)
    copy(work.n_early, chain.n_early)
    copy(work.last_before, chain.last_before)

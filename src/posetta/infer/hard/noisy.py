"""The likelihood engine with noise, where traces may break the order.

Item a of a row (position p_a) is on the frontier at step t exactly when t <= p_a and no predecessor
of a lies at a position >= t; its weight there is (1 + S_t(a))^beta with S_t(a) the successors at
positions >= t. With W[t] the weight of the frontier and own[t] that of the item taken (0 if it was
not free),

    p_t = (1 - noise) own[t] / W[t] + noise / |R_t|.

A change of some relations of item i touches only the profiles t -> weight of i and of the partners
whose relation changed: subtract the old profiles from W, add the new ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posetta.infer.hard.compile import inner, inner_fast
from posetta.infer.hard.relations import put_new
from posetta.infer.hard.state import S_NOISE, STEEP, Chain, Rows, Work
from posetta.model.vector_math import log


@inner
def _add_profile(
    rows: Rows,
    r: int,
    a: int,
    closure: NDArray[np.bool_],
    weight: NDArray[np.float64],
    sign: float,
    W: NDArray[np.float64],
) -> float:
    """Add ``sign`` times the weight of item a to W of row r; return its weight when it is taken."""
    row = rows.members[rows.offsets[r] : rows.offsets[r + 1]]
    listed = rows.n_listed[r]
    p = rows.position[r, a]
    start = min(p, listed - 1)
    successors = 0
    for b in range(start, len(row)):
        if closure[row[b], a]:
            return 0.0  # a predecessor is still there at every step of a
        successors += closure[a, row[b]]
    base = rows.first_step[r]
    own = weight[successors] if p < listed else 0.0
    W[base + start] += sign * weight[successors]
    for t in range(start - 1, -1, -1):
        if closure[row[t], a]:
            break
        successors += closure[a, row[t]]
        W[base + t] += sign * weight[successors]
    return own


@inner_fast
def row_value(
    rows: Rows, r: int, W: NDArray[np.float64], own: NDArray[np.float64], noise: float
) -> float:
    """Return sum_t log p_t of one copy of a row."""
    base = rows.first_step[r]
    listed = rows.n_listed[r]
    size = rows.offsets[r + 1] - rows.offsets[r]
    W_row, own_row = W[base : base + listed], own[base : base + listed]
    total = 0.0
    for t in range(len(W_row)):
        total += log((1.0 - noise) * own_row[t] / W_row[t] + noise / (size - t))
    return total


@inner
def _fill_row(
    rows: Rows,
    r: int,
    closure: NDArray[np.bool_],
    weight: NDArray[np.float64],
    W: NDArray[np.float64],
    own: NDArray[np.float64],
) -> None:
    base, listed = rows.first_step[r], rows.n_listed[r]
    W[base : base + listed] = 0.0
    for b in range(rows.offsets[r + 1] - rows.offsets[r]):
        a = np.int64(rows.members[rows.offsets[r] + b])
        taken = _add_profile(rows, r, a, closure, weight, 1.0, W)
        if b < listed:
            own[base + b] = taken


@inner
def evaluate_noisy(
    rows: Rows,
    closure: NDArray[np.bool_],
    weight: NDArray[np.float64],
    noise: float,
    W: NDArray[np.float64],
    own: NDArray[np.float64],
    values: NDArray[np.float64],
) -> float:
    """Fill W, own and the row values; return the count-weighted log-likelihood."""
    total = 0.0
    for r in range(len(rows.counts)):
        _fill_row(rows, r, closure, weight, W, own)
        values[r] = row_value(rows, r, W, own, noise)
        total += rows.counts[r] * values[r]
    return total


@inner
def weigh_noisy(rows: Rows, chain: Chain, work: Work, i: int, n_partners: int) -> float:
    """Return the log-likelihood ratio of new relations between item i and its partners.

    Leaves the new relations in the closure, and in ``work`` what `keep_noisy` needs.
    """
    closure, weight, partners = chain.closure, chain.weight, work.partners
    noise, steep = chain.scalars[S_NOISE], weight[len(weight) - 1] > STEEP
    n_rows = 0
    for q in range(rows.rows_of_start[i], rows.rows_of_start[i + 1]):
        r = rows.rows_of[q]
        felt = False
        for k in range(n_partners):
            felt |= rows.position[r, partners[k]] >= 0
        if not felt:
            continue
        work.rows[n_rows] = r
        n_rows += 1
        if not steep:
            for t in range(rows.first_step[r], rows.first_step[r] + rows.n_listed[r]):
                work.W[t] = chain.W[t]
                work.own[t] = chain.own[t]
            _replace(rows, r, i, n_partners, closure, weight, -1.0, work)
    put_new(closure, work, i, n_partners)
    total = 0.0
    for q in range(n_rows):
        r = work.rows[q]
        if steep:
            _fill_row(rows, r, closure, weight, work.W, work.own)
        else:
            _replace(rows, r, i, n_partners, closure, weight, 1.0, work)
        work.row_value[r] = row_value(rows, r, work.W, work.own, noise)
        total += rows.counts[r] * (work.row_value[r] - chain.row_value[r])
    work.n_rows[0] = n_rows
    return total


@inner
def _replace(
    rows: Rows,
    r: int,
    i: int,
    n_partners: int,
    closure: NDArray[np.bool_],
    weight: NDArray[np.float64],
    sign: float,
    work: Work,
) -> None:
    """Take the profiles of item i and its partners out of a row (sign -1) or put them in (+1)."""
    for k in range(n_partners + 1):
        a = work.partners[k] if k < n_partners else i
        p = rows.position[r, a]
        if p >= 0:
            taken = _add_profile(rows, r, a, closure, weight, sign, work.W)
            if p < rows.n_listed[r]:
                work.own[rows.first_step[r] + p] = taken


@inner
def keep_noisy(rows: Rows, chain: Chain, work: Work) -> None:
    """Make what `weigh_noisy` found the state of the chain."""
    for q in range(work.n_rows[0]):
        r = work.rows[q]
        chain.row_value[r] = work.row_value[r]
        for t in range(rows.first_step[r], rows.first_step[r] + rows.n_listed[r]):
            chain.W[t] = work.W[t]
            chain.own[t] = work.own[t]

"""The likelihood engine at noise 0, where no trace breaks the order.

Then every predecessor of a listed item lies before it and every successor after it, so its profile
is a constant: weight (1 + S)^beta from just after its last predecessor to its own position, S the
successors it has in the row. (Unlisted items of a top-k list stay to the last step; a predecessor
among them keeps an item off the frontier for good.) A changed relation changes S by one and moves
the start of an interval, so a proposal touches a few short stretches of W.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.infer.hard.state import Chain, Rows, Work
from posetta.model.vector_math import log

_FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(cache=True, nogil=True, error_model="numpy")
def count_relations(
    rows: Rows,
    closure: NDArray[np.bool_],
    n_after: NDArray[np.int32],
    last_before: NDArray[np.int32],
) -> None:
    """Fill, for every item of every row, its successors and its last predecessor there."""
    for r in range(len(rows.counts)):
        row = rows.members[rows.offsets[r] : rows.offsets[r + 1]]
        for b in range(len(row)):
            a = row[b]
            after, last = 0, -1
            for c in range(len(row)):
                after += closure[a, row[c]]
                if closure[row[c], a]:
                    last = c
            n_after[r, a] = after
            last_before[r, a] = last


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _fill_step_values(
    W: NDArray[np.float64],
    own: NDArray[np.float64],
    step_value: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    W_part, own_part = W[first : last + 1], own[first : last + 1]
    value_part = step_value[first : last + 1]
    for t in range(len(W_part)):
        value_part[t] = log(own_part[t] / W_part[t])


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _total(values: NDArray[np.float64], first: int, last: int) -> float:
    part = values[first : last + 1]
    total = 0.0
    for t in range(len(part)):
        total += part[t]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate_clean(
    rows: Rows,
    power: NDArray[np.float64],
    n_after: NDArray[np.int32],
    last_before: NDArray[np.int32],
    W: NDArray[np.float64],
    own: NDArray[np.float64],
    step_value: NDArray[np.float64],
    row_value: NDArray[np.float64],
) -> float:
    """Fill W, own and the values from the counts; return the count-weighted log-likelihood."""
    W[:] = 0.0
    total = 0.0
    for r in range(len(rows.counts)):
        row = rows.members[rows.offsets[r] : rows.offsets[r + 1]]
        listed, base = rows.n_listed[r], rows.first_step[r]
        for b in range(len(row)):
            a = row[b]
            weight = power[n_after[r, a]]
            for t in range(last_before[r, a] + 1, min(b, listed - 1) + 1):
                W[base + t] += weight
            if b < listed:
                own[base + b] = weight
        _fill_step_values(W, own, step_value, base, base + listed - 1)
        row_value[r] = _total(step_value, base, base + listed - 1)
        total += rows.counts[r] * row_value[r]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _move_profile(
    rows: Rows,
    chain: Chain,
    work: Work,
    r: int,
    a: int,
    n_after: int,
    last_before: int,
) -> None:
    """Replace the profile of item a in the copied W of row r, and note the steps it touches."""
    work.n_after[r, a] = n_after
    work.last_before[r, a] = last_before
    old_last = chain.last_before[r, a]
    old, new = chain.power[chain.n_after[r, a]], chain.power[n_after]
    base, listed, p = rows.first_step[r], rows.n_listed[r], rows.position[r, a]
    top = min(p, listed - 1)
    if p < listed:
        work.own[base + p] = new
        work.span[r, 1] = max(work.span[r, 1], p)
        work.span[r, 0] = min(work.span[r, 0], p)
    low, high = min(old_last, last_before), max(old_last, last_before)
    if low < top:
        work.span[r, 0] = min(work.span[r, 0], low + 1)
        work.span[r, 1] = max(work.span[r, 1], top)
    # Where only one of the two intervals lies, then where both do.
    change = -old if old_last < last_before else new
    for t in range(low + 1, min(high, top) + 1):
        work.W[base + t] += change
    if old != new:
        for t in range(high + 1, top + 1):
            work.W[base + t] += new - old


@njit(cache=True, nogil=True, error_model="numpy")
def _find_last_before(rows: Rows, closure: NDArray[np.bool_], r: int, a: int) -> int:
    row = rows.members[rows.offsets[r] : rows.offsets[r + 1]]
    p = rows.position[r, a]
    for c in range((p if p < rows.n_listed[r] else len(row)) - 1, -1, -1):
        if closure[row[c], a]:
            return c
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def change_clean(
    rows: Rows,
    chain: Chain,
    i: int,
    n_partners: int,
    log_ratio: float,
    uniform: float,
    work: Work,
) -> bool:
    """Flip the relations of item i with its partners and accept or reject by the likelihood.

    ``work.after[j]`` and ``work.before[j]`` hold the proposed "i before j" and "j before i".
    ``log_ratio`` is the log prior and proposal ratio.
    """
    closure, partners = chain.closure, work.partners
    for k in range(n_partners):
        j = partners[k]
        closure[i, j] = work.after[j]
        closure[j, i] = work.before[j]
    n_rows = 0
    for q in range(rows.rows_of_start[i], rows.rows_of_start[i + 1]):
        r = rows.rows_of[q]
        base, listed = rows.first_step[r], rows.n_listed[r]
        p_i = rows.position[r, i]
        n_after_i, last_i = chain.n_after[r, i], chain.last_before[r, i]
        lost_last, felt = False, False
        for k in range(n_partners):
            j = partners[k]
            p_j = rows.position[r, j]
            if p_j < 0:
                continue
            if not felt:
                felt = True
                work.rows[n_rows] = r
                n_rows += 1
                work.span[r, 0] = listed
                work.span[r, 1] = -1
                for t in range(base, base + listed):
                    work.W[t] = chain.W[t]
                    work.own[t] = chain.own[t]
            n_after_j, last_j = chain.n_after[r, j], chain.last_before[r, j]
            if work.after[j] and not work.was_after[k]:
                n_after_i += 1
                last_j = max(last_j, p_i)
            elif work.was_after[k] and not work.after[j]:
                n_after_i -= 1
                if last_j == p_i:
                    last_j = _find_last_before(rows, closure, r, j)
            if work.before[j] and not work.was_before[k]:
                n_after_j += 1
                last_i = max(last_i, p_j)
            elif work.was_before[k] and not work.before[j]:
                n_after_j -= 1
                lost_last |= last_i == p_j or chain.last_before[r, i] == p_j
            _move_profile(rows, chain, work, r, j, n_after_j, last_j)
        if not felt:
            continue
        if lost_last:
            last_i = _find_last_before(rows, closure, r, i)
        _move_profile(rows, chain, work, r, i, n_after_i, last_i)
        work.row_value[r] = chain.row_value[r]
        if work.span[r, 1] >= 0:
            first, last = base + work.span[r, 0], base + work.span[r, 1]
            _fill_step_values(work.W, work.own, work.step_value, first, last)
            work.row_value[r] += _total(work.step_value, first, last) - _total(
                chain.step_value, first, last
            )
        log_ratio += rows.counts[r] * (work.row_value[r] - chain.row_value[r])
    if np.log(uniform) < log_ratio:
        for q in range(n_rows):
            r = work.rows[q]
            chain.row_value[r] = work.row_value[r]
            base = rows.first_step[r]
            for t in range(base + work.span[r, 0], base + work.span[r, 1] + 1):
                chain.W[t] = work.W[t]
                chain.own[t] = work.own[t]
                chain.step_value[t] = work.step_value[t]
            chain.n_after[r, i] = work.n_after[r, i]
            chain.last_before[r, i] = work.last_before[r, i]
            for k in range(n_partners):
                j = partners[k]
                if rows.position[r, j] >= 0:
                    chain.n_after[r, j] = work.n_after[r, j]
                    chain.last_before[r, j] = work.last_before[r, j]
        return True
    for k in range(n_partners):
        j = partners[k]
        closure[i, j] = work.was_after[k]
        closure[j, i] = work.was_before[k]
    return False

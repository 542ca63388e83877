"""The likelihood engine at noise 0, where no trace breaks the order.

Then every predecessor of a listed item lies before it and every successor after it, so its profile
is a constant: weight (1 + S)^beta from just after its last predecessor to its own position, S the
successors it has in the row. (Unlisted items of a top-k list stay to the last step; a predecessor
among them keeps an item off the frontier for good.) A changed relation changes S by one and moves
the start of an interval: two entries of the difference of W. One pass over the steps between the
first and the last of them gives the new W and the likelihood ratio.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posetta.infer.hard.compile import inner
from posetta.infer.hard.relations import put_new
from posetta.infer.hard.state import STEEP, Chain, Rows, Work
from posetta.model.vector_math import log

# Ratios multiplied before a logarithm is taken: (items x STEEP)^16 is far from overflow.
_BLOCK = 16


@inner
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


@inner
def _sum_weights(
    rows: Rows,
    r: int,
    weight: NDArray[np.float64],
    n_after: NDArray[np.int32],
    last_before: NDArray[np.int32],
    W: NDArray[np.float64],
) -> None:
    base, listed = rows.first_step[r], rows.n_listed[r]
    W[base : base + listed] = 0.0
    for b in range(rows.offsets[r + 1] - rows.offsets[r]):
        a = rows.members[rows.offsets[r] + b]
        w = weight[n_after[r, a]]
        for t in range(base + last_before[r, a] + 1, base + min(b, listed - 1) + 1):
            W[t] += w


@inner
def evaluate_clean(
    rows: Rows,
    weight: NDArray[np.float64],
    log_weight: NDArray[np.float64],
    n_after: NDArray[np.int32],
    last_before: NDArray[np.int32],
    W: NDArray[np.float64],
    row_value: NDArray[np.float64],
) -> float:
    """Fill W and the row values from the counts; return the count-weighted log-likelihood."""
    total = 0.0
    for r in range(len(rows.counts)):
        _sum_weights(rows, r, weight, n_after, last_before, W)
        value = 0.0
        for t in range(rows.n_listed[r]):
            a = rows.members[rows.offsets[r] + t]
            value += log_weight[n_after[r, a]] - log(W[rows.first_step[r] + t])
        row_value[r] = value
        total += rows.counts[r] * value
    return total


@inner
def _find_last_before(rows: Rows, closure: NDArray[np.bool_], r: int, a: int) -> int:
    start = rows.offsets[r]
    p = rows.position[r, a]
    size = rows.offsets[r + 1] - start
    for c in range((p if p < rows.n_listed[r] else size) - 1, -1, -1):
        if closure[rows.members[start + c], a]:
            return c
    return -1


@inner
def weigh_clean(rows: Rows, chain: Chain, work: Work, i: int, n_partners: int) -> float:
    """Return the log-likelihood ratio of new relations between item i and its partners.

    ``work.after[j]`` and ``work.before[j]`` say "i before j" and "j before i". Leaves the new
    relations in the closure, and in ``work`` what `keep_clean` needs.
    """
    put_new(chain.closure, work, i, n_partners)
    closure, weight, log_weight = chain.closure, chain.weight, chain.log_weight
    position, old_after, old_last, W = rows.position, chain.n_after, chain.last_before, chain.W
    new_after, new_last, new_W = work.n_after, work.last_before, work.W
    partners, after, before = work.partners, work.after, work.before
    was_after, was_before, difference = work.was_after, work.was_before, work.difference
    rows_of, first_step, n_listed = rows.rows_of, rows.first_step, rows.n_listed
    steep = weight[len(weight) - 1] > STEEP
    total = 0.0
    for q in range(rows.rows_of_start[i], rows.rows_of_start[i + 1]):
        r = rows_of[q]
        base, listed = first_step[r], n_listed[r]
        p_i = position[r, i]
        n_after_i, last_i = old_after[r, i], old_last[r, i]
        lost_last, felt = False, False
        low, high, value = listed, np.int64(-1), 0.0
        for k in range(n_partners + 1):
            if k < n_partners:
                a = partners[k]
                p = position[r, a]
                if p < 0:
                    continue
                felt = True
                s, last = old_after[r, a], old_last[r, a]
                if after[a] and not was_after[k]:
                    n_after_i += 1
                    last = max(last, p_i)
                elif was_after[k] and not after[a]:
                    n_after_i -= 1
                    if last == p_i:
                        last = _find_last_before(rows, closure, r, a)
                if before[a] and not was_before[k]:
                    s += 1
                    last_i = max(last_i, p)
                elif was_before[k] and not before[a]:
                    s -= 1
                    lost_last |= last_i == p or old_last[r, i] == p
            else:  # item i itself, last
                if not felt:
                    break
                a, p, s = i, p_i, n_after_i
                last = _find_last_before(rows, closure, r, i) if lost_last else last_i
            new_after[r, a] = s
            new_last[r, a] = last
            was_s, was_last = old_after[r, a], old_last[r, a]
            top = min(p, listed - 1)
            if p < listed:
                value += log_weight[s] - log_weight[was_s]
            if was_last < top:
                difference[was_last + 1] -= weight[was_s]
                difference[top + 1] += weight[was_s]
                low, high = min(low, was_last + 1), max(high, top)
            if last < top:
                difference[last + 1] += weight[s]
                difference[top + 1] -= weight[s]
                low, high = min(low, last + 1), max(high, top)
        work.span[r, 0] = low
        work.span[r, 1] = high
        if high < 0:
            continue
        if steep:
            value += _weigh_steep(rows, chain, work, r, i, n_partners, low, high)
        else:
            change, ratio, block = 0.0, 1.0, 0
            for t in range(low, high + 1):
                change += difference[t]
                here = W[base + t]
                there = here + change
                new_W[base + t] = there
                ratio *= here / there
                block += 1
                if block == _BLOCK:
                    value += log(ratio)
                    ratio, block = 1.0, 0
            value += log(ratio)
        for t in range(low, high + 2):
            difference[t] = 0.0
        total += rows.counts[r] * value
    return total


@inner
def _weigh_steep(
    rows: Rows, chain: Chain, work: Work, r: int, i: int, n_partners: int, low: int, high: int
) -> float:
    """Sum W of a row anew from the counts; return the change of - sum log W."""
    for b in range(rows.offsets[r], rows.offsets[r + 1]):
        a = rows.members[b]
        touched = a == i
        for k in range(n_partners):
            touched |= work.partners[k] == a
        if not touched:
            work.n_after[r, a] = chain.n_after[r, a]
            work.last_before[r, a] = chain.last_before[r, a]
    _sum_weights(rows, r, chain.weight, work.n_after, work.last_before, work.W)
    base = rows.first_step[r]
    value = 0.0
    for t in range(base + low, base + high + 1):
        value += log(chain.W[t]) - log(work.W[t])
    return value


@inner
def keep_clean(rows: Rows, chain: Chain, work: Work, i: int, n_partners: int) -> None:
    """Make what `weigh_clean` found the state of the chain."""
    for q in range(rows.rows_of_start[i], rows.rows_of_start[i + 1]):
        r = rows.rows_of[q]
        base = rows.first_step[r]
        felt = False
        for k in range(n_partners):
            j = work.partners[k]
            if rows.position[r, j] >= 0:
                felt = True
                chain.n_after[r, j] = work.n_after[r, j]
                chain.last_before[r, j] = work.last_before[r, j]
        if felt:
            chain.n_after[r, i] = work.n_after[r, i]
            chain.last_before[r, i] = work.last_before[r, i]
            for t in range(base + work.span[r, 0], base + work.span[r, 1] + 1):
                chain.W[t] = work.W[t]

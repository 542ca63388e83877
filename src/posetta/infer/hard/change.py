"""The step that most proposals end in: new relations between one item and some partners.

Such a change touches, in every row, only the weights of the item and of those partners: their
number of successors changes, or where they come free. What is taken out of W and put in is noted in
the difference of W from one step to the next, two entries for an item without early successors. One
pass over the steps between the first and the last entry gives the new W and the likelihood ratio.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posetta.infer.hard.compile import inlined, inner
from posetta.infer.hard.likelihood import fill_row, find_last_before, row_value
from posetta.infer.hard.relations import put_new, put_old
from posetta.infer.hard.state import S_NOISE, S_POWER, S_VALUE, STEEP, Chain, Rows, Work
from posetta.model.vector_math import log

# Ratios multiplied before a logarithm is taken. At noise 0 one is below items x STEEP, with noise
# below items / CLOSEST (see `scalar_moves`): sixteen of them are far from overflow.
_BLOCK = 16


@inlined
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
    log_likelihood = weigh(rows, chain, work, i, n_partners)
    if chain.weight[len(chain.weight) - 1] > STEEP:  # W lost its digits, the new counts stand
        log_likelihood = weigh_anew(rows, chain, work, i, n_partners)
    if log_uniform < log_ratio + chain.scalars[S_POWER] * log_likelihood:
        chain.scalars[S_VALUE] += log_likelihood
        keep(rows, chain, work, i, n_partners)
        return True
    put_old(chain.closure, work, i, n_partners)
    return False


@inner
def weigh(rows: Rows, chain: Chain, work: Work, i: int, n_partners: int) -> float:
    """Return the log-likelihood ratio of new relations between item i and its partners.

    ``work.after[j]`` and ``work.before[j]`` say "i before j" and "j before i". Leaves the new
    relations in the closure, and in ``work`` what `keep` needs.
    """
    put_new(chain.closure, work, i, n_partners)
    closure, weight, log_weight = chain.closure, chain.weight, chain.log_weight
    old_late, old_early, old_last = chain.n_late, chain.n_early, chain.last_before
    new_late, new_early, new_last = work.n_late, work.n_early, work.last_before
    partners, after, before = work.partners, work.after, work.before
    was_after, was_before = work.was_after, work.was_before
    difference, gain = work.difference, work.gain
    position, rows_of, n_listed = rows.position, rows.rows_of, rows.n_listed
    noise = chain.scalars[S_NOISE]
    total = 0.0
    for q in range(rows.rows_of_start[i], rows.rows_of_start[i + 1]):
        r = rows_of[q]
        listed = n_listed[r]
        p_i = position[r, i]
        top_i = min(p_i, listed - 1)
        late_i, early_i, last_i = old_late[r, i], old_early[r, i], old_last[r, i]
        felt = False
        low, high, value = listed, np.int64(-1), 0.0
        for k in range(n_partners + 1):
            if k < n_partners:
                a = partners[k]
                p = position[r, a]
                if p < 0:
                    continue
                felt = True
                top = min(p, listed - 1)
                late, early, last = old_late[r, a], old_early[r, a], old_last[r, a]
                if after[a] != was_after[k]:
                    if p >= top_i:
                        late_i += 1 if after[a] else -1
                    else:
                        early_i += 1 if after[a] else -1
                    if after[a]:
                        last = max(last, p_i)
                    elif last == p_i:
                        last = find_last_before(rows, closure, r, a, p_i - 1)
                if before[a] != was_before[k]:
                    if p_i >= top:
                        late += 1 if before[a] else -1
                    else:
                        early += 1 if before[a] else -1
                    if before[a]:
                        last_i = max(last_i, p)
            else:  # item i itself, last
                if not felt:
                    break
                a, p, top, late, early = i, p_i, top_i, late_i, early_i
                last = find_last_before(rows, closure, r, a, last_i)
            new_late[r, a] = late
            new_early[r, a] = early
            new_last[r, a] = last
            was_late, was_early, was_last = old_late[r, a], old_early[r, a], old_last[r, a]
            if p < listed:
                if noise > 0.0:
                    gain[p] = _own(weight, late, last, p) - _own(weight, was_late, was_last, p)
                else:
                    value += log_weight[late] - log_weight[was_late]
            if late == was_late and early == 0 and was_early == 0:
                # The weight stands; at most it comes free at another step.
                first, end = min(last, was_last), min(max(last, was_last), top)
                if first < end:
                    w = weight[late] if last < was_last else -weight[late]
                    difference[first + 1] += w
                    difference[end + 1] -= w
                    low, high = min(low, first + 1), max(high, end)
                continue
            if k < n_partners and late == was_late and early == was_early and last == was_last:
                continue
            if was_last < top:
                if was_early > 0:
                    _put_old_of(closure, work, i, n_partners, k)
                _put_profile(rows, r, a, top, was_late, was_early, was_last, -1.0, chain, work)
                if was_early > 0:
                    _put_new_of(closure, work, i, n_partners, k)
                low, high = min(low, was_last + 1), max(high, top)
            if last < top:
                _put_profile(rows, r, a, top, late, early, last, 1.0, chain, work)
                low, high = min(low, last + 1), max(high, top)
        work.span[r, 0] = low
        work.span[r, 1] = high
        if high < 0:
            continue
        if noise > 0.0:
            value = _pass_noisy(rows, chain, work, r, low, high)
        else:
            value += _pass_clean(rows, chain, work, r, low, high)
        total += rows.counts[r] * value
    return total


@inlined
def _own(weight: NDArray[np.float64], late: int, last: int, p: int) -> float:
    """Weight of an item when it is taken: 0 if a predecessor is still there."""
    return weight[late] if last < p else 0.0


@inlined
def _put_profile(
    rows: Rows,
    r: int,
    a: int,
    top: int,
    late: int,
    early: int,
    last: int,
    sign: float,
    chain: Chain,
    work: Work,
) -> None:
    """Note in the difference of W that the weight of item a comes (sign 1) or goes (-1)."""
    weight, difference = chain.weight, work.difference
    difference[top + 1] -= sign * weight[late]
    t, start = top - 1, rows.offsets[r]
    while early > 0 and t > last:
        if chain.closure[a, rows.members[start + t]]:
            difference[t + 1] -= sign * (weight[late + 1] - weight[late])
            late += 1
            early -= 1
        t -= 1
    difference[last + 1] += sign * weight[late]


@inlined
def _put_old_of(closure: NDArray[np.bool_], work: Work, i: int, n_partners: int, k: int) -> None:
    """Take back the successors of partner k, or of item i if k is beyond the partners."""
    if k < n_partners:
        closure[work.partners[k], i] = work.was_before[k]
    else:
        put_old(closure, work, i, n_partners)


@inlined
def _put_new_of(closure: NDArray[np.bool_], work: Work, i: int, n_partners: int, k: int) -> None:
    """Undo `_put_old_of`."""
    if k < n_partners:
        closure[work.partners[k], i] = work.before[work.partners[k]]
    else:
        put_new(closure, work, i, n_partners)


@inlined
def _pass_clean(rows: Rows, chain: Chain, work: Work, r: int, low: int, high: int) -> float:
    """Fill the new W of a row; return the change of - sum log W."""
    W, new_W, difference, base = chain.W, work.W, work.difference, rows.first_step[r]
    change_of_W, value, ratio, block = 0.0, 0.0, 1.0, 0
    for t in range(low, high + 1):
        change_of_W += difference[t]
        difference[t] = 0.0
        here = W[base + t]
        there = here + change_of_W
        new_W[base + t] = there
        ratio *= here / there
        block += 1
        if block == _BLOCK:
            value += log(ratio)
            ratio, block = 1.0, 0
    difference[high + 1] = 0.0
    return value + log(ratio)


@inlined
def _pass_noisy(rows: Rows, chain: Chain, work: Work, r: int, low: int, high: int) -> float:
    """Fill the new W of a row; return the change of sum log p_t, with p_t W_t free of divisions."""
    W, new_W, difference, base = chain.W, work.W, work.difference, rows.first_step[r]
    own, gain, chance = chain.own, work.gain, rows.chance
    noise = chain.scalars[S_NOISE]
    order = 1.0 - noise
    change_of_W, value, ratio, block = 0.0, 0.0, 1.0, 0
    for t in range(low, high + 1):
        change_of_W += difference[t]
        difference[t] = 0.0
        here = W[base + t]
        there = here + change_of_W
        new_W[base + t] = there
        by_chance, taken = noise * chance[base + t], own[base + t]
        had = order * taken + by_chance * here
        has = order * (taken + gain[t]) + by_chance * there
        gain[t] = 0.0
        ratio *= has * here / (had * there)
        block += 1
        if block == _BLOCK:
            value += log(ratio)
            ratio, block = 1.0, 0
    difference[high + 1] = 0.0
    return value + log(ratio)


@inner
def weigh_anew(rows: Rows, chain: Chain, work: Work, i: int, n_partners: int) -> float:
    """Sum W of the rows anew from the counts that `weigh` found; return the same ratio."""
    noise = chain.scalars[S_NOISE]
    total = 0.0
    for q in range(rows.rows_of_start[i], rows.rows_of_start[i + 1]):
        r = rows.rows_of[q]
        if work.span[r, 1] < 0:
            continue
        for b in range(rows.offsets[r], rows.offsets[r + 1]):
            a = rows.members[b]
            touched = a == i
            for k in range(n_partners):
                touched |= work.partners[k] == a
            if not touched:
                work.n_late[r, a] = chain.n_late[r, a]
                work.n_early[r, a] = chain.n_early[r, a]
                work.last_before[r, a] = chain.last_before[r, a]
        fill_row(
            rows, r, chain.closure, chain.weight, work.n_late, work.n_early, work.last_before,
            work.W, work.own,
        )  # fmt: skip
        value = row_value(rows, r, noise, work.W, work.own)
        value -= row_value(rows, r, noise, chain.W, chain.own)
        total += rows.counts[r] * value
    return total


@inner
def keep(rows: Rows, chain: Chain, work: Work, i: int, n_partners: int) -> None:
    """Make what `weigh` found the state of the chain."""
    for q in range(rows.rows_of_start[i], rows.rows_of_start[i + 1]):
        r = rows.rows_of[q]
        base = rows.first_step[r]
        felt = False
        for k in range(n_partners + 1):
            if k == n_partners and not felt:
                break
            a = work.partners[k] if k < n_partners else i
            p = rows.position[r, a]
            if p < 0:
                continue
            felt = True
            late, last = work.n_late[r, a], work.last_before[r, a]
            chain.n_late[r, a] = late
            chain.n_early[r, a] = work.n_early[r, a]
            chain.last_before[r, a] = last
            if p < rows.n_listed[r]:
                chain.own[base + p] = _own(chain.weight, late, last, p)
        if felt:
            for t in range(base + work.span[r, 0], base + work.span[r, 1] + 1):
                chain.W[t] = work.W[t]

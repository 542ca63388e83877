"""Compiled scoring of many traces under many draws, with sums over draws in log space.

For every listed step two sums over the draws s are kept: of p_s(step | prefix), the paper's way,
and of p_s(prefix up to and including the step), from which the probability of a trace and the
coherent predictive follow. A sum is a pair (top, scaled): its logarithm is top + log(scaled), so
that nothing underflows.

The hard scores go forwards through a trace, with the numbers of remaining predecessors and
successors of every item. A step touches only what is related to the chosen item, and a frontier is
summed over its members only: some hundred operations a trace of fifty items where looking at all
pairs of items takes thousands.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.model.hard import LARGEST_EXPONENT
from posetta.model.plackett_luce import step_log_probabilities
from posetta.model.relaxed_kernel import soft_margins, soft_precedence, trace_pass


@njit(cache=True, nogil=True, error_model="numpy")
def add_hard_draws(
    closure_bits: NDArray[np.uint8],
    beta: NDArray[np.float64],
    noise: NDArray[np.float64],
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> None:
    """Add draws of the hard model to ``sums`` (see `start_sums`); bits are (draw, item, byte)."""
    n_draws, n_items = closure_bits.shape[:2]
    widest = 0
    for r in range(len(n_listed)):
        widest = max(widest, offsets[r + 1] - offsets[r])
    log_size = np.log(1.0 + np.arange(widest))
    steps = np.empty(sums.shape[1])
    # The relations as lists: after[i, :n_after[i]] must follow item i, before[...] precede it.
    after = np.empty((n_items, n_items), dtype=np.uint32)
    before = np.empty((n_items, n_items), dtype=np.uint32)
    n_after = np.empty(n_items, dtype=np.int64)
    n_before = np.empty(n_items, dtype=np.int64)
    for s in range(n_draws):
        n_after[:] = 0
        n_before[:] = 0
        for i in range(n_items):
            for j in range(n_items):
                if (closure_bits[s, i, j >> 3] >> (7 - (j & 7))) & 1:
                    after[i, n_after[i]] = j
                    before[j, n_before[j]] = i
                    n_after[i] += 1
                    n_before[j] += 1
        utility = beta[s] * log_size
        _hard_steps(
            after, n_after, before, n_before, utility, noise[s], members, offsets, n_listed, steps
        )
        _add(steps, n_listed, sums)


@njit(cache=True, nogil=True, error_model="numpy")
def _hard_steps(
    after: NDArray[np.uint32],
    n_after: NDArray[np.int64],
    before: NDArray[np.uint32],
    n_before: NDArray[np.int64],
    utility: NDArray[np.float64],
    noise: float,
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    steps: NDArray[np.float64],
) -> None:
    """Fill log p_t of every listed step of every row; ``utility[k]`` is beta log(1 + k)."""
    n_items = len(n_after)
    widest = len(utility)
    overflows = widest > 0 and utility[widest - 1] > LARGEST_EXPONENT
    power = np.exp(np.minimum(utility, LARGEST_EXPONENT))
    remains = np.zeros(n_items, dtype=np.bool_)
    blockers = np.empty(n_items, dtype=np.int64)
    followers = np.empty(n_items, dtype=np.int64)
    frontier = np.empty(n_items, dtype=np.uint32)
    place = np.empty(n_items, dtype=np.int64)
    first_step = 0
    for r in range(len(n_listed)):
        row = members[offsets[r] : offsets[r + 1]]
        size, listed = len(row), n_listed[r]
        for x in row:
            remains[x] = True
            blockers[x] = n_before[x] if size == n_items else 0
            followers[x] = n_after[x]
        if size < n_items:
            for x in row:
                count = 0
                for k in range(np.uint64(n_after[x])):
                    y = after[x, k]
                    blockers[y] += 1  # of items outside the row too: nobody looks
                    count += remains[y]
                followers[x] = count
        width = 0
        for x in row:
            if blockers[x] == 0:
                frontier[width] = x
                place[x] = width
                width += 1
        for t in range(listed):
            x = row[t]
            log_p = -np.inf
            if blockers[x] == 0:
                total, top = 0.0, 0.0
                if overflows:
                    for k in range(width):
                        top = max(top, utility[followers[frontier[k]]])
                    for k in range(width):
                        total += np.exp(utility[followers[frontier[k]]] - top)
                else:
                    for k in range(width):
                        total += power[followers[frontier[k]]]
                log_p = utility[followers[x]] - top - np.log(total)
                width -= 1
                last = frontier[width]
                frontier[place[x]] = last
                place[last] = place[x]
            else:
                # Out of turn: what must come before it has one item less to be followed by.
                for k in range(np.uint64(n_before[x])):
                    followers[before[x, k]] -= 1
            remains[x] = False
            for k in range(np.uint64(n_after[x])):
                y = after[x, k]
                blockers[y] -= 1
                if blockers[y] == 0 and remains[y]:
                    frontier[width] = y
                    place[y] = width
                    width += 1
            if noise > 0.0:
                log_p = np.log((1.0 - noise) * np.exp(log_p) + noise / (size - t))
            steps[first_step + t] = log_p
        for t in range(listed, size):
            remains[row[t]] = False
        first_step += listed


@njit(cache=True, nogil=True, error_model="numpy")
def add_relaxed_draws(
    latent: NDArray[np.float64],
    beta: NDArray[np.float64],
    gamma: NDArray[np.float64],
    noise: NDArray[np.float64],
    tau: float,
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    counts: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> None:
    """Add draws of the relaxed model to ``sums``; latents are (draw, item, column)."""
    n_draws, n_items = latent.shape[:2]
    margins = np.empty((n_items, n_items))
    D = np.empty((n_items, n_items))
    log_free = np.empty((n_items, n_items))
    unused = np.empty((0, 0))
    steps = np.empty(sums.shape[1])
    for s in range(n_draws):
        soft_margins(latent[s], tau, margins)
        soft_precedence(margins, gamma[s], D, log_free)
        trace_pass(
            D,
            D.T.copy(),
            log_free,
            log_free.T.copy(),
            members,
            offsets,
            n_listed,
            counts,
            beta[s],
            noise[s],
            False,
            unused,
            unused,
            steps,
        )
        _add(steps, n_listed, sums)


@njit(cache=True, nogil=True, error_model="numpy")
def add_plackett_luce_draws(
    log_support: NDArray[np.float64],
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> None:
    """Add draws of a Plackett-Luce mixture to ``sums``; supports are (draw, item, component)."""
    steps = np.empty(sums.shape[1])
    for s in range(len(log_support)):
        step_log_probabilities(log_support[s], members, offsets, n_listed, steps)
        _add(steps, n_listed, sums)


def start_sums(n_steps: int) -> NDArray[np.float64]:
    """Return empty sums: rows are top and scaled of the steps, top and scaled of the prefixes."""
    sums = np.zeros((4, n_steps))
    sums[0] = sums[2] = -np.inf
    return sums


def merge_sums(sums: NDArray[np.float64], more: NDArray[np.float64]) -> None:
    """Add the sums over other draws."""
    for first in (0, 2):
        top = np.maximum(sums[first], more[first])
        level = np.where(np.isfinite(top), top, 0.0)  # e^-inf is 0, e^(inf - inf) is not a number
        sums[first + 1] *= np.exp(sums[first] - level)
        sums[first + 1] += more[first + 1] * np.exp(more[first] - level)
        sums[first] = top


@njit(cache=True, nogil=True, error_model="numpy")
def _add(
    steps: NDArray[np.float64], n_listed: NDArray[np.int64], sums: NDArray[np.float64]
) -> None:
    """Add one draw's log p of every step, and of every prefix, to the sums."""
    c = 0
    for r in range(len(n_listed)):
        prefix = 0.0
        for _ in range(n_listed[r]):
            prefix += steps[c]
            for first, value in ((0, steps[c]), (2, prefix)):
                top = sums[first, c]
                if value > top:
                    sums[first + 1, c] = sums[first + 1, c] * np.exp(top - value) + 1.0
                    sums[first, c] = value
                elif value > -np.inf:
                    sums[first + 1, c] += np.exp(value - top)
            c += 1

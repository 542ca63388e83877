"""The fused kernel of the relaxed likelihood: one forward and one backward pass.

Symbols follow the paper. For a row with members ``m[0], ..., m[C-1]`` (listed items first) and the
remainder ``R_t = m[t:]`` at step t,

    A_t(a) = sum_{b in R_t, b != a} log(1 - D(b, a))         log of the soft frontier weight
    S_t(a) = sum_{b in R_t, b != a} D(a, b)                  soft successor count
    s_t(a) = A_t(a) + beta log(1 + S_t(a))                   score
    log q_t = s_t(m[t]) - logsumexp_{a in R_t} s_t(a)        eq. relaxed_step_likelihood
    p_t = (1 - noise) q_t + noise / |R_t|

``A_t`` and ``S_t`` are suffix sums: going backwards in t each step adds one item, so a row costs
O(C^2). The gradient uses that D(b, a) is felt by all steps up to the earlier of the two positions:
prefix sums of the score gradients, again O(C^2).

The loops are split so that each either gathers, computes or scatters: only the middle kind holds
exp and log, and it runs on contiguous arrays, where the compiler vectorises it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.model.vector_math import exp, log

# Reassociation lets sums become SIMD; NaN and infinity keep their meaning (no nnan, no ninf).
_FAST = {"reassoc", "contract", "nsz", "arcp"}
# Indices are unsigned throughout: numba then emits no wrap-around test for negative ones, and none
# of the row views (with their reference counts) that would avoid it otherwise.
_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})
def _largest(values: NDArray[np.float64], start: Any, stop: Any) -> float:
    # Alone in a function because the no-NaN promise is what makes a maximum vectorise.
    best = values[start]
    for c in range(start, stop):
        best = max(best, values[c])
    return best


@njit(cache=True, nogil=True)
def _cell(k: Any) -> Any:
    # Remainders of 1, 2, 3, ... members lie one after another: that of k + 1 members starts here.
    return k * (k + _ONE) // _TWO


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def soft_margins(latent: NDArray[np.float64], tau: float, margins: NDArray[np.float64]) -> None:
    """Fill ``margins[i, j] = softmin_tau(u_i - u_j)`` (eq. soft_margin), the diagonal with 0."""
    n, d = latent.shape
    columns = latent.T.copy()
    smallest = np.empty(n)
    total = np.empty(n)
    for i in range(n):
        row = margins[i]
        for j in range(n):
            smallest[j] = columns[0, i] - columns[0, j]
            total[j] = 0.0
        for k in range(1, d):
            column = columns[k]
            here = column[i]
            for j in range(n):
                smallest[j] = min(smallest[j], here - column[j])
        for k in range(d):
            column = columns[k]
            here = column[i]
            for j in range(n):
                total[j] += exp((smallest[j] - (here - column[j])) / tau)
        for j in range(n):
            row[j] = smallest[j] - tau * log(total[j])
        row[i] = 0.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def soft_precedence(
    margins: NDArray[np.float64],
    gamma: float,
    D: NDArray[np.float64],
    log_free: NDArray[np.float64],
) -> None:
    """Fill ``D = sigmoid(gamma M)`` (eq. soft_pairwise_precedence) and ``log_free = log(1 - D)``.

    The diagonal is D = 0: an item neither precedes itself nor counts as its own successor.
    """
    n = margins.shape[0]
    for i in range(n):
        margin, d_row, free_row = margins[i], D[i], log_free[i]
        for j in range(n):
            x = gamma * margin[j]
            tail = exp(-abs(x))  # at most 1, so neither branch overflows
            sigmoid = 1.0 / (1.0 + tail)
            d_row[j] = sigmoid if x >= 0.0 else tail * sigmoid
            free_row[j] = -max(x, 0.0) - log(1.0 + tail)
        d_row[i] = 0.0
        free_row[i] = 0.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def trace_pass(
    D: NDArray[np.float64],
    D_t: NDArray[np.float64],
    log_free: NDArray[np.float64],
    log_free_t: NDArray[np.float64],
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    counts: NDArray[np.int64],
    beta: float,
    noise: float,
    with_gradient: bool,
    to_later: NDArray[np.float64],
    to_earlier: NDArray[np.float64],
    steps: NDArray[np.float64],
) -> tuple[float, float, float]:
    """Score every row; return the count-weighted log-likelihood, d/d beta and d/d noise.

    ``*_t`` are transposes, kept so that every gather runs along a row. With a gradient,
    ``to_later[i, j]`` and ``to_earlier[j, i]`` receive, summed, the derivative with respect to
    gamma M(i, j). ``steps`` receives log p_t of every listed step of every row (one copy each);
    pass an empty array to skip that.
    """
    widest = 0
    for r in range(len(counts)):
        widest = max(widest, offsets[r + 1] - offsets[r])
    cells = widest * (widest + 1) // 2
    row = np.empty(widest, dtype=np.uint32)
    free = np.empty(widest)
    before = np.empty(cells)
    after = np.empty(cells)
    one_plus_S = np.empty(cells)
    log_successors = np.empty(cells)
    weight = np.empty(cells)  # in turn A, the score, and the weight of each candidate
    chosen = np.empty(widest)
    pull = np.empty(widest)
    score_sum = np.empty(widest)
    successor_sum = np.empty(widest)
    later = np.empty(widest)
    earlier = np.empty(widest)

    value, d_beta, d_noise = 0.0, 0.0, 0.0
    first_step = _ZERO
    for r in range(len(counts)):
        size = np.uint64(offsets[r + 1] - offsets[r])
        listed = np.uint64(n_listed[r])
        count = float(counts[r])
        row_end = np.uint64(offsets[r + 1])
        for a in range(size):
            row[a] = members[row_end - _ONE - a]
        # Suffix sums: row[k] joins the remainder row[:k], which holds k members.
        last = _ZERO
        for k in range(size):
            x = row[k]
            start = _cell(k)
            blocked, followers = 0.0, 0.0
            for a in range(k):
                j = row[a]
                free[a] = log_free[x, j]
                before[start + a] = D[x, j]
                after[start + a] = D_t[x, j]
                blocked += log_free_t[x, j]
                followers += D[x, j]
            for a in range(k):
                weight[start + a] = weight[last + a] + free[a]
            for a in range(k):
                one_plus_S[start + a] = one_plus_S[last + a] + after[start + a]
            weight[start + k] = blocked
            one_plus_S[start + k] = 1.0 + followers
            last = start
        # Scores and weights of all listed steps at once: long loops.
        k_first = size - listed
        scored_from, scored_to = _cell(k_first), _cell(size)
        for c in range(scored_from, scored_to):
            log_successors[c] = log(one_plus_S[c])
        for c in range(scored_from, scored_to):
            weight[c] += beta * log_successors[c]
        for k in range(k_first, size):
            start = _cell(k)
            top = _largest(weight, start, start + k + _ONE)
            for c in range(start, start + k + _ONE):
                weight[c] -= top
            chosen[k] = weight[start + k]
        for c in range(scored_from, scored_to):
            weight[c] = exp(weight[c])
        row_value = 0.0
        for k in range(k_first, size):
            start = _cell(k)
            total = 0.0
            for c in range(start, start + k + _ONE):
                total += weight[c]
            log_q = chosen[k] - np.log(total)
            log_p, share = log_q, 1.0
            if noise > 0.0:
                q = np.exp(log_q)
                uniform = 1.0 / (k + _ONE)
                p = (1.0 - noise) * q + noise * uniform
                log_p = np.log(p)
                share = (1.0 - noise) * q / p
                d_noise += count * (uniform - q) / p
            row_value += log_p
            if len(steps) > 0:
                steps[first_step + size - _ONE - k] = log_p
            if with_gradient:
                pull[k] = count * share
                scale = pull[k] / total
                expected = 0.0
                for c in range(start, start + k + _ONE):
                    weight[c] *= scale
                    expected += weight[c] * log_successors[c]
                d_beta += pull[k] * log_successors[start + k] - expected
        value += count * row_value
        first_step += listed
        if not with_gradient:
            continue
        # Prefix sums of the score gradients, from the first step (k = size - 1) to the last.
        by_successor = log_successors  # the logarithms are done with
        for c in range(scored_from, scored_to):
            by_successor[c] = beta * weight[c] / one_plus_S[c]
        for a in range(size):
            score_sum[a] = 0.0
            successor_sum[a] = 0.0
        for k in range(np.int64(size) - 1, -1, -1):
            start = k * (k + 1) // 2
            if k >= np.int64(k_first):
                here, here_by = weight[start:], by_successor[start:]
                for a in range(k + 1):
                    score_sum[a] -= here[a]
                for a in range(k + 1):
                    successor_sum[a] -= here_by[a]
                score_sum[k] += pull[k]
                successor_sum[k] += beta * pull[k] / one_plus_S[start + k]
            here_score, here_successor = score_sum[k], successor_sum[k]
            before_k, after_k = before[start:], after[start:]
            for a in range(k):
                d = before_k[a]
                later[a] = d * ((1.0 - d) * here_successor - score_sum[a])
            for a in range(k):
                d = after_k[a]
                earlier[a] = d * ((1.0 - d) * successor_sum[a] - here_score)
            later_row, earlier_row = to_later[row[k]], to_earlier[row[k]]
            for a in range(k):
                j = row[a]
                later_row[j] += later[a]
                earlier_row[j] += earlier[a]
    return value, d_beta, d_noise


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def margin_gradient(
    latent: NDArray[np.float64],
    margins: NDArray[np.float64],
    tau: float,
    gamma: float,
    to_later: NDArray[np.float64],
    to_earlier: NDArray[np.float64],
    d_latent: NDArray[np.float64],
) -> float:
    """Fill d/d latent from the derivatives of the margins; return d/d gamma.

    The soft-min weights p_k = exp((M - Delta_k) / tau) sum to one over k.
    """
    n, d = latent.shape
    columns = latent.T.copy()
    d_columns = np.zeros((d, n))
    force = np.empty(n)
    d_gamma = 0.0
    for i in range(n):
        margin = margins[i]
        for j in range(n):
            force[j] = to_later[i, j] + to_earlier[j, i]
        force[i] = 0.0
        for j in range(n):
            d_gamma += force[j] * margin[j]
        for k in range(d):
            column = columns[k]
            d_column = d_columns[k]
            here = column[i]
            total = 0.0
            for j in range(n):
                pulled = gamma * force[j] * exp((margin[j] - (here - column[j])) / tau)
                d_column[j] -= pulled
                total += pulled
            d_column[i] += total
    for i in range(n):
        for k in range(d):
            d_latent[i, k] = d_columns[k, i]
    return d_gamma


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def value_and_gradient(
    latent: NDArray[np.float64],
    beta: float,
    gamma: float,
    tau: float,
    noise: float,
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    counts: NDArray[np.int64],
    d_latent: NDArray[np.float64],
) -> tuple[float, float, float, float]:
    """Return log-likelihood, d/d beta, d/d gamma, d/d noise; fill d/d latent."""
    n = latent.shape[0]
    margins = np.empty((n, n))
    D = np.empty((n, n))
    log_free = np.empty((n, n))
    soft_margins(latent, tau, margins)
    soft_precedence(margins, gamma, D, log_free)
    to_later = np.zeros((n, n))
    to_earlier = np.zeros((n, n))
    value, d_beta, d_noise = trace_pass(
        D,
        D.T.copy(),
        log_free,
        log_free.T.copy(),
        members,
        offsets,
        n_listed,
        counts,
        beta,
        noise,
        True,
        to_later,
        to_earlier,
        np.empty(0),
    )
    d_gamma = margin_gradient(latent, margins, tau, gamma, to_later, to_earlier, d_latent)
    return value, d_beta, d_gamma, d_noise

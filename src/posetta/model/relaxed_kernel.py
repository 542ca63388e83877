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

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.model.vector_math import exp, log

# Reassociation lets sums become SIMD; NaN and infinity keep their meaning (no nnan, no ninf).
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})
def _largest(values: NDArray[np.float64], size: int) -> float:
    # Alone in a function because the no-NaN promise is what makes a maximum vectorise.
    best = values[0]
    for a in range(size):
        best = max(best, values[a])
    return best


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
    kept = widest if with_gradient else 1  # the backward pass needs these four of every step
    weights = np.empty((kept, widest))
    one_plus_S = np.empty((kept, widest))
    before = np.empty((kept, widest))
    after = np.empty((kept, widest))
    row = np.empty(widest, dtype=np.uint32)
    free = np.empty(widest)
    A = np.empty(widest)
    S = np.empty(widest)
    score = np.empty(widest)
    log_successors = np.empty(widest)
    pull = np.empty(widest)
    score_sum = np.empty(widest)
    successor_sum = np.empty(widest)
    later = np.empty(widest)
    earlier = np.empty(widest)

    value, d_beta, d_noise = 0.0, 0.0, 0.0
    first_step = 0
    for r in range(len(counts)):
        size, listed = offsets[r + 1] - offsets[r], n_listed[r]
        count = float(counts[r])
        for a in range(size):
            row[a] = members[offsets[r + 1] - 1 - a]
        row_value = 0.0
        for k in range(size):
            # row[k] joins the remainder row[:k]: gather its pairs with the others, then add.
            x = row[k]
            kept_k = k if with_gradient else 0
            here_before, here_after = before[kept_k], after[kept_k]
            D_row, D_col = D[x], D_t[x]
            free_row, free_col = log_free[x], log_free_t[x]
            blocked, followers = 0.0, 0.0
            for a in range(k):
                j = row[a]
                free[a] = free_row[j]
                here_before[a] = D_row[j]
                here_after[a] = D_col[j]
                blocked += free_col[j]
                followers += D_row[j]
            for a in range(k):
                A[a] += free[a]
            for a in range(k):
                S[a] += here_after[a]
            A[k] = blocked
            S[k] = followers
            t = size - 1 - k
            if t >= listed:
                continue
            w, one_plus = weights[kept_k], one_plus_S[kept_k]
            for a in range(k + 1):
                one_plus[a] = 1.0 + S[a]
            for a in range(k + 1):
                log_successors[a] = log(one_plus[a])
            for a in range(k + 1):
                score[a] = A[a] + beta * log_successors[a]
            top = _largest(score, k + 1)
            total = 0.0
            for a in range(k + 1):
                w[a] = exp(score[a] - top)
                total += w[a]
            log_q = score[k] - top - np.log(total)
            log_p, share = log_q, 1.0
            if noise > 0.0:
                q = np.exp(log_q)
                uniform = 1.0 / (k + 1)
                p = (1.0 - noise) * q + noise * uniform
                log_p = np.log(p)
                share = (1.0 - noise) * q / p
                d_noise += count * (uniform - q) / p
            row_value += log_p
            if len(steps) > 0:
                steps[first_step + t] = log_p
            if with_gradient:
                pull[k] = count * share
                scale = count * share / total
                expected = 0.0
                for a in range(k + 1):
                    w[a] *= scale
                    expected += w[a] * log_successors[a]
                d_beta += pull[k] * log_successors[k] - expected
        value += count * row_value
        first_step += listed
        if not with_gradient:
            continue
        for a in range(size):
            score_sum[a] = 0.0
            successor_sum[a] = 0.0
        for k in range(size - 1, -1, -1):
            if size - 1 - k < listed:
                w, one_plus = weights[k], one_plus_S[k]
                for a in range(k + 1):
                    score_sum[a] -= w[a]
                for a in range(k + 1):
                    successor_sum[a] -= beta * w[a] / one_plus[a]
                score_sum[k] += pull[k]
                successor_sum[k] += beta * pull[k] / one_plus[k]
            here_before, here_after = before[k], after[k]
            here_score, here_successor = score_sum[k], successor_sum[k]
            for a in range(k):
                d = here_before[a]
                later[a] = d * ((1.0 - d) * here_successor - score_sum[a])
            for a in range(k):
                d = here_after[a]
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


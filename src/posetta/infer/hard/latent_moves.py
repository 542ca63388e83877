"""Moves of the latent coordinates. Each function makes a number of proposals of one kind.

A proposal costs O(items) to see which relations change. If none does there is no likelihood to
compute; at noise 0 a new relation that some trace contradicts is rejected at once. Two coordinates
are never equal (probability zero), so u_j > u_i exactly where u_i > u_j is false.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.infer.hard.change import change
from posetta.infer.hard.compile import compiled, inlined, inner
from posetta.infer.hard.state import (
    COORDINATE,
    GAP,
    ITEM,
    REDRAW,
    S_DIM,
    S_NOISE,
    S_RHO,
    STRETCH,
    SWAP,
    Chain,
    Rows,
    Work,
)

# Random-walk steps, in units of the latent's prior sd of 1: from within a gap to across the order.
_STEPS = np.array([0.03, 0.1, 0.3, 1.0])


@inner
def _row_log_prior(square: float, total: float, dim: int, rho: float) -> float:
    """Log density of a latent row, up to what depends on rho and dim only."""
    shrink = rho / (1.0 + (dim - 1) * rho)
    return -0.5 * (square - shrink * total * total) / (1.0 - rho)


@inner
def _sums(columns: NDArray[np.float64], i: int, dim: int) -> tuple[float, float]:
    square, total = 0.0, 0.0
    for k in range(dim):
        square += columns[k, i] * columns[k, i]
        total += columns[k, i]
    return square, total


@inner
def _allowed(rows: Rows, chain: Chain, i: int, k: int) -> tuple[float, float]:
    """Return where in column k item i may lie at noise 0.

    Above item j it precedes j if it does so in all other columns; the traces may forbid that.
    """
    columns, greater, contradicted = chain.columns, chain.greater, rows.contradicted
    others = int(chain.scalars[S_DIM]) - 1
    here = columns[k, i]
    low, high = -np.inf, np.inf
    for j in range(columns.shape[1]):
        elsewhere = greater[i, j] - int(here > columns[k, j])
        if elsewhere == others and contradicted[i, j]:
            high = min(high, columns[k, j])
        if elsewhere == 0 and contradicted[j, i]:
            low = max(low, columns[k, j])
    return low, high


@compiled
def coordinate_moves(rows: Rows, chain: Chain, work: Work, count: int, generator: Any) -> None:
    """Move single coordinates: random walks at four scales, and redraws within what is allowed."""
    columns, greater, closure, moves = chain.columns, chain.greater, chain.closure, chain.moves
    contradicted, crossed, partners = rows.contradicted, work.crossed, work.partners
    n, dim = columns.shape[1], int(chain.scalars[S_DIM])
    rho, clean = chain.scalars[S_RHO], chain.scalars[S_NOISE] <= 0.0
    along = 1.0 + (dim - 2) * rho
    spread = np.sqrt((1.0 - rho) * (1.0 + (dim - 1) * rho) / along) if dim > 1 else 1.0
    for _ in range(count):
        i, k = int(generator.random() * n), int(generator.random() * dim)
        old = columns[k, i]
        total = 0.0
        for c in range(dim):
            total += columns[c, i]
        # The prior of a coordinate given the other columns is normal.
        mean = rho * (total - old) / along if dim > 1 else 0.0
        scale = int(generator.random() * 5.0)
        if scale < len(_STEPS):
            kind = COORDINATE
            new = old + _STEPS[scale] * generator.standard_normal()
            by_prior = True
        else:
            kind = REDRAW
            low, high = _allowed(rows, chain, i, k) if clean else (-np.inf, np.inf)
            low, high = max(low, mean - 6.0 * spread), min(high, mean + 6.0 * spread)
            # In a narrow interval uniformly, else from the prior: the choice does not depend on
            # where the coordinate is now, so both are symmetric up to their densities.
            by_prior = high - low < 3.0 * spread
            if by_prior:
                if not low <= old <= high:
                    continue  # beyond six sd: no way would lead back
                new = low + (high - low) * generator.random()
            else:
                new = mean + spread * generator.standard_normal()
        log_ratio = 0.0
        if by_prior:
            log_ratio = 0.5 * ((old - mean) ** 2 - (new - mean) ** 2) / (spread * spread)
        moves[kind, 0] += 1
        up = new > old
        low, high = min(old, new), max(old, new)
        n_crossed, n_partners, allowed = 0, np.int64(0), True
        for j in range(n):
            value = columns[k, j]
            if not low < value < high:
                continue
            crossed[n_crossed] = j
            n_crossed += 1
            g = greater[i, j]
            if up:
                if g != dim - 1 and g != 0:
                    continue
                g += 1
            else:
                if g != dim and g != 1:
                    continue
                g -= 1
            after, before = g == dim, g == 0
            if clean and ((after and contradicted[i, j]) or (before and contradicted[j, i])):
                allowed = False
                break
            partners[n_partners] = j
            work.after[j] = after
            work.before[j] = before
            work.was_after[n_partners] = closure[i, j]
            work.was_before[n_partners] = closure[j, i]
            n_partners += 1
        if not allowed:
            continue
        log_uniform = -generator.standard_exponential()
        if n_partners == 0:
            accepted = log_uniform < log_ratio
        else:
            accepted = change(rows, chain, work, i, n_partners, log_ratio, log_uniform)
        if accepted:
            moves[kind, 1] += 1
            columns[k, i] = new
            sign = 1 if up else -1
            for c in range(n_crossed):
                j = crossed[c]
                greater[i, j] += sign
                greater[j, i] -= sign


@compiled
def item_moves(rows: Rows, chain: Chain, work: Work, count: int, generator: Any) -> None:
    """Shift items by the same amount in every column, or trade their places in two columns."""
    columns, proposal = chain.columns, work.proposal
    n, dim = columns.shape[1], int(chain.scalars[S_DIM])
    rho = chain.scalars[S_RHO]
    for _ in range(count):
        i = int(generator.random() * n)
        log_ratio = 0.0
        if dim > 1 and generator.random() < 0.5:
            k, m = int(generator.random() * dim), int(generator.random() * (dim - 1))
            m += m >= k
            for c in range(dim):
                proposal[c] = columns[c, i]
            proposal[k], proposal[m] = columns[m, i], columns[k, i]  # the prior does not change
        else:
            shift = _STEPS[int(generator.random() * len(_STEPS))] * generator.standard_normal()
            square, total = _sums(columns, i, dim)
            for c in range(dim):
                proposal[c] = columns[c, i] + shift
            log_ratio = _row_log_prior(
                square + 2.0 * shift * total + dim * shift * shift, total + dim * shift, dim, rho
            ) - _row_log_prior(square, total, dim, rho)
        chain.moves[ITEM, 0] += 1
        chain.moves[ITEM, 1] += _move_item(rows, chain, work, i, log_ratio, generator)


@inlined
def _move_item(
    rows: Rows, chain: Chain, work: Work, i: int, log_ratio: float, generator: Any
) -> bool:
    """Propose ``work.proposal`` for all columns of item i."""
    columns, closure, greater, proposal = chain.columns, chain.closure, work.greater, work.proposal
    n, dim = columns.shape[1], int(chain.scalars[S_DIM])
    clean = chain.scalars[S_NOISE] <= 0.0
    for j in range(n):
        greater[j] = 0
        for k in range(dim):
            greater[j] += proposal[k] > columns[k, j]
    n_partners = np.int64(0)
    for j in range(n):
        after, before = greater[j] == dim, greater[j] == 0
        if j != i and (after != closure[i, j] or before != closure[j, i]):
            if clean and (
                (after and rows.contradicted[i, j]) or (before and rows.contradicted[j, i])
            ):
                return False
            work.partners[n_partners] = j
            work.after[j] = after
            work.before[j] = before
            work.was_after[n_partners] = closure[i, j]
            work.was_before[n_partners] = closure[j, i]
            n_partners += 1
    log_uniform = -generator.standard_exponential()
    if n_partners == 0:
        accepted = log_uniform < log_ratio
    else:
        accepted = change(rows, chain, work, i, n_partners, log_ratio, log_uniform)
    if accepted:
        for k in range(dim):
            columns[k, i] = proposal[k]
        for j in range(n):
            if j != i:
                chain.greater[i, j] = greater[j]
                chain.greater[j, i] = dim - greater[j]
    return accepted


@compiled
def swap_moves(rows: Rows, chain: Chain, work: Work, count: int, generator: Any) -> None:
    """Swap the values of two items that are neighbours in one column: one pair can change."""
    columns, greater, closure = chain.columns, chain.greater, chain.closure
    n, dim = columns.shape[1], int(chain.scalars[S_DIM])
    rho, clean = chain.scalars[S_RHO], chain.scalars[S_NOISE] <= 0.0
    for _ in range(count):
        i, k = int(generator.random() * n), int(generator.random() * dim)
        low = columns[k, i]
        j, high = -1, np.inf
        for other in range(n):
            value = columns[k, other]
            if low < value < high:
                j, high = other, value
        if j < 0:
            continue  # the top of the column has no upper neighbour
        chain.moves[SWAP, 0] += 1
        g = greater[i, j] + 1
        # j lies above i: i cannot precede j before the swap, nor j precede i after it.
        after, was_before = g == dim, closure[j, i]
        if clean and after and rows.contradicted[i, j]:
            continue
        square_i, total_i = _sums(columns, i, dim)
        square_j, total_j = _sums(columns, j, dim)
        gap, spread = high - low, high * high - low * low
        log_ratio = (
            _row_log_prior(square_i + spread, total_i + gap, dim, rho)
            + _row_log_prior(square_j - spread, total_j - gap, dim, rho)
            - _row_log_prior(square_i, total_i, dim, rho)
            - _row_log_prior(square_j, total_j, dim, rho)
        )
        log_uniform = -generator.standard_exponential()
        if after or was_before:
            work.partners[0] = j
            work.after[j], work.before[j] = after, False
            work.was_after[0], work.was_before[0] = False, was_before
            accepted = change(rows, chain, work, i, np.int64(1), log_ratio, log_uniform)
        else:
            accepted = log_uniform < log_ratio
        if accepted:
            columns[k, i], columns[k, j] = high, low
            greater[i, j] = g
            greater[j, i] = dim - g
            chain.moves[SWAP, 1] += 1


@compiled
def gap_moves(chain: Chain, count: int, generator: Any) -> None:
    """Widen or narrow one gap of a column: shift an item and all above it. No rank changes."""
    columns = chain.columns
    n, dim = columns.shape[1], int(chain.scalars[S_DIM])
    rho = chain.scalars[S_RHO]
    for _ in range(count):
        i, k = int(generator.random() * n), int(generator.random() * dim)
        edge = columns[k, i]
        shift = _STEPS[int(generator.random() * len(_STEPS))] * generator.standard_normal()
        chain.moves[GAP, 0] += 1
        log_ratio = 0.0
        for j in range(n):
            value = columns[k, j]
            if value < edge:
                if value >= edge + shift:
                    log_ratio = -np.inf  # the gap below the item would close
                    break
                continue
            square, total = _sums(columns, j, dim)
            log_ratio += _row_log_prior(
                square + 2.0 * shift * value + shift * shift, total + shift, dim, rho
            ) - _row_log_prior(square, total, dim, rho)
        if -generator.standard_exponential() < log_ratio:
            for j in range(n):
                if columns[k, j] >= edge:
                    columns[k, j] += shift
            chain.moves[GAP, 1] += 1


@compiled
def stretch_moves(chain: Chain, count: int, generator: Any) -> None:
    """Stretch whole columns about their means by e^s and shift them by b. No rank changes.

    The deviations from the mean have n - 1 dimensions: the Jacobian is e^((n - 1) s). The inverse
    is (-s, -b), as likely as (s, b).
    """
    columns = chain.columns
    n, dim = columns.shape[1], int(chain.scalars[S_DIM])
    rho = chain.scalars[S_RHO]
    for _ in range(count):
        k = int(generator.random() * dim)
        step = 0.5 * _STEPS[int(generator.random() * len(_STEPS))]
        log_factor, shift = step * generator.standard_normal(), step * generator.standard_normal()
        factor = np.exp(log_factor)
        chain.moves[STRETCH, 0] += 1
        mean = 0.0
        for j in range(n):
            mean += columns[k, j] / n
        log_ratio = (n - 1) * log_factor
        for j in range(n):
            value = columns[k, j]
            new = mean + shift + factor * (value - mean)
            square, total = _sums(columns, j, dim)
            log_ratio += _row_log_prior(
                square + new * new - value * value, total + new - value, dim, rho
            ) - _row_log_prior(square, total, dim, rho)
        if -generator.standard_exponential() < log_ratio:
            for j in range(n):
                columns[k, j] = mean + shift + factor * (columns[k, j] - mean)
            chain.moves[STRETCH, 1] += 1

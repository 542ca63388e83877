"""The compiled part of Hard-MCMC: Metropolis-Hastings on latents under the hard likelihood.

What a trace feels. Item a of a row (position p_a) is on the frontier at step t exactly when
t <= p_a and no predecessor of a lies at a position >= t. Its weight there is (1 + S_t(a))^beta with
S_t(a) the successors at positions >= t. So a row is described by

    W[t]   = total weight of the frontier at step t
    own[t] = weight of the item taken at step t (0 if it was not on the frontier)
    p_t    = (1 - noise) own[t] / W[t] + noise / |R_t|

and a change of some relations of item i touches only the profiles t -> weight of i and of the
partners whose relation changed, in the rows that hold i: subtract the old profiles from W, add the
new ones. Everything else stands. At noise 0 the profiles are constants on intervals, and
`clean` does the same faster.

A proposal costs O(items) to see what changes. If no relation changes there is no likelihood to
compute; at noise 0 a new relation that some trace contradicts is rejected at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.infer.hard.clean import change_clean, count_relations, evaluate_clean
from posetta.infer.hard.state import Chain, Fixed, Rows, Work
from posetta.model.vector_math import log

# Kinds of moves, the rows of `Chain.moves` (proposed, accepted).
MOVES = (
    "coordinate",
    "redraw",
    "row",
    "swap",
    "gap",
    "stretch",
    "rho",
    "beta",
    "noise",
    "birth",
    "death",
)
COORDINATE, REDRAW, ROW, SWAP, GAP, STRETCH, RHO, BETA, NOISE, BIRTH, DEATH = range(len(MOVES))

# Random-walk steps, in units of the latent's prior sd of 1: from within a gap to across the order.
_STEPS = np.array([0.03, 0.1, 0.3, 1.0])
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(cache=True, nogil=True, error_model="numpy")
def _add_profile(
    rows: Rows,
    r: int,
    a: int,
    closure: NDArray[np.bool_],
    power: NDArray[np.float64],
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
    own = power[successors] if p < listed else 0.0
    W[base + start] += sign * power[successors]
    for t in range(start - 1, -1, -1):
        if closure[row[t], a]:
            break
        successors += closure[a, row[t]]
        W[base + t] += sign * power[successors]
    return own


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _row_value(
    rows: Rows, r: int, W: NDArray[np.float64], own: NDArray[np.float64], noise: float
) -> float:
    """Return sum_t log p_t of one copy of a row, with noise."""
    base = rows.first_step[r]
    listed = rows.n_listed[r]
    size = rows.offsets[r + 1] - rows.offsets[r]
    W_row, own_row = W[base : base + listed], own[base : base + listed]
    total = 0.0
    for t in range(len(W_row)):
        total += log((1.0 - noise) * own_row[t] / W_row[t] + noise / (size - t))
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate(
    rows: Rows,
    closure: NDArray[np.bool_],
    power: NDArray[np.float64],
    noise: float,
    state: Any,
) -> float:
    """Fill the likelihood of a `Chain` or a `Work` from scratch; return its weighted total."""
    if noise <= 0.0:
        count_relations(rows, closure, state.n_after, state.last_before)
        return evaluate_clean(
            rows,
            power,
            state.n_after,
            state.last_before,
            state.W,
            state.own,
            state.step_value,
            state.row_value,
        )
    W, own, row_value = state.W, state.own, state.row_value
    W[:] = 0.0
    total = 0.0
    for r in range(len(rows.counts)):
        for b in range(rows.offsets[r], rows.offsets[r + 1]):
            weight = _add_profile(rows, r, rows.members[b], closure, power, 1.0, W)
            t = b - rows.offsets[r]
            if t < rows.n_listed[r]:
                own[rows.first_step[r] + t] = weight
        row_value[r] = _row_value(rows, r, W, own, noise)
        total += rows.counts[r] * row_value[r]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _row_log_prior(square: float, total: float, dim: int, rho: float) -> float:
    """Log density of a latent row, up to what depends on rho and dim only."""
    shrink = rho / (1.0 + (dim - 1) * rho)
    return -0.5 * (square - shrink * total * total) / (1.0 - rho)


@njit(cache=True, nogil=True, error_model="numpy")
def _change_noisy(
    rows: Rows,
    chain: Chain,
    i: int,
    n_partners: int,
    log_ratio: float,
    uniform: float,
    work: Work,
) -> bool:
    """Do as `change_clean` does, for traces that may break the order."""
    closure, power, partners = chain.closure, chain.power, work.partners
    noise = chain.scalars[2]
    n_rows = 0
    # Take the old profiles out of a copy of W.
    for q in range(rows.rows_of_start[i], rows.rows_of_start[i + 1]):
        r = rows.rows_of[q]
        felt = False
        for k in range(n_partners):
            if rows.position[r, partners[k]] >= 0:
                felt = True
                break
        if not felt:
            continue
        work.rows[n_rows] = r
        n_rows += 1
        start, stop = rows.first_step[r], rows.first_step[r] + rows.n_listed[r]
        for t in range(start, stop):
            work.W[t] = chain.W[t]
            work.own[t] = chain.own[t]
        _add_profile(rows, r, i, closure, power, -1.0, work.W)
        for k in range(n_partners):
            if rows.position[r, partners[k]] >= 0:
                _add_profile(rows, r, partners[k], closure, power, -1.0, work.W)
    for k in range(n_partners):
        j = partners[k]
        closure[i, j] = work.after[j]
        closure[j, i] = work.before[j]
    # Put the new ones in.
    for q in range(n_rows):
        r = work.rows[q]
        base = rows.first_step[r]
        weight = _add_profile(rows, r, i, closure, power, 1.0, work.W)
        if rows.position[r, i] < rows.n_listed[r]:
            work.own[base + rows.position[r, i]] = weight
        for k in range(n_partners):
            p = rows.position[r, partners[k]]
            if p >= 0:
                weight = _add_profile(rows, r, partners[k], closure, power, 1.0, work.W)
                if p < rows.n_listed[r]:
                    work.own[base + p] = weight
        work.row_value[r] = _row_value(rows, r, work.W, work.own, noise)
        log_ratio += rows.counts[r] * (work.row_value[r] - chain.row_value[r])
    if np.log(uniform) < log_ratio:
        for q in range(n_rows):
            r = work.rows[q]
            chain.row_value[r] = work.row_value[r]
            for t in range(rows.first_step[r], rows.first_step[r] + rows.n_listed[r]):
                chain.W[t] = work.W[t]
                chain.own[t] = work.own[t]
        return True
    for k in range(n_partners):
        j = partners[k]
        closure[i, j] = work.was_after[k]
        closure[j, i] = work.was_before[k]
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def _change(
    rows: Rows,
    chain: Chain,
    i: int,
    n_partners: int,
    log_ratio: float,
    uniform: float,
    work: Work,
) -> bool:
    """Flip relations of item i and accept or reject, with the engine that the noise asks for."""
    if chain.scalars[2] <= 0.0:
        return change_clean(rows, chain, i, n_partners, log_ratio, uniform, work)
    return _change_noisy(rows, chain, i, n_partners, log_ratio, uniform, work)


@njit(cache=True, nogil=True, error_model="numpy")
def _move_item(
    rows: Rows,
    chain: Chain,
    work: Work,
    i: int,
    first: int,
    last: int,
    log_ratio: float,
    generator: Any,
) -> bool:
    """Propose ``work.proposal[first:last]`` for these columns of item i."""
    n = chain.latent.shape[0]
    dim = int(chain.scalars[3])
    noise = chain.scalars[2]
    greater = work.greater
    for j in range(n):
        greater[j] = chain.greater[i, j]
    for k in range(first, last):
        old, new = chain.latent[i, k], work.proposal[k]
        for j in range(n):
            other = chain.latent[j, k]
            greater[j] += int(new > other) - int(old > other)
    greater[i] = 0
    n_partners = 0
    for j in range(n):
        # Without ties u_j > u_i in exactly the columns where u_i > u_j is false.
        after = greater[j] == dim
        before = greater[j] == 0 and j != i
        if after != chain.closure[i, j] or before != chain.closure[j, i]:
            if noise <= 0.0 and (
                (after and rows.contradicted[i, j]) or (before and rows.contradicted[j, i])
            ):
                return False
            work.partners[n_partners] = j
            work.after[j] = after
            work.before[j] = before
            work.was_after[n_partners] = chain.closure[i, j]
            work.was_before[n_partners] = chain.closure[j, i]
            n_partners += 1
    uniform = generator.random()
    if n_partners == 0:
        accepted = np.log(uniform) < log_ratio
    else:
        accepted = _change(rows, chain, i, n_partners, log_ratio, uniform, work)
    if accepted:
        for k in range(first, last):
            chain.latent[i, k] = work.proposal[k]
        for j in range(n):
            if j != i:
                chain.greater[i, j] = greater[j]
                chain.greater[j, i] = dim - greater[j]
    return accepted


@njit(cache=True, nogil=True, error_model="numpy")
def _sums(latent: NDArray[np.float64], i: int, dim: int) -> tuple[float, float]:
    square, total = 0.0, 0.0
    for k in range(dim):
        square += latent[i, k] * latent[i, k]
        total += latent[i, k]
    return square, total


@njit(cache=True, nogil=True, error_model="numpy")
def _coordinate_move(rows: Rows, chain: Chain, work: Work, generator: Any) -> None:
    n, dim = chain.latent.shape[0], int(chain.scalars[3])
    rho = chain.scalars[0]
    i, k = generator.integers(0, n), generator.integers(0, dim)
    square, total = _sums(chain.latent, i, dim)
    old = chain.latent[i, k]
    if generator.random() < 0.25:
        # From the prior given the other columns: prior and proposal cancel.
        others = total - old
        mean = rho * others / (1.0 + (dim - 2) * rho) if dim > 1 else 0.0
        variance = 1.0 - (dim - 1) * rho * rho / (1.0 + (dim - 2) * rho) if dim > 1 else 1.0
        work.proposal[k] = mean + np.sqrt(variance) * generator.standard_normal()
        kind, log_ratio = REDRAW, 0.0
    else:
        step = _STEPS[generator.integers(0, len(_STEPS))]
        new = old + step * generator.standard_normal()
        work.proposal[k] = new
        kind = COORDINATE
        log_ratio = _row_log_prior(
            square + new * new - old * old, total + new - old, dim, rho
        ) - _row_log_prior(square, total, dim, rho)
    chain.moves[kind, 0] += 1
    chain.moves[kind, 1] += _move_item(rows, chain, work, i, k, k + 1, log_ratio, generator)


@njit(cache=True, nogil=True, error_model="numpy")
def _row_move(rows: Rows, chain: Chain, work: Work, generator: Any) -> None:
    """Shift an item by the same amount in every column: earlier or later as a whole."""
    n, dim = chain.latent.shape[0], int(chain.scalars[3])
    rho = chain.scalars[0]
    i = generator.integers(0, n)
    shift = _STEPS[generator.integers(0, len(_STEPS))] * generator.standard_normal()
    square, total = _sums(chain.latent, i, dim)
    new_square, new_total = 0.0, 0.0
    for k in range(dim):
        work.proposal[k] = chain.latent[i, k] + shift
        new_square += work.proposal[k] * work.proposal[k]
        new_total += work.proposal[k]
    log_ratio = _row_log_prior(new_square, new_total, dim, rho) - _row_log_prior(
        square, total, dim, rho
    )
    chain.moves[ROW, 0] += 1
    chain.moves[ROW, 1] += _move_item(rows, chain, work, i, 0, dim, log_ratio, generator)


@njit(cache=True, nogil=True, error_model="numpy")
def _swap_move(rows: Rows, chain: Chain, work: Work, generator: Any) -> None:
    """Swap the values of two items that are neighbours in one column: one pair can change."""
    n, dim = chain.latent.shape[0], int(chain.scalars[3])
    rho, noise = chain.scalars[0], chain.scalars[2]
    if n < 2:
        return
    i, k = generator.integers(0, n), generator.integers(0, dim)
    low = chain.latent[i, k]
    j, high = -1, np.inf
    for other in range(n):
        value = chain.latent[other, k]
        if low < value < high:
            j, high = other, value
    if j < 0:
        return  # the top of the column has no upper neighbour
    chain.moves[SWAP, 0] += 1
    square_i, total_i = _sums(chain.latent, i, dim)
    square_j, total_j = _sums(chain.latent, j, dim)
    gap = high - low
    spread = high * high - low * low
    log_ratio = (
        _row_log_prior(square_i + spread, total_i + gap, dim, rho)
        + _row_log_prior(square_j - spread, total_j - gap, dim, rho)
        - _row_log_prior(square_i, total_i, dim, rho)
        - _row_log_prior(square_j, total_j, dim, rho)
    )
    greater = chain.greater[i, j] + 1
    after, before = greater == dim, greater == 0
    uniform = generator.random()
    if after != chain.closure[i, j] or before != chain.closure[j, i]:
        if noise <= 0.0 and after and rows.contradicted[i, j]:
            return
        work.partners[0] = j
        work.after[j], work.before[j] = after, before
        work.was_after[0], work.was_before[0] = chain.closure[i, j], chain.closure[j, i]
        accepted = _change(rows, chain, i, 1, log_ratio, uniform, work)
    else:
        accepted = np.log(uniform) < log_ratio
    if accepted:
        chain.latent[i, k], chain.latent[j, k] = high, low
        chain.greater[i, j] = greater
        chain.greater[j, i] = dim - greater
        chain.moves[SWAP, 1] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _gap_move(chain: Chain, generator: Any) -> None:
    """Widen or narrow one gap of a column: shift an item and all above it. No rank changes."""
    n, dim = chain.latent.shape[0], int(chain.scalars[3])
    rho = chain.scalars[0]
    i, k = generator.integers(0, n), generator.integers(0, dim)
    edge = chain.latent[i, k]
    shift = _STEPS[generator.integers(0, len(_STEPS))] * generator.standard_normal()
    chain.moves[GAP, 0] += 1
    log_ratio = 0.0
    for j in range(n):
        value = chain.latent[j, k]
        if value < edge:
            if value >= edge + shift:
                return  # the gap below the item would close
            continue
        square, total = _sums(chain.latent, j, dim)
        moved = square + 2.0 * shift * value + shift * shift
        log_ratio += _row_log_prior(moved, total + shift, dim, rho) - _row_log_prior(
            square, total, dim, rho
        )
    if np.log(generator.random()) < log_ratio:
        for j in range(n):
            if chain.latent[j, k] >= edge:
                chain.latent[j, k] += shift
        chain.moves[GAP, 1] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _stretch_move(chain: Chain, generator: Any) -> None:
    """Stretch a whole column about its mean by e^s and shift it by b. No rank changes.

    The deviations from the mean have n - 1 dimensions: the Jacobian is e^((n - 1) s). The inverse
    is (-s, -b), as likely as (s, b).
    """
    n, dim = chain.latent.shape[0], int(chain.scalars[3])
    rho = chain.scalars[0]
    k = generator.integers(0, dim)
    step = 0.5 * _STEPS[generator.integers(0, len(_STEPS))]
    log_factor, shift = step * generator.standard_normal(), step * generator.standard_normal()
    factor = np.exp(log_factor)
    chain.moves[STRETCH, 0] += 1
    mean = 0.0
    for j in range(n):
        mean += chain.latent[j, k] / n
    log_ratio = (n - 1) * log_factor
    for j in range(n):
        value = chain.latent[j, k]
        new = mean + shift + factor * (value - mean)
        square, total = _sums(chain.latent, j, dim)
        log_ratio += _row_log_prior(
            square + new * new - value * value, total + new - value, dim, rho
        ) - _row_log_prior(square, total, dim, rho)
    if np.log(generator.random()) < log_ratio:
        for j in range(n):
            chain.latent[j, k] = mean + shift + factor * (chain.latent[j, k] - mean)
        chain.moves[STRETCH, 1] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _rho_move(chain: Chain, fixed: Fixed, generator: Any) -> None:
    """Random walks on logit rho given the latents: no likelihood is involved."""
    n, dim = chain.latent.shape[0], int(chain.scalars[3])
    square, squared_totals = 0.0, 0.0
    for i in range(n):
        s, t = _sums(chain.latent, i, dim)
        square += s
        squared_totals += t * t
    a, b = fixed.rho_prior
    rho = chain.scalars[0]
    here = _rho_density(rho, 1.0 - rho, n, dim, square, squared_totals, a, b)
    for step in (0.2, 0.6, 2.0):
        eta = np.log(rho / (1.0 - rho)) + step * generator.standard_normal()
        new = 1.0 / (1.0 + np.exp(-eta))
        chain.moves[RHO, 0] += 1
        if 1.0 - new < 1e-12 or new < 1e-12:
            continue  # the prior puts about 1e-23 beyond; 1 - rho must stay a number
        there = _rho_density(new, 1.0 - new, n, dim, square, squared_totals, a, b)
        if np.log(generator.random()) < there - here:
            rho, here = new, there
            chain.moves[RHO, 1] += 1
    chain.scalars[0] = rho


@njit(cache=True, nogil=True, error_model="numpy")
def _rho_density(
    rho: float,
    rest: float,
    n: int,
    dim: int,
    square: float,
    squared_totals: float,
    a: float,
    b: float,
) -> float:
    """Log density of logit rho given the latents: Gaussian rows, Beta(a, b) and the Jacobian."""
    along = 1.0 + (dim - 1) * rho
    quadratic = (square - rho / along * squared_totals) / rest
    log_determinant = (dim - 1) * np.log(rest) + np.log(along)
    return -0.5 * (n * log_determinant + quadratic) + a * np.log(rho) + b * np.log(rest)


@njit(cache=True, nogil=True, error_model="numpy")
def _weighted(rows: Rows, row_value: NDArray[np.float64]) -> float:
    total = 0.0
    for r in range(len(rows.counts)):
        total += rows.counts[r] * row_value[r]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _keep_work(chain: Chain, work: Work) -> None:
    chain.W[:] = work.W
    chain.own[:] = work.own
    chain.step_value[:] = work.step_value
    chain.row_value[:] = work.row_value
    chain.n_after[:, :] = work.n_after
    chain.last_before[:, :] = work.last_before


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_power(beta: float, power: NDArray[np.float64]) -> None:
    for s in range(len(power)):
        power[s] = np.exp(beta * np.log(1.0 + s))


@njit(cache=True, nogil=True, error_model="numpy")
def _beta_move(
    rows: Rows, chain: Chain, work: Work, fixed: Fixed, adapt: float, generator: Any
) -> None:
    a, b = fixed.beta_prior
    beta, noise = chain.scalars[1], chain.scalars[2]
    new = beta * np.exp(chain.steps[0] * generator.standard_normal())
    chain.moves[BETA, 0] += 1
    accept = 0.0
    if new < 100.0:  # (1 + s)^beta must stay in range; the prior puts e^-97 beyond
        _fill_power(new, work.power)
        there = evaluate(rows, chain.closure, work.power, noise, work)
        here = _weighted(rows, chain.row_value)
        log_ratio = there - here + a * np.log(new / beta) - b * (new - beta)
        accept = min(1.0, np.exp(min(log_ratio, 0.0)))
        if generator.random() < accept:
            chain.scalars[1] = new
            chain.power[:] = work.power
            _keep_work(chain, work)
            chain.moves[BETA, 1] += 1
    chain.steps[0] *= np.exp(adapt * (accept - 0.44))


@njit(cache=True, nogil=True, error_model="numpy")
def _noise_move(
    rows: Rows, chain: Chain, work: Work, fixed: Fixed, adapt: float, generator: Any
) -> None:
    a, b = fixed.noise_prior
    noise = chain.scalars[2]
    eta = np.log(noise / (1.0 - noise)) + chain.steps[1] * generator.standard_normal()
    new = 1.0 / (1.0 + np.exp(-eta))
    chain.moves[NOISE, 0] += 1
    accept = 0.0
    if 1e-12 < new < 1.0 - 1e-12:
        log_ratio = a * np.log(new / noise) + b * np.log((1.0 - new) / (1.0 - noise))
        for r in range(len(rows.counts)):
            work.row_value[r] = _row_value(rows, r, chain.W, chain.own, new)
            log_ratio += rows.counts[r] * (work.row_value[r] - chain.row_value[r])
        accept = min(1.0, np.exp(min(log_ratio, 0.0)))
        if generator.random() < accept:
            chain.scalars[2] = new
            chain.row_value[:] = work.row_value
            chain.moves[NOISE, 1] += 1
    chain.steps[1] *= np.exp(adapt * (accept - 0.44))


@njit(cache=True, nogil=True, error_model="numpy")
def _dim_move(rows: Rows, chain: Chain, work: Work, fixed: Fixed, generator: Any) -> None:
    """Birth or death of a column (design: new column given rho and the sums of the others)."""
    n, largest = chain.latent.shape
    dim = int(chain.scalars[3])
    rho, noise = chain.scalars[0], chain.scalars[2]
    if largest < 2:
        return
    up = dim == 1 or (dim < largest and generator.random() < 0.5)
    new_dim = dim + 1 if up else dim - 1
    chance_there = 1.0 if dim == 1 or dim == largest else 0.5
    chance_back = 1.0 if new_dim == 1 or new_dim == largest else 0.5
    kind = BIRTH if up else DEATH
    chain.moves[kind, 0] += 1
    at = generator.integers(0, new_dim if up else dim)
    work.latent[:, :] = chain.latent
    if up:
        along = 1.0 + (dim - 1) * rho
        sd = np.sqrt(1.0 - dim * rho * rho / along)
        for i in range(n):
            total = _sums(chain.latent, i, dim)[1]
            for k in range(dim, at, -1):
                work.latent[i, k] = work.latent[i, k - 1]
            work.latent[i, at] = rho * total / along + sd * generator.standard_normal()
    else:
        for i in range(n):
            for k in range(at, dim - 1):
                work.latent[i, k] = work.latent[i, k + 1]
    for i in range(n):
        for j in range(n):
            count = 0
            for k in range(new_dim):
                count += work.latent[i, k] > work.latent[j, k]
            work.closure[i, j] = count == new_dim
            if noise <= 0.0 and work.closure[i, j] and rows.contradicted[i, j]:
                return
    there = evaluate(rows, work.closure, chain.power, noise, work)
    log_ratio = there - _weighted(rows, chain.row_value)
    log_ratio += fixed.dim_log_prior[new_dim - 1] - fixed.dim_log_prior[dim - 1]
    log_ratio += np.log(chance_back / chance_there)
    if np.log(generator.random()) < log_ratio:
        chain.latent[:, :] = work.latent
        chain.closure[:, :] = work.closure
        chain.scalars[3] = new_dim
        _keep_work(chain, work)
        count_greater(chain)
        chain.moves[kind, 1] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def count_greater(chain: Chain) -> None:
    """Fill ``greater`` and the closure from the latents."""
    n, dim = chain.latent.shape[0], int(chain.scalars[3])
    for i in range(n):
        for j in range(n):
            count = 0
            for k in range(dim):
                count += chain.latent[i, k] > chain.latent[j, k]
            chain.greater[i, j] = count
            chain.closure[i, j] = count == dim


@njit(cache=True, nogil=True, error_model="numpy")
def sweeps(
    rows: Rows,
    chain: Chain,
    work: Work,
    fixed: Fixed,
    first: int,
    count: int,
    warmup: int,
    generator: Any,
) -> None:
    """Run sweeps ``first`` .. ``first + count - 1`` of a chain; steps adapt below ``warmup``."""
    for number in range(first, first + count):
        adapt = (number + 1.0) ** -0.6 if number < warmup else 0.0
        _sweep(rows, chain, work, fixed, adapt, generator)


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(
    rows: Rows, chain: Chain, work: Work, fixed: Fixed, adapt: float, generator: Any
) -> None:
    """Two proposals a coordinate, two an item, two a column, then the scalars and the dimension."""
    n, dim = chain.latent.shape[0], int(chain.scalars[3])
    for _ in range(n * dim):
        _coordinate_move(rows, chain, work, generator)
        _swap_move(rows, chain, work, generator)
    for _ in range(n):
        _row_move(rows, chain, work, generator)
        _gap_move(chain, generator)
    for _ in range(2 * dim):
        _stretch_move(chain, generator)
    if fixed.infer_rho:
        _rho_move(chain, fixed, generator)
    if fixed.infer_beta:
        _beta_move(rows, chain, work, fixed, adapt, generator)
    if fixed.infer_noise:
        _noise_move(rows, chain, work, fixed, adapt, generator)
    if len(fixed.dim_log_prior) > 0:
        _dim_move(rows, chain, work, fixed, generator)
    # Sums and differences drift by rounding: start every sweep from exact values.
    evaluate(rows, chain.closure, chain.power, chain.scalars[2], chain)

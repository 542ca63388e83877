"""Metropolis moves of single items on the relaxed posterior, between two trajectories of NUTS.

Gradients do not carry an item across others that hold it in place from both sides: a chain may keep
one item elsewhere for good (`docs/methods/nuts.md`). A move proposes another row of the latent for
one item, far from its own, and is accepted in two stages (delayed acceptance). First

    s(U) = sum_{i, j} N_ij (log(1 - D(j, i)) + c D(i, j)),     N_ij: observations of i before j

stands for the log-likelihood: a step pays log(1 - D(j, i)) for each later j, and an observed
precedence leaves other candidates out of remainders, which is worth about c. Only pairs of the item
change, so most proposals end at once, at the price of a few microseconds. What is left is accepted
with the ratio of the true likelihood to exp(s), which makes the pair of stages exact for any s.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.model.relaxed_kernel import soft_margins, soft_precedence, trace_pass
from posetta.model.target import Target
from posetta.model.vector_math import exp, log

# Step of a coordinate: the latent's prior sd. Trajectories do the short ones.
_STEP = 1.0
# c above. At 50 items the two stages then differ by 2 to 5 (sd), without it by 8 to 30.
_WORTH = 0.1


class Rows(NamedTuple):
    """The traces, as the kernels take them, and ``before[i, j]``: observations of i before j."""

    members: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    n_listed: NDArray[np.int64]
    counts: NDArray[np.int64]
    before: NDArray[np.float64]


class Pairs(NamedTuple):
    """D, log(1 - D) and their transposes, of one latent."""

    D: NDArray[np.float64]
    D_t: NDArray[np.float64]
    log_free: NDArray[np.float64]
    log_free_t: NDArray[np.float64]


def rows_of(traces: Traces) -> Rows:
    """Return the traces with their counts of pairs."""
    return Rows(*traces.arrays, PairEvidence.of(traces).before.astype(np.float64))


def move_items(
    rows: Rows, target: Target, w: NDArray[np.float64], count: int, generator: np.random.Generator
) -> tuple[NDArray[np.float64], int]:
    """Make ``count`` proposals from the coordinates ``w``; return where they end, and how many led
    somewhere else."""
    at = target.constrain(w)
    scalars = (float(at.beta), float(at.gamma), float(target.model.tau), float(at.noise))
    moved = w.copy()
    z = moved[: at.latent.size].reshape(at.latent.shape)
    accepted = _moves(rows, z, at.latent.T.copy(), target.root(w), scalars, count, generator)
    return moved, accepted


@njit(cache=True, nogil=True, error_model="numpy")
def _moves(
    rows: Rows,
    z: NDArray[np.float64],
    columns: NDArray[np.float64],
    root: tuple[float, float],
    scalars: tuple[float, float, float, float],
    count: int,
    generator: Any,
) -> int:
    """Move the rows of ``z``, and with them the ``columns`` of the latent; count how many moved."""
    beta, gamma, tau, noise = scalars
    n, dim = z.shape
    margins, D, log_free = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    soft_margins(columns.T.copy(), tau, margins)
    soft_precedence(margins, gamma, D, log_free)
    pairs = Pairs(D, D.T.copy(), log_free, log_free.T.copy())
    row, row_z = np.empty(dim), np.empty(dim)
    # D and log(1 - D) from and to the item, as they are and as proposed.
    here, there = np.empty((4, n)), np.empty((4, n))
    likelihood = _likelihood(rows, pairs, beta, noise)
    accepted = 0
    for _ in range(count):
        i = int(generator.random() * n)
        for k in range(dim):
            row[k], row_z[k] = columns[k, i], z[i, k]
        _propose(row, row_z, root, generator)
        prior = 0.0  # z is standard normal
        for k in range(dim):
            prior += 0.5 * (z[i, k] * z[i, k] - row_z[k] * row_z[k])
        for j in range(n):
            here[0, j], here[1, j] = pairs.D[i, j], pairs.D_t[i, j]
            here[2, j], here[3, j] = pairs.log_free[i, j], pairs.log_free_t[i, j]
        _pairs_of(row, columns, i, tau, gamma, there)
        worth = _worth(rows.before, i, there, noise) - _worth(rows.before, i, here, noise)
        if not -generator.standard_exponential() < prior + worth:
            continue
        _put(pairs, i, there)
        proposed = _likelihood(rows, pairs, beta, noise)
        if -generator.standard_exponential() < proposed - likelihood - worth:
            likelihood = proposed
            accepted += 1
            for k in range(dim):
                columns[k, i], z[i, k] = row[k], row_z[k]
        else:
            _put(pairs, i, here)
    return accepted


@njit(cache=True, nogil=True)
def _propose(
    row: NDArray[np.float64],
    row_z: NDArray[np.float64],
    root: tuple[float, float],
    generator: Any,
) -> None:
    """Trade the places in two columns, or step in two or more: both ways equally likely.

    Steps in one column are left to the trajectories: most of them are accepted or refused late,
    and lead nowhere new.
    """
    dim = len(row)
    first = int(generator.random() * dim)
    if dim > 1 and generator.random() < 0.5:
        second = (first + 1 + int(generator.random() * (dim - 1))) % dim
        row[first], row[second] = row[second], row[first]
        row_z[first], row_z[second] = row_z[second], row_z[first]
        return
    a, c = root
    for k in range(min(dim, 2 + int(generator.random() * (dim - 1)))):
        step = _STEP * generator.standard_normal()
        row[(first + k) % dim] += step
        # The inverse of u = a z + c sum(z).
        row_z[(first + k) % dim] += step / a
        for other in range(dim):
            row_z[other] -= step * c / (a * (a + dim * c))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
def _pairs_of(
    row: NDArray[np.float64],
    columns: NDArray[np.float64],
    i: int,
    tau: float,
    gamma: float,
    found: NDArray[np.float64],
) -> None:
    """Fill D(i, .), D(., i), log(1 - D(i, .)), log(1 - D(., i)) for ``row`` in the place of i."""
    dim, n = columns.shape
    smallest, total = np.empty(n), np.empty(n)
    for way in range(2):
        sign = 1.0 - 2.0 * way
        smallest[:] = np.inf
        total[:] = 0.0
        d_found, free_found = found[way], found[way + 2]
        for k in range(dim):
            column, value = columns[k], row[k]
            for j in range(n):
                smallest[j] = min(smallest[j], sign * (value - column[j]))
        for k in range(dim):
            column, value = columns[k], row[k]
            for j in range(n):
                total[j] += exp((smallest[j] - sign * (value - column[j])) / tau)
        for j in range(n):
            x = gamma * (smallest[j] - tau * log(total[j]))
            tail = exp(-abs(x))
            sigmoid = 1.0 / (1.0 + tail)
            d_found[j] = sigmoid if x >= 0.0 else tail * sigmoid
            free_found[j] = -max(x, 0.0) - log(1.0 + tail)
        d_found[i] = 0.0
        free_found[i] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _worth(before: NDArray[np.float64], i: int, pairs: NDArray[np.float64], noise: float) -> float:
    """Return the part of s(U) in which item i takes part.

    With noise no step has less than its share of the uniform choice; about that is what a
    contradicted precedence can cost.
    """
    n = len(before)
    total = 0.0
    for j in range(n):
        j_first, i_first = before[j, i], before[i, j]
        if j_first > 0.0:
            free = pairs[2, j]
            if noise > 0.0:
                free = np.log((1.0 - noise) * np.exp(free) + noise / n)
            total += j_first * (free + _WORTH * pairs[1, j])
        if i_first > 0.0:
            free = pairs[3, j]
            if noise > 0.0:
                free = np.log((1.0 - noise) * np.exp(free) + noise / n)
            total += i_first * (free + _WORTH * pairs[0, j])
    return total


@njit(cache=True, nogil=True)
def _put(pairs: Pairs, i: int, values: NDArray[np.float64]) -> None:
    """Write the pairs of item i."""
    for j in range(values.shape[1]):
        pairs.D[i, j], pairs.D_t[j, i] = values[0, j], values[0, j]
        pairs.D[j, i], pairs.D_t[i, j] = values[1, j], values[1, j]
        pairs.log_free[i, j], pairs.log_free_t[j, i] = values[2, j], values[2, j]
        pairs.log_free[j, i], pairs.log_free_t[i, j] = values[3, j], values[3, j]


@njit(cache=True, nogil=True)
def _likelihood(rows: Rows, pairs: Pairs, beta: float, noise: float) -> float:
    nowhere, no_steps = np.empty((0, 0)), np.empty(0)
    return trace_pass(
        pairs.D,
        pairs.D_t,
        pairs.log_free,
        pairs.log_free_t,
        rows.members,
        rows.offsets,
        rows.n_listed,
        rows.counts,
        beta,
        noise,
        False,
        nowhere,
        nowhere,
        no_steps,
    )[0]

"""Sweeps of a chain: every kind of move in turn, and the draws that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from posetta.infer.hard.compile import compiled, copy, spliced
from posetta.infer.hard.latent_moves import (
    coordinate_moves,
    gap_moves,
    item_moves,
    stretch_moves,
    swap_moves,
)
from posetta.infer.hard.likelihood import refresh
from posetta.infer.hard.scalar_moves import beta_move, dim_move, noise_move, rho_moves
from posetta.infer.hard.state import (
    S_BETA,
    S_DIM,
    S_NOISE,
    S_POWER,
    S_RHO,
    S_VALUE,
    Chain,
    Fixed,
    Kept,
    Plan,
    Rows,
    Work,
)

# Sums and differences drift by rounding: so many sweeps between two full evaluations.
_REFRESH = 16
# Births and deaths in a sweep: few are accepted, and each costs little beside the other moves.
_DIM_MOVES = 10


@compiled
def run_sweeps(
    rows: Rows,
    chain: Chain,
    work: Work,
    fixed: Fixed,
    plan: Plan,
    kept: Kept,
    power: float,
    keep: bool,
    first: int,
    count: int,
    generator: Any,
) -> None:
    """Run sweeps ``first`` .. ``first + count - 1`` of a chain; if ``keep``, store its draws.

    ``power`` is that of the likelihood. All that happens depends on the number of the sweep alone,
    so a chain is the same in whichever portions it is run.
    """
    for number in range(first, first + count):
        adapt = (number + 1.0) ** -0.6 if number < plan.warmup else 0.0
        chain.scalars[S_POWER] = power
        _sweep(rows, chain, work, fixed, plan, adapt, generator)
        drawn = number - plan.warmup + 1
        keeping = keep and drawn > 0 and drawn % plan.thin == 0
        if keeping or number % _REFRESH == 0:
            refresh(rows, chain)
        if keeping:
            _keep(chain, fixed, kept, drawn // plan.thin - 1)


@spliced
def _sweep(
    rows: Rows, chain: Chain, work: Work, fixed: Fixed, plan: Plan, adapt: float, generator: Any
) -> None:
    """Every kind of move in turn, as often as the plan says."""
    n, dim = chain.columns.shape[1], int(chain.scalars[S_DIM])
    mix = plan.mix
    coordinate_moves(rows, chain, work, int(mix[0] * n * dim), generator)
    swap_moves(rows, chain, work, int(mix[1] * n * dim), generator)
    item_moves(rows, chain, work, int(mix[2] * n), generator)
    gap_moves(chain, int(mix[3] * n), generator)
    stretch_moves(chain, int(mix[4] * dim), generator)
    if fixed.infer_rho:
        rho_moves(chain, fixed, generator)
    if fixed.infer_beta:
        beta_move(rows, chain, work, fixed, adapt, generator)
    if fixed.infer_noise:
        noise_move(rows, chain, work, fixed, adapt, generator)
    if len(fixed.dim_log_prior) > 0:
        for _ in range(_DIM_MOVES):
            dim_move(rows, chain, work, fixed, generator)


@spliced
def _keep(chain: Chain, fixed: Fixed, kept: Kept, s: int) -> None:
    """Store the present state as draw ``s``."""
    n, dim = chain.columns.shape[1], int(chain.scalars[S_DIM])
    for i in range(n):
        for j in range(n):
            if chain.closure[i, j]:
                kept.closure_bits[s, i, j // 8] |= np.uint8(128 >> (j % 8))
        for k in range(dim):
            kept.latent[s, i, k] = chain.columns[k, i]
    copy(chain.scalars[:4], kept.scalars[s])
    copy(chain.row_value, kept.row_value[s])
    kept.log_posterior[s] = chain.scalars[S_VALUE] + log_prior(chain, fixed)


@spliced
def log_prior(chain: Chain, fixed: Fixed) -> float:
    """Log prior of the state, up to what depends on nothing inferred."""
    columns = chain.columns
    n, dim = columns.shape[1], int(chain.scalars[S_DIM])
    rho, beta, noise = chain.scalars[S_RHO], chain.scalars[S_BETA], chain.scalars[S_NOISE]
    along = 1.0 + (dim - 1) * rho
    quadratic = 0.0
    for i in range(n):
        square, total = 0.0, 0.0
        for k in range(dim):
            square += columns[k, i] ** 2
            total += columns[k, i]
        quadratic += (square - rho / along * total * total) / (1.0 - rho)
    log_determinant = (dim - 1) * np.log(1.0 - rho) + np.log(along)
    value = -0.5 * (n * (log_determinant + dim * np.log(2.0 * np.pi)) + quadratic)
    if fixed.infer_rho:
        a, b = fixed.rho_prior
        value += (a - 1.0) * np.log(rho) + (b - 1.0) * np.log(1.0 - rho)
    if fixed.infer_beta:
        a, b = fixed.beta_prior
        value += (a - 1.0) * np.log(beta) - b * beta
    if fixed.infer_noise:
        a, b = fixed.noise_prior
        value += (a - 1.0) * np.log(noise) + (b - 1.0) * np.log(1.0 - noise)
    if len(fixed.dim_log_prior) > 0:
        value += fixed.dim_log_prior[dim - 1]
    return value

"""Sweeps of a chain: every kind of move in turn, and the draws that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from posetta.infer.hard.latent_moves import (
    coordinate_moves,
    exchange_moves,
    gap_moves,
    item_moves,
    stretch_moves,
    swap_moves,
)
from posetta.infer.hard.likelihood import refresh
from posetta.infer.hard.scalar_moves import beta_move, dim_move, noise_move, rho_moves
from posetta.infer.hard.state import S_DIM, Chain, Fixed, Rows, Work

# Sums and differences drift by rounding: so many sweeps between two full evaluations.
_REFRESH = 16


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
    """Run sweeps ``first`` .. ``first + count - 1`` of a chain; steps adapt below ``warmup``.

    A sweep makes two proposals a coordinate, two an item, two a column, then the scalars.
    """
    n = chain.columns.shape[1]
    for number in range(first, first + count):
        adapt = (number + 1.0) ** -0.6 if number < warmup else 0.0
        dim = int(chain.scalars[S_DIM])
        coordinate_moves(rows, chain, work, n * dim, generator)
        swap_moves(rows, chain, work, n * dim, generator)
        item_moves(rows, chain, work, n, generator)
        gap_moves(chain, n, generator)
        stretch_moves(chain, 2 * dim, generator)
        exchange_moves(rows, chain, work, dim, generator)
        if fixed.infer_rho:
            rho_moves(chain, fixed, generator)
        if fixed.infer_beta:
            beta_move(rows, chain, work, fixed, adapt, generator)
        if fixed.infer_noise:
            noise_move(rows, chain, work, fixed, adapt, generator)
        if len(fixed.dim_log_prior) > 0:
            dim_move(rows, chain, work, fixed, generator)
        if number % _REFRESH == _REFRESH - 1:
            refresh(rows, chain)
    refresh(rows, chain)

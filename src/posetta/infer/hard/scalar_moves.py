"""Moves of rho, beta, noise, and of the number of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from posetta.infer.hard.compile import copy, inner
from posetta.infer.hard.likelihood import (
    evaluate,
    evaluate_counts,
    fill_weights,
    keep_evaluation,
    total_value,
)
from posetta.infer.hard.relations import count_greater, product_closure
from posetta.infer.hard.state import (
    BETA,
    BIRTH,
    DEATH,
    NOISE,
    RHO,
    S_BETA,
    S_DIM,
    S_NOISE,
    S_POWER,
    S_RHO,
    S_VALUE,
    Chain,
    Fixed,
    Rows,
    Work,
)

LARGEST_BETA = 100.0
CLOSEST = 1e-12
"""Beta stays below the one, rho and noise within (0, 1) by the other: beyond, numbers lose their
digits, and ratios of step probabilities, which are multiplied, could overflow."""


@inner
def rho_moves(chain: Chain, fixed: Fixed, generator: Any) -> None:
    """Random walks on logit rho given the latents: no likelihood is involved."""
    columns = chain.columns
    n, dim = columns.shape[1], int(chain.scalars[S_DIM])
    square, squared_totals = 0.0, 0.0
    for i in range(n):
        total = 0.0
        for k in range(dim):
            square += columns[k, i] * columns[k, i]
            total += columns[k, i]
        squared_totals += total * total
    a, b = fixed.rho_prior
    rho = chain.scalars[S_RHO]
    here = _rho_density(rho, n, dim, square, squared_totals, a, b)
    for step in (0.2, 0.6, 2.0):
        eta = np.log(rho / (1.0 - rho)) + step * generator.standard_normal()
        new = 1.0 / (1.0 + np.exp(-eta))
        chain.moves[RHO, 0] += 1
        if 1.0 - new < CLOSEST or new < CLOSEST:
            continue  # 1 - rho must stay a number
        there = _rho_density(new, n, dim, square, squared_totals, a, b)
        if -generator.standard_exponential() < there - here:
            rho, here = new, there
            chain.moves[RHO, 1] += 1
    chain.scalars[S_RHO] = rho


@inner
def _rho_density(
    rho: float, n: int, dim: int, square: float, squared_totals: float, a: float, b: float
) -> float:
    """Log density of logit rho given the latents: Gaussian rows, Beta(a, b) and the Jacobian."""
    rest, along = 1.0 - rho, 1.0 + (dim - 1) * rho
    quadratic = (square - rho / along * squared_totals) / rest
    log_determinant = (dim - 1) * np.log(rest) + np.log(along)
    return -0.5 * (n * log_determinant + quadratic) + a * np.log(rho) + b * np.log(rest)


@inner
def beta_move(
    rows: Rows, chain: Chain, work: Work, fixed: Fixed, adapt: float, generator: Any
) -> None:
    """Random walk on log beta, its step adapted in warm-up."""
    a, b = fixed.beta_prior
    beta, noise = chain.scalars[S_BETA], chain.scalars[S_NOISE]
    new = beta * np.exp(chain.steps[0] * generator.standard_normal())
    chain.moves[BETA, 0] += 1
    accept = 0.0
    if new < LARGEST_BETA:  # (1 + s)^beta must stay in range
        fill_weights(new, work.weight, work.log_weight)
        # The relations stand, so their counts do too.
        value = evaluate_counts(
            rows, chain.closure, work.weight, noise,
            chain.n_late, chain.n_early, chain.last_before, work.W, work.own, work.row_value,
        )  # fmt: skip
        log_ratio = chain.scalars[S_POWER] * (value - chain.scalars[S_VALUE])
        log_ratio += a * np.log(new / beta) - b * (new - beta)
        accept = np.exp(min(log_ratio, 0.0))
        if generator.random() < accept:
            chain.scalars[S_BETA] = new
            chain.scalars[S_VALUE] = value
            copy(work.weight, chain.weight)
            copy(work.log_weight, chain.log_weight)
            copy(work.W, chain.W)
            copy(work.own, chain.own)
            chain.moves[BETA, 1] += 1
    chain.steps[0] *= np.exp(adapt * (accept - 0.44))


@inner
def noise_move(
    rows: Rows, chain: Chain, work: Work, fixed: Fixed, adapt: float, generator: Any
) -> None:
    """Random walk on logit noise, its step adapted in warm-up."""
    a, b = fixed.noise_prior
    noise = chain.scalars[S_NOISE]
    eta = np.log(noise / (1.0 - noise)) + chain.steps[1] * generator.standard_normal()
    new = 1.0 / (1.0 + np.exp(-eta))
    chain.moves[NOISE, 0] += 1
    accept = 0.0
    if CLOSEST < new < 1.0 - CLOSEST:
        value = total_value(rows, new, chain.W, chain.own, work.row_value)
        log_ratio = chain.scalars[S_POWER] * (value - chain.scalars[S_VALUE])
        log_ratio += a * np.log(new / noise) + b * np.log((1.0 - new) / (1.0 - noise))
        accept = np.exp(min(log_ratio, 0.0))
        if generator.random() < accept:
            chain.scalars[S_NOISE] = new
            chain.scalars[S_VALUE] = value
            chain.moves[NOISE, 1] += 1
    chain.steps[1] *= np.exp(adapt * (accept - 0.44))


@inner
def dim_move(rows: Rows, chain: Chain, work: Work, fixed: Fixed, generator: Any) -> None:
    """Birth or death of a column, at a uniform place.

    A new column is drawn from the prior given rho and the others, so the ratio is that of the
    likelihoods, the priors of the dimension, and the chances of proposing up and down.
    """
    columns, new_columns = chain.columns, work.columns
    largest, n = columns.shape
    dim = int(chain.scalars[S_DIM])
    rho, noise = chain.scalars[S_RHO], chain.scalars[S_NOISE]
    if largest < 2:
        return
    up = dim == 1 or (dim < largest and generator.random() < 0.5)
    new_dim = dim + 1 if up else dim - 1
    chance_there = 1.0 if dim in (1, largest) else 0.5
    chance_back = 1.0 if new_dim in (1, largest) else 0.5
    kind = BIRTH if up else DEATH
    chain.moves[kind, 0] += 1
    at = int(generator.random() * (new_dim if up else dim))
    copy(columns, new_columns)
    if up:
        along = 1.0 + (dim - 1) * rho
        sd = np.sqrt((1.0 - rho) * (1.0 + dim * rho) / along)
        for k in range(dim, at, -1):
            copy(columns[k - 1], new_columns[k])
        for i in range(n):
            total = 0.0
            for k in range(dim):
                total += columns[k, i]
            new_columns[at, i] = rho * total / along + sd * generator.standard_normal()
    else:
        for k in range(at, dim - 1):
            copy(columns[k + 1], new_columns[k])
    if not product_closure(new_columns, new_dim, rows.contradicted, noise <= 0.0, work.closure):
        return
    value = evaluate(rows, work.closure, chain.weight, noise, work)
    log_ratio = chain.scalars[S_POWER] * (value - chain.scalars[S_VALUE])
    log_ratio += fixed.dim_log_prior[new_dim - 1] - fixed.dim_log_prior[dim - 1]
    log_ratio += np.log(chance_back / chance_there)
    if -generator.standard_exponential() < log_ratio:
        copy(new_columns, columns)
        chain.scalars[S_DIM] = new_dim
        keep_evaluation(chain, work, value)
        count_greater(chain)
        chain.moves[kind, 1] += 1

"""What a hard chain carries, as the compiled kernels see it. Arrays are updated in place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rows(NamedTuple):
    """The traces, as the kernel reads them."""

    members: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    n_listed: NDArray[np.int64]
    counts: NDArray[np.float64]
    first_step: NDArray[np.int64]
    """Where the steps of a row start in W and own."""
    position: NDArray[np.int32]
    """(row, item): position in the row, -1 where the row does not hold the item."""
    rows_of: NDArray[np.int64]
    """Rows that hold each item, items one after another."""
    rows_of_start: NDArray[np.int64]
    contradicted: NDArray[np.bool_]
    """[i, j]: some trace shows j before i, so i before j is impossible at noise 0."""


class Fixed(NamedTuple):
    """What the model fixes and the priors of the rest."""

    infer_rho: bool
    infer_beta: bool
    infer_noise: bool
    rho_prior: tuple[float, float]
    beta_prior: tuple[float, float]
    noise_prior: tuple[float, float]
    dim_log_prior: NDArray[np.float64]
    """log Pr(dim = 1), ...; empty when the dimension is fixed."""


class Chain(NamedTuple):
    """The state of one chain; arrays are updated in place."""

    latent: NDArray[np.float64]
    """(item, largest dim): the first `dim` columns are in use."""
    greater: NDArray[np.int32]
    """(i, j): number of columns in which u_i > u_j."""
    closure: NDArray[np.bool_]
    scalars: NDArray[np.float64]
    """rho, beta, noise, dim."""
    power: NDArray[np.float64]
    """(1 + s)^beta for s = 0 .. items - 1."""
    W: NDArray[np.float64]
    own: NDArray[np.float64]
    step_value: NDArray[np.float64]
    """log p_t of every listed step."""
    row_value: NDArray[np.float64]
    """Log probability of one copy of each row."""
    n_after: NDArray[np.int32]
    """(row, item): successors of the item in the row. Kept at noise 0 only."""
    last_before: NDArray[np.int32]
    """(row, item): position of its last predecessor in the row, -1 for none. Noise 0 only."""
    steps: NDArray[np.float64]
    """Adapted random-walk steps of log beta and logit noise."""
    moves: NDArray[np.int64]


class Work(NamedTuple):
    """Scratch of one chain."""

    W: NDArray[np.float64]
    own: NDArray[np.float64]
    step_value: NDArray[np.float64]
    row_value: NDArray[np.float64]
    n_after: NDArray[np.int32]
    last_before: NDArray[np.int32]
    span: NDArray[np.int64]
    """(row, 2): first and last step of a row that a proposal touches."""
    rows: NDArray[np.int64]
    partners: NDArray[np.int64]
    after: NDArray[np.bool_]
    before: NDArray[np.bool_]
    was_after: NDArray[np.bool_]
    was_before: NDArray[np.bool_]
    greater: NDArray[np.int32]
    proposal: NDArray[np.float64]
    latent: NDArray[np.float64]
    closure: NDArray[np.bool_]
    power: NDArray[np.float64]

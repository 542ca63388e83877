"""What a hard chain carries, as the compiled kernels see it. Arrays are updated in place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Kinds of moves, the rows of `Chain.moves` (proposed, accepted).
MOVES = (
    "coordinate",
    "redraw",
    "item",
    "swap",
    "gap",
    "stretch",
    "rho",
    "beta",
    "noise",
    "birth",
    "death",
)
(
    COORDINATE,
    REDRAW,
    ITEM,
    SWAP,
    GAP,
    STRETCH,
    RHO,
    BETA,
    NOISE,
    BIRTH,
    DEATH,
) = range(len(MOVES))

# Places in `Chain.scalars`. POWER is the power of the likelihood, 1 but in tempered copies; VALUE
# the log-likelihood of the present state (power 1).
S_RHO, S_BETA, S_NOISE, S_DIM, S_POWER, S_VALUE = range(6)

# Above this weight, taking one item out of W would leave few digits of the others: such rows are
# summed anew.
STEEP = 1e8


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
    chance: NDArray[np.float64]
    """1 / |R_t| at every listed step: the probability of the item taken if all is noise."""
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


class Plan(NamedTuple):
    """Which sweeps warm up and keep, and what a sweep is made of."""

    warmup: int
    """Sweeps before the first draw; steps adapt only there."""
    thin: int
    mix: NDArray[np.float64]
    """Proposals in a sweep: coordinate and swap (per coordinate), item and gap (per item),
    stretch (per column)."""


class Chain(NamedTuple):
    """The state of one chain; arrays are updated in place."""

    columns: NDArray[np.float64]
    """(largest dim, item): the latent U transposed; the first `dim` columns of U are in use."""
    greater: NDArray[np.int32]
    """(i, j): number of columns in which u_i > u_j."""
    closure: NDArray[np.bool_]
    scalars: NDArray[np.float64]
    """See S_RHO and the others above."""
    weight: NDArray[np.float64]
    """(1 + s)^beta for s = 0 .. items - 1."""
    log_weight: NDArray[np.float64]
    W: NDArray[np.float64]
    """Total weight of the frontier at every listed step."""
    own: NDArray[np.float64]
    """Weight of the item taken at every listed step, 0 if it was not free."""
    row_value: NDArray[np.float64]
    """Log probability of one copy of each row, as of the last full evaluation."""
    n_late: NDArray[np.int32]
    """(row, item): successors of the item at or beyond its top (see `likelihood`)."""
    n_early: NDArray[np.int32]
    """(row, item): its successors before its top: the trace breaks the order. 0 at noise 0."""
    last_before: NDArray[np.int32]
    """(row, item): position of its last predecessor in the row, -1 for none."""
    steps: NDArray[np.float64]
    """Adapted random-walk steps of log beta and logit noise."""
    moves: NDArray[np.int64]


class Work(NamedTuple):
    """Scratch of one chain."""

    W: NDArray[np.float64]
    own: NDArray[np.float64]
    row_value: NDArray[np.float64]
    n_late: NDArray[np.int32]
    n_early: NDArray[np.int32]
    last_before: NDArray[np.int32]
    span: NDArray[np.int64]
    """(row, 2): first and last step of a row that a proposal touches."""
    difference: NDArray[np.float64]
    """Change of W from one step to the next; zero between proposals."""
    gain: NDArray[np.float64]
    """Change of own; zero between proposals. With noise only."""
    partners: NDArray[np.int64]
    after: NDArray[np.bool_]
    before: NDArray[np.bool_]
    was_after: NDArray[np.bool_]
    was_before: NDArray[np.bool_]
    crossed: NDArray[np.int64]
    """Items that a coordinate passes on its way."""
    greater: NDArray[np.int32]
    proposal: NDArray[np.float64]
    columns: NDArray[np.float64]
    closure: NDArray[np.bool_]
    weight: NDArray[np.float64]
    log_weight: NDArray[np.float64]


class Kept(NamedTuple):
    """Room for the draws of one chain, filled from the front."""

    closure_bits: NDArray[np.uint8]
    """(draw, item, byte): rows of the closure, eight pairs a byte."""
    latent: NDArray[np.float64]
    """(draw, item, largest dim), NaN beyond the dimension."""
    scalars: NDArray[np.float64]
    """(draw, 4): rho, beta, noise, dim."""
    row_value: NDArray[np.float64]
    """(draw, row): log probability of one copy."""
    log_posterior: NDArray[np.float64]
    """Up to a constant that depends on nothing inferred."""

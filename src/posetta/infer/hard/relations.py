"""From columns to relations: i precedes j when u_i > u_j in every column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posetta.infer.hard.compile import compiled, inner
from posetta.infer.hard.state import S_DIM, Chain, Work


@compiled
def count_greater(chain: Chain) -> None:
    """Fill ``greater`` and the closure from the columns."""
    columns, greater = chain.columns, chain.greater
    n, dim = columns.shape[1], int(chain.scalars[S_DIM])
    for i in range(n):
        for j in range(n):
            greater[i, j] = 0
            for k in range(dim):
                greater[i, j] += columns[k, i] > columns[k, j]
            chain.closure[i, j] = greater[i, j] == dim


@inner
def product_closure(
    columns: NDArray[np.float64],
    dim: int,
    contradicted: NDArray[np.bool_],
    clean: bool,
    closure: NDArray[np.bool_],
) -> bool:
    """Fill the closure of the first ``dim`` columns; if clean, False at a contradicted pair."""
    n = columns.shape[1]
    for i in range(n):
        for j in range(n):
            k = 0
            while k < dim and columns[k, i] > columns[k, j]:
                k += 1
            closure[i, j] = k == dim
            if clean and k == dim and contradicted[i, j]:
                return False
    return True


@inner
def put_new(closure: NDArray[np.bool_], work: Work, i: int, n_partners: int) -> None:
    """Write the proposed relations of item i into the closure."""
    for k in range(n_partners):
        j = work.partners[k]
        closure[i, j] = work.after[j]
        closure[j, i] = work.before[j]


@inner
def put_old(closure: NDArray[np.bool_], work: Work, i: int, n_partners: int) -> None:
    """Take the proposed relations of item i back."""
    for k in range(n_partners):
        j = work.partners[k]
        closure[i, j] = work.was_after[k]
        closure[j, i] = work.was_before[k]

"""The product order of latent rows: the one map from latents to orders."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posetta.errors import InputError
from posetta.order.relation import BoolMatrix


def product_order(latent: ArrayLike) -> BoolMatrix:
    """Return the closure of eq. hard_product_order: i before j iff u_i > u_j in every column.

    Works on stacks (..., items, dim). Columns that are all NaN are padding of a random dimension
    and are ignored; any other value that is not finite is an `InputError`.
    """
    u = np.asarray(latent, dtype=np.float64)
    if u.ndim < 2:
        raise InputError(
            f"latent has the shape {u.shape}; it needs one row per item and one column per "
            "dimension."
        )
    n_items, dim = u.shape[-2:]
    if dim == 0:
        raise _no_column()
    padding: NDArray[np.bool_] = np.zeros((*u.shape[:-2], dim), dtype=np.bool_)
    if n_items and not (finite := np.isfinite(u)).all():
        padding = np.asarray(np.isnan(u).all(axis=-2))
        if not (finite | padding[..., None, :]).all():
            raise InputError("latent holds values that are not finite.")
        if padding.all(axis=-1).any():
            raise _no_column()
    padded = padding.any()
    before = np.ones((*u.shape[:-1], n_items), dtype=np.bool_)
    for k in range(dim):
        column = u[..., k]
        greater = column[..., :, None] > column[..., None, :]
        before &= greater | padding[..., k, None, None] if padded else greater
    return before


def _no_column() -> InputError:
    return InputError("latent needs at least one column: without one, nothing is ordered.")

"""The latent prior: rows u ~ N(0, (1 - rho) I + rho 11'), and the order they induce."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.order.product import product_order

__all__ = ["correlate", "product_order", "root_coefficients"]


@njit(cache=True, nogil=True)
def root_coefficients(rho: float, one_minus_rho: float, dim: int) -> tuple[float, float]:
    """Return (a, c) such that L = a I + c 11' is the symmetric root of Sigma_rho.

    Sigma_rho = (1 - rho) I + rho 11' has the eigenvalue 1 + (dim - 1) rho along 1 and 1 - rho
    across it. Any root L with L L' = Sigma_rho gives the same prior on U = Z L'; the symmetric one
    treats all columns alike and stays finite, with its derivatives in logit rho, as rho -> 0, 1.
    ``one_minus_rho`` is passed beside rho so that it need not be formed by cancellation.
    """
    a = np.sqrt(one_minus_rho)
    return a, (np.sqrt(1.0 + (dim - 1) * rho) - a) / dim


def correlate(z: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    """Return U = Z L_rho' for standard normal Z of shape (..., items, dim)."""
    a, c = root_coefficients(rho, 1.0 - rho, z.shape[-1])
    return a * z + c * z.sum(axis=-1, keepdims=True)

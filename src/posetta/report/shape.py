"""Shape of the drawn orders: how many relations each has, and how deep it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posetta.posterior import Draws

_MOST_DRAWS = 1000
"""Draws that a histogram or a list needs; more would cost time and show no more."""


def thinned(draws: Draws, most: int = _MOST_DRAWS) -> Draws:
    """Return every k-th draw of each chain, so that at most about ``most`` are left."""
    k = max(1, -(-draws.n_chains * draws.n_draws // most))
    return Draws(
        closure_bits=draws.closure_bits[:, ::k],
        scalars={name: values[:, ::k] for name, values in draws.scalars.items()},
        log_likelihood=draws.log_likelihood[:, ::k],
        latent=None if draws.latent is None else draws.latent[:, ::k],
    )


def n_relations(draws: Draws) -> NDArray[np.float64]:
    """Return the number of related pairs of every draw, (chain, draw)."""
    return np.bitwise_count(draws.closure_bits).sum(axis=(2, 3), dtype=np.float64)


def depths(draws: Draws, n_items: int) -> NDArray[np.float64]:
    """Return the number of levels of every draw, (chain, draw): earliest items are peeled off."""
    found = np.zeros(draws.closure_bits.shape[:2])
    for chain, bits in enumerate(draws.closure_bits):
        for s, rows in enumerate(bits):
            closure = np.unpackbits(rows, axis=-1, count=n_items).view(np.bool_)
            left = np.arange(n_items)
            while len(left):
                left = left[closure[np.ix_(left, left)].any(axis=0)]
                found[chain, s] += 1
    return found

"""Is every draw an order? Asked of files, whose draws no sampler vouches for."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.posterior.summaries import in_words


def all_orders(closure_bits: NDArray[np.uint8], n_items: int) -> bool:
    """Return whether all packed closures (..., item, byte) are irreflexive and transitive.

    Transitive means: if i precedes j, the row of i contains the row of j. On rows of 64-bit words
    that is a few operations for each pair of each draw.
    """
    return all(
        _all_orders(octets, octets.view(np.uint64)) for octets in in_words(closure_bits, n_items)
    )


@njit(cache=True, nogil=True)
def _all_orders(octets: NDArray[np.uint8], words: NDArray[np.uint64]) -> bool:
    n_draws, n_items, n_words = words.shape
    for s in range(n_draws):
        for i in range(n_items):
            for j in range(n_items):
                if not (octets[s, i, j >> 3] >> (7 - (j & 7))) & 1:
                    continue
                if i == j:
                    return False
                beyond = np.uint64(0)
                for w in range(n_words):
                    beyond |= words[s, j, w] & ~words[s, i, w]
                if beyond:
                    return False
    return True

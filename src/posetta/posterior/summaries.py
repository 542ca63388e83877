"""Sums over draws that need more than the mean of the closures: covers, depths, weighted pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Draws are padded to whole words block by block, so that memory stays flat.
_BLOCK_BYTES = 2**24


def count_covers(closure_bits: NDArray[np.uint8], n_items: int) -> NDArray[np.int64]:
    """Return in how many of the packed closures (..., item, byte) each pair is a cover.

    i is covered by j if i precedes j and nothing lies between: the row of i without the rows of
    all its members. On 64-bit words that is one operation for each related pair and 64 items.
    """
    total = np.zeros((n_items, n_items), dtype=np.int64)
    for octets in in_words(closure_bits, n_items):
        _count_covers(octets, octets.view(np.uint64), total)
    return total


def depths(closure_bits: NDArray[np.uint8], n_items: int) -> NDArray[np.int64]:
    """Return the number of items in a longest chain of every draw, (..., draw)."""
    parts = [_depths(octets) for octets in in_words(closure_bits, n_items)]
    found = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    return found.reshape(closure_bits.shape[:-2])


@njit(cache=True, nogil=True)
def pair_sums(closure_bits: NDArray[np.uint8], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for every packed closure (draw, item, byte), the total weight of its pairs."""
    n_draws, n_items = closure_bits.shape[:2]
    sums = np.zeros(n_draws)
    for s in range(n_draws):
        for i in range(n_items):
            for j in range(n_items):
                if _holds(closure_bits, s, i, j):
                    sums[s] += weight[i, j]
    return sums


@njit(cache=True, nogil=True)
def weighted_mean(
    closure_bits: NDArray[np.uint8], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sum_s weight_s c_s(i, j) of packed closures (draw, item, byte)."""
    n_draws, n_items = closure_bits.shape[:2]
    mean = np.zeros((n_items, n_items))
    for s in range(n_draws):
        for i in range(n_items):
            for j in range(n_items):
                if _holds(closure_bits, s, i, j):
                    mean[i, j] += weight[s]
    return mean


def in_words(closure_bits: NDArray[np.uint8], n_items: int) -> Iterator[NDArray[np.uint8]]:
    """Yield blocks of draws (draw, item, byte) whose rows fill whole 64-bit words."""
    n_bytes = closure_bits.shape[-1]
    rows = closure_bits.reshape(-1, n_items, n_bytes)
    padded = -(-n_bytes // 8) * 8
    block = max(1, _BLOCK_BYTES // max(1, n_items * padded))
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        octets = np.zeros((len(part), n_items, padded), dtype=np.uint8)
        octets[:, :, :n_bytes] = part
        yield octets


@njit(cache=True, nogil=True)
def _holds(octets: NDArray[np.uint8], s: int, i: int, j: int) -> bool:
    return bool((octets[s, i, j >> 3] >> (7 - (j & 7))) & 1)


@njit(cache=True, nogil=True)
def _count_covers(
    octets: NDArray[np.uint8], words: NDArray[np.uint64], total: NDArray[np.int64]
) -> None:
    n_draws, n_items, n_words = words.shape
    beyond = np.empty(n_words, dtype=np.uint64)
    beyond_octets = beyond.view(np.uint8)
    for s in range(n_draws):
        for i in range(n_items):
            beyond[:] = 0
            for j in range(n_items):
                if _holds(octets, s, i, j):
                    for w in range(n_words):
                        beyond[w] |= words[s, j, w]
            for j in range(n_items):
                after_another = (beyond_octets[j >> 3] >> (7 - (j & 7))) & 1
                if _holds(octets, s, i, j) and not after_another:
                    total[i, j] += 1


@njit(cache=True, nogil=True)
def _depths(octets: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the number of items in a longest chain of every draw.

    An item has more items before it than any of those has, so that going by that number every
    item meets its predecessors' levels.
    """
    n_draws, n_items = octets.shape[:2]
    depths = np.zeros(n_draws, dtype=np.int64)
    level = np.empty(n_items, dtype=np.int64)
    for s in range(n_draws):
        n_before = np.zeros(n_items, dtype=np.int64)
        for i in range(n_items):
            for j in range(n_items):
                n_before[j] += _holds(octets, s, i, j)
        level[:] = 1
        for i in np.argsort(n_before):
            for j in range(n_items):
                if _holds(octets, s, i, j):
                    level[j] = max(level[j], level[i] + 1)
        for i in range(n_items):
            depths[s] = max(depths[s], level[i])
    return depths

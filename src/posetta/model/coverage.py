"""Incomparable-pair coverage, and traces chosen for it."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.data.evidence import PairEvidence
from posetta.order import Poset

# How many fresh draws each choice looks at when the target is below one. A look costs n^2 / 64, and
# all looks at a thousand traces of a thousand items take seconds.
_WIDEST_WINDOW = 4000
_NARROWEST_WINDOW = 64
_WINDOW_WORK = 4_000_000
# Pools that are drawn while pairs remain unseen, and up to how many items a further one is cheap.
_MOST_POOLS = 3
_MOST_ITEMS_FOR_POOLS = 200

Rows = list[NDArray[np.int64]]
# Directed pairs that are still to be shown, as bits: by first item, and by second.
Wanted = tuple[NDArray[np.uint64], NDArray[np.uint64]]


def coverage(evidence: PairEvidence, order: Poset) -> float:
    """Return IP-Cov (eq. ipcov_eval): the share of incomparable pairs seen in both orders.

    Data over an order with no incomparable pair have coverage 1.
    """
    incomparable = np.triu(~(order.closure | order.closure.T), k=1)
    total = int(incomparable.sum())
    return 1.0 if total == 0 else float((evidence.both_orders & incomparable).sum() / total)


def choose_for_coverage(
    order: Poset, draw_pool: Callable[[int], Rows], fewest: int, most: int, target: float
) -> Rows:
    """Choose traces from pool 0, 1, ... so that they cover ``target`` of the incomparable pairs."""
    incomparable = ~(order.closure | order.closure.T)
    np.fill_diagonal(incomparable, False)
    wanted = (_as_bits(incomparable), _as_bits(incomparable))
    if target < 1.0:
        pool = draw_pool(0)
        goal = target * (int(incomparable.sum()) // 2)
        return [pool[k] for k in _pace_to_coverage(pool, wanted, goal, fewest)]
    chosen: Rows = []
    spare: Rows = []
    for k in range(_MOST_POOLS if order.n_items <= _MOST_ITEMS_FOR_POOLS else 1):
        pool = draw_pool(k)
        taken = _cover_greedily(pool, wanted, most - len(chosen))
        chosen += [pool[k] for k in taken]
        if not spare:
            spare = [pool[k] for k in sorted(set(range(len(pool))) - set(taken))]
        if len(chosen) >= most or not wanted[0].any():
            break
    return chosen + spare[: max(0, fewest - len(chosen))]


def _cover_greedily(pool: Rows, wanted: Wanted, most: int) -> list[int]:
    """Take the trace that shows most new directions, until nothing new is left.

    The number of new directions is submodular: a gain computed earlier is an upper bound, so only
    the front of the queue needs a fresh count (lazy greedy).
    """
    queue = [(-_new_directions(row, *wanted, False)[0], k) for k, row in enumerate(pool)]
    heapq.heapify(queue)
    chosen: list[int] = []
    while queue and queue[0][0] < 0 and len(chosen) < most:
        k = heapq.heappop(queue)[1]
        gain = _new_directions(pool[k], *wanted, False)[0]
        if queue and -gain > queue[0][0]:
            heapq.heappush(queue, (-gain, k))
        elif gain > 0:
            _new_directions(pool[k], *wanted, True)
            chosen.append(k)
    return chosen


def _pace_to_coverage(pool: Rows, wanted: Wanted, goal: float, count: int) -> NDArray[np.int64]:
    """Choose ``count`` traces whose coverage climbs evenly to ``goal`` pairs."""
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in pool])])
    window = min(_WIDEST_WINDOW, max(_NARROWEST_WINDOW, _WINDOW_WORK // len(wanted[0]) ** 2))
    chosen = np.empty(count, dtype=np.int64)
    _pace(np.concatenate(pool), offsets, *wanted, goal, window, chosen)
    return chosen


def _as_bits(relation: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack each row into words, item i at bit i % 64 of word i // 64."""
    n = relation.shape[1]
    padded = np.zeros((len(relation), -(-n // 64) * 64), dtype=bool)
    padded[:, :n] = relation
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


@njit(cache=True, nogil=True)
def _ones(word: np.uint64) -> int:
    """Count the bits of a word: in pairs, in fours, in bytes, then all bytes at once."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@njit(cache=True, nogil=True)
def _new_directions(
    row: NDArray[np.int64],
    wanted: NDArray[np.uint64],
    reverse: NDArray[np.uint64],
    take: bool,
) -> tuple[int, int]:
    """Count the wanted directed pairs that a trace shows, and the pairs that it completes.

    Row i of ``wanted`` has the bits of the j for which "i before j" is wanted, and of ``reverse``
    those for which "j before i" is. With ``take`` they are struck off.
    """
    later = np.zeros(wanted.shape[1], dtype=np.uint64)
    found, completed = 0, 0
    for a in range(len(row) - 1, -1, -1):
        x = row[a]
        for w in range(len(later)):
            new = wanted[x, w] & later[w]
            if new != 0:
                found += _ones(new)
                completed += _ones(new & ~reverse[x, w])
        later[x // 64] |= np.uint64(1) << np.uint64(x % 64)
    if take:
        later[:] = 0
        for a in range(len(row) - 1, -1, -1):
            x = row[a]
            for w in range(len(later)):
                wanted[x, w] &= ~later[w]
            later[x // 64] |= np.uint64(1) << np.uint64(x % 64)
        earlier = np.zeros(wanted.shape[1], dtype=np.uint64)
        for x in row:
            for w in range(len(earlier)):
                reverse[x, w] &= ~earlier[w]
            earlier[x // 64] |= np.uint64(1) << np.uint64(x % 64)
    return found, completed


@njit(cache=True, nogil=True)
def _pace(
    members: NDArray[np.int64],
    offsets: NDArray[np.int64],
    wanted: NDArray[np.uint64],
    reverse: NDArray[np.uint64],
    goal: float,
    window: int,
    chosen: NDArray[np.int64],
) -> None:
    """Of each window of draws, take the one that keeps closest to an even pace to the goal.

    Of draws that complete equally many pairs, the one that shows least else that is new. The draw
    taken leaves its place in the window to the next of the pool; the others stay.
    """
    count = len(chosen)
    candidates = np.arange(window)
    next_up = window
    covered = 0
    for step in range(count):
        pace = goal * (step + 1) / count
        best, best_gap, best_found = -1, np.inf, 0
        for c in range(len(candidates)):
            k = candidates[c]
            if k >= len(offsets) - 1:
                continue
            row = members[offsets[k] : offsets[k + 1]]
            found, completed = _new_directions(row, wanted, reverse, False)
            gap = abs(covered + completed - pace)
            if gap < best_gap or (gap == best_gap and found < best_found):
                best, best_gap, best_found = c, gap, found
        k = candidates[best]
        row = members[offsets[k] : offsets[k + 1]]
        covered += _new_directions(row, wanted, reverse, True)[1]
        chosen[step] = k
        candidates[best] = next_up
        next_up += 1

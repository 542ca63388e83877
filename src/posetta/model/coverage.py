"""Incomparable-pair coverage, and traces chosen for it."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.data.evidence import PairEvidence
from posetta.order import Poset

# How many fresh draws each choice looks at when the target is below one. A look costs n^2, and all
# looks at a thousand traces of a thousand items stay within half a minute.
_WIDEST_WINDOW = 4000
_NARROWEST_WINDOW = 16
_WINDOW_WORK = 4_000_000
# Pools that are drawn while pairs remain unseen, and up to how many items a further one is cheap.
_MOST_POOLS = 3
_MOST_ITEMS_FOR_POOLS = 200

Rows = list[NDArray[np.int64]]


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
    wanted = ~(order.closure | order.closure.T)
    np.fill_diagonal(wanted, False)
    if target < 1.0:
        pool = draw_pool(0)
        return [pool[k] for k in _pace_to_coverage(pool, wanted, fewest, target)]
    chosen: Rows = []
    spare: Rows = []
    for k in range(_MOST_POOLS if order.n_items <= _MOST_ITEMS_FOR_POOLS else 1):
        pool = draw_pool(k)
        taken = _cover_greedily(pool, wanted, most - len(chosen))
        chosen += [pool[k] for k in taken]
        if not spare:
            spare = [pool[k] for k in sorted(set(range(len(pool))) - set(taken))]
        if len(chosen) >= most or not wanted.any():
            break
    return chosen + spare[: max(0, fewest - len(chosen))]


def _cover_greedily(pool: Rows, wanted: NDArray[np.bool_], most: int) -> list[int]:
    """Take the trace that shows most new directions, until nothing new is left.

    The number of new directions is submodular: a gain computed earlier is an upper bound, so only
    the front of the queue needs a fresh count (lazy greedy).
    """
    members, offsets = _flatten(pool)
    gains = np.empty(len(pool), dtype=np.int64)
    _count_all(members, offsets, wanted, gains)
    queue = [(-int(gain), k) for k, gain in enumerate(gains)]
    heapq.heapify(queue)
    chosen: list[int] = []
    while queue and queue[0][0] < 0 and len(chosen) < most:
        k = heapq.heappop(queue)[1]
        gain = _new_directions(pool[k], wanted, False)[0]
        if queue and -gain > queue[0][0]:
            heapq.heappush(queue, (-gain, k))
        elif gain > 0:
            _new_directions(pool[k], wanted, True)
            chosen.append(k)
    return chosen


def _pace_to_coverage(
    pool: Rows, wanted: NDArray[np.bool_], count: int, target: float
) -> NDArray[np.int64]:
    """Choose ``count`` traces whose coverage climbs evenly to ``target``."""
    members, offsets = _flatten(pool)
    n_items = len(wanted)
    window = min(_WIDEST_WINDOW, max(_NARROWEST_WINDOW, _WINDOW_WORK // n_items**2))
    chosen = np.empty(count, dtype=np.int64)
    _pace(members, offsets, wanted, target * (int(wanted.sum()) // 2), window, chosen)
    return chosen


def _flatten(pool: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.concatenate(pool), np.concatenate([[0], np.cumsum([len(row) for row in pool])])


@njit(cache=True, nogil=True)
def _new_directions(
    row: NDArray[np.int64], wanted: NDArray[np.bool_], take: bool
) -> tuple[int, int]:
    """Count the wanted directed pairs that a trace shows, and the pairs that it completes.

    With ``take`` they are struck off.
    """
    found, completed = 0, 0
    for a in range(len(row)):
        wanted_after = wanted[row[a]]
        for b in range(a + 1, len(row)):
            if wanted_after[row[b]]:
                found += 1
                completed += not wanted[row[b], row[a]]
                if take:
                    wanted_after[row[b]] = False
    return found, completed


@njit(cache=True, nogil=True)
def _count_all(
    members: NDArray[np.int64],
    offsets: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    gains: NDArray[np.int64],
) -> None:
    for k in range(len(gains)):
        gains[k] = _new_directions(members[offsets[k] : offsets[k + 1]], wanted, False)[0]


@njit(cache=True, nogil=True)
def _pace(
    members: NDArray[np.int64],
    offsets: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    goal: float,
    window: int,
    chosen: NDArray[np.int64],
) -> None:
    """Of each window of draws, take the one that keeps closest to an even pace to the goal.

    Of draws that complete equally many pairs, the one that shows least else that is new. The draw
    taken leaves the window to the next of the pool; the others stay.
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
            found, completed = _new_directions(row, wanted, False)
            gap = abs(covered + completed - pace)
            if gap < best_gap or (gap == best_gap and found < best_found):
                best, best_gap, best_found = c, gap, found
        k = candidates[best]
        covered += _new_directions(members[offsets[k] : offsets[k + 1]], wanted, True)[1]
        chosen[step] = k
        candidates[best] = next_up
        next_up += 1

"""Columns whose product order is close to a wanted one, by simulated annealing over rankings.

To find a few rankings that share exactly the wanted pairs is hard in general, and a chain that
starts without them takes hours at 100 items. But what a move gains can be read off the pairs alone:
where an item passes another one in a column, only that pair can change, so a proposal costs a few
operations for each item passed and no likelihood is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.infer.hard.compile import compiled, inner

# In units of the gain of a wanted pair: from where hardly any order is left to where none is lost.
_HOT, _COLD = 3.0, 0.1
# What a forbidden pair costs, in the same units: at first so little that columns can pass through
# it, in the last quarter of the run more and more, until wanted pairs are given up for the last.
_FIRST_COST, _LAST_COST = 1.5, 50.0
_LAST_QUARTER = 0.75
# Passes over the forbidden pairs that are left after all, and attempts to part each of them.
_PASSES, _ATTEMPTS = 20, 100


@compiled
def arrange(
    gain: NDArray[np.float64],
    forbidden: NDArray[np.bool_],
    dim: int,
    sweeps: int,
    generator: Any,
) -> NDArray[np.int64]:
    """Return the ranks (column, item) of an arrangement with a large total gain; 0 is the top.

    ``gain[i, j]`` counts when i is above j in every column; ``forbidden`` pairs cost there instead,
    and hardly ever remain. A proposal moves one item in one column, past 1 to all of the others
    (log-uniform); the temperature falls geometrically.
    """
    n = len(gain)
    ranking = np.empty((dim, n), dtype=np.int64)
    rank = np.empty((dim, n), dtype=np.int64)
    for k in range(dim):
        for r in range(n):  # a random permutation, grown from the front
            s = int(generator.random() * (r + 1))
            ranking[k, r] = ranking[k, s]
            ranking[k, s] = r
        for r in range(n):
            rank[k, ranking[k, r]] = r
    above = np.zeros((n, n), dtype=np.int32)  # in how many columns i is above j
    for k in range(dim):
        for i in range(n):
            for j in range(n):
                above[i, j] += rank[k, i] < rank[k, j]
    proposals = sweeps * n * dim
    for t in range(proposals):
        done = t / proposals
        late = max(0.0, (done - _LAST_QUARTER) / (1.0 - _LAST_QUARTER))
        cost = _FIRST_COST * (_LAST_COST / _FIRST_COST) ** late
        most_lost = generator.standard_exponential() * _HOT * (_COLD / _HOT) ** done
        i, k = int(generator.random() * n), int(generator.random() * dim)
        distance = int(np.exp(generator.random() * np.log(n)))
        there = rank[k, i] + (distance if generator.random() < 0.5 else -distance)
        there = min(max(there, 0), n - 1)
        _move(gain, forbidden, cost, most_lost, i, k, there, ranking, rank, above)
    _repair(gain, forbidden, ranking, rank, above, generator)
    return rank


@inner
def _move(
    gain: NDArray[np.float64],
    forbidden: NDArray[np.bool_],
    cost: float,
    most_lost: float,
    i: int,
    k: int,
    there: int,
    ranking: NDArray[np.int64],
    rank: NDArray[np.int64],
    above: NDArray[np.int32],
) -> None:
    """Move item i to rank ``there`` of column k, unless more than ``most_lost`` would be lost."""
    dim, here = len(rank), rank[k, i]
    step = 1 if there > here else -1
    total = 0.0
    for r in range(here + step, there + step, step):
        j = ranking[k, r]
        if step < 0:  # upwards: i comes above j in one more column
            if above[i, j] == dim - 1:
                total += gain[i, j] - cost * forbidden[i, j]
            if above[i, j] == 0:
                total -= gain[j, i] - cost * forbidden[j, i]
        else:
            if above[i, j] == dim:
                total -= gain[i, j] - cost * forbidden[i, j]
            if above[i, j] == 1:
                total += gain[j, i] - cost * forbidden[j, i]
    if total < -most_lost:
        return
    for r in range(here, there, step):
        j = ranking[k, r + step]
        ranking[k, r] = j
        rank[k, j] = r
        above[i, j] -= step
        above[j, i] += step
    ranking[k, there] = i
    rank[k, i] = there


@inner
def _repair(
    gain: NDArray[np.float64],
    forbidden: NDArray[np.bool_],
    ranking: NDArray[np.int64],
    rank: NDArray[np.int64],
    above: NDArray[np.int32],
    generator: Any,
) -> None:
    """Part the forbidden pairs that are left, at the price of any wanted ones."""
    dim, n = rank.shape
    # No move can lose n wanted pairs, and none may win anything by a further forbidden one.
    cost, most_lost = 2.0 * n, 1.0 * n
    for _ in range(_PASSES):
        found = False
        for i in range(n):
            for j in range(n):
                for _ in range(_ATTEMPTS):
                    if not (forbidden[i, j] and above[i, j] == dim):
                        break
                    found = True
                    k = int(generator.random() * dim)
                    a, there = i, rank[k, j]
                    if generator.random() < 0.5:
                        a, there = j, rank[k, i]
                    _move(gain, forbidden, cost, most_lost, a, k, there, ranking, rank, above)
        if not found:
            return

"""A layered layout of an order: where each item stands, and the way each cover takes.

The steps are those of Sugiyama, Tagawa and Toda (1981): layers by longest paths; a bend on every
layer that a cover passes; fewer crossings by sorting each layer by the barycentres of its
neighbours; then coordinates that keep this order, with long covers as straight as they can be.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Edge = tuple[int, int]

_SWEEPS = 24
"""Down and up again; orders of a hundred items change little after a dozen."""
_STRAIGHT = 8.0
"""How much more a bend wants to be in line with the next bend than an item with its neighbours."""


@dataclass(frozen=True)
class Layout:
    """Places in two coordinates: the layer (earliest is 0), and the place along the layer."""

    layer: NDArray[np.intp]
    across: NDArray[np.float64]
    """Of the middle of every item."""
    routes: dict[Edge, list[tuple[int, float]]]
    """For each cover (i, j): the (layer, across) of i, of its bends, and of j."""

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return int(self.layer.max(initial=-1)) + 1


def lay_out(
    covers: NDArray[np.bool_], sizes: Sequence[float], *, bend: float, bundled: bool = False
) -> Layout:
    """Lay out the items of an acyclic relation, ``covers[i, j]``: i before j.

    ``sizes`` is what every item takes along its layer, with the gap to its neighbours; a bend takes
    ``bend``. ``bundled`` lets long covers that leave the same item, or enter it, share their bends.
    """
    n = len(covers)
    layer = _layers(covers)
    edges = [(i, j) for i, j in np.argwhere(covers).tolist()]
    node_layer, chains = (_with_shared_bends if bundled else _with_bends)(layer, edges)
    above, below = _neighbours(len(node_layer), chains)
    rows = _fewest_crossings(node_layer, above, below)
    extent = np.full(len(node_layer), bend)
    extent[:n] = sizes
    across = _coordinates(rows, above, below, extent, n)
    routes = {
        edge: [(node_layer[k], float(across[k])) for k in chain]
        for edge, chain in zip(edges, chains, strict=True)
    }
    return Layout(layer, across[:n], routes)


def count_crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    """Return how many pairs of lines between neighbouring layers cross."""
    crossings = 0
    for upper, lower in pairwise(rows):
        place = {node: k for k, node in enumerate(lower)}
        ends: list[int] = []  # of the lines further left, in order
        for node in upper:
            targets = sorted(place[other] for other in below[node])
            crossings += sum(len(ends) - bisect_right(ends, target) for target in targets)
            for target in targets:
                insort(ends, target)
    return crossings


def longest_paths(relation: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the number of items on the longest path that leads to each item."""
    layer = np.zeros(len(relation), dtype=np.intp)
    left = relation.sum(axis=0)
    queue: list[int] = [int(i) for i in np.flatnonzero(left == 0)]
    for item in queue:
        for later in np.flatnonzero(relation[item]).tolist():
            layer[later] = max(layer[later], layer[item] + 1)
            left[later] -= 1
            if left[later] == 0:
                queue.append(later)
    return layer


def _layers(relation: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the layer of each item: the longest path to it, then closer to what it is for.

    An item with more lines below it than above it moves down to just above the first of them: the
    lines get shorter, and a step that is needed late does not stand among the first.
    """
    layer = longest_paths(relation)
    for item in np.argsort(-layer, kind="stable").tolist():
        if relation[item].sum() > relation[:, item].sum():
            layer[item] = layer[relation[item]].min() - 1
    return layer


def _with_bends(layer: NDArray[np.intp], edges: list[Edge]) -> tuple[list[int], list[list[int]]]:
    """Add a bend for every layer that a cover passes; return layers of all, and nodes of covers."""
    node_layer = layer.tolist()
    chains = []
    for i, j in edges:
        between = range(layer[i] + 1, layer[j])
        chains.append([i, *range(len(node_layer), len(node_layer) + len(between)), j])
        node_layer.extend(between)
    return node_layer, chains


def _with_shared_bends(
    layer: NDArray[np.intp], edges: list[Edge]
) -> tuple[list[int], list[list[int]]]:
    """Add bends as `_with_bends` does, but one a layer for all long covers of the same item.

    A cover goes with the others of its first or of its last item, whichever has more of them.
    """
    long = [(i, j) for i, j in edges if layer[j] > layer[i] + 1]
    leaving, entering = Counter(i for i, _ in long), Counter(j for _, j in long)
    node_layer = layer.tolist()
    bends: dict[tuple[str, int, int], int] = {}
    chains = []
    for i, j in edges:
        owner = ("from", i) if leaving[i] >= entering[j] else ("to", j)
        chain = [i]
        for between in range(layer[i] + 1, layer[j]):
            if (*owner, between) not in bends:
                bends[*owner, between] = len(node_layer)
                node_layer.append(between)
            chain.append(bends[*owner, between])
        chains.append([*chain, j])
    return node_layer, chains


def _neighbours(n_nodes: int, chains: list[list[int]]) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(n_nodes)]
    below: list[list[int]] = [[] for _ in range(n_nodes)]
    pairs = dict.fromkeys(pair for chain in chains for pair in pairwise(chain))
    for upper, lower in pairs:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _fewest_crossings(
    node_layer: list[int], above: list[list[int]], below: list[list[int]]
) -> list[list[int]]:
    """Sort every layer by the mean place of its neighbours, down and up; keep the best found."""
    rows: list[list[int]] = [[] for _ in range(max(node_layer, default=-1) + 1)]
    for node in _depth_first(node_layer, below):
        rows[node_layer[node]].append(node)
    best, fewest = [list(row) for row in rows], count_crossings(rows, below)
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        down = sweep % 2 == 0
        fixed, moved = (above, rows[1:]) if down else (below, rows[-2::-1])
        for row in moved:
            _sort_by_barycentre(row, fixed, rows, node_layer)
        crossings = count_crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    _exchange_neighbours(best, above, below)
    return best


def _depth_first(node_layer: list[int], below: list[list[int]]) -> list[int]:
    """List the nodes so that what hangs together comes together: a start with few crossings."""
    seen: dict[int, None] = {}
    for root in sorted(range(len(node_layer)), key=lambda node: node_layer[node]):
        stack = [root]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen[node] = None
                stack.extend(reversed(below[node]))
    return list(seen)


def _sort_by_barycentre(
    row: list[int], neighbours: list[list[int]], rows: list[list[int]], node_layer: list[int]
) -> None:
    places: dict[int, float] = {}
    for own, node in enumerate(row):
        others = neighbours[node]
        if others:
            other_row = {one: k for k, one in enumerate(rows[node_layer[others[0]]])}
            places[node] = sum(other_row[one] for one in others) / len(others)
        else:
            places[node] = float(own)
    row.sort(key=places.__getitem__)


def _exchange_neighbours(
    rows: list[list[int]], above: list[list[int]], below: list[list[int]]
) -> None:
    """Exchange two neighbours of a layer wherever that alone removes crossings."""
    place = {node: k for row in rows for k, node in enumerate(row)}
    for _ in range(4):
        changed = False
        for row in rows:
            for k in range(len(row) - 1):
                left, right = row[k], row[k + 1]
                gain = sum(
                    _crossings_of_two(side[left], side[right], place)
                    - _crossings_of_two(side[right], side[left], place)
                    for side in (above, below)
                )
                if gain > 0:
                    row[k], row[k + 1] = right, left
                    place[left], place[right] = k + 1, k
                    changed = True
        if not changed:
            return


def _crossings_of_two(left: list[int], right: list[int], place: dict[int, int]) -> int:
    """Return the crossings of the lines of two neighbours, in this order, to one other layer."""
    return sum(place[a] > place[b] for a in left for b in right)


def _coordinates(
    rows: list[list[int]],
    above: list[list[int]],
    below: list[list[int]],
    extent: NDArray[np.float64],
    n_items: int,
) -> NDArray[np.float64]:
    """Move every node towards its neighbours, layer by layer, without changing places."""
    across = np.zeros(len(extent))
    apart = []  # least distance of each node of a row from the row's first
    for row in rows:
        half = extent[row] / 2.0
        apart.append(np.concatenate([[0.0], np.cumsum(half[:-1] + half[1:])]))
        across[row] = apart[-1] - apart[-1][-1] / 2.0
    for sweep in range(_SWEEPS):
        sides = ((above,), (below,), (above, below))[sweep % 3]
        order = range(len(rows)) if sides[0] is above else range(len(rows) - 1, -1, -1)
        for k in order:
            wanted, weight = across[rows[k]].copy(), np.ones(len(rows[k]))
            for position, node in enumerate(rows[k]):
                others = [other for side in sides for other in side[node]]
                if others:
                    pull = [
                        _STRAIGHT if node >= n_items and other >= n_items else 1.0
                        for other in others
                    ]
                    wanted[position] = np.average(across[others], weights=pull)
                    weight[position] = sum(pull)
            across[rows[k]] = _spread(wanted, weight, apart[k])
    return across


def _spread(
    wanted: NDArray[np.float64], weight: NDArray[np.float64], apart: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the places nearest to ``wanted`` (least squares) that keep their distances.

    With y = x - apart the condition x[k+1] - x[k] >= apart[k+1] - apart[k] says that y rises:
    isotonic regression, by pooling neighbours that violate it.
    """
    blocks: list[tuple[float, float, int]] = []  # mean, weight, length
    for value, mass in zip(wanted - apart, weight, strict=True):
        mean, total, length = float(value), float(mass), 1
        while blocks and blocks[-1][0] > mean:
            other, other_weight, other_length = blocks.pop()
            mean = (mean * total + other * other_weight) / (total + other_weight)
            total += other_weight
            length += other_length
        blocks.append((mean, total, length))
    return np.repeat([b[0] for b in blocks], [b[2] for b in blocks]) + apart

"""Kernels on binary relations, given as square bool matrices: ``relation[i, j]`` is "i before j".

Rows are packed into 64-bit words, so that one numpy operation handles a whole row and n = 1,000
costs tens of milliseconds without compiling anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posetta.errors import InputError

BoolMatrix = NDArray[np.bool_]

_WORD_BITS = 64


def as_relation(matrix: ArrayLike) -> BoolMatrix:
    """Return a square matrix of true and false (or of 0 and 1) as bool; refuse any other."""
    relation = np.asarray(matrix)
    if relation.ndim != 2 or relation.shape[0] != relation.shape[1]:
        raise InputError(f"the relation has the shape {relation.shape}; it needs a square matrix.")
    if relation.dtype == np.bool_:
        return relation
    # Whole numbers 0 and 1 are plain to read; anything else is likely a matrix of probabilities.
    if not (np.issubdtype(relation.dtype, np.integer) and np.isin(relation, (0, 1)).all()):
        raise InputError(
            f"the relation holds {relation.dtype} values; it needs true or false (or 0 and 1). "
            "Compare probabilities with a threshold first."
        )
    return relation.astype(np.bool_)


def transitive_closure(relation: ArrayLike) -> BoolMatrix:
    """Return the least transitive relation that contains ``relation``.

    Any relation is allowed: item i lies on a cycle exactly if ``closure[i, i]``.
    """
    # Warshall's algorithm: once pivots 0..k have been served, a row holds every item that can be
    # reached by a path whose inner items are all among 0..k.
    words = _pack(as_relation(relation))
    octets = words.view(np.uint8)
    for k in range(len(words)):
        rows_before_k = np.flatnonzero(octets[:, k >> 3] & np.uint8(1 << (k & 7)))
        words[rows_before_k] |= words[k]
    return _unpack(words)


def acyclic_closure(relation: ArrayLike, names: Sequence[str] | None = None) -> BoolMatrix:
    """Return the closure of an acyclic relation; a cycle is an `InputError` that names it."""
    closure = transitive_closure(relation)
    if closure.diagonal().any():
        cycle = find_cycle(relation) or []
        labels = [str(i) if names is None else names[i] for i in [*cycle, *cycle[:1]]]
        raise InputError(
            f"the pairs form a cycle: {' -> '.join(labels)}. "
            "An order has none: remove or turn one of these pairs."
        )
    return closure


def transitive_reduction(relation: ArrayLike) -> BoolMatrix:
    """Return the least relation with the same closure: the covers, drawn in a Hasse diagram.

    It is unique for acyclic relations (Aho, Garey and Ullman, 1972); a cycle is an `InputError`.
    """
    closure = acyclic_closure(relation)
    return closure & ~compose(closure, closure)


def compose(left: BoolMatrix, right: BoolMatrix) -> BoolMatrix:
    """Return the relation "i is left of some k that is right of j"."""
    words = _pack(right)
    composed = np.zeros((len(left), words.shape[1]), dtype=np.uint64)
    column = np.ascontiguousarray(left.T)
    for k in range(len(words)):
        composed[np.flatnonzero(column[k])] |= words[k]
    return _unpack(composed)


def strong_components(relation: ArrayLike) -> NDArray[np.intp]:
    """Return, per item, the least item of its strongly connected component.

    Two items share a component if each can be reached from the other; an item on no cycle is a
    component of its own.
    """
    closure = transitive_closure(relation)
    mutual = closure & closure.T
    np.fill_diagonal(mutual, True)
    n_items = len(mutual)
    least: NDArray[np.intp] = np.where(mutual, np.arange(n_items), n_items).min(
        axis=1, initial=n_items
    )
    return least


def find_cycle(relation: ArrayLike) -> list[int] | None:
    """Return the items of a cycle, each before the next and the last before the first, or None.

    The cycle is a shortest one through the least item that lies on any.
    """
    relation = as_relation(relation)
    on_cycle = np.flatnonzero(transitive_closure(relation).diagonal())
    if not on_cycle.size:
        return None
    start = int(on_cycle[0])
    # Breadth first from ``start``, one whole layer at a time, until a layer leads back to it.
    parent = np.full(len(relation), -1)
    layer = np.array([start])
    while not relation[layer, start].any():
        reached = relation[layer].any(axis=0) & (parent < 0)
        reached[start] = False
        following = np.flatnonzero(reached)
        parent[following] = layer[relation[np.ix_(layer, following)].argmax(axis=0)]
        layer = following
    item = int(layer[relation[layer, start].argmax()])
    backwards = [item]
    while item != start:
        item = int(parent[item])
        backwards.append(item)
    return backwards[::-1]


def matching_size(relation: BoolMatrix) -> int:
    """Return the most pairs (i, j) of a relation in which no i and no j appears twice.

    Augmenting paths (Berge, 1957), found breadth first; sets of columns are bits of whole numbers.
    """
    rows = [as_bits(row) for row in relation]
    row_of: dict[int, int] = {}
    column_of: dict[int, int] = {}
    unmatched = usable = (1 << len(rows)) - 1
    for start in range(len(rows)):
        unvisited = usable
        reached_from: dict[int, int] = {}
        queue = [start]
        for row in queue:
            reached = rows[row] & unvisited
            if free := reached & unmatched:
                column = (free & -free).bit_length() - 1
                unmatched ^= 1 << column
                _augment(row, column, row_of, column_of, reached_from)
                break
            unvisited ^= reached
            while reached:
                column = (reached & -reached).bit_length() - 1
                reached &= reached - 1
                reached_from[column] = row
                queue.append(row_of[column])
        else:
            usable = unvisited  # no later path can end in what a failed search has visited
    return len(row_of)


def _augment(
    row: int,
    column: int,
    row_of: dict[int, int],
    column_of: dict[int, int],
    reached_from: dict[int, int],
) -> None:
    """Match ``row`` to a free column, and pass the column it held to the row before it, and so on.

    The path ends at the row that it started from, which held none.
    """
    while True:
        released = column_of.get(row)
        row_of[column], column_of[row] = row, column
        if released is None:
            return
        row, column = reached_from[released], released


def as_bits(row: NDArray[np.bool_]) -> int:
    """Return the set of the true positions as a whole number."""
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")


def _pack(matrix: BoolMatrix) -> NDArray[np.uint64]:
    """Pack rows into words. Bit ``j & 7`` of octet ``j >> 3`` is column j on every machine."""
    n_rows, n_columns = matrix.shape
    n_octets = -(-n_columns // _WORD_BITS) * (_WORD_BITS // 8)
    octets = np.zeros((n_rows, n_octets), dtype=np.uint8)
    octets[:, : -(-n_columns // 8)] = np.packbits(matrix, axis=1, bitorder="little")
    return octets.view(np.uint64)


def _unpack(words: NDArray[np.uint64]) -> BoolMatrix:
    """Undo `_pack` for a square matrix."""
    octets = words.view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=len(words), bitorder="little")
    return bits.view(np.bool_)

"""What enters a `Poset` is checked here: labels become positions, pairs become a bool matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posetta.errors import InputError
from posetta.order.labels import check_label, index_labels
from posetta.order.relation import BoolMatrix, acyclic_closure, as_relation, compose

Pair = tuple[str, str]


def positions(labels: Iterable[str], index: Mapping[str, int]) -> NDArray[np.intp]:
    """Return the positions of distinct labels; unknown and repeated ones are an `InputError`."""
    if isinstance(labels, str):
        raise InputError(f"expected a list of labels, not the text {labels!r}.")
    found: dict[str, int] = {}
    for label in labels:
        if label in found:
            raise InputError(f'the label "{label}" appears twice. Each item may appear once.')
        found[label] = _position(label, index)
    return np.fromiter(found.values(), dtype=np.intp, count=len(found))


def relation_of(
    relation: Iterable[Pair] | BoolMatrix, items: Sequence[str] | None
) -> tuple[BoolMatrix, tuple[str, ...]]:
    """Return matrix and labels of a relation given either as an array or as label pairs."""
    if isinstance(relation, np.ndarray):
        return relation_of_matrix(relation, items)
    return relation_of_pairs(relation, items)


def relation_of_pairs(
    pairs: Iterable[Pair], items: Sequence[str] | None
) -> tuple[BoolMatrix, tuple[str, ...]]:
    """Return matrix and labels of (earlier, later) pairs; without ``items``, those of the pairs."""
    listed = [_checked_pair(pair) for pair in pairs]
    if items is None:
        items = list(dict.fromkeys(label for pair in listed for label in pair))
    index = index_labels(items)
    matrix = np.zeros((len(index), len(index)), dtype=np.bool_)
    for earlier, later in listed:
        matrix[_position(earlier, index), _position(later, index)] = True
    return matrix, tuple(index)


def relation_of_matrix(
    relation: ArrayLike, items: Sequence[str] | None
) -> tuple[BoolMatrix, tuple[str, ...]]:
    """Return a checked bool matrix and its labels, by default "0", "1", ..."""
    matrix = as_relation(relation)
    return matrix, labels_for(len(matrix), items)


def labels_for(n_items: int, items: Sequence[str] | None) -> tuple[str, ...]:
    """Return checked labels for ``n_items`` rows, by default "0", "1", ..."""
    if items is None:
        return tuple(map(str, range(n_items)))
    labels = tuple(index_labels(items))
    if len(labels) != n_items:
        raise InputError(f"there are {len(labels)} labels for {n_items} rows.")
    return labels


def check_strict_order(relation: BoolMatrix, labels: tuple[str, ...]) -> None:
    """Refuse a relation that is not transitive and irreflexive, naming what is wrong."""
    missing = compose(relation, relation) & ~relation
    if not (missing.any() or relation.diagonal().any()):
        return
    acyclic_closure(relation, labels)  # a cycle is the deeper fault, and is named first
    first, last = np.argwhere(missing)[0]
    between = np.flatnonzero(relation[first] & relation[:, last])[0]
    a, b, c = labels[first], labels[between], labels[last]
    raise InputError(
        f'the relation is not transitive: "{a}" is before "{b}" and "{b}" before "{c}", but "{a}" '
        f'not before "{c}". Close it with from_pairs or from_matrix.'
    )


def immutable(matrix: BoolMatrix) -> BoolMatrix:
    """Return a copy that rests on bytes, so that not even its flags can make it writeable."""
    return np.frombuffer(matrix.tobytes(), dtype=np.bool_).reshape(matrix.shape)


def _position(label: str, index: Mapping[str, int]) -> int:
    try:
        return index[label]
    except (KeyError, TypeError):  # TypeError: a list or another value that cannot be a label
        raise InputError(
            f"the label {label!r} is not among the {len(index)} items of this order."
        ) from None


def _checked_pair(pair: Any) -> Pair:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise InputError(f"{pair!r} is not a pair of labels (earlier, later).")
    earlier, later = pair
    check_label(earlier)
    check_label(later)
    return earlier, later

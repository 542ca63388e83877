"""`Poset`: a finite strict partial order with labelled items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posetta.errors import InputError
from posetta.order import extensions
from posetta.order.align import check_same_items
from posetta.order.gate import (
    Pair,
    check_strict_order,
    immutable,
    labels_for,
    positions,
    relation_of,
    relation_of_matrix,
    relation_of_pairs,
)
from posetta.order.labels import index_labels
from posetta.order.product import product_order
from posetta.order.relation import BoolMatrix, acyclic_closure, compose, matching_size
from posetta.rng import child

if TYPE_CHECKING:
    import networkx


@dataclass(frozen=True, eq=False, repr=False)
class Poset:
    """A strict partial order: ``closure[i, j]`` says that ``items[i]`` comes before ``items[j]``.

    The relation is irreflexive and transitive, hence acyclic: anything else is refused, and the
    matrix can never change. Two posets are equal if their items, in order, and their closures
    are; `reindex` first where the same items may be listed in another order.
    """

    items: tuple[str, ...]
    closure: BoolMatrix

    def __post_init__(self) -> None:
        closure, items = relation_of_matrix(self.closure, self.items)
        check_strict_order(closure, items)
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "closure", immutable(closure))

    # -- constructors ----------------------------------------------------------------------------

    @classmethod
    def from_closure(
        cls, closure: Iterable[Pair] | BoolMatrix, items: Sequence[str] | None = None
    ) -> Poset:
        """Build from a relation that is already transitive: a bool matrix or all its label pairs.

        Nothing is added: a pair that transitivity asks for and that is missing is an error. Use
        `from_matrix` or `from_pairs` to close a relation.
        """
        matrix, labels = relation_of(closure, items)
        return cls(labels, matrix)

    @classmethod
    def from_covers(
        cls, covers: Iterable[Pair] | BoolMatrix, items: Sequence[str] | None = None
    ) -> Poset:
        """Build from the cover relation (the lines of a Hasse diagram): label pairs or a matrix.

        A pair that follows from the others is no cover and is an error; `from_pairs` accepts it.
        """
        matrix, labels = relation_of(covers, items)
        order = cls(labels, acyclic_closure(matrix, labels))
        implied = np.argwhere(matrix & ~order.covers)
        if len(implied):
            first, last = implied[0]
            between = np.flatnonzero(order.closure[first] & order.closure[:, last])[0]
            raise InputError(
                f'"{labels[first]}" before "{labels[last]}" is not a cover: '
                f'"{labels[between]}" lies between them. Leave that pair out, or use from_pairs.'
            )
        return order

    @classmethod
    def from_pairs(cls, pairs: Iterable[Pair], items: Sequence[str] | None = None) -> Poset:
        """Build the least order with the given (earlier, later) pairs of labels.

        Without ``items``, they are numbered in the order in which they first appear.
        """
        matrix, labels = relation_of_pairs(pairs, items)
        return cls(labels, acyclic_closure(matrix, labels))

    @classmethod
    def from_matrix(cls, relation: ArrayLike, items: Sequence[str] | None = None) -> Poset:
        """Build the least order that contains a bool matrix; items default to "0", "1", ..."""
        matrix, labels = relation_of_matrix(relation, items)
        return cls(labels, acyclic_closure(matrix, labels))

    @classmethod
    def from_latent(cls, latent: ArrayLike, items: Sequence[str] | None = None) -> Poset:
        """Build the product order of latent rows (eq. hard_product_order of the paper).

        Item i comes before item j iff ``latent[i, k] > latent[j, k]`` for every column k: greater
        is earlier, and a tie in any column leaves the pair incomparable. Columns of NaN only are
        padding (draws with a random dimension) and are ignored.
        """
        matrix = np.asarray(latent, dtype=np.float64)
        if matrix.ndim != 2:
            raise InputError(
                f"latent has the shape {matrix.shape}; it needs one row per item and one column "
                "per dimension."
            )
        return cls(labels_for(len(matrix), items), product_order(matrix))

    @classmethod
    def from_chain(cls, labels: Sequence[str]) -> Poset:
        """Build the total order that lists the labels first to last."""
        items = tuple(index_labels(labels))
        return cls(items, np.triu(np.ones((len(items), len(items)), dtype=np.bool_), k=1))

    @classmethod
    def antichain(cls, labels: Sequence[str]) -> Poset:
        """Build the order in which no item comes before another."""
        items = tuple(index_labels(labels))
        return cls(items, np.zeros((len(items), len(items)), dtype=np.bool_))

    # -- the relation ----------------------------------------------------------------------------

    @cached_property
    def covers(self) -> BoolMatrix:
        """Bool matrix of the covers: i before j with nothing between (the Hasse diagram)."""
        return immutable(self.closure & ~compose(self.closure, self.closure))

    @property
    def cover_pairs(self) -> list[Pair]:
        """The covers as (earlier, later) labels."""
        return self._label_pairs(self.covers)

    @property
    def closure_pairs(self) -> list[Pair]:
        """All related pairs as (earlier, later) labels."""
        return self._label_pairs(self.closure)

    @property
    def incomparable_pairs(self) -> list[Pair]:
        """All pairs of labels with neither before the other, each pair once, in item order."""
        return self._label_pairs(np.triu(~(self.closure | self.closure.T), k=1))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_relations(self) -> int:
        """Number of pairs (i, j) with i before j."""
        return int(self.closure.sum())

    # -- shape -----------------------------------------------------------------------------------

    @property
    def levels(self) -> list[list[str]]:
        """Items by the length of the longest chain above them; the earliest level first."""
        levels: list[list[str]] = [[] for _ in range(self.depth)]
        for label, level in zip(self.items, self._level_of_item, strict=True):
            levels[level].append(label)
        return levels

    @property
    def depth(self) -> int:
        """Number of levels, which is the number of items in a longest chain."""
        return int(self._level_of_item.max(initial=-1)) + 1

    @cached_property
    def width(self) -> int:
        """Number of items in a largest set of pairwise incomparable items.

        By Dilworth's theorem it is the least number of chains that cover all items, and (Fulkerson
        1956) that is n minus the size of a largest matching of items to items that come later.
        """
        # In topological order the first free match is the next item of a chain, rarely revised.
        order = self._topological_order
        return self.n_items - matching_size(self.closure[np.ix_(order, order)])

    @property
    def _topological_order(self) -> NDArray[np.intp]:
        # If i comes before j, then j has more items before it than i has.
        return np.argsort(self.closure.sum(axis=0), kind="stable")

    @cached_property
    def _level_of_item(self) -> NDArray[np.intp]:
        level = np.zeros(self.n_items, dtype=np.intp)
        for item in self._topological_order:
            level[item] = level[self.closure[:, item]].max(initial=-1) + 1
        return level

    # -- parts and sequences ---------------------------------------------------------------------

    def suborder(self, labels: Iterable[str]) -> Poset:
        """Return the order among the given items alone, listed as given."""
        chosen = positions(labels, self._index)
        return Poset(tuple(self.items[i] for i in chosen), self.closure[np.ix_(chosen, chosen)])

    def reindex(self, items: Sequence[str]) -> Poset:
        """Return the same order with its items listed in another order."""
        check_same_items(self.items, items)
        return self.suborder(items)

    def frontier(self, remaining: Iterable[str]) -> list[str]:
        """Return the items of ``remaining`` with no other remaining item before them.

        These are its maximal elements, the ones that may come next (eq. frontier_definition of the
        paper), in item order. The frontier of a non-empty set is never empty.
        """
        left = np.sort(positions(remaining, self._index))
        blocked = self.closure[np.ix_(left, left)].any(axis=0)
        return [self.items[i] for i in left[~blocked]]

    def is_linear_extension(self, sequence: Sequence[str]) -> bool:
        """Whether the sequence lists every item, each after all the items before it."""
        return len(sequence) == self.n_items and self.respects(sequence)

    def respects(self, sequence: Sequence[str]) -> bool:
        """Whether the sequence, of all items or of some, never contradicts the order."""
        return self.first_violation(sequence) is None

    def first_violation(self, sequence: Sequence[str]) -> Pair | None:
        """Return the first contradiction as the (earlier, later) pair that is listed reversed.

        "First" is the first position of the sequence whose item comes too late; None if none does.
        """
        listed = positions(sequence, self._index)
        reversed_pairs = np.argwhere(np.tril(self.closure[np.ix_(listed, listed)], k=-1))
        if not len(reversed_pairs):
            return None
        late, early = reversed_pairs[0]
        return self.items[listed[late]], self.items[listed[early]]

    # -- linear extensions -----------------------------------------------------------------------

    def count_linear_extensions(self) -> int:
        """Return the exact number of linear extensions; see `posetta.order.extensions`."""
        return extensions.count_linear_extensions(self)

    def sample_linear_extensions(self, n: int, seed: int) -> list[list[str]]:
        """Return ``n`` independent linear extensions, each exactly uniform."""
        return extensions.sample_linear_extensions(self, n, child(seed, "extensions"))

    # -- other notations -------------------------------------------------------------------------
    # Imported when used: posetta.order.exchange also reads files into posets, so it needs this
    # module first.

    @classmethod
    def from_networkx(cls, graph: networkx.DiGraph[Any]) -> Poset:
        """Build the least order with the edges of a directed graph whose nodes are labels."""
        from posetta.order.exchange import from_networkx

        return from_networkx(graph)

    def to_networkx(self, *, closure: bool = False) -> networkx.DiGraph[Any]:
        """Return the graph of the covers, or of the closure, with labels as nodes."""
        from posetta.order.exchange import to_networkx

        return to_networkx(self, closure=closure)

    def to_dot(self) -> str:
        """Return the Hasse diagram in the language of Graphviz."""
        from posetta.order.exchange import to_dot

        return to_dot(self)

    def to_mermaid(self) -> str:
        """Return the Hasse diagram as a Mermaid flowchart."""
        from posetta.order.exchange import to_mermaid

        return to_mermaid(self)

    # -- being a value ---------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Poset):
            return NotImplemented
        return self.items == other.items and np.array_equal(self.closure, other.closure)

    def __hash__(self) -> int:
        return hash((self.items, self.closure.tobytes()))

    def __repr__(self) -> str:
        return f"Poset({self.n_items} items, {self.n_relations} relations, depth {self.depth})"

    def __reduce__(self) -> tuple[type[Poset], tuple[tuple[str, ...], BoolMatrix]]:
        # Through the constructor, so that a copy from a pickle is checked and immutable as well.
        return Poset, (self.items, np.array(self.closure))

    @cached_property
    def _index(self) -> dict[str, int]:
        return index_labels(self.items)

    def _label_pairs(self, relation: BoolMatrix) -> list[Pair]:
        return [(self.items[i], self.items[j]) for i, j in np.argwhere(relation).tolist()]

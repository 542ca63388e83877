"""Linear extensions of a finite order: how many there are, and uniform draws of them.

A linear extension lists all items so that nothing comes before something it must follow. Counting
them is #P-complete (Brightwell and Winkler, 1991), so what follows is exact and has a limit.

1. *Series and parallel parts.* If the items fall into parts with no relation between them, the
   extensions of the parts are interleaved in all ways: a multinomial coefficient. If they fall into
   parts that come entirely one after the other, the extensions are joined: a product. Repeat inside
   every part.
2. *Down-sets.* What remains, a part that is neither, is counted over its down-sets (with an item,
   everything before it): e(S) = sum over the last items x of S of e(S - x), e(empty set) = 1. A
   draw walks back from the full set, taking x as the last item with probability e(S - x) / e(S).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import comb, prod
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from posetta.errors import InputError, SettingError
from posetta.order.relation import BoolMatrix, as_bits

if TYPE_CHECKING:
    from posetta.order.poset import Poset

MAX_DOWN_SETS = 1_000_000
"""Most down-sets that one call counts over, all its parts together.

At the limit a count takes 2 to 6 s on one core and some 200 MB, nearly all of it for the table that
draws need. Random two-dimensional orders reach it near 60 items (width 13)."""


def count_linear_extensions(poset: Poset) -> int:
    """Return the exact number of linear extensions.

    An order whose parts have more than `MAX_DOWN_SETS` down-sets is an `InputError`.
    """
    return prod(part.count for part in _decompose(poset))


def sample_linear_extensions(poset: Poset, n: int, rng: np.random.Generator) -> list[list[str]]:
    """Return ``n`` independent linear extensions, each drawn exactly uniformly, as labels."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise SettingError(
            f"n={n!r} is not a number of draws; it must be a whole number, 0 or more."
        )
    parts = _decompose(poset)
    return [[poset.items[i] for i in _draw(parts, rng)] for _ in range(n)]


# -- series and parallel parts -------------------------------------------------------------------


class _Part(Protocol):
    """A node of the decomposition: the whole order first, every part before its own parts."""

    @property
    def count(self) -> int:
        """Ways to arrange this part, given an arrangement of each of its own parts."""

    def draw(self, drawn: Sequence[list[int]], rng: np.random.Generator) -> list[int]:
        """Arrange this part; ``drawn`` holds the arrangements of all later nodes."""


@dataclass(frozen=True)
class _Single:
    """One item, or none."""

    items: list[int]
    count: int = 1

    def draw(self, drawn: Sequence[list[int]], rng: np.random.Generator) -> list[int]:  # noqa: ARG002
        return self.items


@dataclass(frozen=True)
class _Series:
    """Parts that come entirely one after the other."""

    parts: range
    count: int = 1

    def draw(self, drawn: Sequence[list[int]], rng: np.random.Generator) -> list[int]:  # noqa: ARG002
        return [item for part in self.parts for item in drawn[part]]


@dataclass(frozen=True)
class _Parallel:
    """Parts with no relation between them."""

    parts: range
    sizes: list[int]

    @property
    def count(self) -> int:
        """The multinomial coefficient of the sizes."""
        return prod(map(comb, accumulate(self.sizes), self.sizes))

    def draw(self, drawn: Sequence[list[int]], rng: np.random.Generator) -> list[int]:
        # A shuffled word with part k written sizes[k] times is a uniform interleaving.
        turns = rng.permutation(np.repeat(self.parts, self.sizes))
        following = {part: iter(drawn[part]) for part in self.parts}
        return [next(following[part]) for part in turns.tolist()]


def _decompose(poset: Poset) -> list[_Part]:
    """Return the nodes of the decomposition, each before its own parts."""
    parts: list[_Part] = []
    # An explicit queue: a comb nests as deep as it has items, beyond Python's recursion.
    queue = deque([np.arange(poset.n_items)])
    n_queued = 1
    down_sets_left = MAX_DOWN_SETS
    while queue:
        items = queue.popleft()
        closure = poset.closure[np.ix_(items, items)]
        if len(items) < 2:
            parts.append(_Single(items.tolist()))
            continue
        comparable = closure | closure.T
        split = _components(comparable)
        if len(split) > 1:
            children = range(n_queued, n_queued + len(split))
            parts.append(_Parallel(children, [len(part) for part in split]))
        elif len(split := _components(~comparable)) > 1:
            children = range(n_queued, n_queued + len(split))
            parts.append(_Series(children))
            # Each part has everything of the earlier parts before it, so more than they have.
            n_before = closure.sum(axis=0)
            split.sort(key=lambda part: int(n_before[part[0]]))
        else:
            prime = _Prime(poset.suborder(poset.items[i] for i in items), items, down_sets_left)
            down_sets_left -= prime.n_down_sets
            parts.append(prime)
            continue
        n_queued += len(split)
        queue.extend(items[part] for part in split)
    return parts


def _components(linked: BoolMatrix) -> list[NDArray[np.intp]]:
    """Return the connected components of a symmetric relation, each in ascending order."""
    components = []
    unseen = np.ones(len(linked), dtype=np.bool_)
    while unseen.any():
        layer = np.flatnonzero(unseen)[:1]
        member = np.zeros(len(linked), dtype=np.bool_)
        member[layer] = True
        while layer.size:
            reached = linked[layer].any(axis=0) & ~member
            member |= reached
            layer = np.flatnonzero(reached)
        unseen &= ~member
        components.append(np.flatnonzero(member))
    return components


def _draw(parts: list[_Part], rng: np.random.Generator) -> list[int]:
    drawn: list[list[int]] = [[]] * len(parts)
    for node in reversed(range(len(parts))):
        drawn[node] = parts[node].draw(drawn, rng)
    return drawn[0]


# -- down-sets -----------------------------------------------------------------------------------


class _Prime:
    """A part that is neither series nor parallel, with e(S) of every down-set S.

    Sets are whole numbers with one bit per item, so that Python's dictionaries hold them.
    """

    def __init__(self, order: Poset, items: NDArray[np.intp], max_down_sets: int) -> None:
        # All subsets of an antichain give different down-sets: refuse what cannot succeed at once.
        if order.n_items > max_down_sets.bit_length() and 2**order.width > max_down_sets:
            raise _too_many(order.n_items)
        self._items = items.tolist()
        self._after = [as_bits(row) for row in order.closure]
        self._ways = _count_down_sets(order, max_down_sets)
        self._all = (1 << order.n_items) - 1

    @property
    def n_down_sets(self) -> int:
        return len(self._ways)

    @property
    def count(self) -> int:
        return self._ways[self._all]

    def draw(self, drawn: Sequence[list[int]], rng: np.random.Generator) -> list[int]:  # noqa: ARG002
        backwards = []
        down_set = self._all
        while down_set:
            ticket = _integer_below(self._ways[down_set], rng)
            for k, after in enumerate(self._after):
                if down_set >> k & 1 and not after & down_set:
                    ticket -= self._ways[down_set ^ (1 << k)]
                    if ticket < 0:
                        backwards.append(self._items[k])
                        down_set ^= 1 << k
                        break
        return backwards[::-1]


def _count_down_sets(order: Poset, max_down_sets: int) -> dict[int, int]:
    """Return e(S), the number of linear extensions of S, for every down-set S of the order."""
    before = [as_bits(column) for column in order.closure.T]
    # What may become free once an item is placed: (bit, what must be placed before) of its covers.
    opens = {
        1 << k: [(1 << j, before[j]) for j in np.flatnonzero(row).tolist()]
        for k, row in enumerate(order.covers)
    }
    ways = {0: 1}
    # Down-sets of one size at a time, each with the set of the items that may be placed next.
    level = {0: sum(1 << k for k, needed in enumerate(before) if not needed)}
    while level:
        following: dict[int, int] = {}
        for down_set, free in level.items():
            ways_here = ways[down_set]
            untried = free
            while untried:
                bit = untried & -untried
                untried ^= bit
                grown = down_set | bit
                if grown in following:
                    ways[grown] += ways_here
                    continue
                ways[grown] = ways_here
                free_then = free ^ bit
                for other, needed in opens[bit]:
                    if needed & grown == needed:
                        free_then |= other
                following[grown] = free_then
            if len(ways) > max_down_sets:
                raise _too_many(order.n_items)
        level = following
    return ways


def _too_many(n_items: int) -> InputError:
    return InputError(
        f"this order has too many down-sets for an exact count: a part of {n_items} items that is "
        f"neither series nor parallel exceeds the limit of {MAX_DOWN_SETS:,}. Count a smaller "
        "suborder, or an order with more relations."
    )


def _integer_below(bound: int, rng: np.random.Generator) -> int:
    """Return a uniform whole number in 0 .. bound - 1, of any size, by rejection."""
    n_bits = (bound - 1).bit_length()
    n_bytes = -(-n_bits // 8)
    while True:
        number = int.from_bytes(rng.bytes(n_bytes), "little") >> (8 * n_bytes - n_bits)
        if number < bound:
            return number

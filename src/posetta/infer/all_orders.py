"""Every strict order on at most five labelled items, and its class up to relabelling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from posetta.errors import InputError

LARGEST = 5


@dataclass(frozen=True, eq=False)
class AllOrders:
    """Every strict order on n labelled items."""

    closures: NDArray[np.bool_]
    """(order, item, item)"""
    index_of_code: NDArray[np.int32]
    """Order with a given bit code (see `codes_of`); -1 where the relation is not an order."""
    class_of: NDArray[np.int64]
    """Unlabelled class of each order."""

    @property
    def n_classes(self) -> int:
        """Number of orders up to relabelling."""
        return int(self.class_of.max()) + 1


@cache
def all_orders(n: int) -> AllOrders:
    """Enumerate the strict orders on n items: 1, 3, 19, 219, 4231 for n = 1 .. 5."""
    if not 1 <= n <= LARGEST:
        raise InputError(
            f"method 'exact' enumerates orders of 1 to {LARGEST} items; these are {n}. "
            "Use method='hard'."
        )
    upper = np.triu_indices(n, k=1)
    found: dict[int, NDArray[np.bool_]] = {}
    class_of: dict[int, int] = {}
    relabellings = [list(p) for p in permutations(range(n))]
    # Every order has a relabelling in which all pairs point upwards.
    for bits in product([False, True], repeat=len(upper[0])):
        closure = np.zeros((n, n), dtype=bool)
        closure[upper] = bits
        if (closure @ closure & ~closure).any():
            continue
        variants = [closure[np.ix_(p, p)] for p in relabellings]
        codes = [int(codes_of(v)) for v in variants]
        if codes[0] in found:
            continue
        label = len(set(class_of.values()))
        for code, variant in zip(codes, variants, strict=True):
            found[code] = variant
            class_of[code] = label
    index_of_code = np.full(2 ** (n * n), -1, dtype=np.int32)
    for k, code in enumerate(found):
        index_of_code[code] = k
    return AllOrders(
        closures=np.array(list(found.values())),
        index_of_code=index_of_code,
        class_of=np.array([class_of[code] for code in found]),
    )


def codes_of(closures: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Read each closure (..., n, n) as one binary number."""
    flat = closures.reshape(*closures.shape[:-2], -1)
    return np.asarray(flat @ (1 << np.arange(flat.shape[-1], dtype=np.int64)))

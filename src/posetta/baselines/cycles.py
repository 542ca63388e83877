"""A relation that may have cycles made an order, and what that cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posetta.order import transitive_closure
from posetta.posterior import break_cycles


class Uncycled(NamedTuple):
    """An order made of a relation by cutting pairs that lay on cycles."""

    closure: NDArray[np.bool_]
    n_cut: int
    """Pairs that were cut; the closure may imply some of them again."""


def without_cycles(relation: NDArray[np.bool_], weight: NDArray[np.float64]) -> Uncycled:
    """Break the cycles of a relation at its lightest pairs, as in decoding, and close it."""
    uncut = break_cycles(relation, weight)
    return Uncycled(transitive_closure(uncut), int((relation & ~uncut).sum()))


def cut_words(n_cut: int, which: str) -> str:
    """Say how many pairs were cut; ``which`` says what the relation holds."""
    if n_cut == 1:
        return f"1 pair {which} lay on a cycle and was cut."
    return f"{n_cut} pairs {which} lay on cycles and were cut."

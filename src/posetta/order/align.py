"""Two objects are compared by label: the same items, listed in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.errors import InputError

_MOST_NAMED = 5


def check_same_items(items: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse two lists of labels of which one names an item that the other does not."""
    differing = sorted(set(items) ^ set(wanted))
    if differing:
        named = ", ".join(f'"{label}"' for label in differing[:_MOST_NAMED])
        more = " and others" if len(differing) > _MOST_NAMED else ""
        verb = "is" if len(differing) == 1 else "are"
        raise InputError(
            f"the two are over different items: {named}{more} {verb} in one only. Compare over a "
            "common suborder."
        )


def in_order_of(wanted: Sequence[str], items: Sequence[str], matrix: NDArray[Any]) -> NDArray[Any]:
    """Return a matrix over ``items`` with its rows and columns in the order of ``wanted``."""
    check_same_items(items, wanted)
    place = {label: k for k, label in enumerate(items)}
    chosen = np.array([place[label] for label in wanted], dtype=np.intp)
    return matrix[np.ix_(chosen, chosen)]

"""A posterior or a single order as one matrix, over items in a given order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from posetta.order import Poset
from posetta.order.align import in_order_of
from posetta.posterior.posterior import Posterior


def matrix_over(result: Posterior | Poset, items: Sequence[str]) -> NDArray[np.float64]:
    """Return Pr(row before column) with the items in the given order; one order has 0 and 1."""
    matrix = result.closure.astype(float) if isinstance(result, Poset) else result.precedence
    return in_order_of(items, result.items, matrix)

"""What is a finite order? `Poset`, its closure and covers, and its linear extensions."""

from __future__ import annotations

from posetta.order.exchange import read_order, write_order
from posetta.order.extensions import count_linear_extensions, sample_linear_extensions
from posetta.order.poset import Poset
from posetta.order.relation import find_cycle, transitive_closure, transitive_reduction

__all__ = [
    "Poset",
    "count_linear_extensions",
    "find_cycle",
    "read_order",
    "sample_linear_extensions",
    "transitive_closure",
    "transitive_reduction",
    "write_order",
]

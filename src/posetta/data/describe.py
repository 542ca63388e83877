"""A description of traces without fitting anything: sizes, conflicts, coverage of pairs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data.evidence import PairEvidence
from posetta.data.traces import Traces


@dataclass(frozen=True)
class Description:
    """What a set of traces is. Pairs are unordered pairs of different items."""

    n_items: int
    n_traces: int
    n_unique: int
    shortest: int
    median_length: float
    longest: int
    n_complete: int
    """Traces that list every item of the universe."""
    n_with_choice_set: int
    """Traces chosen from a set larger than what they list."""
    n_pairs: int
    pairs_in_both_orders: int
    pairs_in_one_order: int
    pairs_never_together: int
    items_seen_once: tuple[str, ...]
    """Items listed by exactly one trace: little can be learnt of them."""
    items_never_seen: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def describe(traces: Traces) -> Description:
    """Describe the traces."""
    evidence = PairEvidence.of(traces)
    sizes = np.diff(traces.offsets)
    seen = traces.listings
    both = int(np.triu(evidence.both_orders).sum())
    one = int(evidence.one_order.sum())
    n_pairs = traces.n_items * (traces.n_items - 1) // 2
    return Description(
        n_items=traces.n_items,
        n_traces=len(traces),
        n_unique=traces.n_unique,
        shortest=int(traces.n_listed.min(initial=traces.max_length)),
        median_length=_median(traces.n_listed, traces.counts),
        longest=traces.max_length,
        n_complete=int(traces.counts[traces.n_listed == traces.n_items].sum()),
        n_with_choice_set=int(traces.counts[sizes > traces.n_listed].sum()),
        n_pairs=n_pairs,
        pairs_in_both_orders=both,
        pairs_in_one_order=one,
        pairs_never_together=n_pairs - both - one,
        items_seen_once=tuple(traces.items[i] for i in np.flatnonzero(seen == 1)),
        items_never_seen=tuple(traces.items[i] for i in np.flatnonzero(seen == 0)),
    )


def _median(values: NDArray[np.int64], counts: NDArray[np.int64]) -> float:
    """Return the median of values that occur ``counts`` times each; 0 when there are none."""
    total = int(counts.sum())
    if not total:
        return 0.0
    ascending = np.argsort(values)
    running = np.cumsum(counts[ascending])
    middle = np.searchsorted(running, [(total - 1) // 2, total // 2], side="right")
    return float(values[ascending][middle].mean())

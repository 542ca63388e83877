"""Small simulated data sets with every feature that traces can have."""

from __future__ import annotations

from posetta import Traces
from posetta.model.simulate import simulate


def some_traces(n: int, seed: int, *, top_k: bool = False, noise: float = 0.0) -> Traces:
    """Five traces over subsets of the items, with counts, some with explicit choice sets."""
    sim = simulate(
        n, dim=2, rho=0.5, seed=seed, ip_cov=None, n_traces=5, lengths=(2, n), noise=noise
    )
    lists = list(sim.train)
    sets = [list(sim.order.items) if top_k and k % 2 else None for k in range(len(lists))]
    counts = [1 + k % 3 for k in range(len(lists))]
    return Traces.from_lists(lists, items=sim.order.items, counts=counts, choice_sets=sets)

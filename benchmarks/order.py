"""Seconds for closure, reduction and width at n = 1,000, and for counts near the limit.

Run: python benchmarks/order.py
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np

from posetta.errors import InputError
from posetta.order import Poset, transitive_closure, transitive_reduction
from posetta.order.extensions import MAX_DOWN_SETS

N_ITEMS = 1_000


def random_dag(density: float, rng: np.random.Generator) -> np.ndarray:
    shuffled = rng.permutation(N_ITEMS)
    return np.triu(rng.random((N_ITEMS, N_ITEMS)) < density, k=1)[np.ix_(shuffled, shuffled)]


def best_of_three(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def kernels() -> None:
    rng = np.random.default_rng(1)
    print(f"random acyclic relations on {N_ITEMS:,} items, seconds (best of three)")
    names = ("closure", "reduction", "Poset", "and width")
    print(f"{'density':>8} {'relations':>10}", *(f"{name:>9}" for name in names))
    for density in (0.0, 0.002, 0.01, 0.1, 0.5, 1.0):
        relation = random_dag(density, rng)
        order = Poset.from_matrix(relation)
        seconds = (
            best_of_three(lambda r=relation: transitive_closure(r)),
            best_of_three(lambda r=relation: transitive_reduction(r)),
            best_of_three(lambda r=relation: Poset.from_matrix(r)),
            best_of_three(lambda r=relation: Poset.from_matrix(r).width),
        )
        columns = " ".join(f"{s:9.4f}" for s in seconds)
        print(f"{density:8.3f} {order.n_relations:10,} {columns}")


def parallel_chains(n_chains: int, length: int) -> Poset:
    """Return chains whose starts come before the end of the next chain: one part, not split."""
    pairs = [(f"{c}.{k}", f"{c}.{k + 1}") for c in range(n_chains) for k in range(length - 1)] + [
        (f"{c}.0", f"{c + 1}.{length - 1}") for c in range(n_chains - 1)
    ]
    return Poset.from_pairs(pairs)


def counts() -> None:
    print(f"\nlinear extensions, limit {MAX_DOWN_SETS:,} down-sets")
    rng = np.random.default_rng(1)
    cases = [
        ("latent, 45 items, 2 columns", Poset.from_latent(rng.normal(size=(45, 2)))),
        ("latent, 60 items, 2 columns", Poset.from_latent(rng.normal(size=(60, 2)))),
        ("5 chains of 14", parallel_chains(5, 14)),
        ("3 chains of 95", parallel_chains(3, 95)),
        ("5 chains of 18 (refused)", parallel_chains(5, 18)),
        ("19 chains of 2 (refused)", parallel_chains(19, 2)),
        ("40 chains of 2 (refused)", parallel_chains(40, 2)),
    ]
    for name, order in cases:
        start = time.perf_counter()
        try:
            outcome = f"{len(str(order.count_linear_extensions()))} digits"
        except InputError:
            outcome = "refused"
        seconds = time.perf_counter() - start
        print(f"{name:30} width {order.width:3}  {outcome:>10}  {seconds:7.2f} s")
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    kernels()
    counts()

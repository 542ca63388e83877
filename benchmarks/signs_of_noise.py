"""How often does `fit` speak of noise? The share of simulated data sets, with and without it.

    python benchmarks/signs_of_noise.py

Orders of dimension 4, rho 0.5 and 0.9, beta 0.5, 1 and 2, ten seeds each; independent traces.
"""

from __future__ import annotations

from itertools import product

import posetta as po
from posetta.infer.fit import _signs_of_noise

# Items, traces, length of a trace as a share of the items.
DATA = [
    (10, 20, None),
    (15, 25, None),
    (30, 30, None),
    (30, 60, None),
    (15, 60, 0.5),
    (30, 90, 0.5),
]
NOISE = (0.0, 0.02, 0.05, 0.1)


def share(n_items: int, n_traces: int, lengths: float | None, noise: float) -> float:
    cases = list(product((0.5, 0.9), (0.5, 1.0, 2.0), range(1, 11)))
    told = 0
    for rho, beta, seed in cases:
        sim = po.simulate(
            n_items, rho=rho, beta=beta, seed=seed, ip_cov=None, n_traces=n_traces, n_test=1,
            lengths=lengths, noise=noise,
        )  # fmt: skip
        told += bool(_signs_of_noise(sim.train, po.Model(), "hard"))
    return told / len(cases)


def main() -> None:
    print("| items | traces | length |", " | ".join(f"noise {noise:g}" for noise in NOISE), "|")
    for n_items, n_traces, lengths in DATA:
        shares = [f"{share(n_items, n_traces, lengths, noise):.2f}" for noise in NOISE]
        cells = [n_items, n_traces, "full" if lengths is None else f"{lengths:.0%}", *shares]
        print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    main()

"""Hard-MCMC: rates on one core, what full recomputation would cost, and which moves pay.

    python benchmarks/hard_mcmc.py rates       # proposals and effective draws a second
    python benchmarks/hard_mcmc.py recompute   # the same draws with a full likelihood each time
    python benchmarks/hard_mcmc.py moves 20    # effective draws a second without each move
    python benchmarks/hard_mcmc.py moves 20 --partial

Data: the paper's generator (dim 4, rho 0.5, beta 1, seed 7), n full traces chosen for coverage, or
n independent traces of half the items (``--partial``).
Time is CPU time of one thread. Effective draws are of the log posterior and of the number of
relations.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from numba import njit

import posetta as po
from posetta.infer.hard import change
from posetta.infer.hard.chain import ChainRun, rows_of
from posetta.infer.hard.relations import put_new
from posetta.infer.hard.state import S_VALUE, Chain, Rows, Work
from posetta.posterior.diagnostics import effective_size

KINDS = ("coordinate", "swap", "item", "gap", "stretch")


def a_chain(
    n: int,
    draws: int,
    warmup: int,
    thin: int,
    number: int = 0,
    beta: float | None = None,
    partial: bool = False,
) -> ChainRun:
    """Make a chain on the data of this benchmark; the kernel is compiled."""
    few = {"ip_cov": None, "n_traces": n, "lengths": 0.5} if partial else {}
    sim = po.simulate(n, rho=0.5, seed=7, **few)
    settings = po.HardMCMC(draws=draws, warmup=warmup, thin=thin, rungs=1)
    rows = rows_of(sim.train)
    model = po.Model(beta=beta)
    ChainRun(sim.train, rows, model, settings, 0, 0).sweep(1)
    return ChainRun(sim.train, rows, model, settings, 1, number)


def effective(chains: list[ChainRun]) -> tuple[float, float]:
    """Effective draws of the log posterior and of the number of relations."""
    m = min(chain.n_kept for chain in chains)
    relations = [
        np.bitwise_count(c.kept.closure_bits[:m]).sum(axis=(1, 2), dtype=float) for c in chains
    ]
    return (
        effective_size(np.stack([c.kept.log_posterior[:m] for c in chains])),
        effective_size(np.stack(relations)),
    )


def rates() -> None:
    """Print updates of single coordinates and effective draws, one chain on one core."""
    from posetta.infer.hard.latent_moves import coordinate_moves

    print("|  n | coordinate updates/s | all proposals/s | log posterior ESS/s | relations ESS/s |")
    for n, warmup, sweeps in ((10, 1000, 40_000), (20, 1000, 20_000), (50, 1000, 30_000)):
        chain = a_chain(n, draws=sweeps // 10, warmup=warmup, thin=10)
        chain.sweep(warmup)
        before, began = chain.chain.moves[:, 0].sum(), time.process_time()
        chain.sweep(sweeps)
        seconds = time.process_time() - began
        proposals = (chain.chain.moves[:, 0].sum() - before) / seconds
        ess = [size / seconds for size in effective([chain])]
        count = 400_000
        began = time.process_time()
        coordinate_moves(chain.rows, chain.chain, chain.work, count, chain.generator)
        single = count / (time.process_time() - began)
        print(f"| {n} | {single:,.0f} | {proposals:,.0f} | {ess[0]:.1f} | {ess[1]:.1f} |")


@njit(nogil=True, error_model="numpy")
def _weigh_in_full(rows: Rows, chain: Chain, work: Work, i: int, n_partners: int) -> float:
    """Score every trace anew with 64-bit sets: O(T^2) a trace. The peer of `weigh`."""
    closure, weight = chain.closure, chain.weight
    put_new(closure, work, i, n_partners)
    n = closure.shape[0]
    before = np.zeros(n, dtype=np.uint64)
    after = np.zeros(n, dtype=np.uint64)
    one = np.uint64(1)
    for a in range(n):
        for b in range(n):
            if closure[a, b]:
                after[a] |= one << np.uint64(b)
                before[b] |= one << np.uint64(a)
    total = 0.0
    for r in range(len(rows.counts)):
        row = rows.members[rows.offsets[r] : rows.offsets[r + 1]]
        left = np.uint64(0)
        for a in row:
            left |= one << np.uint64(a)
        for t in range(rows.n_listed[r]):
            frontier, own = 0.0, 0.0
            for b in range(t, len(row)):
                a = row[b]
                if before[a] & left == 0:
                    size = 0
                    rest = after[a] & left
                    while rest:
                        rest &= rest - one
                        size += 1
                    frontier += weight[size]
                    if b == t:
                        own = weight[size]
            total += rows.counts[r] * np.log(own / frontier)
            left &= ~(one << np.uint64(row[t]))
    return total - chain.scalars[S_VALUE]


@njit(nogil=True, error_model="numpy")
def _keep_nothing(rows: Rows, chain: Chain, work: Work, i: int, n_partners: int) -> None:
    """Nothing is carried along, so nothing is kept."""


def run_for_comparison(n: int, sweeps: int) -> None:
    """Print a digest of the first draws of one chain, and the seconds of the others.

    Beta is fixed: its move reads counts, which the engine that keeps nothing does not have.
    """
    chain = a_chain(n, draws=sweeps, warmup=200, thin=1, beta=1.0)
    chain.sweep(200)
    chain.sweep(10)
    first = chain.kept.log_posterior[9]
    began = time.process_time()
    chain.sweep(sweeps - 10)
    print(first, time.process_time() - began)


def recompute() -> None:
    """Run the same chain with both engines, each in a process of its own, and print the ratio.

    Both draw the same chain (until rounding turns one decision), so the ratio of their times is
    that of their effective draws a second, whatever the quantity.
    """
    n, sweeps = 50, 1500
    found = {}
    for engine in ("ours", "full"):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
            command = [sys.executable, __file__, "one", str(n), str(sweeps), engine]
            out = subprocess.run(command, env=environment, check=True, capture_output=True)
            found[engine] = [float(x) for x in out.stdout.split()]
    (our_first, ours), (full_first, full) = found["ours"], found["full"]
    print(f"n = {n}; after 210 sweeps the log posteriors differ by {abs(our_first - full_first)}")
    print(
        f"sweeps/s: {sweeps / ours:.0f} ours, {sweeps / full:.1f} in full; ratio {full / ours:.1f}"
    )


def moves(n: int, seconds: float, partial: bool) -> None:
    """Print effective draws a second with every move, and with each left out.

    Means over eight chains and their standard errors; each chain has its own start.
    """
    usual = a_chain(n, 4, 0, 1).plan.mix
    cases = {"all": usual}
    for k, kind in enumerate(KINDS):
        without = usual.copy()
        without[k] = 0.0
        cases[f"without {kind}"] = without
    print("| moves | log posterior ESS/s | relations ESS/s |")
    for name, mix in cases.items():
        rates = []
        for number in range(8):
            chain = a_chain(n, 20_000, 1000, 5, number, partial=partial)
            chain.plan = chain.plan._replace(mix=mix)
            chain.sweep(1000)
            began = time.process_time()
            while time.process_time() - began < seconds and chain.n_kept < 20_000:
                chain.sweep(100)
            spent = time.process_time() - began
            rates.append([size / spent for size in effective([chain])])
        mean, error = np.mean(rates, axis=0), np.std(rates, axis=0, ddof=1) / np.sqrt(len(rates))
        cells = [f"{m:.0f} ± {e:.0f}" for m, e in zip(mean, error, strict=True)]
        print(f"| {name} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=["rates", "recompute", "moves", "one"])
    parser.add_argument("n", nargs="?", type=int, default=20)
    parser.add_argument("sweeps", nargs="?", type=float, default=8)
    parser.add_argument("engine", nargs="?", default="ours")
    parser.add_argument("--partial", action="store_true", help="traces of half the items (moves)")
    chosen = parser.parse_args()
    if chosen.study == "rates":
        rates()
    elif chosen.study == "recompute":
        recompute()
    elif chosen.study == "moves":
        moves(chosen.n, chosen.sweeps, chosen.partial)
    else:
        if chosen.engine == "full":
            change.weigh = change.weigh_anew = _weigh_in_full
            change.keep = _keep_nothing
        run_for_comparison(chosen.n, int(chosen.sweeps))

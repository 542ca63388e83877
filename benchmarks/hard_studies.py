"""Hard-MCMC where it is hard: convergence on synthetic orders, real lists, real workflows.

    python benchmarks/hard_studies.py converge 50 --rho 0.5 0.9 --seeds 7 11 19
    python benchmarks/hard_studies.py bishops   --data DIR
    python benchmarks/hard_studies.py workflows --data DIR

DIR holds royal_acta/ and wfcommons/. Every line of output is a row of a table in
docs/methods/hard-mcmc.md. Beside the seconds on the clock stand those of all processors together:
on a machine with two cores and other work, half of these is what a quiet one would need.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np

import posetta as po


def timed_fit(
    traces: po.Traces, settings: po.HardMCMC, model: po.Model | None = None
) -> tuple[po.Posterior, float]:
    """Fit; return the posterior and the processor seconds, compilation left out."""
    began = time.process_time()
    post = po.fit(traces, settings, model, seed=1, progress=True)
    return post, time.process_time() - began - post.seconds["compile"]


def agreement(post: po.Posterior, processor: float) -> str:
    found = post.diagnostics
    return (
        f"{post.status} | {post.seconds['run']:.0f} | {processor:.0f} | "
        f"{found['r_hat']['log_posterior']:.3f} | "
        f"{found['r_hat_max']:.3f} | {found['ess_min']:.0f} | {found['chain_mae_max']:.4f} | "
        f"{found['proposals_per_second']:,}"
    )


def scores(post: po.Posterior, sim: po.Simulation) -> str:
    """F1 beside the intersection's, and Brier scores of both."""
    simple = po.fit(sim.train, method="maximal")
    out = []
    for fitted in (post, simple):
        f1 = po.evaluate.closure_scores(fitted.decode(), sim.order).f1
        where = [sim.order.items.index(label) for label in fitted.items]
        truth = sim.order.closure[np.ix_(where, where)]
        apart = ~np.eye(len(truth), dtype=bool)
        out.append((f1, float(((fitted.precedence - truth)[apart] ** 2).mean())))
    (f1, brier), (simple_f1, simple_brier) = out
    return f"{f1:.3f} | {simple_f1:.3f} | {brier:.4f} | {simple_brier:.4f}"


def converge(n: int, rhos: list[float], seeds: list[int], settings: po.HardMCMC) -> None:
    print(
        "| n | rho | seed | status | seconds | processor seconds | "
        "R-hat log posterior | largest R-hat | least ESS | chain MAE | proposals/s | F1 | "
        "intersection F1 | Brier | intersection Brier | memory MB |"
    )
    for rho in rhos:
        for seed in seeds:
            sim = po.simulate(n, rho=rho, seed=seed)
            post, processor = timed_fit(sim.train, settings)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"| {n} | {rho} | {seed} | {agreement(post, processor)} | {scores(post, sim)} | "
                f"{memory} |",
                flush=True,
            )


def bishops(data: Path, max_seconds: float | None) -> None:
    traces = po.read_traces(data / "royal_acta" / "bishops.traces.jsonl")
    settings = po.HardMCMC(max_seconds=max_seconds)
    post, processor = timed_fit(traces, settings, po.Model(dim="random", beta=0.0))
    dims, counts = np.unique(post.draws.scalar("dim").astype(int), return_counts=True)
    waic = po.evaluate.waic(post, traces)
    print(f"{agreement(post, processor)} | ESS of dim {post.diagnostics['ess']['dim']:.0f}")
    print(f"R-hat {post.diagnostics['r_hat']}, pairs {post.diagnostics['pair_r_hat_99']:.3f}")
    print(f"acceptance {post.diagnostics['acceptance']}")
    print(f"WAIC {waic.waic:.1f} ± {waic.standard_error:.1f}, p_WAIC {waic.p_waic:.1f}")
    share = counts / counts.sum()
    print("dim", {int(d): round(float(p), 3) for d, p in zip(dims, share, strict=True)})


def workflows(data: Path, max_seconds: float | None, least: int, most: int) -> None:
    print(
        "| workflow | items | traces | dim at most | status | seconds | processor seconds | "
        "R-hat log posterior | largest R-hat | least ESS | chain MAE | proposals/s | F1 | "
        "intersection F1 | Brier | intersection Brier |"
    )
    for file in sorted((data / "wfcommons").glob("*.order.json")):
        order = po.read_order(file)
        n = len(order.items)
        if not least <= n <= most:
            continue
        bound = greedy_realizer_size(order.closure)
        for n_traces in (n // 2, 2 * n):
            sim = po.simulate(order=order, seed=7, ip_cov=None, n_traces=n_traces)
            settings = po.HardMCMC(max_seconds=max_seconds)
            row = f"| {file.name.split('-chameleon')[0]} | {n} | {n_traces} | {bound} |"
            try:
                post, processor = timed_fit(sim.train, settings)
            except po.SettingError as error:  # no draw in the time given
                print(f"{row} {error}", flush=True)
                continue
            print(f"{row} {agreement(post, processor)} | {scores(post, sim)} |", flush=True)


def greedy_realizer_size(closure: np.ndarray) -> int:
    """Return the size of a greedy realizer: an upper bound of the dimension of the order.

    Each linear extension reverses as many still unreversed incomparable pairs as it can: at every
    step the free item comes next that reverses most of them against the items left.
    """
    n = len(closure)
    missing = ~closure & ~closure.T & ~np.eye(n, dtype=bool)
    size = 0
    while missing.any():
        left, waiting = np.ones(n, dtype=bool), closure.sum(axis=0)
        shown = np.zeros((n, n), dtype=bool)
        while left.any():
            free = np.flatnonzero(left & (waiting == 0))
            gain = missing[free][:, left].sum(axis=1) - missing[left][:, free].sum(axis=0)
            item = free[np.argmax(gain)]
            left[item] = False
            shown[item] = left
            waiting = waiting - closure[item]
        missing &= ~shown
        size += 1
    return max(size, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=["converge", "bishops", "workflows"])
    parser.add_argument("n", nargs="?", type=int, default=50)
    parser.add_argument("--rho", nargs="+", type=float, default=[0.5, 0.9])
    parser.add_argument("--seeds", nargs="+", type=int, default=[7, 11, 19])
    parser.add_argument("--max-seconds", type=float)
    parser.add_argument("--rungs", type=int)
    parser.add_argument("--warmup", type=int, help="sweeps before the first draw (converge)")
    parser.add_argument("--thin", type=int, help="sweeps for each draw kept (converge)")
    parser.add_argument("--least", type=int, default=0, help="items of the smallest workflow")
    parser.add_argument("--most", type=int, default=176, help="items of the largest workflow")
    parser.add_argument("--data", type=Path, default=Path("data"))
    chosen = parser.parse_args()
    if chosen.study == "converge":
        lengths = {name: getattr(chosen, name) for name in ("warmup", "thin", "rungs")}
        settings = po.HardMCMC(max_seconds=chosen.max_seconds, **lengths)
        converge(chosen.n, chosen.rho, chosen.seeds, settings)
    elif chosen.study == "bishops":
        bishops(chosen.data, chosen.max_seconds)
    else:
        workflows(chosen.data, chosen.max_seconds, chosen.least, chosen.most)

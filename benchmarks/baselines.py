"""The baselines on the paper's synthetic orders, and the speed of a Plackett-Luce sweep.

    python benchmarks/baselines.py softdag 5 10 20 --seeds 7 11 19
    python benchmarks/baselines.py sweeps

Rows of the first table are in docs/methods/softdag.md. Sweeps are timed on random full rankings:
1,000 sweeps of one chain.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import posetta as po
from posetta.baselines.plackett_luce import ChainRun
from posetta.baselines.remainders import remainders_of


def softdag(sizes: list[int], rhos: list[float], seeds: list[int]) -> None:
    print("| items | rho | F1 (least to most) | F1 of `maximal` | seconds | degenerate |")
    print("| ---: | ---: | ---: | ---: | ---: | --- |", flush=True)
    for n in sizes:
        for rho in rhos:
            scores, simple, seconds, words = [], [], [], []
            for seed in seeds:
                sim = po.simulate(n_items=n, rho=rho, seed=seed)
                post = po.fit(sim.train, "softdag", seed=seed)
                scores.append(po.evaluate.closure_scores(post.decode(), sim.order).f1)
                plain = po.fit(sim.train, "maximal").decode()
                simple.append(po.evaluate.closure_scores(plain, sim.order).f1)
                seconds.append(post.seconds["run"])
                words.append(", ".join(post.diagnostics["degenerate"]) or "none")
            print(
                f"| {n} | {rho} | {np.mean(scores):.2f} ({min(scores):.2f} to {max(scores):.2f}) | "
                f"{np.mean(simple):.2f} | {np.mean(seconds):.0f} | {'; '.join(words)} |",
                flush=True,
            )


def sweeps() -> None:
    generator = np.random.default_rng(1)
    print("| items | rankings | components | remainders | ms a sweep |")
    print("| ---: | ---: | ---: | ---: | ---: |", flush=True)
    for n, n_rankings in ((10, 5000), (50, 100), (50, 1000)):
        labels = [f"i{k}" for k in range(n)]
        rankings = [list(generator.permutation(labels)) for _ in range(n_rankings)]
        forest = remainders_of(po.Traces.from_lists(rankings, items=labels))
        for components in (1, 3):
            settings = po.PlackettLuce(components=components, warmup=100, draws=10, thin=100)
            chain = ChainRun(forest, settings, 1, 0)
            chain.advance()
            started = time.perf_counter()
            while chain.done < chain.total:
                chain.advance()
            spent = (time.perf_counter() - started) / (settings.draws * settings.thin)
            print(
                f"| {n} | {n_rankings} | {components} | {len(forest.item):,} | {1e3 * spent:.3f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    studies = parser.add_subparsers(dest="study", required=True)
    grid = studies.add_parser("softdag")
    grid.add_argument("sizes", nargs="+", type=int)
    grid.add_argument("--rho", nargs="+", type=float, default=[0.5, 0.9])
    grid.add_argument("--seeds", nargs="+", type=int, default=[7])
    studies.add_parser("sweeps")
    given = parser.parse_args()
    if given.study == "softdag":
        softdag(given.sizes, given.rho, given.seeds)
    else:
        sweeps()


if __name__ == "__main__":
    main()

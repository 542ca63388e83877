"""Many items and few or partial traces: what a posterior gives that the intersection does not.

    python benchmarks/few_traces.py [ITEMS ...]

100 and 200 items (dim 4, beta 1), i.i.d. traces. Prints F1 at 1/2, the Brier score of the pair
probabilities and processor seconds (compilation left out): docs/choose-a-method.md has the table.
"""

from __future__ import annotations

import sys
import time

import posetta as po
from posetta.evaluate import calibration, closure_mae, closure_scores

# Traces for each item, share of the items in each, rho, seed.
CASES = ((1.0, 0.3, 0.5, 7), (1.0, 0.3, 0.5, 11), (0.5, None, 0.5, 7), (0.5, None, 0.9, 11))


def main(sizes: list[int]) -> None:
    print("| items | traces | share | rho | seed | method | status | F1 | Brier | processor s |")
    for n in sizes:
        for per_item, share, rho, seed in CASES:
            n_traces = round(per_item * n)
            sim = po.simulate(n, rho=rho, seed=seed, ip_cov=None, n_traces=n_traces, lengths=share)
            for method in ("maximal", "fullrank", "hard"):
                began = time.process_time()
                post = po.fit(sim.train, method, seed=1)
                seconds = time.process_time() - began - post.seconds["compile"]
                f1 = closure_scores(post.decode(), sim.order).f1
                if post.is_point:
                    brier = closure_mae(post, sim.order)
                else:
                    brier = float(calibration(post, sim.order).brier)
                print(
                    f"| {n} | {n_traces} | {share or 1} | {rho} | {seed} | {method} | "
                    f"{post.status} | {f1:.3f} | {brier:.4f} | {seconds:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [100, 200])

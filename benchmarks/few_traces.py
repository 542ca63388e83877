"""Many items and few or partial traces: what a posterior gives that the intersection does not.

    python benchmarks/few_traces.py

100 items (dim 4, beta 1), i.i.d. traces. Prints F1 at 1/2, the Brier score of the pair
probabilities and processor seconds (compilation left out): docs/choose-a-method.md has the table.
"""

from __future__ import annotations

import time

import posetta as po
from posetta.evaluate import calibration, closure_mae, closure_scores

FROM_HARD = po.FullRankVI(restarts=2, starts=("hard",))
SHORT_CHAINS = po.HardMCMC(draws=100, warmup=1500, thin=5, rungs=1)
# Traces, share of the items in each, rho, seed, what is fitted beside the intersection.
CASES = (
    (100, 0.3, 0.5, 7, (FROM_HARD, SHORT_CHAINS)),
    (100, 0.3, 0.5, 11, (po.FullRankVI(),)),
    (50, None, 0.5, 7, (FROM_HARD, SHORT_CHAINS)),
    (50, None, 0.9, 11, (po.FullRankVI(),)),
    (100, 0.3, 0.5, 7, (po.FullRankVI(restarts=2, starts=("traces",)),)),
)


def main() -> None:
    print("| traces | share of items | rho | seed | settings | status | F1 | Brier | processor s |")
    for n_traces, share, rho, seed, methods in CASES:
        sim = po.simulate(100, rho=rho, seed=seed, ip_cov=None, n_traces=n_traces, lengths=share)
        head = f"| {n_traces} | {share or 1} | {rho} | {seed} |"
        simple = po.fit(sim.train, "maximal")
        f1, wrong = closure_scores(simple.decode(), sim.order).f1, closure_mae(simple, sim.order)
        print(f"{head} maximal | | {f1:.3f} | {wrong:.4f} | |", flush=True)
        for settings in methods:
            began = time.process_time()
            post = po.fit(sim.train, settings, seed=1)
            seconds = time.process_time() - began - post.seconds["compile"]
            f1 = closure_scores(post.decode(), sim.order).f1
            brier = float(calibration(post, sim.order).brier)
            row = f"{settings} | {post.status} | {f1:.3f} | {brier:.4f} | {seconds:.0f} |"
            print(f"{head} {row}", flush=True)


if __name__ == "__main__":
    main()

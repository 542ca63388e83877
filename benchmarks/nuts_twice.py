"""Does NUTS give the same answer twice? Two runs with other seeds, compared pair by pair.

    python benchmarks/nuts_twice.py --items 5 10 20 30

Data: the paper's generator (dim 4, beta 1), n full traces chosen for coverage. The difference of
two pair probabilities is divided by its Monte Carlo standard error, from the effective draws of
both runs. Over the uncertain pairs (standard error above 0.005) the root mean square of these
scores is near 1 if the errors are honest.
"""

from __future__ import annotations

import argparse

import numpy as np

import posetta as po


def compare(first: po.Posterior, second: po.Posterior) -> str:
    """Return MAE, number of uncertain pairs, and root mean square and largest of their scores."""
    error = np.hypot(first.precedence_se, second.precedence_se)
    uncertain = error > 0.005
    scores = (first.precedence - second.precedence)[uncertain] / error[uncertain]
    mae = po.evaluate.closure_mae(first, second)
    spread = np.sqrt(np.mean(scores**2)) if len(scores) else np.nan
    largest = np.abs(scores).max(initial=0.0)
    return f"{mae:.4f} | {len(scores)} | {spread:.2f} | {largest:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, nargs="+", default=[5, 10, 20, 30])
    parser.add_argument("--rho", type=float, nargs="+", default=[0.5, 0.9])
    parser.add_argument("--seeds", type=int, nargs="+", default=[7, 11, 19])
    parser.add_argument("--chains", type=int, default=4)
    given = parser.parse_args()
    print(
        "| items | rho | seed | statuses | MAE | uncertain pairs | rms score | largest score |\n"
        "| ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |"
    )
    for n in given.items:
        for rho in given.rho:
            for seed in given.seeds:
                traces = po.simulate(n, rho=rho, seed=seed).train
                method = po.RelaxedNUTS(chains=given.chains)
                runs = [po.fit(traces, method=method, seed=run) for run in (1, 2)]
                statuses = ", ".join(run.status for run in runs)
                print(f"| {n} | {rho} | {seed} | {statuses} | {compare(*runs)} |", flush=True)


if __name__ == "__main__":
    main()

"""Which decoder recovers the truth best? Where the posterior has something to add.

    python benchmarks/decoders.py [--seeds 20] [--items 15] [--draws 500] [--regime NAME ...]

Regimes: few or partial traces, incomplete coverage, noise. For each, orders and traces are
simulated, the hard posterior is drawn, and every decoder's closure F1 against the truth is averaged
over seeds, beside the intersection of the traces (`maximal`) and the majority. The last columns
give the paired difference of best-f1 and of the intersection to the 1/2 threshold, so that the
seeds' own spread does not drown it. The table is markdown, mean ± standard error.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

import posetta as po

RULES = ("threshold", "medoid", "most-frequent", "least-loss", "best-f1")
COLUMNS = (*RULES, "maximal", "majority")


def regimes(n: int) -> dict[str, dict[str, Any]]:
    """Return the regimes of the study: settings of `simulate`."""
    return {
        f"full, {n // 2} traces": {"ip_cov": None, "n_traces": n // 2},
        f"full, {n} traces": {"ip_cov": None, "n_traces": n},
        "coverage 0.7": {"ip_cov": 0.7},
        f"half the items, {n} traces": {"ip_cov": None, "n_traces": n, "lengths": 0.5},
        f"30 % of the items, {2 * n} traces": {
            "ip_cov": None,
            "n_traces": 2 * n,
            "lengths": 0.3,
        },
        f"5 % noise, {n} traces": {"ip_cov": None, "n_traces": n, "noise": 0.05},
    }


def scores(n: int, setting: dict[str, Any], seed: int, draws: int) -> dict[str, float]:
    """Return the F1 of every decoder on one simulated data set."""
    sim = po.simulate(n_items=n, seed=seed, n_test=1, **setting)
    noisy = "noise" in setting
    model = po.Model(noise=None if noisy else 0.0)
    method = po.HardMCMC(draws=draws, warmup=2 * draws, chains=2, thin=5)
    posterior = po.fit(sim.train, method, model, seed=seed)
    decoded = {rule: posterior.decode(rule=rule) for rule in RULES}  # type: ignore[arg-type]
    # The baselines need a noise above 0 only to be scored; their orders do not depend on it.
    point = po.Model(noise=0.05 if noisy else 0.0)
    decoded["maximal"] = po.fit(sim.train, "maximal", point).decode()
    decoded["majority"] = po.fit(sim.train, "majority", point).decode()
    return {name: po.evaluate.closure_scores(o, sim.order).f1 for name, o in decoded.items()}


def cell(values: np.ndarray, sign: str = "") -> str:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{values.mean():{sign}.3f} ± {error:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--items", type=int, default=15)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--regime", action="append", help="only regimes that contain these words")
    options = parser.parse_args()
    print(f"Closure F1, n = {options.items}, {options.seeds} seeds\n")
    print("| regime | " + " | ".join(COLUMNS) + " | best-f1 - threshold | maximal - threshold |")
    print("| --- " * (len(COLUMNS) + 3) + "|")
    for name, setting in regimes(options.items).items():
        if options.regime and not any(words in name for words in options.regime):
            continue
        started = time.perf_counter()
        rows = []
        for seed in range(options.seeds):
            rows.append(scores(options.items, setting, seed, options.draws))
            taken = time.perf_counter() - started
            print(f"{name}: seed {seed}, {taken:.0f} s", file=sys.stderr)
        by_rule = {column: np.array([row[column] for row in rows]) for column in COLUMNS}
        cells = [cell(by_rule[column]) for column in COLUMNS]
        for other in ("best-f1", "maximal"):
            cells.append(cell(by_rule[other] - by_rule["threshold"], "+"))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

"""NUTS on the relaxed posterior: our gradient and effective draws beside Stan's, in one run.

    python benchmarks/relaxed.py                                  # ours alone, about a minute
    python benchmarks/relaxed.py --stan-python ENV/bin/python     # and Stan, several minutes more

The second needs an environment of its own: ``pip install pystan==3.10.0 "setuptools<81"``; the
first build of the Stan program takes a minute or two and is cached.

Both sample the same model, priors and data (the paper's generator, dim 4, tau 0.3, rho 0.5, n full
traces) with two chains side by side; their log densities are compared at three points first. The
time a gradient is that of the whole run on one core, divided by the gradients of a chain, warm-up
included. Effective draws are the smallest number over scalars and log density, by our estimator for
both; their rate counts warm-up, starts and everything else but compilation.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import posetta as po
from posetta.model.target import Target
from posetta.posterior.diagnostics import effective_size

CHAINS = 2


def target_of(n: int) -> Target:
    """Return the target of the benchmark's data."""
    return Target(po.Model(), po.simulate(n, rho=0.5, seed=7).train)


def ours(target: Target, warmup: int, draws: int) -> dict[str, Any]:
    """Run NUTS; return seconds, seconds a gradient, and draws of what is compared."""
    po.fit(target.traces, po.RelaxedNUTS(draws=4, warmup=20), seed=1)  # compile first
    settings = po.RelaxedNUTS(draws=draws, warmup=warmup, chains=CHAINS)
    post = po.fit(target.traces, settings, seed=1)
    return {
        "seconds": post.seconds["start"] + post.seconds["run"],
        "gradient": post.seconds["run"] * CHAINS / post.diagnostics["gradients"],
        "effective": post.diagnostics["ess_min"],
    }


def stan(python: str, target: Target, warmup: int, draws: int) -> dict[str, Any]:
    """Run Stan in its own environment on the same data, after comparing the densities."""
    traces = target.traces
    rows = np.repeat(np.arange(traces.n_unique), traces.counts)
    generator = np.random.default_rng(0)
    points = generator.normal(size=(3, target.n_parameters))
    problem = {
        "data": {
            "n": traces.n_items,
            "dim": target.dim,
            "n_traces": len(rows),
            "y": [(traces.sequence(r) + 1).tolist() for r in rows],
            "tau": target.model.tau,
        },
        "points": points.tolist(),
        "chains": CHAINS,
        "warmup": warmup,
        "draws": draws,
    }
    script = Path(__file__).with_name("relaxed_stan.py")
    done = subprocess.run(
        [python, str(script)],
        input=json.dumps(problem),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout[done.stdout.index('{"build"') :])
    np.testing.assert_allclose(
        answer["log_density"], [target.log_density(point) for point in points], rtol=1e-8
    )
    return {
        "seconds": answer["seconds"],
        "gradient": answer["seconds"] * CHAINS / answer["gradients"],
        "effective": min(effective_size(np.array(values)) for values in answer["draws"].values()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stan-python", help="interpreter of an environment with pystan")
    parser.add_argument("--items", type=int, nargs="+", default=[20, 30])
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--draws", type=int, default=300)
    options = parser.parse_args()
    print("| items | who | ms a gradient | effective draws a second | seconds |")
    print("| ---: | --- | ---: | ---: | ---: |")
    for n in options.items:
        target = target_of(n)
        runs = {"posetta": ours(target, options.warmup, options.draws)}
        if options.stan_python:
            runs["Stan"] = stan(options.stan_python, target, options.warmup, options.draws)
        for who, run in runs.items():
            run["rate"] = run["effective"] / run["seconds"]
            print(
                f"| {n} | {who} | {1000 * run['gradient']:.3f} | {run['rate']:.2f} "
                f"| {run['seconds']:.1f} |",
                flush=True,
            )
        if len(runs) == 2:
            our, their = runs.values()
            print(
                f"| {n} | ratio | {their['gradient'] / our['gradient']:.0f} "
                f"| {our['rate'] / their['rate']:.0f} | |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Scoring new traces under many draws: the compiled, threaded kernels beside the plain loop.

    python benchmarks/predict.py [--draws 1000] [--traces 1000] [--items 50]

The loop calls the model's own per-draw function and adds up in numpy; it is timed on a part of the
draws and scaled. Both are compared before anything is timed. Compile time is not counted.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace

import numpy as np

import posetta as po
from posetta.model.hard import hard_trace_log_likelihood, sum_steps
from posetta.model.latent import product_order
from posetta.posterior import Draws, Posterior, Predictive, predictive
from posetta.posterior.predict import step_log_probabilities

LOOPED = 40
"""Draws that the plain loop is timed on."""


def posterior_of(sim: po.Simulation, n_draws: int, likelihood: str, noise: float) -> Posterior:
    """Return draws scattered round the simulated latent, as a sampler would give them."""
    generator = np.random.default_rng(1)
    assert sim.latent is not None
    latent = sim.latent + 0.05 * generator.standard_normal((n_draws, *sim.latent.shape))
    closures = product_order(latent)
    nothing = po.Traces.from_lists([], items=sim.order.items)
    scalars = {
        "beta": 0.5 + generator.random((1, n_draws)),
        "gamma": 1.0 + generator.random((1, n_draws)),
        "noise": np.full((1, n_draws), noise),
    }
    return Posterior(
        items=sim.order.items,
        method="benchmark",
        likelihood="hard" if likelihood == "hard" else "relaxed",
        model=po.Model(),
        settings={},
        seed=0,
        traces=nothing,
        draws=Draws(
            closure_bits=Draws.pack(closures)[None],
            scalars=scalars,
            log_likelihood=np.zeros((1, n_draws, 0)),
            latent=latent[None],
        ),
        precedence=closures.mean(axis=0),
    )


def plain_loop(posterior: Posterior, traces: po.Traces) -> tuple[np.ndarray, np.ndarray]:
    """Average over draws one draw at a time."""
    trace = np.full(traces.n_unique, -np.inf)
    step = np.full(traces.n_steps, -np.inf)
    n_draws = posterior.draws.n_draws
    for steps in step_log_probabilities(posterior, traces):
        np.logaddexp(step, steps, out=step)
        np.logaddexp(trace, sum_steps(steps, traces), out=trace)
    return trace - np.log(n_draws), step - np.log(n_draws)


def first_draws(posterior: Posterior, n: int) -> Posterior:
    draws = posterior.draws
    assert draws.latent is not None
    part = replace(
        draws,
        closure_bits=draws.closure_bits[:, :n],
        scalars={name: values[:, :n] for name, values in draws.scalars.items()},
        log_likelihood=draws.log_likelihood[:, :n],
        latent=draws.latent[:, :n],
    )
    return replace(posterior, draws=part)


def timed(call: object, *arguments: object) -> tuple[float, object]:
    started = time.perf_counter()
    result = call(*arguments)  # type: ignore[operator]
    return time.perf_counter() - started, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--traces", type=int, default=1000)
    parser.add_argument("--items", type=int, default=50)
    options = parser.parse_args()
    sim = po.simulate(n_items=options.items, seed=1, ip_cov=None, n_traces=options.traces, n_test=2)
    print(
        f"{options.draws} draws x {options.traces} traces of {options.items} items, "
        f"{os.cpu_count()} cores\n"
    )
    print("| draws | kernel, s | plain loop, s | ratio | million steps a second |")
    print("| --- | --- | --- | --- | --- |")
    for name, likelihood, noise in (
        ("hard", "hard", 0.0),
        ("hard, noise 0.05", "hard", 0.05),
        ("relaxed", "relaxed", 0.0),
    ):
        posterior = posterior_of(sim, options.draws, likelihood, noise)
        part = first_draws(posterior, min(LOOPED, options.draws))
        found = predictive(part, sim.train)  # compiles
        hard_trace_log_likelihood(sim.order.closure, 1.0, sim.test)
        loop, (trace, step) = timed(plain_loop, part, sim.train)  # type: ignore[misc]
        assert isinstance(found, Predictive)
        np.testing.assert_allclose(found.trace, trace, rtol=1e-9)
        np.testing.assert_allclose(found.step, step, rtol=1e-9, atol=1e-9)
        loop *= options.draws / part.draws.n_draws
        kernel, _ = timed(predictive, posterior, sim.train)
        steps = options.draws * sim.train.n_steps / kernel / 1e6
        print(f"| {name} | {kernel:.2f} | {loop:.2f} | {loop / kernel:.1f} | {steps:.0f} |")


if __name__ == "__main__":
    main()

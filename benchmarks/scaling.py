"""How the cost of one update and of one gradient grows: against items, traces and trace length.

    python benchmarks/scaling.py [--picture docs/pictures/cost.svg]

Hard-MCMC: microseconds a proposal of a chain that has left its start. Relaxed methods: milliseconds
a value and gradient. Each series varies one size and fixes the others; the slope of a line through
its points on log axes is the exponent. Processor time, the least of several repeats.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import posetta as po
from posetta.infer.hard.chain import ChainRun, rows_of
from posetta.model.relaxed import relaxed_log_likelihood_and_grad

# Series: what varies, then (items, traces, length) of every point.
SERIES = {
    "items, as many full traces": [(n, n, n) for n in (10, 20, 50, 100, 200)],
    "traces of 50 items": [(50, n_traces, 50) for n_traces in (25, 50, 100, 200, 400)],
    "length, 100 traces of 100 items": [(100, 100, length) for length in (10, 20, 50, 100)],
}
VARIES = {"items, as many full traces": 0, "traces of 50 items": 1}
REPEATS = 5


def least_seconds(work: Callable[[], None]) -> float:
    """Return the processor seconds of the fastest of some repeats."""
    seconds = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def proposal_seconds(traces: po.Traces) -> float:
    settings = po.HardMCMC(draws=4, warmup=10**6, thin=1, chains=1, rungs=1)
    chain = ChainRun(traces, rows_of(traces), po.Model(), settings, 1, 0)
    chain.sweep(100)
    sweeps = max(5, 5000 // traces.n_items)
    before = chain.chain.moves[:, 0].sum()
    seconds = least_seconds(lambda: chain.sweep(sweeps))
    return seconds * REPEATS / float(chain.chain.moves[:, 0].sum() - before)


def gradient_seconds(traces: po.Traces) -> float:
    latent = np.random.default_rng(1).normal(size=(traces.n_items, 4))
    count = max(1, int(2e6 / traces.n_items / traces.n_steps))

    def work() -> None:
        for _ in range(count):
            relaxed_log_likelihood_and_grad(latent, 1.0, 2.0, 0.3, traces)

    return least_seconds(work) / count


def exponent(sizes: list[int], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def measure() -> dict[tuple[str, str], tuple[list[int], list[float]]]:
    found = {}
    for series, points in SERIES.items():
        at = VARIES.get(series, 2)
        sizes = [point[at] for point in points]
        proposals, gradients = [], []
        for n, n_traces, length in points:
            sim = po.simulate(
                n, rho=0.5, seed=7, ip_cov=None, n_traces=n_traces, n_test=1,
                lengths=None if length == n else (length, length),
            )  # fmt: skip
            proposals.append(proposal_seconds(sim.train))
            gradients.append(gradient_seconds(sim.train))
        found["proposal", series] = sizes, proposals
        found["gradient", series] = sizes, gradients
        for kind, unit, name, seconds in (
            ("proposal", 1e6, "us", proposals),
            ("gradient", 1e3, "ms", gradients),
        ):
            shown = ", ".join(f"{a}: {unit * s:.3g}" for a, s in zip(sizes, seconds, strict=True))
            slope = exponent(sizes, seconds)
            print(f"| {kind}, {name} | {series} | {shown} | {slope:.2f} |", flush=True)
    return found


def draw(found: dict[tuple[str, str], tuple[list[int], list[float]]], path: str) -> None:
    from posetta.plots import save_figure, style

    figure, axes = style.panels(2, width=3.4, height=2.8)
    for ax, what, unit in zip(axes, ("proposal", "gradient"), (1e6, 1e3), strict=True):
        for (kind, series), (sizes, seconds) in found.items():
            if kind == what:
                slope = exponent(sizes, seconds)
                ax.plot(
                    sizes, unit * np.array(seconds), marker="o", markersize=4, linewidth=1.2,
                    label=f"{series}: {slope:.1f}",
                )  # fmt: skip
        style.log_scale(ax, "x")
        style.log_scale(ax, "y")
        name = "microseconds a proposal" if what == "proposal" else "milliseconds a gradient"
        style.axis_labels(ax, "items, traces or length", name)
        ax.set_ylim(top=8 * ax.get_ylim()[1])  # room for the legend above the lines
        ax.legend(fontsize=6.5, frameon=False, title="varies: exponent", title_fontsize=6.5)
    save_figure(style.plain_text(figure), path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="where to draw the lines, SVG or PNG")
    chosen = parser.parse_args()
    lines = measure()
    if chosen.picture:
        draw(lines, chosen.picture)

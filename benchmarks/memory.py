"""How much memory a fit takes, and the largest sizes that would fit a machine.

    python benchmarks/memory.py [--gigabytes 24] [--methods hard nuts ...]

Every fit has a process of its own. What is counted is the peak during the fit less what the process
held before, after a small fit that compiled everything (Linux: the kernel's own high-water mark,
which is reset in between). Iterations are as few as the method allows. Memory is taken to be

    work + draws x (memory of one draw)

each a power of the size, through the two largest sizes that were measured; the largest size is the
one at which the method's default number of draws fills the machine. Time is another matter.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import posetta as po
from posetta.infer import Settings
from posetta.infer.methods import settings_of
from posetta.suite.pinning import forget_peak, peak_megabytes

CHAINS = 4
# As few iterations as a method allows, with so many draws of each chain.
SHORT: dict[str, Callable[[int], Settings]] = {
    "hard": lambda d: po.HardMCMC(draws=d, warmup=1, thin=1, chains=CHAINS, rungs=1),
    "nuts": lambda d: po.RelaxedNUTS(
        draws=d,
        warmup=20,
        thin=1,
        jumps=1,
        max_depth=1,
        chains=CHAINS,
        starts=("prior",),
        max_seconds=60.0,
    ),  # the seconds bound the Gaussians of large orders, whose size does not depend on them
    "fullrank": lambda d: po.FullRankVI(
        draws=CHAINS * d, iterations=2, cooling=0, restarts=1, starts=("prior",)
    ),
    "flow": lambda d: po.FlowVI(
        draws=CHAINS * d, iterations=2, restarts=1, starts=("prior",), max_seconds=10.0
    ),  # again, the seconds bound the Gaussian around which it is built
}
# (items, traces): as many traces as items, then more and more traces of 50 items.
GROWING = {
    "items, as many full traces": [(50, 50), (100, 100), (200, 200)],
    "full traces of 50 items": [(50, 500), (50, 2000), (50, 8000)],
}
# Draws of each chain, fewer and more; beside the flow's compiler only many can be seen.
FEWER_AND_MORE = {"flow": (250, 1000)}
USUAL_DRAWS = (20, 60)


def default_draws(method: str) -> int:
    """Return the draws that a method keeps by default, of all chains together."""
    settings = settings_of(method)[1]
    return int(settings.draws * getattr(settings, "chains", 1))


def one_fit(method: str, n: int, n_traces: int, draws: int) -> None:
    """Print the MB that a fit needs at its peak."""
    small = po.simulate(6, seed=1, ip_cov=None, n_traces=6)
    settings = SHORT[method](draws)
    po.fit(small.train, settings, seed=1)
    sim = po.simulate(n, rho=0.9, seed=7, ip_cov=None, n_traces=n_traces, n_test=1)
    forget_peak()
    before = peak_megabytes()
    po.fit(sim.train, settings, seed=1)
    peak = peak_megabytes()
    if before is None or peak is None:
        raise SystemExit("this system does not tell the memory of a process.")
    print(peak - before)


def measured(method: str, n: int, n_traces: int, draws: int) -> float:
    command = [sys.executable, __file__, "--one", method, str(n), str(n_traces), str(draws)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(out.split()[-1])


def growth(sizes: list[int], memory: NDArray[np.float64]) -> tuple[float, float]:
    """Return exponent and factor of the power law through the two last points."""
    (a, b), (x, y) = sizes[-2:], [max(value, 1e-3) for value in memory[-2:]]
    power = max(0.0, np.log(y / x) / np.log(b / a))
    return float(power), float(y / b**power)


def largest(
    laws: list[tuple[float, float]], draws: int, megabytes: float, most: int = 10**8
) -> int:
    """Return the largest size at which work and draws together stay below the memory."""

    def needed(size: float) -> float:
        (work_power, work), (draw_power, draw) = laws
        return work * size**work_power + draws * draw * size**draw_power

    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if needed(middle) < megabytes else (low, middle)
    return low


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gigabytes", type=float, default=24.0)
    parser.add_argument("--methods", nargs="+", default=list(SHORT), choices=list(SHORT))
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        method, *numbers = given.one
        one_fit(method, *map(int, numbers))
        return
    print("| method | grows | MB without draws | kB a draw | default draws | largest |")
    for method in given.methods:
        draws = default_draws(method)
        for series, points in GROWING.items():
            sizes = [max(point) for point in points]
            fewer, more = FEWER_AND_MORE.get(method, USUAL_DRAWS)
            less = np.array([measured(method, *point, fewer) for point in points])
            most = np.array([measured(method, *point, more) for point in points])
            each = np.maximum(most - less, 0.0) / (CHAINS * (more - fewer))
            work = less - CHAINS * fewer * each
            laws = [growth(sizes, work), growth(sizes, each)]
            size = largest(laws, draws, 1024 * given.gigabytes)
            cells = (series, listed(sizes, work), listed(sizes, 1024 * each), draws, f"{size:,}")
            print("|", " | ".join(map(str, (method, *cells))), "|", flush=True)


def listed(sizes: list[int], values: NDArray[np.float64]) -> str:
    return ", ".join(f"{size}: {value:.3g}" for size, value in zip(sizes, values, strict=True))


if __name__ == "__main__":
    main()

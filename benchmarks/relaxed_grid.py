"""How good are the relaxed methods? The paper's synthetic grid, as markdown tables.

    python benchmarks/relaxed_grid.py nuts --items 5 10 20 --seeds 7 11 19
    python benchmarks/relaxed_grid.py fullrank --items 20 --set restarts=1 --keep results

Data: the paper's generator (dim 4, beta 1), n full traces chosen for coverage, n/2 test traces. The
MAE columns are closure MAE to Hard-MCMC, to NUTS, and, for NUTS, to a second run with another seed;
``--keep DIR`` saves all fits there and takes those that are there already, so that references run
once. ``--no-hard`` leaves the hard reference out, ``--no-nuts`` NUTS as a reference. Compilation is
left out of all times; "processor" are the seconds of all cores together, which other work on the
machine does not lengthen.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import posetta as po
from posetta.infer.methods import Settings, settings_of

COLUMNS = (
    "R-hat", "ESS", "F1", "F1 at 1/3", "MAE to hard", "MAE to NUTS", "MAE to 2nd run", "Step NLL",
    "seconds", "processor",
)  # fmt: skip
# The reference, and the settings of the NUTS rows up to 30 items.
NUTS = po.RelaxedNUTS(chains=2, warmup=300, draws=300)


def kept(
    folder: str | None,
) -> Callable[[po.Simulation, Settings, int], tuple[po.Posterior, float]]:
    """Return a fit, with its processor seconds, that remembers in ``folder`` what it did before."""

    def timed(sim: po.Simulation, settings: Settings, seed: int) -> tuple[po.Posterior, float]:
        began = time.process_time()
        post = po.fit(sim.train, settings, seed=seed)
        return post, time.process_time() - began - post.seconds["compile"]

    def fit(sim: po.Simulation, settings: Settings, seed: int) -> tuple[po.Posterior, float]:
        if folder is None:
            return timed(sim, settings, seed)
        key = hashlib.sha256(f"{sim.train.hash} {settings} {seed}".encode()).hexdigest()[:16]
        place, clock = Path(folder) / key, Path(folder) / f"{key}.seconds"
        if not clock.exists():
            post, seconds = timed(sim, settings, seed)
            po.save(post, place, overwrite=True)
            clock.write_text(str(seconds))
        return po.load(place), float(clock.read_text())

    return fit


def measure(
    sim: po.Simulation, settings: Settings, options: argparse.Namespace
) -> tuple[str, dict[str, float]]:
    """Fit one data set; return the status and the columns."""
    fit = kept(options.keep)
    post, processor = fit(sim, settings, 1)
    order = {t: po.evaluate.closure_scores(post.decode(t), sim.order).f1 for t in (0.5, 1 / 3)}
    row = dict.fromkeys(COLUMNS, np.nan)
    row |= {"F1": order[0.5], "F1 at 1/3": order[1 / 3]}
    row["R-hat"] = post.diagnostics.get("r_hat_max", np.nan)
    row["ESS"] = post.diagnostics.get("ess_min", np.nan)
    row["Step NLL"] = float(po.evaluate.step_nll(post, sim.test))
    row["seconds"] = sum(post.seconds.values()) - post.seconds["compile"]
    row["processor"] = processor
    if options.hard:
        row["MAE to hard"] = po.evaluate.closure_mae(post, fit(sim, po.HardMCMC(chains=2), 1)[0])
    if options.nuts and post.method != "nuts":
        row["MAE to NUTS"] = po.evaluate.closure_mae(post, fit(sim, NUTS, 1)[0])
    if options.second:
        row["MAE to 2nd run"] = po.evaluate.closure_mae(post, fit(sim, settings, 2)[0])
    return post.status, row


def line(head: list[Any], row: dict[str, float]) -> str:
    """Return one line of a table; what was not measured stays empty."""
    cells = ["" if np.isnan(row[name]) else f"{row[name]:.3g}" for name in COLUMNS]
    return "| " + " | ".join([*map(str, head), *cells]) + " |"


def table_head(*names: str) -> str:
    """Return the two lines above a table."""
    columns = [*names, *COLUMNS]
    return "| " + " | ".join(columns) + " |\n|" + " ---: |" * len(columns)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("method", choices=("nuts", "fullrank", "flow", "hard"))
    parser.add_argument("--items", type=int, nargs="+", default=[5, 10, 20])
    parser.add_argument("--rho", type=float, nargs="+", default=[0.5, 0.9])
    parser.add_argument("--seeds", type=int, nargs="+", default=[7, 11, 19])
    parser.add_argument("--set", nargs="*", default=[], help="settings, as name=value")
    parser.add_argument("--keep", help="folder for fits, taken from there when present")
    parser.add_argument("--no-hard", dest="hard", action="store_false")
    parser.add_argument("--no-nuts", dest="nuts", action="store_false")
    parser.add_argument("--second", action="store_true", help="a second run, with another seed")
    options = parser.parse_args()
    given = dict(pair.split("=", 1) for pair in options.set)
    values = {name: ast.literal_eval(value) for name, value in given.items()}
    settings: Settings = replace(settings_of(options.method)[1], **values)
    means = []
    print(f"{settings}\n\n{table_head('items', 'rho', 'seed', 'status')}", flush=True)
    for n in options.items:
        for rho in options.rho:
            rows = []
            for seed in options.seeds:
                sim = po.simulate(n, rho=rho, seed=seed)
                status, row = measure(sim, settings, options)
                print(line([n, rho, seed, status], row), flush=True)
                rows.append(row)
            mean = {name: float(np.mean([row[name] for row in rows])) for name in COLUMNS}
            means.append(line([n, rho, len(rows)], mean))
    print("\n" + "\n".join([table_head("items", "rho", "seeds"), *means]))


if __name__ == "__main__":
    main()

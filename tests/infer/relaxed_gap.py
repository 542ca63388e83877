"""How far relaxed posteriors are from the exact hard one, on file.

The gap is the relaxation's own, not an error of the methods: at tau 0.3 the model is another
one. ``relaxed_gap.json`` records it, so that a change of any method shows. After an intended
change: ``python -m tests.infer.relaxed_gap``.
"""

from __future__ import annotations

import json
from pathlib import Path

from posetta import Exact, FlowVI, FullRankVI, Model, RelaxedNUTS, Traces, fit, simulate
from posetta.evaluate import closure_mae
from posetta.infer.methods import Settings

FILE = Path(__file__).with_suffix(".json")

METHODS: dict[str, Settings] = {
    "nuts": RelaxedNUTS(draws=1000, warmup=300, chains=2, starts=("traces", "prior")),
    "fullrank": FullRankVI(starts=("traces",)),
    "flow": FlowVI(layers=2, bins=4, width=8, iterations=200, restarts=1, starts=("traces",)),
}


def cases() -> dict[str, tuple[Traces, Model]]:
    """Small data sets with full and partial traces."""
    full = {
        n: simulate(n, dim=2, rho=0.5, seed=n, ip_cov=None, n_traces=6).train for n in (3, 4, 5)
    }
    partial = simulate(5, dim=2, rho=0.5, seed=1, ip_cov=None, n_traces=8, lengths=(2, 4)).train
    found = {f"{n} items, dim 2": (traces, Model(dim=2)) for n, traces in full.items()}
    found["5 items, dim 4, partial"] = (partial, Model(dim=4))
    return found


def gap(method: str, case: str) -> float:
    """Return the closure MAE between a method and the exact hard posterior."""
    traces, model = cases()[case]
    exact = fit(traces, Exact(draws=10, prior_draws=300_000), Model(dim=model.dim), seed=5)
    return closure_mae(fit(traces, METHODS[method], model, seed=6), exact)


def recorded() -> dict[str, dict[str, float]]:
    """Return the gaps on file, by method and case."""
    gaps: dict[str, dict[str, float]] = json.loads(FILE.read_text())
    return gaps


if __name__ == "__main__":
    table = {m: {case: round(gap(m, case), 4) for case in cases()} for m in METHODS}
    FILE.write_text(json.dumps(table, indent=1) + "\n")

"""Make the embedded demo data: a service release, written down by hand, and traces of it.

Run from the project's root: ``python tools/make_demo.py``. The result is committed; this script is
its record.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from posetta.data import Traces, write_traces
from posetta.model.simulate import draw_traces
from posetta.order import Poset, write_order
from posetta.rng import child

SEED = 20
N_TRACES = 40
TARGET = Path(__file__).parent.parent / "src" / "posetta" / "data" / "demo_files"

RELEASE = Poset.from_covers(
    [
        ("merge change", "build image"),
        ("merge change", "write release notes"),
        ("build image", "run unit tests"),
        ("build image", "scan dependencies"),
        ("run unit tests", "deploy to staging"),
        ("scan dependencies", "deploy to staging"),
        ("deploy to staging", "run smoke tests"),
        ("deploy to staging", "run load test"),
        ("back up database", "migrate database"),
        ("run smoke tests", "migrate database"),
        ("migrate database", "deploy to production"),
        ("run load test", "deploy to production"),
        ("deploy to production", "watch error rate"),
        ("write release notes", "announce release"),
        ("watch error rate", "announce release"),
    ]
)
# Steps that a run may leave out: a hotfix skips the load test, a small change has no migration.
OPTIONAL = {
    "run load test": 0.30,
    "scan dependencies": 0.15,
    "write release notes": 0.20,
    "back up database": 0.25,
    "migrate database": 0.25,
    "announce release": 0.20,
    "watch error rate": 0.10,
}


def main() -> None:
    """Draw the runs and write both files."""
    generator = child(SEED, "demo")
    kept = [
        np.array(
            [
                i
                for i, item in enumerate(RELEASE.items)
                if generator.random() >= OPTIONAL.get(item, 0.0)
            ]
        )
        for _ in range(N_TRACES)
    ]
    rows = draw_traces(RELEASE.closure, 0.7, 0.0, kept, generator)
    traces = Traces.from_lists(
        [[RELEASE.items[i] for i in row] for row in rows],
        items=RELEASE.items,
        ids=[f"release-{k:02d}" for k in range(1, N_TRACES + 1)],
    )
    write_traces(traces, TARGET / "release.traces.jsonl")
    write_order(RELEASE, TARGET / "release.order.json")


if __name__ == "__main__":
    main()

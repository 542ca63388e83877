"""What the runner of studies costs: overhead of a job by executor, and one against two processes.

``python benchmarks/suite.py [JOBS]``. Overhead is the time of a study less the work in its jobs,
by the job; the start of the workers, seen in a study of a single job, is apart.
"""

from __future__ import annotations

import sys
import tempfile
import time

from posetta.suite import Store, Study, run_study
from posetta.suite.table import tidy_rows

EXECUTORS = ("serial", "local:1", "dask-local:1")


def study_of(n_jobs: int, n_items: int, method: str, settings: dict[str, object]) -> Study:
    return Study.of(
        {
            "study": "bench",
            "title": "Overhead",
            "kind": "simulated",
            "axes": {"n": [n_items], "seed": list(range(n_jobs))},
            "methods": {method: settings},
        }
    )


def seconds_of(study: Study, executor: str) -> tuple[float, float]:
    """Return the seconds of a study, and of the work in its jobs."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run_study(study, f"{folder}/out", executor=executor, threads=1)
        took = time.perf_counter() - began
        rows = tidy_rows(Store(f"{folder}/out"))
    return took, sum(row["wall_seconds"] for row in rows)


def main(n_jobs: int) -> None:
    single = {name: seconds_of(study_of(1, 5, "maximal", {}), name) for name in EXECUTORS}
    print("executor       start, s   overhead a job, ms")
    for name in EXECUTORS:
        took, work = seconds_of(study_of(n_jobs, 5, "maximal", {}), name)
        start = single[name][0] - single[name][1]
        overhead = (took - work - start) / (n_jobs - 1)
        print(f"{name:14s} {start:8.2f}   {1e3 * overhead:8.1f}")
    long = {"draws": 500, "warmup": 2000, "chains": 1, "thin": 4}
    print("executor       hard, n = 20, 8 jobs, s")
    for name in ("local:1", "local:2"):
        took, _ = seconds_of(study_of(8, 20, "hard", long), name)
        print(f"{name:14s} {took:8.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)

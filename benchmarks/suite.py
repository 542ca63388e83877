"""What the runner of studies costs: overhead of a job by executor, and one against two processes.

``python benchmarks/suite.py [JOBS]``. Overhead is the time of a study less the work in its jobs,
by the job; the start of the workers, seen in a study of a single job, is apart. Workers of a Dask
cluster start before the clock does: a second of theirs, more or less, would hide a job's share.
"""

from __future__ import annotations

import sys
import tempfile
import time

from distributed import LocalCluster

from posetta.suite import Store, Study, run_study
from posetta.suite.table import tidy_rows

EXECUTORS = ("serial", "local:1")


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


def study_seconds(study: Study, executor: str, threads: int | None = None) -> tuple[float, float]:
    """Return the seconds of a study, and of the work in its jobs."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run_study(study, f"{folder}/out", executor=executor, threads=threads)
        took = time.perf_counter() - began
        rows = tidy_rows(Store(f"{folder}/out"))
    return took, sum(row["wall_seconds"] for row in rows)


def overhead_on_dask(n_jobs: int) -> float:
    """Return the milliseconds a job on a cluster of one process that has done a job before."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        executor = f"dask:{cluster.scheduler_address}"
        study_seconds(study_of(1, 5, "maximal", {}), executor)
        took, work = study_seconds(study_of(n_jobs, 5, "maximal", {}), executor)
    return 1e3 * (took - work) / n_jobs


def main(n_jobs: int) -> None:
    single = {name: study_seconds(study_of(1, 5, "maximal", {}), name, 1) for name in EXECUTORS}
    print("executor       start, s   overhead a job, ms")
    for name in EXECUTORS:
        took, work = study_seconds(study_of(n_jobs, 5, "maximal", {}), name, 1)
        start = single[name][0] - single[name][1]
        overhead = (took - work - start) / (n_jobs - 1)
        print(f"{name:14s} {start:8.2f}   {1e3 * overhead:8.1f}")
    print(f"{'dask:...':14s}          {overhead_on_dask(n_jobs):10.1f}")
    long = {"draws": 500, "warmup": 2000, "chains": 1, "thin": 4}
    print("executor       hard, n = 20, 8 jobs, s")
    for name in ("local:1", "local:2"):
        took, _ = study_seconds(study_of(8, 20, "hard", long), name, 1)
        print(f"{name:14s} {took:8.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)

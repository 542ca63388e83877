"""Which runs make a study? Specs, jobs, the runner, executors, tables, and scoring in shards.

Names load on first use: a worker imports `executors` alone and sets the number of threads before
any numerical library is loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posetta.suite.executors import Crew, open_crew
    from posetta.suite.expand import jobs_of
    from posetta.suite.job import Job
    from posetta.suite.markdown import markdown_tables
    from posetta.suite.runner import Ended, run_study
    from posetta.suite.scoring import score_in_shards
    from posetta.suite.spec import Study, read_study
    from posetta.suite.store import Store
    from posetta.suite.table import tidy_rows, write_table
    from posetta.suite.work import run_job

_HOME = {
    "Crew": "executors",
    "Ended": "runner",
    "Job": "job",
    "Store": "store",
    "Study": "spec",
    "jobs_of": "expand",
    "markdown_tables": "markdown",
    "open_crew": "executors",
    "read_study": "spec",
    "run_job": "work",
    "run_study": "runner",
    "score_in_shards": "scoring",
    "tidy_rows": "table",
    "write_table": "table",
}

__all__ = [
    "Crew",
    "Ended",
    "Job",
    "Store",
    "Study",
    "jobs_of",
    "markdown_tables",
    "open_crew",
    "read_study",
    "run_job",
    "run_study",
    "score_in_shards",
    "tidy_rows",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"posetta.suite.{_HOME[name]}"), name)
    raise AttributeError(f"module 'posetta.suite' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""Which runs make a study? Specs, jobs, the runner, executors, tables, and scoring in shards."""

from __future__ import annotations

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

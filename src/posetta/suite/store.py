"""The folder of a study: ``study.json``, ``jobs/ADDRESS/job.json`` with its files, ``table.csv``.

A job's folder appears whole or not at all, so a killed run leaves finished jobs and nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from posetta.atomic import atomic_text
from posetta.errors import InputError
from posetta.posterior.folder import staged_folder
from posetta.suite.job import Job
from posetta.suite.spec import Study
from posetta.suite.work import Outcome

STUDY_FILE = "study.json"
RECORD_FILE = "job.json"
TABLE_FILE = "table.csv"
_JOBS = "jobs"
_JOB_FILES = frozenset(
    {RECORD_FILE, "result.json", "posterior.nc", "train.jsonl", "test.jsonl", "order.json"}
)


class Store:
    """What a study has found so far, on disk."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @property
    def head(self) -> dict[str, Any]:
        """The content of ``study.json``: the study, its profile, its plan of jobs."""
        path = self.folder / STUDY_FILE
        try:
            head: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{self.folder} holds no study: {STUDY_FILE} is missing.") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read: {error}.") from None
        return head

    def open(self, study: Study, jobs: Sequence[Job], code: str) -> None:
        """Make the folder, or go on in one that holds the same study under the same profile."""
        if (self.folder / STUDY_FILE).exists():
            head = self.head
            held = (head["spec"]["study"], head["spec"]["profile"])
            if held != (study.study, study.profile):
                raise InputError(
                    f"{self.folder} holds study {held[0]!r}, profile {held[1]!r}. "
                    "Choose another folder."
                )
        elif self.folder.is_file() or (self.folder.is_dir() and any(self.folder.iterdir())):
            raise InputError(f"{self.folder} holds something else. Choose another folder.")
        (self.folder / _JOBS).mkdir(parents=True, exist_ok=True)
        plan = [
            {"hash": job.hash, "data": job.data_hash, "columns": job.columns, "also": job.also}
            for job in jobs
        ]
        head = {"spec": asdict(study), "code": code, "plan": plan}
        with atomic_text(self.folder / STUDY_FILE) as file:
            json.dump(head, file, indent=1)

    def path(self, address: str) -> Path:
        """Return the folder of a job."""
        return self.folder / _JOBS / address

    def save(self, job: Job, outcome: Outcome, code: str) -> dict[str, Any]:
        """Write the folder of a job; return its record."""
        record = {**outcome.record, "hash": job.hash, "columns": job.columns}
        folder = self.path(job.address(code))
        with staged_folder(folder, ours=_JOB_FILES, overwrite=True) as staging:
            for name, content in outcome.files.items():
                (staging / name).write_bytes(content)
            text = json.dumps(record, indent=1, allow_nan=False)
            (staging / RECORD_FILE).write_text(text + "\n", encoding="utf-8")
        return {**record, "folder": folder}

    def records(self) -> list[dict[str, Any]]:
        """Return the record of every job that ended, each with its ``folder``."""
        found = []
        for path in sorted((self.folder / _JOBS).glob(f"*/{RECORD_FILE}")):
            if path.parent.name.startswith("."):  # left behind by a run that was killed in writing
                continue
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise InputError(f"{path}: cannot be read: {error}.") from None
            found.append({**record, "folder": path.parent})
        return found

    def latest(self, code: str | None = None) -> dict[str, dict[str, Any]]:
        """Return one record for each job: of ``code`` if there is one, else the newest done one.

        ``code`` is that of the latest run unless given.
        """
        preferred = self.head["code"] if code is None else code

        def rank(record: Mapping[str, Any]) -> tuple[bool, bool, str]:
            done = record["outcome"] == "done"
            return record["code"] == preferred, done, record["started"]

        chosen: dict[str, dict[str, Any]] = {}
        for record in self.records():
            held = chosen.get(record["hash"])
            if held is None or rank(record) > rank(held):
                chosen[record["hash"]] = record
        return chosen

"""The driver of a study: which jobs are left, who does them, what came back."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from posetta.errors import SettingError
from posetta.suite.code_version import code_version
from posetta.suite.executors import Crew, open_crew
from posetta.suite.expand import jobs_of
from posetta.suite.job import Job, matches
from posetta.suite.progress import Progress, Watcher
from posetta.suite.spec import Study
from posetta.suite.store import Store
from posetta.suite.table import write_table
from posetta.suite.work import RECORD_VERSION, Outcome, run_job

_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class Ended:
    """How a run of a study ended."""

    n_jobs: int
    n_ran: int
    """Jobs run now; the others were finished before."""
    n_failed: int
    """Jobs whose latest record is an error."""
    n_left: int
    """Jobs without a record: not asked for by ``where``."""


def run_study(
    study: Study,
    out: str | os.PathLike[str],
    *,
    executor: Any = "serial",
    threads: int | None = None,
    data_folder: str | os.PathLike[str] | None = None,
    where: Mapping[str, Any] | None = None,
    retry: bool = False,
    any_code: bool = False,
    side_by_side: bool = False,
    watcher: Watcher | None = None,
) -> Ended:
    """Run the jobs of a study that are not finished; results go to the folder ``out``.

    A job is finished when a record of it, made by the same code, is in the folder; ``any_code``
    accepts records of other versions, ``retry`` runs failed jobs again. ``where`` keeps the jobs
    whose columns have these values. A timing study runs one job at a time unless ``side_by_side``.
    Ctrl-C, or a kill, loses the jobs that were running and nothing else.
    """
    folder = None if data_folder is None else Path(data_folder)
    jobs = jobs_of(study, folder)
    code = code_version()
    store = Store(out)
    store.open(study, jobs, code)
    wanted = selected(jobs, where or {})
    finished = store.latest(code)
    todo = [job for job in wanted if not _is_done(finished.get(job.hash), code, retry, any_code)]
    progress = Progress(n_jobs=len(wanted), n_before=len(wanted) - len(todo))
    watcher = watcher or Watcher()
    with watcher, open_crew(executor, threads) as crew, _told_to_stop() as told:
        size = 1 if study.timing and not side_by_side else crew.size
        alone = size == 1

        def finish(job: Job, outcome: Outcome) -> None:
            record = store.save(job, _stamped(outcome, code, alone), code)
            progress.add(record)
            watcher.finished(progress, record)

        progress.expect(todo, min(size, crew.n_at_work))
        watcher.started(progress)
        _drive(crew, size, todo, folder, finish, lambda: watcher.waiting(progress), told)
    write_table(store)
    latest = store.latest(code)
    held = [latest[job.hash] for job in jobs if job.hash in latest]
    return Ended(
        n_jobs=len(jobs),
        n_ran=len(todo),
        n_failed=sum(record["outcome"] == "failed" for record in held),
        n_left=len(jobs) - len(held),
    )


def _drive(
    crew: Crew,
    size: int,
    todo: Sequence[Job],
    folder: Path | None,
    finish: Callable[[Job, Outcome], None],
    look: Callable[[], None],
    told: threading.Event,
) -> None:
    """Keep ``size`` jobs on the way until all are done.

    When a worker dies, a pool of processes takes all that was on the way with it. Those jobs run
    again one at a time: the one that breaks the pool once more, alone, is the one to blame, and is
    recorded as failed.
    """
    waiting = deque(todo)
    suspects: deque[Job] = deque()
    running: dict[Future[Any], Job] = {}
    alone = False
    while waiting or suspects or running:
        alone = bool(suspects) or (alone and bool(running))  # until the last suspect has ended
        queue, room = (suspects, 1) if alone else (waiting, size)
        while queue and len(running) < room and not told.is_set():
            job = queue.popleft()
            running[_hand_over(crew, job, folder)] = job
        done, _ = wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
        if told.is_set():
            raise KeyboardInterrupt
        look()
        broken = [f for f in done if isinstance(f.exception(), BrokenExecutor)]
        for future in done - set(broken):
            finish(running[future], _outcome(running[future], future))
            del running[future]
        if broken:
            lost = list(running.values())
            running.clear()
            crew.renew()
            if alone:
                finish(lost[0], _lost(lost[0]))
            else:
                suspects.extend(lost)


def _hand_over(crew: Crew, job: Job, folder: Path | None) -> Future[Any]:
    place = None if folder is None else str(folder.resolve())
    try:
        return crew.submit(run_job, dict(job.spec), place, crew.cores)
    except BrokenExecutor as error:  # it broke between two looks
        future: Future[Any] = Future()
        future.set_exception(error)
        return future


def _outcome(job: Job, future: Future[Any]) -> Outcome:
    error = future.exception()
    if error is None:
        outcome: Outcome = future.result()
        return outcome
    return _failure(job, f"{type(error).__name__}: {error}")


def _lost(job: Job) -> Outcome:
    return _failure(job, "the worker died twice while it ran: out of memory, or killed.")


def _failure(job: Job, error: str) -> Outcome:
    record = {
        "record_version": RECORD_VERSION,
        "spec": job.spec,
        "code": code_version(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "outcome": "failed",
        "error": error,
        "wall_seconds": 0.0,
    }
    return Outcome(record, {})


def _stamped(outcome: Outcome, code: str, alone: bool) -> Outcome:
    """Say whether the job had the machine to itself; refuse results of another code."""
    record = {**outcome.record, "alone": alone}
    if record["code"] != code:
        record |= {
            "outcome": "failed",
            "error": f"the worker runs other code ({record['code']}, here {code}). Install the "
            "same Posetta on it, under the same version of Python.",
            "code": code,
        }
    return replace(outcome, record=record)


def selected(jobs: Sequence[Job], where: Mapping[str, Any]) -> list[Job]:
    """Return the jobs with these values, each one or a list; refuse a choice of none.

    Values are compared as text, which is all that a command line has.
    """
    texts = {
        name: [str(one) for one in value] if isinstance(value, list) else str(value)
        for name, value in where.items()
    }
    wanted = [
        job for job in jobs if matches({name: str(job.columns.get(name)) for name in where}, texts)
    ]
    if not wanted:
        raise SettingError(
            "no job has these values. posetta suite run --dry-run without --where lists all."
        )
    return wanted


def _is_done(record: Mapping[str, Any] | None, code: str, retry: bool, any_code: bool) -> bool:
    if record is None or (record["code"] != code and not any_code):
        return False
    return record["outcome"] == "done" or not retry


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """Note Ctrl-C for good.

    A sampler in this process answers Ctrl-C by giving back what it has drawn. That is no result of
    the job as it was asked for, so the event remains, and the study ends without recording it.
    """
    told = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield told
        return

    def note(_number: int, _frame: Any) -> None:
        told.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield told
    finally:
        signal.signal(signal.SIGINT, before)

"""How far a study has come: the time left, and who watches it."""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any, Self

from posetta.suite.job import Job

_SHOWN_ROWS = 12
_SHOWN_COLUMNS = ("f1_50", "mae_truth", "step_nll", "waic", "seconds")


class Progress:
    """Counts of jobs, and an estimate of the time left."""

    def __init__(self, n_jobs: int, n_before: int) -> None:
        self.n_jobs = n_jobs
        self.n_done = n_before
        """Jobs with a record, those of earlier runs included."""
        self.n_failed = 0
        self._size = 1
        self._left: dict[str, tuple[str, Any]] = {}
        self._seconds: defaultdict[tuple[str, Any], list[float]] = defaultdict(list)

    def expect(self, jobs: Sequence[Job], size: int) -> None:
        """Take note of the jobs to come, ``size`` of them at a time."""
        self._size = max(size, 1)
        self._left = {job.hash: _group(job.columns) for job in jobs}

    def add(self, record: Mapping[str, Any]) -> None:
        """Take note of a job that ended."""
        self.n_done += 1
        self.n_failed += record["outcome"] == "failed"
        self._left.pop(record["hash"], None)
        if record["outcome"] == "done":
            self._seconds[_group(record["columns"])].append(record["wall_seconds"])

    @property
    def seconds_left(self) -> float:
        """Estimate from jobs of the same method and size, else of the same method, else from all.

        NaN as long as nothing is known.
        """
        if not self._left:
            return 0.0
        everything = [value for values in self._seconds.values() for value in values]
        if not everything:
            return float("nan")
        by_method: defaultdict[str, list[float]] = defaultdict(list)
        for (method, _), values in self._seconds.items():
            by_method[method] += values
        guesses = (
            self._seconds.get(group) or by_method.get(group[0]) or everything
            for group in self._left.values()
        )
        return sum(sum(values) / len(values) for values in guesses) / self._size


def _group(columns: Mapping[str, Any]) -> tuple[str, Any]:
    return str(columns["method"]), columns.get("n", columns.get("case", columns.get("scenario")))


class Watcher:
    """Watches a study and says nothing; the others talk."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def started(self, progress: Progress) -> None:
        """The jobs are known."""

    def waiting(self, progress: Progress) -> None:
        """Some time has passed."""

    def finished(self, progress: Progress, record: Mapping[str, Any]) -> None:
        """A job has ended."""


class LineWatcher(Watcher):
    """One line on standard error for each job that ended: for logs."""

    def started(self, progress: Progress) -> None:
        """Say how much there is to do."""
        left = progress.n_jobs - progress.n_done
        print(f"{left} of {progress.n_jobs} jobs to run", file=sys.stderr, flush=True)

    def finished(self, progress: Progress, record: Mapping[str, Any]) -> None:
        """Say how the job ended and how long the rest may take."""
        place = ", ".join(f"{k} {v}" for k, v in record["columns"].items())
        print(
            f"{progress.n_done}/{progress.n_jobs} {place}: {_words(record)}; "
            f"{duration(progress.seconds_left)} left",
            file=sys.stderr,
            flush=True,
        )


class LiveWatcher(Watcher):
    """A bar with the time left and a table of the latest rows, on standard error."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._rows: deque[Mapping[str, Any]] = deque(maxlen=_SHOWN_ROWS)
        self._live = Live(console=Console(stderr=True), refresh_per_second=2)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def started(self, progress: Progress) -> None:
        """Show the empty bar."""
        self._live.update(self._picture(progress))

    def waiting(self, progress: Progress) -> None:
        """Show the time left anew."""
        self._live.update(self._picture(progress))

    def finished(self, progress: Progress, record: Mapping[str, Any]) -> None:
        """Add the row."""
        self._rows.append(record)
        self._live.update(self._picture(progress))

    def _picture(self, progress: Progress) -> Any:
        from rich.console import Group
        from rich.markup import escape
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        failed = f", {progress.n_failed} failed" if progress.n_failed else ""
        head = (
            f"{progress.n_done} of {progress.n_jobs} jobs{failed}, "
            f"{duration(progress.seconds_left)} left"
        )
        table = Table(box=None)
        names = list(dict.fromkeys(name for record in self._rows for name in record["columns"]))
        for name in (*names, "status", *_SHOWN_COLUMNS):
            table.add_column(name)
        for record in self._rows:
            row = record.get("row", {})
            cells = [str(record["columns"].get(name, "")) for name in names]
            cells.append(row.get("status", "failed"))
            cells += [_short(row.get(name)) for name in _SHOWN_COLUMNS]
            table.add_row(*map(escape, cells))
        return Group(head, ProgressBar(progress.n_jobs, progress.n_done, width=60), table)


def _words(record: Mapping[str, Any]) -> str:
    if record["outcome"] == "failed":
        return f"failed, {record['error']}"
    row = record["row"]
    values = [f"{name} {_short(row[name])}" for name in _SHOWN_COLUMNS if row.get(name) is not None]
    return ", ".join([row["status"], *values])


def _short(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float | int) else str(value)


def duration(seconds: float) -> str:
    """Say a time in words: 40 s, 12 min, 3.5 h."""
    if seconds != seconds:
        return "some time"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"

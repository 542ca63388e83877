"""Who works: this process, processes on this machine, a Dask cluster, or anything with `submit`.

Light on purpose: a worker process imports this module before numerical libraries load, so that it
can still tell them how many threads to start.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from posetta.errors import MissingExtra, SettingError
from posetta.suite.pinning import cores_here, name_threads

# Tasks on the way for each thread of a cluster, so that none waits for the next one to arrive.
_AHEAD = 2


class Crew:
    """Workers behind one `submit`."""

    def __init__(self, executor: Any, size: int, cores: list[int] | None = None) -> None:
        self._executor = executor
        self.size = size
        """Jobs that may be on the way at a time."""
        self.n_at_work = size
        """Jobs that are worked on at a time."""
        self.cores = cores
        """Cores for a job in this process; None where the workers are pinned already."""

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand over a piece of work."""
        future: Future[Any] = self._executor.submit(work, *arguments)
        return future

    def shipped(self, value: Any) -> Any:
        """Return what to hand over in place of a large value, so that it travels once."""
        return value

    def renew(self) -> None:
        """Make the crew whole after a worker died, where it is ours to make."""
        raise BrokenExecutor(
            "a worker of the executor died, and it takes no more work. Make a new one and run the "
            "study again: finished jobs are kept."
        )

    def close(self, *, at_once: bool = False) -> None:
        """Let the workers go; ``at_once`` ends what they are doing."""


class _Here(Executor):
    """Runs everything at once in this process."""

    def submit(  # type: ignore[override]
        self, work: Callable[..., Any], /, *arguments: Any
    ) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class _LocalCrew(Crew):
    """Spawned processes, each on its own cores. One that dies is replaced."""

    def __init__(self, n_workers: int, threads: int | None) -> None:
        cores = cores_here()
        threads = threads or max(1, len(cores) // n_workers)
        self._shares = [
            [cores[(w * threads + k) % len(cores)] for k in range(min(threads, len(cores)))]
            for w in range(n_workers)
        ]
        self._threads = threads
        super().__init__(self._pool(), n_workers)

    def _pool(self) -> ProcessPoolExecutor:
        context = get_context("spawn")
        shares = context.Queue()
        for share in self._shares:
            shares.put(share)
        return ProcessPoolExecutor(
            len(self._shares),
            mp_context=context,
            initializer=_start_worker,
            initargs=(shares, self._threads),
        )

    def renew(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor = self._pool()

    def close(self, *, at_once: bool = False) -> None:
        # Python 3.11 has no public way to end a pool's workers; without it Ctrl-C waits for them.
        workers = list((self._executor._processes or {}).values()) if at_once else []
        for worker in workers:
            worker.terminate()
        self._executor.shutdown(wait=True, cancel_futures=True)


def _start_worker(shares: Any, threads: int) -> None:
    """Take one share of the cores, before anything numerical is imported."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who hands out the work
    os.environ.update(name_threads(threads))
    share = shares.get()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, share)


class _DaskCrew(Crew):
    """A Dask cluster. Its scheduler gives the task of a dead worker to another."""

    def __init__(self, client: Any, owned: tuple[Any, ...] = ()) -> None:
        self._client, self._owned = client, owned
        n_threads = sum(client.nthreads().values())
        if not n_threads:
            raise SettingError("the Dask cluster has no workers yet. Start some, then run again.")
        super().__init__(client.get_executor(pure=False), _AHEAD * n_threads)
        self.n_at_work = n_threads

    def shipped(self, value: Any) -> Any:
        return self._client.scatter(value, broadcast=True)

    def close(self, *, at_once: bool = False) -> None:  # noqa: ARG002
        self._client.close()
        for part in self._owned:
            part.close()


@contextmanager
def open_crew(executor: Any = "serial", threads: int | None = None) -> Iterator[Crew]:
    """Give the workers that ``executor`` names, or that an object with `submit` stands for.

    ``serial``; ``local:N``, N spawned processes; ``dask:tcp://HOST:PORT``, a running cluster;
    ``dask-local:N``, a cluster of N processes here. ``threads`` is the number of cores for each
    worker: by default all of them, or an equal share. Workers of a running cluster, and of an
    object, are pinned by whoever started them, so they take no ``threads``.
    """
    if threads is not None and threads < 1:
        raise SettingError(f"threads={threads} must be at least 1.")
    crew = _crew(executor, threads)
    try:
        yield crew
    except BaseException:
        crew.close(at_once=True)
        raise
    crew.close()


def _crew(executor: Any, threads: int | None) -> Crew:
    if not isinstance(executor, str):
        if not hasattr(executor, "submit"):
            raise SettingError(f"executor={executor!r} has no submit.")
        _pinned_elsewhere(threads)
        workers = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
        return Crew(executor, int(workers))
    if executor == "serial":
        cores = cores_here()
        return Crew(_Here(), 1, cores[: threads or len(cores)])
    if match := re.fullmatch(r"(local|dask-local):(\d+)", executor):
        kind, n_workers = match[1], int(match[2])
        if n_workers < 1:
            raise SettingError(f"executor={executor!r}: at least one worker is needed.")
        return (
            _LocalCrew(n_workers, threads) if kind == "local" else _local_dask(n_workers, threads)
        )
    if executor.startswith("dask:"):
        _pinned_elsewhere(threads)
        return _DaskCrew(_distributed().Client(executor.removeprefix("dask:"), timeout="20s"))
    raise SettingError(
        f"executor={executor!r} is unknown. Choose serial, local:N, dask-local:N or "
        "dask:tcp://HOST:PORT."
    )


def _pinned_elsewhere(threads: int | None) -> None:
    if threads is not None:
        raise SettingError(
            f"threads={threads} is for workers that are started here (serial, local:N, "
            "dask-local:N). Leave it out, and pin workers of your own where you start them."
        )


def _local_dask(n_workers: int, threads: int | None) -> Crew:
    distributed = _distributed()
    import dask

    threads = threads or max(1, len(cores_here()) // n_workers)
    # Read by the process that starts a worker, before the worker imports anything.
    with dask.config.set({"distributed.nanny.pre-spawn-environ": name_threads(threads)}):
        cluster = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,  # one job at a time in each
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        )
    return _DaskCrew(distributed.Client(cluster), (cluster,))


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        raise MissingExtra("a Dask executor", "dask") from None
    return distributed

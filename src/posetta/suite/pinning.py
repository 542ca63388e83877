"""The cores a job may use and the memory it used, so that timings and peaks mean something."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

THREAD_VARIABLES = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)
"""What numerical libraries read once, when they load."""

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def cores_here() -> list[int]:
    """Return the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@contextmanager
def pinned(cores: Sequence[int] | None) -> Iterator[int]:
    """Keep this process and its new threads on ``cores``; give their number.

    Chains that run in threads then share these cores. None leaves everything as it is.
    """
    before = cores_here()
    if cores is None or not hasattr(os, "sched_setaffinity"):
        yield len(before)
        return
    from threadpoolctl import threadpool_limits

    os.sched_setaffinity(0, cores)
    try:
        with threadpool_limits(len(cores)):
            yield len(cores)
    finally:
        os.sched_setaffinity(0, before)


def name_threads(n: int) -> dict[str, str]:
    """Return the environment in which libraries start ``n`` threads."""
    return dict.fromkeys(THREAD_VARIABLES, str(n))


def forget_peak() -> None:
    """Let the peak memory of this process start from what it holds now, where the system can."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return  # then the peak is that of the whole life of the process


def peak_megabytes() -> float | None:
    """Return the peak resident memory of this process in MB; None where the system does not say."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    kilobytes = next((line.split()[1] for line in lines if line.startswith("VmHWM")), None)
    return None if kilobytes is None else round(int(kilobytes) / 1024, 1)

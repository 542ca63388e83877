"""Log density and gradient at many points at once, on all cores: what variational fits ask for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from posetta.model.target import Target, log_density_and_gradient

Scores = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""Points (point, coordinate) in; log densities (point,) and their gradients out."""


class _OneBlasThread:
    """The limit of one thread for matrix products, held as long as anyone needs it.

    It holds for the whole process, and only the thread that set it can lift it, so a thread of its
    own does both: with users in several threads, the first starts it and the last ends it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._released = Event()
        self._keeper = Thread()

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._released, held = Event(), Event()
                self._keeper = Thread(target=self._keep, args=(held, self._released), daemon=True)
                self._keeper.start()
                held.wait()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._released.set()
                self._keeper.join()

    @staticmethod
    def _keep(held: Event, released: Event) -> None:
        try:
            with threadpool_limits(1, user_api="blas"):
                held.set()
                released.wait()
        finally:
            held.set()  # nobody waits for a thread that failed


one_blas_thread = _OneBlasThread()
"""In this context sums of matrix products do not depend on the number of cores."""


@contextmanager
def score_batch(target: Target) -> Iterator[Scores]:
    """Give the `Scores` of a target; the points are shared out among threads.

    Matrix products run on one thread meanwhile (`one_blas_thread`); idle threads of a BLAS would
    also wait by spinning, which takes the cores from the kernel.
    """
    n_threads = os.cpu_count() or 1
    with ThreadPoolExecutor(n_threads) as pool, one_blas_thread:
        submit: Any = pool.submit  # its type asks for annotations that compiled functions lack

        def scores(
            points: NDArray[np.float64],
        ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            points = np.ascontiguousarray(points, dtype=np.float64)
            values, gradients = np.empty(len(points)), np.empty_like(points)
            share = -(-len(points) // n_threads)
            parts = [slice(k, k + share) for k in range(0, len(points), share)]
            jobs = [
                submit(_evaluate, points[part], *target.arguments, values[part], gradients[part])
                for part in parts
            ]
            for job in jobs:
                job.result()
            return values, gradients

        scores(np.zeros((1, target.n_parameters)))  # compiles or loads the kernel
        yield scores


@njit(cache=True, nogil=True, error_model="numpy")
def _evaluate(
    points: NDArray[np.float64],
    n: int,
    dim: int,
    tau: float,
    constant: float,
    fixed: NDArray[np.float64],
    priors: NDArray[np.float64],
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    counts: NDArray[np.int64],
    values: NDArray[np.float64],
    gradients: NDArray[np.float64],
) -> None:
    for s in range(len(points)):
        values[s] = log_density_and_gradient(
            points[s], n, dim, tau, constant, fixed, priors,
            members, offsets, n_listed, counts, gradients[s],
        )  # fmt: skip

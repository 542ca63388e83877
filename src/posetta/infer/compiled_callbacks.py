"""A `Target` as two C callbacks, for samplers that run outside the interpreter.

Through a Python function, each gradient has to take the interpreter lock: two chains of nutpie at
10 items then took 140 microseconds a gradient each, one alone 30, and the gradient itself 15. The
callbacks here never enter the interpreter, so chains run side by side at full speed.

A callback gets one address beside its vectors. It leads to a single block of 64-bit words that
holds everything the density needs, laid out by `pack`:

    length, draws and gradients so far, n, dim, rows, members, framed | tau, constant, fixed (4),
    priors (8) | offsets (rows + 1) | listed (rows) | counts (rows) | members (two to the word)
    | where framed: mean (size) | factor (size x size)

A sampler may walk in the coordinates x of a frame, w = mean + factor x (`frame.py`); draws are kept
as w.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import carray, cfunc, njit, types  # type: ignore[attr-defined]
from numpy.typing import NDArray

from posetta.infer.natural_gradient import Gaussian
from posetta.model.target import Target, log_density_and_gradient

# Places in the block.
_LENGTH, DRAWS_SO_FAR, GRADIENTS_SO_FAR, _N, _DIM, _ROWS, _MEMBERS, _FRAMED = range(8)
_HEADER = 8
_NUMBERS = 14

OK, NOT_FINITE = 0, 4


def pack(target: Target, frame: Gaussian | None = None) -> NDArray[np.int64]:
    """Return the block of a target. Every chain needs its own, since it counts there."""
    n, dim, tau, constant, fixed, priors, members, offsets, n_listed, counts = target.arguments
    padded = np.zeros(len(members) + len(members) % 2, dtype=np.uint32)
    padded[: len(members)] = members
    numbers = np.array([tau, constant, *fixed, *priors.ravel()], dtype=np.float64)
    parts = [numbers.view(np.int64), offsets, n_listed, counts, padded.view(np.int64)]
    if frame is not None:
        parts += [np.ascontiguousarray(part).ravel().view(np.int64) for part in frame]
    body = np.concatenate(parts)
    framed = frame is not None
    header = [_HEADER + len(body), 0, 0, n, dim, len(counts), len(members), framed]
    return np.concatenate([np.array(header, dtype=np.int64), body])


@njit(cache=True, nogil=True)
def _frame(block: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return mean and, row by row, factor of the frame at the end of ``block``."""
    return block[len(block) - size * (size + 1) :].view(np.float64)


@njit(cache=True, nogil=True)
def _framed(block: NDArray[np.int64]) -> bool:
    return block[_FRAMED] != 0


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def from_frame(block: NDArray[np.int64], x: NDArray[np.float64], w: NDArray[np.float64]) -> None:
    """Fill ``w = mean + factor x``."""
    size = len(x)
    frame = _frame(block, size)
    for i in range(size):
        row = frame[size * (i + 1) :]
        total = frame[i]
        for j in range(i + 1):
            total += row[j] * x[j]
        w[i] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def into_frame(block: NDArray[np.int64], w: NDArray[np.float64], x: NDArray[np.float64]) -> None:
    """Fill ``x`` such that ``w = mean + factor x``."""
    size = len(w)
    frame = _frame(block, size)
    for i in range(size):
        row = frame[size * (i + 1) :]
        total = w[i] - frame[i]
        for j in range(i):
            total -= row[j] * x[j]
        x[i] = total / row[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _gradient_into_frame(
    block: NDArray[np.int64], by_w: NDArray[np.float64], by_x: NDArray[np.float64]
) -> None:
    """Fill the gradient ``by_x = factor' by_w``."""
    size = len(by_w)
    frame = _frame(block, size)
    by_x[:] = 0.0
    for i in range(size):
        row = frame[size * (i + 1) :]
        here = by_w[i]
        for j in range(i + 1):
            by_x[j] += row[j] * here


@njit(cache=True, nogil=True)
def packed_log_density(
    block: NDArray[np.int64], point: NDArray[np.float64], gradient: NDArray[np.float64]
) -> float:
    """Return the log density at ``point`` of the target in ``block``, and fill its gradient.

    Where the block is framed, ``point`` and gradient are in coordinates of the frame; the density
    stays that of w.
    """
    if not _framed(block):
        return _density_of_w(block, point, gradient)
    w, by_w = np.empty_like(point), np.empty_like(point)
    from_frame(block, point, w)
    value = _density_of_w(block, w, by_w)
    _gradient_into_frame(block, by_w, gradient)
    return value


@njit(cache=True, nogil=True)
def _density_of_w(
    block: NDArray[np.int64], w: NDArray[np.float64], gradient: NDArray[np.float64]
) -> float:
    n, dim, n_rows, n_members = block[_N], block[_DIM], block[_ROWS], block[_MEMBERS]
    numbers = block[_HEADER : _HEADER + _NUMBERS].view(np.float64)
    offsets = block[_HEADER + _NUMBERS :][: n_rows + 1]
    n_listed = block[_HEADER + _NUMBERS + n_rows + 1 :][:n_rows]
    counts = block[_HEADER + _NUMBERS + 2 * n_rows + 1 :][:n_rows]
    members = block[_HEADER + _NUMBERS + 3 * n_rows + 1 :].view(np.uint32)[:n_members]
    return log_density_and_gradient(
        w,
        n,
        dim,
        numbers[0],
        numbers[1],
        numbers[2:6],
        numbers[6:].reshape(4, 2),
        members,
        offsets,
        n_listed,
        counts,
        gradient,
    )


_began = time.perf_counter()
_pointer: Any = types.CPointer
_vector, _block = _pointer(types.double), _pointer(types.int64)


@cfunc(types.int64(types.uint64, _vector, _vector, _vector, _block), cache=True)
def log_density_callback(size: int, point: Any, gradient: Any, value: Any, block: Any) -> int:
    """Write value and gradient; say so if the value is not finite."""
    packed = carray(block, (carray(block, (_HEADER,))[_LENGTH],))
    packed[GRADIENTS_SO_FAR] += 1
    result = carray(value, (1,))
    result[0] = packed_log_density(packed, carray(point, (size,)), carray(gradient, (size,)))
    return OK if np.isfinite(result[0]) else NOT_FINITE


@cfunc(types.int64(types.uint64, types.uint64, _vector, _vector, _block), cache=True)
def keep_callback(size: int, n_kept: int, point: Any, kept: Any, block: Any) -> int:
    """Keep a draw, as w, and count it."""
    packed = carray(block, (carray(block, (_HEADER,))[_LENGTH],))
    if _framed(packed):
        from_frame(packed, carray(point, (size,)), carray(kept, (n_kept,)))
    else:
        carray(kept, (n_kept,))[:] = carray(point, (size,))
    packed[DRAWS_SO_FAR] += 1
    return OK


_spent = time.perf_counter() - _began


def compile_seconds() -> float:
    """Return what declaring the callbacks took: compiling them, or reading them from a cache.

    Later fits of the same process find them declared, so only the first answer is not 0.
    """
    global _spent
    spent, _spent = _spent, 0.0
    return spent

"""A `Target` as two C callbacks, for samplers that run outside the interpreter.

Through a Python function, each gradient has to take the interpreter lock: two chains of nutpie at
10 items then took 140 microseconds a gradient each, one alone 30, and the gradient itself 15. The
callbacks here never enter the interpreter, so chains run side by side at full speed.

A callback gets one address beside its vectors. It leads to a single block of 64-bit words that
holds everything the density needs, laid out by `pack`:

    length, draws and gradients so far, n, dim, rows, members | tau, constant, fixed (4), priors (8)
    | offsets (rows + 1) | listed (rows) | counts (rows) | members (two to the word)
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import carray, cfunc, njit, types  # type: ignore[attr-defined]
from numpy.typing import NDArray

from posetta.model.target import Target, log_density_and_gradient

DRAWS_SO_FAR, GRADIENTS_SO_FAR = 1, 2
_HEADER = 7
_NUMBERS = 14

OK, NOT_FINITE = 0, 4


def pack(target: Target) -> NDArray[np.int64]:
    """Return the block of a target. Every chain needs its own, since it counts there."""
    n, dim, tau, constant, fixed, priors, members, offsets, n_listed, counts = target.arguments
    padded = np.zeros(len(members) + len(members) % 2, dtype=np.uint32)
    padded[: len(members)] = members
    numbers = np.array([tau, constant, *fixed, *priors.ravel()], dtype=np.float64)
    body = np.concatenate(
        [numbers.view(np.int64), offsets, n_listed, counts, padded.view(np.int64)]
    )
    header = [_HEADER + len(body), 0, 0, n, dim, len(counts), len(members)]
    return np.concatenate([np.array(header, dtype=np.int64), body])


@njit(cache=True, nogil=True)
def packed_log_density(
    block: NDArray[np.int64], w: NDArray[np.float64], gradient: NDArray[np.float64]
) -> float:
    """Return the log density at ``w`` of the target in ``block``, and fill its gradient."""
    n, dim, n_rows, n_members = block[3], block[4], block[5], block[6]
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
def log_density_callback(size: int, w: Any, gradient: Any, value: Any, block: Any) -> int:
    """Write value and gradient; say so if the value is not finite."""
    packed = carray(block, (carray(block, (1,))[0],))
    packed[GRADIENTS_SO_FAR] += 1
    result = carray(value, (1,))
    result[0] = packed_log_density(packed, carray(w, (size,)), carray(gradient, (size,)))
    return OK if np.isfinite(result[0]) else NOT_FINITE


@cfunc(types.int64(types.uint64, types.uint64, _vector, _vector, _block), cache=True)
def keep_callback(size: int, n_kept: int, w: Any, kept: Any, block: Any) -> int:
    """Keep a draw as it is, and count it."""
    carray(kept, (n_kept,))[:] = carray(w, (size,))
    carray(block, (_HEADER,))[DRAWS_SO_FAR] += 1
    return OK


_spent = time.perf_counter() - _began


def compile_seconds() -> float:
    """Return what declaring the callbacks took: compiling them, or reading them from a cache.

    Later fits of the same process find them declared, so only the first answer is not 0.
    """
    global _spent
    spent, _spent = _spent, 0.0
    return spent

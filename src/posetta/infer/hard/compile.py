"""How the kernels of Hard-MCMC are compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

compiled: Any = njit(cache=True, nogil=True, error_model="numpy")
"""For functions that Python calls."""
_inner: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
inner: Any = njit(**_inner)
"""For functions that only kernels call. Wrappers that unpack a state of forty arrays would be half
of the time it takes to compile them. (Whole numbers that start from a literal are written
``np.int64(0)``: numba would compile a callee once for the literal and once for the rest.)"""
spliced: Any = njit(**_inner, inline="always")
"""For parts of one function, outside its hot loops: not compiled on their own."""
inlined: Any = njit(**_inner, forceinline=True)
"""For small parts of a hot loop: a call would pass every array of a state, one by one."""
inlined_fast: Any = njit(
    **_inner, forceinline=True, fastmath={"reassoc", "contract", "nsz", "arcp"}
)


@inner
def copy(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
    """Copy an array of one or two axes. Loops compile ten times faster than ``target[:] = ...``."""
    for i in range(len(source)):
        if source.ndim == 1:
            target[i] = source[i]
        else:
            for j in range(source.shape[1]):
                target[i, j] = source[i, j]

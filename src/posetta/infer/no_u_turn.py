"""One transition of the no-U-turn sampler with fixed step size and masses.

nutpie finds step size and masses; this takes over where something else is to happen between two
trajectories (`item_moves.py`), for which nutpie has no room. A trajectory

    p <- p + (step / 2) grad log p(x),   x <- x + step V p,   p <- p + (step / 2) grad log p(x)

doubles, forwards or backwards at random, until its ends turn towards each other. The new point is
drawn from all points of it with weights exp(-energy), a later half being preferred to an earlier
one (multinomial sampling with biased progress). Whether a half turns within itself is seen from
checkpoints at its even leaves, so that a trajectory of 2^d steps needs d vectors, not 2^d.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.infer.compiled_callbacks import packed_log_density

_LARGEST_ENERGY_ERROR = 1000.0
"""Beyond it a trajectory has diverged, as in Stan and nutpie."""


class Place(NamedTuple):
    """A point of the chain with what is known there; the arrays change in place."""

    point: NDArray[np.float64]
    gradient: NDArray[np.float64]


@njit(cache=True, nogil=True)
def _kinetic(momentum: NDArray[np.float64], variance: NDArray[np.float64]) -> float:
    total = 0.0
    for i in range(len(momentum)):
        total += variance[i] * momentum[i] * momentum[i]
    return 0.5 * total


@njit(cache=True, nogil=True)
def _turns(
    first: NDArray[np.float64],
    last: NDArray[np.float64],
    total: NDArray[np.float64],
    variance: NDArray[np.float64],
) -> bool:
    """Say whether a stretch with these momenta at its ends, and this sum of them, turns back.

    Its ends count half: the sum stands for an integral over time.
    """
    at_first, at_last = 0.0, 0.0
    for i in range(len(total)):
        way = variance[i] * (total[i] - 0.5 * (first[i] + last[i]))
        at_first += first[i] * way
        at_last += last[i] * way
    return at_first <= 0.0 or at_last <= 0.0


@njit(cache=True, nogil=True)
def _bits(number: int) -> int:
    count = 0
    while number > 0:
        count += number & 1
        number >>= 1
    return count


@njit(cache=True, nogil=True)
def transition(
    block: NDArray[np.int64],
    place: Place,
    log_density: float,
    variance: NDArray[np.float64],
    step_size: float,
    max_depth: int,
    generator: Any,
) -> tuple[float, int, bool, bool]:
    """Move ``place`` by one transition.

    Returns the log density there, the gradients taken, whether the trajectory diverged, and whether
    it stopped at ``max_depth``.
    """
    size = len(place.point)
    # Both ends of the trajectory: 0 the earlier, 1 the later.
    points, gradients = np.empty((2, size)), np.empty((2, size))
    momenta = np.empty((2, size))
    for i in range(size):
        momenta[0, i] = generator.standard_normal() / np.sqrt(variance[i])
        momenta[1, i] = momenta[0, i]
        for end in range(2):
            points[end, i], gradients[end, i] = place.point[i], place.gradient[i]
    start_energy = _kinetic(momenta[0], variance) - log_density
    total = momenta[0].copy()
    log_weight = 0.0
    half_total = np.empty(size)
    half_point, half_gradient = np.empty(size), np.empty(size)
    kept_momenta, kept_totals = np.empty((max_depth, size)), np.empty((max_depth, size))
    n_steps = 0
    for depth in range(max_depth):
        end = int(generator.random() < 0.5)
        step = step_size if end == 1 else -step_size
        x, p, g = points[end], momenta[end], gradients[end]
        half_total[:] = 0.0
        half_log_weight, half_log_density = -np.inf, -np.inf
        for leaf in range(1 << depth):
            for i in range(size):
                p[i] += 0.5 * step * g[i]
                x[i] += step * variance[i] * p[i]
            value = packed_log_density(block, x, g)
            n_steps += 1
            for i in range(size):
                p[i] += 0.5 * step * g[i]
            error = _kinetic(p, variance) - value - start_energy
            if not error < _LARGEST_ENERGY_ERROR:
                return log_density, n_steps, True, False
            half_log_weight = np.logaddexp(half_log_weight, -error)
            if -generator.standard_exponential() < -error - half_log_weight:
                half_point[:], half_gradient[:], half_log_density = x, g, value
            half_total += p
            # Even leaves begin stretches that end at odd leaves: at an odd one, as many of them as
            # its number ends in ones.
            top = _bits(leaf >> 1)
            if leaf % 2 == 0:
                kept_momenta[top] = p
                kept_totals[top] = half_total - p
                continue
            ending, number = 0, leaf
            while number & 1:
                ending += 1
                number >>= 1
            for k in range(top, top - ending, -1):
                if _turns(kept_momenta[k], p, half_total - kept_totals[k], variance):
                    return log_density, n_steps, False, False
        if -generator.standard_exponential() < half_log_weight - log_weight:
            place.point[:], place.gradient[:] = half_point, half_gradient
            log_density = half_log_density
        log_weight = np.logaddexp(log_weight, half_log_weight)
        total += half_total
        if _turns(momenta[0], momenta[1], total, variance):
            return log_density, n_steps, False, False
    return log_density, n_steps, False, True

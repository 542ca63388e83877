"""Coordinates in which NUTS takes longer steps: those of a Gaussian fitted where a chain starts.

    w = m + L x,      log p(x) = log p(w) + const,      grad_x = L' grad_w

with N(m, L L') from a few hundred natural-gradient steps. In x the target has about unit scales and
no correlations, as far as one Gaussian can say. The map is fixed before the chain begins, so the
chain draws from the same posterior whatever the fit is worth; a poor one only costs time.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from posetta.infer.natural_gradient import Cooling, Gaussian, Step, ascend
from posetta.infer.score_batch import Scores

_STEPS = 300
_POINTS = 32
_LEARNING_RATE = 0.1
_FIRST_SCALE = 0.1


def fitted_frame(
    scores: Scores,
    start: NDArray[np.float64],
    generator: np.random.Generator,
    deadline: float = np.inf,
) -> tuple[Gaussian, bool]:
    """Return a Gaussian fitted from ``start``, and whether ``deadline`` cut it short.

    A step that is not finite ends the fit with the Gaussian before it.
    """
    found, cut = Gaussian(start, _FIRST_SCALE * np.eye(len(start))), False

    def visit(number: int, step: Step) -> bool:
        nonlocal found, cut
        if not all(np.isfinite(part).all() for part in step.gaussian):
            return False
        found = step.gaussian
        unfinished = number + 1 < _STEPS
        cut = unfinished and time.perf_counter() > deadline
        return unfinished and not cut

    ascend(
        scores,
        found,
        generator,
        n_points=_POINTS,
        learning_rate=_LEARNING_RATE,
        cooling=Cooling(1.0, 0),
        visit=visit,
    )
    return found, cut

"""The best Gaussian for a density: natural-gradient ascent of the ELBO, cooled from a warm start.

    q(w) = N(m, L L'),   w = m + L e,   e ~ N(0, I)
    r = L' grad log p(w) / T + e                  the whitened gradient of log p / T - log q
    m <- m + step L mean(r),   L <- L (I + step low(A)),   A = sym mean(r e')

`low` keeps the triangle below the diagonal and half the diagonal. These are the natural gradients
of E_q[log p / T - log q] with respect to m and L L', so that neither the scale nor the correlations
of the target matter to the step. r vanishes where log p / T and log q have equal gradients: for a
Gaussian target the noise dies out at the optimum.

The temperature T falls to 1 over the first steps. A warm Gaussian is wide, sees past the nearest
mode, and settles in a better one. Afterwards the step falls with 1/t, which averages the noise out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posetta.infer.score_batch import Scores

# At most this change of the whitened factor in a step (spectral norm). With fewer points than
# coordinates A is mostly noise; twice this bound lets the noise win at 50 items.
_LARGEST_CHANGE = 0.5
# Steps of full size after cooling, before they fall.
_FULL_STEPS = 60


class Gaussian(NamedTuple):
    """N(mean, factor factor'), with a lower triangular factor."""

    mean: NDArray[np.float64]
    factor: NDArray[np.float64]

    def at(self, noise: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points (point, coordinate) that standard normal ``noise`` stands for."""
        return self.mean + noise @ self.factor.T

    def log_density_at(self, noise: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log density of `at`."""
        log_det = np.log(self.factor.diagonal()).sum() + 0.5 * len(self.mean) * np.log(2.0 * np.pi)
        return np.asarray(-0.5 * (noise**2).sum(axis=1) - log_det)


class Cooling(NamedTuple):
    """How hot the first steps are."""

    temperature: float
    steps: int

    def at(self, step: int) -> float:
        """Return the temperature of a step: geometric from the first to 1."""
        return float(self.temperature ** max(0.0, 1.0 - step / self.steps)) if self.steps else 1.0


class Step(NamedTuple):
    """Where the ascent is after a step, and what its points said of the Gaussian before it."""

    gaussian: Gaussian
    log_ratios: NDArray[np.float64]
    """log p - log q at the points: their mean estimates the ELBO."""


def ascend(
    scores: Scores,
    gaussian: Gaussian,
    generator: np.random.Generator,
    *,
    n_points: int,
    learning_rate: float,
    cooling: Cooling,
    visit: Callable[[int, Step], bool],
    first: int = 0,
) -> None:
    """Climb until ``visit``, called with each step's number and outcome, returns False.

    ``first`` is the number of the first step, for a climb that goes on.
    """
    number = first
    while True:
        after = max(number - cooling.steps, 0)
        rate = learning_rate * min(1.0, _FULL_STEPS / (after + 1))
        step = _step(scores, gaussian, generator, n_points, rate, cooling.at(number))
        if not visit(number, step):
            return
        gaussian = step.gaussian
        number += 1


def _step(
    scores: Scores,
    gaussian: Gaussian,
    generator: np.random.Generator,
    n_points: int,
    rate: float,
    temperature: float,
) -> Step:
    mean, factor = gaussian
    half = generator.standard_normal((n_points // 2, len(mean)))
    noise = np.concatenate([half, -half])
    values, gradients = scores(gaussian.at(noise))
    log_ratios = values - gaussian.log_density_at(noise)
    residual = gradients @ factor / temperature + noise
    pull = residual.mean(axis=0)
    change = residual.T @ noise / len(noise)
    size = _norm(residual) * _norm(noise) / len(noise)  # at least the norm of `change`
    rate_mean = min(rate, _LARGEST_CHANGE * np.sqrt(len(mean)) / max(np.linalg.norm(pull), 1e-300))
    rate_factor = min(rate, _LARGEST_CHANGE / max(size, 1e-300))
    growth = np.tril(0.5 * rate_factor * (change + change.T), -1)
    # The exponential keeps the diagonal positive.
    np.fill_diagonal(growth, np.exp(0.5 * rate_factor * change.diagonal()))
    return Step(Gaussian(mean + factor @ (rate_mean * pull), factor @ growth), log_ratios)


def _norm(rows: NDArray[np.float64]) -> float:
    """Return the spectral norm of a matrix with few rows."""
    return float(np.sqrt(max(np.linalg.eigvalsh(rows @ rows.T)[-1], 0.0)))

"""The prior of the latent product order on a few items.

Orders that differ only by names share one weight, so the prior is one number for each class. Each
class takes it from whichever of two simulations tells more about it:

- *Latents*: simulated latent matrices, counted by the class of their order. Best if it is common.
- *Factors*: rows u ~ N(0, Sigma_rho) are u_ik = sqrt(rho) s_i + sqrt(1 - rho) e_ik with independent
  standard normals s and e. Given rho and the factors s, the columns are independent, and each ranks
  the items by normals with unit variance and means m_i = s_i sqrt(rho / (1 - rho)). The probability
  of every class is then known (`column_rankings`); only rho, dim and s are simulated. No class is
  too rare to be seen, and with rho = 0 nothing is left to chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posetta.infer.all_orders import AllOrders, codes_of
from posetta.infer.column_rankings import class_probabilities, ranking_probabilities
from posetta.model.latent import product_order
from posetta.model.model import Model
from posetta.rng import child

# All probabilities given one draw of the factors cost about as much as this many latents.
_LATENTS_PER_FACTORS = 250
_FEWEST_FACTORS = 400
# The factors come from the prior half of the time, so that no importance weight exceeds 2, and else
# from wider or narrower normals, which bring out chains and antichains at any rho.
_PRIOR_SHARE = 0.5
_SCALES = 2.0 ** np.array([-3, -2, -1, 1, 2])


@dataclass(frozen=True, eq=False)
class Latents:
    """Simulated orders with the rho and dim that made them."""

    class_of_draw: NDArray[np.int64]
    rho: NDArray[np.float64]
    dim: NDArray[np.float64]

    def per_draw(self, class_values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each draw says of the prior mean of a value of the classes."""
        return class_values[self.class_of_draw]

    def weights(self, label: int) -> NDArray[np.float64]:
        """Return the weights of the draws given a class."""
        return (self.class_of_draw == label).astype(float)


@dataclass(frozen=True, eq=False)
class Factors:
    """Simulated (rho, dim, factors), and what they say of every class."""

    weight: NDArray[np.float64]
    """(draw, class): importance weight times probability of the class given the draw."""
    rho: NDArray[np.float64]
    dim: NDArray[np.float64]

    def per_draw(self, class_values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each draw says of the prior mean of a value of the classes."""
        return self.weight @ class_values

    def weights(self, label: int) -> NDArray[np.float64]:
        """Return the weights of the draws given a class."""
        return self.weight[:, label]


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior probability of each class of orders, and the simulations behind it."""

    class_probability: NDArray[np.float64]
    class_effective: NDArray[np.float64]
    """Effective number of draws behind each: (sum of weights)^2 / sum of their squares."""
    class_possible: NDArray[np.bool_]
    """Whether the prior holds the class at all: one column makes total orders only."""
    from_factors: NDArray[np.bool_]
    """Which classes are estimated from the factors, the others being counted."""
    parts: tuple[tuple[Latents, NDArray[np.float64]], tuple[Factors, NDArray[np.float64]]]
    """Each simulation with the scale of the classes that rest on it (0 for those that do not)."""

    @property
    def unseen_probability(self) -> float:
        """Upper 95 % limit for the probability of a class that was never drawn."""
        return 3.0 / len(self.parts[0][0].rho)

    def se(self, class_residuals: NDArray[np.float64]) -> float:
        """Return the standard error of the prior mean of a value of each class."""
        return _se([part.per_draw(class_residuals * scale) for part, scale in self.parts])

    def mean_and_se(self, name: str, class_weights: NDArray[np.float64]) -> tuple[float, float]:
        """Return the mean of rho or dim when classes are weighted, with its standard error."""
        values = [getattr(part, name) for part, _ in self.parts]
        weights = [part.per_draw(class_weights * scale) for part, scale in self.parts]
        total = sum(w.mean() for w in weights)
        mean = sum((w * v).mean() for w, v in zip(weights, values, strict=True)) / total
        residuals = [w * (v - mean) for w, v in zip(weights, values, strict=True)]
        return float(mean), _se(residuals)

    def draw(
        self, classes: NDArray[np.int64], generator: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw (rho, dim) given each class: those of a simulated draw that made it."""
        rho, dim = np.empty(len(classes)), np.empty(len(classes))
        for label in np.unique(classes):
            part = self.parts[int(self.from_factors[label])][0]
            upto = np.cumsum(part.weights(label))
            mine = np.flatnonzero(classes == label)
            pick = np.searchsorted(upto, generator.random(len(mine)) * upto[-1], side="right")
            rho[mine], dim[mine] = part.rho[pick], part.dim[pick]
        return rho, dim


def simulate_prior(orders: AllOrders, n: int, model: Model, n_draws: int, seed: int) -> Prior:
    """Estimate the prior from ``n_draws`` latents and a few factors."""
    latents = _simulate_latents(orders, n, model, n_draws, child(seed, "exact", "prior"))
    n_factors = max(_FEWEST_FACTORS, n_draws // _LATENTS_PER_FACTORS)
    factors = _simulate_factors(orders, n, model, n_factors, child(seed, "exact", "factors"))
    # Every order on at most five items is the intersection of two total orders.
    total_orders = orders.closures.sum(axis=(1, 2)) == n * (n - 1) // 2
    widest = model.dim_max if model.dim == "random" else model.dim
    possible = np.zeros(orders.n_classes, dtype=bool)
    possible[orders.class_of[total_orders | (widest > 1)]] = True
    counts = np.bincount(latents.class_of_draw, minlength=orders.n_classes)
    squares = (factors.weight**2).sum(axis=0)
    effective = factors.weight.sum(axis=0) ** 2 / np.where(squares > 0.0, squares, 1.0)
    from_factors = (effective > counts) & possible
    by_factors = np.where(from_factors, factors.weight.mean(axis=0), 0.0)
    counted = np.where(from_factors, 0.0, counts / n_draws)
    # The counted classes share what the others leave.
    scale = (1.0 - by_factors.sum()) / counted.sum() if counted.any() else 1.0
    probability = by_factors + scale * counted
    return Prior(
        class_probability=probability / probability.sum(),
        class_effective=np.where(from_factors, effective, counts),
        class_possible=possible,
        from_factors=from_factors,
        parts=(
            (latents, np.where(from_factors, 0.0, scale)),
            (factors, from_factors.astype(float)),
        ),
    )


def _draw_rho_and_dim(
    n: int, model: Model, n_draws: int, generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rho = np.full(n_draws, 0.0 if model.rho is None else model.rho)
    if model.rho is None:
        rho = generator.beta(*model.rho_prior, size=n_draws)
    if model.dim != "random":
        return rho, np.full(n_draws, model.dim)
    weights = np.exp(model.dim_log_prior(n))
    return rho, generator.choice(np.arange(1, model.dim_max + 1), size=n_draws, p=weights)


def _simulate_latents(
    orders: AllOrders, n: int, model: Model, n_draws: int, generator: np.random.Generator
) -> Latents:
    rho, dims = _draw_rho_and_dim(n, model, n_draws, generator)
    class_of_draw = np.empty(n_draws, dtype=np.int64)
    for dim in np.unique(dims):
        for mine in _blocks(np.flatnonzero(dims == dim), 100_000):
            z = generator.standard_normal((len(mine), n, int(dim)))
            r = rho[mine][:, None, None]
            a, b = np.sqrt(1.0 - r), np.sqrt(1.0 + (dim - 1) * r)
            closures = product_order(a * z + (b - a) / dim * z.sum(axis=-1, keepdims=True))
            class_of_draw[mine] = orders.class_of[orders.index_of_code[codes_of(closures)]]
    return Latents(class_of_draw, rho, dims.astype(float))


def _simulate_factors(
    orders: AllOrders, n: int, model: Model, n_draws: int, generator: np.random.Generator
) -> Factors:
    rho, dims = _draw_rho_and_dim(n, model, n_draws, generator)
    factors, importance = _draw_factors(n, n_draws, generator)
    # A rho that rounding made 1 is as close to 1 as it can be.
    ratio = rho / np.maximum(1.0 - rho, np.finfo(float).eps)
    means = np.sqrt(ratio)[:, None] * factors
    weight = np.empty((n_draws, orders.n_classes))
    for dim in np.unique(dims):
        for mine in _blocks(np.flatnonzero(dims == dim), 500):
            rankings = ranking_probabilities(means[mine])
            weight[mine] = class_probabilities(n, int(dim), rankings) * importance[mine, None]
    return Factors(weight / weight.sum(axis=1).mean(), rho, dims.astype(float))


def _draw_factors(
    n: int, n_draws: int, generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw the factors and their weights, prior over proposal.

    Only differences of factors matter, so the densities are those of the factors less their mean.
    """
    scale = _SCALES[generator.integers(len(_SCALES), size=n_draws)]
    scale[generator.random(n_draws) < _PRIOR_SHARE] = 1.0
    factors = scale[:, None] * generator.standard_normal((n_draws, n))
    square = ((factors - factors.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    # Against the prior; capped far beyond where the weight matters.
    log_ratio = 0.5 * np.multiply.outer(square, 1.0 - _SCALES**-2.0) - (n - 1) * np.log(_SCALES)
    others = np.exp(np.minimum(log_ratio, 700.0)).mean(axis=1)
    return factors, 1.0 / (_PRIOR_SHARE + (1.0 - _PRIOR_SHARE) * others)


def _se(residuals: list[NDArray[np.float64]]) -> float:
    """Return the standard error of a sum of means of independent simulated draws."""
    return float(np.sqrt(sum(r.var(ddof=1) / len(r) for r in residuals)))


def _blocks(indices: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(indices), size):
        yield indices[start : start + size]

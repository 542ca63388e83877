"""The oracle: the posterior over all orders of at most five items, by enumeration.

    p(h | data) ∝ p(h) ∫∫ p(data | h, beta, noise) p(beta) p(noise) d beta d noise

The prior p(h) of the latent product order has no closed form. It is estimated from simulated
latents, pooled over relabelling: orders that differ only by names share one weight (16 classes on
four items, 63 on five). That estimate is the only Monte Carlo in here; its standard error is
carried through to every probability by the delta method. The integrals are trapezoid sums on
log beta and logit noise, which converge geometrically for such smooth, decaying integrands.

With data, the likelihood of an order depends on few *kinds of step* (how many items are on the
frontier with how many successors, and which was taken), so all orders and all nodes are one matrix
product of kind counts and kind log-probabilities.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit, logit

from posetta.data import Traces
from posetta.errors import InputError
from posetta.infer.methods import Exact
from posetta.model.hard import hard_trace_log_likelihood
from posetta.model.latent import product_order
from posetta.model.model import Model
from posetta.posterior import Draws, Posterior
from posetta.rng import child

LARGEST = 5
# Successor counts on at most five items are 0 .. 4; a frontier is a histogram of them.
_BASE = LARGEST + 1
_OFF_FRONTIER = LARGEST


@dataclass(frozen=True, eq=False)
class AllOrders:
    """Every strict order on n labelled items."""

    closures: NDArray[np.bool_]
    """(order, item, item)"""
    index_of_code: NDArray[np.int32]
    """Order with a given bit code (see `_codes`); -1 where the relation is not an order."""
    class_of: NDArray[np.int64]
    """Unlabelled class of each order."""

    @property
    def n_classes(self) -> int:
        """Number of orders up to relabelling."""
        return int(self.class_of.max()) + 1


@cache
def all_orders(n: int) -> AllOrders:
    """Enumerate the strict orders on n items: 1, 3, 19, 219, 4231 for n = 1 .. 5."""
    if not 1 <= n <= LARGEST:
        raise InputError(
            f"method 'exact' enumerates orders of 1 to {LARGEST} items; these are {n}. "
            "Use method='hard'."
        )
    upper = np.triu_indices(n, k=1)
    found: dict[int, NDArray[np.bool_]] = {}
    class_of: dict[int, int] = {}
    relabellings = [list(p) for p in permutations(range(n))]
    # Every order has a relabelling in which all pairs point upwards.
    for bits in product([False, True], repeat=len(upper[0])):
        closure = np.zeros((n, n), dtype=bool)
        closure[upper] = bits
        if (closure @ closure & ~closure).any():
            continue
        variants = [closure[np.ix_(p, p)] for p in relabellings]
        codes = [int(_codes(v)) for v in variants]
        if codes[0] in found:
            continue
        label = len(set(class_of.values()))
        for code, variant in zip(codes, variants, strict=True):
            found[code] = variant
            class_of[code] = label
    index_of_code = np.full(2 ** (n * n), -1, dtype=np.int32)
    for k, code in enumerate(found):
        index_of_code[code] = k
    return AllOrders(
        closures=np.array(list(found.values())),
        index_of_code=index_of_code,
        class_of=np.array([class_of[code] for code in found]),
    )


@dataclass(frozen=True, eq=False)
class Prior:
    """Simulated prior: the class of each simulated order with the rho and dim that made it."""

    class_of_draw: NDArray[np.int64]
    rho: NDArray[np.float64]
    dim: NDArray[np.float64]
    class_probability: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExactPosterior:
    """Probabilities of all orders, and posterior means with the oracle's own standard errors."""

    orders: AllOrders
    probability: NDArray[np.float64]
    """Posterior probability of each order."""
    precedence: NDArray[np.float64]
    precedence_se: NDArray[np.float64]
    means: dict[str, float]
    """Posterior means of rho, beta, noise and dim."""
    mean_se: dict[str, float]
    log_evidence: float
    prior: Prior
    _grid: _Grid


def exact_posterior(
    traces: Traces, model: Model, *, prior_draws: int = 1_000_000, seed: int = 0
) -> ExactPosterior:
    """Return the posterior over all orders of at most five items."""
    orders = all_orders(traces.n_items)
    prior = _simulate_prior(orders, traces.n_items, model, prior_draws, seed)
    grid = _Grid(traces, model, orders)
    log_evidence_of, mean_beta, mean_noise = grid.integrate()
    size = np.bincount(orders.class_of)
    weight_of = prior.class_probability[orders.class_of] / size[orders.class_of]
    # Only orders that the prior holds set the scale: with dim=1 those are the total orders.
    log_evidence_of[weight_of == 0.0] = -np.inf
    log_top = log_evidence_of.max()
    if log_top == -np.inf:
        raise InputError(
            "no order that the model's prior holds allows all of these traces. "
            "Use noise=None, a noise above 0, or a larger dim."
        )
    likelihood = np.exp(log_evidence_of - log_top)
    joint = weight_of * likelihood
    total = joint.sum()
    probability = joint / total

    def class_mean(value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of ``value`` over the orders of each class."""
        return np.bincount(orders.class_of, weights=value, minlength=len(size)) / size

    by_class = class_mean(likelihood)

    def mean_and_se(value: NDArray[np.float64]) -> tuple[float, float]:
        """Posterior mean of an order's ``value``, and its error from the simulated prior."""
        mean = float(probability @ value)
        residual = (class_mean(likelihood * value) - mean * by_class) / total
        return mean, _prior_se(residual[prior.class_of_draw])

    n = traces.n_items
    precedence, precedence_se = np.zeros((n, n)), np.zeros((n, n))
    for i, j in permutations(range(n), 2):
        value = orders.closures[:, i, j].astype(float)
        precedence[i, j], precedence_se[i, j] = mean_and_se(value)
    means, errors = {}, {}
    means["beta"], errors["beta"] = mean_and_se(mean_beta)
    means["noise"], errors["noise"] = mean_and_se(mean_noise)
    # rho and dim are tied to the simulated orders: each simulated draw carries its own.
    weight = by_class[prior.class_of_draw] / total
    for name in ("rho", "dim"):
        values = getattr(prior, name)
        means[name] = float(np.mean(weight * values) / np.mean(weight))
        errors[name] = _prior_se(weight * (values - means[name]))
    return ExactPosterior(
        orders=orders,
        probability=probability,
        precedence=precedence,
        precedence_se=precedence_se,
        means=means,
        mean_se=errors,
        log_evidence=float(log_top + np.log(total)),
        prior=prior,
        _grid=grid,
    )


def run(traces: Traces, model: Model, settings: Exact, seed: int) -> Posterior:
    """Fit by enumeration: exact probabilities, with i.i.d. draws beside them."""
    started = time.perf_counter()
    exact = exact_posterior(traces, model, prior_draws=settings.prior_draws, seed=seed)
    generator = child(seed, "exact", "draws")
    n_draws = settings.draws
    chosen = generator.choice(len(exact.probability), size=n_draws, p=exact.probability)
    beta, noise = exact._grid.draw_scalars(chosen, generator)
    rho, dim = _draw_rho_and_dim(exact, chosen, generator)
    closures = exact.orders.closures[chosen]
    log_likelihood = np.array(
        [hard_trace_log_likelihood(closures[s], beta[s], traces, noise[s]) for s in range(n_draws)]
    )
    return Posterior(
        items=traces.items,
        method="exact",
        likelihood="hard",
        model=model,
        settings=asdict(settings),
        seed=seed,
        traces=traces,
        draws=Draws(
            closure_bits=Draws.pack(closures)[None],
            scalars={
                name: values[None]
                for name, values in (("rho", rho), ("beta", beta), ("dim", dim), ("noise", noise))
            },
            log_likelihood=log_likelihood[None],
        ),
        precedence=exact.precedence,
        diagnostics={
            "log_evidence": exact.log_evidence,
            "precedence_se_max": float(exact.precedence_se.max()),
        },
        seconds={"compile": 0.0, "run": time.perf_counter() - started},
    )


class _Grid:
    """Likelihood of every order at every node of (log beta, logit noise)."""

    # Trapezoid sums are off by 2 exp(-2 pi^2 sd^2 / step^2): posteriors of log beta with an sd of
    # 0.05, and of logit noise with 0.15, are integrated to better than 1e-4.
    STEP_BETA = 0.05
    STEP_NOISE = 0.2

    def __init__(self, traces: Traces, model: Model, orders: AllOrders) -> None:
        self.counts, self.kinds = _count_kinds(traces, orders)
        shape, rate = model.beta_prior
        self.beta, self.log_weight_beta = _nodes(
            model.beta, stats.gamma(shape, scale=1.0 / rate), np.log, np.exp, self.STEP_BETA
        )
        self.noise, self.log_weight_noise = _nodes(
            model.noise, stats.beta(*model.noise_prior), logit, expit, self.STEP_NOISE
        )
        taken, histogram, _ = self.kinds
        # log(1 + s) for s = 0 .. 4, against the largest on each kind's frontier: no beta overflows.
        log_successors = np.log1p(np.arange(LARGEST))
        top = np.where(histogram > 0, log_successors, 0.0).max(axis=1, initial=0.0)
        below = np.minimum(log_successors - top[:, None], 0.0)
        weight = np.exp(np.multiply.outer(below, self.beta))
        chosen = below[np.arange(len(taken)), np.minimum(taken, LARGEST - 1)]
        # log q of an item on the frontier; the others have q = 0.
        self.log_q = np.multiply.outer(chosen, self.beta) - np.log(
            (histogram[:, :, None] * weight).sum(axis=1)
        )
        self.off_frontier = taken == _OFF_FRONTIER

    def log_likelihood(self, rows: slice | NDArray[np.int64], noise: float) -> NDArray[np.float64]:
        """Return the log-likelihood of some orders at all beta nodes for one noise."""
        counts = self.counts[rows]
        off = self.off_frontier
        if noise == 0.0:
            result = counts[:, ~off] @ self.log_q[~off]
            result[counts[:, off].any(axis=1)] = -np.inf
            return result
        q = np.where(off[:, None], 0.0, np.exp(self.log_q))
        return counts @ np.log((1.0 - noise) * q + noise / self.kinds[2][:, None])

    def integrate(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return, per order, the log evidence and the posterior means of beta and noise."""
        total = np.full(len(self.counts), -np.inf)
        log_beta_mean, log_noise_mean = total.copy(), total.copy()
        for noise, log_weight in zip(self.noise, self.log_weight_noise, strict=True):
            weighted = self.log_likelihood(slice(None), noise) + self.log_weight_beta
            top = weighted.max(axis=1, keepdims=True)
            top[~np.isfinite(top)] = 0.0  # an impossible order: every node is -inf
            weight = np.exp(weighted - top)
            with np.errstate(divide="ignore"):
                here = top[:, 0] + np.log(weight.sum(axis=1)) + log_weight
                beta_here = top[:, 0] + np.log(weight @ self.beta) + log_weight
                noise_here = here + np.log(noise)
            np.logaddexp(total, here, out=total)
            np.logaddexp(log_beta_mean, beta_here, out=log_beta_mean)
            np.logaddexp(log_noise_mean, noise_here, out=log_noise_mean)
        possible = np.isfinite(total)
        safe = np.where(possible, total, 0.0)
        return (
            total,
            np.where(possible, np.exp(log_beta_mean - safe), 0.0),
            np.where(possible, np.exp(log_noise_mean - safe), 0.0),
        )

    def draw_scalars(
        self, chosen: NDArray[np.int64], generator: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw (beta, noise) given each chosen order, from the nodes."""
        beta, noise = np.empty(len(chosen)), np.empty(len(chosen))
        for order in np.unique(chosen):
            row = np.array([order])
            log_weight = np.array(
                [
                    self.log_likelihood(row, eps)[0] + self.log_weight_beta + log_w
                    for eps, log_w in zip(self.noise, self.log_weight_noise, strict=True)
                ]
            ).ravel()
            weight = np.exp(log_weight - log_weight.max())
            mine = np.flatnonzero(chosen == order)
            node = generator.choice(len(weight), size=len(mine), p=weight / weight.sum())
            beta[mine] = self.beta[node % len(self.beta)]
            noise[mine] = self.noise[node // len(self.beta)]
        return beta, noise


def _codes(closures: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Read each closure (..., n, n) as one binary number."""
    flat = closures.reshape(*closures.shape[:-2], -1)
    return np.asarray(flat @ (1 << np.arange(flat.shape[-1], dtype=np.int64)))


def _simulate_prior(orders: AllOrders, n: int, model: Model, n_draws: int, seed: int) -> Prior:
    generator = child(seed, "exact", "prior")
    fixed_rho = np.full(n_draws, 0.0 if model.rho is None else model.rho)
    rho = generator.beta(*model.rho_prior, size=n_draws) if model.rho is None else fixed_rho
    if model.dim == "random":
        weights = np.exp(model.dim_log_prior(n))
        dims = generator.choice(np.arange(1, model.dim_max + 1), size=n_draws, p=weights)
    else:
        dims = np.full(n_draws, model.dim)
    class_of_draw = np.empty(n_draws, dtype=np.int64)
    for dim in np.unique(dims):
        for mine in _blocks(np.flatnonzero(dims == dim), 100_000):
            z = generator.standard_normal((len(mine), n, int(dim)))
            r = rho[mine][:, None, None]
            a, b = np.sqrt(1.0 - r), np.sqrt(1.0 + (dim - 1) * r)
            closures = product_order(a * z + (b - a) / dim * z.sum(axis=-1, keepdims=True))
            class_of_draw[mine] = orders.class_of[orders.index_of_code[_codes(closures)]]
    counts = np.bincount(class_of_draw, minlength=orders.n_classes)
    return Prior(class_of_draw, rho, dims.astype(float), counts / n_draws)


def _blocks(indices: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(indices), size):
        yield indices[start : start + size]


def _prior_se(residuals: NDArray[np.float64]) -> float:
    """Standard error of a mean of independent simulated draws."""
    return float(residuals.std(ddof=1) / np.sqrt(len(residuals)))


def _count_kinds(
    traces: Traces, orders: AllOrders
) -> tuple[NDArray[np.float64], tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Count, for every order, the steps of each kind.

    A kind is (successors of the taken item or off the frontier; histogram of successor counts on
    the frontier; size of the remainder), written as one number.
    """
    coded = []
    weights = []
    for row in range(traces.n_unique):
        members = traces.choice_set(row)
        for t in range(int(traces.n_listed[row])):
            rest = members[t:]
            inside = orders.closures[:, rest[:, None], rest[None, :]]
            on_frontier = np.logical_not(inside.any(axis=1))
            successors = inside.sum(axis=2)
            histogram = (on_frontier * _BASE**successors).sum(axis=1)
            taken = np.where(on_frontier[:, 0], successors[:, 0], _OFF_FRONTIER)
            coded.append((histogram * _BASE + taken) * _BASE + len(rest))
            weights.append(traces.counts[row])
    if not coded:
        empty = np.zeros(0, dtype=np.int64)
        none = np.zeros((0, LARGEST), dtype=np.int64)
        return np.zeros((len(orders.closures), 0)), (empty, none, empty)
    kinds, position = np.unique(np.array(coded), return_inverse=True)
    position = position.reshape(len(coded), -1)
    counts = np.zeros((len(orders.closures), len(kinds)))
    for step, weight in enumerate(weights):
        counts[np.arange(len(counts)), position[step]] += weight
    remaining = kinds % _BASE
    taken = kinds // _BASE % _BASE
    digits = kinds[:, None] // _BASE**2 // _BASE ** np.arange(LARGEST) % _BASE
    return counts, (taken, digits, remaining)


def _nodes(  # type: ignore[no-untyped-def]
    fixed: float | None, prior, forward, backward, step: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and log weights of a trapezoid sum over an unconstrained scalar."""
    if fixed is not None:
        return np.array([float(fixed)]), np.zeros(1)
    low, high = forward(prior.ppf(1e-8)), forward(prior.isf(1e-12))
    eta = np.arange(low, high + step, step)
    value = backward(eta)
    # Density on the unconstrained scale: d value / d eta by the transform's own derivative.
    slope = value if forward is np.log else value * (1.0 - value)
    log_weight = prior.logpdf(value) + np.log(slope)
    return value, log_weight - np.logaddexp.reduce(log_weight)


def _draw_rho_and_dim(
    exact: ExactPosterior, chosen: NDArray[np.int64], generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Given an order, rho and dim are those of a simulated draw of its class."""
    classes = exact.orders.class_of[chosen]
    by_class = np.argsort(exact.prior.class_of_draw, kind="stable")
    boundaries = np.searchsorted(
        exact.prior.class_of_draw[by_class], np.arange(exact.orders.n_classes + 1)
    )
    low, high = boundaries[classes], boundaries[classes + 1]
    pick = by_class[generator.integers(low, high)]
    return exact.prior.rho[pick], exact.prior.dim[pick]

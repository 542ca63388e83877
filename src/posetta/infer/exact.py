"""The oracle: the posterior over all orders of at most five items, by enumeration.

    p(h | data) ∝ p(h) ∫∫ p(data | h, beta, noise) p(beta) p(noise) d beta d noise

The prior p(h) of the latent product order has no closed form. It is simulated, pooled over
relabelling: orders that differ only by names share one weight (16 classes on four items, 63 on
five; see `exact_prior`). That estimate is the only Monte Carlo in here; its standard error is
carried through to every probability by the delta method. The integrals are trapezoid sums on
log beta and logit noise, which converge geometrically for such smooth, decaying integrands.

With data, the likelihood of an order depends on few *kinds of step* (how many items are on the
frontier with how many successors, and which was taken), so all orders and all nodes are one matrix
product of kind counts and kind log-probabilities.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit, logit

from posetta.data import Traces
from posetta.errors import InputError
from posetta.infer.all_orders import LARGEST, AllOrders, all_orders
from posetta.infer.exact_prior import Prior, simulate_prior
from posetta.infer.methods import Exact
from posetta.model.hard import hard_trace_log_likelihood
from posetta.model.model import Model
from posetta.posterior import Draws, Posterior
from posetta.posterior.posterior import Status
from posetta.rng import child

__all__ = ["LARGEST", "ExactPosterior", "exact_posterior", "run"]

FEWEST_DRAWS = 20
"""A prior weight needs this many effective draws: then its relative error is below 0.23."""
LARGEST_THIN_SHARE = 0.01

# Successor counts on at most five items are 0 .. 4; a frontier is a histogram of them.
_BASE = LARGEST + 1
_OFF_FRONTIER = LARGEST


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
    thin_share: float
    """Posterior mass on classes with fewer than `FEWEST_DRAWS` effective simulated draws."""
    prior: Prior
    _grid: _Grid


def exact_posterior(
    traces: Traces, model: Model, *, prior_draws: int = 1_000_000, seed: int = 0
) -> ExactPosterior:
    """Return the posterior over all orders of at most five items."""
    orders = all_orders(traces.n_items)
    prior = simulate_prior(orders, traces.n_items, model, prior_draws, seed)
    grid = _Grid(traces, model, orders)
    log_evidence_of, mean_beta, mean_noise = grid.integrate()
    size = np.bincount(orders.class_of)
    weight_of = prior.class_probability[orders.class_of] / size[orders.class_of]
    # Only orders that the prior holds set the scale: with dim=1 those are the total orders.
    log_evidence_of[~prior.class_possible[orders.class_of]] = -np.inf
    if log_evidence_of.max() == -np.inf:
        raise InputError(
            "no order that the model's prior holds allows all of these traces. "
            "Use noise=None, a noise above 0, or a larger dim."
        )
    log_top = log_evidence_of[weight_of > 0.0].max()
    if log_top == -np.inf:
        raise InputError(
            "no order in the simulated prior allows all of these traces. Raise prior_draws."
        )
    thin_share = _thin_share(log_evidence_of, orders, prior)
    log_evidence_of[weight_of == 0.0] = -np.inf
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
        return mean, prior.se((class_mean(likelihood * value) - mean * by_class) / total)

    n = traces.n_items
    precedence, precedence_se = np.zeros((n, n)), np.zeros((n, n))
    for i, j in permutations(range(n), 2):
        value = orders.closures[:, i, j].astype(float)
        precedence[i, j], precedence_se[i, j] = mean_and_se(value)
    means, errors = {}, {}
    means["beta"], errors["beta"] = mean_and_se(mean_beta)
    means["noise"], errors["noise"] = mean_and_se(mean_noise)
    # rho and dim are tied to the simulated orders: each simulated draw carries its own.
    for name in ("rho", "dim"):
        means[name], errors[name] = prior.mean_and_se(name, by_class / total)
    return ExactPosterior(
        orders=orders,
        probability=probability,
        precedence=precedence,
        precedence_se=precedence_se,
        means=means,
        mean_se=errors,
        log_evidence=float(log_top + np.log(total)),
        thin_share=thin_share,
        prior=prior,
        _grid=grid,
    )


def _thin_share(log_evidence_of: NDArray[np.float64], orders: AllOrders, prior: Prior) -> float:
    """Return the posterior mass of classes that the simulated prior hardly holds.

    A class that was never drawn counts with the probability that it may have all the same.
    """
    unseen = np.where(prior.class_possible, prior.unseen_probability, 0.0)
    probability = np.where(prior.class_effective > 0.0, prior.class_probability, unseen)
    weight_of = (probability / np.bincount(orders.class_of))[orders.class_of]
    joint = weight_of * np.exp(log_evidence_of - log_evidence_of[weight_of > 0.0].max())
    return float(joint[(prior.class_effective < FEWEST_DRAWS)[orders.class_of]].sum() / joint.sum())


def run(traces: Traces, model: Model, settings: Exact, seed: int) -> Posterior:
    """Fit by enumeration: exact probabilities, with i.i.d. draws beside them."""
    started = time.perf_counter()
    exact = exact_posterior(traces, model, prior_draws=settings.prior_draws, seed=seed)
    generator = child(seed, "exact", "draws")
    n_draws = settings.draws
    chosen = generator.choice(len(exact.probability), size=n_draws, p=exact.probability)
    beta, noise = exact._grid.draw_scalars(chosen, generator)
    rho, dim = exact.prior.draw(exact.orders.class_of[chosen], generator)
    closures = exact.orders.closures[chosen]
    log_likelihood = np.array(
        [hard_trace_log_likelihood(closures[s], beta[s], traces, noise[s]) for s in range(n_draws)]
    )
    status: Status = "ok"
    warnings: tuple[str, ...] = ()
    if exact.thin_share > LARGEST_THIN_SHARE:
        status = "unmixed"
        warnings = (
            f"{exact.thin_share:.0%} of the posterior mass rests on orders whose prior weight has "
            f"fewer than {FEWEST_DRAWS} effective simulated draws behind it: raise prior_draws "
            f"(now {settings.prior_draws:,}).",
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
        status=status,
        warnings=warnings,
        diagnostics={
            "log_evidence": exact.log_evidence,
            "precedence_se_max": float(exact.precedence_se.max()),
            "thin_share": exact.thin_share,
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

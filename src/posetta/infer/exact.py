"""The oracle: the posterior over all orders of at most five items, by enumeration.

    p(h | data) ∝ p(h) ∫∫ p(data | h, beta, noise) p(beta) p(noise) d beta d noise

The prior p(h) of the latent product order has no closed form. It is simulated, pooled over
relabelling: orders that differ only by names share one weight (16 classes on four items, 63 on
five; see `exact_prior`). That estimate is the only Monte Carlo in here; its standard error is
carried through to every probability by the delta method. The integrals are trapezoid sums on
log beta and logit noise, which converge geometrically for such smooth, decaying integrands.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import InputError
from posetta.infer.all_orders import LARGEST, AllOrders, all_orders
from posetta.infer.exact_prior import Prior, simulate_prior
from posetta.infer.methods import Exact
from posetta.infer.quadrature import Grid
from posetta.model.hard import hard_trace_log_likelihood
from posetta.model.model import Model
from posetta.posterior import Draws, Posterior
from posetta.posterior.posterior import Status
from posetta.rng import child

__all__ = ["LARGEST", "ExactPosterior", "exact_posterior", "run"]

FEWEST_DRAWS = 20
"""A prior weight needs this many effective draws: then its relative error is below 0.23."""
LARGEST_THIN_SHARE = 0.01


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
    _grid: Grid


def exact_posterior(
    traces: Traces, model: Model, *, prior_draws: int = 1_000_000, seed: int = 0
) -> ExactPosterior:
    """Return the posterior over all orders of at most five items."""
    orders = all_orders(traces.n_items)
    prior = simulate_prior(orders, traces.n_items, model, prior_draws, seed)
    size = np.bincount(orders.class_of)
    weight_of = prior.class_probability[orders.class_of] / size[orders.class_of]
    grid = Grid(traces, model, orders)
    unseen = np.where(prior.class_possible, prior.unseen_probability, 0.0)[orders.class_of]
    with np.errstate(divide="ignore"):
        log_prior = np.log(np.where(weight_of > 0.0, weight_of, unseen))
    log_evidence_of, mean_beta, mean_noise = grid.integrate(log_prior)
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

"""Simulation-based calibration: over data from the prior, the truth ranks evenly among draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from posetta import HardMCMC, Model, fit
from posetta.model.hard import hard_log_likelihood
from posetta.model.simulate import Simulation, simulate

N_ITEMS, REPLICATES, DRAWS, BINS = 4, 320, 79, 16


def simulate_from_prior(model: Model, k: int) -> tuple[Simulation, dict[str, float]]:
    """Scalars from the model's priors, latents given them, i.i.d. traces over subsets."""
    rng = np.random.default_rng([17, k])
    dim = model.dim
    if dim == "random":
        weights = np.exp(model.dim_log_prior(N_ITEMS))
        dim = 1 + int(rng.choice(len(weights), p=weights))
    truth = {
        "rho": rng.beta(*model.rho_prior),
        "beta": rng.gamma(model.beta_prior[0], 1.0 / model.beta_prior[1]),
        "noise": rng.beta(*model.noise_prior) if model.noise is None else model.noise,
        "dim": float(dim),
    }
    sim = simulate(
        N_ITEMS, dim=int(dim), rho=truth["rho"], beta=truth["beta"], noise=truth["noise"],
        seed=1000 + k, ip_cov=None, n_traces=4, lengths=(2, N_ITEMS),
    )  # fmt: skip
    return sim, truth


def rank(draws: np.ndarray, truth: float, rng: np.random.Generator) -> int:
    """Number of draws below the truth, ties broken at random."""
    return int((draws < truth).sum() + rng.integers(0, (draws == truth).sum() + 1))


@pytest.mark.parametrize(
    "model",
    [Model(dim="random", dim_max=4), Model(dim=2, noise=None)],
    ids=["random dimension", "noise inferred"],
)
def test_ranks_are_uniform(model: Model) -> None:
    """Each quantity passes a chi-square test at 1e-4: ten tests, a false alarm in a thousand."""
    ranks: dict[str, list[int]] = {}
    rng = np.random.default_rng(3)
    for k in range(REPLICATES):
        sim, truth = simulate_from_prior(model, k)
        settings = HardMCMC(draws=DRAWS, warmup=60, chains=1, thin=12)
        post = fit(sim.train, settings, model, seed=k)
        draws = {name: post.draws.scalar(name) for name in truth}
        where = [sim.train.items.index(label) for label in sim.order.items]
        closure = np.zeros((N_ITEMS, N_ITEMS), dtype=bool)
        closure[np.ix_(where, where)] = sim.order.closure
        truth["pair"] = float(closure[0, 1])
        draws["pair"] = np.array([c[0, 1] for c in post.draws.closures(N_ITEMS)], dtype=float)
        counts = sim.train.counts
        truth["log-likelihood"] = hard_log_likelihood(
            closure, truth["beta"], sim.train, noise=truth["noise"]
        )
        # The same sum in the same order, so that equal orders tie exactly.
        rounded = (post.draws.log_likelihood.reshape(DRAWS, -1) @ counts).round(9)
        draws["log-likelihood"] = rounded
        truth["log-likelihood"] = round(truth["log-likelihood"], 9)
        for name, value in truth.items():
            ranks.setdefault(name, []).append(rank(draws[name], value, rng))
    fixed = {"noise"} if model.noise is not None else {"dim"}
    for name in ranks.keys() - fixed:
        found = np.array(ranks[name])
        bins = np.bincount(found * BINS // (DRAWS + 1), minlength=BINS)
        assert stats.chisquare(bins).pvalue > 1e-4, (name, bins)

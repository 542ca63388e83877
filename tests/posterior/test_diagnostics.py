"""R-hat and effective size where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from posetta.cli.words import warning_words
from posetta.model.latent import product_order
from posetta.posterior import Draws
from posetta.posterior.diagnostics import (
    chain_diagnostics,
    effective_size,
    length_warning,
    mixing_status,
    plain_split_r_hats,
    split_r_hat,
)


def autoregressive(phi: float, chains: int, draws: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    noise = generator.normal(size=(chains, draws)) * np.sqrt(1 - phi**2)
    series = np.empty((chains, draws))
    series[:, 0] = generator.normal(size=chains)
    for t in range(1, draws):
        series[:, t] = phi * series[:, t - 1] + noise[:, t]
    return series


@pytest.mark.parametrize("by_rank", [True, False])
@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregression(phi: float, by_rank: bool) -> None:
    """The integrated autocorrelation time is (1 + phi) / (1 - phi)."""
    draws = autoregressive(phi, 4, 20_000)
    expected = draws.size * (1 - phi) / (1 + phi)
    assert effective_size(draws, by_rank=by_rank) == pytest.approx(expected, rel=0.15)


def test_r_hat_is_one_for_chains_of_one_distribution() -> None:
    assert split_r_hat(autoregressive(0.3, 4, 5000)) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("by_rank", [True, False])
def test_r_hat_sees_a_chain_apart_and_a_drift(by_rank: bool) -> None:
    draws = autoregressive(0.0, 4, 1000)
    apart = draws.copy()
    apart[0] += 2.0
    assert split_r_hat(apart, by_rank=by_rank) > 1.2
    drifting = draws + np.linspace(-2, 2, 1000)
    assert split_r_hat(drifting, by_rank=by_rank) > 1.2


def test_plain_r_hat_by_hand() -> None:
    """Halves (0, 2), (0, 2), (1, 3), (1, 3): within 2, between 2 var(1, 1, 2, 2) = 2/3."""
    draws = np.array([[0.0, 2.0, 0.0, 2.0], [1.0, 3.0, 1.0, 3.0]])
    assert split_r_hat(draws, by_rank=False) == pytest.approx(np.sqrt(0.5 + (2 / 3) / 2 / 2))


def test_constants_and_short_runs() -> None:
    assert split_r_hat(np.ones((2, 10))) == 1.0
    assert np.isnan(effective_size(np.ones((2, 10))))
    assert np.isnan(split_r_hat(np.zeros((2, 3))))
    stuck = np.repeat([[0.0], [1.0]], 10, axis=1)
    assert split_r_hat(stuck, by_rank=False) == np.inf


def test_many_plain_r_hats_are_those_of_each():
    draws = np.random.default_rng(3).normal(size=(3, 41, 5)) + np.arange(3)[:, None, None]
    draws[:, :, 4] = 1.0
    expected = [split_r_hat(draws[:, :, k], by_rank=False) for k in range(5)]
    np.testing.assert_allclose(plain_split_r_hats(draws), expected)
    stuck = np.repeat([[0.0], [1.0]], 10, axis=1)[:, :, None]
    assert plain_split_r_hats(stuck) == np.inf


def test_a_single_chain_agrees_with_nobody():
    latent = np.random.default_rng(4).normal(size=(1, 200, 3, 2))
    found = chain_diagnostics({"rho": latent[:, :, 0, 0]}, Draws.pack(product_order(latent)))
    assert np.isnan(found["chain_mae_max"])
    (words,) = mixing_status({**found, "ess_min": 3.0}, stopped=False, remedy="Raise draws.")[1]
    assert "effective draws 3 (at least 100). Raise draws." in words


def test_chains_that_disagree_on_the_order_are_seen():
    generator = np.random.default_rng(4)
    latent = generator.normal(size=(2, 200, 3, 2))
    quantities = {"rho": generator.random((2, 200))}

    def diagnose(latent):
        return chain_diagnostics(quantities, Draws.pack(product_order(latent)), latent)

    agreeing = diagnose(latent)
    assert agreeing["margin_r_hat_99"] < 1.05
    assert agreeing["pair_r_hat_99"] < 1.05
    assert agreeing["chain_mae_max"] < 0.06
    assert 0.01 < agreeing["pair_mcse_max"] < 0.04
    latent[1, :, 0] += 2.0  # in the second chain item 0 tends to come first
    apart = diagnose(latent)
    assert apart["margin_r_hat_99"] > 1.2
    assert apart["pair_r_hat_99"] > 1.1
    assert apart["chain_mae_max"] > 0.2
    assert apart["r_hat_max"] == agreeing["r_hat_max"]


@pytest.mark.parametrize(
    ("r_hat", "ess", "pairs", "stopped", "status"),
    [
        (1.01, 500.0, 1.2, False, "ok"),
        (1.2, 500.0, 1.0, False, "unmixed"),
        (1.01, 20.0, 1.0, False, "unmixed"),
        (1.01, 500.0, 1.21, False, "unmixed"),
        (1.01, 500.0, np.inf, False, "unmixed"),
        (np.nan, np.nan, np.nan, False, "unmixed"),
        (1.01, 500.0, 1.0, True, "budget_reached"),
    ],
)
def test_the_status_follows_from_the_gate(r_hat, ess, pairs, stopped, status):
    found = {"r_hat_max": r_hat, "ess_min": ess, "pair_r_hat_99": pairs, "chain_mae_max": 0.1}
    word, warnings = mixing_status(found, stopped=stopped, remedy="Raise warmup.")
    assert word == status
    assert bool(warnings) == (status != "ok")
    assert status != "unmixed" or "Raise warmup." in warnings[0]


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([7, 7, 7], ()),
        ([7], ()),
        ([7, 8, 7], ("the chains differ in length: 1 draw of the longer ones is left out.",)),
        ([9, 8, 7], ("the chains differ in length: 3 draws of the longer ones are left out.",)),
    ],
)
def test_draws_beyond_the_shortest_chain_are_counted(lengths, words):
    assert length_warning(lengths) == words


def test_a_run_that_was_stopped_is_told_what_holds_for_time_and_user():
    found = {"r_hat_max": 1.0, "ess_min": 500.0, "pair_r_hat_99": 1.0, "chain_mae_max": 0.1}
    (words,) = mixing_status(found, stopped=True, remedy="Raise warmup.")[1]
    assert words.startswith("the run was stopped early. Let it run to its end")
    assert "or raise --max-seconds if that ended it" in warning_words(words, "hard")


def test_too_few_draws_are_not_judged_to_be_good():
    latent = np.random.default_rng(1).normal(size=(2, 3, 5, 2))
    quantities = {"log_posterior": latent[:, :, 0, 0], "rho": np.full((2, 3), 0.5)}
    found = chain_diagnostics(quantities, Draws.pack(product_order(latent)), latent)
    assert all(np.isnan(found[name]) for name in ("r_hat_max", "ess_min", "pair_mcse_max"))
    status, warnings = mixing_status(found, stopped=True, remedy="Raise draws.")
    assert status == "budget_reached"
    assert "too few draws" in warnings[0]


def test_chains_that_hold_a_pair_in_opposite_orders_have_not_mixed():
    generator = np.random.default_rng(2)
    latent = generator.normal(size=(4, 400, 6, 2))
    latent[:2, :, 0] += 6.0  # two chains hold item 0 first, two last; no scalar shows it
    latent[2:, :, 0] -= 6.0
    quantities = {"log_posterior": generator.normal(size=(4, 400))}
    found = chain_diagnostics(quantities, Draws.pack(product_order(latent)))
    status, warnings = mixing_status(found, stopped=False, remedy="Raise warmup.")
    assert status == "unmixed"
    assert "R-hat of uncertain pairs" in warnings[0]

"""R-hat and effective size where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from posetta.posterior.diagnostics import effective_size, split_r_hat


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

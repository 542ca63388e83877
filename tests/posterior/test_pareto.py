"""Pareto k of weights whose tail is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from posetta.posterior.pareto import pareto_k


@pytest.mark.parametrize("k", [0.2, 0.5, 0.9, 1.3])
def test_finds_the_shape_of_a_pareto_tail(k: float) -> None:
    """The mean over 40 samples lies near k, pulled a little to 1/2 by the weak prior.

    With 134 weights in the tail the standard deviation of one is about (1 + k) / sqrt(134).
    """
    found = [
        pareto_k(np.log(stats.genpareto(k).rvs(2000, random_state=seed))) for seed in range(40)
    ]
    pulled = (134 * k + 5) / 144
    error = (1 + k) / np.sqrt(134) / np.sqrt(40)
    assert np.mean(found) == pytest.approx(pulled, abs=4 * error)


def test_is_low_for_weights_that_hardly_differ() -> None:
    log_weights = 0.1 * np.random.default_rng(0).standard_normal(1000)
    assert pareto_k(log_weights) < 0.3


def test_a_constant_does_not_matter() -> None:
    log_weights = np.random.default_rng(0).standard_normal(500)
    assert pareto_k(log_weights) == pytest.approx(pareto_k(log_weights - 5000.0), abs=1e-9)


def test_degenerate_weights() -> None:
    assert np.isnan(pareto_k(np.zeros(10)))
    assert np.isnan(pareto_k(np.zeros(1000)))
    one_rules = np.zeros(1000)
    one_rules[3] = 800.0
    assert pareto_k(one_rules) == np.inf

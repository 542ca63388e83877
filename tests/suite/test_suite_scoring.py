"""Scoring in shards is scoring."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from posetta import Exact, SettingError, Traces, fit, simulate
from posetta.posterior import predictive
from posetta.suite import score_in_shards


@pytest.fixture(scope="module")
def scored():
    sim = simulate(5, seed=3, n_test=200)
    posterior = fit(sim.train, Exact(draws=20, prior_draws=1000), seed=1)
    lists = [*sim.test, ["i4", "i0"], ["i1"]]
    return posterior, Traces.from_lists(lists, items=sim.order.items)


@pytest.mark.parametrize("shards", [1, 3, 7, 1000, None])
@pytest.mark.parametrize("likelihood", ["own", "hard"])
def test_the_same_numbers_whatever_the_shards(scored, shards, likelihood):
    posterior, traces = scored
    whole = predictive(posterior, traces, likelihood)
    parts = score_in_shards(posterior, traces, shards=shards, likelihood=likelihood)
    np.testing.assert_array_equal(parts.trace, whole.trace)
    np.testing.assert_array_equal(parts.step, whole.step)


def test_any_executor_serves(scored):
    posterior, traces = scored
    with ThreadPoolExecutor(2) as pool:
        parts = score_in_shards(posterior, traces, executor=pool)
    np.testing.assert_array_equal(parts.trace, predictive(posterior, traces).trace)


def test_nothing_to_score_and_no_shards(scored):
    posterior, traces = scored
    nothing = Traces.from_lists([], items=traces.items)
    assert len(score_in_shards(posterior, nothing).trace) == 0
    with pytest.raises(SettingError, match="shards=0"):
        score_in_shards(posterior, traces, shards=0)

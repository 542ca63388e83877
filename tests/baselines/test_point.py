"""A single order as a posterior: its beta, its noise and its warnings."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest
from tests.model import reference as ref

from posetta import Majority, Maximal, Model, SettingError, Traces, fit, simulate
from posetta.baselines.point import fit_beta, point_posterior
from posetta.model import hard_log_likelihood

# a before b; c apart. Taking a first is what a large beta favours.
ORDER = np.zeros((3, 3), dtype=bool)
ORDER[0, 1] = True


def traces_of(*lists, **more):
    return Traces.from_lists(lists, items=list("abc"), **more)


def test_beta_by_hand():
    # Only the first step depends on beta: p(a) = 2^beta / (2^beta + 1) = 4/5 at beta = 2.
    traces = traces_of(["a", "b", "c"], ["c", "a", "b"], counts=[4, 1])
    assert fit_beta(ORDER, traces, 0.0) == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_beta_is_at_least_as_good_as_any_on_a_grid(seed, noise):
    sim = simulate(8, seed=seed, beta=[0.2, 1.0, 2.0, 3.0][seed], noise=noise, ip_cov=None,
                   n_traces=40)  # fmt: skip
    closure = sim.order.closure
    beta = fit_beta(closure, sim.train, noise)
    best = hard_log_likelihood(closure, beta, sim.train, noise)
    grid = np.exp(np.linspace(-7, 5, 241))
    values = [hard_log_likelihood(closure, b, sim.train, noise) for b in grid]
    # The grid brackets the optimum; the search stops within 1e-5 of it in log beta.
    assert best >= max(values) - 1e-6
    assert 0.01 < beta < 10


def test_beta_of_traces_without_choices_is_one():
    assert fit_beta(ORDER, traces_of(), 0.0) == 1.0
    contradiction = traces_of(["b", "a"])
    assert fit_beta(ORDER, contradiction, 0.0) == 1.0


def test_impossible_traces_do_not_move_beta():
    possible = traces_of(["a", "b", "c"], ["c", "a", "b"], counts=[4, 1])
    mixed = traces_of(["b", "a"], ["a", "b", "c"], ["c", "a", "b"], counts=[9, 4, 1])
    assert fit_beta(ORDER, mixed, 0.0) == fit_beta(ORDER, possible, 0.0)


CHAIN = np.triu(np.ones((3, 3), dtype=bool), k=1)
ANTICHAIN = np.zeros((3, 3), dtype=bool)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("closure", [CHAIN, ANTICHAIN], ids=["chain", "antichain"])
@pytest.mark.parametrize("count", [1, 10**9])
def test_beta_is_one_where_the_data_say_nothing(closure, noise, count):
    traces = traces_of(["a", "b", "c"], counts=[count])
    assert fit_beta(closure, traces, noise) == 1.0


def test_rows_that_say_nothing_do_not_hide_those_that_do():
    traces = traces_of(["a", "b", "c"], ["c", "a", "b"], ["a", "b"], counts=[4, 1, 10**9])
    assert fit_beta(ORDER, traces, 0.0) == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize(
    ("lists", "counts", "beta", "words"),
    [
        ([["a", "b", "c"]], [5], np.exp(5), "greatest value sought, 148"),
        ([["a", "b", "c"], ["c", "a", "b"]], [1, 4], np.exp(-7), r"least value.*beta=0"),
    ],
)
def test_beta_at_the_end_of_its_range_is_said(lists, counts, beta, words):
    traces = traces_of(*lists, counts=counts)
    assert fit_beta(ORDER, traces, 0.0) == beta
    point = point_posterior(
        ORDER, traces, Model(), method="maximal", settings=Maximal(), seed=0, started=0.0
    )
    (warning,) = point.warnings
    assert re.search(words, warning)
    held = point_posterior(
        ORDER, traces, Model(beta=2.0), method="maximal", settings=Maximal(), seed=0, started=0.0
    )
    assert held.warnings == ()


def test_a_count_costs_no_memory():
    traces = traces_of(["a", "b", "c"], ["c", "a", "b"], counts=[4_000_000, 1_000_000])
    fit_beta(ORDER, traces, 0.0)  # compiles
    tracemalloc.start()
    beta = fit_beta(ORDER, traces, 0.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6
    assert beta == pytest.approx(2.0, abs=1e-3)


def test_a_posterior_of_one_draw():
    traces = traces_of(["a", "b", "c"], ["c", "a", "b"], counts=[4, 1])
    point = fit(traces, "maximal")
    assert point.is_point
    assert (point.draws.n_chains, point.draws.n_draws) == (1, 1)
    assert set(np.unique(point.precedence)) == {0.0, 1.0}
    np.testing.assert_array_equal(point.draws.mean_closure(3), point.precedence)
    beta = point.draws.scalar("beta")[0]
    expected = [
        ref.hard_log_probability(ORDER, beta, 0.0, listed, choice_set)
        for listed, choice_set, _ in ref.rows(traces)
    ]
    np.testing.assert_allclose(point.draws.log_likelihood[0, 0], expected)
    assert point.warnings == ()


def test_noise_cannot_be_inferred_by_a_point():
    with pytest.raises(SettingError, match="cannot infer the noise"):
        fit(traces_of(["a", "b"]), "maximal", Model(noise=None))
    assert fit(traces_of(["a", "b"]), "maximal").draws.scalar("noise").tolist() == [0.0]


def test_contradicted_traces_are_counted_in_a_warning():
    traces = traces_of(["a", "b", "c"], ["b", "a", "c"], counts=[5, 2])
    point = fit(traces, Majority())
    (warning,) = point.warnings
    assert warning.startswith("2 of 7 traces contradict the order")
    assert "noise above 0" in warning
    assert point.diagnostics["impossible_traces"] == 2
    assert np.isneginf(point.draws.log_likelihood[0, 0]).tolist() == [False, True]
    noisy = fit(traces, Majority(), Model(noise=0.05))
    assert noisy.warnings == ()
    assert noisy.diagnostics["impossible_traces"] == 0

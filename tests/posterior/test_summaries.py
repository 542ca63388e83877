"""Cover probabilities, Monte Carlo errors and shapes of draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.posterior.examples import CHAIN, FORK, TRAIN, hard_posterior, three_draws

from posetta import Exact, Traces, fit
from posetta.model.latent import product_order
from posetta.order import Poset
from posetta.posterior import summaries
from posetta.posterior.diagnostics import effective_size


def posterior_of(closures, n_chains=1):
    closures = np.asarray(closures, dtype=bool)
    traces = Traces.from_lists([], items=[f"i{k}" for k in range(closures.shape[1])])
    scalars = np.ones(len(closures)), np.zeros(len(closures))
    return hard_posterior(closures, *scalars, traces, n_chains=n_chains)


def random_closures(seed, n_draws, n_items, dim=2):
    latents = np.random.default_rng(seed).standard_normal((n_draws, n_items, dim))
    return product_order(latents)


def test_covers_by_hand():
    # a covers b in the fork and the chain, c in the fork only; b covers c in the chain.
    third = 1 / 3
    expected = [[0, 2 * third, third], [0, 0, third], [0, 0, 0]]
    np.testing.assert_allclose(three_draws().cover_probability, expected)
    assert not three_draws().cover_probability.flags.writeable


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 20), st.integers(1, 3))
def test_against_posets(seed, n_items, dim):
    closures = random_closures(seed, 6, n_items, dim)
    posterior = posterior_of(closures, n_chains=2)
    orders = [Poset.from_closure(c, posterior.items) for c in closures]
    expected = np.mean([order.covers for order in orders], axis=0)
    np.testing.assert_allclose(posterior.cover_probability, expected, atol=1e-15)
    assert posterior.n_relations.reshape(-1).tolist() == [order.n_relations for order in orders]
    assert posterior.depth.reshape(-1).tolist() == [order.depth for order in orders]
    assert posterior.depth.shape == (2, 3)


@pytest.mark.parametrize("n_items", [63, 64, 65, 130])
def test_rows_of_several_words(monkeypatch, n_items):
    monkeypatch.setattr(summaries, "_BLOCK_BYTES", 3000)  # several blocks of draws
    closures = random_closures(n_items, 4, n_items)
    posterior = posterior_of(closures)
    orders = [Poset.from_closure(c, posterior.items) for c in closures]
    expected = np.mean([order.covers for order in orders], axis=0)
    np.testing.assert_allclose(posterior.cover_probability, expected, atol=1e-15)
    assert posterior.depth[0].tolist() == [order.depth for order in orders]


def test_weighted_pairs_against_numpy():
    closures = random_closures(1, 7, 11)
    bits = np.packbits(closures, axis=-1)
    weight = np.random.default_rng(2).standard_normal((11, 11))
    expected = (closures * weight).sum(axis=(1, 2))
    np.testing.assert_allclose(summaries.pair_sums(bits, weight), expected)
    each = np.random.default_rng(3).random(7)
    expected = np.tensordot(each, closures, axes=1)
    np.testing.assert_allclose(summaries.weighted_mean(bits, each), expected)


# -- Monte Carlo errors ----------------------------------------------------------------------------


def test_errors_against_one_pair_at_a_time():
    closures = random_closures(5, 120, 6)
    posterior = posterior_of(closures, n_chains=3)
    chains = closures.reshape(3, 40, 6, 6).astype(float)
    for i in range(6):
        for j in range(6):
            draws = chains[:, :, i, j]
            if np.ptp(draws) == 0:
                assert posterior.precedence_se[i, j] == 0.0
            else:
                expected = draws.std(ddof=1) / np.sqrt(effective_size(draws, by_rank=False))
                assert posterior.precedence_se[i, j] == pytest.approx(expected)


def test_errors_are_those_of_a_share_where_draws_are_independent():
    closures = random_closures(6, 4000, 4)
    posterior = posterior_of(closures, n_chains=4)
    P = posterior.precedence
    ratio = posterior.precedence_se[P > 0] / np.sqrt(P * (1 - P) / 4000)[P > 0]
    assert ratio == pytest.approx(1.0, abs=0.25)


def test_correlated_draws_have_larger_errors():
    closures = np.repeat(random_closures(7, 200, 4), 5, axis=0)
    kept, repeated = posterior_of(closures[::5]), posterior_of(closures)
    np.testing.assert_allclose(kept.precedence, repeated.precedence)
    varies = kept.precedence_se > 0
    # Five copies of every draw say no more than one.
    ratio = repeated.precedence_se[varies] / kept.precedence_se[varies]
    assert ratio == pytest.approx(1.0, abs=0.4)


def test_chains_that_disagree_for_good_have_large_errors():
    stuck = posterior_of([CHAIN] * 50 + [np.zeros((3, 3))] * 50, n_chains=2)
    assert stuck.precedence_se[0, 1] > 0.2


def test_points_have_no_error_and_exact_ones_the_oracles_own():
    assert not fit(TRAIN, "maximal").precedence_se.any()
    exact = fit(TRAIN, Exact(draws=20, prior_draws=2000), seed=1)
    largest = exact.diagnostics["precedence_se_max"]
    assert largest > 0
    sure = (exact.precedence == 0) | (exact.precedence == 1)
    np.testing.assert_array_equal(exact.precedence_se, np.where(sure, 0.0, largest))


def test_too_few_draws_have_an_unknown_error():
    two = hard_posterior([CHAIN, FORK], [0.0, 0.0], [0.0, 0.0], TRAIN)
    assert np.isnan(two.precedence_se[1, 2])
    assert two.precedence_se[0, 1] == 0.0


# -- graphs ----------------------------------------------------------------------------------------


def test_networkx_edges_carry_probabilities():
    graph = three_draws().to_networkx(0.5)
    assert set(graph.nodes) == set("abc")
    assert set(graph.edges) == {("a", "b"), ("a", "c")}
    assert graph.edges["a", "b"] == pytest.approx(
        {"probability": 2 / 3, "cover_probability": 2 / 3}
    )
    assert graph.edges["a", "c"] == pytest.approx(
        {"probability": 2 / 3, "cover_probability": 1 / 3}
    )
    low = three_draws().to_networkx(0.2)
    assert set(low.edges) == {("a", "b"), ("b", "c")}
    assert set(three_draws().to_networkx(0.2, closure=True).edges) == set(low.edges) | {("a", "c")}
    assert set(three_draws().to_networkx(rule="medoid").edges) == {("a", "b"), ("a", "c")}


def test_a_copy_with_other_draws_has_its_own_summaries():
    posterior = three_draws()
    assert posterior.cover_probability.any()
    free = replace(
        posterior, draws=replace(posterior.draws, closure_bits=np.zeros((1, 3, 3, 1), np.uint8))
    )
    assert not free.cover_probability.any()

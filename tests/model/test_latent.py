"""The latent prior and the order that it induces."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from tests.model import reference as ref

from posetta.errors import InputError
from posetta.model import correlate, product_order
from posetta.order import Poset

quick = settings(derandomize=True, deadline=None, max_examples=100)


@quick
@given(st.floats(0.0, 0.999), st.integers(1, 8))
def test_the_root_gives_the_covariance(rho, dim):
    """Rows of correlate(I) are the columns of L, and L L' = Sigma_rho."""
    L = correlate(np.eye(dim), rho).T
    np.testing.assert_allclose(L @ L.T, ref.covariance(rho, dim), atol=1e-14)


def test_correlate_treats_rows_and_stacks_alike():
    z = np.random.default_rng(1).normal(size=(2, 3, 4, 5))
    u = correlate(z, 0.4)
    assert u.shape == z.shape
    L = ref.symmetric_root(ref.covariance(0.4, 5))
    np.testing.assert_allclose(u[1, 2, 3], L @ z[1, 2, 3], rtol=1e-13)


@quick
@given(ref.latents(whole=True))
def test_product_order_is_the_reference(latent):
    closure = product_order(latent)
    assert closure.dtype == bool
    np.testing.assert_array_equal(closure, ref.product_order(latent))


def test_greater_is_earlier_and_ties_give_no_relation():
    latent = np.array([[2.0, 2.0], [1.0, 1.0], [1.0, 0.0], [0.0, 3.0]])
    expected = np.zeros((4, 4), dtype=bool)
    expected[0, 1] = expected[0, 2] = True  # 1 and 2 tie in the first column; 3 crosses all
    np.testing.assert_array_equal(product_order(latent), expected)
    assert not product_order(np.ones((3, 2))).any()


@quick
@given(ref.latents(whole=True), st.integers(1, 3), st.data())
def test_columns_of_nan_are_padding(latent, n_padding, data):
    padding = np.full((len(latent), n_padding), np.nan)
    columns = data.draw(st.permutations(range(latent.shape[1] + n_padding)))
    padded = np.hstack([latent, padding])[:, columns]
    np.testing.assert_array_equal(product_order(padded), product_order(latent))


def test_a_stack_is_ordered_one_by_one_with_its_own_padding():
    stack = np.random.default_rng(2).normal(size=(2, 3, 4, 2))
    stack[0, 1, :, 1] = np.nan
    closures = product_order(stack)
    assert closures.shape == (2, 3, 4, 4)
    for at in np.ndindex(2, 3):
        kept = stack[at][:, ~np.isnan(stack[at][0])]
        np.testing.assert_array_equal(closures[at], ref.product_order(kept))


@pytest.mark.parametrize(
    ("latent", "message"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], "not finite"),
        ([[np.inf], [1.0]], "not finite"),
        (np.full((3, 2), np.nan), "at least one column"),
        (np.zeros((3, 0)), "at least one column"),
        (np.zeros(3), "shape"),
    ],
)
def test_a_latent_that_orders_nothing_is_refused(latent, message):
    latent = np.asarray(latent)
    for stack in (latent, np.stack([np.zeros_like(latent), latent])):
        if latent.ndim > 1 or stack is latent:
            with pytest.raises(InputError, match=message):
                product_order(stack)


@quick
@given(ref.latents(whole=True))
def test_a_poset_of_latents_is_the_same_order(latent):
    np.testing.assert_array_equal(Poset.from_latent(latent).closure, product_order(latent))


def prior_orders(seed, n_items, rho, n_draws=20_000):
    z = np.random.default_rng(seed).normal(size=(n_draws, n_items, 2))
    return product_order(correlate(z, rho))


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9])
def test_probability_of_a_precedence_is_the_orthant_probability(rho):
    """The gap of two rows is N(0, 2 Sigma_rho): both signs agree with 1/4 + asin(rho) / 2 pi."""
    closures = prior_orders(3, 2, rho)
    expected = 0.25 + math.asin(rho) / (2.0 * math.pi)
    standard_error = math.sqrt(expected * (1.0 - expected) / len(closures))
    assert abs(closures[:, 0, 1].mean() - expected) < 4.0 * standard_error


def p_value_of_equal_frequencies(some, others):
    """Compare how often each labelled order occurs in two samples of closures."""
    weights = 1 << np.arange(some[0].size)
    codes = [sample.reshape(len(sample), -1) @ weights for sample in (some, others)]
    seen = np.unique(np.concatenate(codes))
    return chi2_contingency([[np.sum(c == code) for code in seen] for c in codes]).pvalue


def test_orders_on_a_subset_are_distributed_as_if_the_rest_did_not_exist():
    """Marginal consistency: 3 of 5 items against 3 items (19 orders)."""
    within_five = prior_orders(4, 5, rho=0.5)[:, [0, 2, 3]][:, :, [0, 2, 3]]
    alone = prior_orders(5, 3, rho=0.5)
    assert p_value_of_equal_frequencies(within_five, alone) > 0.001
    # The test has the power to tell a slightly different prior.
    assert p_value_of_equal_frequencies(within_five, prior_orders(6, 3, rho=0.55)) < 1e-6

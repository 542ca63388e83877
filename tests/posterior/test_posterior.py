"""`Posterior` and its packed draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.posterior.examples import CHAIN, FORK, FREE, TRAIN, hard_posterior, three_draws

from posetta.errors import InputError
from posetta.order import Poset
from posetta.posterior import Draws

quick = settings(derandomize=True, deadline=None, max_examples=60)


@st.composite
def stacks(draw):
    """Bool matrices (chain, draw, item, item), with items on both sides of a byte's eight."""
    n_items = draw(st.integers(1, 18))
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 4)), n_items, n_items)
    seed = draw(st.integers(0, 2**32))
    return np.random.default_rng(seed).random(shape) < draw(st.sampled_from([0.1, 0.5, 1.0]))


def packed(closures):
    n_rows = closures.shape[:2]
    return Draws(
        closure_bits=Draws.pack(closures), scalars={}, log_likelihood=np.zeros((*n_rows, 0))
    )


@quick
@given(stacks())
def test_packing_round_trip(closures):
    n_items = closures.shape[-1]
    draws = packed(closures)
    assert (draws.n_chains, draws.n_draws) == closures.shape[:2]
    unpacked = np.array(list(draws.closures(n_items)))
    assert unpacked.dtype == bool
    assert np.array_equal(unpacked, closures.reshape(-1, n_items, n_items))


@quick
@given(stacks())
def test_mean_closure_is_the_mean_of_the_draws(closures):
    n_items = closures.shape[-1]
    np.testing.assert_allclose(
        packed(closures).mean_closure(n_items), closures.mean(axis=(0, 1)), atol=1e-15
    )


def test_mean_closure_of_many_draws():
    # More draws than one block, and a number of them that does not divide into equal blocks.
    closures = np.random.default_rng(0).random((2, 777, 5, 5)) < 0.3
    np.testing.assert_allclose(packed(closures).mean_closure(5), closures.mean(axis=(0, 1)))


def test_scalars_run_chain_after_chain():
    scalars = {"beta": np.array([[1.0, 2.0], [3.0, 4.0]])}
    draws = Draws(np.zeros((2, 2, 1, 1), np.uint8), scalars, np.zeros((2, 2, 0)))
    assert draws.scalar("beta").tolist() == [1, 2, 3, 4]


def test_orders_are_the_draws():
    posterior = three_draws(n_chains=3)
    expected = [Poset.from_closure(np.array(c, bool), list("abc")) for c in (FORK, CHAIN, FREE)]
    assert list(posterior.orders()) == expected


def test_probability_by_label():
    posterior = three_draws()
    assert posterior.probability("a", "b") == pytest.approx(2 / 3)
    assert posterior.probability("b", "c") == pytest.approx(1 / 3)
    assert posterior.probability("c", "b") == 0.0


@pytest.mark.parametrize("pair", [("a", "z"), ("z", "a")])
def test_an_unknown_label_is_named(pair):
    with pytest.raises(InputError, match='no item "z" among the 3'):
        three_draws().probability(*pair)


def test_both_directions_and_neither_sum_to_one():
    posterior = three_draws()
    total = posterior.precedence + posterior.precedence.T + posterior.incomparable
    np.testing.assert_allclose(total, 1.0 - np.eye(3), atol=1e-15)
    assert posterior.incomparable[1, 2] == pytest.approx(2 / 3)


def test_decode_follows_the_threshold():
    posterior = three_draws()
    assert posterior.decode().closure_pairs == [("a", "b"), ("a", "c")]
    assert posterior.decode(0.2).closure_pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    assert posterior.decode(0.9).closure_pairs == []


def test_scalar_summary():
    summary = three_draws().scalar_summary
    assert summary.keys() == {"beta", "noise"}
    # 0.5, 1, 2: quantiles between neighbours, a tenth of the way in from either end.
    assert summary["beta"] == pytest.approx(
        {"mean": 3.5 / 3, "sd": np.std([0.5, 1, 2], ddof=1), "q5": 0.55, "q95": 1.9}
    )


def test_scalar_summary_of_one_draw_has_no_spread():
    one = hard_posterior([FREE], [0.7], [0.0], TRAIN, is_point=True)
    assert one.scalar_summary["beta"] == {"mean": 0.7, "sd": 0.0, "q5": 0.7, "q95": 0.7}


def test_datatree_names_what_the_contract_names():
    tree = three_draws(n_chains=3).to_datatree()
    drawn = tree["posterior"]
    assert drawn["closure"].shape == (3, 1, 3, 3)
    assert drawn["closure"].dims[:2] == ("chain", "draw")
    assert drawn["beta"].shape == (3, 1)
    assert drawn["item"].to_numpy().tolist() == ["a", "b", "c"]
    assert drawn["closure"].sel(item="a", item_after="b").to_numpy().ravel().tolist() == [1, 1, 0]
    assert tree["log_likelihood"]["trace"].shape == (3, 1, 2)


def test_repr_says_how_many_draws():
    assert "3x1 draws" in repr(three_draws(n_chains=3))
    assert "one order" in repr(hard_posterior([FREE], [1.0], [0.0], TRAIN, is_point=True))

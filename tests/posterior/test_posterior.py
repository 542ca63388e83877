"""`Posterior` and its packed draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.posterior.examples import CHAIN, FORK, FREE, TRAIN, hard_posterior, three_draws

from posetta.errors import InputError
from posetta.model.latent import product_order
from posetta.order import Poset, transitive_closure
from posetta.posterior import Draws
from posetta.posterior.check import all_orders

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


# -- what a posterior cannot be --------------------------------------------------------------------


def altered(place, value):
    precedence = three_draws().precedence.copy()
    precedence[place] = value
    return precedence


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"precedence": np.zeros((2, 2))}, r"precedence has the shape \(2, 2\); it needs \(3, 3\)"),
        ({"precedence": np.zeros(9)}, "precedence has the shape"),
        ({"precedence": altered((0, 1), 1.1)}, "no probabilities"),
        ({"precedence": altered((0, 1), -0.1)}, "no probabilities"),
        ({"precedence": altered((0, 1), np.nan)}, "no probabilities"),
        ({"precedence": altered((1, 1), 0.5)}, "diagonal of precedence must be 0"),
        ({"items": ("a", "b")}, "items of a posterior must be those of its traces"),
        ({"items": ("b", "a", "c")}, "items of a posterior must be those of its traces"),
        ({"status": "fine"}, "status='fine' is unknown"),
    ],
)
def test_a_posterior_checks_itself(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(three_draws(), **changes)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("closure_bits", np.zeros((1, 3, 2, 1), np.uint8)),
        ("closure_bits", np.zeros((1, 3, 3, 2), np.uint8)),
        ("closure_bits", np.zeros((1, 2, 3, 1), np.uint8)),
        ("closure_bits", np.zeros((1, 0, 3, 1), np.uint8)),
        ("closure_bits", np.zeros((1, 3, 3, 1), bool)),
        ("log_likelihood", np.zeros((1, 3, 5))),
        ("log_likelihood", np.zeros((3, 2))),
        ("scalars", {"beta": np.zeros(3)}),
        ("latent", np.zeros((1, 3, 2, 4))),
        ("latent", np.zeros((1, 3, 3))),
    ],
)
def test_draws_fit_the_items_and_the_traces(name, value):
    posterior = three_draws()
    with pytest.raises(InputError, match=r"has the shape|there are no draws|needs uint8"):
        replace(posterior, draws=replace(posterior.draws, **{name: value}))


def test_a_rounding_error_above_one_is_one():
    posterior = replace(three_draws(), precedence=altered((0, 1), np.nextafter(1.0, 2.0)))
    assert posterior.probability("a", "b") == 1.0


def test_the_arrays_are_read_only():
    latent, mine = np.zeros((1, 3, 3, 2)), three_draws().precedence.copy()
    posterior = replace(three_draws(), precedence=mine)
    draws = replace(posterior.draws, latent=latent)
    held = [posterior.precedence, draws.closure_bits, draws.log_likelihood, draws.latent]
    for array in (*held, *draws.scalars.values()):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    latent[...] = mine[...] = 1.0  # the caller's own arrays stay the caller's


@quick
@given(stacks())
def test_orders_among_relations(closures):
    n_items = closures.shape[-1]
    expected = all(
        not c.diagonal().any() and np.array_equal(c, transitive_closure(c))
        for c in closures.reshape(-1, n_items, n_items)
    )
    assert all_orders(Draws.pack(closures), n_items) == expected


@pytest.mark.parametrize("n_items", [1, 8, 9, 64, 65, 130])
def test_one_pair_too_few_is_seen_in_any_block(n_items, monkeypatch):
    monkeypatch.setattr("posetta.posterior.summaries._BLOCK_BYTES", 3 * n_items * 24)
    latent = np.random.default_rng(n_items).standard_normal((2, 10, n_items, 2))
    closures = product_order(latent.reshape(-1, n_items, 2)).reshape(2, 10, n_items, n_items)
    assert all_orders(Draws.pack(closures), n_items)
    if n_items > 8:
        closure = closures[1, 8]
        # A pair that is implied by two others: leaving it out breaks the order.
        i, j = np.argwhere(closure & ((closure.astype(int) @ closure) > 0))[-1]
        closure[i, j] = False
        assert not all_orders(Draws.pack(closures), n_items)

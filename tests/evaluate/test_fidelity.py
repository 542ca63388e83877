"""Mean absolute difference of pair probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.posterior.examples import TRAIN, hard_posterior, three_draws

from posetta import InputError, Traces, fit
from posetta.evaluate import closure_mae
from posetta.order import Poset


def with_precedence(items, precedence):
    traces = Traces.from_lists([], items=items)
    posterior = hard_posterior([np.zeros((len(items), len(items)))], [1.0], [0.0], traces)
    return replace(posterior, precedence=precedence)


def test_by_hand():
    chain = Poset.from_chain(list("abc"))
    # Three draws: P(ab) = P(ac) = 2/3 and P(bc) = 1/3; six ordered pairs.
    assert closure_mae(three_draws(), chain) == pytest.approx((1 / 3 + 1 / 3 + 2 / 3) / 6)
    assert closure_mae(chain, three_draws()) == pytest.approx((1 / 3 + 1 / 3 + 2 / 3) / 6)
    assert closure_mae(three_draws(), three_draws()) == 0.0


def test_a_point_counts_as_zeros_and_ones():
    point = fit(TRAIN, "maximal")
    assert closure_mae(point, Poset.antichain(list("abc"))) == pytest.approx(3 / 6)
    assert closure_mae(Poset.from_chain(list("abc")), Poset.from_chain(list("cba"))) == 1.0


def test_against_a_loop_over_labels():
    generator = np.random.default_rng(5)
    items = list("abcd")
    turned = ["c", "a", "d", "b"]
    P, Q = (generator.random((4, 4)) * (1 - np.eye(4)) for _ in range(2))
    expected = np.mean(
        [
            abs(P[items.index(x), items.index(y)] - Q[turned.index(x), turned.index(y)])
            for x in items
            for y in items
            if x != y
        ]
    )
    found = closure_mae(with_precedence(items, P), with_precedence(turned, Q))
    assert found == pytest.approx(expected)
    assert found != pytest.approx(np.abs(P - Q).sum() / 12)


def test_one_item_differs_by_nothing():
    assert closure_mae(Poset.antichain(["a"]), Poset.antichain(["a"])) == 0.0


def test_different_items_are_refused():
    with pytest.raises(InputError, match="different items"):
        closure_mae(Poset.antichain(["a", "b"]), Poset.antichain(["a", "c"]))

"""Closure precision, recall and F1."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import labels, posets

from posetta.data import Traces
from posetta.errors import InputError
from posetta.evaluate import closure_scores, observed_items
from posetta.order import Poset

quick = settings(derandomize=True, deadline=None, max_examples=100)


def test_by_hand():
    truth = Poset.from_chain(list("abc"))  # ab, ac, bc
    order = Poset.from_pairs([("a", "b"), ("d", "c")], items=list("abcd"))
    scores = closure_scores(order, Poset.from_pairs(truth.closure_pairs, items=list("abcd")))
    assert (scores.n_recovered, scores.n_spurious, scores.n_missed) == (1, 1, 2)
    assert scores.precision == pytest.approx(1 / 2)
    assert scores.recall == pytest.approx(1 / 3)
    assert scores.f1 == pytest.approx(2 / 5)


def test_relations_count_not_covers():
    truth = Poset.from_chain(list("abc"))
    assert closure_scores(truth, truth).n_recovered == 3


def test_empty_orders():
    chain, free = Poset.from_chain(list("ab")), Poset.antichain(list("ab"))
    assert (closure_scores(free, chain).precision, closure_scores(free, chain).recall) == (1, 0)
    assert (closure_scores(chain, free).precision, closure_scores(chain, free).recall) == (0, 1)
    assert closure_scores(free, chain).f1 == closure_scores(chain, free).f1 == 0.0
    assert closure_scores(free, free).f1 == 1.0


def test_an_order_turned_round_scores_nothing():
    scores = closure_scores(Poset.from_chain(list("ab")), Poset.from_chain(list("ba")))
    assert (scores.precision, scores.recall, scores.f1) == (0.0, 0.0, 0.0)


@quick
@given(st.data())
def test_against_sets_of_pairs(data):
    truth = data.draw(posets(min_items=1, max_items=6))
    same_size = posets(min_items=truth.n_items, max_items=truth.n_items)
    order = data.draw(same_size)
    # Labels, not positions, decide which items are the same.
    order = order.reindex(data.draw(st.permutations(labels(truth.n_items))))
    found, true = set(order.closure_pairs), set(truth.closure_pairs)
    scores = closure_scores(order, truth)
    assert scores.precision == pytest.approx(len(found & true) / len(found) if found else 1.0)
    assert scores.recall == pytest.approx(len(found & true) / len(true) if true else 1.0)
    # F1 = 2 |both| / (|found| + |true|), and 1 when there is nothing to find and nothing found.
    expected = 2 * len(found & true) / (len(found) + len(true)) if found | true else 1.0
    assert scores.f1 == pytest.approx(expected)
    assert scores.n_spurious == len(found - true)
    assert scores.n_missed == len(true - found)


def test_different_items_are_named():
    with pytest.raises(InputError, match=r'"b", "c" are in one only.*suborder'):
        closure_scores(Poset.antichain(["a", "b"]), Poset.antichain(["a", "c"]))
    many = Poset.antichain([f"x{k}" for k in range(9)])
    with pytest.raises(InputError, match="and others"):
        closure_scores(many, Poset.antichain(["a"]))


def test_restricted_to_some_items():
    truth = Poset.from_chain(list("abcd"))
    found = Poset.from_pairs([("a", "b"), ("d", "c")], items=list("abcd"))
    assert closure_scores(found, truth).recall == pytest.approx(1 / 6)
    restricted = closure_scores(found, truth, items=["b", "a"])
    assert (restricted.precision, restricted.recall) == (1.0, 1.0)
    # What lies outside the restriction need not be shared.
    wider = Poset.from_chain(list("abcdz"))
    assert closure_scores(wider, truth, items=list("abcd")).f1 == 1.0
    with pytest.raises(InputError, match="'z'"):
        closure_scores(truth, wider, items=["a", "z"])


def test_restricted_to_what_the_traces_list():
    lists, candidates = [["c", "a"], ["a"]], [None, ["a", "b"]]
    traces = Traces.from_lists(lists, items=list("dcba"), choice_sets=candidates)
    # b was a candidate and never listed.
    assert observed_items(traces) == ["c", "a"]
    truth = Poset.from_chain(list("abcd"))
    scores = closure_scores(Poset.from_pairs([("a", "c")], items=list("abcd")), truth, traces)
    assert (scores.n_recovered, scores.n_missed) == (1, 0)
    assert observed_items(Traces.from_lists([], items=["a"])) == []

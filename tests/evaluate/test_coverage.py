"""Incomparable-pair coverage."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import reference as ref
from tests.strategies import labels, posets

from posetta import InputError, Traces
from posetta.evaluate import ip_cov, uncovered_pairs
from posetta.order import Poset

# a before b; c and d apart: five incomparable pairs.
ORDER = Poset.from_pairs([("a", "b")], items=list("abcd"))


def cov(*lists, **more):
    return ip_cov(Traces.from_lists(lists, items=list("abcd"), **more), ORDER)


def test_by_hand():
    assert cov(list("abcd")) == 0.0
    assert cov(list("abcd"), list("abdc")) == pytest.approx(1 / 5)
    assert cov(list("abcd"), list("dcab")) == 1.0
    # Reversing a comparable pair shows no concurrency.
    assert cov(list("abcd"), list("bacd")) == 0.0


def test_partial_traces_and_counts():
    assert cov(["a", "c"], ["c", "a"]) == pytest.approx(1 / 5)
    assert cov(["a", "c"], counts=[7]) == 0.0


def test_listed_before_unlisted_counts_where_the_choice_set_is_explicit():
    both = [["c"], ["d"]]
    assert cov(*both) == 0.0
    assert cov(*both, choice_sets=[["c", "d"], ["c", "d"]]) == pytest.approx(1 / 5)


def test_nothing_incomparable_is_covered():
    chain = Poset.from_chain(list("abc"))
    assert ip_cov(Traces.from_lists([], items=list("abc")), chain) == 1.0


def test_items_are_matched_by_label():
    traces = Traces.from_lists([["d", "c"], ["c", "d"]])
    assert ip_cov(traces, ORDER) == pytest.approx(1 / 5)
    with pytest.raises(InputError, match='holds the item "z"'):
        ip_cov(Traces.from_lists([["a", "z"]]), ORDER)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(st.data())
def test_against_a_loop_over_pairs(data):
    order = data.draw(posets(min_items=1, max_items=5))
    traces = data.draw(ref.observations(order.n_items))
    index = {label: k for k, label in enumerate(labels(order.n_items))}

    def shows(x, y):
        return any(
            i == x and y in left - {x}
            for listed, choice_set, _ in ref.rows(traces)
            for i, left in ref.remainders(listed, choice_set)
        )

    free = [
        (index[a], index[b])
        for a, b in combinations(labels(order.n_items), 2)
        if (a, b) not in order.closure_pairs and (b, a) not in order.closure_pairs
    ]
    expected = sum(shows(x, y) and shows(y, x) for x, y in free) / len(free) if free else 1.0
    assert ip_cov(traces, order) == pytest.approx(expected)


def test_uncovered_pairs_by_hand():
    traces = Traces.from_lists([list("abcd"), ["d", "a"]], items=list("abcd"), counts=[2, 1])
    found = uncovered_pairs(traces, ORDER)
    # a before b is a relation; a and d were seen both ways; the rest one way only.
    assert found == [
        ("a", "c", 2, 0),
        ("b", "c", 2, 0),
        ("b", "d", 2, 0),
        ("c", "d", 2, 0),
    ]
    assert ip_cov(traces, ORDER) == pytest.approx(1 - len(found) / 5)
    assert uncovered_pairs(traces, Poset.from_chain(list("abcd"))) == []


def test_uncovered_pairs_never_seen_together():
    traces = Traces.from_lists([["c", "b"]])
    found = uncovered_pairs(traces, ORDER)
    assert ("b", "c", 0, 1) in found
    assert ("a", "d", 0, 0) in found
    assert len(found) == 5


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.data())
def test_uncovered_pairs_are_the_rest_of_the_coverage(data):
    order = data.draw(posets(min_items=1, max_items=5))
    traces = data.draw(ref.observations(order.n_items))
    n_free = len(order.incomparable_pairs)
    missing = uncovered_pairs(traces, order)
    assert {(one.first, one.second) for one in missing} <= set(order.incomparable_pairs)
    assert all(one.n_first == 0 or one.n_second == 0 for one in missing)
    assert ip_cov(traces, order) == pytest.approx(1 - len(missing) / n_free if n_free else 1.0)

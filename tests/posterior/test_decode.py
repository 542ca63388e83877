"""Decoding: from pair probabilities to one order."""

from __future__ import annotations

import importlib

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import posets

from posetta.errors import SettingError
from posetta.order import Poset, transitive_closure
from posetta.order.relation import strong_components
from posetta.posterior import break_cycles, decode

quick = settings(derandomize=True, deadline=None, max_examples=150)


def matrix(n_items, pairs):
    result = np.zeros((n_items, n_items))
    for (i, j), value in pairs.items():
        result[i, j] = value
    return result


def slow_closure(relation):
    return nx.to_numpy_array(nx.transitive_closure(nx.DiGraph(relation.astype(int))), dtype=bool)


def slow_break_and_close(relation, weight):
    """Algorithm CycleBreakAndCover; of all cycles, the one with the lightest pair comes first."""
    graph = nx.DiGraph(np.asarray(relation, dtype=int))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    while True:
        cycles = [list(zip(c, c[1:] + c[:1], strict=True)) for c in nx.simple_cycles(graph)]
        if not cycles:
            return nx.to_numpy_array(nx.transitive_closure(graph), dtype=bool)
        graph.remove_edge(*min((pair for c in cycles for pair in c), key=lambda p: weight[p]))


def slow_break_cycles(relation, weight):
    """The definition: every component loses its least-weight pairs, until none is left."""
    relation = relation.copy()
    np.fill_diagonal(relation, False)
    while True:
        component = strong_components(relation)
        inside = relation & (component[:, None] == component[None, :])
        if not inside.any():
            return relation
        for label in np.unique(component[inside.any(axis=1)]):
            mine = inside & (component == label)[:, None]
            relation[mine & (weight == weight[mine].min())] = False


@st.composite
def probabilities(draw, distinct=False, max_items=6):
    """Pair probabilities with P + P' <= 1; few values, so that ties and cycles are common."""
    n_items = draw(st.integers(1, max_items))
    if distinct:
        values = draw(st.permutations(range(1, n_items**2 + 1)))
        return np.reshape(values, (n_items, n_items)) / (n_items**2 + 1)
    twelfths = arrays(np.int64, (n_items, n_items), elements=st.integers(0, 12), fill=st.nothing())
    first = draw(twelfths)
    result = np.triu(first, 1) + np.minimum(np.tril(first, -1), 12 - np.triu(first, 1).T)
    return np.tril(result, -1) / 12 + np.triu(result, 1) / 12


def test_equality_is_not_above_the_threshold():
    precedence = matrix(3, {(0, 1): 0.5, (1, 2): np.nextafter(0.5, 1)})
    assert decode(precedence).tolist() == matrix(3, {(1, 2): 1}).astype(bool).tolist()
    assert decode(precedence, 0.49).sum() == 3


def test_kept_pairs_are_closed():
    precedence = matrix(3, {(0, 1): 0.8, (1, 2): 0.7, (0, 2): 0.4})
    assert decode(precedence)[0, 2]


def test_a_cycle_breaks_at_its_least_probable_pair():
    cycle = matrix(4, {(0, 1): 0.9, (1, 2): 0.8, (2, 0): 0.6, (2, 3): 0.55})
    expected = Poset.from_pairs([("0", "1"), ("1", "2"), ("2", "3")], items=list("0123")).closure
    assert np.array_equal(decode(cycle), expected)


def test_ties_break_all_at_once():
    # Removing only one of the two would favour an item by its number.
    cycle = matrix(3, {(0, 1): 0.6, (1, 2): 0.6, (2, 0): 0.9})
    assert np.array_equal(decode(cycle), matrix(3, {(2, 0): 1}).astype(bool))
    even = matrix(3, {(0, 1): 0.6, (1, 2): 0.6, (2, 0): 0.6})
    assert not decode(even).any()


def test_an_equal_pair_outside_the_cycle_stays():
    cycle = matrix(5, {(0, 1): 0.9, (1, 2): 0.8, (2, 0): 0.6, (3, 4): 0.6})
    assert decode(cycle)[3, 4]


def test_components_break_apart():
    # Each of the two cycles loses its own least pair, not the least of both.
    two = {(0, 1): 0.9, (1, 2): 0.9, (2, 0): 0.8, (3, 4): 0.7, (4, 5): 0.7, (5, 3): 0.6}
    kept = break_cycles(matrix(6, two) > 0.5, matrix(6, two))
    assert sorted(map(tuple, np.argwhere(kept).tolist())) == [(0, 1), (1, 2), (3, 4), (4, 5)]


def test_the_relation_given_is_left_alone():
    relation = matrix(2, {(0, 1): 1, (1, 0): 1}).astype(bool)
    break_cycles(relation, np.ones((2, 2)))
    assert relation.sum() == 2


@quick
@given(probabilities(), st.sampled_from([0.0, 1 / 3, 0.5]), st.randoms(use_true_random=False))
def test_relabelling_commutes(precedence, threshold, random):
    p = list(range(len(precedence)))
    random.shuffle(p)
    there = np.ix_(p, p)
    expected = decode(precedence, threshold)[there]
    assert np.array_equal(decode(precedence[there], threshold), expected)


@quick
@given(probabilities(distinct=True), st.sampled_from([0.0, 1 / 3, 0.5]))
def test_matches_the_algorithm_where_weights_differ(precedence, threshold):
    found = decode(precedence, threshold)
    expected = slow_break_and_close(precedence > threshold, precedence)
    assert np.array_equal(found, expected)


@quick
@given(st.integers(1, 14), st.sampled_from([2, 5, 1000]), st.floats(0, 1), st.integers(0, 2**32))
def test_matches_the_definition(n_items, n_weights, density, seed):
    generator = np.random.default_rng(seed)
    weight = generator.integers(0, n_weights, (n_items, n_items)) / n_weights
    relation = generator.random((n_items, n_items)) < density
    found = break_cycles(relation, weight)
    assert np.array_equal(found, slow_break_cycles(relation, weight))


def test_a_large_tangle_needs_few_searches_for_components(monkeypatch):
    # Removing pair after pair would search once for each: 53 seconds for this matrix.
    searches = 0

    def counted(relation):
        nonlocal searches
        searches += 1
        return strong_components(relation)

    module = importlib.import_module("posetta.posterior.decode")  # not the function of that name
    monkeypatch.setattr(module, "strong_components", counted)
    weight = np.random.default_rng(0).random((200, 200))
    kept = break_cycles(weight > 0.0, weight)
    assert searches == 1
    assert not transitive_closure(kept).diagonal().any()


@quick
@given(probabilities(), st.sampled_from([0.0, 1 / 3, 0.5]))
def test_the_result_is_an_order_within_the_kept_pairs(precedence, threshold):
    closure = decode(precedence, threshold)
    Poset.from_closure(closure, [str(i) for i in range(len(closure))])  # checks every law
    assert not (closure & ~slow_closure(precedence > threshold)).any()


@quick
@given(posets(min_items=1), st.floats(0.0, 0.99))
def test_decoding_an_order_gives_it_back(order, threshold):
    assert np.array_equal(decode(order.closure.astype(float), threshold), order.closure)


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan")])
def test_a_threshold_outside_its_range(threshold):
    with pytest.raises(SettingError, match="threshold="):
        decode(np.zeros((2, 2)), threshold)

"""The Majority and Maximal baselines, against the paper's algorithms written as plain loops."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import reference as ref

from posetta import Majority, Maximal, Model, Traces, fit, simulate
from posetta.baselines import majority_order, maximal_order
from posetta.data.evidence import PairEvidence

quick = settings(derandomize=True, deadline=None, max_examples=150)


def count_pairs(traces):
    """Return C[i, j] (i before j) and T[i, j] (both ordered), trace by trace and pair by pair."""
    n = traces.n_items
    C, T = np.zeros((n, n), dtype=int), np.zeros((n, n), dtype=int)
    for listed, choice_set, count in ref.rows(traces):
        position = {x: t for t, x in enumerate(listed)}
        for i, j in permutations(choice_set, 2):
            # An unlisted item of the choice set comes after every listed one.
            if i in position or j in position:
                T[i, j] += count
                if position.get(i, n) < position.get(j, n):
                    C[i, j] += count
    return C, T


def break_and_close(A, W):
    """CycleBreakAndCover: while a component has a cycle, drop its lightest pairs, ties together."""
    graph = nx.DiGraph(A.astype(int))
    while not nx.is_directed_acyclic_graph(graph):
        for component in [c for c in nx.strongly_connected_components(graph) if len(c) > 1]:
            inside = list(graph.subgraph(component).edges)
            lightest = min(W[pair] for pair in inside)
            graph.remove_edges_from([pair for pair in inside if W[pair] == lightest])
    return nx.to_numpy_array(nx.transitive_closure(graph), dtype=bool)


def slow_majority(traces, threshold):
    C, T = count_pairs(traces)
    n = traces.n_items
    A, W = np.zeros((n, n)), np.zeros((n, n))
    for i, j in permutations(range(n), 2):
        if T[i, j] == 0:
            continue
        r_ij, r_ji = C[i, j] / T[i, j], C[j, i] / T[j, i]
        if r_ij > threshold and r_ij > r_ji:
            A[i, j], W[i, j] = 1, abs(r_ij - r_ji)
    return break_and_close(A, W)


def slow_maximal(traces, eps):
    C, T = count_pairs(traces)
    n = traces.n_items
    A, W = np.zeros((n, n)), np.zeros((n, n))
    for i, j in permutations(range(n), 2):
        if T[i, j] > 0 and C[j, i] / T[i, j] <= eps:
            A[i, j], W[i, j] = 1, C[i, j] / T[i, j]
    return break_and_close(A, W)


def traces_of(*lists, **more):
    return Traces.from_lists(lists, **more)


def pairs(closure, items="abc"):
    return {items[i] + items[j] for i, j in np.argwhere(closure)}


@quick
@given(st.integers(1, 5).flatmap(ref.observations), st.sampled_from([0.0, 0.5, 0.7]))
def test_majority_follows_the_algorithm(traces, threshold):
    found = majority_order(PairEvidence.of(traces), threshold)
    assert np.array_equal(found, slow_majority(traces, threshold))


@quick
@given(st.integers(1, 5).flatmap(ref.observations), st.sampled_from([0.0, 0.1, 0.25, 0.49]))
def test_maximal_follows_the_algorithm(traces, eps):
    found = maximal_order(PairEvidence.of(traces), eps)
    assert np.array_equal(found, slow_maximal(traces, eps))


def test_majority_by_hand():
    traces = traces_of(list("abc"), list("bac"), list("abc"), items=list("abc"))
    assert pairs(fit(traces, "majority").decode().closure) == {"ab", "ac", "bc"}
    assert pairs(fit(traces, Majority(threshold=0.7)).decode().closure) == {"ac", "bc"}


def test_majority_leaves_an_even_pair_free():
    even = traces_of(["a", "b"], ["b", "a"])
    assert not fit(even, Majority(threshold=0.0)).precedence.any()


def test_majority_breaks_a_voting_cycle_at_its_narrowest():
    # a over b 3:0, b over c 3:1, c over a 2:1.
    lists = [["a", "b"]] * 3 + [["b", "c"]] * 3 + [["c", "b"]] + [["c", "a"]] * 2 + [["a", "c"]]
    assert pairs(fit(traces_of(*lists), "majority").precedence) == {"ab", "bc", "ac"}


@pytest.mark.parametrize("method", ["majority", "maximal"])
def test_pairs_cut_from_cycles_are_counted(method):
    def cut(*lists):
        found = fit(traces_of(*lists), method, Model(noise=0.1))
        return found.diagnostics["cut_pairs"], [w for w in found.warnings if "cut" in w]

    number, (words,) = cut(["a", "b"], ["b", "c"], ["c", "a"])
    assert number == 3
    assert words.startswith("3 pairs that")
    assert words.endswith("lay on cycles and were cut.")
    assert cut(["a", "b"], ["b", "c"], ["a", "c"]) == (0, [])


def test_one_pair_cut_is_one_pair():
    # a over b 2:0, b over c 2:0, c over a 2:1.
    lists = [["a", "b"], ["b", "c"], ["c", "a"]] * 2 + [["a", "c"]]
    found = fit(traces_of(*lists), "majority", Model(noise=0.1))
    assert found.diagnostics["cut_pairs"] == 1
    assert "1 pair that a majority shows lay on a cycle and was cut." in found.warnings


def test_maximal_is_the_intersection_of_full_traces():
    traces = traces_of(list("abcd"), list("bacd"), list("abdc"))
    assert pairs(fit(traces, "maximal").precedence, "abcd") == {"ac", "ad", "bc", "bd"}


def test_maximal_forgives_a_share_of_the_traces():
    traces = traces_of(["a", "b"], ["b", "a"], counts=[71, 29])
    # 29 of 100 is at most 0.29, though 0.29 * 100 is less than 29 in floating point.
    assert fit(traces, Maximal(eps=0.29)).probability("a", "b") == 1.0
    assert fit(traces, Maximal(eps=0.28)).probability("a", "b") == 0.0


def test_pairs_never_listed_together_stay_out():
    traces = traces_of(["a", "b"], ["c", "d"])
    assert pairs(fit(traces, "maximal").precedence, "abcd") == {"ab", "cd"}
    # They come in through others: a before b before c.
    linked = traces_of(["a", "b"], ["b", "c"])
    assert pairs(fit(linked, "maximal").precedence) == {"ab", "bc", "ac"}


@pytest.mark.parametrize("method", ["majority", "maximal"])
def test_top_k_lists_put_listed_items_before_unlisted_ones(method):
    top = traces_of(["a"], items=list("abc"), choice_sets=[list("abc")])
    assert pairs(fit(top, method).precedence) == {"ab", "ac"}
    plain = traces_of(["a"], items=list("abc"))
    assert pairs(fit(plain, method).precedence) == set()


@pytest.mark.parametrize("seed", range(12))
def test_full_coverage_makes_the_intersection_the_truth(seed):
    sim = simulate(3 + seed % 6, dim=2 + seed % 3, rho=0.2 + 0.05 * seed, beta=0.5, seed=seed)
    assert sim.ip_cov == 1.0
    assert fit(sim.train, "maximal").decode() == sim.order


def test_below_full_coverage_the_intersection_holds_the_truth_and_more():
    sim = simulate(12, seed=3, ip_cov=0.5)
    assert sim.ip_cov < 1.0
    found = fit(sim.train, "maximal").decode().closure
    assert not (sim.order.closure & ~found).any()
    assert found.sum() > sim.order.n_relations

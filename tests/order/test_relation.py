"""Laws of closure, reduction, composition, components, cycles and matchings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.order import reference
from tests.strategies import acyclic_relations, relations

from posetta.errors import InputError
from posetta.order import find_cycle, transitive_closure, transitive_reduction
from posetta.order.relation import compose, matching_size, strong_components

law = settings(derandomize=True, deadline=None, max_examples=60)


def random_dag(n_items, density, seed):
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(n_items)
    return np.triu(rng.random((n_items, n_items)) < density, k=1)[np.ix_(shuffled, shuffled)]


@law
@given(relations())
def test_closure_is_the_least_transitive_relation(relation):
    assert np.array_equal(transitive_closure(relation), reference.closure(relation))


@law
@given(relations())
def test_closure_is_idempotent(relation):
    closed = transitive_closure(relation)
    assert np.array_equal(transitive_closure(closed), closed)


@law
@given(acyclic_relations())
def test_reduction_keeps_the_closure_and_is_the_cover_relation(relation):
    reduced = transitive_reduction(relation)
    closed = transitive_closure(relation)
    assert np.array_equal(transitive_closure(reduced), closed)
    assert np.array_equal(reduced, reference.covers(closed))


@law
@given(acyclic_relations(max_items=5))
def test_reduction_is_minimal(relation):
    reduced = transitive_reduction(relation)
    closed = transitive_closure(relation)
    for i, j in np.argwhere(reduced):
        fewer = reduced.copy()
        fewer[i, j] = False
        assert not np.array_equal(transitive_closure(fewer), closed)


@law
@given(acyclic_relations(), st.randoms(use_true_random=False))
def test_relabelling_commutes_with_closure_and_reduction(relation, random):
    shuffled = list(range(len(relation)))
    random.shuffle(shuffled)
    relabel = np.ix_(shuffled, shuffled)
    for kernel in (transitive_closure, transitive_reduction):
        assert np.array_equal(kernel(relation[relabel]), kernel(relation)[relabel])


@pytest.mark.parametrize("n_items", [63, 64, 65, 130])
def test_rows_longer_than_one_word(n_items):
    relation = random_dag(n_items, density=3 / n_items, seed=n_items)
    closed = transitive_closure(relation)
    paths = relation.astype(int)
    for _ in range(8):  # squaring eight times covers paths of up to 256 steps
        paths = np.minimum(paths + paths @ paths, 1)
    assert np.array_equal(closed, paths.astype(bool))
    between = closed.astype(int) @ closed.astype(int) > 0
    assert np.array_equal(transitive_reduction(relation), closed & ~between)


@pytest.mark.parametrize("kernel", [transitive_closure, transitive_reduction, find_cycle])
def test_kernels_take_lists_and_refuse_what_is_no_relation(kernel):
    kernel([[0, 1], [0, 0]])
    with pytest.raises(InputError, match="square"):
        kernel(np.zeros((2, 3), dtype=bool))
    with pytest.raises(InputError, match="threshold"):
        kernel([[0.0, 0.9], [0.1, 0.0]])


def test_inputs_are_not_changed():
    relation = random_dag(20, density=0.2, seed=1)
    before = relation.copy()
    transitive_closure(relation)
    transitive_reduction(relation)
    find_cycle(relation)
    assert np.array_equal(relation, before)


@law
@given(relations(max_items=5))
def test_composition_is_the_product_of_matrices(relation):
    product = relation.astype(int) @ relation.T.astype(int) > 0
    assert np.array_equal(compose(relation, relation.T), product)


@law
@given(relations())
def test_a_found_cycle_is_a_shortest_cycle_through_its_first_item(relation):
    cycle = find_cycle(relation)
    on_cycle = np.flatnonzero(reference.closure(relation).diagonal())
    if cycle is None:
        assert not on_cycle.size
        return
    assert cycle[0] == on_cycle[0]
    assert len(set(cycle)) == len(cycle)
    assert all(relation[a, b] for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
    power = np.eye(len(relation), dtype=int)
    for _ in range(len(cycle) - 1):
        power = np.minimum(power @ relation.astype(int), 1)
        assert not power[cycle[0], cycle[0]]


@law
@given(relations())
def test_strong_components_are_mutual_reachability(relation):
    closed = reference.closure(relation)
    component = strong_components(relation)
    for i in range(len(relation)):
        mutual = [j for j in range(len(relation)) if i == j or (closed[i, j] and closed[j, i])]
        assert component[i] == min(mutual)


def test_reduction_refuses_a_cycle_and_names_it():
    relation = reference.matrix({(0, 1), (1, 2), (2, 0)}, 4)
    with pytest.raises(InputError, match="cycle: 0 -> 1 -> 2 -> 0"):
        transitive_reduction(relation)


@law
@given(relations(max_items=5))
def test_matching_is_the_largest(relation):
    def best(row, taken):
        if row == len(relation):
            return 0
        matched = [
            1 + best(row + 1, taken | {int(j)})
            for j in np.flatnonzero(relation[row])
            if j not in taken
        ]
        return max([best(row + 1, taken), *matched])

    assert matching_size(relation) == best(0, frozenset())

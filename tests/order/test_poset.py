"""`Poset`: what it refuses, what it always is, and its derived quantities against definitions."""

from __future__ import annotations

import copy
import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.order import reference
from tests.strategies import acyclic_relations, labels, latents, posets, traces

from posetta.errors import InputError
from posetta.order import Poset

law = settings(derandomize=True, deadline=None, max_examples=60)

N_PAIRS = [("a", "c"), ("b", "c"), ("b", "d")]


# -- constructors --------------------------------------------------------------------------------


@law
@given(acyclic_relations())
def test_every_constructor_gives_the_same_order(relation):
    items = labels(len(relation))
    order = Poset.from_matrix(relation, items)
    pairs = [(items[i], items[j]) for i, j in np.argwhere(relation)]
    assert np.array_equal(order.closure, reference.closure(relation))
    assert Poset.from_pairs(pairs, items) == order
    assert Poset.from_closure(order.closure, items) == order
    assert Poset.from_closure(order.closure_pairs, items) == order
    assert Poset.from_covers(order.covers, items) == order
    assert Poset.from_covers(order.cover_pairs, items) == order


def test_items_default_to_first_appearance_or_to_numbers():
    assert Poset.from_pairs([("z", "m"), ("a", "m")]).items == ("z", "m", "a")
    assert Poset.from_matrix([[0, 1], [0, 0]]).items == ("0", "1")


def test_chain_antichain_and_the_empty_order():
    chain = Poset.from_chain(["x", "y", "z"])
    assert chain.closure_pairs == [("x", "y"), ("x", "z"), ("y", "z")]
    assert chain.cover_pairs == [("x", "y"), ("y", "z")]
    assert Poset.antichain(["x", "y"]).incomparable_pairs == [("x", "y")]
    empty = Poset.antichain([])
    assert (empty.n_items, empty.levels, empty.depth, empty.width) == (0, [], 0, 0)
    assert empty.frontier([]) == []
    assert empty.is_linear_extension([])


@law
@given(latents())
def test_latent_gives_the_product_order(latent):
    """Lemma hard_order_poset: the product order is irreflexive and transitive, ties included."""
    order = Poset.from_latent(latent)
    n_items = len(latent)
    for i in range(n_items):
        for j in range(n_items):
            assert order.closure[i, j] == all(latent[i] > latent[j])
    assert np.array_equal(order.closure, reference.closure(order.closure))
    assert not order.closure.diagonal().any()


def test_a_tie_in_one_column_leaves_a_pair_incomparable():
    assert Poset.from_latent([[2.0, 1.0], [1.0, 1.0]]).n_relations == 0
    assert Poset.from_latent([[2.0], [1.0]]).closure_pairs == [("0", "1")]


def test_nan_columns_pad_draws_of_a_random_dimension():
    padded = [[2.0, 3.0, np.nan], [1.0, 1.0, np.nan]]
    assert Poset.from_latent(padded).n_relations == 1


@pytest.mark.parametrize(
    ("latent", "message"),
    [
        ([1.0, 2.0], "shape"),
        ([[1.0, np.nan], [1.0, 2.0]], "not finite"),
        ([[np.inf], [1.0]], "not finite"),
        (np.zeros((3, 0)), "at least one column"),
        (np.full((2, 2), np.nan), "at least one column"),
    ],
)
def test_bad_latents_are_refused(latent, message):
    with pytest.raises(InputError, match=message):
        Poset.from_latent(latent)


# -- refusals ------------------------------------------------------------------------------------


def test_a_cycle_is_named():
    with pytest.raises(InputError, match="the pairs form a cycle: a -> b -> c -> a"):
        Poset.from_pairs([("a", "b"), ("b", "c"), ("x", "a"), ("c", "a")])
    with pytest.raises(InputError, match="cycle: a -> a"):
        Poset.from_pairs([("a", "a")])
    with pytest.raises(InputError, match="cycle: 0 -> 1 -> 0"):
        Poset.from_closure(~np.eye(2, dtype=bool))


def test_an_intransitive_closure_names_the_triple_and_the_way_out():
    message = '"a" is before "b" and "b" before "c", but "a" not before "c".*from_pairs'
    with pytest.raises(InputError, match=message):
        Poset.from_closure([("a", "b"), ("b", "c")])
    with pytest.raises(InputError, match="not transitive"):
        Poset(("a", "b", "c"), np.eye(3, k=1, dtype=bool))


def test_a_pair_that_follows_from_others_is_no_cover():
    with pytest.raises(InputError, match='"a" before "c" is not a cover: "b" lies between'):
        Poset.from_covers([("a", "b"), ("b", "c"), ("a", "c")])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Poset.from_pairs([("a", "b")], items=["a"]), "'b' is not among the 1 items"),
        (lambda: Poset.antichain(["a", "a"]), 'holds "a" twice'),
        (lambda: Poset.antichain(["a", " "]), "non-empty text"),
        (lambda: Poset.antichain([1, 2]), "non-empty text"),
        (lambda: Poset.antichain(["\ud800"]), "not valid Unicode"),
        (lambda: Poset.from_chain("abc"), "not a list of labels"),
        (lambda: Poset.antichain({"a", "b"}), "items is a set, which has no order"),
        (lambda: Poset.from_pairs(["ab"]), "'ab' is not a pair"),
        (lambda: Poset.from_pairs([("a", "b", "c")]), "is not a pair"),
        (lambda: Poset.from_pairs([("a", ["b"])]), "non-empty text"),
        (lambda: Poset.from_matrix([[0, 1]]), "square"),
        (lambda: Poset.from_matrix([[0.0, 0.7], [0.0, 0.0]]), "threshold"),
        (lambda: Poset.from_matrix([[0, 2], [0, 0]]), "true or false"),
        (lambda: Poset.from_matrix([[0, 1], [0, 0]], items=["a"]), "1 labels for 2 rows"),
        (lambda: Poset.from_chain(["a", "b"]).suborder(["a", "a"]), "appears twice"),
        (lambda: Poset.from_chain(["a", "b"]).suborder("ab"), "not the text"),
        (lambda: Poset.from_chain(["a", "b"]).frontier(["c"]), "'c' is not among"),
        (lambda: Poset.from_chain(["a", "b"]).respects(["b", "b"]), "appears twice"),
        (lambda: Poset.from_chain(["a", "b"]).reindex(["b"]), '"a" is in one only'),
    ],
)
def test_bad_input_gets_one_clear_error(build, message):
    with pytest.raises(InputError, match=message):
        build()


# -- derived quantities --------------------------------------------------------------------------


@law
@given(posets(max_items=6))
def test_pairs_partition_into_related_and_incomparable(order):
    related = set(order.closure_pairs)
    assert len(related) == order.n_relations
    for a, b in combinations(order.items, 2):
        kinds = [(a, b) in related, (b, a) in related, (a, b) in set(order.incomparable_pairs)]
        assert kinds.count(True) == 1
    assert np.array_equal(order.covers, reference.covers(order.closure))


@law
@given(posets(max_items=6))
def test_levels_depth_and_width_match_their_definitions(order):
    assert order.depth == reference.longest(order, reference.is_chain)
    assert order.width == reference.longest(order, reference.is_antichain)
    assert sorted(label for level in order.levels for label in level) == sorted(order.items)
    for k, level in enumerate(order.levels):
        assert level
        assert all(reference.level(order, label) == k for label in level)


@law
@given(posets(min_items=1), st.data())
def test_frontier_is_the_set_of_maximal_elements_and_never_empty(order, data):
    remaining = data.draw(st.sets(st.sampled_from(order.items), min_size=1))
    frontier = order.frontier(remaining)
    assert frontier
    assert set(frontier) == reference.frontier(order, remaining)
    assert frontier == [label for label in order.items if label in set(frontier)]


@law
@given(posets(min_items=1), st.data())
def test_suborder_restricts_the_relation(order, data):
    chosen = data.draw(st.lists(st.sampled_from(order.items), unique=True))
    part = order.suborder(chosen)
    assert part.items == tuple(chosen)
    kept = {(a, b) for a, b in order.closure_pairs if a in chosen and b in chosen}
    assert set(part.closure_pairs) == kept


@law
@given(posets(min_items=1), st.data())
def test_first_violation_is_the_first_item_that_comes_too_late(order, data):
    related = set(order.closure_pairs)
    for sequence in data.draw(traces(order.items)):
        late = [
            (label, earlier)
            for k, label in enumerate(sequence)
            for earlier in sequence[:k]
            if (label, earlier) in related
        ]
        assert order.first_violation(sequence) == (late[0] if late else None)
        assert order.respects(sequence) == (not late)
        full = len(sequence) == order.n_items
        assert order.is_linear_extension(sequence) == (full and not late)


@law
@given(posets(), st.randoms(use_true_random=False))
def test_relabelling_commutes_with_everything(order, random):
    shuffled = list(order.items)
    random.shuffle(shuffled)
    other = order.reindex(shuffled)
    assert other.items == tuple(shuffled)
    assert other.reindex(order.items) == order
    assert set(other.closure_pairs) == set(order.closure_pairs)
    assert set(other.cover_pairs) == set(order.cover_pairs)
    assert [set(level) for level in other.levels] == [set(level) for level in order.levels]
    assert (other.depth, other.width) == (order.depth, order.width)
    assert {frozenset(p) for p in other.incomparable_pairs} == {
        frozenset(p) for p in order.incomparable_pairs
    }
    assert other.count_linear_extensions() == order.count_linear_extensions()


# -- being a value -------------------------------------------------------------------------------


def test_equality_and_hash_follow_items_and_closure():
    order = Poset.from_pairs(N_PAIRS, items=list("abcd"))
    same = Poset.from_pairs(reversed(N_PAIRS), items=list("abcd"))
    assert order == same
    assert hash(order) == hash(same)
    assert len({order, same, Poset.antichain(list("abcd"))}) == 2
    assert order != order.reindex(list("dcba"))
    assert order != "abcd"
    assert repr(order) == "Poset(4 items, 3 relations, depth 2)"


def test_nothing_can_change_a_poset():
    source = np.eye(3, k=1, dtype=bool)
    order = Poset.from_matrix(source)
    source[:] = False
    assert order.n_relations == 3
    for matrix in (order.closure, order.covers):
        with pytest.raises(ValueError, match="read-only"):
            matrix[0, 1] = False
        with pytest.raises(ValueError, match="WRITEABLE"):
            matrix.flags.writeable = True
    with pytest.raises(AttributeError):
        order.items = ("x", "y", "z")
    order.levels[0].clear()
    assert order.levels[0] == ["0"]


def test_copies_are_equal_and_as_immutable():
    order = Poset.from_pairs(N_PAIRS)
    for twin in (pickle.loads(pickle.dumps(order)), copy.copy(order), copy.deepcopy(order)):
        assert twin == order
        assert not twin.closure.flags.writeable

"""Laws of `Traces`: exact collapse, universes that never shrink, fingerprints."""

from __future__ import annotations

import pickle
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from posetta.data import Traces
from posetta.data.gate import MAX_COUNT, Gate
from posetta.errors import InputError

ITEMS = tuple("abcdef")


@st.composite
def observations(draw, min_size=1):
    """Triples (labels, count, choice set or None) over `ITEMS`, with many coincidences."""
    rows = []
    for _ in range(draw(st.integers(min_size, 8))):
        members = draw(st.permutations(ITEMS[: draw(st.integers(1, 4))]))
        n_listed = draw(st.integers(1, len(members)))
        choice_set = draw(st.sampled_from([None, tuple(members), ITEMS]))
        rows.append((list(members[:n_listed]), draw(st.integers(1, 3)), choice_set))
    return rows


def build(rows) -> Traces:
    return Traces.from_lists(
        [labels for labels, _, _ in rows],
        items=ITEMS,
        counts=[count for _, count, _ in rows],
        choice_sets=[choice_set for _, _, choice_set in rows],
    )


def multiset(traces: Traces) -> Counter:
    """Observations as a multiset of (sequence, choice set): what a `Traces` means."""
    return Counter(
        {
            (
                tuple(traces.labels(r)),
                frozenset(traces.items[i] for i in traces.choice_set(r)),
            ): int(traces.counts[r])
            for r in range(traces.n_unique)
        }
    )


@settings(deadline=None, derandomize=True)
@given(observations())
def test_collapse_is_exact(rows):
    expected: Counter = Counter()
    for labels, count, choice_set in rows:
        expected[tuple(labels), frozenset(choice_set or labels)] += count
    traces = build(rows)
    assert multiset(traces) == expected
    assert traces.n_unique == len(expected)
    assert len(traces) == sum(expected.values())


@settings(deadline=None, derandomize=True)
@given(observations())
def test_layout_is_the_listed_items_then_the_unlisted_rest_in_order(rows):
    traces = build(rows)
    check_layout(traces)
    check_layout(traces.with_items(ITEMS[::-1]))
    check_layout(traces.take([0]))


def check_layout(traces: Traces) -> None:
    assert traces.offsets[0] == 0
    assert traces.offsets[-1] == len(traces.members)
    for r in range(traces.n_unique):
        members = traces.choice_set(r).tolist()
        rest = members[traces.n_listed[r] :]
        assert len(set(members)) == len(members)
        assert rest == sorted(rest)
        assert traces.n_listed[r] >= 1


@settings(deadline=None, derandomize=True)
@given(observations(min_size=2), st.integers(0, 10), st.floats(0.1, 0.9))
def test_a_split_keeps_universe_and_observations(rows, seed, fraction):
    traces = build(rows)
    if len(traces) < 2:
        return
    rest, held_out = traces.split(fraction, seed)
    assert rest.items == held_out.items == ITEMS
    assert len(rest) > 0
    assert len(held_out) > 0
    assert multiset(rest) + multiset(held_out) == multiset(traces)


def test_a_split_costs_no_memory_per_observation():
    traces = Traces.from_lists([["a", "b"], ["b", "a"]], counts=[3_000_000, 1_000_000])
    tracemalloc.start()
    rest, held_out = traces.split(0.25, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6
    assert (len(rest), len(held_out)) == (3_000_000, 1_000_000)
    # Hypergeometric: mean 750,000, variance n K (N - K) / N^2 (N - n) / (N - 1) = 140,625.
    assert abs(int(held_out.counts[0]) - 750_000) < 5 * 375


def test_a_split_of_more_than_a_billion_observations():
    traces = Traces.from_lists([["a"], ["b"], ["c"]], counts=[MAX_COUNT, MAX_COUNT, 1])
    rest, held_out = traces.split(1e-9, 3)
    assert (len(rest), len(held_out)) == (2 * MAX_COUNT - 1, 2)


def test_every_split_of_a_size_is_equally_likely():
    traces = Traces.from_lists([["a"], ["b"], ["c"]], counts=[1, 2, 3])
    seen = Counter()
    for seed in range(3000):
        held_out = traces.split(0.5, seed)[1]
        seen["".join(sorted(label for row in held_out for label in row))] += 1
    ways = {"abb": 1, "abc": 6, "acc": 3, "bbc": 3, "bcc": 6, "ccc": 1}  # of 6 choose 3 = 20
    observed = [seen[kind] for kind in ways]
    expected = [3000 * n / 20 for n in ways.values()]
    assert sum(observed) == 3000
    assert chisquare(observed, expected).pvalue > 0.001


@settings(deadline=None, derandomize=True)
@given(observations(), st.data())
def test_take_keeps_what_was_asked_for(rows, data):
    traces = build(rows)
    wanted = data.draw(st.lists(st.integers(0, len(traces) - 1), unique=True))
    everything = list(traces)
    taken = traces.take(wanted)
    assert sorted(map(tuple, taken)) == sorted(tuple(everything[k]) for k in wanted)
    assert taken.items == ITEMS
    assert len(taken.ids) == len(taken.records.row) == len(taken.source)


@settings(deadline=None, derandomize=True)
@given(observations(), st.permutations(ITEMS))
def test_another_universe_changes_the_numbers_and_not_the_meaning(rows, order):
    traces = build(rows)
    moved = traces.with_items(("new", *order))
    assert multiset(moved) == multiset(traces)
    assert multiset(moved.with_items(ITEMS)) == multiset(traces)
    assert moved.with_items(ITEMS).hash == traces.hash


@settings(deadline=None, derandomize=True)
@given(observations(), st.randoms(use_true_random=False))
def test_the_fingerprint_does_not_depend_on_the_order_of_records(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert build(shuffled).hash == build(rows).hash


@pytest.mark.parametrize(
    "other",
    [
        Traces.from_lists([["b", "a"]], items=["a", "b", "c"]),
        Traces.from_lists([["a", "b"]], items=["a", "b"]),
        Traces.from_lists([["a", "b"]], items=["a", "c", "b"]),
        Traces.from_lists([["a", "b"]] * 2, items=["a", "b", "c"]),
        Traces.from_lists([["a", "b"]], items=["a", "b", "c"], choice_sets=[["a", "b", "c"]]),
        Traces.from_lists([["a"]], items=["a", "b", "c"], choice_sets=[["a", "b"]]),
    ],
)
def test_the_fingerprint_depends_on_everything_else(other):
    assert other.hash != Traces.from_lists([["a", "b"]], items=["a", "b", "c"]).hash


def test_labels_that_hold_a_separator_do_not_share_a_fingerprint():
    one = Traces.from_lists([], items=["a", "b\x1fc"])
    two = Traces.from_lists([], items=["a\x1fb", "c"])
    assert one.hash != two.hash


@settings(deadline=None, derandomize=True)
@given(observations())
def test_over_all_items_makes_top_k_lists(rows):
    traces = build([(labels, count, None) for labels, count, _ in rows])
    widened = traces.over_all_items()
    assert list(widened) == list(traces)
    assert multiset(widened) == Counter(
        {(labels, frozenset(ITEMS)): n for (labels, _), n in multiset(traces).items()}
    )
    for r in range(widened.n_unique):
        rest = widened.choice_set(r)[widened.n_listed[r] :].tolist()
        assert rest == sorted(rest)


def test_over_all_items_refuses_a_trace_with_a_choice_set_of_its_own():
    traces = Traces.from_lists([["a"]], items=["a", "b", "c"], choice_sets=[["a", "b"]])
    with pytest.raises(InputError, match='trace "1" has a choice set of its own'):
        traces.over_all_items()


def test_nothing_can_be_changed():
    traces = build([(["a", "b"], 2, ITEMS)])
    for array in (traces.members, traces.offsets, traces.n_listed, traces.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_traces_travel_to_other_processes():
    traces = build([(["a", "b"], 2, ITEMS)])
    again = pickle.loads(pickle.dumps(traces))
    assert again.hash == traces.hash
    assert again.report == traces.report


def test_an_empty_list_needs_a_universe():
    with pytest.raises(InputError, match="there are no traces"):
        Traces.from_lists([])
    empty = Traces.from_lists([], items=["a", "b"])
    assert (len(empty), empty.n_items, empty.n_unique, empty.max_length) == (0, 2, 0, 0)


def test_unnamed_records_get_names_that_nobody_else_has():
    gate = Gate()
    gate.add(["a"])
    gate.add(["b"], id="1")
    gate.add(["c"])
    assert gate.close().ids == ("1*", "1", "3")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Traces.from_lists(["ab"]), "not a list of items"),
        (lambda: Traces.from_lists([{"a", "b"}]), "is a set, which has no order, not a list"),
        (lambda: Traces.from_lists([{"a": 1}]), "is a mapping, not a list"),
        (lambda: Traces.from_lists([iter("ab")]), "is of the type str_.*iterator, not a list"),
        (lambda: Traces.from_lists([None]), 'trace "1" is None, not a list'),
        (lambda: Traces.from_lists([7]), "is of the type int, not a list"),
        (lambda: Traces.from_lists([b"ab"]), "is the text b'ab', not a list"),
        (lambda: Traces.from_lists(None), "the traces are None"),
        (lambda: Traces.from_lists("ab"), "the traces are the text 'ab'.*read_traces"),
        (lambda: Traces.from_lists({("a", "b")}), "the traces are a set, which has no order"),
        (lambda: Traces.from_lists([["a"]], items={"a"}), "items is a set, which has no order"),
        (lambda: Traces.from_lists([["a"]], items=iter("a")), "items is of the type"),
        (lambda: Traces.from_lists([["a"]], counts={1}), "counts is a set"),
        (lambda: Traces.from_lists([["a"]], ids="x"), "ids is the text 'x'"),
        (lambda: Traces.from_lists([["a"]], choice_sets=["abc"]), "choice_set that is the text"),
        (lambda: Traces.from_lists([["a"]], choice_sets=[iter("ab")]), "choice_set that is of the"),
        (lambda: Traces.from_lists([["a"]], choice_sets=[{"a", 3}]), "holds 3; items are text"),
        (lambda: Traces.from_lists([["a", "b", "a"]]), r'"a" twice \(positions 1 and 3\)'),
        (lambda: Traces.from_lists([[]]), 'trace "1" is empty'),
        (lambda: Traces.from_lists([["a", 3]]), "holds 3; items are text"),
        (lambda: Traces.from_lists([["a", ["b"]]]), "items are text"),
        (lambda: Traces.from_lists([["a", " "]]), "name is empty"),
        (lambda: Traces.from_lists([["a", "\ud800"]]), "not valid Unicode"),
        (lambda: Traces.from_lists([["a"]], items="ab"), "not a list of labels"),
        (lambda: Traces.from_lists([["a"]], items=["a", "a"]), '"a" twice'),
        (lambda: Traces.from_lists([["c"]], items=["a", "b"]), "not among the 2 items"),
        (lambda: Traces.from_lists([["a"]], counts=[0]), "has the count 0"),
        (lambda: Traces.from_lists([["a"]], counts=[True]), "has the count True"),
        (lambda: Traces.from_lists([["a"]], counts=[MAX_COUNT + 1]), "from 1 to"),
        (lambda: Traces.from_lists([["a"]], counts=[float("nan")]), "has the count nan"),
        (lambda: Traces.from_lists([["a"]], counts=[1, 1]), "2 entries for 1 traces"),
        (lambda: Traces.from_lists([["a"], ["b"]], ids=["x"]), "1 entries for 2 traces"),
        (lambda: Traces.from_lists([["a"]] * 2, ids=["x", "x"]), "same id"),
        (lambda: Traces.from_lists([["a"]], choice_sets=[["b"]]), "not in its own choice_set"),
        (lambda: Traces.from_lists([["a"]], choice_sets=[["a", "b", "b"]]), "an item twice"),
        (lambda: Traces.from_lists([["a"]], items=["a"], choice_sets=[["a", "z"]]), '"z"'),
        (lambda: build([(["a"], 1, None)]).take([1]), "must lie in 0 .. 0"),
        (lambda: build([(["a"], 1, None)]).split(0.5, 0), "at least two"),
        (lambda: build([(["a"], 2, None)]).split(1.0, 0), "between 0 and 1"),
        (lambda: build([(["a"], 1, None)]).with_items(["b"]), 'trace "1" holds the item "a"'),
    ],
)
def test_what_is_wrong_is_said(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_a_listing_is_an_observation_and_an_unlisted_candidate_is_none():
    traces = Traces.from_lists(
        [["a", "b"], ["a"], ["b"]],
        list("abc"),
        counts=[3, 1, 2],
        choice_sets=[None, ["a", "c"], None],
    )
    assert traces.listings.tolist() == [4, 5, 0]
    assert Traces.from_lists([], items=["a"]).listings.tolist() == [0]


def test_a_set_as_choice_set_numbers_the_items_in_sorted_order():
    labels = [f"item {k}" for k in range(40)]
    traces = Traces.from_lists([["item 7"]], choice_sets=[set(labels)])
    assert traces.items == ("item 7", *sorted(set(labels) - {"item 7"}))


def test_tuples_arrays_and_a_stream_of_lists_are_traces():
    expected = Traces.from_lists([["a", "b"], ["b", "a"]]).hash
    assert Traces.from_lists((("a", "b"), ("b", "a"))).hash == expected
    assert Traces.from_lists(np.array([["a", "b"], ["b", "a"]])).hash == expected
    assert Traces.from_lists(row for row in (["a", "b"], ["b", "a"])).hash == expected
    assert Traces.from_lists({1: ["a", "b"], 2: ["b", "a"]}.values()).hash == expected


def test_an_unknown_item_in_a_top_k_list_of_another_universe_is_named():
    traces = Traces.from_lists([["a"], ["a"]], choice_sets=[None, ["a", "z"]], ids=["p", "q"])
    with pytest.raises(InputError, match='trace "q" holds the item "z"'):
        traces.with_items(["a"])
    assert np.array_equal(traces.with_items(["z", "a"]).choice_set(1), [1, 0])

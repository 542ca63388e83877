"""The description of traces, against a loop over observations."""

from __future__ import annotations

import json
import statistics
import tracemalloc
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import reference as ref

from posetta.data import Traces
from posetta.data.describe import describe

quick = settings(derandomize=True, deadline=None, max_examples=100)


def test_by_hand():
    traces = Traces.from_lists(
        [list("abc"), list("bac"), ["d"], ["a"]],
        items=list("abcde"),
        counts=[3, 1, 1, 2],
        choice_sets=[None, None, None, ["a", "d"]],
    )
    assert describe(traces).to_dict() == {
        "n_items": 5,
        "n_traces": 7,
        "n_unique": 4,
        "shortest": 1,
        "median_length": 3.0,
        "longest": 3,
        "n_complete": 0,
        "n_with_choice_set": 2,
        "n_pairs": 10,
        "pairs_in_both_orders": 1,
        "pairs_in_one_order": 3,
        "pairs_never_together": 6,
        "items_seen_once": ("d",),
        "items_never_seen": ("e",),
    }


def test_no_traces():
    found = describe(Traces.from_lists([], items=["a", "b"]))
    assert (found.n_traces, found.shortest, found.median_length, found.longest) == (0, 0, 0.0, 0)
    assert found.pairs_never_together == 1
    assert found.items_never_seen == ("a", "b")


def test_a_count_costs_no_memory():
    traces = Traces.from_lists([["a"], ["a", "b", "c"]], counts=[3_000_000, 3_000_000])
    describe(traces)  # compiles
    tracemalloc.start()
    found = describe(traces)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6
    assert found.median_length == 2.0


def test_plain_values_for_json():
    found = describe(Traces.from_lists([["a", "b"]]))
    assert json.loads(json.dumps(found.to_dict()))["n_complete"] == 1


@quick
@given(st.integers(1, 6).flatmap(ref.observations))
def test_against_a_loop_over_observations(traces):
    observations = [
        (listed, set(choice_set))
        for listed, choice_set, count in ref.rows(traces)
        for _ in range(count)
    ]
    shown = {
        (x, z)
        for listed, choice_set in observations
        for x, remaining in ref.remainders(listed, choice_set)
        for z in remaining - {x}
    }
    all_pairs = list(combinations(range(traces.n_items), 2))
    directions = [((i, j) in shown) + ((j, i) in shown) for i, j in all_pairs]
    lengths = [len(listed) for listed, _ in observations]
    seen = [sum(i in listed for listed, _ in observations) for i in range(traces.n_items)]
    found = describe(traces)
    assert found.n_traces == len(observations)
    assert found.n_unique == traces.n_unique
    assert found.n_items == traces.n_items
    assert (found.shortest, found.longest) == (min(lengths), max(lengths))
    assert found.median_length == statistics.median(lengths)
    assert found.n_complete == sum(k == traces.n_items for k in lengths)
    assert found.n_with_choice_set == sum(len(c) > len(listed) for listed, c in observations)
    assert found.n_pairs == len(all_pairs)
    assert found.pairs_in_both_orders == directions.count(2)
    assert found.pairs_in_one_order == directions.count(1)
    assert found.pairs_never_together == directions.count(0)
    assert found.items_seen_once == tuple(
        label for label, k in zip(traces.items, seen, strict=True) if k == 1
    )
    assert found.items_never_seen == tuple(
        label for label, k in zip(traces.items, seen, strict=True) if k == 0
    )

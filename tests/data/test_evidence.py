"""Counts of ordered pairs, against a loop over observations."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import reference as ref

from posetta.data import Traces
from posetta.data.evidence import PairEvidence

quick = settings(derandomize=True, deadline=None, max_examples=100)


def evidence_of(*lists, **more):
    return PairEvidence.of(Traces.from_lists(lists, **more))


def test_by_hand():
    evidence = evidence_of(list("abc"), ["c", "a"], counts=[2, 3])
    assert evidence.before.tolist() == [[0, 2, 2], [0, 0, 2], [3, 0, 0]]
    assert evidence.together.tolist() == [[0, 2, 5], [2, 0, 2], [5, 2, 0]]
    assert np.argwhere(evidence.both_orders).tolist() == [[0, 2], [2, 0]]
    assert np.argwhere(evidence.one_order).tolist() == [[0, 1], [1, 2]]
    assert not evidence.never_together.any()
    assert evidence.items == ("a", "b", "c")


def test_unlisted_items_follow_listed_ones_only_within_a_choice_set():
    top = evidence_of(["a", "b"], items=list("abcde"), choice_sets=[list("abcd")])
    assert np.argwhere(top.before).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3]]
    # c and d stay unlisted: nothing is known of them; e was no candidate.
    assert top.never_together[2, 3]
    assert top.never_together[0, 4]
    plain = evidence_of(["a", "b"], items=list("abcde"))
    assert np.argwhere(plain.before).tolist() == [[0, 1]]


def test_no_traces():
    evidence = evidence_of(items=["a", "b"])
    assert not evidence.before.any()
    assert evidence.never_together.tolist() == [[False, True], [True, False]]


@quick
@given(st.integers(1, 6).flatmap(ref.observations))
def test_against_a_loop_over_observations(traces):
    n = traces.n_items
    before = np.zeros((n, n), dtype=int)
    for listed, choice_set, count in ref.rows(traces):
        for x, remaining in ref.remainders(listed, choice_set):
            for z in remaining - {x}:
                before[x, z] += count
    evidence = PairEvidence.of(traces)
    assert np.array_equal(evidence.before, before)
    for i in range(n):
        for j in range(n):
            forth, back = before[i, j], before[j, i]
            assert evidence.together[i, j] == forth + back
            assert evidence.both_orders[i, j] == (forth > 0 and back > 0)
            assert evidence.one_order[i, j] == (forth > 0 and back == 0)
            assert evidence.never_together[i, j] == (i != j and forth == back == 0)
    for least in (2, 3, 5):
        lone = [
            before[i, j] > 1 and before[j, i] == 1 and before[i, j] + 1 >= least
            for i in range(n)
            for j in range(n)
        ]
        assert evidence.n_lone_reversals(least) == sum(lone)

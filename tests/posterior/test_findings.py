"""Findings in words: what is required, what is free, what is open."""

from __future__ import annotations

import numpy as np
from tests.posterior.examples import hard_posterior, three_draws

from posetta.data import Traces
from posetta.infer import fit
from posetta.posterior.findings import SURE, PairFinding, findings, free, sentences, undecided

TRACES = Traces.from_lists(
    [["a", "b", "c"], ["b", "a", "c"], ["a", "b", "d"]], items=list("abcd"), counts=[5, 1, 2]
)


def example():
    """Draws in which a and b are free, both mostly before c, and d is uncertain."""
    closures = np.zeros((20, 4, 4), dtype=bool)
    closures[:, [0, 1], 2] = True
    closures[0, 1, 2] = False
    closures[:10, 0, 3] = True
    return hard_posterior(closures, np.ones(20), np.zeros(20), TRACES)


def pairs(listed) -> list[tuple[str, str]]:
    return [(one.first, one.second) for one in listed]


def test_every_pair_is_in_one_list_at_most() -> None:
    found = findings(example())
    assert pairs(found.prerequisites) == [("a", "c"), ("b", "c")]  # 1.00 before 0.95
    # b, d and c, d have no order in any draw; a, b were seen both ways and come first.
    assert pairs(found.free) == [("a", "b"), ("b", "d"), ("c", "d")]
    assert pairs(found.undecided) == [("a", "d")]
    (open_pair,) = found.undecided
    assert (open_pair.before, open_pair.free) == (0.5, 0.5)
    assert (open_pair.n_first, open_pair.n_second) == (2, 0)
    assert all(one.before >= SURE for one in found.prerequisites)


def test_what_is_likely_is_no_prerequisite_and_what_was_seen_both_ways_is_not_open() -> None:
    assert ("a", "d") in example().decode(0.4).cover_pairs
    assert pairs(findings(example(), 0.4).prerequisites) == [("a", "c"), ("b", "c")]
    closures = np.zeros((20, 4, 4), dtype=bool)
    closures[:10, 0, 1] = True  # with noise, a may precede b although b was seen first once
    noisy = hard_posterior(closures, np.ones(20), np.full(20, 0.1), TRACES)
    assert pairs(findings(noisy).undecided) == []
    assert ("a", "b") not in pairs(findings(noisy).free)


def test_sentences_take_each_kind_in_turn() -> None:
    told = sentences(example())
    assert told == [
        '"a" must come before "c" (probability 1.00; so in 6 of 6 traces with both).',
        '"a" and "b" can be swapped (probability 1.00; 7 traces show "a" first, 1 the other way).',
        'The data cannot decide whether "a" must come before "d" (probability 0.50; 2 traces show '
        "this order and none the other).",
    ]


def test_where_nothing_is_open_the_least_sure_is_named() -> None:
    closures = np.zeros((20, 4, 4), dtype=bool)
    closures[:, 0, 2] = True
    closures[:19, 1, 2] = True
    told = sentences(hard_posterior(closures, np.ones(20), np.zeros(20), TRACES))
    assert told[2].startswith('It is likely but not sure that "b" must come before "c"')
    assert not any(sentence.startswith('"b" must') for sentence in told)


def test_what_the_traces_showed_is_said_of_both_orders() -> None:
    likely = PairFinding("a", "b", before=0.95, after=0.0, free=0.05, n_first=7, n_second=1)
    assert "7 traces show this order and 1 the other" in undecided(likely)
    rare = PairFinding("a", "b", before=0.5, after=0.2, free=0.3, n_first=0, n_second=1)
    assert "0 traces show this order and 1 the other" in undecided(rare)


def test_a_single_order_has_no_probabilities() -> None:
    point = fit(TRACES, method="maximal")
    found = findings(point)
    assert pairs(found.free) == [("a", "b")]
    assert pairs(found.undecided) == [("c", "d")]  # never seen together
    assert not any("probability" in sentence for sentence in sentences(point))
    assert "no trace shows them together" in sentences(point)[2]


def test_few_draws_and_no_pairs() -> None:
    assert len(sentences(three_draws(), most=1)) == 1
    alone = Traces.from_lists([["a"]])
    assert sentences(fit(alone, method="maximal")) == []


def test_one_trace_shows_and_two_traces_show() -> None:
    swapped = findings(fit(Traces.from_lists([["a", "b"], ["b", "a"]]), method="maximal")).free
    assert free(swapped[0], True) == (
        '"a" and "b" can be swapped (1 trace shows "a" first, 1 the other way).'
    )

"""The Plackett-Luce mixture against its definition, list by list and step by step."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import reference as ref

from posetta import InputError, Traces
from posetta.model import (
    plackett_luce_log_likelihood,
    plackett_luce_pairs,
    plackett_luce_step_log_probabilities,
    plackett_luce_trace_log_likelihood,
)

quick = settings(derandomize=True, deadline=None, max_examples=100)


def list_probability(weights, supports, listed, choice_set):
    """Return sum_g omega_g prod_t p_gx / sum_R p_ga, as written."""
    return sum(
        omega
        * math.prod(
            p[x] / sum(p[a] for a in left) for x, left in ref.remainders(listed, choice_set)
        )
        for omega, p in zip(weights, supports, strict=True)
    )


def folded(weights, supports):
    """Return log(omega_g p_gi) as (item, component), supports made to sum to 1."""
    supports = np.asarray(supports, dtype=float)
    shares = supports / supports.sum(axis=1, keepdims=True)
    return (np.log(shares) + np.log(weights)[:, None]).T


@st.composite
def cases(draw):
    n, g = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    supports = np.exp(draw(ref.matrices((g, n), st.floats(-4.0, 4.0))))
    weights = np.exp(draw(ref.matrices((g,), st.floats(-3.0, 3.0))))
    return weights / weights.sum(), supports, draw(ref.observations(n))


@quick
@given(cases())
def test_lists_and_steps_follow_the_definition(case):
    weights, supports, traces = case
    log_support = folded(weights, supports)
    lists, steps = [], []
    for listed, choice_set, _ in ref.rows(traces):
        prefixes = [
            list_probability(weights, supports, listed[:k], choice_set)
            for k in range(len(listed) + 1)
        ]
        lists.append(math.log(prefixes[-1]))
        steps += [math.log(b / a) for a, b in pairwise(prefixes)]
    np.testing.assert_allclose(
        plackett_luce_step_log_probabilities(log_support, traces), steps, atol=1e-12
    )
    np.testing.assert_allclose(
        plackett_luce_trace_log_likelihood(log_support, traces), lists, atol=1e-12
    )
    total = sum(c * v for c, v in zip(traces.counts, lists, strict=True))
    assert plackett_luce_log_likelihood(log_support, traces) == pytest.approx(total, abs=1e-10)
    # A constant for the whole matrix means nothing.
    np.testing.assert_allclose(
        plackett_luce_trace_log_likelihood(log_support + 3.0, traces), lists, atol=1e-11
    )


@quick
@given(cases())
def test_pairs_are_lists_of_two(case):
    weights, supports, _ = case
    log_support = folded(weights, supports)
    n = log_support.shape[0]
    for i in range(n):
        expected = [
            list_probability(weights, supports, [i, j], [i, j]) if i != j else 0.5 for j in range(n)
        ]
        np.testing.assert_allclose(plackett_luce_pairs(log_support, i), expected, atol=1e-12)
        stacked = plackett_luce_pairs(np.stack([log_support, log_support + 2.0]), i)
        np.testing.assert_allclose(stacked, [expected, expected], atol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 4])
def test_all_lists_together_have_probability_one(length):
    log_support = folded([0.3, 0.7], [[1, 2, 3, 4], [9, 1, 1, 1]])
    traces = ref.all_lists(list("abcd"), length, choice_set=length < 4)
    total = np.exp(plackett_luce_trace_log_likelihood(log_support, traces)).sum()
    assert total == pytest.approx(1.0, abs=1e-12)


def test_a_prefix_tells_the_component():
    # Component 1 says a before b and c before d, component 2 the reverse of both.
    log_support = folded([0.5, 0.5], [[9, 1, 9, 1], [1, 9, 1, 9]])
    traces = Traces.from_lists(
        [["c"], ["a", "c"]], items=list("abcd"), choice_sets=[list("abcd")] * 2
    )
    alone, _, after_a = plackett_luce_step_log_probabilities(log_support, traces)
    assert math.exp(alone) == pytest.approx(0.25)
    # Given a, component 1 has probability 9/10; there c comes next at 9/11, else at 1/19.
    assert math.exp(after_a) == pytest.approx(0.9 * 9 / 11 + 0.1 * 1 / 19)


def test_supports_of_extreme_size_stay_finite():
    log_support = np.array([[0.0], [-2000.0], [-3000.0]])
    traces = Traces.from_lists([list("abc"), list("cba")], items=list("abc"))
    values = plackett_luce_trace_log_likelihood(log_support, traces)
    np.testing.assert_allclose(values, [0.0, -5000.0])


@pytest.mark.parametrize(
    ("log_support", "message"),
    [
        (np.zeros((2, 1)), r"shape \(3, components\).*got \(2, 1\)"),
        (np.zeros(3), r"got \(3,\)"),
        (np.zeros((3, 0)), r"got \(3, 0\)"),
        (np.array([[0.0], [np.nan], [0.0]]), "not finite"),
    ],
)
def test_bad_supports_are_refused(log_support, message):
    with pytest.raises(InputError, match=message):
        plackett_luce_log_likelihood(log_support, Traces.from_lists([list("abc")]))

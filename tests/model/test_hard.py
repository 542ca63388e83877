"""The hard frontier-softmax likelihood, against the plain reference and by its laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import reference as ref

from posetta.data import Traces
from posetta.errors import InputError, SettingError
from posetta.model import (
    hard_log_likelihood,
    hard_step_log_probabilities,
    hard_trace_log_likelihood,
)
from posetta.order import Poset

quick = settings(derandomize=True, deadline=None, max_examples=100)

betas = st.one_of(st.just(0.0), st.floats(0.0, 5.0))
noises = st.sampled_from([0.0, 1e-6, 0.05, 0.5, 0.99])
# Sums of a few dozen logarithms of order 1 to 30: rounding stays below 1e-13.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}

# a before b and c; d apart.
FORK = np.zeros((4, 4), dtype=bool)
FORK[0, 1] = FORK[0, 2] = True


@st.composite
def cases(draw):
    closure = draw(ref.closures())
    return closure, draw(betas), draw(noises), draw(ref.observations(len(closure)))


def test_steps_of_a_fork_by_hand():
    traces = Traces.from_lists([["a", "d", "c", "b"], ["d", "a", "b", "c"]], items=list("abcd"))
    steps = np.exp(hard_step_log_probabilities(FORK, 2.0, traces))
    # {a: 3², d: 1²}, then {b, c, d} alike; {a, d}, then a is forced.
    np.testing.assert_allclose(steps, [9 / 10, 1 / 3, 1 / 2, 1, 1 / 10, 1, 1 / 2, 1], **CLOSE)


@quick
@given(cases())
def test_agrees_with_the_reference(case):
    closure, beta, noise, traces = case
    per_row = [
        ref.hard_log_probability(closure, beta, noise, listed, choice_set)
        for listed, choice_set, _ in ref.rows(traces)
    ]
    total = ref.hard_log_likelihood(closure, beta, noise, traces)
    rows = hard_trace_log_likelihood(closure, beta, traces, noise)
    np.testing.assert_allclose(rows, per_row, **CLOSE)
    np.testing.assert_allclose(hard_log_likelihood(closure, beta, traces, noise), total, **CLOSE)


@quick
@given(cases())
def test_steps_are_those_of_the_reference_in_the_order_of_the_rows(case):
    closure, beta, noise, traces = case
    expected = [
        ref.mix(ref.hard_step(closure, beta, remaining)[x], noise, remaining)
        for listed, choice_set, _ in ref.rows(traces)
        for x, remaining in ref.remainders(listed, choice_set)
    ]
    steps = hard_step_log_probabilities(closure, beta, traces, noise)
    assert steps.shape == (traces.n_steps,)
    np.testing.assert_allclose(np.exp(steps), expected, **CLOSE)


@quick
@given(ref.closures(max_items=5), betas)
def test_probabilities_of_the_linear_extensions_sum_to_one(closure, beta):
    traces = ref.all_lists(ref.LETTERS[: len(closure)], len(closure))
    per_row = hard_trace_log_likelihood(closure, beta, traces)
    extends = [
        not any(closure[b, a] for i, a in enumerate(y) for b in y[i + 1 :])
        for y in traces.sequences
    ]
    np.testing.assert_array_equal(np.isfinite(per_row), extends)
    np.testing.assert_allclose(np.exp(per_row).sum(), 1.0, rtol=1e-12)


@quick
@given(ref.closures(max_items=5), betas, noises, st.data())
def test_probabilities_of_all_top_k_lists_sum_to_one(closure, beta, noise, data):
    n_items = len(closure)
    length = data.draw(st.integers(1, n_items))
    traces = ref.all_lists(ref.LETTERS[:n_items], length, choice_set=True)
    per_row = hard_trace_log_likelihood(closure, beta, traces, noise)
    np.testing.assert_allclose(np.exp(per_row).sum(), 1.0, rtol=1e-12)


@quick
@given(cases(), st.data())
def test_relabelling_the_items_changes_nothing(case, data):
    closure, beta, noise, traces = case
    new = data.draw(st.permutations(range(len(closure))))
    relabelled = traces.with_items([traces.items[i] for i in new])
    np.testing.assert_allclose(
        hard_log_likelihood(closure[np.ix_(new, new)], beta, relabelled, noise),
        hard_log_likelihood(closure, beta, traces, noise),
        **CLOSE,
    )


def test_a_count_is_that_many_copies():
    lists = [["a", "c"], ["d", "a", "b"], ["a", "c"]]
    one_by_one = sum(
        count * hard_log_likelihood(FORK, 1.3, Traces.from_lists([y], items=list("abcd")), 0.1)
        for y, count in zip(lists, [2, 5, 1], strict=True)
    )
    traces = Traces.from_lists(lists, items=list("abcd"), counts=[2, 5, 1])
    assert traces.n_unique == 2
    np.testing.assert_allclose(hard_log_likelihood(FORK, 1.3, traces, 0.1), one_by_one, **CLOSE)
    single = hard_trace_log_likelihood(FORK, 1.3, traces, 0.1)
    np.testing.assert_allclose(single @ [3, 5], one_by_one, **CLOSE)


def test_items_outside_the_choice_set_say_nothing():
    """b before a is broken only where both are candidates."""
    traces = Traces.from_lists(
        [["b", "c"], ["b"]], items=list("abcd"), choice_sets=[None, list("bcd")]
    )
    np.testing.assert_allclose(
        hard_trace_log_likelihood(FORK, 1.0, traces), np.log([1 / 2, 1 / 3]), **CLOSE
    )


def test_an_impossible_trace_has_probability_zero_without_noise_only():
    traces = Traces.from_lists([["d", "b", "a"], ["a", "b"]], items=list("abcd"), counts=[2, 1])
    assert hard_log_likelihood(FORK, 1.0, traces) == -math.inf
    np.testing.assert_array_equal(
        np.isfinite(hard_step_log_probabilities(FORK, 1.0, traces)), [True, False, True, True, True]
    )
    noise = 0.1
    first, second, third = 0.9 / 3 + 0.1 / 3, 0.1 / 2, 1.0  # {d, a: 2}, then b jumps a
    np.testing.assert_allclose(
        hard_trace_log_likelihood(FORK, 1.0, traces, noise)[0],
        math.log(first * second * third),
        **CLOSE,
    )


def test_an_unlisted_predecessor_in_the_choice_set_makes_a_list_impossible():
    traces = Traces.from_lists([["b"]], items=list("abcd"), choice_sets=[["a", "b"]])
    assert hard_log_likelihood(FORK, 1.0, traces) == -math.inf


def test_no_traces_have_log_likelihood_zero():
    traces = Traces.from_lists([], items=list("abcd"))
    assert hard_log_likelihood(FORK, 1.0, traces) == 0.0
    assert hard_trace_log_likelihood(FORK, 1.0, traces).shape == (0,)
    assert hard_step_log_probabilities(FORK, 1.0, traces).shape == (0,)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (4,), (1, 4, 4)])
def test_a_closure_of_another_shape_is_refused(shape):
    traces = Traces.from_lists([["a", "b"]], items=list("abcd"))
    with pytest.raises(InputError, match=r"expected a closure of shape \(4, 4\).*got"):
        hard_log_likelihood(np.zeros(shape, dtype=bool), 1.0, traces)


@pytest.mark.parametrize(
    ("beta", "noise", "text"),
    [
        (-0.1, 0.0, r"beta=-0\.1 must be at least 0"),
        (math.nan, 0.0, "beta=nan is not a finite number"),
        (math.inf, 0.0, "beta=inf is not a finite number"),
        (1.0, 1.0, r"noise=1\.0 must lie in \[0, 1\)"),
        (1.0, -0.1, r"noise=-0\.1 must lie in \[0, 1\)"),
        (1.0, math.nan, "noise=nan is not a finite number"),
    ],
)
def test_scalars_out_of_range_are_refused(beta, noise, text):
    traces = Traces.from_lists([["a", "b"]], items=list("abcd"))
    with pytest.raises(SettingError, match=text):
        hard_log_likelihood(FORK, beta, traces, noise)


@pytest.mark.parametrize(
    ("closure", "text"),
    [
        (np.full((3, 3), 0.4), "float64 values; it needs true or false.*threshold"),
        (np.full((3, 3), 2), "it needs true or false"),
        (np.eye(3, dtype=bool), "cycle: a -> a"),
        (~np.eye(3, dtype=bool), "cycle: a -> b -> a"),
        (np.roll(np.eye(3, dtype=bool), 1, axis=1), "cycle: a -> b -> c -> a"),
        (np.eye(3, k=1, dtype=bool), '"a" is before "b" and "b" before "c", but "a" not'),
        (Poset.from_chain(list("abc")), r"got a Poset. Pass poset\.closure"),
    ],
)
@pytest.mark.parametrize(
    "score", [hard_log_likelihood, hard_trace_log_likelihood, hard_step_log_probabilities]
)
def test_what_is_no_order_is_refused(score, closure, text):
    traces = Traces.from_lists([["a", "b", "c"]])
    with pytest.raises(InputError, match=text):
        score(closure, 1.0, traces)


def test_zeros_and_ones_are_an_order():
    traces = Traces.from_lists([["a", "b"]], items=list("abcd"))
    assert hard_log_likelihood(FORK.astype(int), 1.0, traces) == hard_log_likelihood(
        FORK, 1.0, traces
    )

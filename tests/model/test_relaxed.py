"""The relaxed likelihood and its gradient, against the decimal reference and by their laws."""

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
    relaxed_log_likelihood,
    relaxed_log_likelihood_and_grad,
    relaxed_step_log_probabilities,
    relaxed_trace_log_likelihood,
    soft_margins,
    soft_precedence,
)

quick = settings(derandomize=True, deadline=None, max_examples=100)
# The decimal reference takes milliseconds a row.
slower = settings(derandomize=True, deadline=None, max_examples=40)

betas = st.one_of(st.just(0.0), st.floats(0.0, 5.0))
gammas = st.floats(0.05, 20.0)
taus = st.floats(0.05, 2.0)
noises = st.sampled_from([0.0, 1e-6, 0.05, 0.5, 0.99])
# Log probabilities reach a few thousand (gamma |M| = 120, some thirty pairs): rounding 1e-12.
CLOSE = {"rtol": 1e-12, "atol": 1e-11}


@st.composite
def cases(draw, max_items=6, max_rows=4):
    latent = draw(ref.latents(max_items=max_items))
    scalars = draw(betas), draw(gammas), draw(taus), draw(noises)
    return latent, *scalars, draw(ref.observations(len(latent), max_rows))


@st.composite
def extreme_cases(draw):
    """|u| up to 50, gamma up to 1e4, tau down to 1e-3, ties and near ties included."""
    n_items, dim = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    value = st.sampled_from([-50.0, -1.0, 0.0, 1e-9, 0.001, 1.0, 49.999, 50.0])
    latent = draw(ref.matrices((n_items, dim), value))
    beta = draw(st.sampled_from([0.0, 1.0, 30.0]))
    gamma = draw(st.sampled_from([1e-3, 1.0, 1e4]))
    tau = draw(st.sampled_from([1e-3, 0.3, 100.0]))
    noise = draw(st.sampled_from([0.0, 1e-9, 0.1]))
    return latent, beta, gamma, tau, noise, draw(ref.observations(n_items, max_rows=3))


@quick
@given(ref.latents(bound=10.0), taus, gammas)
def test_margins_and_scores_are_those_of_the_reference(latent, tau, gamma):
    n_items = len(latent)
    margins, D = soft_margins(latent, tau), soft_precedence(latent, gamma, tau)
    expected_D, _ = ref.precedence(latent.tolist(), gamma, tau)
    for i in range(n_items):
        assert margins[i, i] == D[i, i] == 0.0
        for j in set(range(n_items)) - {i}:
            expected = float(ref.soft_margin(latent.tolist(), tau, i, j))
            np.testing.assert_allclose(margins[i, j], expected, **CLOSE)
            # A relative error of 1e-16 in a margin of 20 is one of 4e-14 in e^(gamma M).
            np.testing.assert_allclose(D[i, j], float(expected_D[i, j]), rtol=1e-12)


def test_two_items_by_hand():
    """p(ab) = (1 - D(b,a)) (1 + D(a,b))^beta / (that + the same with a and b swapped)."""
    traces = Traces.from_lists([["a", "b"]])
    ab, ba = 1 / (1 + math.exp(-2 * 0.7)), 1 / (1 + math.exp(2 * 0.7))  # gamma 2, gap 0.7, dim 1
    first, second = (1 - ba) * (1 + ab) ** 3, (1 - ab) * (1 + ba) ** 3
    value = relaxed_log_likelihood(np.array([[0.5], [-0.2]]), 3.0, 2.0, 0.3, traces)
    np.testing.assert_allclose(value, math.log(first / (first + second)), **CLOSE)


@slower
@given(cases())
def test_agrees_with_the_reference(case):
    latent, beta, gamma, tau, noise, traces = case
    per_row = [
        float(ref.relaxed_log_probability(latent.tolist(), beta, gamma, tau, noise, y, among))
        for y, among, _ in ref.rows(traces)
    ]
    args = latent, beta, gamma, tau, traces, noise
    np.testing.assert_allclose(relaxed_trace_log_likelihood(*args), per_row, **CLOSE)
    total = np.dot(per_row, traces.counts)
    np.testing.assert_allclose(relaxed_log_likelihood(*args), total, **CLOSE)
    np.testing.assert_allclose(relaxed_log_likelihood_and_grad(*args).value, total, **CLOSE)


@slower
@given(cases())
def test_steps_are_those_of_the_reference_in_the_order_of_the_rows(case):
    latent, beta, gamma, tau, noise, traces = case
    D, free = ref.precedence(latent.tolist(), gamma, tau)
    expected = [
        ref.mix(float(ref.relaxed_step(D, free, beta, remaining)[x]), noise, remaining)
        for listed, choice_set, _ in ref.rows(traces)
        for x, remaining in ref.remainders(listed, choice_set)
    ]
    steps = relaxed_step_log_probabilities(latent, beta, gamma, tau, traces, noise)
    assert steps.shape == (traces.n_steps,)
    np.testing.assert_allclose(np.exp(steps), expected, rtol=1e-11)


@quick
@given(ref.latents(max_items=5), betas, gammas, taus, noises, st.data())
def test_probabilities_of_all_top_k_lists_sum_to_one(latent, beta, gamma, tau, noise, data):
    n_items = len(latent)
    length = data.draw(st.integers(1, n_items))
    traces = ref.all_lists(ref.LETTERS[:n_items], length, choice_set=True)
    per_row = relaxed_trace_log_likelihood(latent, beta, gamma, tau, traces, noise)
    np.testing.assert_allclose(np.exp(per_row).sum(), 1.0, rtol=1e-12)


@quick
@given(ref.latents(max_items=5), betas, gammas, taus)
def test_probabilities_of_all_permutations_sum_to_one(latent, beta, gamma, tau):
    traces = ref.all_lists(ref.LETTERS[: len(latent)], len(latent))
    per_row = relaxed_trace_log_likelihood(latent, beta, gamma, tau, traces)
    assert np.isfinite(per_row).all()
    np.testing.assert_allclose(np.exp(per_row).sum(), 1.0, rtol=1e-12)


@quick
@given(cases(), st.data())
def test_relabelling_the_items_changes_nothing(case, data):
    latent, beta, gamma, tau, noise, traces = case
    new = data.draw(st.permutations(range(len(latent))))
    relabelled = traces.with_items([traces.items[i] for i in new])
    before = relaxed_log_likelihood_and_grad(latent, beta, gamma, tau, traces, noise)
    after = relaxed_log_likelihood_and_grad(latent[new], beta, gamma, tau, relabelled, noise)
    np.testing.assert_allclose(after.value, before.value, **CLOSE)
    np.testing.assert_allclose(after.d_latent, before.d_latent[new], rtol=1e-9, atol=1e-9)


def test_a_count_is_that_many_copies():
    latent = np.random.default_rng(3).normal(size=(4, 2))
    lists, counts = [["a", "c"], ["d", "a", "b"], ["a", "c"]], [2, 5, 1]
    scalars = 1.3, 2.0, 0.3
    parts = [
        relaxed_log_likelihood_and_grad(latent, *scalars, Traces.from_lists([y], list("abcd")), 0.1)
        for y in lists
    ]
    traces = Traces.from_lists(lists, items=list("abcd"), counts=counts)
    assert traces.n_unique == 2
    whole = relaxed_log_likelihood_and_grad(latent, *scalars, traces, 0.1)
    for name in whole._fields:
        added = sum(c * getattr(part, name) for c, part in zip(counts, parts, strict=True))
        np.testing.assert_allclose(getattr(whole, name), added, rtol=1e-12, atol=1e-13)
    single = relaxed_trace_log_likelihood(latent, *scalars, traces, 0.1)
    np.testing.assert_allclose(single @ [3, 5], whole.value, **CLOSE)


def test_items_outside_the_choice_set_say_nothing():
    rng = np.random.default_rng(4)
    latent = rng.normal(size=(4, 2))
    traces = Traces.from_lists(
        [["b", "c"], ["b"]], items=list("abcd"), choice_sets=[None, list("bc")]
    )
    moved = latent.copy()
    moved[[0, 3]] = rng.normal(size=(2, 2))
    args = 1.0, 2.0, 0.3, traces
    np.testing.assert_allclose(
        relaxed_log_likelihood(moved, *args), relaxed_log_likelihood(latent, *args), **CLOSE
    )
    d_latent = relaxed_log_likelihood_and_grad(latent, *args).d_latent
    np.testing.assert_array_equal(d_latent[[0, 3]], 0.0)
    assert np.abs(d_latent[[1, 2]]).min() > 0.0


def check_gradient(case, tolerance):
    """Compare with difference quotients of the decimal reference: all of it at once, and the parts.

    Rounding of the scores leaves errors of the order of the force on a margin, gamma * count per
    step, whatever cancels afterwards; ``tolerance`` is relative to that.
    """
    latent, beta, gamma, tau, noise, traces = case
    gradient = relaxed_log_likelihood_and_grad(latent, beta, gamma, tau, traces, noise)
    direction = np.random.default_rng(5).uniform(0.5, 1.5, latent.shape)
    direction *= np.random.default_rng(6).choice([-1.0, 1.0], latent.shape)
    none = np.zeros_like(latent)
    scale = 1.0 + float(traces.counts @ traces.n_listed)
    span = 1.0 + np.ptp(latent)
    for along, computed, size in (
        ((direction, 0.0, 0.0), np.sum(direction * gradient.d_latent), scale * (1.0 + gamma)),
        ((none, 1.0, 0.0), gradient.d_beta, scale),
        ((none, 0.0, 1.0), gradient.d_gamma, scale * span),
    ):
        along = (along[0].tolist(), *along[1:])
        expected = ref.relaxed_derivative(latent.tolist(), beta, gamma, tau, noise, traces, along)
        assert abs(computed - float(expected)) <= tolerance * size


@slower
@given(cases(max_items=5, max_rows=2))
def test_gradient_is_the_derivative(case):
    check_gradient(case, 1e-11)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_every_coordinate_of_the_gradient(noise):
    """Central differences of the value itself, coordinate by coordinate."""
    rng = np.random.default_rng(7)
    latent = rng.normal(size=(6, 3))
    lists = [list("abcdef"), list("fbd"), list("ce"), list("eab")]
    traces = Traces.from_lists(
        lists,
        items=list("abcdef"),
        counts=[1, 2, 3, 1],
        choice_sets=[None, None, list("abcde"), None],
    )
    theta = np.append(latent.ravel(), [1.4, 2.5])

    def value(at):
        args = at[:-2].reshape(6, 3), at[-2], at[-1], 0.3, traces, noise
        return relaxed_log_likelihood(*args)

    gradient = relaxed_log_likelihood_and_grad(latent, 1.4, 2.5, 0.3, traces, noise)
    computed = np.concatenate([gradient.d_latent.ravel(), [gradient.d_beta, gradient.d_gamma]])
    h = 1e-5  # truncation 1e-10 x third derivative, rounding 1e-14 / 1e-5
    steps = h * np.eye(len(theta))
    expected = [(value(theta + step) - value(theta - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(computed, expected, rtol=1e-6, atol=1e-6)


@settings(slower, max_examples=80)
@given(extreme_cases())
def test_value_and_gradient_at_extremes(case):
    """Finite, and right: gamma M reaches 1e6 there, so sixteen digits leave about 1e-9."""
    latent, beta, gamma, tau, noise, traces = case
    gradient = relaxed_log_likelihood_and_grad(latent, beta, gamma, tau, traces, noise)
    assert math.isfinite(gradient.value)
    assert np.isfinite(gradient.d_latent).all()
    assert math.isfinite(gradient.d_beta)
    assert math.isfinite(gradient.d_gamma)
    expected = float(ref.relaxed_log_likelihood(latent.tolist(), *case[1:]))
    np.testing.assert_allclose(gradient.value, expected, rtol=1e-12, atol=1e-7)
    check_gradient(case, 1e-8)


def test_a_trace_against_the_order_stays_possible():
    latent = np.array([[5.0, 5.0], [-5.0, -5.0]])
    against = Traces.from_lists([["b", "a"]], items=list("ab"))
    sharp = relaxed_log_likelihood(latent, 1.0, 100.0, 0.3, against)
    assert -math.inf < sharp < -900.0
    noisy = relaxed_log_likelihood(latent, 1.0, 100.0, 0.3, against, noise=0.2)
    np.testing.assert_allclose(noisy, math.log(0.2 / 2), **CLOSE)


def test_no_traces_have_log_likelihood_zero_and_no_gradient():
    latent = np.random.default_rng(8).normal(size=(3, 2))
    traces = Traces.from_lists([], items=list("abc"))
    args = latent, 1.0, 2.0, 0.3, traces
    assert relaxed_log_likelihood(*args) == 0.0
    assert relaxed_trace_log_likelihood(*args).shape == (0,)
    assert relaxed_step_log_probabilities(*args).shape == (0,)
    value, d_latent, d_beta, d_gamma = relaxed_log_likelihood_and_grad(*args)
    assert (value, d_beta, d_gamma) == (0.0, 0.0, 0.0)
    np.testing.assert_array_equal(d_latent, np.zeros((3, 2)))


LIKELIHOODS = [
    relaxed_log_likelihood,
    relaxed_trace_log_likelihood,
    relaxed_step_log_probabilities,
    relaxed_log_likelihood_and_grad,
]


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("shape", [(2, 2), (4, 2), (3,), (3, 2, 1)])
def test_a_latent_of_another_shape_is_refused(likelihood, shape):
    traces = Traces.from_lists([["a", "b"]], items=list("abc"))
    with pytest.raises(InputError, match=r"expected a latent of shape \(3, dim\).*got"):
        likelihood(np.zeros(shape), 1.0, 2.0, 0.3, traces)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_a_latent_without_columns_or_with_holes_is_refused(likelihood):
    traces = Traces.from_lists([["a", "b"]])
    with pytest.raises(InputError, match=r"shape \(items, dim\); got \(2, 0\)"):
        likelihood(np.zeros((2, 0)), 1.0, 2.0, 0.3, traces)
    for hole in (np.nan, np.inf):
        with pytest.raises(InputError, match="not finite"):
            likelihood(np.array([[0.0, hole], [1.0, 0.0]]), 1.0, 2.0, 0.3, traces)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"beta": -0.1}, r"beta=-0\.1 must be at least 0"),
        ({"beta": math.nan}, "beta=nan is not a finite number"),
        ({"gamma": 0.0}, r"gamma=0\.0 must be greater than 0"),
        ({"gamma": math.inf}, "gamma=inf is not a finite number"),
        ({"tau": 0.0}, r"tau=0\.0 must be greater than 0"),
        ({"tau": -1.0}, r"tau=-1\.0 must be greater than 0"),
        ({"noise": 1.0}, r"noise=1\.0 must lie in \[0, 1\)"),
        ({"noise": -0.5}, r"noise=-0\.5 must lie in \[0, 1\)"),
    ],
)
def test_scalars_out_of_range_are_refused(likelihood, change, text):
    traces = Traces.from_lists([["a", "b"]])
    scalars = {"beta": 1.0, "gamma": 2.0, "tau": 0.3, "noise": 0.0} | change
    with pytest.raises(SettingError, match=text):
        likelihood(np.eye(2), traces=traces, **scalars)

"""Posterior-predictive probabilities, against plain loops over draws, rows and steps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import reference as ref
from tests.posterior.examples import CHAIN, FORK, FREE, TRAIN, hard_posterior, relaxed_posterior

from posetta.data import Traces
from posetta.errors import InputError, SettingError
from posetta.posterior import next_item, predictive

quick = settings(derandomize=True, deadline=None, max_examples=40)
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def log(p):
    return math.log(p) if p > 0 else -math.inf


def slow_predictive(step_of_draw, n_draws, traces):
    """Average probabilities over draws, for every step and for every row; then take logs.

    ``step_of_draw(s, remaining)`` gives {item: probability} under draw s, noise included.
    """
    trace, step = [], []
    for listed, choice_set, _ in ref.rows(traces):
        p = np.array(
            [
                [float(step_of_draw(s, left)[x]) for x, left in ref.remainders(listed, choice_set)]
                for s in range(n_draws)
            ]
        )
        step += [log(q) for q in p.mean(axis=0)]
        trace.append(log(p.prod(axis=1).mean()))
    return np.array(trace), np.array(step)


def hard_steps(closures, beta, noise):
    def step(s, remaining):
        q = ref.hard_step(closures[s], beta[s], remaining)
        return {x: ref.mix(p, noise[s], remaining) for x, p in q.items()}

    return step


@st.composite
def hard_draws(draw):
    n_items, n_draws = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    shape = (n_items, 2)
    latents = [draw(ref.matrices(shape, st.integers(-2, 2).map(float))) for _ in range(n_draws)]
    closures = np.array([ref.product_order(u) for u in latents])
    beta = draw(st.lists(st.floats(0, 4), min_size=n_draws, max_size=n_draws))
    noises = st.sampled_from([0.0, 0.05, 0.5])
    noise = draw(st.lists(noises, min_size=n_draws, max_size=n_draws))
    return closures, beta, noise, draw(ref.observations(n_items))


@quick
@given(hard_draws())
def test_hard_draws(case):
    closures, beta, noise, traces = case
    posterior = hard_posterior(closures, beta, noise, traces)
    trace, step = slow_predictive(hard_steps(closures, beta, noise), len(beta), traces)
    found = predictive(posterior, traces)
    np.testing.assert_allclose(found.trace, trace, **CLOSE)
    np.testing.assert_allclose(found.step, step, **CLOSE)


def relaxed_example():
    """Four draws in two chains, on four items."""
    generator = np.random.default_rng(4)
    latent = generator.standard_normal((4, 4, 2))
    beta, gamma, noise = generator.random(4) * 2, generator.random(4) * 3 + 0.2, [0, 0.1, 0.3, 0]
    traces = Traces.from_lists(
        [list("abcd"), list("dbca"), ["c", "a"], ["b"]],
        items=list("abcd"),
        counts=[1, 2, 1, 1],
        choice_sets=[None, None, None, list("abd")],
    )
    posterior = relaxed_posterior(latent, beta, gamma, noise, traces, tau=0.4, n_chains=2)
    return posterior, latent, beta, gamma, noise, traces


def test_relaxed_draws():
    posterior, latent, beta, gamma, noise, traces = relaxed_example()
    scores = [ref.precedence(u.tolist(), g, 0.4) for u, g in zip(latent, gamma, strict=True)]

    def step(s, remaining):
        q = ref.relaxed_step(*scores[s], beta[s], remaining)
        return {x: ref.mix(float(p), noise[s], remaining) for x, p in q.items()}

    trace, steps = slow_predictive(step, 4, traces)
    found = predictive(posterior, traces)
    np.testing.assert_allclose(found.trace, trace, **CLOSE)
    np.testing.assert_allclose(found.step, steps, **CLOSE)


def test_the_hard_yardstick_on_relaxed_draws():
    posterior, latent, beta, _, noise, traces = relaxed_example()
    closures = [ref.product_order(u) for u in latent]
    trace, steps = slow_predictive(hard_steps(closures, beta, noise), 4, traces)
    found = predictive(posterior, traces, likelihood="hard")
    np.testing.assert_allclose(found.trace, trace, **CLOSE)
    np.testing.assert_allclose(found.step, steps, **CLOSE)
    assert not np.allclose(found.step, predictive(posterior, traces).step)


def test_probabilities_are_averaged_before_the_logarithm():
    # The chain forbids a, c, b; the fork allows it with probability 1/2.
    posterior = hard_posterior([CHAIN, FORK], [0.0, 0.0], [0.0, 0.0], TRAIN)
    found = predictive(posterior, Traces.from_lists([list("acb")], items=list("abc")))
    assert found.trace == pytest.approx([math.log(0.25)])
    assert found.step == pytest.approx([0.0, math.log(0.25), 0.0])


def test_items_are_matched_by_label():
    posterior = hard_posterior([CHAIN, FORK], [0.0, 0.0], [0.0, 0.0], TRAIN)
    turned = Traces.from_lists([list("acb")], items=list("cba"))
    assert predictive(posterior, turned).trace == pytest.approx([math.log(0.25)])
    with pytest.raises(InputError, match='holds the item "z"'):
        predictive(posterior, Traces.from_lists([["a", "z"]]))


def test_no_traces_have_no_probabilities():
    posterior = hard_posterior([CHAIN], [0.0], [0.0], TRAIN)
    found = predictive(posterior, Traces.from_lists([], items=list("abc")))
    assert found.trace.shape == found.step.shape == (0,)


def test_relaxed_draws_without_latents_name_the_way_out():
    posterior, *_, traces = relaxed_example()
    bare = replace(posterior, draws=replace(posterior.draws, latent=None))
    with pytest.raises(InputError, match="likelihood='hard'"):
        predictive(bare, traces)
    assert np.isfinite(predictive(bare, traces, "hard").step[-1])


def test_an_unknown_likelihood_lists_the_valid_ones():
    posterior = hard_posterior([CHAIN], [0.0], [0.0], TRAIN)
    with pytest.raises(SettingError, match=r"'own', 'hard'"):
        predictive(posterior, TRAIN, likelihood="soft")


# -- the coherent predictive -----------------------------------------------------------------------


@quick
@given(hard_draws())
def test_the_coherent_predictive_reweights_draws_by_the_prefix(case):
    closures, beta, noise, traces = case
    step_of_draw = hard_steps(closures, beta, noise)
    expected = []
    for listed, choice_set, _ in ref.rows(traces):
        weight = np.ones(len(beta))
        for x, left in ref.remainders(listed, choice_set):
            p = np.array([float(step_of_draw(s, left)[x]) for s in range(len(beta))])
            expected.append(weight @ p / weight.sum() if weight.sum() > 0 else np.nan)
            weight *= p
    found = predictive(hard_posterior(closures, beta, noise, traces), traces)
    np.testing.assert_allclose(np.exp(found.coherent), expected, rtol=1e-9, atol=1e-12)
    for r, stop in enumerate(np.cumsum(traces.n_listed)):
        if np.isfinite(found.trace[r]):
            row = found.coherent[stop - traces.n_listed[r] : stop]
            assert row.sum() == pytest.approx(found.trace[r])


def test_paper_and_coherent_by_hand():
    # After "a" the chain allows b only, the fork b and c; both give "a" probability 1.
    posterior = hard_posterior([CHAIN, FORK, FREE], [0.0] * 3, [0.0] * 3, TRAIN)
    found = predictive(posterior, Traces.from_lists([list("acb")], items=list("abc")))
    # Paper: (0 + 1/2 + 1/2) / 3 at c. The free draw gave "a" 1/3 only, so it counts a third.
    assert np.exp(found.step) == pytest.approx([7 / 9, 1 / 3, 1.0])
    assert np.exp(found.coherent) == pytest.approx([7 / 9, (1 / 2 + 1 / 6) / (7 / 3), 1.0])


# -- the next item ---------------------------------------------------------------------------------


def test_next_item_by_hand():
    posterior = hard_posterior([CHAIN, FORK, FREE], [0.0] * 3, [0.0] * 3, TRAIN)
    found = next_item(posterior, ["a"])
    assert found.items == ("b", "c")
    assert found.probability == pytest.approx([2 / 3, 1 / 3])
    assert found.coherent == pytest.approx([(1 + 1 / 2 + 1 / 6) / (7 / 3), (2 / 3) / (7 / 3)])
    assert found.prefix_log_probability == pytest.approx(math.log(7 / 9))
    assert found.effective_draws == pytest.approx((7 / 3) ** 2 / (2 + 1 / 9))


def test_next_item_from_a_choice_set():
    posterior = hard_posterior([CHAIN, FORK, FREE], [0.0] * 3, [0.0] * 3, TRAIN)
    start = next_item(posterior, [], choice_set={"b", "c"})
    assert dict(zip(start.items, start.probability, strict=True)) == pytest.approx(
        {"b": 2 / 3, "c": 1 / 3}
    )
    np.testing.assert_allclose(start.coherent, start.probability)
    assert start.effective_draws == pytest.approx(3)
    with_prefix = next_item(posterior, ["a"], choice_set=["a", "b", "c"])
    without = next_item(posterior, ["a"], choice_set=["b", "c"])
    np.testing.assert_array_equal(with_prefix.probability, without.probability)
    assert next_item(posterior, ["a"], choice_set=["b"]).probability == pytest.approx([1.0])


@pytest.mark.parametrize("likelihood", ["own", "hard"])
def test_next_items_sum_to_one(likelihood):
    posterior, *_ = relaxed_example()
    found = next_item(posterior, ["b"], likelihood=likelihood)
    assert found.probability.sum() == pytest.approx(1.0)
    assert found.coherent.sum() == pytest.approx(1.0)
    assert list(found.probability) == sorted(found.probability, reverse=True)


def test_after_an_impossible_prefix_only_the_paper_has_an_answer():
    posterior = hard_posterior([CHAIN, FORK], [0.0, 0.0], [0.0, 0.0], TRAIN)
    found = next_item(posterior, ["b"])
    assert dict(zip(found.items, found.probability, strict=True)) == {"a": 1.0, "c": 0.0}
    assert np.isnan(found.coherent).all()
    assert (found.prefix_log_probability, found.effective_draws) == (-math.inf, 0.0)


def test_next_item_refuses_what_it_cannot_answer():
    posterior = hard_posterior([CHAIN], [0.0], [0.0], TRAIN)
    with pytest.raises(InputError, match="nothing is left"):
        next_item(posterior, list("abc"))
    with pytest.raises(InputError, match='"z"'):
        next_item(posterior, ["z"])
    with pytest.raises(InputError, match='"z"'):
        next_item(posterior, ["a"], choice_set=["a", "z"])
    with pytest.raises(InputError, match="twice"):
        next_item(posterior, ["a", "a"])
    with pytest.raises(InputError, match="lists of labels"):
        next_item(posterior, "ab")

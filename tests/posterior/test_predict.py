"""Posterior-predictive probabilities, against plain loops over draws, rows and steps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import reference as ref
from tests.posterior.examples import CHAIN, FORK, TRAIN, hard_posterior, relaxed_posterior

from posetta.data import Traces
from posetta.errors import InputError, SettingError
from posetta.posterior import predictive

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

"""Bulk scoring agrees with the per-draw functions of the model, whatever the cut into parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import reference as ref
from tests.posterior.examples import hard_posterior, relaxed_posterior

from posetta import InputError, PlackettLuce, fit
from posetta.data import Traces
from posetta.model.hard import sum_steps
from posetta.model.latent import product_order
from posetta.posterior import predict, predictive
from posetta.posterior.predict import step_log_probabilities

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def one_draw_at_a_time(posterior, traces):
    """Return log means of p(trace), p(step) and p(prefix) from a loop over draws."""
    steps = np.array(list(step_log_probabilities(posterior, traces)))
    whole = np.array([sum_steps(one, traces) for one in steps])
    starts = np.cumsum(traces.n_listed) - traces.n_listed
    prefixes = np.array(
        [np.concatenate([np.cumsum(row) for row in np.split(one, starts[1:])]) for one in steps]
    )
    mean = [np.logaddexp.reduce(x, axis=0) - np.log(len(steps)) for x in (whole, steps, prefixes)]
    return tuple(mean)


def assert_agrees(posterior, traces):
    found = predictive(posterior, traces)
    trace, step, prefix = one_draw_at_a_time(posterior, traces)
    np.testing.assert_allclose(found.trace, trace, **CLOSE)
    np.testing.assert_allclose(found.step, step, **CLOSE)
    starts = np.cumsum(traces.n_listed) - traces.n_listed
    earlier = np.concatenate([[0.0], prefix[:-1]])
    earlier[starts] = 0.0
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found.coherent, prefix - earlier, rtol=1e-9, atol=1e-9)


@st.composite
def cases(draw):
    n_items, n_draws = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    whole = st.integers(-2, 2).map(float)
    latents = np.array([draw(ref.matrices((n_items, 2), whole)) for _ in range(n_draws)])
    # 500 and more overflow (1 + S)^beta.
    beta = [draw(st.one_of(st.floats(0, 4), st.sampled_from([500.0, 900.0]))) for _ in latents]
    noise = [draw(st.sampled_from([0.0, 0.0, 0.1, 0.9])) for _ in latents]
    return latents, beta, noise, draw(ref.observations(n_items))


@settings(derandomize=True, deadline=None, max_examples=80)
@given(cases())
def test_hard_draws(case):
    latents, beta, noise, traces = case
    assert_agrees(hard_posterior(product_order(latents), beta, noise, traces), traces)


def larger(seed, n_draws=40, n_items=9):
    """Draws around one latent, and full, partial and top-k traces, most of them out of order."""
    generator = np.random.default_rng(seed)
    centre = generator.standard_normal((n_items, 3))
    latents = centre + 0.4 * generator.standard_normal((n_draws, n_items, 3))
    items = [f"i{k}" for k in range(n_items)]
    lists, choice_sets = [], []
    for k in range(60):
        shuffled = [items[i] for i in generator.permutation(n_items)]
        size = n_items if k % 3 == 0 else int(generator.integers(1, n_items + 1))
        lists.append(shuffled[: size if k % 3 < 2 else max(1, size // 2)])
        choice_sets.append(shuffled[:size] if k % 3 == 2 else None)
    traces = Traces.from_lists(lists, items=items, choice_sets=choice_sets)
    scalars = generator.random((3, n_draws))
    return latents, 3 * scalars[0], 0.2 + 3 * scalars[1], 0.3 * scalars[2], traces


@pytest.mark.parametrize("noisy", [False, True])
def test_larger_draws(noisy):
    latents, beta, gamma, noise, traces = larger(1)
    noise = noise if noisy else np.zeros_like(noise)
    hard = hard_posterior(product_order(latents), beta, noise, traces, n_chains=4)
    assert np.isneginf(predictive(hard, traces).trace).any() != noisy
    assert_agrees(hard, traces)
    assert_agrees(relaxed_posterior(latents, beta, gamma, noise, traces, n_chains=2), traces)


def both_kinds():
    latents, beta, gamma, noise, traces = larger(2)
    yield traces, hard_posterior(product_order(latents), beta, noise, traces)
    yield traces, relaxed_posterior(latents, beta, gamma, noise, traces)


@pytest.mark.parametrize("steps", [1, 7, 100])
def test_rows_may_be_scored_in_portions(monkeypatch, steps):
    for traces, posterior in both_kinds():
        whole = predictive(posterior, traces)
        with monkeypatch.context() as patch:
            patch.setattr(predict, "_PORTION_STEPS", steps)
            parts = predictive(posterior, traces)
        for a, b in zip(whole, parts, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_number_of_cores_changes_nothing(monkeypatch):
    for traces, posterior in both_kinds():
        whole = predictive(posterior, traces)
        for cores in (1, 7, None):
            monkeypatch.setattr(predict.os, "cpu_count", lambda cores=cores: cores)
            for a, b in zip(whole, predictive(posterior, traces), strict=True):
                np.testing.assert_array_equal(a, b)


def test_a_part_of_the_traces_has_its_part_of_the_result():
    for traces, posterior in both_kinds():
        whole = predictive(posterior, traces)
        shards = [traces.take(range(k, min(k + 23, len(traces)))) for k in range(0, 60, 23)]
        parts = [predictive(posterior, shard) for shard in shards]
        for k, field in enumerate(whole):
            np.testing.assert_allclose(np.concatenate([part[k] for part in parts]), field, **CLOSE)


def test_very_small_probabilities_do_not_vanish():
    # 200 items in no order: every trace has probability 1 / 200!, far below the least double.
    items = [f"i{k}" for k in range(200)]
    traces = Traces.from_lists([items], items=items)
    free = np.zeros((3, 200, 200), dtype=bool)
    found = predictive(hard_posterior(free, [1.0, 0.0, 2.0], [0.0, 0.0, 0.0], traces), traces)
    assert found.trace[0] == pytest.approx(-np.log(np.arange(1, 201)).sum())
    assert found.coherent.sum() == pytest.approx(found.trace[0])


def test_plackett_luce_draws():
    traces = larger(5)[-1]
    post = fit(traces, PlackettLuce(components=2, draws=20, warmup=10, chains=2), seed=3)
    assert_agrees(post, traces)
    with pytest.raises(InputError, match="supports"):
        predictive(post, traces, "hard")

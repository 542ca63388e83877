"""Trace NLL, Step NLL and WAIC."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from tests.model import reference as ref
from tests.posterior.examples import (
    CHAIN,
    FORK,
    FREE,
    TRAIN,
    hard_posterior,
    relaxed_posterior,
    three_draws,
)

from posetta import Exact, InputError, Model, SettingError, Traces, fit
from posetta.evaluate import step_nll, trace_nll, waic

quick = settings(derandomize=True, deadline=None, max_examples=40)


def traces_of(*lists, **more):
    return Traces.from_lists(lists, items=list("abc"), **more)


def two_draws(beta=0.0):
    return hard_posterior([CHAIN, FORK], [beta, beta], [0.0, 0.0], TRAIN)


# -- trace and step NLL ----------------------------------------------------------------------------


def test_trace_nll_by_hand():
    # The chain gives abc probability 1 and acb 0; the fork gives each 1/2.
    test = traces_of(list("abc"), list("acb"), counts=[3, 1])
    nll = trace_nll(two_draws(), test)
    assert nll == pytest.approx(-(3 * math.log(0.75) + math.log(0.25)) / 4)
    assert (nll.n, nll.n_impossible, nll.finite_mean) == (4, 0, float(nll))


def test_step_nll_by_hand():
    test = traces_of(list("abc"), list("acb"), counts=[3, 1])
    total = -(3 * math.log(0.75) + math.log(0.25))
    assert step_nll(two_draws(), test) == pytest.approx(total / 12)
    assert step_nll(two_draws(), test).n == 12
    # The first step, a, is certain: leaving it out leaves the total.
    later = step_nll(two_draws(), test, first_step=2)
    assert later == pytest.approx(total / 8)
    assert later.n == 8


def test_impossible_traces_are_counted_not_hidden():
    test = traces_of(list("abc"), list("bac"), list("cab"), counts=[3, 1, 2])
    nll = trace_nll(two_draws(), test)
    assert nll == math.inf
    assert (nll.n, nll.n_impossible) == (6, 3)
    assert nll.finite_mean == pytest.approx(-math.log(0.75))
    assert nll.standard_error is None
    assert "3 of 6 impossible" in repr(nll)
    steps = step_nll(two_draws(), test)
    # The first steps of bac (once) and cab (twice) break both orders; every other step is scored.
    assert (steps, steps.n, steps.n_impossible) == (math.inf, 18, 3)
    assert math.isfinite(steps.finite_mean)


def test_all_impossible():
    nll = trace_nll(two_draws(), traces_of(list("bac")))
    assert nll == math.inf
    assert nll.n_impossible == nll.n == 1
    assert math.isnan(nll.finite_mean)


@st.composite
def scored(draw):
    n_items, n_draws = 4, draw(st.integers(1, 3))
    latents = [draw(ref.matrices((4, 2), st.integers(-2, 2).map(float))) for _ in range(n_draws)]
    closures = [ref.product_order(u) for u in latents]
    beta = [draw(st.floats(0, 3)) for _ in range(n_draws)]
    noise = [draw(st.sampled_from([0.05, 0.3])) for _ in range(n_draws)]
    train, test = draw(ref.observations(n_items)), draw(ref.observations(n_items))
    return closures, beta, noise, train, test


@quick
@given(scored())
def test_against_loops_over_observations(case):
    closures, beta, noise, train, test = case
    per_trace, per_step, later_steps = [], [], []
    for listed, choice_set, count in ref.rows(test):
        p = np.array(
            [
                [
                    ref.mix(ref.hard_step(c, b, left)[x], e, left)
                    for x, left in ref.remainders(listed, choice_set)
                ]
                for c, b, e in zip(closures, beta, noise, strict=True)
            ]
        )
        for _ in range(count):
            per_trace.append(-math.log(p.prod(axis=1).mean()))
            per_step += [-math.log(q) for q in p.mean(axis=0)]
            later_steps += [-math.log(q) for q in p.mean(axis=0)[1:]]
    posterior = hard_posterior(closures, beta, noise, train)
    found = trace_nll(posterior, test)
    assert found == pytest.approx(np.mean(per_trace))
    assert found.n == len(per_trace)
    if len(per_trace) > 1:
        error = np.std(per_trace, ddof=1) / math.sqrt(len(per_trace))
        assert found.standard_error == pytest.approx(error, abs=1e-9)
    assert step_nll(posterior, test) == pytest.approx(np.mean(per_step))
    if later_steps:
        assert step_nll(posterior, test, first_step=2) == pytest.approx(np.mean(later_steps))


def test_the_hard_yardstick_scores_relaxed_draws():
    latent = [[[2.0, 2.0], [1.0, 1.0], [0.0, 0.0]], [[2.0, 2.0], [0.0, 1.0], [1.0, 0.0]]]
    relaxed = relaxed_posterior(latent, [0.0, 0.0], [1.0, 1.0], [0.0, 0.0], TRAIN)
    test = traces_of(list("abc"), list("acb"))
    # Through the hard map the draws are the chain and the fork.
    assert trace_nll(relaxed, test, "hard") == pytest.approx(trace_nll(two_draws(), test))
    assert step_nll(relaxed, test, "hard") == pytest.approx(step_nll(two_draws(), test))
    assert trace_nll(relaxed, test) != pytest.approx(trace_nll(relaxed, test, "hard"))
    impossible = traces_of(list("cba"))
    assert trace_nll(relaxed, impossible, "hard") == math.inf
    assert math.isfinite(trace_nll(relaxed, impossible))


def test_what_cannot_be_scored():
    with pytest.raises(InputError, match='holds the item "z"'):
        trace_nll(two_draws(), Traces.from_lists([["a", "z"]]))
    with pytest.raises(InputError, match='holds the item "z"'):
        step_nll(two_draws(), Traces.from_lists([["a", "z"]]))
    with pytest.raises(InputError, match="nothing to score"):
        trace_nll(two_draws(), traces_of())
    with pytest.raises(InputError, match="nothing to score"):
        step_nll(two_draws(), traces_of(), first_step=2)
    with pytest.raises(InputError, match="nothing to score"):
        step_nll(two_draws(), traces_of(["a"], ["b"]), first_step=2)
    with pytest.raises(SettingError, match="first_step=3 must be 1 or 2"):
        step_nll(two_draws(), TRAIN, first_step=3)
    with pytest.raises(SettingError, match="'own', 'hard'"):
        trace_nll(two_draws(), TRAIN, "soft")


def test_a_baseline_is_scored_by_its_own_beta_and_noise():
    point = fit(TRAIN, "maximal", Model(beta=2.0, noise=0.1))
    test = traces_of(list("bac"))
    expected = ref.hard_log_likelihood(np.array(CHAIN, bool), 2.0, 0.1, test)
    assert trace_nll(point, test) == pytest.approx(-expected)


def test_a_score_is_a_number_and_keeps_its_parts_when_copied():
    nll = trace_nll(two_draws(), traces_of(list("abc"), list("bac")))
    for twin in (copy.deepcopy(nll), pickle.loads(pickle.dumps(nll))):
        assert twin == nll
        assert (twin.n, twin.n_impossible, twin.finite_mean) == (2, 1, nll.finite_mean)
    finite = trace_nll(two_draws(), traces_of(list("abc"), list("acb")))
    assert finite + 1 == float(finite) + 1
    assert repr(finite) == f"{float(finite):.6g} ± {finite.standard_error:.3g}"


# -- WAIC ------------------------------------------------------------------------------------------


def slow_waic(log_likelihood, counts):
    """Return WAIC, lppd, p_waic and standard error with every copy as its own observation."""
    expanded = np.repeat(log_likelihood, counts, axis=1)
    n_draws, n = expanded.shape
    lppd = logsumexp(expanded, axis=0) - np.log(n_draws)
    p_waic = expanded.var(axis=0, ddof=1)
    terms = -2 * (lppd - p_waic)
    return terms.sum(), lppd.sum(), p_waic.sum(), np.sqrt(n * terms.var(ddof=1))


def test_waic_against_expanded_observations():
    train = traces_of(list("abc"), list("acb"), ["a"], counts=[4, 2, 1],
                      choice_sets=[None, None, list("abc")])  # fmt: skip
    posterior = hard_posterior(
        [FORK, CHAIN, FREE, FREE], [0.5, 1.0, 2.0, 0.0], [0.1, 0.2, 0.3, 0.1], train, n_chains=2
    )
    log_likelihood = posterior.draws.log_likelihood.reshape(4, 3)
    found = waic(posterior, train)
    expected = slow_waic(log_likelihood, train.counts)
    np.testing.assert_allclose(
        (found.waic, found.lppd, found.p_waic, found.standard_error), expected, rtol=1e-12
    )
    assert found.p_waic > 0.1


def test_waic_does_not_overflow():
    train = traces_of(list("abc"), counts=[2])
    posterior = hard_posterior([FREE, FREE], [0.0, 0.0], [0.1, 0.1], train)
    far = np.array([[[-2000.0], [-2001.0]]])
    found = waic(replace(posterior, draws=replace(posterior.draws, log_likelihood=far)), train)
    assert found.lppd == pytest.approx(2 * (-2000 + math.log((1 + math.exp(-1)) / 2)))


def test_waic_refuses_points_and_other_traces():
    with pytest.raises(InputError, match="single order has no draws"):
        waic(fit(TRAIN, "majority"), TRAIN)
    with pytest.raises(InputError, match="these are others"):
        waic(three_draws(), traces_of(list("abc"), list("ac")))
    with pytest.raises(InputError, match="at least two draws"):
        waic(hard_posterior([FREE], [1.0], [0.0], TRAIN), TRAIN)


def test_waic_takes_equal_traces_whatever_their_ids():
    same = traces_of(["a", "c"], list("abc"), list("abc"))
    assert waic(three_draws(), same) == waic(three_draws(), TRAIN)


def test_waic_aligns_the_traces_by_label():
    # The same traces, read apart from the fit: items are numbered as they first appear.
    same = Traces.from_lists([["a", "c"], ["a", "b", "c"]], counts=[1, 2])
    assert same.items != TRAIN.items
    assert waic(three_draws(), same) == waic(three_draws(), TRAIN)
    with pytest.raises(InputError, match='holds the item "z"'):
        waic(three_draws(), Traces.from_lists([["a", "z"]]))


def test_waic_of_no_traces_is_zero():
    empty = traces_of()
    found = waic(fit(empty, Exact(draws=5, prior_draws=1000)), empty)
    assert (found.waic, found.standard_error, found.warnings) == (0.0, 0.0, ())


# -- the warnings ----------------------------------------------------------------------------------


def fit_exactly(train, **model):
    return fit(train, Exact(draws=200, prior_draws=2000), Model(**model), seed=1)


def reversal_warnings(train, **model):
    found = waic(fit_exactly(train, **model), train).warnings
    return [text for text in found if "optimistic" in text]


def test_the_trace_that_alone_shows_a_reversal_is_named():
    train = traces_of(*[list("abc")] * 6, list("bac"), ids=[f"run-{k}" for k in range(1, 8)])
    (warning,) = reversal_warnings(train)
    assert 'trace "run-7"' in warning
    assert "run-1" not in warning


def test_no_reversal_warning_where_leaving_one_out_changes_no_support():
    assert reversal_warnings(traces_of(list("abc"), list("bac"), counts=[6, 2])) == []
    assert reversal_warnings(traces_of(list("abc"), counts=[6])) == []
    two_kinds = traces_of(list("abc"), list("bac"), ["b", "a"], counts=[6, 1, 1])
    assert reversal_warnings(two_kinds) == []
    alone = traces_of(list("abc"), list("bac"), counts=[6, 1])
    assert reversal_warnings(alone, noise=0.05) == []
    assert reversal_warnings(alone, noise=None) == []


def test_relaxed_draws_have_no_support_to_lose():
    train = traces_of(list("abc"), list("bac"), counts=[6, 1])
    latent = np.random.default_rng(1).standard_normal((5, 3, 2))
    posterior = relaxed_posterior(latent, [1] * 5, [1] * 5, [0] * 5, train)
    assert not any("optimistic" in text for text in waic(posterior, train).warnings)


def test_a_sole_reversal_in_a_top_k_list_is_seen():
    train = traces_of(list("abc"), ["c"], counts=[6, 1], ids=["full", "short"],
                      choice_sets=[None, ["b", "c"]])  # fmt: skip
    (warning,) = reversal_warnings(train)
    assert 'trace "short"' in warning
    # Without the choice set the list says nothing about the others.
    assert reversal_warnings(traces_of(list("abc"), ["c"], counts=[6, 1])) == []


def test_many_witnesses_are_counted():
    # Each of the last four reverses one pair that the first five leave in order.
    lists = [list("abcde")] * 5 + [["b", "a"], ["c", "b"], ["d", "c"], ["e", "d"]]
    train = Traces.from_lists(lists)
    (warning,) = reversal_warnings(train, dim=4)
    assert "and 1 more" in warning


def test_a_large_variance_is_said():
    train = traces_of(list("abc"), ["a", "b"], counts=[3, 1])
    # abc has probability 1 under the chain and 1/6 under no order: variance 1.6 over two draws.
    posterior = hard_posterior([CHAIN, FREE], [0.0, 0.0], [0.0, 0.0], train)
    (warning,) = [text for text in waic(posterior, train).warnings if "variance" in text]
    assert warning.startswith("3 of 4 traces")
    assert not any("variance" in text for text in waic(three_draws_alike(), TRAIN).warnings)


def three_draws_alike():
    return hard_posterior([FREE] * 3, [1.0] * 3, [0.0] * 3, TRAIN)

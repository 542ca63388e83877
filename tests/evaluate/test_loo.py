"""PSIS-LOO and k-fold: against slow forms, ArviZ, enumeration, and each other."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.posterior.examples import CHAIN, FORK, FREE, TRAIN, hard_posterior, three_draws

from posetta import Exact, InputError, Maximal, Model, SettingError, Traces, fit
from posetta.evaluate import kfold, loo, sole_witnesses, trace_nll, waic
from posetta.infer.all_orders import all_orders
from posetta.model.hard import hard_trace_log_likelihood
from posetta.posterior.pareto import smooth_tail


def traces_of(*lists, **more):
    return Traces.from_lists(lists, items=list("abc"), **more)


def random_posterior(n_draws=100, counts=(4, 2, 1), seed=1, spread=1.0):
    """Return a posterior whose log-likelihoods are made up, to try the arithmetic on."""
    train = traces_of(list("abc"), list("acb"), ["a", "c"], counts=list(counts))
    posterior = hard_posterior([FREE] * n_draws, [1.0] * n_draws, [0.1] * n_draws, train)
    values = -2 + spread * np.random.default_rng(seed).standard_normal((1, n_draws, 3))
    return train, replace(posterior, draws=replace(posterior.draws, log_likelihood=values))


# -- smoothing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_smoothing_against_arviz(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its next major version is announced at every import
        arviz = pytest.importorskip("arviz")
    if not hasattr(arviz, "psislw"):
        pytest.skip("this ArviZ keeps the function elsewhere")
    # A hundred draws: a fifth is a whole number, so both cut the tail at the same place.
    log_weights = scale * np.random.default_rng(3).standard_normal(100)
    theirs, their_k = arviz.psislw(log_weights)
    ours, k = smooth_tail(log_weights)
    assert k == pytest.approx(float(their_k), abs=1e-9)
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_smoothing_by_the_definition():
    log_weights = np.random.default_rng(4).standard_normal(200)
    ours, k = smooth_tail(log_weights)
    assert logsumexp(ours) == pytest.approx(0.0)
    order = np.argsort(log_weights)
    # Below the tail nothing changes but the constant; in it the order of the weights stays.
    below = order[:-40]
    np.testing.assert_allclose(np.ptp(ours[below] - log_weights[below]), 0.0, atol=1e-12)
    assert (np.diff(ours[order]) >= 0).all()
    assert 0 < k < 1


def test_too_few_or_equal_weights_stay_as_they_are():
    for log_weights in (np.array([0.0, -1.0, -2.0]), np.full(500, 3.0)):
        ours, k = smooth_tail(log_weights)
        assert math.isnan(k)
        np.testing.assert_allclose(ours, log_weights - logsumexp(log_weights))


# -- LOO -------------------------------------------------------------------------------------------


def slow_loo(log_likelihood, counts):
    """Return elpd, p_loo and standard error with every copy as its own observation."""
    terms, lppd = [], []
    for row, count in enumerate(counts):
        values = log_likelihood[:, row]
        weight = np.exp(smooth_tail(-values)[0])
        for _ in range(count):
            terms.append(math.log((weight * np.exp(values)).sum() / weight.sum()))
            lppd.append(math.log(np.exp(values).mean()))
    n = len(terms)
    return sum(terms), sum(lppd) - sum(terms), math.sqrt(n * np.var(terms, ddof=1))


@pytest.mark.parametrize("spread", [0.2, 1.0])
def test_against_expanded_observations(spread):
    train, posterior = random_posterior(spread=spread)
    found = loo(posterior, train)
    expected = slow_loo(posterior.draws.log_likelihood[0], train.counts)
    np.testing.assert_allclose((found.elpd, found.p_loo, found.standard_error), expected)
    assert found.looic == -2 * found.elpd
    assert found.pareto_k.shape == found.pointwise.shape == (3,)


def test_by_hand_with_few_draws():
    # Two draws are too few for a tail: plain importance weights, so the harmonic mean.
    train = traces_of(list("abc"), counts=[2])
    posterior = hard_posterior([CHAIN, FORK], [0.0, 0.0], [0.0, 0.0], train)
    found = loo(posterior, train)
    assert math.exp(found.pointwise[0]) == pytest.approx(2 / (1 / 1 + 1 / 0.5))
    assert found.elpd == pytest.approx(2 * math.log(2 / 3))
    assert found.p_loo == pytest.approx(2 * math.log(0.75 / (2 / 3)))
    assert np.isnan(found.pareto_k[0])
    assert found.standard_error == pytest.approx(0.0, abs=1e-12)


def test_loo_and_waic_agree_where_both_hold():
    train, posterior = random_posterior(n_draws=2000, spread=0.1)
    assert loo(posterior, train).looic == pytest.approx(waic(posterior, train).waic, rel=1e-3)


def test_a_heavy_tail_is_said_and_names_the_trace():
    train, posterior = random_posterior(n_draws=500)
    values = posterior.draws.log_likelihood.copy()
    values[0, :, 1] = -np.random.default_rng(0).pareto(0.5, 500)
    found = loo(replace(posterior, draws=replace(posterior.draws, log_likelihood=values)), train)
    assert found.pareto_k[1] > 0.7
    (warning,) = found.warnings
    assert warning.startswith("2 of 7 traces")
    assert 'trace "2"' in warning
    assert "kfold" in warning


def test_points_other_traces_and_single_draws_are_refused():
    with pytest.raises(InputError, match="single order has no draws"):
        loo(fit(TRAIN, "majority"), TRAIN)
    with pytest.raises(InputError, match="these are others"):
        loo(three_draws(), traces_of(list("abc")))
    with pytest.raises(InputError, match="at least two draws"):
        loo(hard_posterior([FREE], [1.0], [0.0], TRAIN), TRAIN)


def test_loo_of_no_traces_is_zero():
    empty = traces_of()
    found = loo(fit(empty, Exact(draws=25, prior_draws=1000)), empty)
    assert (found.elpd, found.p_loo, found.standard_error, found.warnings) == (0.0, 0.0, 0.0, ())
    few = loo(fit(empty, Exact(draws=24, prior_draws=1000)), empty)
    assert "24 draws are too few for Pareto k" in few.warnings[0]


# -- where importance weights cannot see ----------------------------------------------------------

WITNESSED = traces_of(list("abc"), list("bac"), counts=[6, 1], ids=["often", "once"])
ONCE = traces_of(list("bac"))


def enumerated():
    """All orders of three items, equally likely, beta 0: probabilities of abc and of bac."""
    closures = all_orders(3).closures
    both = traces_of(list("abc"), list("bac"))
    with np.errstate(divide="ignore"):
        p = np.exp([hard_trace_log_likelihood(c, 0.0, both) for c in closures])
    return closures, p[:, 0], p[:, 1]


def test_importance_says_0_376_where_the_truth_is_0_011():
    closures, abc, bac = enumerated()
    true = (abc**6 * bac).sum() / (abc**6).sum()
    assert true == pytest.approx(0.0113, abs=5e-5)
    # The posterior of all seven traces, as draws in proportion to their probabilities.
    probability = abc**6 * bac / (abc**6 * bac).sum()
    draws = np.repeat(np.arange(len(closures)), np.rint(20_000 * probability).astype(int))
    n = len(draws)
    posterior = hard_posterior(closures[draws], np.zeros(n), np.zeros(n), WITNESSED)
    found = loo(posterior, WITNESSED)
    assert math.exp(found.pointwise[1]) == pytest.approx(0.376, abs=1e-3)
    assert not (found.pareto_k > 0.7).any()
    (warning,) = found.warnings
    assert "optimistic" in warning
    assert 'trace "once"' in warning
    assert 'trace "often"' not in warning
    assert sole_witnesses(WITNESSED) == [1]


def test_a_pair_that_one_trace_alone_lists_misleads_as_well():
    # Nobody shows b before a, and yet only the trace "once" rules it out.
    train = traces_of(["a", "c"], ["a", "b"], counts=[6, 1], ids=["often", "once"])
    closures = all_orders(3).closures
    with np.errstate(divide="ignore"):
        p = np.exp([hard_trace_log_likelihood(c, 0.0, train) for c in closures])
    prior = p[:, 0] ** 6
    true = (prior * p[:, 1]).sum() / prior.sum()
    probability = prior * p[:, 1] / (prior * p[:, 1]).sum()
    draws = np.repeat(np.arange(len(closures)), np.rint(20_000 * probability).astype(int))
    n = len(draws)
    posterior = hard_posterior(closures[draws], np.zeros(n), np.zeros(n), train)
    found = loo(posterior, train)
    assert math.exp(found.pointwise[1]) > 1.2 * true
    assert not (found.pareto_k > 0.7).any()
    assert sole_witnesses(train) == [1]
    assert ['trace "once"' in text for text in found.warnings] == [True]


def test_refitting_the_oracle_shows_the_gap():
    method = Exact(draws=4000, prior_draws=100_000)
    importance = loo(fit(WITNESSED, method, seed=1), WITNESSED)
    refitted = kfold(WITNESSED, method, k=7, seed=1)
    assert refitted.n_fits == 2
    by_count = sorted(refitted.fold_nll)
    # What six others witness too is predicted alike; the sole witness by a factor of ten not.
    assert by_count[0] == pytest.approx(-importance.pointwise[0], abs=0.05)
    assert by_count[-1] > -importance.pointwise[1] + math.log(10)
    without = fit(traces_of(list("abc"), counts=[6]), method, seed=1)
    assert by_count[-1] == pytest.approx(trace_nll(without, ONCE))


def test_no_support_warning_with_noise():
    posterior = fit(WITNESSED, Exact(draws=200, prior_draws=2000), Model(noise=0.05), seed=1)
    assert not any("optimistic" in text for text in loo(posterior, WITNESSED).warnings)


# -- k-fold ----------------------------------------------------------------------------------------


def test_kfold_against_a_loop_over_observations():
    train = traces_of(list("abc"), list("acb"), ["b", "c"], counts=[3, 2, 1])
    model = Model(beta=1.0, noise=0.1)
    found = kfold(train, Maximal(), model, k=6, seed=3)
    expected = []
    for k in range(6):
        rest = train.take([j for j in range(6) if j != k])
        expected.append(trace_nll(fit(rest, Maximal(), model), train.take([k])))
    assert found.nll == pytest.approx(np.mean(expected))
    assert sorted(found.fold_nll) == pytest.approx(sorted(expected))
    assert found.nll.standard_error == pytest.approx(np.std(expected, ddof=1) / math.sqrt(6))
    assert found.elpd == pytest.approx(-sum(expected))
    assert found.n_fits == 3
    assert found.statuses == ("ok",) * 6


def test_folds_hold_every_observation_once():
    train = traces_of(list("abc"), list("acb"), ["b", "c"], counts=[5, 4, 2])
    model = Model(beta=1.0, noise=0.1)
    found = kfold(train, "maximal", model, k=4, seed=1)
    assert found.nll.n == 11
    assert sorted(fold.n for fold in found.fold_nll) == [2, 3, 3, 3]
    assert kfold(train, "maximal", model, k=4, seed=1).nll == found.nll
    others = {float(kfold(train, "maximal", model, k=4, seed=s).nll) for s in range(2, 8)}
    assert len(others) > 1


def test_impossible_held_out_traces_are_counted():
    # Without the reversal the intersection of the others forbids it.
    found = kfold(WITNESSED, "maximal", Model(beta=1.0), k=7, seed=1)
    assert found.nll == math.inf
    assert (found.nll.n, found.nll.n_impossible) == (7, 1)
    assert found.elpd == -math.inf


@pytest.mark.parametrize("k", [1, 8, 2.5, True])
def test_the_number_of_folds_is_checked(k):
    with pytest.raises(SettingError, match="2 to 7"):
        kfold(WITNESSED, "maximal", k=k)

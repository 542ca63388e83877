"""The row of a job, against definitions written out."""

from __future__ import annotations

import numpy as np
import pytest

from posetta import Exact, Poset, evaluate, fit, simulate
from posetta.suite.data_sets import DataSet
from posetta.suite.measure import calibrated, measure


@pytest.fixture(scope="module")
def small():
    sim = simulate(5, rho=0.5, seed=3, n_test=4)
    return sim, fit(sim.train, Exact(draws=200, prior_draws=5000), seed=1)


def test_the_row_holds_what_evaluate_says(small):
    sim, posterior = small
    row = measure(posterior, DataSet(sim.train, sim.test, sim.order), (0.5, 1 / 3))
    scores = evaluate.closure_scores(posterior.decode(1 / 3), sim.order)
    assert (row["f1_33"], row["precision_33"]) == (scores.f1, scores.precision)
    assert row["n_missed_33"] == scores.n_missed
    assert row["mae_truth"] == evaluate.closure_mae(posterior, sim.order)
    assert row["trace_nll"] == evaluate.trace_nll(posterior, sim.test)
    assert row["step_nll_hard"] == evaluate.step_nll(posterior, sim.test, "hard")
    found = evaluate.waic(posterior, sim.train)
    assert (row["waic"], row["p_waic"]) == (found.waic, found.p_waic)
    assert row["elpd_waic"] == pytest.approx(-found.waic / 2)
    assert row["status"] == "ok"
    assert "beta_mean" in row


def test_further_decoders_are_scored(small):
    sim, posterior = small
    data = DataSet(sim.train, sim.test, sim.order)
    row = measure(posterior, data, (0.5,), ("best-f1", "medoid"))
    for rule in ("best-f1", "medoid"):
        decoded = posterior.decode(rule=rule)
        assert row[f"f1_{rule}"] == evaluate.closure_scores(decoded, sim.order).f1
    point = fit(sim.train, "maximal")
    row = measure(point, data, (0.5,), ("best-f1",))
    assert row["f1_best-f1"] == row["f1_50"]


def test_calibration_against_loops(small):
    sim, posterior = small
    n = 5
    brier, bins = 0.0, {}
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            p = posterior.precedence[i, j]
            truth = float(sim.order.closure[i, j])
            brier += (p - truth) ** 2
            bins.setdefault(min(int(p * 10), 9), []).append((p, truth))
    pairs = n * (n - 1)
    ece = sum(
        len(pts) / pairs * abs(np.mean([p for p, _ in pts]) - np.mean([t for _, t in pts]))
        for pts in bins.values()
    )
    row = calibrated(posterior, sim.order)
    assert row["brier"] == pytest.approx(brier / pairs)
    assert row["ece"] == pytest.approx(ece)


def test_a_single_order_has_a_brier_score_and_no_waic(small):
    sim, _ = small
    point = fit(sim.train, "majority")
    row = measure(point, DataSet(sim.train, sim.test, sim.order), (0.5,))
    assert row["brier"] == row["mae_truth"]
    assert not {"ece", "waic", "r_hat_max"} & row.keys()


def test_a_metric_that_fails_is_noted_and_costs_nothing_else(small, monkeypatch):
    sim, posterior = small

    def fails(*_):
        raise KeyError("beta")

    monkeypatch.setattr("posetta.suite.measure.step_nll", fails)
    row = measure(posterior, DataSet(sim.train, sim.test, sim.order), (0.5,))
    assert row["notes"] == ["KeyError: 'beta'", "KeyError: 'beta'"]
    assert row["f1_50"] >= 0.0
    assert row["waic"] > 0.0
    assert "trace_nll" not in row


def test_impossible_traces_come_with_the_mean_of_the_rest(small):
    sim, _ = small
    chain = fit(sim.train.take([0]), "maximal")
    row = measure(chain, DataSet(sim.train.take([0]), sim.train, sim.order), (0.5,))
    assert row["trace_nll"] == np.inf
    assert row["trace_nll_impossible"] > 0
    assert np.isfinite(row["trace_nll_finite"])


def test_items_never_seen_are_told_apart():
    sim = simulate(6, rho=0.9, seed=3, n_traces=1, lengths=3, n_test=1)
    row = measure(fit(sim.train, "maximal"), DataSet(sim.train, sim.test, sim.order), (0.5,))
    (seen,) = sim.train
    chain, truth = Poset.from_chain(seen), sim.order.suborder(seen)
    assert row["n_unseen"] == 3
    assert row["f1_observed"] == evaluate.closure_scores(chain, truth).f1
    assert row["f1_observed"] > row["f1_50"]

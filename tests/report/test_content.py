from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.report.examples import drawn_posterior, labels, point_posterior, with_status

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.errors import InputError, SettingError
from posetta.infer import Exact, fit
from posetta.model import Model
from posetta.order import Poset
from posetta.posterior import Draws, predictive
from posetta.posterior.diagnostics import ESS_LIMIT, R_HAT_LIMIT
from posetta.report.content import content, verdict
from posetta.report.convergence import convergence_content
from posetta.report.examples import example_traces
from posetta.report.reproduce import snippet
from posetta.report.scalars import scalar_content
from posetta.report.surprise import surprise_content, thinned


def test_the_precedence_travels_exactly() -> None:
    posterior = drawn_posterior(n_draws=33)
    assert np.array_equal(content(posterior)["precedence"], posterior.precedence)


def test_the_verdict_counts_pairs() -> None:
    posterior = drawn_posterior(n_items=7)
    p = posterior.precedence
    upper = np.triu_indices(7, 1)
    ordered = int((np.maximum(p, p.T)[upper] >= 0.9).sum())
    free = int((1 - p - p.T)[upper].__ge__(0.9).sum())
    words = verdict(posterior)
    assert words.startswith(f"Of 21 pairs of items, {ordered} come in a fixed order and {free} are")
    assert f"{21 - ordered - free} stay" in words


def test_the_verdict_of_a_point_and_of_one_item() -> None:
    words = verdict(point_posterior([[0, 1, 1], [0, 0, 0], [0, 0, 0]]))
    assert "2 come in a fixed order and 1 are left free" in words
    assert "no probabilities" in words
    assert "nothing to order" in verdict(drawn_posterior(items=["only"]))


def test_thinning_keeps_every_kth_draw() -> None:
    draws = drawn_posterior(n_draws=40, n_chains=2).draws
    few = thinned(draws, 20)
    assert few.n_chains * few.n_draws == 20
    assert np.array_equal(few.scalars["rho"], draws.scalars["rho"][:, ::4])
    assert thinned(draws, 1000).n_draws == 40


def test_histograms_hold_every_draw() -> None:
    for scalar in scalar_content(drawn_posterior(n_draws=50, n_chains=2)):
        if "counts" in scalar:
            assert sum(scalar["counts"]) == 100
            assert len(scalar["edges"]) == len(scalar["counts"]) + 1
    named = {s["name"]: s for s in scalar_content(drawn_posterior())}
    assert named["dim"]["value"] == 2.0
    assert {"rho", "beta", "relations", "depth"} <= set(named)
    assert {s["name"] for s in scalar_content(point_posterior([[0]]))} == {"beta", "noise"}


def test_examples_show_every_seen_order() -> None:
    posterior = drawn_posterior(n_items=7, n_traces=60)
    shown = example_traces(posterior.traces)
    again = Traces.from_lists(
        [[posterior.items[i] for i in entry["items"]] for entry in shown], items=posterior.items
    )
    before = PairEvidence.of(posterior.traces).before
    assert ((PairEvidence.of(again).before > 0) == (before > 0)).all()
    assert len(shown) < posterior.traces.n_unique


def test_examples_of_top_k_lists_name_the_rest() -> None:
    traces = Traces.from_lists([["b"]], items=list("abc"), choice_sets=[["a", "b", "c"]])
    assert example_traces(traces) == [{"id": "1", "count": 1, "items": [1], "unlisted": [0, 2]}]


def test_surprise_is_the_log_probability_for_each_step() -> None:
    posterior = drawn_posterior(n_items=5, n_draws=20)
    traces = posterior.traces
    found = predictive(posterior, traces)
    starts = np.cumsum(traces.n_listed) - traces.n_listed
    parts = np.split(found.step, starts[1:])
    bits = sorted((-found.trace / traces.n_listed / np.log(2)).tolist(), reverse=True)
    found = surprise_content(posterior)
    assert [entry["bits"] for entry in found] == pytest.approx(bits)
    first = found[0]
    row = next(r for r in range(traces.n_unique) if traces.sequence(r).tolist() == first["items"])
    assert first["step"] == int(np.argmin(parts[row]))
    assert first["probability"] == pytest.approx(float(np.exp(parts[row].min())))
    assert first["candidates"] == len(first["items"]) - first["step"]


def test_a_trace_against_the_order_is_impossible() -> None:
    posterior = point_posterior([[0, 1], [0, 0]], ["a", "b"], [["b", "a"], ["a", "b"]])
    found = surprise_content(posterior)
    assert found[0]["bits"] is None
    assert found[0]["probability"] == 0.0
    assert found[1]["bits"] == pytest.approx(0.0)


def test_no_traces_no_surprise() -> None:
    nothing = Traces.from_lists([], items=labels(3))
    posterior = fit(nothing, method=Exact(draws=50, prior_draws=2000), seed=1)
    shown = content(posterior)
    assert shown["surprise"] is None
    assert shown["traces"] == []
    assert "3 pairs were never seen together" in shown["head"]["verdict"]


def test_lines_follow_the_method() -> None:
    posterior = drawn_posterior(n_draws=30, n_chains=3)
    lines = convergence_content(posterior)["lines"]
    assert [line["name"] for line in lines] == ["log likelihood of the traces", "ordered pairs"]
    total = posterior.draws.log_likelihood @ posterior.traces.counts
    assert np.allclose(lines[0]["chains"], total, atol=1e-4)
    elbo = {"elbo": -5.0, "elbo_trace": [-9.0, -6.0], "elbo_trace_steps": 25, "pareto_k": 0.4}
    found = convergence_content(replace(posterior, method="fullrank", diagnostics=elbo))
    assert [line["name"] for line in found["lines"]] == ["ELBO"]
    assert found["lines"][0]["x"] == [25, 50]
    assert {"name": "Pareto k", "value": 0.4, "wanted": "at most 0.7"} in found["facts"]
    assert convergence_content(point_posterior([[0]]))["lines"] == []


def test_the_limits_of_r_hat_and_ess_travel_with_them() -> None:
    limits = content(drawn_posterior())["convergence"]["limits"]
    assert limits == {"r_hat": R_HAT_LIMIT, "ess": ESS_LIMIT}


def test_a_posterior_without_log_likelihood() -> None:
    posterior = drawn_posterior(n_traces=0)
    assert posterior.draws.log_likelihood.shape[2] == 0
    lines = convergence_content(posterior)["lines"]
    assert [line["name"] for line in lines] == ["ordered pairs"]


def test_nan_and_infinity_become_none() -> None:
    posterior = drawn_posterior(diagnostics={"r_hat": {"a": float("inf")}, "ess": {"a": np.nan}})
    found = content(posterior)["convergence"]["quantities"]
    assert found == [{"name": "a", "r_hat": None, "ess": None}]


def test_truth_and_test() -> None:
    posterior = drawn_posterior(n_items=5)
    truth = posterior.decode(0.5)
    shown = content(posterior, truth=truth.reindex(truth.items[::-1]), test=posterior.traces)
    assert shown["truth"]["f1"] == 1.0
    assert shown["truth"]["closure"] == np.argwhere(truth.closure).tolist()
    assert sum(b["n"] for b in shown["truth"]["reliability"]) == 20
    p = posterior.precedence
    apart = ~np.eye(5, dtype=bool)
    expected = ((p - truth.closure)[apart] ** 2).mean()
    assert shown["truth"]["brier"] == pytest.approx(expected)
    assert [row["name"] for row in shown["test"]["rows"]] == ["trace", "step"]
    assert (
        "reliability"
        not in content(point_posterior([[0, 1], [0, 0]]), truth=Poset.antichain(labels(2)))["truth"]
    )


def test_other_items_and_bad_thresholds_are_refused() -> None:
    posterior = drawn_posterior()
    with pytest.raises(InputError, match="different items"):
        content(posterior, truth=Poset.antichain(["x"]))
    with pytest.raises(InputError, match="none of the 6 items"):
        content(posterior, groups={"x": "g"})
    with pytest.raises(SettingError, match="threshold"):
        content(posterior, threshold=1.0)


def test_the_settings_file_is_shown_as_it_is() -> None:
    posterior = drawn_posterior()
    shown = content(posterior, settings="seed = 3\n")["provenance"]
    assert shown["command"] == "seed = 3\n"
    assert content(posterior)["provenance"]["command"] is None


def test_a_stopped_search_is_no_rule() -> None:
    point = fit(Traces.from_lists([["a", "b"]]), method="maximal")
    assert "nothing to converge" in content(point)["head"]["status_words"]
    stopped = content(with_status(point, "budget_reached", "Raise max_seconds."))["head"]
    assert "ended before it was done" in stopped["status_words"]


def test_the_snippet_makes_the_same_fit_again() -> None:
    traces = Traces.from_lists([["a", "b", "c"], ["a", "c", "b"]])
    first = fit(traces, Exact(draws=20, prior_draws=2000), Model(beta=1.0), seed=5)
    code = snippet(first).replace("traces = ...", "")
    names = {"traces": traces}
    exec(code, names)
    assert np.array_equal(names["post"].precedence, first.precedence)
    with pytest.raises(AssertionError, match="another way"):
        exec(code, {"traces": Traces.from_lists([["a", "b", "c"]])})
    assert snippet(replace(first, settings={**first.settings, "merged_seeds": [5, 6]})) is None


def test_the_status_carries_its_remedy() -> None:
    shown = content(with_status(drawn_posterior(), "unmixed", "Raise warmup."))["head"]
    assert shown["status"] == "unmixed"
    assert "not converged" in shown["status_words"]
    assert shown["warnings"] == ["Raise warmup."]


def test_draws_without_scalars_have_no_surprise() -> None:
    posterior = drawn_posterior()
    old = posterior.draws
    bare = replace(posterior, draws=Draws(old.closure_bits, {}, old.log_likelihood))
    assert content(bare)["surprise"] is None

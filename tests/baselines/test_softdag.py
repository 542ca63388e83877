"""SoftDAG-Frontier: objective and gradient against the formulas, the search, degenerate fits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from tests.model import reference as ref

from posetta import Model, SettingError, SoftDAG, Traces, fit, load, save, simulate
from posetta.baselines import soft_graph as sg
from posetta.baselines.soft_search import Search
from posetta.baselines.softdag import run

quick = settings(derandomize=True, deadline=None, max_examples=60)

FLOOR = 1e-8


def slow_reach(logits, path_length):
    """Return W and R, power by power; 1 - R is never below the floor."""
    W = 1.0 / (1.0 + np.exp(-logits))
    np.fill_diagonal(W, 0.0)
    P = sum((np.linalg.matrix_power(W, k) for k in range(1, path_length + 1)), np.zeros_like(W))
    R = 1.0 - np.maximum(np.exp(-P), FLOOR)
    np.fill_diagonal(R, 0.0)
    return W, R


def slow_objective(logits, beta, traces, path_length, sparsity, acyclicity, noise):
    """Return the appendix's loss, trace by trace and step by step."""
    W, R = slow_reach(logits, path_length)
    loss = 0.0
    for listed, choice_set, count in ref.rows(traces):
        for x, left in ref.remainders(listed, choice_set):
            weight = {
                a: ref.soft_frontier(R, a, left) * (1.0 + ref.soft_successors(R, a, left)) ** beta
                for a in left
            }
            p = ref.mix(weight[x] / sum(weight.values()), noise, left)
            loss -= count * math.log(p)
    squares = W * W
    h = sum(
        np.trace(np.linalg.matrix_power(squares, k)) / math.factorial(k)
        for k in range(1, max(path_length, 12) + 1)
    )
    return loss + sparsity * np.abs(W).sum() + acyclicity * h**2


@st.composite
def cases(draw):
    n = draw(st.integers(1, 5))
    return (
        draw(ref.matrices((n, n), st.floats(-5.0, 2.0))),
        draw(st.floats(0.0, 3.0)),
        draw(ref.observations(n)),
        draw(st.integers(0, n - 1)),
        draw(st.sampled_from([0.0, 0.5])),
        draw(st.sampled_from([0.0, 2.0])),
        draw(st.sampled_from([0.0, 0.1])),
    )


@quick
@given(cases())
def test_the_objective_follows_the_appendix(case):
    logits, beta, traces, path_length, sparsity, acyclicity, noise = case
    objective = sg.Objective(traces, path_length, sparsity, acyclicity, noise)
    found = objective.value_and_gradient(logits, beta)
    assert found.value == pytest.approx(slow_objective(logits, beta, *case[2:]), rel=1e-8, abs=1e-8)


@quick
@given(cases())
def test_the_gradient_is_that_of_the_objective(case):
    logits, beta, traces, path_length, sparsity, acyclicity, noise = case
    objective = sg.Objective(traces, path_length, sparsity, acyclicity, noise)
    found = objective.value_and_gradient(logits, beta + 0.1)
    h = 1e-5

    def value(d_logits, d_beta):
        return objective.value_and_gradient(logits + d_logits, beta + 0.1 + d_beta).value

    numeric = np.zeros_like(logits)
    for i, j in np.ndindex(*logits.shape):
        step = np.zeros_like(logits)
        step[i, j] = h
        numeric[i, j] = (value(step, 0.0) - value(-step, 0.0)) / (2 * h)
    scale = max(1.0, abs(found.value))
    np.testing.assert_allclose(found.d_logits, numeric, rtol=1e-5, atol=1e-6 * scale)
    along_beta = (value(0.0, h) - value(0.0, -h)) / (2 * h)
    assert found.d_beta == pytest.approx(along_beta, rel=1e-5, abs=1e-6 * scale)


def test_beyond_the_floor_the_likelihood_is_flat_and_the_penalties_are_not():
    n = 40  # sums over paths of up to 8 edges of weight 0.12 among 40 items: in the thousands
    logits = np.full((n, n), -2.0)
    traces = Traces.from_lists([[f"i{k}" for k in range(n)]])
    flat = sg.Objective(traces, 8, 0.0, 0.0).value_and_gradient(logits, 1.0)
    assert not flat.d_logits.any()
    # All scores are equal there, so every choice is uniform: log n! in all.
    assert flat.value == pytest.approx(math.lgamma(n + 1))
    assert sg.Objective(traces, 8, 1e-3, 1.0).value_and_gradient(logits, 1.0).d_logits.any()


def test_extreme_logits_stay_finite():
    traces = Traces.from_lists([list("abc"), list("cba")])
    for logits in (np.full((3, 3), 800.0), np.full((3, 3), -800.0)):
        found = sg.Objective(traces, 2, 0.1, 1.0).value_and_gradient(logits, 1e6)
        assert np.isfinite(found.value)
        assert np.isfinite(found.d_logits).all()


def test_the_penalty_is_zero_without_cycles_and_notears_with_them():
    generator = np.random.default_rng(1)
    acyclic = np.triu(generator.random((6, 6)), k=1)
    assert sg.acyclicity(acyclic, 12)[0] == 0.0
    W = generator.random((6, 6)) * 0.5
    assert sg.acyclicity(W, 30)[0] == pytest.approx(np.trace(expm(W * W)) - 6)
    cycle = np.zeros((3, 3))
    cycle[0, 1] = cycle[1, 2] = cycle[2, 0] = 1.0
    assert sg.acyclicity(cycle, 12)[0] > 0.1


def test_sharp_edges_reach_what_paths_reach():
    logits = np.full((4, 4), -40.0)
    logits[0, 1] = logits[1, 2] = 40.0
    reach = sg.soft_graph(logits, 3).reach
    expected = np.zeros((4, 4), dtype=bool)
    expected[0, 1] = expected[1, 2] = expected[0, 2] = True
    assert np.array_equal(reach > 0.5, expected)
    assert not np.array_equal(sg.soft_graph(logits, 1).reach > 0.5, expected)


# -- the search ------------------------------------------------------------------------------------

SMALL = {"restarts": 1, "steps": 150}
TRACES = Traces.from_lists(
    [list("abcd"), list("bacd"), list("abdc")], counts=[4, 3, 3], items=list("abcd")
)


def silent(share, words):
    pass


@pytest.mark.parametrize(
    ("n", "restarts", "steps", "path_length", "threshold"),
    [(5, 3, 600, 4, 0.5), (30, 3, 600, 8, 0.5), (50, 2, 400, 8, 0.5), (100, 1, 250, 8, 1 / 3)],
)
def test_budgets_go_by_the_number_of_items(n, restarts, steps, path_length, threshold):
    traces = Traces.from_lists([], items=[f"i{k}" for k in range(n)])
    search = Search(traces, Model(), SoftDAG(), 0, silent)
    assert (search.restarts, search.steps, search.path_length) == (restarts, steps, path_length)
    brief = SoftDAG(steps=1, restarts=1, sparsity=(1e-4,), acyclicity=(1.0,))
    assert fit(traces, brief).diagnostics["threshold"] == pytest.approx(threshold)


def test_a_fifth_is_held_out_and_the_least_step_nll_chosen():
    shares = []
    post = run(TRACES, Model(), SoftDAG(**SMALL), 3, lambda share, _: shares.append(share))
    found = post.diagnostics
    assert found["held_out"] == 2
    assert len(found["tried"]) == 9
    best = min(found["tried"], key=lambda tried: tried["step_nll"])
    assert (found["sparsity"], found["acyclicity"]) == (best["sparsity"], best["acyclicity"])
    assert found["validation_step_nll"] == best["step_nll"]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert post.is_point
    assert np.array_equal(post.precedence > 0.5, post.decode().closure)


def test_the_validation_score_is_the_step_nll_of_the_soft_model():
    search = Search(TRACES, Model(), SoftDAG(**SMALL), 3, silent)
    found = search.minimise(search.fitted, 4, 0)
    assert (len(search.fitted), len(search.judged)) == (8, 2)
    n_steps = int(search.judged.counts @ search.judged.n_listed)
    loss = slow_objective(found.logits, found.beta, search.judged, 3, 0.0, 0.0, 0.0)
    assert found.step_nll == pytest.approx(loss / n_steps, rel=1e-7)


def test_adam_goes_down_and_beta_can_be_fixed():
    one, many = (
        Search(TRACES, Model(beta=0.5), SoftDAG(restarts=1, steps=steps), 3, silent).minimise(
            TRACES, 0, 0
        )
        for steps in (1, 200)
    )
    assert one.beta == many.beta == 0.5
    assert many.objective < 0.7 * one.objective


def test_finds_a_plain_order_and_refits():
    lists = [list("abcde"), list("bacde"), list("abced"), list("baced")]
    traces = Traces.from_lists(lists, counts=[10] * 4)
    for refit in (False, True):
        post = fit(traces, SoftDAG(refit=refit, restarts=1), seed=1)
        truth = np.zeros((5, 5), dtype=bool)
        truth[:2, 2:] = truth[2, 3:] = True
        assert np.array_equal(post.precedence > 0, truth)
        assert post.diagnostics["degenerate"] in ([], ["beta"])


def test_a_refit_has_the_chosen_penalties_and_all_traces():
    search = Search(TRACES, Model(), SoftDAG(refit=True, restarts=2, steps=60), 1, silent)
    chosen, final = search.run()
    assert len(search.tried) == 18
    assert search.grid.index((chosen.sparsity, chosen.acyclicity)) > 0  # else any mistake passes
    assert (final.sparsity, final.acyclicity) == (chosen.sparsity, chosen.acyclicity)
    cell = search.grid.index((chosen.sparsity, chosen.acyclicity))
    again = [search.minimise(TRACES, cell, restart) for restart in range(2)]
    assert final.objective == min(candidate.objective for candidate in again)


def test_saved_and_loaded(tmp_path):
    post = fit(TRACES, SoftDAG(**SMALL), seed=1)
    save(post, tmp_path / "result")
    loaded = load(tmp_path / "result")
    assert loaded.diagnostics["soft_scores"] == post.diagnostics["soft_scores"]
    assert loaded.diagnostics["degenerate"] == post.diagnostics["degenerate"]


# -- degenerate fits -------------------------------------------------------------------------------


def degenerate(traces, model=None, **changes):
    post = fit(traces, SoftDAG(**{**SMALL, **changes}), model, seed=2)
    found = post.diagnostics["degenerate"]
    assert len(post.warnings) >= len(found)
    return found


def test_an_empty_order_is_reported():
    found = degenerate(TRACES, sparsity=(100.0,))
    assert "empty" in found


def test_the_symmetric_solution_is_reported():
    # From 40 items on, a step leaves the start where everything reaches everything.
    sim = simulate(40, seed=1, ip_cov=None, n_traces=5)
    found = degenerate(sim.train, steps=1, sparsity=(1e-4,), acyclicity=(1.0,))
    assert {"symmetric", "empty", "no gain", "cycles"} <= set(found)


def test_a_single_line_is_reported():
    assert "total" in degenerate(Traces.from_lists([list("abcd")], counts=[5]), Model(beta=0.5))


def test_cycles_are_reported():
    # At the start all soft edges are 0.12, above this threshold both ways.
    post = fit(TRACES, SoftDAG(**{**SMALL, "steps": 1}, threshold=0.05), seed=2)
    assert "cycles" in post.diagnostics["degenerate"]
    assert post.diagnostics["cut_pairs"] >= 6
    assert any("on cycles and were cut" in warning for warning in post.warnings)


def test_a_beta_beyond_all_choice_is_reported_unless_it_was_fixed():
    # a always before b, and c always last though free: only a great beta explains it.
    traces = Traces.from_lists([["a", "b", "c"]], counts=[200], items=list("abc"))
    changes = {"sparsity": (30.0,), "learning_rate": 0.2, "acyclicity": (100.0,), "steps": 400}
    assert "beta" in degenerate(traces, **changes)
    assert "beta" not in degenerate(traces, Model(beta=50.0), **changes)


# -- the gate and the clock ------------------------------------------------------------------------


def test_noise_must_be_a_number():
    with pytest.raises(SettingError, match="'softdag' cannot infer the noise"):
        fit(TRACES, "softdag", Model(noise=None))


def test_time_and_interrupts_give_back_the_best_so_far():
    timed = fit(TRACES, SoftDAG(steps=10**7, max_seconds=0.1), seed=1)
    assert timed.status == "budget_reached"
    assert len(timed.diagnostics["tried"]) == 1
    assert any("max_seconds" in warning for warning in timed.warnings)
    calls = []

    def interrupt(share, words):
        calls.append(share)
        if len(calls) == 31:  # 15 looks at the clock for each fit
            raise KeyboardInterrupt

    stopped = run(TRACES, Model(), SoftDAG(**SMALL), 1, interrupt)
    assert stopped.status == "budget_reached"
    assert len(stopped.diagnostics["tried"]) == 2
    assert any("Let it run to its end" in warning for warning in stopped.warnings)

    def at_once(share, words):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(TRACES, Model(), SoftDAG(**SMALL), 1, at_once)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SoftDAG(sparsity=()), r"sparsity=\(\) must be one or more numbers"),
        (lambda: SoftDAG(acyclicity=(-1.0,)), "acyclicity"),
        (lambda: SoftDAG(acyclicity=3.0), r"acyclicity=3\.0 must be one or more numbers"),
        (lambda: SoftDAG(validation=1.0), r"validation=1\.0 must lie between 0 and 1"),
        (lambda: SoftDAG(threshold=1.0), r"threshold=1\.0 must lie in \[0, 1\)"),
        (lambda: SoftDAG(steps=0), "steps=0 must be a whole number from 1"),
        (lambda: SoftDAG(learning_rate=0.0), r"learning_rate=0\.0 must be greater than 0"),
    ],
)
def test_settings_out_of_range(build, message):
    with pytest.raises(SettingError, match=message):
        build()


def test_a_list_of_weights_is_a_tuple():
    assert SoftDAG(sparsity=[0.1, 0.2]).sparsity == (0.1, 0.2)

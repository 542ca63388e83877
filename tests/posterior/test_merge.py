"""Chains of several runs as one posterior."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.posterior.examples import hard_posterior, relaxed_posterior

from posetta import Exact, HardMCMC, InputError, Model, RelaxedNUTS, Traces, fit, load, save
from posetta.evaluate import waic
from posetta.model.latent import product_order
from posetta.posterior import merge

TRACES = Traces.from_lists([list("abc"), ["c", "b"], ["a"]], items=list("abc"), counts=[2, 1, 1])


def run(seed, n_draws=12, traces=TRACES, **changes):
    """Return two chains put together by hand, as a sampler would give them."""
    generator = np.random.default_rng(seed)
    closures = product_order(generator.standard_normal((n_draws, 3, 2)))
    beta = generator.random(n_draws)
    given = {"seed": seed, "diagnostics": {"r_hat": {}, "divergences": seed}, **changes}
    return hard_posterior(closures, beta, np.full(n_draws, 0.1), traces, n_chains=2, **given)


def test_chains_stand_side_by_side():
    a, b = run(1, settings={"draws": 6, "chains": 2}), run(2, settings={"draws": 6, "chains": 2})
    both = merge([a, b])
    assert (both.draws.n_chains, both.draws.n_draws) == (4, 6)
    np.testing.assert_allclose(both.precedence, (a.precedence + b.precedence) / 2)
    np.testing.assert_array_equal(both.draws.scalars["beta"][2:], b.draws.scalars["beta"])
    np.testing.assert_array_equal(both.draws.log_likelihood[:2], a.draws.log_likelihood)
    assert both.settings["chains"] == 4
    assert both.diagnostics["divergences"] == 3
    assert both.settings["merged_seeds"] == [1, 2]
    assert both.diagnostics["r_hat"].keys() == {"log_density", "relations", "beta"}
    assert merge([a]).precedence == pytest.approx(a.precedence)


def test_runs_of_different_lengths_are_cut_to_the_shortest_and_that_is_said():
    both = merge([run(1, 12), run(2, 20)])
    assert both.draws.n_draws == 6
    assert any("differ in length" in text for text in both.warnings)


def test_rows_are_matched_where_the_same_traces_were_read_in_another_order():
    turned = Traces.from_lists(
        [["a"], list("abc"), ["c", "b"]], items=list("abc"), counts=[1, 2, 1]
    )
    a, b = run(1), run(2, traces=turned)
    both = merge([a, b])
    np.testing.assert_array_equal(
        both.draws.log_likelihood[2:], b.draws.log_likelihood[..., [1, 2, 0]]
    )
    assert waic(both, TRACES).lppd == pytest.approx(waic(merge([a, run(2)]), TRACES).lppd)


def test_relaxed_runs_keep_their_latents():
    def relaxed(seed):
        generator = np.random.default_rng(seed)
        latent = generator.standard_normal((8, 3, 2))
        scalars = [generator.random(8) for _ in range(3)]
        return relaxed_posterior(
            latent, *scalars, TRACES, n_chains=2, seed=seed, diagnostics={"r_hat": {}}
        )

    both = merge([relaxed(1), relaxed(2)])
    assert both.draws.latent.shape == (4, 4, 3, 2)
    assert "margin_r_hat_99" in both.diagnostics
    with_none = replace(relaxed(3), draws=replace(relaxed(3).draws, latent=None))
    assert merge([relaxed(1), with_none]).draws.latent is None


def test_stale_warnings_go_and_others_stay():
    text = "the chains have not mixed: R-hat 1.30. Raise warmup."
    a = run(1, warnings=(text, "beta of the model: no part of method 'x'."), status="unmixed")
    both = merge([a, run(2, status="budget_reached")])
    assert text not in both.warnings
    assert "beta of the model: no part of method 'x'." in both.warnings
    assert both.status == "budget_reached"
    assert merge([a, run(2, status="diverged")]).status == "diverged"


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"model": Model(dim=2)}, "models"),
        ({"method": "another"}, "methods"),
        ({"settings": {"thin": 3}}, "settings"),
        ({"traces": Traces.from_lists([list("abc")], items=list("abc"))}, "traces"),
        ({"traces": TRACES.with_items(list("cab"))}, "items"),
    ],
)
def test_others_are_refused(other, word):
    with pytest.raises(InputError, match=word):
        merge([run(1), run(2, **other)])


def test_the_same_chains_twice_are_no_agreement():
    with pytest.raises(InputError, match="same seed"):
        merge([run(1), run(2), replace(run(3), seed=1)])


def test_the_same_chains_twice_are_found_in_merged_runs_too():
    a, b = run(1), run(2)
    with pytest.raises(InputError, match="same seed"):
        merge([merge([a, b]), b])
    assert merge([merge([a, b]), run(3)]).settings["merged_seeds"] == [1, 2, 3]


def test_statistics_are_merged_and_judged():
    def with_lp(seed):
        one = run(seed)
        lp = np.random.default_rng(seed).normal(size=(2, one.draws.n_draws))
        return replace(one, draws=replace(one.draws, statistics={"lp": lp}))

    a, b = with_lp(1), with_lp(2)
    both = merge([a, b])
    np.testing.assert_array_equal(both.draws.statistics["lp"][2:], b.draws.statistics["lp"])
    assert not merge([a, run(3)]).draws.statistics  # one of them does not have it
    far = replace(b, draws=replace(b.draws, statistics={"lp": b.draws.statistics["lp"] + 50.0}))
    assert merge([a, far]).diagnostics["r_hat"]["log_density"] > 1.5


def test_a_loaded_run_merges_with_a_fresh_one(tmp_path):
    a = run(1, settings={"starts": ("prior",), "checkpoint": tmp_path / "run.npz"})
    b = run(2, settings={"starts": ("prior",)})
    save(a, tmp_path / "a")
    assert merge([load(tmp_path / "a"), b]).draws.n_chains == 4


def test_what_has_no_chains_is_refused():
    with pytest.raises(InputError, match="'maximal' has no chains"):
        merge([fit(TRACES, "maximal", Model(noise=0.1))])
    with pytest.raises(InputError, match="'exact' has no chains"):
        merge([fit(TRACES, Exact(draws=5, prior_draws=1000), Model(noise=0.1))])
    with pytest.raises(InputError, match="at least one"):
        merge([])


def test_two_fits_of_a_sampler():
    method = HardMCMC(draws=20, warmup=5, chains=2, thin=1)
    runs = [fit(TRACES, method, Model(noise=0.1), seed=seed) for seed in (1, 2)]
    both = merge(runs)
    assert both.draws.n_chains == 4
    assert both.precedence == pytest.approx((runs[0].precedence + runs[1].precedence) / 2)
    assert set(both.diagnostics) >= {"r_hat_max", "ess_min", "chain_mae_max"}
    assert "acceptance" not in both.diagnostics


def test_runs_with_other_numbers_of_chains():
    method = RelaxedNUTS(draws=5, warmup=20, chains=1, starts=("prior",))
    more = RelaxedNUTS(draws=5, warmup=20, chains=2, starts=("prior", "traces"))
    both = merge([fit(TRACES, method, seed=1), fit(TRACES, more, seed=2)])
    assert both.draws.n_chains == 3

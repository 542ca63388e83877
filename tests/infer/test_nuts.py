"""NUTS against an independent sampler, against its own prior, and against the exact hard model."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.infer import relaxed_gap

from posetta import Exact, Model, RelaxedNUTS, SettingError, Traces, fit, simulate
from posetta.evaluate import closure_mae
from posetta.infer import compiled_callbacks as callbacks
from posetta.infer import nuts
from posetta.infer.frame import fitted_frame
from posetta.infer.methods import MassMatrix
from posetta.infer.natural_gradient import Gaussian
from posetta.infer.nuts import _agreement, _sampler_diagnostics, _stacked, _status
from posetta.infer.nuts_chains import Chain
from posetta.infer.score_batch import score_batch
from posetta.infer.start import prior_point
from posetta.model.latent import product_order
from posetta.model.relaxed import relaxed_trace_log_likelihood
from posetta.model.target import Target
from posetta.posterior.diagnostics import effective_size
from posetta.posterior.io import summary
from posetta.side_by_side import run_side_by_side

# Without a short hard chain first, whose kernel takes long to compile.
QUICK = {"starts": ("traces", "prior")}


def some_traces(n: int, seed: int, **more: object) -> Traces:
    return simulate(n, dim=2, rho=0.5, seed=seed, ip_cov=None, n_traces=5, **more).train


def random_walk(target: Target, n_steps: int, seed: int) -> NDArray[np.float64]:
    """Draw by random-walk Metropolis: nothing in common with NUTS but the log density."""
    generator = np.random.default_rng(seed)
    point = prior_point(target, generator)
    value = target.log_density(point)
    kept = []
    for step in range(n_steps):
        scale = 0.35 * np.exp(generator.normal())
        proposal = point + scale * generator.standard_normal(len(point))
        proposed = target.log_density(proposal)
        if np.log(generator.random()) < proposed - value:
            point, value = proposal, proposed
        if step >= n_steps // 10 and step % 20 == 0:
            kept.append(point)
    return np.array(kept)


def standard_error(chains: NDArray[np.float64]) -> float:
    return float(chains.std(ddof=1) / np.sqrt(effective_size(chains, by_rank=False)))


WALK_CASES = {
    "three items": (some_traces(3, 1), Model(dim=2)),
    "four items, noise inferred": (some_traces(4, 2, noise=0.2), Model(dim=2, noise=None)),
    "four items, beta fixed": (some_traces(4, 3, lengths=3), Model(dim=3, beta=0.5, tau=0.1)),
}


@pytest.mark.parametrize(
    ("case", "masses"), [*((case, "diagonal") for case in WALK_CASES), ("three items", "full-rank")]
)
def test_agrees_with_a_random_walk(case: str, masses: MassMatrix) -> None:
    """Scalars and pairs within the joint Monte Carlo error of both.

    10 to 16 comparisons a case; at 4.5 standard errors the chance of a false alarm over all cases
    is below 1e-3 for seeds chosen before looking.
    """
    traces, model = WALK_CASES[case]
    target = Target(model, traces)
    walk = np.stack([random_walk(target, 60_000, seed) for seed in (1, 2, 3)])
    settings = RelaxedNUTS(draws=1500, warmup=300, chains=2, mass_matrix=masses, **QUICK)
    post = fit(traces, settings, model, seed=4)
    assert post.status == "ok"
    n = traces.n_items
    flat = [target.constrain(w) for w in walk.reshape(-1, walk.shape[2])]
    compared = {
        name: (np.array([getattr(p, name) for p in flat]), post.draws.scalars[name])
        for name in target.inferred
    }
    walked = product_order(np.stack([p.latent for p in flat]))
    drawn = np.unpackbits(post.draws.closure_bits, axis=-1, count=n)
    for i, j in permutations(range(n), 2):
        compared[f"{i} before {j}"] = (walked[:, i, j], drawn[:, :, i, j])
    for name, (one, two) in compared.items():
        a, b = one.reshape(walk.shape[:2]).astype(float), two.astype(float)
        if np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
            assert abs(a.mean() - b.mean()) < 0.005, name
            continue
        error = np.hypot(standard_error(a), standard_error(b))
        assert abs(a.mean() - b.mean()) < 4.5 * error, name
        assert error < 0.1 * max(1.0, b.std()), name


def test_calibration() -> None:
    """Parameters from the prior, i.i.d. traces from them: ranks among the draws are uniform.

    Six quantities, each a chi-squared test on eight classes: at p > 1e-4 the false alarm rate is
    below 1e-3.
    """
    model = Model(dim=2, tau=0.3)
    items = list("abcd")
    every = Traces.from_lists([list(p) for p in permutations(items)], items=items)
    settings = RelaxedNUTS(draws=31, warmup=150, chains=1, thin=5, starts=("prior",))
    ranks = []
    for rep in range(120):
        generator = np.random.default_rng(rep)
        empty = Target(model, Traces.from_lists([], items=items))
        truth = empty.constrain(prior_point(empty, generator))
        probability = np.exp(
            relaxed_trace_log_likelihood(truth.latent, truth.beta, truth.gamma, model.tau, every)
        )
        assert probability.sum() == pytest.approx(1.0)
        counts = generator.multinomial(6, probability / probability.sum())
        seen = np.flatnonzero(counts)
        traces = Traces.from_lists(
            [every.labels(r) for r in seen], items=items, counts=counts[seen].tolist()
        )
        draws = fit(traces, settings, model, seed=rep).draws
        assert draws.latent is not None
        margin = (draws.latent[0, :, 0] - draws.latent[0, :, 1]).min(axis=1)
        true_likelihood = relaxed_trace_log_likelihood(
            truth.latent, truth.beta, truth.gamma, model.tau, traces
        )
        pairs = (
            (truth.rho, draws.scalar("rho")),
            (truth.beta, draws.scalar("beta")),
            (truth.gamma, draws.scalar("gamma")),
            ((truth.latent[0] - truth.latent[1]).min(), margin),
            (truth.latent.sum(), draws.latent[0].sum(axis=(1, 2))),
            (true_likelihood @ traces.counts, draws.log_likelihood[0] @ traces.counts),
        )
        ranks.append([np.count_nonzero(drawn < true) for true, drawn in pairs])
    for column in np.array(ranks).T:
        classes = np.bincount(column // 4, minlength=8)
        assert stats.chisquare(classes).pvalue > 1e-4, classes


def test_approaches_the_hard_posterior() -> None:
    traces = some_traces(4, 5)
    exact = fit(traces, Exact(draws=10, prior_draws=300_000), Model(dim=2), seed=5)
    settings = RelaxedNUTS(draws=1500, warmup=400, chains=2, target_accept=0.9, **QUICK)
    gaps = [
        closure_mae(fit(traces, settings, Model(dim=2, tau=tau, gamma=gamma), seed=6), exact)
        for tau, gamma in ((0.3, 2.0), (0.1, 10.0), (0.02, 50.0))
    ]
    # Twelve pairs, each with a standard error of about 0.01.
    assert gaps[0] > gaps[1] + 0.01
    assert gaps[1] > gaps[2] + 0.01
    assert gaps[2] < 0.04


@pytest.mark.parametrize("case", relaxed_gap.cases())
def test_the_gap_to_the_hard_posterior_is_on_file(case: str) -> None:
    # A mean of at least six differences, each with a standard error of about 0.015.
    assert relaxed_gap.gap("nuts", case) == pytest.approx(
        relaxed_gap.recorded()["nuts"][case], abs=0.02
    )


def test_without_data_it_draws_the_prior() -> None:
    traces = Traces.from_lists([], items=list("abc"))
    post = fit(traces, RelaxedNUTS(draws=1000, warmup=200, chains=2), Model(noise=None), seed=2)
    for name, prior in (
        ("rho", stats.beta(2, 2)),
        ("beta", stats.gamma(2)),
        ("gamma", stats.gamma(2)),
        ("noise", stats.beta(1, 9)),
    ):
        values = post.draws.scalars[name]
        apart = max(1, round(values.size / effective_size(values)))
        assert stats.kstest(values.reshape(-1)[::apart], prior.cdf).pvalue > 1e-3


def test_callbacks_are_the_target() -> None:
    traces = some_traces(5, 7, lengths=(2, 5))
    for model in (Model(dim=3), Model(dim=2, rho=0.5, noise=None), Model(dim=1, beta=0.0)):
        target = Target(model, traces)
        block = callbacks.pack(target)
        for seed in range(3):
            point = prior_point(target, np.random.default_rng(seed))
            gradient = np.empty_like(point)
            value = callbacks.packed_log_density(block, point, gradient)
            expected, expected_gradient = target.log_density_and_grad(point)
            assert value == pytest.approx(expected, rel=1e-12)
            np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("masses", ["diagonal", "full-rank"])
def test_a_chain_is_the_same_however_many_run(masses: MassMatrix) -> None:
    traces = some_traces(4, 8)
    short = {"draws": 20, "warmup": 30, "thin": 2, "mass_matrix": masses, **QUICK}
    two = fit(traces, RelaxedNUTS(chains=2, **short), seed=4)
    three = fit(traces, RelaxedNUTS(chains=3, **short), seed=4)
    other = fit(traces, RelaxedNUTS(chains=2, **short), seed=5)
    np.testing.assert_array_equal(two.draws.latent, three.draws.latent[:2])
    assert not np.array_equal(two.draws.latent, other.draws.latent)
    assert not np.array_equal(three.draws.latent[0], three.draws.latent[2])


def test_thinning_keeps_every_nth_draw() -> None:
    traces = some_traces(4, 9)
    all_of_them = fit(traces, RelaxedNUTS(draws=30, warmup=30, chains=1, **QUICK), seed=4)
    thinned = fit(traces, RelaxedNUTS(draws=10, warmup=30, chains=1, thin=3, **QUICK), seed=4)
    np.testing.assert_array_equal(all_of_them.draws.latent[:, 2::3], thinned.draws.latent)
    for name in ("divergences", "divergent_share", "depth_saturation", "gradients"):
        assert all_of_them.diagnostics[name] == thinned.diagnostics[name]
    per_draw = thinned.diagnostics["gradients_per_draw"]
    assert per_draw == pytest.approx(3.0 * all_of_them.diagnostics["gradients_per_draw"])


def test_what_a_stopped_run_leaves_out_is_counted() -> None:
    def chain(length: int) -> dict[str, NDArray[np.float64]]:
        iterations = np.arange(float(length))
        return {"point": iterations[1::2, None], "logp": iterations}

    drawn, words = _stacked([chain(7), chain(1), chain(12)], thin=2)
    np.testing.assert_array_equal(drawn["logp"], [[1.0, 3.0, 5.0], [1.0, 3.0, 5.0]])
    np.testing.assert_array_equal(drawn["point"][:, :, 0], drawn["logp"])
    assert words == (
        "chains that had not come to their first draw are left out: 2.",
        "the chains differ in length: 3 draws of the longer ones are left out.",
    )
    assert _stacked([chain(6), chain(7)], thin=2)[1] == ()


def test_settings_tell_what_was_chosen() -> None:
    post = fit(some_traces(4, 9), RelaxedNUTS(draws=4, warmup=20, chains=2), seed=4)
    assert post.settings["mass_matrix"] == "diagonal"
    assert list(post.settings["starts"]) == ["hard", "traces"]
    assert (post.settings["thin"], post.settings["jumps"]) == (1, 0)


def test_divergences_between_kept_draws_and_in_the_tail_of_a_chain_count() -> None:
    diverging = np.zeros(12, dtype=bool)
    diverging[[0, 1, 11]] = True  # every third is kept: draws 2, 5, 8
    chain = {"diverging": diverging, "maxdepth_reached": diverging, "n_steps": np.full(12, 7)}
    expected = {
        "divergences": 6, "divergent_share": 0.25, "depth_saturation": 0.25,
        "gradients_per_draw": 21.0,
    }  # fmt: skip
    assert _sampler_diagnostics([chain, chain], thin=3) == expected
    jumping = chain | {"n_moved": np.arange(12)}
    with_moves = expected | {"items_moved_per_draw": 16.5}
    assert _sampler_diagnostics([jumping, jumping], thin=3) == with_moves


@pytest.mark.parametrize("masses", ["low-rank", "full-rank"])
def test_other_masses_give_the_same_posterior(masses: str) -> None:
    traces = some_traces(4, 10)
    one, two = (
        fit(traces, RelaxedNUTS(draws=1000, warmup=300, chains=2, mass_matrix=m, **QUICK), seed=4)
        for m in ("diagonal", masses)
    )
    assert not np.array_equal(one.draws.latent, two.draws.latent)
    assert closure_mae(one, two) < 0.03  # twelve pairs, each with a standard error near 0.015


def test_callbacks_in_a_frame_are_the_target() -> None:
    target = Target(Model(dim=2, noise=None), some_traces(5, 7, lengths=(2, 5)))
    size = target.n_parameters
    generator = np.random.default_rng(3)
    factor = np.tril(0.2 * generator.standard_normal((size, size))) + np.eye(size)
    frame = Gaussian(generator.standard_normal(size), factor)
    block = callbacks.pack(target, frame)
    x = generator.standard_normal(size)
    gradient = np.empty(size)
    value = callbacks.packed_log_density(block, x, gradient)
    expected, by_w = target.log_density_and_grad(frame.mean + factor @ x)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, factor.T @ by_w, rtol=1e-9, atol=1e-11)
    w = np.empty(size)
    callbacks.from_frame(block, x, w)
    np.testing.assert_allclose(w, frame.mean + factor @ x, rtol=1e-12, atol=1e-12)


def test_a_frame_finds_a_gaussian() -> None:
    """Without traces and with fixed scalars the target is N(0, I).

    Each of 8 means and 36 covariances is an average over some 10^4 points with steps that fall as
    1/t: errors near 0.01.
    """
    empty = Traces.from_lists([], items=["a", "b", "c", "d"])
    target = Target(Model(dim=2, rho=0.5, beta=1.0, gamma=1.0), empty)
    with score_batch(target) as scores:
        frame, cut = fitted_frame(scores, np.full(8, 2.0), np.random.default_rng(1))
    assert not cut
    np.testing.assert_allclose(frame.mean, 0.0, atol=0.05)
    np.testing.assert_allclose(frame.factor @ frame.factor.T, np.eye(8), atol=0.05)


def test_a_frame_ends_at_its_deadline_and_before_a_step_that_is_not_finite() -> None:
    target = Target(Model(dim=2), some_traces(4, 10))
    start = prior_point(target, np.random.default_rng(2))
    nowhere = np.full(target.n_parameters, 1e200)
    with score_batch(target) as scores:
        late, late_cut = fitted_frame(scores, start, np.random.default_rng(1), deadline=0.0)
        stuck, stuck_cut = fitted_frame(scores, nowhere, np.random.default_rng(1))
    assert late_cut
    assert not stuck_cut
    assert np.abs(late.mean - start).max() < 1.0  # one step
    assert not np.array_equal(late.mean, start)
    np.testing.assert_array_equal(stuck.mean, nowhere)


@pytest.mark.parametrize("apart", [False, True])
def test_a_frame_that_time_cut_short_is_told(apart: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nuts, "_FRAME_SHARE", 0.0)
    method = RelaxedNUTS(
        draws=5, warmup=20, chains=2, max_seconds=60.0, mass_matrix="full-rank", **QUICK
    )
    with ThreadPoolExecutor(2) as pool:
        post = fit(some_traces(4, 10), method, Model(dim=2), executor=pool if apart else None)
    assert sum("cut short the Gaussians" in words for words in post.warnings) == 1
    again = fit(some_traces(4, 10), replace(method, max_seconds=None), Model(dim=2))
    assert not any("cut short" in words for words in again.warnings)


def test_masses_follow_the_number_of_items() -> None:
    assert RelaxedNUTS().scales(40) == "diagonal"
    assert RelaxedNUTS().scales(41) == "full-rank"
    assert RelaxedNUTS(mass_matrix="low-rank").scales(41) == "low-rank"


@pytest.mark.parametrize("masses", ["diagonal", "full-rank"])
def test_max_seconds_gives_back_what_was_drawn(masses: MassMatrix) -> None:
    settings = RelaxedNUTS(
        draws=10**6, warmup=20, chains=3, max_seconds=1.0, mass_matrix=masses, **QUICK
    )
    post = fit(some_traces(5, 11), settings)
    assert post.status == "budget_reached"
    assert post.draws.n_chains == 3
    assert 0 < post.draws.n_draws < 10**6
    assert any("max_seconds" in words for words in post.warnings)


@pytest.mark.parametrize("jumps", [0, 2])
def test_ctrl_c_gives_back_what_was_drawn(jumps: int) -> None:
    traces = some_traces(5, 12)
    settings = RelaxedNUTS(draws=10**6, warmup=20, chains=2, jumps=jumps, **QUICK)
    # Compile and import first.
    fit(traces, RelaxedNUTS(draws=4, warmup=20, chains=1, jumps=jumps, **QUICK))
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        post = fit(traces, settings)
    finally:
        timer.cancel()
    assert post.status == "budget_reached"
    assert 0 < post.draws.n_draws < 10**6


def test_nothing_drawn_in_time_is_an_error() -> None:
    with pytest.raises(SettingError, match="raise max_seconds if that ended it, or lower warmup"):
        fit(some_traces(5, 13), RelaxedNUTS(warmup=10**6, chains=1, max_seconds=0.1, **QUICK))


def test_progress_is_reported() -> None:
    from posetta.infer.nuts import run

    heard: list[tuple[float, str]] = []
    settings = RelaxedNUTS(draws=400, warmup=400, chains=2, **QUICK)
    run(some_traces(8, 14), Model(), settings, 0, lambda share, words: heard.append((share, words)))
    shares = [share for share, _ in heard]
    assert shares == sorted(shares)
    assert 0.0 < shares[-1] <= 1.0
    assert "starting points" in heard[0][1]


def test_running_chains_tell_how_well_they_agree() -> None:
    target = Target(Model(), some_traces(8, 14))
    settings = RelaxedNUTS(draws=6000, warmup=50, chains=2, **QUICK)
    starts = [prior_point(target, np.random.default_rng(c)) for c in range(2)]
    chains = [Chain(target, settings, start, 0, c) for c, start in enumerate(starts)]
    looked: list[NDArray[np.float64]] = []
    words: list[str] = []

    def look() -> None:
        early = [chain.so_far()["logp"] for chain in chains]
        if not looked and min(len(one) for one in early) >= 20:
            words.extend(_agreement(chains))
            looked.extend(early)

    assert not run_side_by_side(chains, look)
    assert words[0].startswith("R-hat ")
    for chain, early in zip(chains, looked, strict=True):
        assert 20 <= len(early) < 6000
        np.testing.assert_array_equal(chain.drawn["logp"][: len(early)], early)


def test_diagnostics_have_the_words_of_the_result_file() -> None:
    post = fit(some_traces(4, 15), RelaxedNUTS(draws=300, warmup=200, chains=2, **QUICK), seed=1)
    found = summary(post)["diagnostics"]
    assert post.status == "ok"
    assert found["r_hat_max"] == max(found["r_hat"].values())
    assert found["ess_min"] == min(found["ess"].values())
    assert set(found["r_hat"]) == {"log_density", "rho", "beta", "gamma"}
    assert found["divergences"] == 0
    assert found["depth_saturation"] == 0.0
    assert found["margin_r_hat_99"] < 1.1
    assert set(post.seconds) == {"compile", "start", "run"}


def test_switched_columns_do_not_look_unmixed() -> None:
    """Chains whose columns carry different labels agree on everything that is diagnosed."""
    post = fit(some_traces(4, 16), RelaxedNUTS(draws=400, warmup=200, chains=2, **QUICK), seed=1)
    latent = post.draws.latent
    assert latent is not None
    shifted = latent.copy()
    shifted[1] = shifted[1, :, :, ::-1]
    from posetta.posterior.diagnostics import chain_diagnostics

    quantities = {"rho": post.draws.scalars["rho"]}
    one = chain_diagnostics(quantities, post.draws.closure_bits, latent)
    two = chain_diagnostics(quantities, post.draws.closure_bits, shifted)
    assert one == two


def test_a_short_run_is_called_unmixed() -> None:
    post = fit(some_traces(5, 17), RelaxedNUTS(draws=8, warmup=20, chains=2, **QUICK))
    assert post.status == "unmixed"
    assert "Raise warmup and draws" in post.warnings[0]


GOOD = {
    "r_hat_max": 1.0,
    "ess_min": 900.0,
    "pair_r_hat_99": 1.1,
    "chain_mae_max": 0.0,
    "divergences": 0,
    "divergent_share": 0.0,
    "depth_saturation": 0.0,
}


@pytest.mark.parametrize(
    ("change", "stopped", "status", "setting"),
    [
        ({}, False, "ok", None),
        ({"r_hat_max": 1.2}, False, "unmixed", "warmup"),
        ({"ess_min": 20.0}, False, "unmixed", "draws"),
        ({"pair_r_hat_99": 24.0}, False, "unmixed", "draws"),
        ({"r_hat_max": 1.2, "depth_saturation": 0.5}, False, "unmixed", "max_depth"),
        ({"depth_saturation": 0.5}, False, "ok", "max_depth"),
        ({"divergences": 40, "divergent_share": 0.04}, False, "diverged", "target_accept"),
        ({"divergences": 1, "divergent_share": 0.001}, False, "ok", None),
        ({}, True, "budget_reached", "max_seconds"),
        ({"divergent_share": 0.04}, True, "budget_reached", "target_accept"),
    ],
)
def test_status_and_remedy(change, stopped, status, setting) -> None:
    found, words = _status(GOOD | change, stopped)
    assert found == status
    assert bool(words) == (setting is not None)
    assert setting is None or setting in " ".join(words)


def test_saturation_is_seen() -> None:
    settings = RelaxedNUTS(draws=50, warmup=50, chains=1, max_depth=1, **QUICK)
    post = fit(some_traces(5, 18), settings)
    assert post.diagnostics["depth_saturation"] > 0.5
    assert "Raise max_depth" in " ".join(post.warnings)


def test_a_random_dimension_is_refused() -> None:
    with pytest.raises(SettingError, match="cannot infer the dimension"):
        fit(some_traces(4, 19), RelaxedNUTS(), Model(dim="random"))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("draws", 3),
        ("warmup", 19),
        ("chains", 0),
        ("thin", 0),
        ("max_depth", 0),
        ("jumps", -1),
        ("target_accept", 1.0),
        ("target_accept", float("nan")),
        ("mass_matrix", "dense"),
        ("max_seconds", 0),
        ("starts", ()),
        ("starts", "prior"),
        ("starts", ("nowhere",)),
    ],
)
def test_settings_are_checked(setting: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"{setting}="):
        RelaxedNUTS(**{setting: value})

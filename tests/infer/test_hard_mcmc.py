"""Hard-MCMC against the oracle, against full recomputation, and against the prior."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.infer.small_data import some_traces
from tests.model.reference import frontier, remainders, successors

from posetta import HardMCMC, InputError, Model, SettingError, Traces, fit, simulate
from posetta.infer.hard.chain import ChainRun, rows_of
from posetta.infer.hard.latent_moves import (
    coordinate_moves,
    item_moves,
    swap_moves,
)
from posetta.infer.hard.likelihood import evaluate, fill_weights, refresh
from posetta.infer.hard.state import S_NOISE, S_VALUE, STEEP
from posetta.infer.hard_mcmc import put_together
from posetta.infer.hard_mcmc import run as run_hard
from posetta.model.hard import hard_trace_log_likelihood
from posetta.model.latent import product_order
from posetta.posterior.diagnostics import effective_size


def test_without_data_it_draws_the_prior() -> None:
    traces = Traces.from_lists([], items=list("abcd"))
    post = fit(traces, HardMCMC(draws=2000, warmup=100, chains=4, thin=8), seed=2)
    for name, prior in (("rho", stats.beta(2, 2)), ("beta", stats.gamma(2))):
        values = post.draws.scalars[name]
        size = effective_size(values)
        # A Kolmogorov-Smirnov test on as many draws as are effectively independent.
        kept = values.reshape(-1)[:: max(1, round(values.size / size))]
        assert stats.kstest(kept, prior.cdf).pvalue > 1e-3
    latent = post.draws.latent
    assert latent is not None
    assert abs(latent.mean()) < 0.1
    assert latent.var() == pytest.approx(1.0, abs=0.1)


CARRIED = ("W", "own", "n_late", "n_early", "last_before")
MOVES = (coordinate_moves, swap_moves, item_moves)


@pytest.mark.parametrize(
    ("traces", "model"),
    [
        (some_traces(6, 8), Model(dim=3)),
        (some_traces(6, 9, top_k=True), Model(dim=3)),
        (some_traces(6, 10, noise=0.5), Model(dim=2, noise=0.3)),
        (some_traces(6, 11, top_k=True, noise=0.3), Model(dim=4, noise=None)),
        (some_traces(70, 12), Model(dim=3)),
        (some_traces(9, 13), Model(dim=3, beta=40.0)),
        (some_traces(9, 13, noise=0.3), Model(dim=3, beta=40.0, noise=0.1)),
        (some_traces(9, 13, top_k=True, noise=0.3), Model(dim=2, beta=40.0, noise=None)),
        (some_traces(20, 19, noise=0.5), Model(dim=2, noise=None)),
        (some_traces(20, 20, top_k=True, noise=0.5), Model(dim="random", dim_max=4, noise=None)),
    ],
)
def test_incremental_likelihood_is_the_full_one(traces: Traces, model: Model) -> None:
    """After hundreds of moves, everything the chain carries equals a fresh computation."""
    settings = HardMCMC(draws=4, warmup=100, chains=1, thin=1)
    run = ChainRun(traces, rows_of(traces), model, settings, 3, 0)
    state = run.chain
    changed, broken = 0, 0
    for _ in range(40):
        before = state.closure.copy()
        run.sweep(1)
        for move in MOVES:
            move(run.rows, state, run.work, 30, run.generator)
        changed += bool((before != state.closure).any())
        _, beta, noise, dim = state.scalars[:4]
        latent = state.columns[: int(dim)].T
        closure = product_order(latent)
        np.testing.assert_array_equal(state.closure, closure)
        greater = (latent[:, None] > latent[None]).sum(axis=-1)
        np.testing.assert_array_equal(state.greater, greater)
        fresh = hard_trace_log_likelihood(closure, beta, traces, noise)
        assert state.scalars[S_VALUE] == pytest.approx(fresh @ traces.counts, rel=1e-8)
        carried = {name: getattr(state, name).copy() for name in CARRIED}
        refresh(run.rows, state)
        for name, had in carried.items():
            np.testing.assert_allclose(had, getattr(state, name), rtol=1e-8, err_msg=name)
        np.testing.assert_allclose(state.row_value, fresh, rtol=1e-9, atol=1e-9)
        broken += bool(state.n_early.any())
    assert changed > 5
    assert (broken > 5) == (noise > 0.0)
    assert not run.work.difference.any()
    assert not run.work.gain.any()
    if model.beta is not None:
        assert state.weight[-1] > STEEP


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_what_a_chain_carries_is_as_defined(noise: float) -> None:
    """The counts, W and own of every row, straight from the words that define them."""
    traces = some_traces(8, 25, top_k=True, noise=0.5 if noise else 0.0)
    settings = HardMCMC(draws=4, warmup=100, chains=1, thin=1)
    run = ChainRun(traces, rows_of(traces), Model(dim=2, beta=0.8, noise=noise), settings, 3, 0)
    state = run.chain
    unlisted, broken = 0, 0
    for _ in range(5):
        run.sweep(5)
        assert state.scalars[S_NOISE] == noise
        closure = state.closure
        for r in range(traces.n_unique):
            listed, members = traces.sequence(r).tolist(), traces.choice_set(r).tolist()
            for p, a in enumerate(members):
                top = min(p, len(listed) - 1)
                assert state.n_late[r, a] == sum(closure[a, b] for b in members[top:])
                assert state.n_early[r, a] == sum(closure[a, b] for b in members[:top])
                before = [c for c, b in enumerate(members) if closure[b, a]]
                assert state.last_before[r, a] == max(before, default=-1)
                unlisted += p > top
                broken += state.n_early[r, a]
            for t, (x, remaining) in enumerate(remainders(listed, members)):
                free = frontier(closure, remaining)
                weight = {a: (1 + successors(closure, a, remaining)) ** 0.8 for a in free}
                step = run.rows.first_step[r] + t
                assert state.W[step] == pytest.approx(sum(weight.values()), rel=1e-9)
                assert state.own[step] == pytest.approx(weight.get(x, 0.0), rel=1e-12)
                assert run.rows.chance[step] == 1.0 / len(remaining)
    assert unlisted > 0
    assert (broken > 0) == (noise > 0.0)


def test_evaluate_is_the_hard_likelihood() -> None:
    traces = some_traces(8, 13, top_k=True, noise=0.2)
    rows = rows_of(traces)
    settings = HardMCMC(draws=4, warmup=0, chains=1, thin=1)
    run = ChainRun(traces, rows, Model(noise=0.1), settings, 3, 0)
    for seed in range(5):
        latent = np.random.default_rng(seed).normal(size=(8, 2))
        closure = product_order(latent)
        weight, log_weight = np.zeros(8), np.zeros(8)
        fill_weights(0.8, weight, log_weight)
        total = evaluate(rows, closure, weight, 0.1, run.work)
        expected = hard_trace_log_likelihood(closure, 0.8, traces, 0.1)
        np.testing.assert_allclose(run.work.row_value, expected, rtol=1e-12)
        assert total == pytest.approx(expected @ traces.counts)


def test_a_chain_is_the_same_however_many_run() -> None:
    traces = some_traces(5, 14)
    short = {"draws": 20, "warmup": 10, "thin": 2}
    two = fit(traces, HardMCMC(chains=2, **short), seed=4)
    three = fit(traces, HardMCMC(chains=3, **short), seed=4)
    np.testing.assert_array_equal(two.draws.closure_bits, three.draws.closure_bits[:2])
    np.testing.assert_array_equal(two.draws.scalars["beta"], three.draws.scalars["beta"][:2])


def test_draws_carry_their_own_likelihood_and_latents() -> None:
    traces = some_traces(5, 15)
    post = fit(traces, HardMCMC(draws=10, warmup=5, chains=2, thin=1), Model(dim="random"), seed=1)
    latent = post.draws.latent.reshape(20, 5, -1)
    beta = post.draws.scalar("beta")
    for s, closure in enumerate(post.draws.closures(5)):
        dim = int(post.draws.scalar("dim")[s])
        assert np.isnan(latent[s, :, dim:]).all()
        np.testing.assert_array_equal(product_order(latent[s, :, :dim]), closure)
        np.testing.assert_allclose(
            post.draws.log_likelihood.reshape(20, -1)[s],
            hard_trace_log_likelihood(closure, beta[s], traces),
            rtol=1e-9,
            atol=1e-12,
        )


def test_max_seconds_gives_back_what_was_drawn() -> None:
    traces = some_traces(6, 16)
    # More chains than this machine has cores: every one of them must have drawn.
    post = fit(traces, HardMCMC(draws=10**5, warmup=0, chains=8, thin=1, max_seconds=1.0))
    assert post.status == "budget_reached"
    assert 0 < post.draws.n_draws < 10**5
    assert post.draws.n_chains == 8
    assert any("raise max_seconds" in words for words in post.warnings)


def test_draws_of_chains_that_came_further_are_counted() -> None:
    traces = some_traces(5, 16)
    settings = HardMCMC(draws=20, warmup=0, chains=3, thin=1, rungs=1)
    rows = rows_of(traces)
    chains = [ChainRun(traces, rows, Model(), settings, 1, number) for number in range(3)]
    for chain, sweeps in zip(chains, (12, 9, 10), strict=True):
        chain.sweep(sweeps)
    ran = [{"frozen": chain.frozen(), "seconds": 1.0} for chain in chains]
    post = put_together(traces, Model(), settings, 1, ran)
    assert post.draws.n_draws == 9
    assert post.warnings[-1].endswith("length: 4 draws of the longer ones are left out.")
    np.testing.assert_array_equal(post.draws.latent[0], chains[0].kept.latent[:9])


def test_ctrl_c_gives_back_what_was_drawn() -> None:
    def press(_: float, words: str) -> None:
        if "draws a chain" in words:
            signal.raise_signal(signal.SIGINT)

    settings = HardMCMC(draws=10**6, warmup=10, chains=2, thin=1)
    post = run_hard(some_traces(6, 16), Model(), settings, 3, press)
    assert post.status == "budget_reached"
    assert any("Let it run to its end" in words for words in post.warnings)
    assert 0 < post.draws.n_draws < 10**6
    # The draws are those of an uninterrupted run.
    whole = fit(
        some_traces(6, 16), HardMCMC(draws=50, warmup=10, chains=2, thin=1), Model(), seed=3
    )
    both = min(post.draws.n_draws, 50)
    np.testing.assert_array_equal(post.draws.latent[:, :both], whole.draws.latent[:, :both])


def test_many_items_and_a_random_dimension_are_warned_of() -> None:
    short = HardMCMC(draws=4, warmup=0, chains=1, thin=1)
    many = Traces.from_lists([["i0", "i1"]], items=[f"i{k}" for k in range(100)])
    assert "dim_prior_mean" in fit(many, short, Model(dim="random")).warnings[-1]
    narrow = fit(many, short, Model(dim="random", dim_prior_mean=4.0))
    assert not any("dim_prior_mean" in words for words in narrow.warnings)


@pytest.mark.parametrize("n_items", [5, 10, 11, 12, 20])
def test_of_iterations_is_half_burn_in(n_items: int) -> None:
    settings = HardMCMC.of_iterations(200_000, n_items=n_items, dim=4, draws=300)
    sweeps = settings.warmup + settings.draws * settings.thin
    assert sweeps * 2 * n_items * 5 == pytest.approx(200_000, rel=0.01)
    assert settings.warmup == pytest.approx(settings.draws * settings.thin, rel=0.01)
    assert settings.draws >= 300


def test_too_few_iterations_for_the_draws_are_refused() -> None:
    with pytest.raises(SettingError, match="Lower draws"):
        HardMCMC.of_iterations(200_000, n_items=50, dim=4, draws=1000)


def test_nothing_drawn_in_time_is_an_error() -> None:
    with pytest.raises(SettingError, match=r"Let it run on, raise max_seconds .* lower warmup"):
        fit(some_traces(6, 17), HardMCMC(warmup=10**6, chains=1, max_seconds=0.01))


def test_a_short_run_is_called_unmixed() -> None:
    post = fit(some_traces(6, 18), HardMCMC(draws=8, warmup=0, chains=2, thin=1))
    assert post.status == "unmixed"
    assert "Raise warmup and thin" in post.warnings[0]


@pytest.mark.parametrize(
    ("model", "where", "advice"),
    [
        (Model(beta_prior=(2.0, 0.05)), "beyond 100", "a larger rate, or fix beta"),
        (Model(rho_prior=(0.2, 2.0)), "within 1e-12 of 0", "a larger first number, or fix rho"),
        (Model(rho_prior=(2.0, 0.2)), "within 1e-12 of 1", "a larger second number, or fix rho"),
        (
            Model(noise=None, noise_prior=(0.1, 9.0)),
            "within 1e-12 of 0",
            "a larger first number, or fix noise",
        ),
        (
            Model(noise=None, noise_prior=(9.0, 0.1)),
            "within 1e-12 of 1",
            "a larger second number, or fix noise",
        ),
    ],
    ids=["beta", "rho at 0", "rho at 1", "noise at 0", "noise at 1"],
)
def test_a_prior_beyond_the_reach_of_the_chains_is_refused(
    model: Model, where: str, advice: str
) -> None:
    with pytest.raises(SettingError, match=r"_prior=.* where this method does not go") as caught:
        fit(some_traces(4, 3), HardMCMC(draws=4, warmup=1, chains=1), model)
    assert where in str(caught.value)
    assert advice in str(caught.value)
    # Fixed scalars have no prior.
    fixed = replace(model, beta=1.0, rho=0.5, noise=0.1)
    fit(some_traces(4, 3), HardMCMC(draws=4, warmup=1, chains=1), fixed)


@pytest.mark.parametrize("noise_prior", [(1.0, 9.0), (0.5, 0.5), (0.5, 9.0)])
def test_common_priors_are_within_the_reach_of_the_chains(
    noise_prior: tuple[float, float],
) -> None:
    mild = Model(beta_prior=(2.0, 0.2), rho_prior=(0.5, 0.5), noise=None, noise_prior=noise_prior)
    fit(some_traces(4, 3), HardMCMC(draws=4, warmup=1, chains=1), mild)


def test_one_column_needs_traces_that_agree() -> None:
    against = Traces.from_lists([["a", "b"], ["b", "a"]])
    with pytest.raises(InputError, match="larger dim"):
        fit(against, HardMCMC(draws=4, warmup=1, chains=1), Model(dim=1))
    with pytest.raises(InputError, match="larger dim"):
        fit(against, HardMCMC(draws=4, warmup=1, chains=1), Model(dim="random", dim_max=1))
    agreeing = Traces.from_lists([["a", "b"], ["b", "c"]])
    post = fit(agreeing, HardMCMC(draws=50, warmup=10, chains=1), Model(dim=1))
    assert all(order.is_linear_extension(["a", "b", "c"]) for order in post.orders())


@pytest.mark.parametrize(
    ("setting", "value"),
    [("draws", 3), ("chains", 0), ("thin", 0), ("warmup", -1), ("draws", 2.5), ("max_seconds", 0)],
)
def test_settings_are_checked(setting: str, value: float) -> None:
    with pytest.raises(SettingError, match=f"{setting}="):
        HardMCMC(**{setting: value})


def test_progress_says_how_far_how_fast_and_how_well_chains_agree() -> None:
    told: list[tuple[float, str]] = []
    settings = HardMCMC(draws=4000, warmup=10, chains=2, thin=5)
    run_hard(
        some_traces(5, 3), Model(), settings, 1, lambda share, words: told.append((share, words))
    )
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    last = told[-1][1]
    assert last.startswith("4000 draws a chain, ")
    assert "proposals/s, R-hat 1.0" in last


def test_unless_told_a_run_is_as_long_as_the_items_ask() -> None:
    assert HardMCMC().sweeps(5) == (1000, 5, 1)
    assert HardMCMC().sweeps(30) == (1000, 15, 1)
    assert HardMCMC().sweeps(50) == (1000, 25, 1)
    assert HardMCMC().sweeps(200) == (2000, 10, 1)
    assert HardMCMC(rungs=5).sweeps(50) == (1000, 25, 5)
    assert HardMCMC(warmup=0, thin=2).sweeps(50) == (0, 2, 1)
    assert HardMCMC().sweeps(50, random_dim=True) == (3000, 5, 16)
    assert HardMCMC().sweeps(10, random_dim=True) == (1000, 5, 1)
    post = fit(some_traces(4, 3), HardMCMC(draws=4, chains=1), seed=1)
    assert [post.settings[name] for name in ("warmup", "thin", "rungs")] == [1000, 5, 1]


def test_the_warm_up_sets_the_rungs_so_that_neighbours_trade() -> None:
    """From spacings ten times too wide and too narrow, about the wanted share is traded.

    With fewer traces the last rung would be the prior, where every trade is accepted.
    """
    traces = simulate(10, seed=21, ip_cov=None, n_traces=30).train
    for factor in (0.1, 10.0):
        settings = HardMCMC(draws=1000, warmup=3000, chains=1, thin=1, rungs=4)
        run = ChainRun(traces, rows_of(traces), Model(dim=3), settings, 5, 0)
        run.spacing *= factor
        run.sweep(3000)
        spacing, before = run.spacing.copy(), run.trades.copy()
        run.sweep(1000)
        np.testing.assert_array_equal(run.spacing, spacing)  # adaptation only in the warm-up
        proposed, accepted = (run.trades - before).T
        assert np.all(np.abs(accepted / proposed - 0.3) < 0.15)

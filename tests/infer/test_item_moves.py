"""Moves of single items, and the chain around them: parts against slow ones, the whole exactly."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from threading import Event

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.infer.small_data import some_traces
from tests.model import reference

from posetta import Model, RelaxedNUTS, SettingError, Traces, fit
from posetta.data.evidence import PairEvidence
from posetta.infer import compiled_callbacks as callbacks
from posetta.infer import item_moves, methods
from posetta.infer.item_moves import move_items, rows_of
from posetta.infer.methods import MassMatrix
from posetta.infer.natural_gradient import Gaussian
from posetta.infer.no_u_turn import Place, transition
from posetta.infer.nuts_chains import Drawn, JumpingChain
from posetta.infer.start import prior_point
from posetta.model.latent import product_order, root_coefficients
from posetta.model.relaxed import relaxed_trace_log_likelihood
from posetta.model.target import Parameters, Target
from posetta.posterior.diagnostics import effective_size
from posetta.side_by_side import run_side_by_side

QUICK = {"starts": ("traces", "prior")}


def test_pairs_of_a_row_are_those_of_the_model() -> None:
    latent = np.random.default_rng(1).normal(size=(5, 3))
    gamma, tau, item = 2.3, 0.3, 2
    found = np.empty((4, 5))
    row, columns = latent[item].copy(), np.ascontiguousarray(latent.T)
    columns[:, item] = 77.0  # what the item was before plays no part
    item_moves._pairs_of(row, columns, item, tau, gamma, found)
    D, free = reference.precedence(latent.tolist(), gamma, tau)
    for j in (0, 1, 3, 4):
        expected = (D[item, j], D[j, item], free[item, j].ln(), free[j, item].ln())
        np.testing.assert_allclose(found[:, j], [float(value) for value in expected], rtol=1e-9)
    np.testing.assert_array_equal(found[:, item], 0.0)


def test_a_proposal_moves_both_forms_of_a_row_alike() -> None:
    generator = np.random.default_rng(2)
    for dim in (1, 2, 4):
        for rho in (0.0, 0.3, 0.999):
            root = root_coefficients(rho, 1.0 - rho, dim)
            z = generator.normal(size=dim)
            row = root[0] * z + root[1] * z.sum()
            ways = set()
            for _ in range(60):
                before = row.copy()
                item_moves._propose(row, z, root, generator)
                ways.add((int((row != before).sum()), bool(np.isclose(row.sum(), before.sum()))))
                np.testing.assert_allclose(row, root[0] * z + root[1] * z.sum(), atol=1e-9)
            # Two columns that trade places keep their sum; steps go into two or more columns.
            steps = {(k, False) for k in range(min(dim, 2), dim + 1)}
            assert ways == steps | ({(2, True)} if dim > 1 else set())


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_what_stands_for_the_likelihood_is_the_sum_that_the_page_states(noise: float) -> None:
    traces = some_traces(6, 3, top_k=True)
    before = PairEvidence.of(traces).before.astype(float)
    pairs = np.random.default_rng(3).uniform(0.05, 0.9, size=(4, 6))
    pairs[2:] = np.log(1.0 - pairs[:2])
    item, expected = 2, 0.0
    for other in range(6):
        # Both (earlier, later) orders of this pair: what was seen, D of the opposite, D of it.
        for times, opposite, along in (
            (before[other, item], pairs[0, other], pairs[1, other]),
            (before[item, other], pairs[1, other], pairs[0, other]),
        ):
            free = (1.0 - noise) * (1.0 - opposite) + noise / 6
            expected += times * (np.log(free) + item_moves._WORTH * along)
    assert item_moves._worth(before, item, pairs, noise) == pytest.approx(expected)


def test_many_moves_at_once_are_as_many_one_by_one() -> None:
    """What is kept between proposals is what a fresh start finds: nothing is left behind."""
    traces = some_traces(6, 4)
    target = Target(Model(dim=3, noise=None), traces)
    rows = rows_of(traces)
    w = prior_point(target, np.random.default_rng(4))
    at_once, accepted = move_items(rows, target, w, 400, np.random.default_rng(5))
    generator, one_by_one, count = np.random.default_rng(5), w, 0
    for _ in range(400):
        one_by_one, moved = move_items(rows, target, one_by_one, 1, generator)
        count += moved
    assert 20 < accepted == count < 400
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(at_once[-4:], w[-4:])  # the scalars


def posterior_from_the_prior(target: Target, count: int) -> tuple[NDArray, NDArray]:
    """Return orders of prior draws and their weights: importance sampling, nothing shared."""
    generator = np.random.default_rng(9)
    model, traces = target.model, target.traces
    root = reference.symmetric_root(reference.covariance(model.rho, target.dim))
    latent = generator.standard_normal((count, traces.n_items, target.dim)) @ root
    log_likelihood = np.array([
        relaxed_trace_log_likelihood(u, model.beta, model.gamma, model.tau, traces, model.noise)
        @ traces.counts
        for u in latent
    ])  # fmt: skip
    weights = np.exp(log_likelihood - log_likelihood.max())
    return product_order(latent), weights / weights.sum()


@pytest.mark.parametrize(
    ("dim", "rho", "noise", "top_k"),
    [(2, 0.5, 0.0, False), (2, 0.5, 0.2, False), (1, 0.0, 0.0, True), (4, 0.9, 0.0, True)],
)
def test_moves_alone_draw_the_posterior(dim: int, rho: float, noise: float, top_k: bool) -> None:
    """With fixed scalars the moves reach every latent: no trajectory is needed to be right.

    Six pairs a case, each seen in both orders by some draws, compared at 4.5 standard errors: the
    chance of a false alarm over all cases is below 1e-3.
    """
    traces = some_traces(3, 3, top_k=top_k)
    target = Target(Model(dim=dim, rho=rho, beta=1.0, gamma=2.0, noise=noise), traces)
    orders, weights = posterior_from_the_prior(target, 60_000)
    generator = np.random.default_rng(6)
    rows = rows_of(traces)
    chains = []
    for _ in range(4):
        w = prior_point(target, generator)
        chain = []
        for step in range(3_000):
            w, _ = move_items(rows, target, w, 20, generator)
            if step >= 100:
                chain.append(target.constrain(w).latent)
        chains.append(chain)
    drawn = product_order(np.array(chains).reshape(-1, 3, dim)).reshape(4, -1, 3, 3)
    for i, j in permutations(range(3), 2):
        seen = drawn[:, :, i, j].astype(float)
        expected = weights @ orders[:, i, j]
        exact_error = np.sqrt(weights**2 @ (orders[:, i, j] - expected) ** 2)
        error = np.hypot(seen.std() / np.sqrt(effective_size(seen, by_rank=False)), exact_error)
        assert error < 0.02
        assert abs(seen.mean() - expected) < 4.5 * error, (i, j)


def turns(stretch: list[NDArray], variance: NDArray) -> bool:
    way = variance * (np.sum(stretch, axis=0) - 0.5 * (stretch[0] + stretch[-1]))
    return stretch[0] @ way <= 0.0 or stretch[-1] @ way <= 0.0


def slow_transition(target, x, variance, step_size, max_depth, generator):
    """All leaves kept, all aligned stretches looked at; the same random numbers in the same order.

    Returns the new point, the number of gradients, and why the trajectory ended.
    """
    value, gradient = target.log_density_and_grad(x)
    p = generator.standard_normal(len(x)) / np.sqrt(variance)
    start = 0.5 * p @ (variance * p) - value
    ends = [(x, p, gradient), (x, p, gradient)]
    trajectory = [p]  # in the order of time
    chosen, weight, n_steps = x, 0.0, 0
    for depth in range(max_depth):
        forwards = generator.random() < 0.5
        step = step_size if forwards else -step_size
        here, momentum, slope = ends[forwards]
        leaves, half_weight, half_chosen = [], -np.inf, None
        for leaf in range(2**depth):
            momentum = momentum + 0.5 * step * slope
            here = here + step * variance * momentum
            value, slope = target.log_density_and_grad(here)
            momentum = momentum + 0.5 * step * slope
            n_steps += 1
            error = 0.5 * momentum @ (variance * momentum) - value - start
            if not error < 1000.0:
                return chosen, n_steps, "diverged"
            half_weight = np.logaddexp(half_weight, -error)
            if -generator.standard_exponential() < -error - half_weight:
                half_chosen = here
            leaves.append(momentum)
            length = 2
            while (leaf + 1) % length == 0:
                if turns(leaves[-length:], variance):
                    return chosen, n_steps, f"turned within, {length}"
                length *= 2
        ends[forwards] = (here, momentum, slope)
        if -generator.standard_exponential() < half_weight - weight:
            chosen = half_chosen
        weight = np.logaddexp(weight, half_weight)
        trajectory = trajectory + leaves if forwards else leaves[::-1] + trajectory
        if turns(trajectory, variance):
            return chosen, n_steps, "turned"
    return chosen, n_steps, "saturated"


def test_a_transition_is_that_of_a_slow_one() -> None:
    traces = some_traces(4, 6)
    target = Target(Model(dim=2), traces)
    block = callbacks.pack(target)
    size = target.n_parameters
    variance = np.linspace(0.3, 2.0, size)
    ends = set()
    for seed in range(300):
        point = prior_point(target, np.random.default_rng(seed))
        step = (0.02, 0.1, 0.4, 1.0, 3.0)[seed % 5]
        expected, steps, why = slow_transition(
            target, point, variance, step, 5, np.random.default_rng(seed)
        )
        place = Place(point.copy(), np.empty(size))
        value = callbacks.packed_log_density(block, place.point, place.gradient)
        value, n_steps, diverged, saturated = transition(
            block, place, value, variance, step, 5, np.random.default_rng(seed)
        )
        assert n_steps == steps, why
        assert (diverged, saturated) == (why == "diverged", why == "saturated")
        np.testing.assert_allclose(place.point, expected, rtol=1e-7, atol=1e-9)
        assert value == pytest.approx(target.log_density(place.point))
        ends.add(why)
    assert ends >= {"diverged", "saturated", "turned", "turned within, 2", "turned within, 8"}


def test_transitions_keep_a_gaussian() -> None:
    """Without traces and with fixed scalars the target is N(0, I), whatever the masses say."""
    empty = Traces.from_lists([], items=["a", "b", "c"])
    target = Target(Model(dim=2, rho=0.5, beta=1.0, gamma=1.0), empty)
    block = callbacks.pack(target)
    generator = np.random.default_rng(7)
    variance = np.array([0.2, 0.5, 1.0, 1.0, 2.0, 5.0])
    place = Place(generator.standard_normal(6), np.empty(6))
    log_density = callbacks.packed_log_density(block, place.point, place.gradient)
    kept, steps, saturations = [], 0, 0
    for _ in range(20_000):
        log_density, n_steps, diverged, saturated = transition(
            block, place, log_density, variance, 0.4, 6, generator
        )
        assert not diverged
        steps += n_steps
        saturations += saturated
        kept.append(place.point.copy())
    assert log_density == pytest.approx(target.log_density(place.point), abs=1e-10)
    draws = np.array(kept)
    for column in draws.T:
        thinned = column[:: max(1, round(len(column) / effective_size(column[None])))]
        assert stats.kstest(thinned, "norm").pvalue > 1e-4
        squares = column[None] ** 2
        error = squares.std() / np.sqrt(effective_size(squares, by_rank=False))
        assert abs(squares.mean() - 1.0) < 4.5 * error < 0.2
    assert 3 < steps / len(draws) < 40
    assert saturations == 0


def test_transitions_say_when_they_saturate_and_diverge() -> None:
    target = Target(Model(dim=2), some_traces(4, 6))
    block = callbacks.pack(target)
    generator = np.random.default_rng(8)
    size = target.n_parameters

    def one(step: float, depth: int) -> tuple[float, int, bool, bool]:
        place = Place(prior_point(target, np.random.default_rng(1)), np.empty(size))
        value = callbacks.packed_log_density(block, place.point, place.gradient)
        return transition(block, place, value, np.ones(size), step, depth, generator)

    _, n_steps, diverged, saturated = one(1e-4, 3)
    assert (n_steps, diverged, saturated) == (7, False, True)
    before = target.log_density(prior_point(target, np.random.default_rng(1)))
    log_density, n_steps, diverged, saturated = one(1e4, 3)
    assert (log_density, n_steps, diverged, saturated) == (before, 1, True, False)


def test_nutpie_tells_variances() -> None:
    """What it calls the inverse of the masses: variances, not standard deviations."""
    empty = Traces.from_lists([], items=["a", "b", "c"])
    target = Target(Model(dim=2, rho=0.5, beta=1.0, gamma=1.0), empty)
    scales = np.array([0.1, 0.3, 1.0, 3.0, 10.0, 1.0])
    frame = Gaussian(np.zeros(6), np.diag(scales))
    settings = RelaxedNUTS(draws=4, warmup=400)
    chain = JumpingChain(target, settings, np.zeros(6), 0, 0, frame)
    found, finished = chain._sample(400, 1, Event(), store_mass_matrix=True)
    assert finished
    variance = found["sample_stats"]["mass_matrix_inv"].to_numpy()[0, -1]
    assert (np.abs(np.log(variance * scales**2)) < np.log(2.5)).all()


def test_jumps_draw_the_same_posterior_as_nutpie_alone() -> None:
    """Twelve pairs and four scalars, twice, at 4.5 joint standard errors; a pair that no draw of a
    run has, or all, is compared as in `test_agrees_with_a_random_walk`."""
    traces = some_traces(4, 10)
    quick = {"draws": 1500, "warmup": 300, "chains": 2, **QUICK}
    one = fit(traces, RelaxedNUTS(**quick), Model(dim=2, noise=None), seed=4)
    for masses in ("diagonal", "full-rank"):
        method = RelaxedNUTS(jumps=2, mass_matrix=masses, **quick)
        two = fit(traces, method, Model(dim=2, noise=None), seed=5)
        assert two.status == "ok"
        assert two.draws.n_draws == 1500
        error = np.hypot(one.precedence_se, two.precedence_se)
        apart = np.abs(one.precedence - two.precedence)
        settled = (one.precedence_se == 0.0) | (two.precedence_se == 0.0)
        assert (apart < np.where(settled, 0.005, 4.5 * error)).all()
        assert error.max() < 0.04  # so that a pair 0.2 away cannot pass
        for name in ("rho", "beta", "gamma", "noise"):
            a, b = one.draws.scalars[name], two.draws.scalars[name]
            joint = sum(x.var() / effective_size(x, by_rank=False) for x in (a, b))
            assert abs(a.mean() - b.mean()) < 4.5 * np.sqrt(joint), name


def test_a_draw_comes_with_its_log_density() -> None:
    traces = some_traces(5, 11)
    model = Model(dim=2)
    target = Target(model, traces)
    for masses in ("diagonal", "full-rank"):
        method = RelaxedNUTS(
            draws=20, warmup=40, chains=1, jumps=3, thin=2, mass_matrix=masses, **QUICK
        )
        draws = fit(traces, method, model, seed=1).draws
        for d in range(20):
            scalars = {name: float(draws.scalars[name][0, d]) for name in ("rho", "beta", "gamma")}
            point = target.unconstrain(Parameters(draws.latent[0, d], noise=0.0, **scalars))
            assert draws.statistics["lp"][0, d] == pytest.approx(target.log_density(point))


@pytest.mark.parametrize("masses", ["diagonal", "full-rank"])
def test_a_chain_of_jumps_is_one_of_its_seed(masses: MassMatrix) -> None:
    traces = some_traces(5, 12)
    short = {"draws": 20, "warmup": 30, "jumps": 2, "mass_matrix": masses, **QUICK}
    two = fit(traces, RelaxedNUTS(chains=2, **short), seed=4)
    with ThreadPoolExecutor(2) as pool:
        apart = fit(traces, RelaxedNUTS(chains=2, **short), seed=4, executor=pool)
    np.testing.assert_array_equal(two.draws.latent, apart.draws.latent)
    three = fit(traces, RelaxedNUTS(chains=3, **short), seed=4)
    other = fit(traces, RelaxedNUTS(chains=2, **short), seed=5)
    np.testing.assert_array_equal(two.draws.latent, three.draws.latent[:2])
    assert not np.array_equal(two.draws.latent, other.draws.latent)
    assert (two.settings["jumps"], two.settings["thin"]) == (2, 1)


def test_a_stopped_chain_of_jumps_gives_what_it_drew() -> None:
    settings = RelaxedNUTS(draws=10**6, warmup=30, chains=2, jumps=2, max_seconds=1.0, **QUICK)
    post = fit(some_traces(5, 13), settings)
    assert post.status == "budget_reached"
    assert 0 < post.draws.n_draws < 10**6
    with pytest.raises(SettingError, match="raise max_seconds"):
        fit(some_traces(5, 13), RelaxedNUTS(warmup=10**6, jumps=1, max_seconds=0.1, **QUICK))


def test_a_running_chain_of_jumps_shows_its_draws() -> None:
    target = Target(Model(dim=2), some_traces(5, 14))
    settings = RelaxedNUTS(draws=20_000, warmup=30, jumps=2, **QUICK)
    chain = JumpingChain(target, settings, prior_point(target, np.random.default_rng(1)), 0, 0)
    looked: list[Drawn] = [chain.so_far()]
    assert not run_side_by_side([chain], lambda: looked.append(chain.so_far()))
    assert chain.finished
    assert chain.n_done == chain.total == 20_030
    assert chain.drawn["point"].shape == (20_000, target.n_parameters)
    lengths = [len(early["logp"]) for early in looked]
    assert any(0 < length < 20_000 for length in lengths)
    for early, length in zip(looked, lengths, strict=True):
        for name, values in early.items():
            np.testing.assert_array_equal(values, chain.drawn[name][:length])


def test_many_items_take_all_of_it_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "_FEW_ITEMS", 4)
    method = RelaxedNUTS(draws=60, warmup=100, chains=2)
    post = fit(some_traces(5, 15), method, Model(dim=2), seed=3)
    chosen = {name: post.settings[name] for name in ("thin", "jumps", "mass_matrix")}
    assert chosen == {"thin": 8, "jumps": 30, "mass_matrix": "full-rank"}
    assert set(post.settings["starts"]) == {"hard"}
    assert post.draws.n_draws == 60
    found = post.diagnostics
    assert found["r_hat_max"] < 1.1
    assert 1.0 < found["items_moved_per_draw"] < 8 * 30 * 5
    assert found["gradients"] > 2 * (100 + 8 * 60)


def test_a_warm_up_that_found_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    found = JumpingChain._sample

    def without_scales(chain: JumpingChain, *args: object, **more: object) -> tuple[object, bool]:
        drawn, finished = found(chain, *args, **more)
        drawn["sample_stats"]["mass_matrix_inv"][:] = np.nan
        return drawn, finished

    monkeypatch.setattr(JumpingChain, "_sample", without_scales)
    with pytest.raises(SettingError, match="or turn the moves off with jumps=0"):
        fit(some_traces(5, 12), RelaxedNUTS(draws=4, warmup=20, chains=1, jumps=1, **QUICK))


def test_what_follows_from_the_number_of_items() -> None:
    assert [RelaxedNUTS().thin_of(n) for n in (40, 41)] == [1, 8]
    assert RelaxedNUTS(thin=3).thin_of(41) == 3
    assert RelaxedNUTS().jumps_of(40) == 0
    assert RelaxedNUTS().jumps_of(41) == 30
    assert RelaxedNUTS(jumps=0).jumps_of(41) == 0
    assert RelaxedNUTS(mass_matrix="low-rank").jumps_of(41) == 0
    with pytest.raises(SettingError, match="jumps"):
        RelaxedNUTS(jumps=-1)
    with pytest.raises(SettingError, match="low-rank"):
        RelaxedNUTS(jumps=1, mass_matrix="low-rank")

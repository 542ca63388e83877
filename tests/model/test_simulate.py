"""The simulator: valid traces, the stated probabilities, sizes and coverage."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.model import reference as ref
from tests.strategies import posets

from posetta import Poset, SettingError, read_order, simulate
from posetta.evaluate import ip_cov
from posetta.model import coverage
from posetta.model.simulate import draw_traces
from posetta.rng import child

# a before b and c, d before c, e apart: frontiers of several sizes and successor counts.
ORDER = Poset.from_pairs([("a", "b"), ("a", "c"), ("d", "c")], items=list("abcde"))


def frequencies(order, beta, noise, n_draws, members=None):
    """Return how often every full trace over the members came out."""
    members = np.arange(order.n_items) if members is None else np.array(members)
    drawn = draw_traces(order.closure, beta, noise, [members] * n_draws, child(1, "test"))
    traces, counts = np.unique(np.array(drawn), axis=0, return_counts=True)
    return {tuple(t): c for t, c in zip(traces.tolist(), counts, strict=True)}


def chi_square_p(observed, probability):
    """Return the p-value of counts against {trace: probability}; impossible ones must not occur."""
    assert all(probability[trace] > 0 for trace in observed)
    n = sum(observed.values())
    possible = [t for t, p in probability.items() if p > 0]
    expected = n * np.array([probability[t] for t in possible])
    found = np.array([observed.get(t, 0) for t in possible])
    # Cells with small expectations are pooled, so that the chi-square law holds.
    small = expected < 5
    if small.any():
        expected = np.append(expected[~small], expected[small].sum())
        found = np.append(found[~small], found[small].sum())
    return stats.chisquare(found, expected).pvalue


# -- the law of the traces -------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("beta", [0.0, 1.0, 3.0])
def test_traces_have_the_probabilities_of_the_hard_model(beta, noise):
    probability = {
        trace: np.exp(ref.hard_log_probability(ORDER.closure, beta, noise, trace, range(5)))
        for trace in permutations(range(5))
    }
    assert sum(probability.values()) == pytest.approx(1.0)
    # Six fixed-seed tests: one in a thousand each is a fair alarm.
    assert chi_square_p(frequencies(ORDER, beta, noise, 20_000), probability) > 1e-3


@pytest.mark.parametrize("beta", [0.0, 1.5])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_first_steps_follow_the_frontier_softmax(beta, noise):
    n_draws = 20_000
    found = np.zeros(5)
    for trace, count in frequencies(ORDER, beta, noise, n_draws).items():
        found[trace[0]] += count
    step = ref.hard_step(ORDER.closure, beta, set(range(5)))
    expected = np.array([ref.mix(step[x], noise, range(5)) for x in range(5)])
    possible = expected > 0
    assert possible.sum() == (3 if noise == 0 else 5)
    assert not found[~possible].any()
    assert stats.chisquare(found[possible], n_draws * expected[possible]).pvalue > 1e-3


def test_a_subset_is_an_order_of_its_own_items():
    # Without a, only d before c is left among b, c and d.
    members = [1, 2, 3]
    probability = {
        trace: np.exp(ref.hard_log_probability(ORDER.closure, 1.0, 0.0, trace, members))
        for trace in permutations(members)
    }
    assert chi_square_p(frequencies(ORDER, 1.0, 0.0, 5000, members), probability) > 1e-3


def test_a_huge_beta_always_takes_the_item_with_most_successors():
    # a has two successors, d one, e none; (1 + 2)^10,000 is far beyond floating point.
    for trace in frequencies(ORDER, 1e4, 0.0, 200):
        assert trace[:2] == (0, 3)


def test_any_beta_may_be_simulated():
    sim = simulate(order=ORDER, seed=1, beta=1e4, ip_cov=None)
    assert all(list(trace[:2]) == ["a", "d"] for trace in sim.train)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(posets(min_items=1, max_items=7), st.floats(0, 3), st.integers(0, 1000))
def test_noise_free_traces_are_linear_extensions(order, beta, seed):
    sim = simulate(order=order, beta=beta, seed=seed, n_traces=6, n_test=3)
    assert all(order.is_linear_extension(trace) for trace in (*sim.train, *sim.test))


def test_noise_breaks_the_order_sometimes():
    chain = Poset.from_chain(list("abcdef"))
    sim = simulate(order=chain, seed=1, noise=0.3, ip_cov=None, n_traces=200)
    broken = sum(not chain.respects(trace) for trace in sim.train)
    # A chain survives with probability prod over sizes 6 .. 2 of (0.7 + 0.3 / size).
    kept = np.prod([0.7 + 0.3 / size for size in range(2, 7)])
    assert abs(broken - 200 * (1 - kept)) <= 4 * np.sqrt(200 * kept * (1 - kept))


def test_the_latent_makes_the_order():
    sim = simulate(7, dim=3, rho=0.4, seed=5)
    assert sim.latent.shape == (7, 3)
    assert np.array_equal(sim.order.closure, ref.product_order(sim.latent))


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_latent_columns_correlate_as_asked(rho):
    sim = simulate(4000, dim=2, rho=rho, seed=2, ip_cov=None, n_traces=1, n_test=0, lengths=1)
    found = np.corrcoef(sim.latent.T)[0, 1]
    # The standard error of a correlation is (1 - rho^2) / sqrt(n).
    assert abs(found - rho) <= 4 * (1 - rho**2) / np.sqrt(4000)
    assert abs(sim.latent.std() - 1.0) <= 4 / np.sqrt(4000)


# -- sizes, coverage, lengths ----------------------------------------------------------------------


@pytest.mark.parametrize("n_items", [1, 2, 5, 12])
def test_sizes(n_items):
    for seed in range(3):
        sim = simulate(n_items, seed=seed)
        assert n_items <= len(sim.train) <= 2 * n_items
        assert len(sim.test) == max(1, round(len(sim.train) / 5))
        assert sim.train.items == sim.test.items == sim.order.items
        assert sim.order.n_items == n_items


def test_sizes_that_are_asked_for():
    sim = simulate(6, seed=1, n_traces=3, n_test=0)
    assert (len(sim.train), len(sim.test)) == (3, 0)
    assert len(simulate(6, seed=1, n_traces=40).train) == 40
    assert len(simulate(6, seed=1, ip_cov=None).train) == 6
    assert len(simulate(6, seed=1, ip_cov=0.5, n_traces=9).train) == 9


@pytest.mark.parametrize("target", [1.0, 0.6, None])
@pytest.mark.parametrize("seed", range(3))
def test_ip_cov_is_that_of_the_training_traces(seed, target):
    sim = simulate(9, seed=seed, ip_cov=target, lengths=(4, 9))
    assert sim.ip_cov == ip_cov(sim.train, sim.order)


@pytest.mark.parametrize(
    ("n_items", "target"), [(10, 0.5), (10, 0.7), (10, 0.9), (30, 0.7), (30, 0.9)]
)
def test_a_target_below_one_is_met(n_items, target):
    for seed in range(3):
        sim = simulate(n_items, seed=seed, ip_cov=target)
        n_pairs = n_items * (n_items - 1) // 2 - sim.order.closure.sum()
        # To the nearest pair: the last choice has many draws to pick from.
        assert abs(sim.ip_cov - target) <= 1.0 / n_pairs
        assert len(sim.train) == n_items


@pytest.mark.parametrize("n_items", [1, 5, 64, 65, 130])
def test_new_directions_against_a_plain_count(n_items):
    generator = np.random.default_rng(n_items)
    wanted = np.triu(generator.random((n_items, n_items)) < 0.7, k=1)
    wanted = wanted | wanted.T
    bits = (coverage._as_bits(wanted), coverage._as_bits(wanted))
    for size in generator.integers(1, n_items, size=6, endpoint=True):
        row = generator.permutation(n_items)[:size]
        shown = [(i, j) for k, i in enumerate(row) for j in row[k + 1 :] if wanted[i, j]]
        completed = sum(not wanted[j, i] for i, j in shown)
        assert coverage._new_directions(row, *bits, False) == (len(shown), completed)
        assert coverage._new_directions(row, *bits, True) == (len(shown), completed)
        for pair in shown:
            wanted[pair] = False
        np.testing.assert_array_equal(bits[0], coverage._as_bits(wanted))
        np.testing.assert_array_equal(bits[1], coverage._as_bits(wanted.T))


def test_another_pool_is_drawn_while_pairs_are_unseen(monkeypatch):
    asked = []

    def pool(k):
        asked.append(k)
        return [np.array([0, 1, 2])] * 5 if k == 0 else [np.array([2, 1, 0])] * 5

    free = Poset.antichain(["a", "b", "c"])
    rows = coverage.choose_for_coverage(free, pool, 3, 6, 1.0)
    assert asked == [0, 1]
    assert sorted(map(tuple, rows)) == [(0, 1, 2), (0, 1, 2), (2, 1, 0)]
    # No further pool when the traces are used up, and never more than three.
    asked.clear()
    coverage.choose_for_coverage(free, pool, 1, 1, 1.0)
    assert asked == [0]
    asked.clear()
    coverage.choose_for_coverage(free, lambda k: asked.append(k) or pool(0)[:2], 2, 6, 1.0)
    assert [k for k in asked if k > 0] == [1, 2]
    monkeypatch.setattr(coverage, "_MOST_ITEMS_FOR_POOLS", 2)
    asked.clear()
    coverage.choose_for_coverage(free, pool, 3, 6, 1.0)
    assert asked == [0]


@pytest.mark.parametrize("seed", range(5))
def test_greedy_traces_cover_at_least_as_much_as_independent_ones(seed):
    greedy = simulate(15, seed=seed, n_traces=6)
    independent = simulate(15, seed=seed, n_traces=6, ip_cov=None)
    assert greedy.order == independent.order
    assert greedy.ip_cov >= independent.ip_cov
    assert greedy.ip_cov > 0.5


def test_greedy_choice_takes_the_most_new_pairs_each_time():
    # Against a plain greedy over the same candidates, without the queue of old gains.
    sim = simulate(8, seed=4, n_traces=4)
    closure = sim.order.closure
    pool = draw_traces(closure, 1.0, 0.0, [np.arange(8)] * 4000, child(4, "train"))
    wanted = {(i, j) for i, j in permutations(range(8), 2) if not closure[i, j] | closure[j, i]}

    def gain(trace):
        return len(wanted & {(i, j) for k, i in enumerate(trace) for j in trace[k + 1 :]})

    candidates = [row.tolist() for row in pool[:4000]]
    for trace in sim.train:
        row = [sim.order.items.index(label) for label in trace]
        assert row in candidates
        assert gain(row) == max(map(gain, candidates))
        wanted -= {(i, j) for k, i in enumerate(row) for j in row[k + 1 :]}


def test_independent_traces_do_not_depend_on_coverage():
    # Half of the traces of two free items start with either, whatever has been shown.
    sim = simulate(order=Poset.antichain(["a", "b"]), seed=1, ip_cov=None, n_traces=400)
    first = sum(trace[0] == "a" for trace in sim.train)
    assert abs(first - 200) <= 4 * np.sqrt(100)


@pytest.mark.parametrize(
    ("lengths", "allowed"), [(3, {3}), (0.5, {4}), (1.0, {8}), ((2, 5), {2, 3, 4, 5})]
)
def test_lengths(lengths, allowed):
    sim = simulate(8, seed=2, lengths=lengths, n_traces=60, ip_cov=None)
    assert {len(trace) for trace in sim.train} == allowed
    assert all(sim.order.respects(trace) for trace in sim.train)
    assert set().union(*sim.train) == set(sim.order.items)


def test_subsets_are_uniform():
    sim = simulate(order=Poset.antichain(list("abcd")), seed=3, lengths=2, n_traces=600,
                   ip_cov=None)  # fmt: skip
    found = {}
    for trace in sim.train:
        found[tuple(sorted(trace))] = found.get(tuple(sorted(trace)), 0) + 1
    assert len(found) == 6
    assert stats.chisquare(list(found.values())).pvalue > 1e-3


# -- given orders, seeds, bad settings -------------------------------------------------------------


def test_a_given_order_is_kept():
    sim = simulate(order=ORDER, seed=1, beta=2.0, noise=0.1)
    assert sim.order is ORDER
    assert sim.latent is None
    assert (sim.beta, sim.noise) == (2.0, 0.1)


def test_the_same_seed_gives_the_same_data():
    one, two, other = (simulate(10, seed=seed, lengths=(3, 8)) for seed in (6, 6, 7))
    assert one.order == two.order
    assert list(one.train) == list(two.train)
    assert list(one.test) == list(two.test)
    assert list(one.train) != list(other.train)


def test_the_order_does_not_depend_on_how_traces_are_drawn():
    one, two = simulate(10, seed=6), simulate(10, seed=6, beta=3.0, n_traces=4, ip_cov=None)
    assert one.order == two.order


def test_training_and_test_traces_are_different_draws():
    sim = simulate(12, seed=6, ip_cov=None, n_traces=10, n_test=10)
    assert list(sim.train) != list(sim.test)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_items": None}, "n_items=None"),
        ({"n_items": 0}, "n_items=0"),
        ({"n_items": 2.5}, r"n_items=2\.5"),
        ({"dim": 0}, "dim=0"),
        ({"rho": 1.0}, r"rho=1\.0 must lie in \[0, 1\)"),
        ({"rho": -0.1}, "rho=-0"),
        ({"beta": -1.0}, "beta=-1"),
        ({"beta": float("nan")}, "beta=nan"),
        ({"noise": 1.0}, r"noise=1\.0"),
        ({"ip_cov": 1.5}, r"ip_cov=1\.5"),
        ({"n_traces": 0}, "n_traces=0"),
        ({"n_test": -1}, "n_test=-1"),
        ({"lengths": 0}, "lengths=0"),
        ({"lengths": 6}, r"lengths=6 must lie in 1 \.\. 5"),
        ({"lengths": 0.0}, r"lengths=0\.0 as a fraction"),
        ({"lengths": (4, 2)}, r"lengths=\(4, 2\)"),
        ({"lengths": [2, 4]}, "a range"),
        ({"lengths": (2.0, 4.0)}, "a range"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 1.5}, r"seed=1\.5"),
        ({"seed": "1"}, "seed='1'"),
        ({"seed": True}, "seed=True"),
        ({"seed": None}, "seed=None"),
        ({"n_items": "5"}, "n_items='5'"),
        ({"n_traces": True}, "n_traces=True"),
        ({"n_traces": 2.0}, r"n_traces=2\.0"),
        ({"n_test": 2.5}, r"n_test=2\.5 must be a whole number from 0"),
        ({"n_test": "2"}, "n_test='2'"),
        ({"dim": "random"}, "dim='random'"),
        ({"rho": "0.5"}, r"rho='0\.5' is not a number"),
        ({"rho": True}, "rho=True"),
        ({"rho": float("nan")}, "rho=nan"),
        ({"beta": "1"}, "beta='1'"),
        ({"beta": None}, "beta=None"),
        ({"noise": [0.1]}, r"noise=\[0\.1\]"),
        ({"ip_cov": "high"}, "ip_cov='high'"),
        ({"lengths": "all"}, "lengths='all'"),
        ({"lengths": True}, "lengths=True"),
        ({"n_items": None, "order": "a<b"}, "order='a<b' is not a Poset"),
    ],
)
def test_settings_out_of_range(changes, message):
    with pytest.raises(SettingError, match=message):
        simulate(**{"n_items": 5, "seed": 1, **changes})


@pytest.mark.parametrize("ignored", [{"n_items": 5}, {"dim": 3}, {"rho": 0.5}])
def test_settings_that_a_given_order_would_ignore(ignored):
    with pytest.raises(SettingError, match="drop them"):
        simulate(order=ORDER, seed=1, **ignored)


# -- a real workflow -------------------------------------------------------------------------------


def test_a_workflow_of_a_thousand_tasks(shared_data):
    files = sorted((shared_data / "wfcommons").glob("*.order.json"))
    order = max((read_order(file) for file in files), key=lambda o: o.n_items)
    assert order.n_items == 1066
    sim = simulate(order=order, seed=1, ip_cov=None, n_traces=20)
    assert len(sim.train) == 20
    assert len({tuple(trace) for trace in sim.train}) == 20
    assert all(order.is_linear_extension(trace) for trace in (*sim.train, *sim.test))

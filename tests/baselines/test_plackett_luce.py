"""The Plackett-Luce baseline: Gibbs steps, exact small posteriors, calibration, the result."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.model import reference as ref

from posetta import InputError, PlackettLuce, Poset, SettingError, Traces, evaluate, fit, load, save
from posetta.baselines import gibbs
from posetta.baselines.plackett_luce import ChainRun, _advance_all, _posterior, relabelled, run
from posetta.baselines.remainders import remainders_of
from posetta.infer.progress import silent
from posetta.model import Model, plackett_luce_pairs, plackett_luce_trace_log_likelihood
from posetta.posterior import merge
from posetta.posterior.diagnostics import effective_size
from posetta.posterior.support_pairs import support_pairs

quick = settings(derandomize=True, deadline=None, max_examples=100)

MIXED = Traces.from_lists(
    [list("abc"), list("cab"), ["b", "a"], ["c"]],
    items=list("abc"),
    counts=[4, 3, 2, 1],
    choice_sets=[None, None, None, list("abc")],
)


def agrees(draws, expected):
    """Whether the mean of (chain, draw) lies within four standard errors of ``expected``."""
    error = draws.std() / np.sqrt(effective_size(draws, by_rank=False))
    return abs(draws.mean() - expected) < 4.0 * error


# -- the forest of remainders ----------------------------------------------------------------------


@quick
@given(st.integers(1, 6).flatmap(ref.observations))
def test_every_step_points_at_its_remainder(traces):
    forest = remainders_of(traces)
    held = []  # the items of every node
    for item, parent in zip(forest.item, forest.parent, strict=True):
        assert parent < len(held)
        held.append({int(item)} | (held[parent] if parent >= 0 else set()))
    assert len(set(map(frozenset, held))) == len(held)
    for r, (listed, choice_set, count) in enumerate(ref.rows(traces)):
        steps = slice(forest.offsets[r], forest.offsets[r + 1])
        choices = [(x, left) for x, left in ref.remainders(listed, choice_set) if len(left) > 1]
        assert forest.step_item[steps].tolist() == [x for x, _ in choices]
        assert [held[k] for k in forest.step_node[steps]] == [left for _, left in choices]
        assert forest.counts[r] == count


# -- conditional means at known parameters ---------------------------------------------------------

SUPPORTS = np.array([[0.5, 2.0, 1.0], [3.0, 0.2, 0.7]])
WEIGHTS = np.array([0.3, 0.7])
REPEATS = 20_000


def row_probabilities(traces, supports):
    return np.stack(
        [np.exp(plackett_luce_trace_log_likelihood(np.log(w)[:, None], traces)) for w in supports],
        axis=1,
    )


def within_errors(sample, expected):
    """Whether all means over axis 0 lie within four and a half standard errors of ``expected``."""
    error = sample.std(axis=0) / np.sqrt(len(sample))
    return np.all(np.abs(sample.mean(axis=0) - expected) <= 4.5 * error + 1e-12)


def test_row_log_likelihoods_are_those_of_the_model():
    values = np.empty((MIXED.n_unique, 2))
    gibbs.row_log_likelihoods(remainders_of(MIXED), SUPPORTS, values)
    np.testing.assert_allclose(np.exp(values), row_probabilities(MIXED, SUPPORTS), rtol=1e-12)


def test_labels_of_identical_rows_are_a_multinomial_split():
    forest = remainders_of(MIXED)
    joint = WEIGHTS * row_probabilities(MIXED, SUPPORTS)
    share = joint / joint.sum(axis=1, keepdims=True)
    values = np.log(row_probabilities(MIXED, SUPPORTS))
    generator = np.random.default_rng(1)
    sample = np.empty((REPEATS, *share.shape), dtype=np.int64)
    for s in range(REPEATS):
        gibbs.split_rows(forest, values, WEIGHTS, sample[s], generator)
    counts = MIXED.counts[:, None]
    assert np.all(sample.sum(axis=2) == MIXED.counts)
    assert within_errors(sample, counts * share)
    # Second moments too: a split of 4 copies as one block would have the same mean.
    variance = counts * share * (1.0 - share)
    assert within_errors((sample - counts * share) ** 2, variance)


def test_a_split_among_three_components():
    traces = Traces.from_lists([["a", "b"], ["b", "a"]], counts=[7, 1])
    values = np.log([[0.5, 0.2, 0.9], [0.5, 0.8, 0.1]])
    weights = np.array([0.2, 0.5, 0.3])
    joint = weights * np.exp(values)
    expected = np.array([[7], [1]]) * joint / joint.sum(axis=1, keepdims=True)
    sample = np.empty((REPEATS, 2, 3), dtype=np.int64)
    generator = np.random.default_rng(2)
    for s in range(REPEATS):
        gibbs.split_rows(remainders_of(traces), values, weights, sample[s], generator)
    assert within_errors(sample, expected)


def test_choices_exposure_supports_and_weights():
    forest = remainders_of(MIXED)
    split = np.array([[3, 1], [0, 3], [2, 0], [1, 0]])
    chosen = np.empty((2, 3), dtype=np.int64)
    from_node = np.empty((2, len(forest.item)), dtype=np.int64)
    gibbs.count_choices(forest, split, chosen, from_node)
    # Choices among two or more: abc chooses a then b, cab c then a, ba b, the top-1 list c.
    assert chosen.tolist() == [[3, 3 + 2, 1], [1 + 3, 1, 3]]
    w = SUPPORTS[0]
    exposure_mean = np.zeros(3)
    for (listed, choice_set, _), copies in zip(ref.rows(MIXED), split[:, 0], strict=True):
        for _, left in ref.remainders(listed, choice_set):
            if len(left) > 1:
                exposure_mean[list(left)] += copies / w[list(left)].sum()
    generator = np.random.default_rng(3)
    work, exposure = np.empty(len(forest.item)), np.empty((REPEATS, 3))
    for s in range(REPEATS):
        gibbs.draw_exposure(forest, w, from_node[0], work, exposure[s], generator)
    assert within_errors(exposure, exposure_mean)

    drawn = np.empty((REPEATS, 3))
    for s in range(REPEATS):
        gibbs.draw_supports(drawn[s], chosen[0], exposure_mean, 1.5, 2.0, generator)
    assert within_errors(drawn, (1.5 + chosen[0]) / (2.0 + exposure_mean))

    ratios = drawn / drawn.sum(axis=1, keepdims=True)
    for s in range(REPEATS):
        gibbs.draw_scale(drawn[s], 1.5, 2.0, generator)
    np.testing.assert_allclose(drawn / drawn.sum(axis=1, keepdims=True), ratios)
    assert within_errors(drawn.sum(axis=1), 3 * 1.5 / 2.0)

    weights = np.empty((REPEATS, 2))
    for s in range(REPEATS):
        gibbs.draw_weights(weights[s], split, 0.5, generator)
    assert within_errors(weights, np.array([6.5, 4.5]) / 11.0)


# -- exact small cases -----------------------------------------------------------------------------

LONG = {"draws": 4000, "warmup": 500, "chains": 2, "thin": 2}


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.0])
def test_two_items_are_a_beta_posterior(shape):
    traces = Traces.from_lists([["a", "b"], ["b", "a"]], counts=[7, 2])
    posterior = fit(traces, PlackettLuce(shape=shape, **LONG), seed=1)
    pair = plackett_luce_pairs(posterior.draws.latent, 0)[:, :, 1]
    exact = stats.beta(shape + 7, shape + 2)
    assert agrees(pair, exact.mean())
    assert agrees((pair - exact.mean()) ** 2, exact.var())
    assert posterior.probability("a", "b") == pytest.approx(pair.mean())


def simplex_grid(n=400):
    """Midpoints of a grid on the simplex of three supports."""
    x = (np.arange(n) + 0.5) / n
    a, b = np.meshgrid(x, x, indexing="ij")
    # a is the first support, b the second's share of the rest: d(p1, p2) = (1 - a) da db.
    p = np.stack([a, (1 - a) * b, (1 - a) * (1 - b)], axis=-1).reshape(-1, 3)
    return p, (1 - p[:, 0])


def test_three_items_by_integration():
    p, volume = simplex_grid()
    likelihood = np.ones(len(p))
    for listed, choice_set, count in ref.rows(MIXED):
        for x, left in ref.remainders(listed, choice_set):
            likelihood *= (p[:, x] / p[:, list(left)].sum(axis=1)) ** count
    density = stats.dirichlet([2.0, 2.0, 2.0]).pdf(p.T / p.sum(axis=1)) * volume * likelihood
    density /= density.sum()
    posterior = fit(MIXED, PlackettLuce(shape=2.0, **LONG), seed=2)
    share = np.exp(posterior.draws.latent[..., 0])
    for i in range(3):
        assert agrees(share[:, :, i], density @ p[:, i])
        pairs = plackett_luce_pairs(posterior.draws.latent, i)
        for j in range(3):
            if i != j:
                assert agrees(pairs[:, :, j], density @ (p[:, i] / (p[:, i] + p[:, j])))
    squares = share[:, :, 0] * share[:, :, 1]
    assert agrees(squares, density @ (p[:, 0] * p[:, 1]))


def test_a_mixture_of_two_by_integration():
    # omega, p_1 and p_2 (the support of a in each component) are all uniform.
    traces = Traces.from_lists([["a", "b"], ["b", "a"]], counts=[6, 1])
    x = (np.arange(120) + 0.5) / 120
    omega, p1, p2 = (v.ravel() for v in np.meshgrid(x, x, x, indexing="ij"))
    mixed = omega * p1 + (1 - omega) * p2
    density = mixed**6 * (1 - mixed)
    density /= density.sum()
    posterior = fit(traces, PlackettLuce(components=2, **LONG), seed=3)
    weight = np.exp(posterior.draws.latent).sum(axis=2)
    share = np.exp(posterior.draws.latent) / weight[:, :, None]
    pair = plackett_luce_pairs(posterior.draws.latent, 0)[:, :, 1]
    assert agrees(pair, density @ mixed)
    assert agrees(pair**2, density @ mixed**2)
    assert agrees((weight**2).sum(axis=2), density @ (omega**2 + (1 - omega) ** 2))
    assert agrees((share[:, :, 0] ** 2).sum(axis=2), density @ (p1**2 + p2**2))
    # p(list) summed over components, whatever the labels.
    assert agrees(np.exp(posterior.draws.log_likelihood[:, :, 0]), density @ mixed)


@pytest.mark.parametrize("components", [1, 2])
def test_calibration(components):
    """Ranks of the truth among draws are uniform when data come from the prior predictive."""
    n_items, n_lists, n_kept, n_data = 4, 6, 31, 200
    generator = np.random.default_rng(components)
    settings = PlackettLuce(components=components, draws=n_kept, warmup=100, thin=8, shape=1.2)
    ranks = np.zeros((n_data, 3), dtype=int)
    for k in range(n_data):
        supports = generator.gamma(1.2, 1.0, (components, n_items))
        weights = generator.dirichlet(np.ones(components))
        traces = random_lists(generator, supports, weights, n_lists)
        truth = (
            np.log(supports / supports.sum(axis=1, keepdims=True)) + np.log(weights)[:, None]
        ).T
        chain = ChainRun(remainders_of(traces), settings, k, 0)
        while chain.done < chain.total:
            chain.advance()
        of_truth, of_draws = (
            invariants(np.asarray(x), traces) for x in ([truth], chain.log_support)
        )
        ranks[k] = (of_draws < of_truth).sum(axis=0)
    for quantity in ranks.T:
        observed = np.bincount(quantity * 8 // (n_kept + 1), minlength=8)
        assert stats.chisquare(observed).pvalue > 1e-3


def random_lists(generator, supports, weights, n_lists):
    """Draw lists over random choice sets, some of them cut after two steps."""
    labels = np.array(list("abcdefgh"))[: supports.shape[1]]
    lists, choice_sets = [], []
    for _ in range(n_lists):
        w = supports[generator.choice(len(weights), p=weights)]
        left = list(generator.permutation(len(w))[: generator.integers(2, len(w) + 1)])
        choice_sets.append(labels[left].tolist())
        listed = []
        for _ in range(generator.choice([2, len(left)])):
            at = generator.choice(len(left), p=w[left] / w[left].sum())
            listed.append(str(labels[left.pop(at)]))
        lists.append(listed)
    return Traces.from_lists(lists, items=labels.tolist(), choice_sets=choice_sets)


def invariants(log_support, traces):
    """Return quantities of each draw that no labels enter."""
    pair = plackett_luce_pairs(log_support, 0)[:, 1]
    log_likelihood = [plackett_luce_trace_log_likelihood(u, traces).sum() for u in log_support]
    largest = np.exp(log_support).sum(axis=2).max(axis=1)
    if log_support.shape[2] == 1:  # the weight is 1; take the first item's share instead
        largest = np.exp(log_support[:, 0, 0])
    return np.stack([pair, log_likelihood, largest], axis=1)


# -- the result ------------------------------------------------------------------------------------

SHORT = {"draws": 100, "warmup": 50, "chains": 2, "thin": 1}


@pytest.fixture(scope="module", params=[1, 2])
def posterior(request):
    return fit(MIXED, PlackettLuce(components=request.param, **SHORT), seed=5)


def test_draws_hold_what_the_model_says(posterior):
    latent = posterior.draws.latent.reshape(-1, *posterior.draws.latent.shape[2:])
    log_likelihood = np.stack([plackett_luce_trace_log_likelihood(u, MIXED) for u in latent])
    recorded = posterior.draws.log_likelihood.reshape(len(latent), -1)
    np.testing.assert_allclose(recorded, log_likelihood, atol=1e-10)
    np.testing.assert_allclose(np.exp(latent).sum(axis=(1, 2)), 1.0)
    pairs = np.stack([plackett_luce_pairs(latent, i).mean(axis=0) for i in range(3)])
    np.fill_diagonal(pairs, 0.0)
    np.testing.assert_allclose(posterior.precedence, pairs)
    np.testing.assert_allclose(posterior.incomparable, 0.0, atol=1e-12)
    for order, u in zip(posterior.orders(), latent, strict=True):
        agreed = (u[:, None] > u[None]).all(axis=2)
        assert order == Poset.from_closure(agreed, posterior.items)


def test_scores_average_lists_and_steps_over_draws(posterior):
    test = Traces.from_lists([list("bac"), ["c", "a"]], items=list("abc"), counts=[2, 1])
    latent = posterior.draws.latent.reshape(-1, *posterior.draws.latent.shape[2:])
    lists = np.stack([np.exp(plackett_luce_trace_log_likelihood(u, test)) for u in latent])
    expected = -np.average(np.log(lists.mean(axis=0)), weights=test.counts)
    assert float(evaluate.trace_nll(posterior, test)) == pytest.approx(expected)
    steps = []
    for row, weight in (("bac", 2), ("ca", 1)):
        for t in range(len(row)):
            choice_sets = [set(row)] * 2
            here, before = (
                Traces.from_lists([list(part)], items=list("abc"), choice_sets=choice_sets[:1])
                if part
                else None
                for part in (row[: t + 1], row[:t])
            )
            p = np.array([np.exp(plackett_luce_trace_log_likelihood(u, here)[0]) for u in latent])
            if before is not None:
                p /= [np.exp(plackett_luce_trace_log_likelihood(u, before)[0]) for u in latent]
            steps += [-np.log(p.mean())] * weight
    assert float(evaluate.step_nll(posterior, test)) == pytest.approx(np.mean(steps))
    waic = evaluate.waic(posterior, MIXED)
    recorded = posterior.draws.log_likelihood.reshape(len(latent), -1)
    p_waic = MIXED.counts @ recorded.var(axis=0, ddof=1)
    assert waic.p_waic == pytest.approx(p_waic)
    assert not any("noise 0" in warning for warning in waic.warnings)


def test_saved_and_loaded(posterior, tmp_path):
    save(posterior, tmp_path / "result")
    loaded = load(tmp_path / "result")
    assert loaded.likelihood == "plackett-luce"
    np.testing.assert_array_equal(loaded.draws.latent, posterior.draws.latent)
    assert float(evaluate.trace_nll(loaded, MIXED)) == float(evaluate.trace_nll(posterior, MIXED))
    assert loaded.diagnostics["components"] == posterior.diagnostics["components"]


def test_the_hard_yardstick_is_refused(posterior):
    with pytest.raises(InputError, match="likelihood='own'"):
        evaluate.trace_nll(posterior, MIXED, likelihood="hard")


def test_errors_and_merging_go_by_the_pair_probabilities(posterior):
    other = fit(MIXED, PlackettLuce(**{**posterior.settings, "draws": 100}), seed=6)
    merged = merge([posterior, other])
    np.testing.assert_allclose(merged.precedence, (posterior.precedence + other.precedence) / 2)
    pair = plackett_luce_pairs(posterior.draws.latent, 0)[:, :, 1]
    error = pair.std(ddof=1) / np.sqrt(effective_size(pair, by_rank=False))
    assert posterior.precedence_se[0, 1] == pytest.approx(error)
    assert not posterior.precedence_se.diagonal().any()
    # The diagnostics of the whole are those of the pair probabilities too, not of the closures.
    assert merged.diagnostics["pair_mcse_max"] == pytest.approx(merged.precedence_se.max())
    assert merged.diagnostics["chain_mae_max"] == pytest.approx(
        max(
            np.abs(a - b).sum() / 6
            for a, b in combinations(support_pairs(merged.draws.latent).by_chain, 2)
        )
    )
    alone = support_pairs(posterior.draws.latent).diagnostics
    assert {name: posterior.diagnostics[name] for name in alone} == alone


def test_two_groups_are_told_apart():
    traces = Traces.from_lists([list("abcd"), list("dcba"), list("abdc")], counts=[60, 30, 30])
    posterior = fit(traces, PlackettLuce(components=2, draws=1000, warmup=200, chains=2), seed=4)
    assert posterior.status == "ok"
    large, small = posterior.diagnostics["components"]
    assert large["weight"] == pytest.approx(0.75, abs=0.05)
    assert np.argmax(large["support"]) == 0
    assert np.argmax(small["support"]) == 3
    single = fit(traces, PlackettLuce(draws=300, warmup=200, chains=2), seed=4)
    assert evaluate.waic(posterior, traces).waic < evaluate.waic(single, traces).waic - 100
    assert single.decode().n_relations == 6


def test_relabelling_undoes_any_permutation():
    generator = np.random.default_rng(6)
    centre = np.log([[0.4, 0.03, 0.02], [0.1, 0.02, 0.1], [0.1, 0.2, 0.03]])
    draws = centre + 0.1 * generator.standard_normal((2, 50, 3, 3))
    log_posterior = generator.standard_normal((2, 50))
    shuffled = np.stack([[draw[:, generator.permutation(3)] for draw in chain] for chain in draws])
    np.testing.assert_array_equal(relabelled(shuffled, log_posterior), draws)


def test_the_rate_changes_nothing():
    one, two = (fit(MIXED, PlackettLuce(rate=rate, **SHORT), seed=9) for rate in (1.0, 0.001))
    np.testing.assert_allclose(one.draws.latent, two.draws.latent, rtol=1e-9)


def test_a_chain_is_the_same_beside_others():
    few, many = (
        fit(MIXED, PlackettLuce(draws=20, warmup=5, chains=chains, thin=1), seed=8)
        for chains in (2, 3)
    )
    np.testing.assert_array_equal(few.draws.latent, many.draws.latent[:2])


def test_time_and_interrupts_give_back_what_was_drawn():
    endless = {"draws": 10**8, "warmup": 10, "chains": 2, "thin": 1}
    timed = fit(MIXED, PlackettLuce(max_seconds=0.3, **endless), seed=1)
    assert timed.status == "budget_reached"
    assert timed.draws.n_draws > 10
    assert any("max_seconds" in warning for warning in timed.warnings)

    def interrupt(share, words):
        raise KeyboardInterrupt

    stopped = run(MIXED, Model(), PlackettLuce(**endless), 1, interrupt)
    assert stopped.status == "budget_reached"
    assert any("Let it run to its end" in warning for warning in stopped.warnings)
    with pytest.raises(SettingError, match=r"Let it run on, raise max_seconds .* lower warmup"):
        fit(MIXED, PlackettLuce(max_seconds=0.05, warmup=10**8), seed=1)


def test_draws_of_chains_that_came_further_are_counted():
    settings = PlackettLuce(draws=20, warmup=0, chains=2, thin=1)
    chains = [ChainRun(remainders_of(MIXED), settings, 1, number) for number in range(2)]
    for chain, draws in zip(chains, (12, 9), strict=True):
        for _ in range(draws):
            chain.advance()
    seconds = {"compile": 0.0, "run": 1.0}
    found = _posterior(MIXED, Model(), settings, 1, chains, True, seconds)
    assert found.draws.n_draws == 9
    assert found.warnings[-1].endswith("length: 3 draws of the longer ones are left out.")


class Walker:
    """A chain that does nothing but count, slowly."""

    total = 300

    def __init__(self, *, fails):
        self.fails, self.done, self.log_support = fails, 0, []

    def advance(self):
        if self.fails:
            raise ZeroDivisionError
        time.sleep(0.01)
        self.done += 1


def test_an_error_in_one_chain_stops_the_others():
    good, bad = Walker(fails=False), Walker(fails=True)
    with pytest.raises(ZeroDivisionError):
        _advance_all([good, bad], np.inf, silent)
    assert good.done < good.total


def test_chains_that_disagree_are_reported():
    traces = Traces.from_lists([list("abcd"), list("dcba")], counts=[500, 400])
    brief = PlackettLuce(draws=10, warmup=0, chains=2, thin=1)
    posterior = fit(traces, brief, seed=1)
    assert posterior.status == "unmixed"
    assert any("Raise warmup and thin" in warning for warning in posterior.warnings)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PlackettLuce(components=0), "components=0 must be a whole number from 1"),
        (lambda: PlackettLuce(shape=0.05), r"shape=0\.05 must be a number from 0\.1"),
        (lambda: PlackettLuce(shape=float("nan")), "shape=nan"),
        (lambda: PlackettLuce(rate=0.0), r"rate=0\.0 must be greater than 0"),
        (lambda: PlackettLuce(weight=-1.0), r"weight=-1\.0 must be greater than 0"),
        (lambda: PlackettLuce(draws=3), "draws=3 must be a whole number from 4"),
    ],
)
def test_settings_out_of_range(build, message):
    with pytest.raises(SettingError, match=message):
        build()

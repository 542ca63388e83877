"""The oracle, against enumeration, direct simulation and slow integration of its own posterior."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from tests.model import reference as ref

from posetta.data import Traces
from posetta.errors import InputError
from posetta.infer.all_orders import all_orders
from posetta.infer.column_rankings import class_probabilities, ranking_probabilities
from posetta.infer.exact import exact_posterior, run
from posetta.infer.exact_prior import _simulate_factors, _simulate_latents
from posetta.infer.methods import Exact
from posetta.infer.quadrature import Grid
from posetta.model import Model, hard_log_likelihood
from posetta.model.simulate import draw_traces
from posetta.rng import child

ITEMS = list("abcde")

# Subset traces, counts, and a list of two chosen from three. Only c can have items before it.
MIXED = {
    "lists": [["a", "b", "c"], ["b", "a", "c"], ["b", "a"], ["a", "c"]],
    "counts": [2, 1, 1, 3],
    "choice_sets": [None, None, ["a", "b", "c"], None],
}


def mixed_traces(n_items=3):
    return Traces.from_lists(items=ITEMS[:n_items], **MIXED)


def no_traces(n_items):
    return Traces.from_lists([], items=ITEMS[:n_items])


# -- enumeration -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_items", "n_orders", "n_classes"),
    [(1, 1, 1), (2, 3, 2), (3, 19, 5), (4, 219, 16), (5, 4231, 63)],  # OEIS A001035, A000112
)
def test_all_orders_are_enumerated_once(n_items, n_orders, n_classes):
    orders = all_orders(n_items)
    closures = orders.closures
    assert len(closures) == n_orders
    assert orders.n_classes == n_classes
    assert len({c.tobytes() for c in closures}) == n_orders
    assert not closures.diagonal(axis1=1, axis2=2).any()
    paths = closures.astype(int) @ closures.astype(int) > 0
    assert not (paths & ~closures).any()


@pytest.mark.parametrize("n_items", [3, 4])
def test_classes_are_the_orbits_of_relabelling(n_items):
    orders = all_orders(n_items)
    orbits = {}
    for closure, label in zip(orders.closures, orders.class_of, strict=True):
        relabelled = (closure[np.ix_(p, p)].tobytes() for p in permutations(range(n_items)))
        orbits.setdefault(min(relabelled), set()).add(label)
    assert all(len(labels) == 1 for labels in orbits.values())
    assert len(orbits) == orders.n_classes


def test_more_than_five_items_are_refused_with_a_way_out():
    with pytest.raises(InputError, match=r"1 to 5 items; these are 6.*[Uu]se method="):
        exact_posterior(Traces.from_lists([list("abcdef")]), Model())


# -- the prior -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_items", "dim", "rho"), [(3, 3, None), (4, 2, 0.6)])
def test_prior_weights_match_unpooled_simulation(n_items, dim, rho):
    n_draws = 100_000
    exact = exact_posterior(
        no_traces(n_items), Model(dim=dim, rho=rho), prior_draws=n_draws, seed=1
    )
    generator = np.random.default_rng(2)
    rhos = generator.beta(2, 2, n_draws) if rho is None else np.full(n_draws, rho)
    # A shared normal gives every pair of columns the covariance rho.
    shared = generator.standard_normal((n_draws, n_items, 1))
    own = generator.standard_normal((n_draws, n_items, dim))
    latent = np.sqrt(rhos)[:, None, None] * shared + np.sqrt(1 - rhos)[:, None, None] * own
    simulated = (latent[:, :, None, :] > latent[:, None, :, :]).all(axis=3)
    codes, counts = np.unique(np.packbits(simulated.reshape(n_draws, -1), axis=1), axis=0,
                              return_counts=True)  # fmt: skip
    count_of = {code.tobytes(): count for code, count in zip(codes, counts, strict=True)}
    keys = [np.packbits(c.reshape(-1)).tobytes() for c in exact.orders.closures]
    frequency = np.array([count_of.get(key, 0) for key in keys]) / n_draws
    assert frequency.sum() == pytest.approx(1.0)
    # Both sides have at most the binomial error of n_draws; 219 orders at most: five of them.
    error = np.sqrt(2 * exact.probability * (1 - exact.probability) / n_draws)
    assert np.all(np.abs(frequency - exact.probability) <= 5 * error + 1e-12)


@pytest.mark.parametrize("dim", ["random", 3])
def test_without_traces_the_posterior_is_the_prior(dim):
    model = Model(dim=dim, noise=None, beta_prior=(3.0, 2.0), noise_prior=(2.0, 5.0))
    exact = exact_posterior(no_traces(3), model, prior_draws=50_000, seed=3)
    assert exact.means["beta"] == pytest.approx(1.5, rel=1e-6)
    assert exact.means["noise"] == pytest.approx(2 / 7, rel=1e-6)
    assert abs(exact.means["rho"] - 0.5) <= 5 * exact.mean_se["rho"]
    assert exact.mean_se["rho"] == pytest.approx(np.sqrt(0.05 / 50_000), rel=0.05)
    # Poisson(n / 2) without its zero, cut off far in the tail.
    mean = 1.5 / (1 - np.exp(-1.5)) if dim == "random" else dim
    assert abs(exact.means["dim"] - mean) <= 5 * exact.mean_se["dim"]
    assert exact.log_evidence == pytest.approx(0.0, abs=1e-12)
    # By symmetry, every pair is as likely in either order.
    off_diagonal = exact.precedence[~np.eye(3, dtype=bool)]
    assert np.ptp(off_diagonal) <= 1e-12


def test_fixed_rho_and_dim_are_returned_as_they_are():
    exact = exact_posterior(mixed_traces(), Model(dim=2, rho=0.25, beta=0.5), prior_draws=5000)
    assert exact.means["rho"] == pytest.approx(0.25, abs=1e-12)
    assert exact.means["dim"] == pytest.approx(2.0, abs=1e-12)
    assert exact.means["beta"] == pytest.approx(0.5, abs=1e-12)
    assert exact.means["noise"] == 0.0


def class_at(orders, n_pairs):
    """Return the class of the chain (all pairs) or of the antichain (none)."""
    return orders.class_of[np.argmax(orders.closures.sum(axis=(1, 2)) == n_pairs)]


@pytest.mark.parametrize("n_items", [3, 4, 5])
@pytest.mark.parametrize("dim", [2, 4, 6, 8])
def test_rare_classes_have_their_analytic_prior(n_items, dim):
    # At rho = 0 the columns are independent uniform rankings.
    model = Model(dim=dim, rho=0.0)
    exact = exact_posterior(no_traces(n_items), model, prior_draws=20_000, seed=4)
    prior, orders = exact.prior, exact.orders
    chain = class_at(orders, n_items * (n_items - 1) // 2)
    equal = math.factorial(n_items) ** (1.0 - dim)  # all columns rank alike
    indicator = np.arange(orders.n_classes) == chain
    error = prior.se(indicator - prior.class_probability[chain])
    assert abs(prior.class_probability[chain] - equal) <= 5 * error + 1e-5 * equal
    assert prior.class_effective.min() > 100
    if dim == 2:  # the second column is the first, backwards
        antichain = class_at(orders, 0)
        indicator = np.arange(orders.n_classes) == antichain
        error = prior.se(indicator - prior.class_probability[antichain])
        assert abs(prior.class_probability[antichain] - equal) <= 5 * error + 1e-5 * equal
    if n_items == 3 and dim <= 4:
        table = permutation_prior(3, dim)
        expected = [table.get(c.tobytes(), 0.0) for c in orders.closures]
        difference = np.abs(exact.probability - expected)
        assert np.all(difference <= 5 * np.sqrt(np.array(expected) / 20_000))


def test_rankings_of_normals():
    means = np.array([[0.0, 0.5, 1.3, -2.0, 3.0], [0.1, 0.0, 40.0, 0.3, -1.0]])
    found = ranking_probabilities(means)
    values = means[:, None] + np.random.default_rng(3).standard_normal((2, 400_000, 5))
    rankings = np.argsort(-values, axis=2) @ 10 ** np.arange(5)
    for k, ranking in enumerate(permutations(range(5))):
        share = (rankings == ranking @ 10 ** np.arange(5)).mean(axis=1)
        # 240 comparisons of shares, each with its binomial error.
        assert np.all(np.abs(share - found[:, k]) <= 5 * np.sqrt(found[:, k] / 400_000) + 1e-5)
    # Two normals: Pr(x_0 > x_1) has a closed form, far into the tail.
    two = ranking_probabilities(np.array([[0.0, 6.0]]))[0, 0]
    assert two == pytest.approx(stats.norm.sf(6.0 / np.sqrt(2)), rel=1e-4)


@pytest.mark.parametrize(("dim", "rho"), [(2, 0.6), (4, None), (6, 0.9), ("random", None)])
def test_both_simulations_of_the_prior_agree(dim, rho):
    orders, model = all_orders(4), Model(dim=dim, rho=rho)
    latents = _simulate_latents(orders, 4, model, 200_000, child(1, "latents"))
    factors = _simulate_factors(orders, 4, model, 10_000, child(1, "factors"))
    for label in range(orders.n_classes):
        indicator = (np.arange(orders.n_classes) == label).astype(float)
        one, two = latents.per_draw(indicator), factors.per_draw(indicator)
        error = np.sqrt(one.var() / len(one) + two.var() / len(two))
        assert abs(one.mean() - two.mean()) <= 5 * error + 1e-12
        for name in ("rho", "dim"):  # given the class
            residual = [
                weight * (getattr(part, name) - getattr(latents, name).mean())
                for weight, part in ((one, latents), (two, factors))
            ]
            error = np.sqrt(sum(r.var() / len(r) for r in residual))
            assert abs(residual[0].mean() - residual[1].mean()) <= 5 * error + 1e-12


def test_class_probabilities_of_one_ranking_are_those_of_the_chain():
    for n_items in (1, 2, 3, 5):
        orders = all_orders(n_items)
        rankings = np.full((1, math.factorial(n_items)), 1.0 / math.factorial(n_items))
        found = class_probabilities(n_items, 1, rankings)[0]
        assert found.sum() == pytest.approx(1.0)
        assert found[class_at(orders, n_items * (n_items - 1) // 2)] == pytest.approx(1.0)


@pytest.mark.parametrize("dim", [4, 8])
def test_traces_of_a_rare_order_find_it(dim):
    # Thirty times the same trace: the chain, although the prior makes it once in 1e15 at dim 8.
    traces = Traces.from_lists([ITEMS], counts=[30])
    model = Model(dim=dim, rho=0.0)
    posterior = run(traces, model, Exact(draws=100, prior_draws=20_000), 1)
    assert posterior.status == "ok"
    assert posterior.warnings == ()
    # Against the best other order (one pair free), the chain has prior odds of at least
    # 2^-dim and a likelihood ratio of 2^30.
    assert posterior.precedence[np.triu_indices(5, k=1)].min() > 0.99


def test_an_answer_that_rests_on_few_draws_says_so():
    # Opposite traces of all five items: hardly ever possible when the columns nearly agree. Closer
    # to 1 than this, what is left of the probability is rounding, which machines do differently.
    traces = Traces.from_lists([ITEMS, ITEMS[::-1]], counts=[5, 5])
    model = Model(dim=2, rho=0.998)
    posterior = run(traces, model, Exact(draws=50, prior_draws=1000), 1)
    assert posterior.status == "unmixed"
    assert "raise prior_draws" in posterior.warnings[0]
    assert posterior.diagnostics["thin_share"] > 0.01
    common = run(traces, Model(dim=2, rho=0.0), Exact(draws=50, prior_draws=1000), 1)
    assert (common.status, common.warnings) == ("ok", ())
    assert common.diagnostics["thin_share"] == 0.0


# -- the likelihood at every node ------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("n_items", [3, 4])
def test_likelihood_of_every_order_at_every_node(n_items, noise):
    traces = mixed_traces(n_items)
    if n_items == 4:
        extra = [["d", "a"], ["d", "c", "a", "b"], ["b"]]
        traces = Traces.from_lists(
            [*MIXED["lists"], *extra],
            items=ITEMS[:4],
            counts=[*MIXED["counts"], 2, 1, 4],
            choice_sets=[*MIXED["choice_sets"], list("abcd"), None, list("bd")],
        )
    orders = all_orders(n_items)
    grid = Grid(traces, Model(noise=noise), orders)
    nodes = range(0, len(grid.beta), 60)
    found = grid.log_likelihood(slice(None), noise)[:, list(nodes)]
    for order, closure in enumerate(orders.closures):
        for k, node in enumerate(nodes):
            slow = ref.hard_log_likelihood(closure, grid.beta[node], noise, traces)
            assert found[order, k] == pytest.approx(slow, rel=1e-9, abs=1e-9)
        fast = hard_log_likelihood(closure, grid.beta[nodes[0]], traces, noise)
        assert found[order, 0] == pytest.approx(fast, rel=1e-9, abs=1e-9)
    assert np.isneginf(found).any() == (noise == 0.0)


def test_a_huge_beta_is_the_deterministic_limit():
    # "a" has a successor and "c" has none: beta = 10,000 leaves no doubt which comes first.
    traces = Traces.from_lists([list("abc")], items=list("abc"))
    orders = all_orders(3)
    found = Grid(traces, Model(beta=1e4), orders).log_likelihood(slice(None), 0.0)[:, 0]
    a_before_b = np.zeros((3, 3), dtype=bool)
    a_before_b[0, 1] = True
    order = next(k for k, c in enumerate(orders.closures) if (c == a_before_b).all())
    assert found[order] == pytest.approx(np.log(0.5))
    assert not np.isnan(found).any()


# -- the posterior, by brute force -----------------------------------------------------------------


def permutation_prior(n_items, dim):
    """Return {closure: probability} at rho = 0: the columns are independent uniform rankings."""
    rankings = list(permutations(range(n_items)))
    prior = {}
    for columns in product(rankings, repeat=dim):
        closure = ref.product_order(np.array(columns).T)
        prior[closure.tobytes()] = prior.get(closure.tobytes(), 0.0) + len(rankings) ** -dim
    return prior


def slow_likelihood(closure, beta, noise, traces):
    """Return the probability of all traces; beta and noise may be arrays."""
    return math.prod(
        ref.mix(ref.hard_step(closure, beta, remaining)[x], noise, remaining) ** count
        for listed, choice_set, count in ref.rows(traces)
        for x, remaining in ref.remainders(listed, choice_set)
    )


def gauss(low, high, n_nodes):
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return low + (high - low) * (nodes + 1) / 2, weights * (high - low) / 2


def brute_force(traces, dim, noise):
    """Return precedence, evidence and its spread over draws of the prior, and the mean of beta."""
    n_items = traces.n_items
    beta, beta_weight = gauss(0.0, 60.0, 200)
    beta_weight = beta_weight * stats.gamma(2.0).pdf(beta)
    eps, eps_weight = np.array([noise]), np.ones(1)
    if noise is None:
        eps, eps_weight = gauss(0.0, 1.0, 80)
        eps_weight = eps_weight * stats.beta(1, 9).pdf(eps)
    weight = np.outer(beta_weight, eps_weight)
    total, square, beta_sum, noise_sum = 0.0, 0.0, 0.0, 0.0
    precedence = np.zeros((n_items, n_items))
    for key, prior in permutation_prior(n_items, dim).items():
        closure = np.frombuffer(key, dtype=bool).reshape(n_items, n_items)
        joint = weight * slow_likelihood(closure, beta[:, None], eps[None, :], traces)
        evidence = joint.sum()
        total += prior * evidence
        square += prior * evidence**2
        beta_sum += prior * (joint.sum(axis=1) @ beta)
        noise_sum += prior * (joint.sum(axis=0) @ eps)
        precedence += prior * evidence * closure
    spread = np.sqrt(square - total**2) / total
    means = {"beta": beta_sum / total, "noise": noise_sum / total}
    return precedence / total, total, spread, means


@pytest.mark.parametrize("noise", [0.0, 0.05, None])
@pytest.mark.parametrize("dim", [2, 3])
def test_posterior_matches_brute_force_on_three_items(dim, noise):
    traces = mixed_traces()
    n_draws = 400_000
    model = Model(dim=dim, rho=0.0, noise=noise)
    exact = exact_posterior(traces, model, prior_draws=n_draws, seed=5)
    precedence, evidence, spread, means = brute_force(traces, dim, noise)
    # The quadratures agree to 1e-6; beyond that the only error is the simulated prior's, and the
    # oracle states it. Five standard errors for a dozen comparisons.
    assert np.all(np.abs(exact.precedence - precedence) <= 5 * exact.precedence_se + 1e-6)
    assert exact.precedence_se.max() < 0.002
    for name, mean in means.items():
        assert abs(exact.means[name] - mean) <= 5 * exact.mean_se[name] + 1e-6
    # Pooling only lowers the spread of the evidence over draws.
    assert abs(exact.log_evidence - np.log(evidence)) <= 5 * spread / np.sqrt(n_draws) + 1e-6


def test_evidence_ratio_of_two_betas():
    traces = mixed_traces()
    found, expected, error = [], [], 0.0
    for beta in (0.0, 3.0):
        model = Model(dim=2, rho=0.0, beta=beta)
        found.append(exact_posterior(traces, model, prior_draws=200_000, seed=6).log_evidence)
        total, square = 0.0, 0.0
        for key, prior in permutation_prior(3, 2).items():
            value = slow_likelihood(np.frombuffer(key, bool).reshape(3, 3), beta, 0.0, traces)
            total, square = total + prior * value, square + prior * value**2
        expected.append(np.log(total))
        error += np.sqrt(square - total**2) / total / np.sqrt(200_000)
    assert abs((found[1] - found[0]) - (expected[1] - expected[0])) <= 5 * error
    assert abs(expected[1] - expected[0]) > 0.1


def test_beta_integral_of_one_order_against_adaptive_quadrature():
    traces = Traces.from_lists([list("abc"), list("acb")], counts=[9, 1], items=list("abc"))
    orders = all_orders(3)
    log_evidence, mean_beta, _ = Grid(traces, Model(), orders).integrate()
    for k in range(0, len(orders.closures), 3):
        closure = orders.closures[k]

        def density(beta, closure=closure):
            return slow_likelihood(closure, beta, 0.0, traces) * beta * np.exp(-beta)

        evidence = integrate.quad(density, 0, 60, epsabs=1e-13, limit=200)[0]
        if evidence == 0.0:
            assert np.isneginf(log_evidence[k])
            continue
        first = integrate.quad(lambda b: b * density(b), 0, 60, epsabs=1e-13, limit=200)[0]
        assert np.exp(log_evidence[k]) == pytest.approx(evidence, rel=1e-5)
        assert mean_beta[k] == pytest.approx(first / evidence, rel=1e-5)


def sharp_integrals(traces, closure, noise, around):
    """Return log evidence and mean of beta of one order, by adaptive quadrature at the mode."""

    def log_joint(beta):
        return hard_log_likelihood(closure, beta, traces, noise) + stats.gamma(2.0).logpdf(beta)

    mode = optimize.minimize_scalar(
        lambda b: -log_joint(b), bounds=around, method="bounded", options={"xatol": 1e-8}
    ).x
    step = 1e-3
    curvature = (2 * log_joint(mode) - log_joint(mode - step) - log_joint(mode + step)) / step**2
    sd, top = 1.0 / np.sqrt(curvature), log_joint(mode)
    low, high = max(mode - 12 * sd, 1e-9), mode + 12 * sd
    points = [mode - 2 * sd, mode, mode + 2 * sd]

    def integral(power):
        return integrate.quad(
            lambda b: b**power * np.exp(log_joint(b) - top), low, high, points=points, epsrel=1e-10
        )[0]

    return top + np.log(integral(0)), integral(1) / integral(0), sd


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("n_traces", [20_000, 100_000])
def test_many_traces_sharpen_beta_between_the_nodes(n_traces, noise):
    closure = np.zeros((4, 4), dtype=bool)
    closure[[0, 0, 3], [1, 2, 2]] = True  # successor counts 2, 0, 0, 1
    rows = draw_traces(closure, 1.37, noise, [np.arange(4)] * n_traces, child(2, "sharp"))
    unique, counts = np.unique(np.array(rows), axis=0, return_counts=True)
    lists = [["abcd"[i] for i in row] for row in unique]
    traces = Traces.from_lists(lists, counts=counts.tolist(), items=list("abcd"))
    exact = exact_posterior(traces, Model(dim=2, rho=0.0, noise=noise), prior_draws=20_000, seed=1)
    log_evidence, mean, sd = sharp_integrals(traces, closure, noise, (0.5, 3.0))
    # Far narrower than the shared grid: log beta in steps of 0.05.
    assert sd / mean < 0.02
    order = next(k for k, c in enumerate(exact.orders.closures) if (c == closure).all())
    assert exact.probability[order] == pytest.approx(1.0, abs=1e-9)
    assert exact.means["beta"] == pytest.approx(mean, abs=1e-6)
    size = (exact.orders.class_of == exact.orders.class_of[order]).sum()
    weight = exact.prior.class_probability[exact.orders.class_of[order]] / size
    assert exact.log_evidence - np.log(weight) == pytest.approx(log_evidence, abs=1e-5)


@pytest.mark.parametrize(
    "priors",
    [{"noise_prior": (0.5, 0.5)}, {"noise_prior": (0.3, 0.3)}, {"beta_prior": (0.02, 1.0)}],
)
def test_priors_with_a_pole_at_an_end(priors):
    """Quantiles there are 0 or 1 to the last digit; the scale of the integral stays finite."""
    traces = Traces.from_lists([["a", "b"], ["a", "b"], ["b", "a"]])
    post = run(traces, Model(noise=None, **priors), Exact(draws=50, prior_draws=2000), 3)
    assert np.isfinite(post.draws.log_likelihood).all()
    assert 0.0 < post.precedence[0, 1] < 1.0


def test_many_noisy_traces_sharpen_both_scalars():
    closure = np.zeros((4, 4), dtype=bool)
    closure[[0, 0, 3], [1, 2, 2]] = True
    rows = draw_traces(closure, 1.37, 0.05, [np.arange(4)] * 20_000, child(3, "sharp"))
    unique, counts = np.unique(np.array(rows), axis=0, return_counts=True)
    lists = [["abcd"[i] for i in row] for row in unique]
    traces = Traces.from_lists(lists, counts=counts.tolist(), items=list("abcd"))
    exact = exact_posterior(traces, Model(dim=2, rho=0.0, noise=None), prior_draws=20_000, seed=1)
    # Gauss-Legendre over plus and minus ten standard deviations of either.
    beta, beta_weight = gauss(exact.means["beta"] - 0.25, exact.means["beta"] + 0.25, 60)
    eps, eps_weight = gauss(exact.means["noise"] - 0.025, exact.means["noise"] + 0.025, 60)
    log_joint = np.array([[hard_log_likelihood(closure, b, traces, e) for e in eps] for b in beta])
    log_joint += stats.gamma(2.0).logpdf(beta)[:, None] + stats.beta(1, 9).logpdf(eps)
    top = log_joint.max()
    joint = np.exp(log_joint - top) * np.outer(beta_weight, eps_weight)
    assert joint[[0, -1]].sum() + joint[:, [0, -1]].sum() < 1e-12 * joint.sum()
    assert exact.means["beta"] == pytest.approx(joint.sum(axis=1) @ beta / joint.sum(), abs=1e-6)
    assert exact.means["noise"] == pytest.approx(joint.sum(axis=0) @ eps / joint.sum(), abs=1e-7)
    order = next(k for k, c in enumerate(exact.orders.closures) if (c == closure).all())
    size = (exact.orders.class_of == exact.orders.class_of[order]).sum()
    weight = exact.prior.class_probability[exact.orders.class_of[order]] / size
    expected = top + np.log(joint.sum())
    assert exact.log_evidence - np.log(weight) == pytest.approx(expected, abs=1e-5)
    # The draws come from the same fine nodes.
    posterior = run(traces, Model(dim=2, rho=0.0, noise=None), Exact(prior_draws=20_000), 1)
    for name in ("beta", "noise"):
        values = posterior.draws.scalar(name)
        assert len(np.unique(values)) > 10
        assert abs(values.mean() - exact.means[name]) <= 4.5 * values.std() / np.sqrt(len(values))


def test_relabelling_permutes_the_answer():
    lists = [list("abcd"), list("bacd"), list("dca"), list("bd")]
    model = Model(dim=3, noise=None)
    one = exact_posterior(Traces.from_lists(lists, items=list("abcd")), model, prior_draws=5000)
    shuffled = [2, 0, 3, 1]
    items = ["abcd"[i] for i in shuffled]
    two = exact_posterior(Traces.from_lists(lists, items=items), model, prior_draws=5000)
    # The prior is pooled over relabelling, so that the same seed gives the same weights.
    there = np.ix_(shuffled, shuffled)
    np.testing.assert_allclose(two.precedence, one.precedence[there], rtol=1e-9)
    np.testing.assert_allclose(two.precedence_se, one.precedence_se[there], rtol=1e-9)
    assert np.ptp(one.precedence) > 0.3


# -- what cannot be --------------------------------------------------------------------------------


def test_traces_that_the_prior_cannot_allow():
    contradiction = Traces.from_lists([["a", "b"], ["b", "a"]])
    # One column makes total orders only, and none of them allows both.
    with pytest.raises(InputError, match=r"noise above 0, or a larger dim"):
        exact_posterior(contradiction, Model(dim=1), prior_draws=1000)
    exact = exact_posterior(contradiction, Model(dim=2), prior_draws=1000)
    assert exact.precedence.max() == 0.0


def test_orders_outside_the_prior_do_not_set_the_scale():
    # The antichain beats the chains by far more than exp(745), but one column never makes it.
    traces = Traces.from_lists([["a", "b", "c"], ["c", "b", "a"]], counts=[500, 500])
    exact = exact_posterior(traces, Model(dim=1, noise=0.01, beta=1.0), prior_draws=2000)
    np.testing.assert_allclose(exact.precedence + exact.precedence.T, 1 - np.eye(3), atol=1e-12)
    # abc and cba are best: each places half of the traces without a fault.
    assert exact.precedence[0, 2] == pytest.approx(0.5)


# -- the stated error ------------------------------------------------------------------------------


def test_stated_standard_errors_are_honest():
    traces = Traces.from_lists([list("abc"), list("bac"), list("ac")], items=list("abcd"))
    runs = [
        exact_posterior(traces, Model(dim="random"), prior_draws=2000, seed=seed)
        for seed in range(30)
    ]
    # Over 30 seeds the variance is chi-squared with 29 degrees of freedom; the average over pairs
    # varies less than one of them.
    low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], df=29) / 29
    off = ~np.eye(4, dtype=bool)
    spread = np.var([r.precedence[off] for r in runs], axis=0, ddof=1)
    stated = np.mean([r.precedence_se[off] ** 2 for r in runs], axis=0)
    # Seen in both orders: a and b. Never first: c before a, c before b.
    possible = stated > 0.0
    assert possible.sum() == 12 - 4
    assert low < np.mean(spread[possible] / stated[possible]) < high
    for name in ("rho", "dim", "beta"):
        ratio = np.var([r.means[name] for r in runs], ddof=1) / np.mean(
            [r.mean_se[name] ** 2 for r in runs]
        )
        assert low < ratio < high, name


# -- draws -----------------------------------------------------------------------------------------


def test_draws_agree_with_the_exact_answer():
    traces, n_draws = mixed_traces(4), 20_000
    model = Model(dim="random", noise=None)
    posterior = run(traces, model, Exact(draws=n_draws, prior_draws=50_000), 11)
    exact = exact_posterior(traces, model, prior_draws=50_000, seed=11)
    np.testing.assert_array_equal(posterior.precedence, exact.precedence)
    p = exact.precedence
    difference = np.abs(posterior.draws.mean_closure(4) - p)
    # I.i.d. draws: binomial errors of 12 pairs.
    assert np.all(difference <= 4.5 * np.sqrt(p * (1 - p) / n_draws) + 1e-12)
    for name in ("rho", "beta", "noise", "dim"):
        values = posterior.draws.scalar(name)
        assert values.std() > 0.0
        assert abs(values.mean() - exact.means[name]) <= 4.5 * values.std() / np.sqrt(n_draws)


def test_draws_keep_order_and_scalars_together():
    traces = mixed_traces()
    posterior = run(traces, Model(dim=2, noise=None), Exact(draws=50, prior_draws=2000), 1)
    beta, noise = posterior.draws.scalar("beta"), posterior.draws.scalar("noise")
    for s, closure in enumerate(posterior.draws.closures(3)):
        for row, (listed, choice_set, _) in enumerate(ref.rows(traces)):
            slow = ref.hard_log_probability(closure, beta[s], noise[s], listed, choice_set)
            assert posterior.draws.log_likelihood[0, s, row] == pytest.approx(slow, rel=1e-9)


def test_beta_and_order_are_drawn_jointly():
    # Given an order, beta is weighted by that order's likelihood: compare conditional means.
    traces = Traces.from_lists([list("abc")], counts=[5], items=list("abc"))
    posterior = run(traces, Model(dim=2), Exact(draws=20_000, prior_draws=20_000), 2)
    orders = all_orders(3)
    _, mean_beta, _ = Grid(traces, Model(), orders).integrate()
    drawn = np.array([c.tobytes() for c in posterior.draws.closures(3)])
    beta = posterior.draws.scalar("beta")
    compared = 0
    for closure, expected in zip(orders.closures, mean_beta, strict=True):
        mine = beta[drawn == closure.tobytes()]
        if len(mine) >= 500:
            assert abs(mine.mean() - expected) <= 4.5 * mine.std() / np.sqrt(len(mine))
            compared += 1
    assert compared >= 3
    assert np.ptp(mean_beta[mean_beta > 0]) > 0.5


def test_the_same_seed_gives_the_same_result():
    settings = Exact(draws=200, prior_draws=2000)
    one, two, other = (run(mixed_traces(), Model(), settings, seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one.precedence, two.precedence)
    np.testing.assert_array_equal(one.draws.closure_bits, two.draws.closure_bits)
    for name in one.draws.scalars:
        np.testing.assert_array_equal(one.draws.scalars[name], two.draws.scalars[name])
    assert not np.array_equal(one.precedence, other.precedence)

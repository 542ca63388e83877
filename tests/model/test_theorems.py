"""The paper's lemmas, propositions and theorems, each as a property of the implementation.

Every test is named after the label of its statement. The library's `soft_margins`,
`soft_precedence` and likelihoods are what is tested; the soft frontier and counts are formed from
them in `reference`. SLACK covers rounding: all quantities are of order 1 to 100.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import ks_2samp
from tests.model import reference as ref

from posetta.data import Traces
from posetta.model import (
    correlate,
    hard_step_log_probabilities,
    hard_trace_log_likelihood,
    product_order,
    relaxed_step_log_probabilities,
    relaxed_trace_log_likelihood,
    soft_margins,
    soft_precedence,
)

SLACK = 1e-12
quick = settings(derandomize=True, deadline=None, max_examples=100)

taus = st.floats(1e-3, 5.0)
gammas = st.floats(0.1, 50.0)
fractions = st.floats(0.01, 0.9)


def vectors(dim):
    return ref.matrices(dim, st.floats(-10.0, 10.0, width=32))


def soft_min(a, tau):
    """Return the library's soft minimum: the margin of the row ``a`` above the row 0."""
    return soft_margins(np.stack([a, np.zeros(len(a))]), tau)[0, 1]


def largest_tau(delta, dim):
    """Return delta / log d, below which the margins keep their signs; any tau does at d = 1."""
    return delta / math.log(dim) if dim > 1 else math.inf


def sharp_tau(delta, dim, fraction):
    """Return a tau at the given fraction of the largest one."""
    return fraction * min(largest_tau(delta, dim), 1.0)


def pair_error(delta, dim, tau, gamma):
    """Return epsilon_t(tau, gamma) of the section on the temperature."""
    return math.exp(-gamma * (delta - tau * math.log(dim)))


def remaining_sets(n_items):
    """Return all sets of at least two items."""
    return [
        set(c) for k in range(2, n_items + 1) for c in itertools.combinations(range(n_items), k)
    ]


# -- the soft minimum ------------------------------------------------------------------------------


@quick
@given(st.integers(1, 6).flatmap(vectors), taus)
def test_prop_softmin_properties_bounds(a, tau):
    """min a - tau log d <= smin_tau(a) <= min a."""
    value = soft_min(a, tau)
    assert a.min() - tau * math.log(len(a)) - SLACK <= value <= a.min() + SLACK


@quick
@given(st.floats(-10.0, 10.0), st.integers(1, 6), taus)
def test_prop_softmin_properties_lower_bound_is_reached(a, dim, tau):
    """Equal entries lose exactly tau log d."""
    assert abs(soft_min(np.full(dim, a), tau) - (a - tau * math.log(dim))) <= SLACK


@quick
@given(st.integers(1, 6).flatmap(vectors))
def test_prop_softmin_properties_limit(a):
    """smin_tau(a) -> min a as tau -> 0, never moving away."""
    errors = [a.min() - soft_min(a, tau) for tau in (1.0, 0.1, 1e-2, 1e-3, 1e-6, 1e-9)]
    assert all(later <= earlier + SLACK for earlier, later in itertools.pairwise(errors))
    assert abs(errors[-1]) <= 1e-9 * math.log(len(a)) + SLACK


@quick
@given(ref.latents(min_items=2, bound=10.0), taus)
def test_lem_margin_approx_appendix(latent, tau):
    """|M_U(z, x) - m_U(z, x)| <= tau log d."""
    gap = np.abs(soft_margins(latent, tau) - ref.hard_margins(latent))
    np.fill_diagonal(gap, 0.0)
    assert gap.max() <= tau * math.log(latent.shape[1]) + SLACK


@quick
@given(st.integers(1, 6).flatmap(lambda d: st.tuples(vectors(d), vectors(d))), taus)
def test_lem_superadditivity_appendix(pair, tau):
    """smin(a + b) >= smin(a) + smin(b), with equality at d = 1."""
    a, b = pair
    excess = soft_min(a + b, tau) - soft_min(a, tau) - soft_min(b, tau)
    assert excess >= -SLACK
    assert len(a) > 1 or excess <= SLACK


@quick
@given(ref.latents(min_items=3, bound=10.0), taus)
def test_thm_soft_transitivity_margin(latent, tau):
    """M_U(z, x) >= M_U(z, y) + M_U(y, x)."""
    M = soft_margins(latent, tau)
    for z, y, x in itertools.permutations(range(len(latent)), 3):
        assert M[z, x] >= M[z, y] + M[y, x] - SLACK


@quick
@given(ref.latents(min_items=3, bound=2.0), st.floats(0.1, 3.0), st.floats(0.01, 0.5))
def test_thm_soft_transitivity_logit(latent, gamma, tau):
    """logit D_U(z, x) >= logit D_U(z, y) + logit D_U(y, x)."""
    # |gamma M| <= 3 (4 + 0.5 log 4) < 15: the logit of a rounded D is then good to 1e-9.
    D = soft_precedence(latent, gamma, tau)
    off_diagonal = ~np.eye(len(D), dtype=bool)
    L = np.zeros_like(D)
    L[off_diagonal] = logit(D[off_diagonal])
    np.testing.assert_allclose(L, gamma * soft_margins(latent, tau), atol=1e-8)
    for z, y, x in itertools.permutations(range(len(latent)), 3):
        assert L[z, x] >= L[z, y] + L[y, x] - 1e-8


# -- the hard order --------------------------------------------------------------------------------


@quick
@given(ref.latents(whole=True, max_items=7))
def test_lem_hard_order_poset(latent):
    """The product order is irreflexive and transitive (so asymmetric), ties included."""
    closure = product_order(latent)
    assert not closure.diagonal().any()
    assert not np.any((closure.astype(int) @ closure.astype(int) > 0) & ~closure)
    assert not np.any(closure & closure.T)


@quick
@given(ref.closures(max_items=5), st.floats(0.0, 3.0))
def test_lem_finite_frontier_nonempty(closure, beta):
    """Every nonempty remainder has a maximal item: the chances of a first choice sum to 1."""
    n_items = len(closure)
    for size in range(1, n_items + 1):
        for chosen in itertools.combinations(range(n_items), size):
            among = [ref.LETTERS[i] for i in chosen]
            firsts = Traces.from_lists(
                [[x] for x in among], items=ref.LETTERS[:n_items], choice_sets=[among] * size
            )
            p = np.exp(hard_step_log_probabilities(closure, beta, firsts))
            assert {x for x, p_x in zip(chosen, p, strict=True) if p_x > 0.0} == ref.frontier(
                closure, set(chosen)
            )
            assert abs(p.sum() - 1.0) <= SLACK


# -- the soft frontier and counts ------------------------------------------------------------------


@quick
@given(ref.separated_latents(), gammas, taus)
def test_prop_frontier_quantitative_bounds_on_the_frontier(latent, gamma, tau):
    """F~(x) >= prod (1 - sigma(-gamma |m(z, x)|)) >= (1 - sigma(-gamma delta))^(|R| - 1)."""
    D, m = soft_precedence(latent, gamma, tau), ref.hard_margins(latent)
    closure = product_order(latent)
    for R in remaining_sets(len(latent)):
        delta = ref.separation(latent, R)
        for x in ref.frontier(closure, R):
            middle = math.prod(1.0 - expit(-gamma * abs(m[z, x])) for z in R - {x})
            assert ref.soft_frontier(D, x, R) >= middle - SLACK
            assert middle >= (1.0 - expit(-gamma * delta)) ** (len(R) - 1) - SLACK


@quick
@given(ref.separated_latents(), gammas, taus)
def test_prop_frontier_quantitative_bounds_off_the_frontier(latent, gamma, tau):
    """F~(x) <= 1 - sigma(gamma (delta - tau log d)), for every tau."""
    D = soft_precedence(latent, gamma, tau)
    closure = product_order(latent)
    for R in remaining_sets(len(latent)):
        delta = ref.separation(latent, R)
        bound = expit(-gamma * (delta - tau * math.log(latent.shape[1])))
        for x in R - ref.frontier(closure, R):
            assert ref.soft_frontier(D, x, R) <= bound + SLACK


@quick
@given(ref.separated_latents(), fractions)
def test_thm_frontier_quantitative(latent, fraction):
    """F~ -> the frontier indicator as gamma -> inf at small tau, at the rate of the bounds."""
    closure, dim = product_order(latent), latent.shape[1]
    everything = set(range(len(latent)))
    delta = ref.separation(latent, everything)
    tau = sharp_tau(delta, dim, fraction)
    for exponent in (2.0, 5.0, 10.0, 20.0, 30.0):
        gamma = exponent / (delta - tau * math.log(dim))
        D = soft_precedence(latent, gamma, tau)
        for R in remaining_sets(len(latent)):
            allowed = ref.frontier(closure, R)
            for x in R:
                error = abs(ref.soft_frontier(D, x, R) - (x in allowed))
                assert error <= (len(R) - 1) * math.exp(-exponent) + SLACK


@quick
@given(ref.separated_latents(), fractions)
def test_prop_descendant_limit_appendix(latent, fraction):
    """S~ -> S as gamma -> inf at small tau: |S~ - S| <= (|R| - 1) epsilon."""
    closure, dim = product_order(latent), latent.shape[1]
    delta = ref.separation(latent, set(range(len(latent))))
    tau = sharp_tau(delta, dim, fraction)
    for exponent in (2.0, 5.0, 10.0, 20.0, 30.0):
        gamma = exponent / (delta - tau * math.log(dim))
        D = soft_precedence(latent, gamma, tau)
        for R in remaining_sets(len(latent)):
            for x in R:
                error = abs(ref.soft_successors(D, x, R) - ref.successors(closure, x, R))
                assert error <= (len(R) - 1) * math.exp(-exponent) + SLACK


# -- convergence of the likelihood -----------------------------------------------------------------


def step_error_bound(eps, size, beta):
    """Return what pair errors of at most ``eps`` can do to a step with ``size`` candidates.

    On the frontier 1 >= F~ >= (1 - eps)^(size - 1) and |S~ - S| <= (size - 1) eps, so a weight
    is off by a factor between ``low`` and ``high``; off it, weights are at most eps size^beta. The
    hard weights sum to at least 1.
    """
    spread = (size - 1) * eps
    if spread >= 1.0:
        return 1.0
    low = (1.0 - eps) ** (size - 1) * (1.0 - spread) ** beta
    high = (1.0 + spread) ** beta
    leak = size * eps * size**beta
    return min(1.0, max(high / low - 1.0, 1.0 - low / (high + leak), leak / low))


@quick
@given(ref.separated_latents(max_items=4), st.floats(0.0, 3.0), fractions)
def test_thm_likelihood_convergence_rate(latent, beta, fraction):
    """p~ -> p for every step and trace, exponentially in gamma at tau < delta / log d.

    Probabilities are compared, not logarithms: where the hard one is 0 its logarithm is -inf.
    """
    n_items, dim = latent.shape
    delta = ref.separation(latent, set(range(n_items)))
    tau = sharp_tau(delta, dim, fraction)
    closure = product_order(latent)
    traces = ref.all_lists(ref.LETTERS[:n_items], n_items)
    hard = np.exp(hard_trace_log_likelihood(closure, beta, traces))
    sizes = np.tile(np.arange(n_items, 0, -1), traces.n_unique)
    # A step after an impossible one still has its own probability, so all steps are compared.
    hard_steps = np.exp(hard_step_log_probabilities(closure, beta, traces))
    for exponent in (3.0, 6.0, 12.0, 24.0):
        gamma = exponent / (delta - tau * math.log(dim))
        eps = pair_error(delta, dim, tau, gamma)
        assert eps == pytest.approx(math.exp(-exponent))
        args = latent, beta, gamma, tau, traces
        error = np.abs(np.exp(relaxed_step_log_probabilities(*args)) - hard_steps)
        bound = np.array([step_error_bound(eps, size, beta) for size in sizes])
        assert np.all(error <= bound + SLACK)
        trace_error = np.abs(np.exp(relaxed_trace_log_likelihood(*args)) - hard)
        assert np.all(trace_error <= bound.reshape(-1, n_items).sum(axis=1) + SLACK)
    assert bound.max() < 1e-6  # so the last round was no empty promise


def test_thm_likelihood_convergence_error_falls_geometrically():
    """Random latents: each doubling of gamma (at tau -> 0 with it) squares the error, about."""
    rng = np.random.default_rng(11)
    for _ in range(20):
        n_items, dim = 5, int(rng.integers(1, 5))
        ranks = np.array([rng.permutation(n_items) for _ in range(dim)]).T
        latent = ranks + rng.uniform(0.0, 0.5, (n_items, dim))
        delta = ref.separation(latent, set(range(n_items)))
        traces = ref.all_lists(ref.LETTERS[:n_items], n_items)
        hard = np.exp(hard_trace_log_likelihood(product_order(latent), 1.5, traces))
        errors = []
        for exponent in (4.0, 8.0, 16.0):
            args = latent, 1.5, exponent / delta, 0.01 * delta, traces
            errors.append(np.abs(np.exp(relaxed_trace_log_likelihood(*args)) - hard).max())
        # From one gamma to the next the exponent grows by 4, then by 8; e^-0.8 of that is asked.
        assert errors[1] <= errors[0] * math.exp(-0.8 * 4.0)
        assert errors[2] <= errors[1] * math.exp(-0.8 * 8.0)


# -- the temperature tau ---------------------------------------------------------------------------


@quick
@given(ref.separated_latents(), gammas, fractions)
def test_eq_tau_edge_bound_and_eq_tau_nonedge_bound(latent, gamma, fraction):
    """z before x gives D >= 1 - epsilon; otherwise D <= epsilon, if tau < delta / log d."""
    n_items, dim = latent.shape
    delta = ref.separation(latent, set(range(n_items)))
    tau = sharp_tau(delta, dim, fraction)
    eps = pair_error(delta, dim, tau, gamma)
    D, closure = soft_precedence(latent, gamma, tau), product_order(latent)
    off_diagonal = ~np.eye(n_items, dtype=bool)
    assert np.all(D[closure] >= 1.0 - eps - SLACK)
    assert np.all(D[~closure & off_diagonal] <= eps + SLACK)
    assert np.all((D >= 0.0) & (D <= 1.0))


@quick
@given(ref.separated_latents(), st.floats(1e-9, 0.5), st.floats(1.01, 20.0))
def test_eq_tau_target_error(latent, eta, factor):
    """tau <= (delta - log(1/eta) / gamma) / log d makes every pair error at most eta."""
    n_items, dim = latent.shape
    delta = ref.separation(latent, set(range(n_items)))
    gamma = factor * math.log(1.0 / eta) / delta
    room = delta - math.log(1.0 / eta) / gamma
    tau = min(largest_tau(room, dim), 1e3)
    error = np.abs(soft_precedence(latent, gamma, tau) - product_order(latent))
    assert error.max() <= eta + SLACK


@quick
@given(st.integers(1, 5).flatmap(vectors), st.floats(0.05, 5.0))
def test_hessian_of_the_soft_minimum(a, tau):
    """The Hessian is -(diag(p) - p p') / tau, negative semidefinite, its norm at most 1 / tau."""
    dim = len(a)
    p = np.exp(-(a - a.min()) / tau)
    p /= p.sum()
    h = 1e-3 * tau
    e = h * np.eye(dim)
    gradient = [(soft_min(a + e[k], tau) - soft_min(a - e[k], tau)) / (2 * h) for k in range(dim)]
    hessian = np.array(
        [
            [
                soft_min(a + e[k] + e[j], tau)
                - soft_min(a + e[k] - e[j], tau)
                - soft_min(a - e[k] + e[j], tau)
                + soft_min(a - e[k] - e[j], tau)
                for j in range(dim)
            ]
            for k in range(dim)
        ]
    ) / (4 * h * h)
    # Truncation (h / tau)² = 1e-6; rounding 1e-15 / h² <= 4e-7 / tau at the smallest tau.
    np.testing.assert_allclose(gradient, p, atol=1e-5)
    np.testing.assert_allclose(tau * hessian, np.outer(p, p) - np.diag(p), atol=1e-5)
    curvatures = tau * np.linalg.eigvalsh(hessian)
    assert curvatures.max() <= 1e-5
    assert curvatures.min() >= -1.0 - 1e-5


# -- the prior -------------------------------------------------------------------------------------


@quick
@given(ref.latents(min_items=2, max_items=7), gammas, taus, st.data())
def test_thm_marginal_consistency_deleting_rows_commutes(latent, gamma, tau, data):
    """D_U[S, S] = D_{U[S, :]}, the step of the proof."""
    n_items = len(latent)
    kept = data.draw(st.lists(st.integers(0, n_items - 1), min_size=1, unique=True))
    whole = soft_precedence(latent, gamma, tau)[np.ix_(kept, kept)]
    # A vector lane and the loop's tail may round differently: gamma M <= 500 times 1e-16.
    np.testing.assert_allclose(soft_precedence(latent[kept], gamma, tau), whole, rtol=1e-12)


def prior_scores(seed, n_items, dim=2, n_draws=4000):
    """Return draws of D_U under the default priors of rho and gamma."""
    rng = np.random.default_rng(seed)
    return np.array(
        [
            soft_precedence(
                correlate(rng.normal(size=(n_items, dim)), rng.beta(2.0, 2.0)),
                rng.gamma(2.0),
                0.3,
            )
            for _ in range(n_draws)
        ]
    )


# Functions of the whole matrix on three items, so that its joint distribution is compared.
SUMMARIES = {
    "one score": lambda D: D[:, 0, 1],
    "a chain": lambda D: D[:, 0, 1] * D[:, 1, 2],
    "all scores": lambda D: D.sum(axis=(1, 2)),
    "a soft frontier": lambda D: (1.0 - D[:, 1, 0]) * (1.0 - D[:, 2, 0]),
}


@pytest.mark.parametrize("summary", SUMMARIES.values(), ids=SUMMARIES)
def test_thm_marginal_consistency_distribution(summary):
    """If D_U ~ pi_M then D_U[S, S] ~ pi_S: 3 of 6 items against 3 items."""
    kept = [1, 2, 5]
    within = summary(prior_scores(12, 6)[:, kept][:, :, kept])
    assert ks_2samp(within, summary(prior_scores(13, 3))).pvalue > 0.001
    # The comparison can fail: one more column is another prior.
    assert ks_2samp(within, summary(prior_scores(14, 3, dim=3))).pvalue < 1e-6

"""The unconstrained relaxed target: value, gradient, transforms, and how it may be used."""

from __future__ import annotations

import itertools
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import reference as ref

from posetta.data import Traces
from posetta.errors import InputError, SettingError
from posetta.model import Model, Parameters, Target, correlate, relaxed_log_likelihood

FIXED = {"rho": 0.35, "beta": 1.2, "gamma": 2.5, "noise": 0.07}
PRIORS = {
    "rho_prior": (1.5, 3.0),
    "beta_prior": (2.5, 1.7),
    "gamma_prior": (3.0, 0.4),
    "noise_prior": (1.2, 8.0),
}
# Every choice of fixed and inferred scalars.
CHOICES = list(itertools.product([True, False], repeat=4))
TRACES = Traces.from_lists(
    [["a", "b", "d"], ["c", "a"], ["d"]],
    items=list("abcd"),
    counts=[2, 1, 3],
    choice_sets=[None, None, list("bcd")],
)


def target(inferred=(True,) * 4, traces=TRACES, dim=3):
    names = zip(FIXED.items(), inferred, strict=True)
    scalars = {name: None if free else value for (name, value), free in names}
    return Target(Model(dim=dim, tau=0.3, **scalars, **PRIORS), traces)


def point(target, seed=1):
    return np.random.default_rng(seed).normal(size=target.n_parameters)


@pytest.mark.parametrize("inferred", CHOICES)
def test_value_is_likelihood_prior_and_jacobian_with_their_constants(inferred):
    t = target(inferred)
    assert t.inferred == tuple(itertools.compress(FIXED, inferred))
    assert t.n_parameters == 4 * 3 + sum(inferred)
    for seed in range(3):
        w = point(t, seed)
        expected = ref.log_target(t.model, TRACES, w)
        np.testing.assert_allclose(t.log_density(w), expected, rtol=1e-12)


@pytest.mark.parametrize("inferred", CHOICES)
def test_gradient_is_the_derivative(inferred):
    t = target(inferred)
    h = 1e-5  # truncation 1e-10 x third derivative, rounding 1e-14 / 1e-5
    for seed in range(3):
        w = point(t, seed)
        value, gradient = t.log_density_and_grad(w)
        assert value == t.log_density(w)
        expected = [
            (t.log_density(w + step) - t.log_density(w - step)) / (2 * h)
            for step in h * np.eye(len(w))
        ]
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(1, 3), st.integers(1, 5), st.data())
def test_value_on_random_traces(dim, n_items, data):
    t = target(traces=data.draw(ref.observations(n_items)), dim=dim)
    w = point(t, data.draw(st.integers(0, 1000)))
    np.testing.assert_allclose(
        t.log_density(w), ref.log_target(t.model, t.traces, w), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("size", [30.0, 300.0, 690.0])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_finite_as_rho_approaches_its_ends(size, sign):
    """The density falls like Beta(a, b) does: by a (or b) per unit of logit rho."""
    t = target()
    w = point(t)
    at = t.n_parameters - 4
    w[at] = sign * size
    value, gradient = t.log_density_and_grad(w)
    assert math.isfinite(value)
    assert np.isfinite(gradient).all()
    a, b = t.model.rho_prior
    slope = a if sign < 0 else -b
    w[at] = sign * 60.0
    expected = t.log_density(w) + slope * (sign * size - w[at])
    # At 30 the likelihood still feels sqrt(1 - rho) = 3e-7; at 60 it feels nothing.
    np.testing.assert_allclose(value, expected, rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(gradient[at], slope, rtol=1e-5)


def test_one_minus_rho_is_not_rounded_away():
    """Rows of Z that sum to 0 give U = sqrt(1 - rho) Z, which a large gamma still reads."""
    eta, beta, gamma, tau = 40.0, 1.2, 1e9, 1e-9  # 1 - rho = 4e-18
    model = Model(dim=3, rho=None, beta=beta, gamma=gamma, tau=tau)
    z = np.random.default_rng(2).normal(size=(4, 3))
    z -= z.mean(axis=1, keepdims=True)
    w = np.append(z.ravel(), eta)
    prior = Target(model, Traces.from_lists([], items=TRACES.items)).log_density(w)
    likelihood = Target(model, TRACES).log_density(w) - prior
    shrink = math.exp(-eta / 2.0)
    expected = relaxed_log_likelihood(z, beta, gamma * shrink, tau / shrink, TRACES)
    np.testing.assert_allclose(likelihood, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["beta", "gamma", "noise"])
@pytest.mark.parametrize("eta", [-690.0, -30.0, 30.0, 690.0])
def test_finite_at_the_ends_of_the_other_scalars(name, eta):
    t = target()
    w = point(t)
    w[12 + t.inferred.index(name)] = eta
    value, gradient = t.log_density_and_grad(w)
    assert math.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [0, 5, 12, 13, 14, 15])
def test_a_point_that_is_not_finite_has_density_zero(bad, at):
    t = target()
    w = point(t)
    w[at] = bad
    value, gradient = t.log_density_and_grad(w)
    assert value == -math.inf
    assert gradient.shape == w.shape


@pytest.mark.parametrize("inferred", CHOICES)
def test_constrain_and_unconstrain_are_inverse(inferred):
    t = target(inferred)
    w = point(t)
    parameters = t.constrain(w)
    np.testing.assert_allclose(t.unconstrain(parameters), w, rtol=1e-11, atol=1e-12)
    again = t.constrain(t.unconstrain(parameters))
    np.testing.assert_allclose(again.latent, parameters.latent, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(again[1:], parameters[1:], rtol=1e-12)


def test_constrain_gives_the_models_own_terms():
    t = target((True, True, True, False))
    w = point(t)
    latent, rho, beta, gamma, noise = t.constrain(w)
    assert rho == pytest.approx(1.0 / (1.0 + math.exp(-w[12])), rel=1e-14)
    assert (beta, gamma) == pytest.approx((math.exp(w[13]), math.exp(w[14])), rel=1e-14)
    assert noise == FIXED["noise"]
    np.testing.assert_allclose(latent, correlate(w[:12].reshape(4, 3), rho), rtol=1e-13)


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("eta", [-5.0, 0.0, 4.0])
def test_latent_rows_have_the_covariance_of_the_prior(dim, eta):
    """With Z = I the latent is L', and L L' = Sigma_rho."""
    items = ref.LETTERS[:dim]
    t = target(traces=Traces.from_lists([], items=items), dim=dim)
    parameters = t.constrain(np.concatenate([np.eye(dim).ravel(), [eta, 0.0, 0.0, 0.0]]))
    L = parameters.latent.T
    np.testing.assert_allclose(L @ L.T, ref.covariance(parameters.rho, dim), atol=1e-14)


@pytest.mark.parametrize("name", [None, *FIXED])
def test_the_prior_integrates_to_one(name):
    """One item, one column, no data. The trapezoid rule is exact to many digits on such bells."""
    t = target([n == name for n in FIXED], traces=Traces.from_lists([], items=list("a")), dim=1)
    h_z, h_eta = 0.4, 0.2
    z = np.arange(-9.0, 9.0, h_z)
    if name is None:
        total = sum(math.exp(t.log_density(np.array([a]))) for a in z) * h_z
    else:
        eta = np.arange(-40.0, 40.0, h_eta)
        points = np.array(list(itertools.product(z, eta)))
        total = sum(math.exp(t.log_density(w)) for w in points) * h_z * h_eta
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


def test_the_evidence_of_either_order_of_two_items_is_one_half():
    t = target([False] * 4, traces=Traces.from_lists([["a", "b"]]), dim=1)
    h = 0.2
    grid = np.arange(-9.0, 9.0, h)
    points = np.array(list(itertools.product(grid, grid)))
    total = sum(math.exp(t.log_density(w)) for w in points) * h * h
    np.testing.assert_allclose(total, 0.5, rtol=1e-9)


def test_threads_get_the_values_of_one_thread():
    rng = np.random.default_rng(9)
    lists = [list(rng.permutation(ref.LETTERS)) for _ in range(20)]
    t = target(traces=Traces.from_lists(lists, items=list("abcdefghij")))
    points = [point(t, seed) for seed in range(400)]
    serial = [t.log_density_and_grad(w) for w in points]
    with ThreadPoolExecutor(4) as pool:
        parallel = list(pool.map(t.log_density_and_grad, points))
    for (value, gradient), (expected, expected_gradient) in zip(parallel, serial, strict=True):
        assert value == expected
        np.testing.assert_array_equal(gradient, expected_gradient)


def test_the_point_is_left_as_it_was():
    t = target()
    w = point(t)
    before = w.copy()
    t.log_density_and_grad(w)
    np.testing.assert_array_equal(w, before)


def test_a_target_survives_pickling():
    t = target()
    copy = pickle.loads(pickle.dumps(t))
    w = point(t)
    assert copy.log_density(w) == t.log_density(w)
    assert (copy.dim, copy.inferred, copy.model) == (t.dim, t.inferred, t.model)


def test_a_random_dim_is_refused():
    with pytest.raises(SettingError, match="cannot infer the dimension"):
        Target(Model(dim="random"), TRACES)


def test_shapes_are_checked_on_the_way_in_and_out():
    t = target()
    with pytest.raises(InputError, match=r"expected 16 coordinates; got shape \(15,\)"):
        t.constrain(np.zeros(15))
    with pytest.raises(InputError, match=r"expected a latent of shape \(4, 3\); got \(4, 2\)"):
        t.unconstrain(Parameters(np.zeros((4, 2)), 0.5, 1.0, 1.0, 0.1))

"""`Model`: ranges, and the prior of a random dimension."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

from posetta.errors import SettingError
from posetta.model import Model

REFUSED = {
    "dim": ([0, -1, 2.0, True, "any", None], r'must be a whole number from 1, or "random"'),
    "tau": ([0.0, -1.0, np.inf, np.nan, None, "warm", True], "finite number greater than 0"),
    "rho": ([-0.1, 1.0, np.nan, "x", True], r"must lie in \[0, 1\), or be None to infer"),
    "beta": ([-0.1, np.inf, np.nan, "x"], r"must lie in \[0, inf\), or be None to infer"),
    "gamma": ([0.0, -1.0, np.inf, np.nan], r"must lie in \(0, inf\), or be None to infer"),
    "noise": ([-0.1, 1.0, np.nan, "x"], r"must lie in \[0, 1\), or be None to infer"),
    "rho_prior": ([(1.0,), (1.0, 0.0), (1.0, np.inf), (1, 2, 3)], "two finite numbers"),
    "beta_prior": ([(0.0, 1.0), (1.0, -1.0), 2.0, None], "two finite numbers greater than 0"),
    "gamma_prior": ([(np.nan, 1.0), ("a", "b")], "two finite numbers greater than 0"),
    "noise_prior": ([(-1.0, 9.0), ()], "two finite numbers greater than 0"),
    "dim_max": ([0, 1.5, True], "must be a whole number from 1"),
    "dim_prior_mean": ([0.0, -2.0, np.inf, np.nan], "finite number greater than 0"),
}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [(name, value, text) for name, (values, text) in REFUSED.items() for value in values],
)
def test_values_out_of_range_are_refused_by_name(name, value, text):
    with pytest.raises(SettingError, match=rf"^{name}=.*{text}"):
        Model(**{name: value})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"dim": 1},
        {"dim": np.int64(3)},
        {"dim": "random", "dim_max": 1},
        {"rho": 0.0, "beta": 0, "gamma": 1e-300, "noise": 0.0},
        {"rho": 0.999, "beta": 1e3, "gamma": 1e4, "noise": None},
        {"rho_prior": [1, 1]},
        {"rho_prior": np.array([1.0, 2.0])},
    ],
)
def test_the_ends_of_the_ranges_are_accepted(settings):
    model = Model(**settings)
    assert {name: getattr(model, name) for name in settings} == {
        name: tuple(value) if name == "rho_prior" else value for name, value in settings.items()
    }


def test_the_defaults_are_those_of_the_design():
    model = Model()
    assert (model.rho, model.beta, model.gamma, model.noise) == (None, None, None, 0.0)
    assert (model.rho_prior, model.noise_prior) == ((2.0, 2.0), (1.0, 9.0))
    assert (model.beta_prior, model.gamma_prior) == ((2.0, 1.0), (2.0, 1.0))
    assert model.dim_max == 30


@pytest.mark.parametrize("n_items", [1, 5, 20, 150])
@pytest.mark.parametrize("dim_max", [1, 4, 30])
def test_dim_prior_is_the_poisson_truncated_to_1_and_dim_max(n_items, dim_max):
    log_prior = Model(dim="random", dim_max=dim_max).dim_log_prior(n_items)
    k = np.arange(1, dim_max + 1)
    poisson = stats.poisson(n_items / 2).pmf(k)
    assert log_prior.shape == (dim_max,)
    np.testing.assert_allclose(np.exp(log_prior).sum(), 1.0, rtol=1e-13)
    np.testing.assert_allclose(np.exp(log_prior), poisson / poisson.sum(), rtol=1e-10)


def test_dim_prior_mean_replaces_half_the_number_of_items():
    given = Model(dim="random", dim_prior_mean=2.5)
    np.testing.assert_array_equal(given.dim_log_prior(50), Model(dim="random").dim_log_prior(5))


def test_a_method_that_needs_a_fixed_dim_says_so():
    assert Model(dim=3).fixed_dim("nuts") == 3
    with pytest.raises(SettingError, match="'nuts' cannot infer the dimension"):
        Model(dim="random").fixed_dim("nuts")


def test_a_model_is_a_value():
    model = Model(dim=2, rho=0.5, beta_prior=(3.0, 1.0))
    assert Model(**model.to_dict()) == model
    assert pickle.loads(pickle.dumps(model)) == model
    assert hash(model) == hash(Model(dim=2, rho=0.5, beta_prior=(3.0, 1.0)))
    with pytest.raises(AttributeError):
        model.rho = 0.1

"""exp and log of the kernels, against extended precision."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from posetta.model import relaxed_kernel
from posetta.model.vector_math import _EXP_HIGHEST as HIGHEST
from posetta.model.vector_math import _EXP_LOWEST as LOWEST
from posetta.model.vector_math import exp, log

# Both promise about 2e-16, one unit in the last place; the bound leaves room for one more.
RELATIVE_ERROR = 4e-16


@njit(fastmath=relaxed_kernel._FAST, error_model="numpy")
def exp_all(x):
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = exp(x[i])
    return result


@njit(fastmath=relaxed_kernel._FAST, error_model="numpy")
def log_all(x):
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = log(x[i])
    return result


@pytest.mark.parametrize("width", [1e-300, 1e-8, 1e-3, 1.0, 30.0, 690.0])
def test_exp_in_a_vectorised_loop_is_accurate(width):
    x = np.random.default_rng(1).uniform(-width, width, 20_001)
    expected = np.exp(x.astype(np.longdouble))
    assert np.max(np.abs(exp_all(x) / expected - 1)) < RELATIVE_ERROR


@pytest.mark.parametrize("decades", [1e-12, 1e-6, 0.1, 1.0, 10.0, 300.0])
def test_log_in_a_vectorised_loop_is_accurate(decades):
    """Relative accuracy holds also close to 1, where the logarithm itself goes to 0."""
    x = 10.0 ** np.random.default_rng(2).uniform(-decades, decades, 20_001)
    x = x[x != 1.0]
    expected = np.log(x.astype(np.longdouble))
    assert np.max(np.abs(log_all(x) / expected - 1)) < RELATIVE_ERROR


def test_log_at_powers_of_two_and_at_the_ends_of_the_normal_range():
    x = np.append(2.0 ** np.arange(-1022, 1024), [np.finfo(float).tiny, np.finfo(float).max])
    np.testing.assert_allclose(log_all(x), np.log(x), rtol=RELATIVE_ERROR)
    assert log(1.0) == 0.0


def test_exp_at_zero_and_at_its_bounds():
    assert exp(0.0) == 1.0
    for bound in (LOWEST, HIGHEST):
        np.testing.assert_allclose(exp(bound), np.exp(bound), rtol=RELATIVE_ERROR)


def test_exp_clamps_what_would_leave_the_normal_range():
    assert exp(LOWEST - 0.5) == exp(-1e300) == exp(-np.inf) == exp(LOWEST) > 0.0
    assert exp(HIGHEST + 0.5) == exp(1e300) == exp(np.inf) == exp(HIGHEST) < np.inf
    # What is clamped is lost in any sum with 1, and everything else is in reach.
    assert -708.0 <= LOWEST <= -690.0
    assert 690.0 <= HIGHEST <= 709.0


def test_one_at_a_time_and_in_a_loop_agree():
    """The callers' fast-math flags must not reach the rounding constants."""
    x = np.linspace(-690.0, 690.0, 1001)
    scale = np.spacing(np.exp(x))
    assert np.max(np.abs(exp_all(x) - np.array([exp(v) for v in x])) / scale) <= 1.0

"""Draws made of unconstrained points agree with the model functions, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from posetta import Model, simulate
from posetta.infer.relaxed_draws import draws_of
from posetta.model.latent import product_order
from posetta.model.relaxed import relaxed_trace_log_likelihood
from posetta.model.target import Target


@pytest.mark.parametrize("model", [Model(dim=3, tau=0.2), Model(dim=2, beta=0.0, noise=None)])
def test_every_draw_is_what_its_point_says(model: Model) -> None:
    sim = simulate(9, dim=2, rho=0.5, seed=3, lengths=(3, 9), ip_cov=None, n_traces=7)
    target = Target(model, sim.train)
    # More draws than one block, and not a multiple of it.
    points = np.random.default_rng(0).normal(size=(2, 70, target.n_parameters))
    draws = draws_of(target, points)
    draws.check_shapes(9, sim.train.n_unique)
    assert draws.latent is not None
    closures = np.unpackbits(draws.closure_bits, axis=-1, count=9).astype(bool)
    for c, s in np.ndindex(2, 70):
        latent, rho, beta, gamma, noise = target.constrain(points[c, s])
        np.testing.assert_array_equal(draws.latent[c, s], latent)
        np.testing.assert_array_equal(closures[c, s], product_order(latent))
        found = [draws.scalars[name][c, s] for name in ("rho", "beta", "gamma", "noise", "dim")]
        assert found == [rho, beta, gamma, noise, model.dim]
        np.testing.assert_array_equal(
            draws.log_likelihood[c, s],
            relaxed_trace_log_likelihood(latent, beta, gamma, model.tau, sim.train, noise),
        )

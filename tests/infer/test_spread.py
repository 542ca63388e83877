"""Chains and restarts in an executor do what they do here."""

from __future__ import annotations

import pickle
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from posetta import FlowVI, FullRankVI, HardMCMC, Model, RelaxedNUTS, SettingError, fit, simulate


class Elsewhere:
    """Runs everything as another process would: what goes in and out is pickled."""

    def __init__(self) -> None:
        self.n_submitted = 0

    def submit(self, work: Any, *arguments: Any) -> Future[Any]:
        self.n_submitted += 1
        work, arguments = pickle.loads(pickle.dumps((work, arguments)))
        future: Future[Any] = Future()
        try:
            future.set_result(pickle.loads(pickle.dumps(work(*arguments))))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.fixture(scope="module")
def traces():
    return simulate(5, rho=0.5, seed=3).train


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        (HardMCMC(draws=40, warmup=30, chains=3, thin=2), Model()),
        (HardMCMC(draws=20, warmup=30, chains=2, thin=1, rungs=2), Model(noise=None)),
        (RelaxedNUTS(draws=30, warmup=30, chains=3), Model(dim=2)),
        (RelaxedNUTS(draws=30, warmup=30, chains=2, mass_matrix="full-rank"), Model(dim=2)),
        (FullRankVI(draws=30, iterations=400, restarts=3, starts=("prior",)), Model(dim=2)),
        (
            FlowVI(draws=30, layers=1, bins=4, width=8, iterations=30, restarts=2),
            Model(dim=2),
        ),
    ],
    ids=["hard", "hard, rungs", "nuts", "nuts, full-rank", "fullrank", "flow"],
)
def test_the_same_draws_with_and_without_an_executor(traces, settings, model):
    elsewhere = Elsewhere()
    apart = fit(traces, settings, model, seed=5, executor=elsewhere)
    here = fit(traces, settings, model, seed=5)
    assert elsewhere.n_submitted == getattr(settings, "chains", getattr(settings, "restarts", None))
    np.testing.assert_array_equal(apart.draws.closure_bits, here.draws.closure_bits)
    np.testing.assert_array_equal(apart.draws.latent, here.draws.latent)
    for name, values in here.draws.scalars.items():
        np.testing.assert_array_equal(apart.draws.scalars[name], values)
    np.testing.assert_array_equal(apart.precedence, here.precedence)
    assert (apart.status, apart.method) == (here.status, here.method)
    for name in ("r_hat_max", "elbo", "elbo_restarts", "elbo_gaussians"):
        assert apart.diagnostics.get(name) == here.diagnostics.get(name)
    assert apart.settings == here.settings


def test_time_limits_hold_in_an_executor(traces):
    settings = HardMCMC(draws=100_000, warmup=0, chains=2, thin=1, max_seconds=0.05)
    posterior = fit(traces, settings, seed=5, executor=Elsewhere())
    assert posterior.status == "budget_reached"
    assert 1 <= posterior.draws.n_draws < 100_000


def test_a_restart_that_ran_out_of_time_ends_the_fit(traces):
    settings = FullRankVI(draws=10, restarts=2, starts=("prior",), max_seconds=1e-9)
    posterior = fit(traces, settings, Model(dim=2), seed=5, executor=Elsewhere())
    assert posterior.status == "budget_reached"


def test_a_chain_that_fails_ends_the_fit_at_once(traces):
    class OneFails:
        """The first job fails; the others are never done."""

        def __init__(self) -> None:
            self.futures: list[Future[Any]] = []

        def submit(self, *_: Any) -> Future[Any]:
            self.futures.append(Future())
            if len(self.futures) == 1:
                self.futures[0].set_exception(ValueError("chain 0"))
            return self.futures[-1]

    executor = OneFails()
    with pytest.raises(ValueError, match="chain 0"):
        fit(traces, HardMCMC(draws=4, chains=3), executor=executor)
    assert all(future.cancelled() for future in executor.futures[1:])


def test_what_cannot_run_apart_says_so(traces, tmp_path):
    with pytest.raises(SettingError, match="only the chains of hard and nuts and the restarts"):
        fit(traces, "maximal", executor=Elsewhere())
    checkpointed = HardMCMC(draws=4, checkpoint=str(tmp_path / "c"))
    with pytest.raises(SettingError, match="drop the executor"):
        fit(traces, checkpointed, executor=Elsewhere())


def test_an_error_in_a_chain_is_the_users(traces):
    with pytest.raises(SettingError, match="beta=500"):
        fit(traces, HardMCMC(), Model(beta=500.0), executor=Elsewhere())

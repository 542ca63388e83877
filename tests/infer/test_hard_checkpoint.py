"""A run that is stopped and resumed gives the draws of one that was not."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from posetta import HardMCMC, InputError, Model, Posterior, SettingError, Traces, fit, simulate

TRAIN = simulate(8, seed=3, ip_cov=None, n_traces=6, lengths=(3, 8)).train
PLAN = {"warmup": 300, "chains": 3, "thin": 3}
MODELS = {
    "noise 0": Model(),
    "random dimension and noise": Model(dim="random", dim_max=6, noise=None),
}


def assert_same_draws(a: Posterior, b: Posterior) -> None:
    np.testing.assert_array_equal(a.draws.closure_bits, b.draws.closure_bits)
    np.testing.assert_array_equal(a.draws.latent, b.draws.latent)
    np.testing.assert_array_equal(a.draws.log_likelihood, b.draws.log_likelihood)
    for name, values in a.draws.scalars.items():
        np.testing.assert_array_equal(values, b.draws.scalars[name])
    assert a.diagnostics["acceptance"] == b.diagnostics["acceptance"]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_resumed_draws_are_the_same(model: Model, tmp_path: Path) -> None:
    whole = fit(TRAIN, HardMCMC(draws=3000, **PLAN), model, seed=5)
    file = str(tmp_path / "run.npz")
    # On a machine of any speed: long before the whole run is done.
    seconds = whole.seconds["run"] / 5
    settings = HardMCMC(draws=3000, max_seconds=seconds, checkpoint=file, **PLAN)
    part, parts = None, 0
    while part is None or part.status == "budget_reached":
        parts += 1
        assert parts < 1000
        with suppress(SettingError):  # stopped in the warm-up
            part = fit(TRAIN, settings, model, seed=5)
    assert parts > 1
    assert part.seconds["run"] > (parts - 1) * seconds  # of all parts, not of the last
    assert_same_draws(whole, part)


def test_tempered_chains_resume_too(tmp_path: Path) -> None:
    plan = {**PLAN, "rungs": 3}
    file = str(tmp_path / "run.npz")
    fit(TRAIN, HardMCMC(draws=30, checkpoint=file, **plan), seed=5)
    more = fit(TRAIN, HardMCMC(draws=80, checkpoint=file, **plan), seed=5)
    assert_same_draws(more, fit(TRAIN, HardMCMC(draws=80, **plan), seed=5))


def test_more_draws_continue_a_finished_run(tmp_path: Path) -> None:
    file = str(tmp_path / "run.npz")
    fit(TRAIN, HardMCMC(draws=50, checkpoint=file, **PLAN), seed=5)
    more = fit(TRAIN, HardMCMC(draws=120, checkpoint=file, **PLAN), seed=5)
    assert_same_draws(more, fit(TRAIN, HardMCMC(draws=120, **PLAN), seed=5))
    done = fit(TRAIN, HardMCMC(draws=120, checkpoint=file, **PLAN), seed=5)
    assert done.diagnostics["proposals_per_second"] == 0  # nothing was left to propose


def test_whole_numbers_of_numpy_are_whole_numbers(tmp_path: Path) -> None:
    file = str(tmp_path / "run.npz")
    numpys = HardMCMC(draws=20, warmup=np.int64(30), chains=np.int64(1), thin=1, checkpoint=file)
    fit(TRAIN, numpys, Model(dim=np.int64(4)), seed=5)
    pythons = HardMCMC(draws=30, warmup=30, chains=1, thin=1, checkpoint=file)
    assert fit(TRAIN, pythons, Model(dim=4), seed=5).draws.n_draws == 30


def test_more_draws_than_asked_for_are_refused(tmp_path: Path) -> None:
    file = str(tmp_path / "run.npz")
    fit(TRAIN, HardMCMC(draws=120, checkpoint=file, **PLAN), seed=5)
    with pytest.raises(SettingError, match="draws=120 or more"):
        fit(TRAIN, HardMCMC(draws=50, checkpoint=file, **PLAN), seed=5)


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    settings = HardMCMC(draws=20, checkpoint=str(file), **PLAN)
    fit(TRAIN, settings, seed=5)
    written = file.read_bytes()
    with pytest.raises(SettingError, match="seed differ"):
        fit(TRAIN, settings, seed=6)
    with pytest.raises(SettingError, match="model differ"):
        fit(TRAIN, settings, Model(dim=3), seed=5)
    with pytest.raises(SettingError, match="traces, order of the traces differ"):
        fit(simulate(8, seed=4).train, settings, seed=5)
    # What is frozen has an entry for each row: the same rows in another order are another run.
    other_order = Traces.from_lists(list(TRAIN)[::-1], items=TRAIN.items)
    assert other_order.hash == TRAIN.hash
    with pytest.raises(SettingError, match=": order of the traces differ"):
        fit(other_order, settings, seed=5)
    with pytest.raises(SettingError, match="thin differ"):
        fit(TRAIN, HardMCMC(draws=20, checkpoint=str(file), **{**PLAN, "thin": 2}), seed=5)
    assert file.read_bytes() == written


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    file.write_text("no archive")
    with pytest.raises(InputError, match="Delete it"):
        fit(TRAIN, HardMCMC(draws=20, checkpoint=str(file), **PLAN), seed=5)
    assert file.read_text() == "no archive"


def test_a_checkpoint_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "missing" / "run.npz")
    with pytest.raises(InputError, match="cannot be written"):
        fit(TRAIN, HardMCMC(draws=20, checkpoint=nowhere, **PLAN), seed=5)


def test_stopped_in_the_warm_up_it_says_how_to_go_on(tmp_path: Path) -> None:
    file = str(tmp_path / "run.npz")
    settings = HardMCMC(warmup=10**7, chains=1, max_seconds=0.01, checkpoint=file)
    with pytest.raises(SettingError, match="Run it again to go on from"):
        fit(TRAIN, settings, seed=5)

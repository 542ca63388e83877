"""Result folders of earlier versions load for ever. The folders beside this file never change."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from posetta import load, save
from posetta.posterior import score_traces

HERE = Path(__file__).parent
FOLDERS = ("schema_1", "schema_1_relaxed")


@pytest.mark.parametrize("name", FOLDERS)
def test_what_was_saved_is_what_is_loaded(name, tmp_path):
    told = json.loads((HERE / name / "result.json").read_text(encoding="utf-8"))
    assert told["schema_version"] == 1
    posterior = load(HERE / name)
    assert posterior.items == ("plan", "code", "test", "ship", "näch\0ste") == tuple(told["items"])
    np.testing.assert_allclose(posterior.precedence, told["precedence"], atol=1e-6)
    closure = [list(pair) for pair in posterior.decode(told["threshold"]).closure_pairs]
    assert closure == told["closure"]
    for scalar, values in told["scalars"].items():
        assert posterior.scalar_summary[scalar] == pytest.approx(values)
    assert (posterior.method, posterior.status) == (told["method"], told["status"])
    assert posterior.diagnostics == told["diagnostics"]
    traces = posterior.traces
    assert traces.ids == ("one", "two", "three", "top-1")
    assert traces.counts.tolist() == [2, 1, 1, 1]
    assert [traces.items[i] for i in traces.choice_set(3)] == ["code", "test", "ship"]
    assert load(save(posterior, tmp_path / "again")).precedence == pytest.approx(
        posterior.precedence
    )


@pytest.mark.parametrize("name", FOLDERS)
def test_loaded_draws_score_the_training_traces_as_the_saved_likelihood_says(name):
    posterior = load(HERE / name)
    draws = posterior.draws.log_likelihood
    saved = np.logaddexp.reduce(draws.reshape(-1, draws.shape[2]), axis=0)
    saved -= np.log(draws.shape[0] * draws.shape[1])
    scores = score_traces(posterior, posterior.traces)
    np.testing.assert_allclose([score.log_probability for score in scores], saved)


def test_the_relaxed_draws_keep_their_latents():
    draws = load(HERE / "schema_1_relaxed").draws
    assert draws.latent is not None
    assert draws.latent.shape == (2, 4, 5, 2)
    assert set(draws.scalars) == {"rho", "beta", "gamma", "dim", "noise"}

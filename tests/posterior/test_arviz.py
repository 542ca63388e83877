"""ArviZ, of either generation, works on `to_datatree()`."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from posetta import load
from posetta.posterior.diagnostics import effective_size, split_r_hat

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its next major version is announced at every import
    az = pytest.importorskip("arviz")


@pytest.fixture
def posterior():
    return load(Path(__file__).parent / "schema_1_relaxed")


def for_arviz(posterior):
    """Return what this ArviZ takes: from 1.0 on the tree itself, before an InferenceData of it."""
    tree = posterior.to_datatree()
    return az.from_datatree(tree) if hasattr(az, "from_datatree") else tree


def test_r_hat_and_effective_size_agree_with_ours(posterior):
    data = for_arviz(posterior)
    beta = posterior.draws.scalars["beta"]
    r_hat = float(az.rhat(data, var_names=["beta"], method="split")["beta"])
    assert r_hat == pytest.approx(split_r_hat(beta, by_rank=False))
    assert float(az.ess(data, var_names=["beta"])["beta"]) == pytest.approx(
        effective_size(beta), rel=1e-6
    )


def test_traces_are_plotted(posterior):
    pytest.importorskip("matplotlib").use("Agg")
    data = for_arviz(posterior)
    if hasattr(az, "from_datatree"):
        assert az.plot_trace(data, var_names=["rho", "beta"]).shape == (2, 2)
    else:
        assert az.plot_trace(data, var_names=["rho", "beta"]) is not None


def test_users_see_their_labels_as_they_are(posterior):
    tree = posterior.to_datatree()
    assert tree["posterior"]["item"].values.tolist() == list(posterior.items)
    assert tree["observed_data"]["record_id"].values.tolist() == list(posterior.traces.ids)
    closure = tree["posterior"]["closure"].sel(item="plan", item_after="code")
    assert float(closure.mean()) == pytest.approx(posterior.probability("plan", "code"))
    assert closure.dtype == np.bool_

"""The kinds of data sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from posetta import InputError, SettingError, simulate
from posetta.suite.data_sets import make


def test_simulated_data_are_those_of_simulate():
    data = make({"kind": "simulated", "n": 6, "rho": 0.9, "seed": 7, "coverage": 0.8})
    sim = simulate(6, rho=0.9, seed=7, ip_cov=0.8)
    assert data.train.hash == sim.train.hash
    assert data.test is not None
    assert data.test.hash == sim.test.hash
    assert data.truth == sim.order
    assert data.ip_cov == sim.ip_cov


def test_few_partial_and_noisy_traces():
    data = make(
        {"kind": "simulated", "n": 8, "seed": 1, "coverage": "iid", "traces_per_item": 0.5,
         "lengths": 0.5, "noise": 0.1, "test": 3}
    )  # fmt: skip
    assert len(data.train) == 4
    assert set(data.train.n_listed.tolist()) == {4}
    assert data.test is not None
    assert len(data.test) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"traces": 5, "traces_per_item": 2.0}, "traces=5 and traces_per_item=2.0 both say"),
        ({"trace": 5}, "has no parameter 'trace'"),
    ],
)
def test_a_parameter_that_would_be_ignored_is_refused(given, message):
    with pytest.raises(SettingError, match=message):
        make({"kind": "simulated", "n": 4, **given})


def test_a_missing_file_says_how_to_name_the_folder(tmp_path: Path):
    with pytest.raises(InputError, match=r"x\.txt is not there.*POSETTA_DATA"):
        make({"kind": "traces_file", "file": "x.txt"}, tmp_path)


@pytest.mark.parametrize("protocol", ["as_is", "topped_up"])
def test_cloud_protocols(shared_data: Path, protocol: str):
    data = make(
        {"kind": "cloud", "scenario": "simple_ecs", "seed": 7, "protocol": protocol}, shared_data
    )
    assert data.test is not None
    assert data.truth is not None
    assert data.train.items == data.truth.items
    assert len(data.test) == 3
    if protocol == "as_is":
        assert len(data.train) == 7
        assert data.ip_cov == 0.0
    else:
        assert len(data.train) > 7
        assert data.ip_cov == 1.0


def test_orders_and_lists_from_files(shared_data: Path):
    name = "wfcommons/srasearch-chameleon-10a-001.order.json"
    data = make({"kind": "order_file", "file": name, "seed": 7, "coverage": "iid"}, shared_data)
    assert data.train.n_items == 22
    lists = make(
        {"kind": "traces_file", "file": "royal_acta/bishops.traces.jsonl", "choice_set": "all"},
        shared_data,
    )
    assert lists.test is None
    assert lists.truth is None
    assert lists.ip_cov is None
    assert {len(lists.train.choice_set(r)) for r in range(lists.train.n_unique)} == {47}

"""Result folders: what is written, what comes back, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace

import h5py
import numpy as np
import pytest
import xarray
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.posterior.examples import TRAIN, hard_posterior, relaxed_posterior, three_draws
from tests.strategies import hostile_labels

from posetta import Exact, HardMCMC, InputError, Model, Traces, fit, load, read_traces, save
from posetta.model.latent import product_order
from posetta.posterior.io import DRAWS_FILE, SUMMARY_FILE, summary
from posetta.posterior.tree import _chunks


def assert_same(one, two):
    """Compare everything that a posterior holds."""
    for field in fields(one):
        if field.name not in ("traces", "draws", "precedence", "settings", "model"):
            assert getattr(one, field.name) == getattr(two, field.name), field.name
    assert one.model == two.model
    assert dict(one.settings) == dict(two.settings)
    np.testing.assert_array_equal(one.precedence, two.precedence)
    np.testing.assert_array_equal(one.draws.closure_bits, two.draws.closure_bits)
    np.testing.assert_array_equal(one.draws.log_likelihood, two.draws.log_likelihood)
    assert one.draws.scalars.keys() == two.draws.scalars.keys()
    for name, values in one.draws.scalars.items():
        np.testing.assert_array_equal(values, two.draws.scalars[name])
    assert (one.draws.latent is None) == (two.draws.latent is None)
    if one.draws.latent is not None:
        np.testing.assert_array_equal(one.draws.latent, two.draws.latent)
    assert_same_traces(one.traces, two.traces)


def assert_same_traces(one, two):
    assert one.items == two.items
    assert one.hash == two.hash
    assert list(one) == list(two)
    assert one.ids == two.ids
    assert one.source == two.source
    assert [dict(m) for m in one.records.metadata] == [dict(m) for m in two.records.metadata]
    for name in ("members", "offsets", "n_listed", "counts"):
        a, b = getattr(one, name), getattr(two, name)
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype, name


POSTERIORS = {
    "three draws": lambda: three_draws(
        n_chains=3,
        status="unmixed",
        warnings=("run longer: raise draws",),
        diagnostics={"r_hat_max": 1.2, "divergences": 0},
        seconds={"compile": 0.5, "run": 1.5},
        settings={"draws": 1, "chains": 3},
        seed=12,
    ),
    "relaxed draws": lambda: relaxed_posterior(
        np.random.default_rng(0).standard_normal((4, 3, 2)),
        [1, 2, 3, 4], [1, 1, 2, 2], [0, 0, 0.1, 0.1], TRAIN, n_chains=2,
    ),
    "exact": lambda: fit(TRAIN, Exact(draws=20, prior_draws=1000), Model(dim="random", noise=None)),
    "majority": lambda: fit(TRAIN, "majority"),
    "maximal of contradictions": lambda: fit(
        Traces.from_lists([["a", "b"], ["b", "c"], ["c", "a"]], counts=[3, 2, 1]), "maximal"
    ),
    "no traces": lambda: fit(
        Traces.from_lists([], items=["a", "b"]), Exact(draws=5, prior_draws=1000)
    ),
    "one item": lambda: fit(Traces.from_lists([["a"]]), "majority"),
    "top-k lists": lambda: fit(
        Traces.from_lists([["a"]], choice_sets=[list("abc")]), Exact(draws=5, prior_draws=1000)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", POSTERIORS)
def test_round_trip(name, tmp_path):
    posterior = POSTERIORS[name]()
    folder = save(posterior, tmp_path / "out")
    assert sorted(p.name for p in folder.iterdir()) == [DRAWS_FILE, SUMMARY_FILE]
    assert_same(load(folder), posterior)
    assert load(str(folder)).decode() == posterior.decode()


def test_padded_latents_survive(tmp_path):
    posterior = three_draws()
    latent = np.array([[[[1.0, np.nan], [0.0, np.nan], [-1.0, np.nan]]] * 3])
    draws = replace(posterior.draws, latent=latent)
    found = load(save(replace(posterior, draws=draws), tmp_path / "out"))
    np.testing.assert_array_equal(found.draws.latent, latent)


def test_a_fresh_process_reads_the_folder(tmp_path):
    posterior = three_draws(n_chains=3)
    save(posterior, tmp_path / "out")
    code = (
        "import posetta, sys; p = posetta.load(sys.argv[1]);"
        "print(p.precedence.tolist(), list(p.traces), p.decode().cover_pairs)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "out"], capture_output=True, text=True, check=True
    )
    expected = (posterior.precedence.tolist(), list(TRAIN), posterior.decode().cover_pairs)
    assert done.stdout.strip() == " ".join(map(str, expected))


def test_where_traces_came_from_survives(tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text(
        '{"id": "run\\\\1", "items": ["a", "b"], "team": {"size": 3, "name": "Zoë"}}\n'
        '\n{"items": ["b", "a"], "count": 2, "choice_set": ["a", "b", "c"]}\n',
        encoding="utf-8",
    )
    traces = read_traces(file)
    found = load(save(fit(traces, "majority"), tmp_path / "out")).traces
    assert_same_traces(found, traces)
    assert found.ids[0] == "run\\1"
    assert [line for _, line in found.source] == [1, 3]
    assert found.records.metadata[0] == {"team": {"size": 3, "name": "Zoë"}}
    assert found.describe_row(0) == traces.describe_row(0)


@settings(
    derandomize=True,
    deadline=None,
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(hostile_labels, min_size=2, max_size=4, unique=True))
def test_hostile_labels_survive(tmp_path, labels):
    traces = Traces.from_lists([labels, labels[:1]], ids=labels[:2])
    posterior = fit(traces, "majority")
    assert_same(load(save(posterior, tmp_path / "out", overwrite=True)), posterior)


def test_quotes_newlines_emoji_and_right_to_left_survive(tmp_path):
    labels = ['say "hi"', "two\nlines", "🚀🏽", "שלום", "a\\0b", "a\0b", "tab\t,;", "-1", "é" * 300]
    posterior = fit(Traces.from_lists([labels], ids=["\0 \\ \\0"]), "majority")
    assert_same(load(save(posterior, tmp_path / "out")), posterior)


def test_result_json_holds_what_the_contract_lists(tmp_path):
    posterior = POSTERIORS["exact"]()
    save(posterior, tmp_path / "out", threshold=0.25)
    head = json.loads((tmp_path / "out" / SUMMARY_FILE).read_text(encoding="utf-8"))
    assert head.keys() >= {
        "schema_version", "posetta_version", "method", "model", "settings", "seed", "data",
        "items", "precedence", "threshold", "closure", "covers", "scalars", "diagnostics",
        "status", "warnings", "seconds", "environment",
    }  # fmt: skip
    assert head["data"] == {
        "hash": TRAIN.hash,
        "n_traces": 3,
        "n_unique": 2,
        "n_items": 3,
        "max_length": 3,
        "read": {"files": [], "format": "", "detected": "", "notes": {}},
    }
    assert head["seconds"].keys() == {"compile", "run"}
    assert head["items"] == ["a", "b", "c"]
    assert head["scalars"].keys() == {"rho", "beta", "dim", "noise"}
    assert all(s.keys() == {"mean", "sd", "q5", "q95"} for s in head["scalars"].values())
    np.testing.assert_allclose(head["precedence"], posterior.precedence, atol=1e-6)
    order = posterior.decode(0.25)
    assert head["threshold"] == 0.25
    assert head["closure"] == [list(p) for p in order.closure_pairs]
    assert head["covers"] == [list(p) for p in order.cover_pairs]
    assert head["closure"] != head["covers"]


def test_numpy_numbers_in_settings_and_seed_are_written(tmp_path):
    posterior = fit(
        TRAIN,
        Exact(draws=np.int64(5), prior_draws=1000),
        Model(dim=np.int64(2), beta=np.float32(0.5)),
        seed=np.int64(3),
    )
    found = load(save(posterior, tmp_path / "out"))
    assert found.seed == 3
    assert found.settings == {"draws": 5, "prior_draws": 1000}
    assert found.model == Model(dim=2, beta=0.5)


# -- existing folders ------------------------------------------------------------------------------


def listing(folder):
    return sorted(p.name for p in folder.iterdir())


def test_an_existing_result_is_not_replaced(tmp_path):
    save(three_draws(seed=1), tmp_path / "out")
    with pytest.raises(InputError, match=r"out holds earlier results.*overwrite=True"):
        save(three_draws(seed=2), tmp_path / "out")
    assert load(tmp_path / "out").seed == 1
    assert listing(tmp_path) == ["out"]


def test_overwrite_replaces_the_whole_folder(tmp_path):
    save(three_draws(seed=1), tmp_path / "out")
    (tmp_path / "out" / "report.html").write_text("of the first run")
    save(three_draws(seed=2), tmp_path / "out", overwrite=True)
    assert load(tmp_path / "out").seed == 2
    assert listing(tmp_path / "out") == [DRAWS_FILE, SUMMARY_FILE]
    assert listing(tmp_path) == ["out"]


def test_an_empty_folder_and_missing_parents_are_fine(tmp_path):
    (tmp_path / "empty").mkdir()
    save(three_draws(), tmp_path / "empty")
    save(three_draws(), tmp_path / "new" / "deep")
    assert load(tmp_path / "empty").seed == load(tmp_path / "new" / "deep").seed == 0


def test_a_file_in_the_way_is_kept(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        save(three_draws(), tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"cannot be written: (Not a directory|File exists)"):
        save(three_draws(), tmp_path / "file" / "out")
    assert listing(tmp_path) == ["file"]


def test_a_failing_save_leaves_nothing_behind(tmp_path):
    # JSON knows no sets.
    broken = three_draws(diagnostics={"elbo": {1.0}})
    with pytest.raises(TypeError, match="JSON"):
        save(broken, tmp_path / "out")
    assert listing(tmp_path) == []
    save(three_draws(seed=1), tmp_path / "out")
    with pytest.raises(TypeError, match="JSON"):
        save(broken, tmp_path / "out", overwrite=True)
    assert load(tmp_path / "out").seed == 1
    assert listing(tmp_path) == ["out"]


def test_what_json_has_no_number_for_is_null_at_any_depth(tmp_path):
    nan, inf = float("nan"), float("inf")
    posterior = three_draws(
        diagnostics={
            "elbo": -inf,
            "ess": {"rho": nan, "beta": np.float64(3.5), "of": {"chain": [1.0, inf]}},
            "steps": np.array([[0.5, nan]], dtype=np.float32),
        },
        settings={"max_seconds": inf, "draws": np.int64(3)},
        seconds={"compile": nan, "run": np.float32(1.5)},
    )
    found = load(save(posterior, tmp_path / "out"))
    assert found.diagnostics == {
        "elbo": None,
        "ess": {"rho": None, "beta": 3.5, "of": {"chain": [1.0, None]}},
        "steps": [[0.5, None]],
    }
    assert found.settings == {"max_seconds": None, "draws": 3}
    assert found.seconds == {"compile": None, "run": 1.5}
    json.dumps(summary(posterior), allow_nan=False)  # what --json prints


# -- the draws file --------------------------------------------------------------------------------


def test_the_draws_are_never_unpacked(tmp_path, monkeypatch):
    posterior = three_draws(n_chains=3)
    unpackbits = np.unpackbits

    def one_relation_only(bits, *arguments, **more):
        assert bits.ndim == 2, "several draws at once"
        return unpackbits(bits, *arguments, **more)

    monkeypatch.setattr(np, "unpackbits", one_relation_only)
    found = load(save(posterior, tmp_path / "out"))
    np.testing.assert_array_equal(found.draws.closure_bits, posterior.draws.closure_bits)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_draws_file_is_packed_compressed_and_chunked(tmp_path, dtype):
    n, n_draws = 60, 300
    generator = np.random.default_rng(0)
    latent = generator.standard_normal((2 * n_draws, n, 2)).astype(dtype)
    train = Traces.from_lists([[str(i) for i in range(n)]])
    posterior = hard_posterior(
        product_order(latent.astype(float)), np.ones(2 * n_draws), np.full(2 * n_draws, 0.5), train,
        n_chains=2,
    )  # fmt: skip
    draws = replace(posterior.draws, latent=latent.reshape(2, n_draws, n, 2))
    folder = save(replace(posterior, draws=draws), tmp_path / "out")
    with h5py.File(folder / DRAWS_FILE) as file:
        bits, latents = file["posterior/closure_bits"], file["posterior/latent"]
        assert bits.shape == (2, n_draws, n, 8)
        assert bits.dtype == np.uint8
        assert "closure" not in file["posterior"]
        for held in (bits, latents, file["log_likelihood/trace"], file["posterior/beta"]):
            assert held.compression == "gzip"
            assert held.chunks[0] == 1
            assert held.chunks[2:] == held.shape[2:]
        assert latents.dtype == dtype
    found = load(folder).draws
    np.testing.assert_array_equal(found.closure_bits, draws.closure_bits)
    np.testing.assert_array_equal(found.latent, draws.latent)
    assert found.latent.dtype == dtype


def test_chunks_stay_small():
    wide = xarray.DataArray(np.zeros((2, 5000, 300, 38), np.uint8))
    assert _chunks(wide) == (1, 2**20 // (300 * 38), 300, 38)
    wider = xarray.DataArray(np.zeros((1, 2, 2**18)))
    assert _chunks(wider) == (1, 1, 2**18)


# -- damaged folders -------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    return save(three_draws(), tmp_path / "out")


def edit(folder, **changes):
    head = json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))
    (folder / SUMMARY_FILE).write_text(json.dumps({**head, **changes}), encoding="utf-8")


def test_a_missing_folder(tmp_path):
    with pytest.raises(InputError, match=r"nowhere is not a result folder: .* is missing"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", [DRAWS_FILE, SUMMARY_FILE])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"is not a result folder: .*{name} is missing"):
        load(folder)


@pytest.mark.parametrize("name", [DRAWS_FILE, SUMMARY_FILE])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_truncated_file(folder, name, share):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match="out is damaged and cannot be read"):
        load(folder)


@pytest.mark.parametrize(
    "content", [b"[]", b"3", b"{}", b'{"schema_version": "one"}', b"\xff\xfe", b'{"a": 1,}']
)
def test_a_summary_of_the_wrong_shape(folder, content):
    (folder / SUMMARY_FILE).write_bytes(content)
    with pytest.raises(InputError, match="out is damaged and cannot be read"):
        load(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"dim": -1}},
        {"model": {"colour": 1}},
        {"model": 3},
        {"items": None},
        {"settings": None},
        {"diagnostics": 3},
        {"seed": "a"},
        {"warnings": "x"},
        {"threshold": 7},
    ],
)
def test_a_summary_with_wrong_values(folder, changes):
    edit(folder, **changes)
    with pytest.raises(InputError, match="out is damaged and cannot be read"):
        load(folder)


def test_a_result_of_a_newer_posetta(folder):
    edit(folder, schema_version=99)
    with pytest.raises(InputError, match=r"schema version 99.*Install a newer Posetta"):
        load(folder)


def test_items_that_do_not_match_the_draws(folder):
    edit(folder, items=["a", "b"])
    with pytest.raises(InputError, match="out is damaged and cannot be read"):
        load(folder)


def test_a_summary_that_disagrees_with_the_draws_file(folder):
    precedence = three_draws().precedence
    edit(folder, precedence=np.round(precedence, 6).tolist())
    load(folder)
    for wrong in (np.round(precedence, 6) + 2e-6, np.round(precedence, 6)[:2], precedence * np.nan):
        edit(folder, precedence=[[None if v != v else v for v in row] for row in wrong.tolist()])
        with pytest.raises(InputError, match=r"out is damaged.* disagree on the precedence\.$"):
            load(folder)


@pytest.mark.parametrize("draw", [0, 2])
@pytest.mark.parametrize(
    "closure",
    [
        pytest.param([[1, 1, 1], [0, 0, 0], [0, 0, 0]], id="reflexive"),
        pytest.param([[0, 1, 0], [1, 0, 0], [0, 0, 0]], id="cyclic"),
        pytest.param([[0, 1, 0], [0, 0, 1], [0, 0, 0]], id="not transitive"),
    ],
)
def test_draws_that_are_not_orders(folder, closure, draw):
    with h5py.File(folder / DRAWS_FILE, "r+") as file:
        file["posterior/closure_bits"][0, draw] = np.packbits(closure, axis=-1)
    with pytest.raises(InputError, match=r"out is damaged.* holds draws that are not orders\."):
        load(folder)


@pytest.mark.parametrize("changes", [{"status": "fine"}, {"data": {}}, {"warnings": None}])
def test_other_wrong_values(folder, changes):
    edit(folder, **changes)
    with pytest.raises(InputError, match="out is damaged and cannot be read"):
        load(folder)


def test_versions_and_statistics_are_those_of_the_fit(tmp_path):
    post = fit(TRAIN, HardMCMC(draws=10, warmup=10, chains=2), seed=1)
    old = replace(post, made_with={**post.made_with, "posetta": "0.0.1", "python": "3.10.0"})
    save(old, tmp_path / "a")
    save(load(tmp_path / "a"), tmp_path / "b")
    told = json.loads((tmp_path / "b" / "result.json").read_text())
    assert told["posetta_version"] == "0.0.1"
    assert told["environment"]["python"] == "3.10.0"
    again = load(tmp_path / "b")
    np.testing.assert_array_equal(again.draws.statistics["lp"], post.draws.statistics["lp"])
    assert post.to_datatree()["sample_stats"]["lp"].shape == (2, 10)

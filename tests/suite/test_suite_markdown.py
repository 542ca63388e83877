"""Tables in Markdown and the tidy table on disk."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.suite.studies import tiny

from posetta import SettingError
from posetta.cli import main
from posetta.suite import (
    Store,
    markdown_tables,
    read_study,
    run_study,
    runner,
    tidy_rows,
    write_table,
)
from posetta.suite.markdown import _cell, figure, paper_table

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
GRID = {
    "title": "Grid", "rows": ["n", "rho", "method"], "columns": ["f1_50", "trace_nll", "seconds"],
    "paper": "full_grid",
}  # fmt: skip


def test_the_papers_figures_stand_beside_ours(tmp_path: Path):
    study = tiny(
        axes={"n": [5, 6], "rho": [0.5], "seed": [7, 11]},
        methods={"hard": {"method": "maximal"}, "majority": {}},
        tables=[GRID],
    )
    run_study(study, tmp_path, where={"seed": "7"})
    text = markdown_tables(Store(tmp_path))
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert lines[0] == "| n | rho | method | jobs | F1 at 1/2 | Trace NLL | seconds |"
    hard = lines[2].split(" | ")
    assert hard[:4] == ["| 5", "0.5", "hard", "1/2"]
    assert hard[4] == "1.000 [1.000]"
    assert "[3.338]" in hard[5]
    assert "[87.58]" in hard[6]
    assert "[" not in lines[4]  # the paper has no n = 6
    assert "tab:full-synthetic-grid-unified" in text
    assert "4 of 8 jobs done" in text


def test_a_key_can_be_spread_over_columns(tmp_path: Path):
    spread = {
        "title": "F1", "rows": ["n"], "across": "method", "columns": ["f1_50"],
        "paper": "full_grid",
    }  # fmt: skip
    study = tiny(
        axes={"n": [5, 6], "rho": [0.5], "seed": [7]},
        methods={"hard": {"method": "maximal"}, "majority": {}},
        tables=[spread, {**spread, "title": "Both", "columns": ["f1_50", "n_missed_50"]}],
    )
    run_study(study, tmp_path)
    text = markdown_tables(Store(tmp_path))
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert lines[0] == "| n | jobs | hard | majority |"
    assert lines[2].startswith("| 5 | 2/2 | 1.000 [1.000] | ")
    assert "| F1 at 1/2, hard | F1 at 1/2, majority | n missed 50, hard |" in text


@pytest.mark.parametrize(
    ("rows", "paper", "cell"),
    [
        ([], None, "–"),
        ([], 0.5, "– [0.500]"),
        ([{"x": 1.0}, {"x": 3.0}], 4.0, "2.000 ± 1.000 [4.000]"),
        ([{"x": float("inf"), "x_finite": 2.0}, {"x": 4.0}], None, "∞ in 1 of 2; 3.000 without"),
        ([{"x": "ok"}, {"x": "unmixed"}, {"x": "ok"}], None, "ok, unmixed"),
        ([{"x": None}, {"x": 5.0}], None, "5.000 (1 of 2)"),
        ([{"x": 5.0}, {}, {"x": 7.0}], 4.0, "6.000 ± 1.000 (2 of 3) [4.000]"),
        ([{"x": float("inf")}, {"x": None}], None, "∞ in 1 of 1 (1 of 2)"),
        ([{"x": "ok"}, {}], None, "ok (1 of 2)"),
        ([{"x": None}, {}], None, "–"),
    ],
)
def test_cells(rows, paper, cell):
    assert _cell(rows, "x", paper) == cell


def test_a_fact_of_the_data_is_missing_once_for_all_methods():
    rows = [{"data": d, "ip_cov": value} for d, value in (("a", 0.5), ("a", 0.5), ("b", None))]
    assert _cell(rows, "ip_cov", None) == "0.500 (1 of 2)"


def test_rows_of_other_versions_of_the_code_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run_study(tiny(), tmp_path)
    (code,) = {row["code"] for row in tidy_rows(Store(tmp_path))}
    assert "versions of the code" not in markdown_tables(Store(tmp_path))
    monkeypatch.setattr(runner, "code_version", lambda: "0" * 8)
    run_study(tiny(), tmp_path, where={"method": "maximal", "n": 4})
    assert [row["code"] for row in tidy_rows(Store(tmp_path))] == ["0" * 8, code, code, code]
    told = "Rows of other versions of the code than the latest run: 3.\n"
    assert told in markdown_tables(Store(tmp_path))


def test_figures_are_short():
    assert [figure(v) for v in (0.12345, 12.345, 123.45, 53353.65, 3484.0)] == [
        "0.123", "12.35", "123.5", "53,354", "3,484",
    ]  # fmt: skip


def test_the_papers_tables_are_whole():
    grid, _ = paper_table("full_grid")
    assert len(grid) == 40
    assert {(row["n"], row["rho"]) for row in grid} == {
        (n, rho) for n in (5, 10, 20, 30, 50) for rho in (0.5, 0.9)
    }
    cases, _ = paper_table("cloud_cases")
    means = {}
    for method in ("hard", "nuts", "fullrank", "flow"):
        ours = [row["step_nll"] for row in cases if row["method"] == method]
        assert len(ours) == 12
        means[method] = round(sum(ours) / 12, 3)
    # The mean that the paper prints under its own table.
    assert means == {"hard": 0.701, "nuts": 0.491, "fullrank": 0.513, "flow": 0.544}
    with pytest.raises(SettingError, match="'full_grid'"):
        paper_table("table 7")


def test_the_tidy_table(tmp_path: Path):
    study = tiny(methods={"maximal": {}, "majority": {}, "nosuch": {}})
    run_study(study, tmp_path / "out")
    rows = list(csv.DictReader((tmp_path / "out" / "table.csv").open()))
    assert len(rows) == 6
    assert list(rows[0])[:5] == ["n", "seed", "method", "outcome", "status"]
    assert rows[0]["f1_50"] == "1.0"
    assert rows[1]["step_nll"] == "inf"
    assert rows[2]["outcome"] == "failed"
    pandas = pytest.importorskip("pandas")
    path = write_table(Store(tmp_path / "out"), tmp_path / "t.parquet")
    assert len(pandas.read_parquet(path)) == 6
    with pytest.raises(SettingError, match=r"must end in \.csv or \.parquet"):
        write_table(Store(tmp_path / "out"), tmp_path / "t.md")


def test_a_column_of_numbers_and_words_can_be_a_parquet_file(tmp_path: Path):
    pandas = pytest.importorskip("pandas")
    run_study(tiny(axes={"n": [4], "seed": [7], "coverage": ["iid", 0.7]}), tmp_path / "out")
    path = write_table(Store(tmp_path / "out"), tmp_path / "t.parquet")
    assert list(pandas.read_parquet(path)["coverage"]) == ["iid", "iid", "0.7", "0.7"]


def test_a_table_replaces_no_file_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run_study(tiny(), tmp_path / "out")
    target = tmp_path / "mine.csv"
    target.write_text("dear")
    assert main(["suite", "table", str(tmp_path / "out"), "--to", str(target)]) == 2
    assert "--force" in capsys.readouterr().err
    assert target.read_text() == "dear"
    assert main(["suite", "table", str(tmp_path / "out"), "--to", str(target), "--force"]) == 0
    assert target.read_text().startswith("n,seed,method")


def test_the_verbs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    spec = tmp_path / "s.toml"
    spec.write_text(
        'study = "s"\ntitle = "T"\nkind = "simulated"\naxes = {n = [4], seed = [7]}\n'
        "[methods.maximal]\n[methods.nosuch]\n"
        '[[tables]]\ntitle = "F1"\nrows = ["method"]\ncolumns = ["f1_50"]\n'
    )
    out = str(tmp_path / "out")
    assert main(["suite", "run", str(spec), "--dry-run"]) == 0
    assert "maximal (n 4, seed 7)" in capsys.readouterr().out
    assert main(["suite", "run", str(spec), "--dry-run", "--where", "method=maximal"]) == 0
    assert "nosuch" not in capsys.readouterr().out
    either = ["--where", "method=maximal", "--where", "method=nosuch"]
    assert main(["suite", "run", str(spec), "--dry-run", *either]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["suite", "run", str(spec)]) == 2
    assert "--out is missing" in capsys.readouterr().err
    assert main(["suite", "run", str(spec), "--out", out, "--where", "maximal"]) == 2
    assert main(["suite", "run", str(spec), "--out", out, "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["n_jobs"], told["n_failed"]) == (2, 1)
    assert main(["suite", "run", str(spec), "--out", out, "--strict"]) == 3
    capsys.readouterr()
    assert main(["suite", "table", out]) == 0
    printed = capsys.readouterr().out
    assert "| maximal | 1/1 | 1.000 |" in printed
    assert "'nosuch' is unknown" in printed
    assert main(["suite", "table", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["f1_50"] == 1.0


def test_a_quick_study_from_file_to_tables(tmp_path: Path):
    study = read_study(EXPERIMENTS / "regimes.toml", "quick")
    assert {"hard", "maximal"} <= study.methods.keys()
    small = replace(
        study,
        axes={"n": [8], "seed": [1]},
        cases={name: study.cases[name] for name in ("half the items", "5 % noise")},
        methods={name: study.methods[name] for name in ("hard", "maximal")},
        reference="hard",
    )
    assert run_study(small, tmp_path).n_failed == 0
    rows = {(row["case"], row["method"]): row for row in tidy_rows(Store(tmp_path))}
    assert len(rows) == 4
    noisy = rows["5 % noise", "hard"]
    assert 0.0 < noisy["noise_mean"] < 0.5  # inferred where there is noise, and only there
    assert rows["half the items", "hard"]["noise_mean"] == 0.0
    assert noisy["mae_reference"] == 0.0
    assert rows["5 % noise", "maximal"]["mae_reference"] > 0.0
    for row in rows.values():
        assert 0.0 <= row["brier"] <= 1.0
        assert 0.0 <= row["f1_50"] <= 1.0
    assert noisy["r_hat_max"] > 0.9
    assert noisy["waic"] > 0.0
    assert "| 8 | half the items | hard | 1/1 |" in markdown_tables(Store(tmp_path))

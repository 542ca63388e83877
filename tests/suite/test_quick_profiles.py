"""The quick profile of every study, from its file to tables and figures, as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from posetta.cli import main
from posetta.suite import Store, read_study, tidy_rows

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
STUDIES = sorted(path.stem for path in EXPERIMENTS.glob("*.toml"))


@pytest.mark.parametrize("name", STUDIES)
def test_quick_profile(
    name: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, out = str(EXPERIMENTS / f"{name}.toml"), str(tmp_path / "out")
    study = read_study(path, "quick")
    command = ["suite", "run", path, "--profile", "quick", "--out", out, "--strict", "--quiet"]
    if study.kind != "simulated":
        command += ["--data", str(request.getfixturevalue("shared_data"))]
    assert main(command) == 0
    rows = tidy_rows(Store(out))
    assert rows
    assert {row["outcome"] for row in rows} == {"done"}
    assert {row["method"] for row in rows} == set(study.methods)
    capsys.readouterr()
    assert main(["suite", "table", out]) == 0
    printed = capsys.readouterr().out
    for table in study.tables:
        assert f"## {table['title']}" in printed
    assert main(["suite", "figures", out]) == 0
    told = capsys.readouterr()
    for figure in study.figures:
        drawn = (tmp_path / "out" / "figures" / f"{figure['name']}.svg").exists()
        assert drawn != (f"{figure['name']} is not drawn" in told.err)

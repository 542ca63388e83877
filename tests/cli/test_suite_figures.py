"""Figures of a study: which ones, and from which jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.suite.studies import tiny

from posetta.cli import main
from posetta.suite import run_study

pytest.importorskip("posetta.plots")


def test_figures_are_drawn_where_their_jobs_are_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    place = {"n": 4, "seed": 7}
    figures = [
        {"name": "scaling", "draw": "scaling", "x": "n", "metrics": ["seconds", "f1_50"]},
        {"name": "hasse", "draw": "hasse", "where": place},
        {"name": "closure", "draw": "closure", "where": place, "threshold": 0.3},
        {"name": "agreement", "draw": "agreement", "where": place},
        {"name": "nothing", "draw": "maps", "where": {"n": 50}},
    ]
    # Six items are too many for "exact": these jobs are not run.
    exact = {"draws": 50, "prior_draws": 1000}
    study = tiny(
        keep="draws",
        reference="exact",
        figures=figures,
        methods={"exact": exact, "other": {"method": "exact", **exact}, "maximal": {}},
    )
    run_study(study, tmp_path, where={"n": "4"})
    run_study(study, tmp_path, where={"n": "6", "method": "maximal"})
    assert main(["suite", "figures", str(tmp_path), "--format", "png"]) == 0
    printed = capsys.readouterr()
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    assert drawn >= {"scaling.png", "hasse.png", "closure.png", "agreement.png"}
    assert "nothing is not drawn: no job of it is finished" in printed.err
    assert "hasse.png" in printed.out

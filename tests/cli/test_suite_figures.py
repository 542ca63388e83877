"""Figures of a study: which ones, and from which jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.suite.studies import tiny

from posetta import plots
from posetta.cli import main
from posetta.cli.suite_figures import _DRAW
from posetta.suite import run_study
from posetta.suite.spec import FIGURES


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


def test_every_kind_of_figure_that_a_spec_may_name_is_drawn():
    assert _DRAW.keys() == FIGURES.keys()


def test_why_a_finished_job_has_no_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    figures = [
        {"name": "drawn", "draw": "hasse", "where": {"method": "exact"}},
        {"name": "point", "draw": "hasse", "where": {"method": "maximal"}},
    ]
    methods = {"exact": {"draws": 5, "prior_draws": 1000}, "maximal": {}}
    study = tiny(axes={"n": [4], "seed": [7]}, figures=figures, methods=methods)
    run_study(study, tmp_path)
    assert main(["suite", "figures", str(tmp_path)]) == 0
    told = capsys.readouterr().err
    assert "drawn is not drawn: the draws of 'exact' were not kept. Set keep = \"draws\"." in told
    assert "point is not drawn: its jobs gave single orders" in told


@pytest.mark.parametrize(
    ("reference", "metrics", "labels"),
    [
        ("hard", ["mae_reference", "f1_50"], ["MAE to Hard-MCMC", "closure F1"]),
        ("nuts", ["mae_reference", "mae_second"], ["MAE to NUTS", "MAE to exact"]),
        (None, ["mae_reference"], ["MAE to the reference"]),
        ("hard", ["f1_50", "f1_33"], ["closure F1 at 1/2", "closure F1 at 1/3"]),
    ],
)
def test_panels_show_the_columns_that_they_name(
    reference: str | None, metrics: list[str], labels: list[str]
) -> None:
    names = ("mae_reference", "mae_second", "f1_50", "f1_33")
    rows = [
        {"method": "flow", "n": n, **{name: n / 100 + k for k, name in enumerate(names)}}
        for n in (10, 20)
    ]
    spec = {"reference": reference, "second_reference": "exact"}
    drawn = _DRAW["scaling"](plots, None, spec, {"x": "n", "metrics": metrics}, rows)
    assert [ax.get_ylabel() for ax in drawn.axes] == labels
    for ax, name in zip(drawn.axes, metrics, strict=True):
        assert ax.lines[0].get_ydata().tolist() == [row[name] for row in rows]


def test_a_metric_that_no_job_has_is_an_empty_panel() -> None:
    rows = [{"method": "flow", "n": 10, "f1_50": 0.5}]
    figure = {"x": "n", "metrics": ["f1_50", "ece"]}
    full, empty = _DRAW["scaling"](plots, None, {}, figure, rows).axes
    assert full.lines[0].get_ydata().tolist() == [0.5]
    assert empty.get_ylabel() == "expected calibration error"
    assert len(empty.lines[0].get_ydata()) == 0

"""Studies as they are written, and the jobs they expand to."""

from __future__ import annotations

import re
import tomllib
from itertools import product
from pathlib import Path

import pytest
from tests.suite.studies import tiny

from posetta import HardMCMC, InputError, SettingError
from posetta.cli.suite_figures import _DRAW
from posetta.suite import markdown
from posetta.suite.expand import jobs_of, settings_for
from posetta.suite.markdown import paper_table
from posetta.suite.spec import Study, read_study

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
SPECS = sorted(EXPERIMENTS.glob("*.toml"))
OF_THE_ISSUE = {
    "synthetic_grid", "ipcov_ablation", "tau_ablation", "flow_tau", "bishops", "cloud", "n100",
    "workflows", "large", "noise", "regimes", "dim_sensitivity",
}  # fmt: skip
OF_THE_PAPER = {
    "synthetic_grid", "ipcov_ablation", "tau_ablation", "flow_tau", "bishops", "cloud", "n100",
}  # fmt: skip


def test_every_suite_is_there():
    assert {path.stem for path in SPECS} >= OF_THE_ISSUE


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_suite_expands_under_every_profile(path: Path):
    profiles = {"full", *tomllib.loads(path.read_text())["profiles"]}
    assert "quick" in profiles
    assert path.stem not in OF_THE_PAPER or "paper" in profiles
    sizes = {}
    for profile in profiles:
        study = read_study(path, profile)
        assert study.study == path.stem
        jobs = jobs_of(study)
        sizes[profile] = len(jobs)
        assert len({job.hash for job in jobs}) == len(jobs)
        for table in study.tables:
            if "paper" in table:
                rows, about = paper_table(table["paper"])
                assert rows
                assert {"label", "note"} <= about.keys()
                assert set(table["columns"]) & rows[0].keys()
    assert sizes["quick"] < sizes["full"]
    assert sizes["quick"] <= 60


def test_every_table_of_the_paper_is_shown_by_a_study_and_every_figure_can_be_drawn():
    studies = [read_study(path) for path in SPECS]
    index = tomllib.loads((Path(markdown.__file__).parent / "paper" / "index.toml").read_text())
    assert {table["paper"] for s in studies for table in s.tables if "paper" in table} == set(index)
    for study in studies:
        names = [figure["name"] for figure in study.figures]
        assert len(set(names)) == len(names)
        assert {figure["draw"] for figure in study.figures} <= _DRAW.keys()


@pytest.mark.parametrize(
    "name", ["synthetic_grid", "ipcov_ablation", "tau_ablation", "bishops", "cloud"]
)
def test_half_of_the_papers_hard_iterations_is_burn_in(name: str):
    jobs = jobs_of(read_study(EXPERIMENTS / f"{name}.toml", "paper"))
    hard = [job.spec for job in jobs if job.spec["method"] == "hard"]
    assert hard
    real = {"bishops": [47], "cloud": [5, 11, 12]}  # items
    for spec, n_items in product(hard, real.get(name, [None])):
        settings = settings_for("hard", spec["settings"], n_items or spec["data"]["n"], 4)
        assert settings.warmup == pytest.approx(settings.draws * settings.thin, rel=0.01)


def test_a_study_is_every_data_set_with_every_method():
    jobs = jobs_of(tiny())
    assert [dict(job.columns) for job in jobs] == [
        {"n": n, "seed": 7, "method": method} for n in (4, 6) for method in ("maximal", "majority")
    ]
    assert jobs[0].spec["data"] == {"kind": "simulated", "n": 4, "seed": 7}
    assert jobs[0].data_hash == jobs[1].data_hash != jobs[2].data_hash
    seeds = {job.spec["seed"] for job in jobs}
    assert len(seeds) == len(jobs)


def test_a_profile_merges_tables_replaces_lists_and_drops_methods():
    content = {
        "study": "s", "title": "t", "kind": "simulated",
        "axes": {"n": [5, 10], "seed": [1, 2]},
        "methods": {"hard": {"draws": 10, "warmup": 20}, "maximal": {}},
        "profiles": {
            "quick": {"axes": {"n": [4]}, "methods": {"hard": {"draws": 5}, "maximal": False}}
        },
    }  # fmt: skip
    quick = Study.of(content, "quick")
    assert quick.axes == {"n": [4], "seed": [1, 2]}
    assert quick.methods == {"hard": {"draws": 5, "warmup": 20}}
    assert len(jobs_of(Study.of(content))) == 8
    with pytest.raises(SettingError, match="'full', 'quick'"):
        Study.of(content, "papr")


def test_what_plays_no_part_in_a_method_makes_no_further_job():
    study = tiny(
        axes={"n": [4], "seed": [7], "model": {"tau": [0.1, 0.3]}},
        methods={"nuts": {}, "hard": {}},
    )
    jobs = jobs_of(study)
    assert [(job.columns["method"], job.columns.get("tau")) for job in jobs] == [
        ("nuts", 0.1), ("hard", None), ("nuts", 0.3),
    ]  # fmt: skip
    variants = {"dim 4": {"dim": 4}, "sharp": {"dim": 4, "gamma_prior": [4.0, 2.0]}}
    jobs = jobs_of(tiny(variants=variants, axes={"n": [4], "seed": [7]}, methods={"hard": {}}))
    assert [(job.columns["variant"], job.also) for job in jobs] == [("dim 4", ("sharp",))]


def test_settings_can_depend_on_the_place_and_methods_on_the_model():
    entry = {
        "method": "hard",
        "draws": 100,
        "model": {"noise": "infer"},
        "only": {"n": [6]},
        "at": [{"when": {"n": 6, "seed": [7, 8]}, "draws": 50, "model": {"dim": 2}}],
    }
    (job,) = jobs_of(tiny(methods={"noisy": entry}))
    assert job.columns == {"n": 6, "seed": 7, "method": "noisy"}
    assert job.spec["method"] == "hard"
    assert job.spec["settings"] == {"draws": 50}
    assert job.spec["model"] == {"noise": "infer", "dim": 2}


def test_a_budget_of_iterations_is_that_of_the_paper():
    settings = settings_for("hard", {"iterations": 100_000, "draws": 50, "warmup": 3}, 10, 4)
    assert settings == HardMCMC.of_iterations(100_000, 10, 4, draws=50)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "invented"}, "'simulated'"),
        ({"axis": {}}, "'axis' is no part of a study"),
        ({"axes": {"n": 5}}, "must be a list"),
        ({"data": {"coverge": 1.0}}, "no parameter 'coverge'; it has: beta"),
        ({"methods": {}}, "names no methods"),
        ({"methods": {"hard": {"drows": 5}}}, "method 'hard': method 'hard' has no setting"),
        ({"methods": {"hard": {"draws": 0}}}, "draws=0"),
        ({"methods": {"hard": 5}}, "must be a table, or false"),
        ({"model": {"rho": 2.0}, "methods": {"hard": {}}}, "rho=2.0"),
        ({"reference": "nuts"}, "reference='nuts'"),
        ({"second_reference": "nuts"}, "second_reference='nuts'"),
        ({"thresholds": [1.5]}, "thresholds"),
        ({"thresholds": []}, "one or more numbers"),
        ({"rules": ["best"]}, "'best-f1'"),
        ({"methods": {"maximal": {"data": {"coverge": 1.0}}}}, "'maximal': data of kind"),
        ({"keep": "everything"}, "keep='everything'"),
        ({"title": 5}, "needs title"),
        ({"model": {"dims": 3}}, "the model has no field 'dims'"),
        ({"variants": {"two": {"dims": 2}}}, "the model has no field 'dims'"),
        ({"axes": {"n": [4], "model": {"dims": [2, 3]}}}, "the model has no field 'dims'"),
        ({"methods": {"maximal": {"only": {"cases": ["a"]}}}}, "only: 'cases' is no column"),
        ({"methods": {"maximal": {"at": [{"when": {"m": 4}}]}}}, "at: 'm' is no column"),
        ({"keep_draws_where": {"N": 4}}, "keep_draws_where: 'N' is no column; they are: n, seed"),
        ({"axes": {"seed": [7]}}, "data of kind 'simulated' need n."),
        ({"kind": "cloud", "axes": {"seed": [7]}}, "data of kind 'cloud' need scenario."),
        ({"kind": "traces_file", "axes": {"seed": [7]}}, "need file."),
        ({"tables": [{"title": "A", "rows": [], "columns": []}] * 2}, "the same title"),
        ({"tables": [{"rows": ["n"], "columns": []}]}, "tables: needs title = a text."),
        ({"tables": [{"title": "T"}]}, "tables, 'T': needs rows = a list."),
        ({"tables": [{"title": "T", "rows": "n", "columns": []}]}, "rows='n' must be a list"),
        (
            {"tables": [{"title": "T", "rows": [], "columns": [], "acros": "n"}]},
            "tables, 'T': has no field 'acros'; there are: title, rows, columns",
        ),
        ({"figures": [{"name": "a"}]}, "figures, 'a': needs draw = a text."),
        ({"figures": [{"draw": "hasse"}]}, "figures: needs name = a text."),
        ({"figures": [{"name": "a", "draw": "scaling"}]}, "'a': needs x = a text."),
        ({"figures": [{"name": "a", "draw": "hase"}]}, "draw='hase'"),
        ({"figures": [{"name": "a", "draw": ["hasse"]}]}, "draw=['hasse'] must be a text"),
        ({"figures": [{"name": "a", "draw": "densities", "by": "m"}]}, "'m' is no column"),
        ({"figures": [{"name": "a", "draw": "hasse", "where": 3}]}, "where=3 must be a table"),
        ({"figures": [{"name": "../a", "draw": "hasse"}]}, "name='../a' is no name of a file"),
        (
            {"tables": [{"title": "A", "rows": ["methd"], "columns": []}]},
            "table 'A': 'methd' is no column of the plan; they are: method, n, seed",
        ),
        (
            {"tables": [{"title": "A", "rows": [], "columns": [], "where": {"mthod": "hard"}}]},
            "'mthod' is no column",
        ),
        (
            {"figures": [{"name": "f", "draw": "hasse", "where": {"mthod": "hard"}}]},
            "figure 'f': 'mthod'",
        ),
        ({"axes": ["n"]}, "axes=['n'] must be a table"),
        ({"axes": {"n": [4], "model": ["dim"]}}, "axes.model=['dim'] must be a table"),
        ({"methods": {"maximal": {"at": {"when": {"n": 4}}}}}, "must be a list"),
        ({"thresholds": [0.333, 0.33]}, "the same to a hundredth"),
        (
            {"data": {"traces": 20}, "cases": {"many": {"traces_per_item": 2.0}}},
            "traces=20 and traces_per_item=2.0 both say",
        ),
        (
            {"data": {"traces": 20}, "methods": {"maximal": {"data": {"traces_per_item": 2.0}}}},
            "'maximal': traces=20 and traces_per_item=2.0 both say",
        ),
    ],
)
def test_mistakes_are_found_before_anything_runs(changes, message):
    with pytest.raises(SettingError, match=re.escape(message)):
        jobs_of(tiny(**changes))


def test_a_file_that_is_no_study_is_named(tmp_path: Path):
    path = tmp_path / "s.toml"
    with pytest.raises(InputError, match=r"s\.toml: cannot be read"):
        read_study(path)
    path.write_text("study = ")
    with pytest.raises(InputError, match=r"s\.toml: is not TOML"):
        read_study(path)
    path.write_text('study = "s"\n')
    with pytest.raises(SettingError, match=r"s\.toml: a study needs title"):
        read_study(path)

"""The examples on the README and the documentation pages run; the API page is up to date."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path

import pytest
from tests.suite.studies import tiny

import posetta
from posetta.suite import run_study

ROOT = Path(__file__).resolve().parents[1]
FENCED = re.DOTALL | re.MULTILINE
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in re.findall(
        r'^```\w+ title="([^"]+)"\n(.*?)^```', page.read_text(), FENCED
    ):
        (tmp_path / name).write_text(content)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), FENCED)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks, start=1):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(
                block, names, f"{page.name}, block {number}", str(page), 0
            )
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            assert runner.run(test, clear_globs=False).failed == 0
            names.update(test.globs)
        else:
            exec(compile(block, f"{page.name}, block {number}", "exec"), names)


def test_the_pages_with_examples_are_found() -> None:
    with_examples = {page.name for page in PAGES if "```python" in page.read_text()}
    assert {"README.md", "model.md", "simulate.md", "orders.md"} <= with_examples


def test_the_api_page_is_up_to_date() -> None:
    script = runpy.run_path(str(ROOT / "tools" / "make_api_page.py"))
    assert script["PAGE"].read_text() == script["render"]()


def test_every_public_name_can_be_had() -> None:
    for name in posetta.__all__:
        assert getattr(posetta, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = posetta.no_such_name


def test_the_readme_tree_is_the_tree_of_the_code() -> None:
    readme = (ROOT / "README.md").read_text()
    tree = readme.split("src/posetta/\n", 1)[1].split("```", 1)[0]
    named = set(re.findall(r"^  (\w+)/", tree, re.MULTILINE))
    rooms = {
        path.name
        for path in (ROOT / "src" / "posetta").iterdir()
        if (path / "__init__.py").is_file()
    }
    assert named == rooms


def test_tables_of_studies_fill_pages(tmp_path: Path) -> None:
    run_study(tiny(), tmp_path / "study", where={"n": "4"})
    (tmp_path / "docs" / "results").mkdir(parents=True)
    page = tmp_path / "docs" / "page.md"
    page.write_text(
        "Before\n<!-- table: tiny / Scores -->\nold\n<!-- end -->\nbetween\n"
        "<!-- table: other / Scores -->\nkept\n<!-- end -->\nafter\n"
    )
    script = runpy.run_path(str(ROOT / "tools" / "fill_pages.py"))
    script["main"].__globals__["DOCS"] = tmp_path / "docs"
    for _ in range(2):  # and again, over what is there now
        script["main"]([str(tmp_path / "study")])
        text = page.read_text()
        assert text.startswith("Before\n<!-- table: tiny / Scores -->\n| n | method | F1")
        assert "| 4 | maximal | " in text
        assert "old" not in text
        assert "jobs" not in text  # the rows shown lack none
        assert "| 6 |" not in text  # no job of these has run
        assert text.endswith("between\n<!-- table: other / Scores -->\nkept\n<!-- end -->\nafter\n")
    rows = (tmp_path / "docs" / "results" / "tiny.csv").read_text().splitlines()
    assert len(rows) == 3
    assert rows[0].startswith("n,seed,method,status")
    # The rest of the study, in another folder: earlier rows stay, in the order of the plan.
    run_study(tiny(), tmp_path / "rest", where={"n": "6"})
    script["main"]([str(tmp_path / "rest")])
    assert re.findall(r"^\| (\d) \| maximal \| 1.000", page.read_text(), re.MULTILINE) == ["4", "6"]
    assert (tmp_path / "docs" / "results" / "tiny.csv").read_text().splitlines()[:3] == rows

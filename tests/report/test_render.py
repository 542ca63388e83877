from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from tests.report.examples import HOSTILE, drawn_posterior
from tests.strategies import hostile_labels

from posetta.errors import InputError
from posetta.report import render, write_report
from posetta.report.render import MODULES, embedded, script

PAGE = Path(__file__).parents[2] / "src" / "posetta" / "report" / "page"


def parts(page: str) -> dict[str, str]:
    """Cut the page as a browser does: an element ends at the first end tag of its kind."""
    data, code = re.findall(r"<script[^>]*>(.*?)</script", page, re.DOTALL | re.IGNORECASE)
    return {"data": data, "code": code, "style": re.search(r"<style>(.*?)</style", page, re.S)[1]}


@given(hostile_labels)
def test_no_text_can_leave_its_element(text: str) -> None:
    embedding = embedded({text: [text]})
    assert not re.search(r"[<>&\u2028\u2029]", embedding)
    assert embedding.isascii()
    assert json.loads(embedding) == {text: [text]}


def test_hostile_labels_survive_the_page() -> None:
    posterior = drawn_posterior(items=HOSTILE)
    page = render(posterior, groups=dict(zip(HOSTILE, HOSTILE[::-1], strict=True)))
    shown = json.loads(parts(page)["data"])
    assert tuple(shown["items"]) == HOSTILE
    assert shown["groups"]["names"] != []


def test_only_the_page_s_own_script_and_style_may_run() -> None:
    page = render(drawn_posterior())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    for kind, text in (("script", parts(page)["code"]), ("style", parts(page)["style"])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_page_names_nothing_outside_itself() -> None:
    page = render(drawn_posterior())
    # SVG has an address for a name, which nobody fetches.
    assert set(re.findall(r"\w+://[\w./]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"""<[^>]+(src|href)=["']""", page)
    assert "@import" not in page
    assert "url(" not in page


def test_every_module_is_on_the_page_once_and_in_order() -> None:
    assert sorted(MODULES) == sorted(path.name for path in PAGE.glob("*.js"))
    seen: set[str] = set()
    for name in MODULES:
        text = (PAGE / name).read_text()
        imported = set(re.findall(r'from "\./(\w+\.js)"', text))
        assert imported <= seen, name
        seen.add(name)
    assert "import {" not in script()
    assert "export " not in script()


def test_modules_are_small_and_never_read_text_as_markup() -> None:
    for path in PAGE.glob("*.js"):
        lines = path.read_text().splitlines()
        assert len(lines) <= 320, path.name
        assert max(map(len, lines)) <= 100, path.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(",
                             path.read_text()), path.name  # fmt: skip


def test_a_page_of_100_items_and_2000_draws_is_small() -> None:
    posterior = drawn_posterior(n_items=100, n_draws=1000, n_chains=2, n_traces=120, spread=0.8)
    page = render(posterior)
    assert len(page.encode()) < 5_000_000
    assert np.array_equal(json.loads(parts(page)["data"])["precedence"], posterior.precedence)


def test_write_report(tmp_path) -> None:
    posterior = drawn_posterior()
    path = write_report(posterior, tmp_path / "report.html", threshold=0.7)
    assert path.read_text(encoding="utf-8") == render(posterior, threshold=0.7)
    with pytest.raises(InputError, match="cannot be written"):
        write_report(posterior, tmp_path / "missing" / "report.html")


def test_the_wheel_would_hold_the_page() -> None:
    # hatchling takes every file of the package that git does not ignore.
    ignored = (Path(__file__).parents[2] / ".gitignore").read_text().split()
    assert not {"*.js", "*.css", "*.html", "page/"} & set(ignored)

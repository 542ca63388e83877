"""Hasse diagrams, judged by their artists: boxes, lines, colours, labels."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.text import Text
from tests.posterior.examples import TRAIN, hard_posterior, three_draws
from tests.strategies import posets

from posetta.errors import InputError, SettingError
from posetta.evaluate import closure_scores
from posetta.order import Poset, read_order
from posetta.plots import hasse, hasse_panels, save_figure, style, write_hasse_svg
from posetta.plots.diagram import shade

DIAMOND = Poset.from_pairs([("top", "left"), ("top", "right"), ("left", "end"), ("right", "end")])
HOSTILE = [
    "$x^2$",
    "a_b \\frac{1}{",
    "<script>&",
    "\x1b[31m\n\0",
    "$",
    "$\\bad{$",
    "שלום",
    "🙂" * 3,
]


def lines_of(figure, kind: str = "") -> list[FancyArrowPatch]:
    found = figure.findobj(FancyArrowPatch)
    return [one for one in found if (one.get_gid() or "").startswith(kind)]


def boxes_of(figure) -> list[FancyBboxPatch]:
    return [one for one in figure.findobj(FancyBboxPatch) if (one.get_gid() or "")[:4] == "item"]


def texts_of(figure) -> list[str]:
    return [one.get_text() for one in figure.findobj(Text) if one.get_text()]


def assert_no_overlap(figure) -> None:
    rectangles = [(b.get_x(), b.get_y(), b.get_width(), b.get_height()) for b in boxes_of(figure)]
    for (x, y, w, h), (u, v, s, t) in combinations(rectangles, 2):
        assert x + w <= u or u + s <= x or y + h <= v or v + t <= y


@given(posets(max_items=8))
@settings(max_examples=25, deadline=None)
def test_every_cover_is_a_line_and_every_item_a_box(order: Poset) -> None:
    for direction in ("down", "right"):
        figure = hasse(order, direction=direction)
        drawn = {tuple(map(int, one.get_gid().split("-")[2:])) for one in lines_of(figure)}
        assert drawn == {(i, j) for i, j in np.argwhere(order.covers).tolist()}
        assert len(boxes_of(figure)) == order.n_items
        assert_no_overlap(figure)


@pytest.mark.parametrize(("direction", "axis", "sign"), [("down", 1, -1), ("right", 0, 1)])
def test_later_items_are_lower_or_further_right(direction: str, axis: int, sign: int) -> None:
    figure = hasse(DIAMOND, direction=direction)
    place = {text.get_text(): text.get_position()[axis] for text in figure.findobj(Text)}
    for first, then in DIAMOND.cover_pairs:
        assert sign * (place[then] - place[first]) > 0


def test_colour_and_width_are_the_probability() -> None:
    posterior = three_draws()  # a before b and a before c: 2/3 each; b before c: 1/3
    figure = hasse(posterior)
    lines = lines_of(figure, "cover")
    assert len(lines) == 2
    assert {to_hex(one.get_edgecolor()) for one in lines} == {to_hex(shade(2 / 3))}
    assert texts_of(figure).count("0.67") == 2
    deeper = hasse(posterior, threshold=0.3, values=False)
    widths = {one.get_gid(): one.get_linewidth() for one in lines_of(deeper, "cover")}
    assert widths["cover-0-0-1"] > widths["cover-0-1-2"]
    assert "0.67" not in texts_of(deeper)


def test_what_is_nearly_certain_is_not_written_as_certain() -> None:
    closures = np.zeros((400, 3, 3), dtype=bool)
    closures[:, 0, 1] = True
    closures[:-1, 0, 2] = True
    figure = hasse(hard_posterior(closures, np.ones(400), np.zeros(400), TRAIN))
    assert {"1.00", ">0.99"} <= set(texts_of(figure))


def test_free_items_stand_apart_below() -> None:
    order = Poset.from_pairs([("a", "b")], items=["a", "b", "free", "loose"])
    figure = hasse(order, direction="down")
    place = {text.get_text(): text.get_position()[1] for text in figure.findobj(Text)}
    assert max(place["free"], place["loose"]) < min(place["a"], place["b"])
    assert "In no precedence:" in place
    assert_no_overlap(figure)
    only_free = hasse(Poset.antichain([f"item {k}" for k in range(40)]))
    assert len(boxes_of(only_free)) == 40
    assert_no_overlap(only_free)


def test_classes_against_the_truth_are_counted_as_drawn() -> None:
    truth = Poset.from_pairs([("a", "b"), ("b", "c"), ("a", "d")])
    guess = Poset.from_pairs([("a", "b"), ("a", "c"), ("d", "b")], items=list("dcba"))
    figure = hasse_panels({"hard": guess}, truth=truth)
    counts = Counter(one.get_gid().split("-")[0] for one in lines_of(figure))
    # Covers of the guess: a-b, a-c, and d-b (spurious). Missed covers of the truth: b-c, a-d.
    assert counts == {"recovered": 2, "spurious": 1, "missed": 2}
    assert {"recovered (2)", "spurious (1)", "missed (2)"} <= set(texts_of(figure))
    for kind, colour in (
        ("recovered", style.RECOVERED),
        ("spurious", style.SPURIOUS),
        ("missed", style.MISSED),
    ):
        for line in lines_of(figure, kind):
            assert to_hex(line.get_edgecolor()) == colour.lower()
    assert lines_of(figure, "missed")[0].get_linestyle() == "--"
    assert any("F1" in text for text in texts_of(figure))


def test_panels_share_positions() -> None:
    reversed_diamond = Poset.from_closure(DIAMOND.closure.T, DIAMOND.items)
    figure = hasse_panels({"hard": DIAMOND, "nuts": reversed_diamond})
    first, second = (
        {b.get_gid().split("-")[2]: (b.get_x(), b.get_y()) for b in boxes_of(ax)}
        for ax in figure.axes[:2]
    )
    assert first == second
    # What contradicts the positions is an arrow, since it leads against the direction.
    styles = {type(one.get_arrowstyle()).__name__ for one in lines_of(figure.axes[1], "cover")}
    assert styles == {"CurveFilledB"}
    own = hasse_panels({"hard": DIAMOND, "nuts": reversed_diamond}, shared=False)
    styles = {type(one.get_arrowstyle()).__name__ for one in lines_of(own, "cover")}
    assert styles == {"Curve"}


def test_the_closure_is_counted_as_the_scores_count_it() -> None:
    truth = Poset.from_chain(list("abcdef"))
    guess = Poset.from_pairs([("a", "b"), ("c", "b"), ("d", "e"), ("f", "e")], items=list("abcdef"))
    figure = hasse_panels({"flow": guess}, truth=truth, relation="closure")
    scores = closure_scores(guess, truth)
    (ax,) = figure.axes
    drawn = {c.get_gid(): len(c.get_segments()) for c in ax.collections if c.get_gid()}
    assert drawn == {
        "recovered-0": scores.n_recovered,
        "spurious-0": scores.n_spurious,
        "missed-0": scores.n_missed,
    }
    assert f"missed ({scores.n_missed})" in texts_of(figure)


def test_hostile_labels_are_plain_text(tmp_path: Path) -> None:
    order = Poset.from_chain([*HOSTILE, "x" * 500])
    figure = hasse(order, title="$\\nothing{")
    for kind in ("svg", "png", "pdf"):
        save_figure(figure, tmp_path / f"hostile.{kind}")
    root = ElementTree.parse(tmp_path / "hostile.svg").getroot()
    written = "".join(root.itertext())
    for label in ("$x^2$", "a_b \\frac{1}{", "<script>&", "\\x1b[31m\\n\\x00", "$\\nothing{"):
        assert label in written
    assert "x" * 33 not in written
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


def test_the_svg_of_a_result(tmp_path: Path) -> None:
    path = tmp_path / "hasse.svg"
    write_hasse_svg(three_draws(), path, 0.5)
    text = path.read_text()
    assert len(re.findall(r'id="cover-0-\d-\d"', text)) == 2
    assert "<text" in text  # text stays text
    again = tmp_path / "again.svg"
    write_hasse_svg(three_draws(), again, 0.5)
    assert again.read_bytes() == path.read_bytes()


def test_bad_use_is_said(tmp_path: Path) -> None:
    other = Poset.from_chain(list("xyz"))
    with pytest.raises(InputError, match="different items"):
        hasse_panels({"a": DIAMOND, "b": other})
    with pytest.raises(InputError, match="no result"):
        hasse_panels({})
    with pytest.raises(SettingError, match="'down', 'right'"):
        hasse(DIAMOND, direction="up")
    with pytest.raises(SettingError, match="'png', 'svg', 'pdf'"):
        save_figure(hasse(DIAMOND), tmp_path / "picture.bmp")
    assert list(tmp_path.iterdir()) == []


def test_a_hundred_tasks_fit_without_overlap(shared_data: Path) -> None:
    file = "montage-chameleon-2mass-01d-001.order.json"
    order = read_order(shared_data / "wfcommons" / file)
    figure = hasse(order)
    assert len(boxes_of(figure)) == order.n_items == 103
    assert len(lines_of(figure, "cover")) == len(order.cover_pairs)
    assert_no_overlap(figure)
    width, height = figure.get_size_inches()
    assert max(width, height) < 20.0

"""The page as a reader meets it, in headless Chromium."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from tests.report.examples import HOSTILE, drawn_posterior, labels, point_posterior, with_status

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.infer import Exact, fit
from posetta.order import Poset
from posetta.posterior import Posterior
from posetta.report import Groups, convergence, render

KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Space": " ", "Tab": "\ue004"}


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return drawn_posterior(n_items=9, n_draws=50, n_traces=25, seed=4, spread=0.7)


def text(page, selector: str) -> str:
    return page.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def count(page, selector: str) -> int:
    return page.execute_script("return document.querySelectorAll(arguments[0]).length", selector)


def click(page, selector: str) -> None:
    page.execute_script(
        "document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', "
        "{bubbles: true}))",
        selector,
    )


def slide(page, threshold: float) -> None:
    page.execute_script(
        "const s = document.getElementById('threshold'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input', {bubbles: true}))",
        threshold,
    )


def point_at(page, x: float, y: float) -> None:
    """Move the real pointer."""
    page.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    deadline = time.monotonic() + 5.0
    while page.execute_script("return document.getElementById('tip').hidden"):
        assert time.monotonic() < deadline, "no hint appeared"
        time.sleep(0.02)


def pair_words(posterior: Posterior, a: int, b: int) -> list[str]:
    def shown(p: float) -> str:
        return "<0.01" if 0 < p < 0.005 else ">0.99" if 0.995 < p < 1 else f"{p:.2f}"

    p = posterior.precedence
    before = PairEvidence.of(posterior.traces).before
    either = max(0.0, 1 - p[a, b] - p[b, a])
    return [
        f"\u2068{posterior.items[a]}\u2069 → \u2068{posterior.items[b]}\u2069",
        f"Pr(before) {shown(p[a, b])} · Pr(after) {shown(p[b, a])} · Pr(either) {shown(either)}",
        f"seen before {before[a, b]}×, after {before[b, a]}×",
    ]


def tip_lines(page) -> list[str]:
    return page.execute_script(
        "return [...document.getElementById('tip').children].map((e) => e.textContent)"
    )


def test_the_slider_draws_what_the_data_say(show, posterior) -> None:
    page = show(render(posterior, threshold=0.5))
    edges_seen = set()
    for threshold in (0.5, 0.05, 0.33, 0.9, 0.99, 0.5):
        slide(page, threshold)
        order = posterior.decode(threshold)
        assert text(page, "#threshold-value") == f"{threshold:.2f}"
        assert count(page, ".hasse .edge") == len(order.cover_pairs)
        drawn = page.execute_script(
            "return [...document.querySelectorAll('.hasse .edge')].map((e) => "
            "[Number(e.dataset.first), Number(e.dataset.second)]).sort()"
        )
        assert sorted(drawn) == np.argwhere(order.covers).tolist()
        assert text(page, "#tally").startswith(f"{order.n_relations} precedence")
        related = (order.closure | order.closure.T).any(axis=1)
        assert count(page, ".hasse .node") == related.sum()
        assert count(page, ".apart .chip") == (~related).sum()
        levels = page.execute_script(
            "return [...document.querySelectorAll('.levels li')].map((li) => "
            "[...li.querySelectorAll('.chip')].map((c) => c.textContent))"
        )
        assert levels == order.levels
        edges_seen.add(len(order.cover_pairs))
    assert len(edges_seen) > 2


def test_hovering_a_line_tells_the_pair(show, posterior) -> None:
    page = show(render(posterior))
    first, second, x, y = page.execute_script(
        "const e = document.querySelectorAll('.hasse .edge')[2];"
        "e.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const line = e.querySelector('.line');"
        "const at = line.getPointAtLength(line.getTotalLength() / 2);"
        "const p = new DOMPoint(at.x, at.y).matrixTransform(line.getScreenCTM());"
        "return [Number(e.dataset.first), Number(e.dataset.second), p.x, p.y]"
    )
    point_at(page, x, y)
    assert tip_lines(page) == pair_words(posterior, first, second)


def test_hovering_the_heat_map_tells_the_pair(show, posterior) -> None:
    page = show(render(posterior))
    left, top, width, height = page.execute_script(
        "const c = document.querySelector('.heat');"
        "c.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const r = c.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]"
    )
    p = posterior.precedence
    by_depth = np.argsort(p.sum(axis=0) - p.sum(axis=1), kind="stable")
    cell = height / len(p)
    row, column = 1, 6
    point_at(page, left + width - height + (column + 0.5) * cell, top + (row + 0.5) * cell)
    assert tip_lines(page) == pair_words(posterior, by_depth[row], by_depth[column])


def test_choosing_an_item_lists_its_neighbours(show, posterior) -> None:
    page = show(render(posterior))
    order = posterior.decode(0.5)
    item = int(np.argmax((order.closure | order.closure.T).sum(axis=0)))
    click(page, f".node[data-item='{item}']")
    lists = page.execute_script(
        "return [...document.querySelectorAll('#card section')].map((s) => "
        "[...s.querySelectorAll('li bdi')].map((e) => e.textContent).sort())"
    )
    chosen = [set(), set(), set()]
    for k, label in enumerate(posterior.items):
        if k != item:
            place = 0 if order.closure[k, item] else 1 if order.closure[item, k] else 2
            chosen[place].add(label)
    assert [set(names) for names in lists] == chosen
    assert count(page, ".node.earlier") == len(chosen[0])
    assert count(page, ".node.later") == len(chosen[1])
    click(page, "#card .card-head button")
    assert count(page, ".node.chosen") == 0


def test_the_card_of_a_pair_shows_evidence_and_examples(show, posterior) -> None:
    page = show(render(posterior, truth=posterior.decode(0.5)))
    a, b = np.argwhere(posterior.decode(0.5).covers)[0].tolist()
    click(page, f".edge[data-first='{a}'][data-second='{b}']")
    values = page.execute_script(
        "return [...document.querySelectorAll('#card .bar-value')].map((e) => e.textContent)"
    )
    p = posterior.precedence
    assert [float(v.strip("<>")) for v in values] == pytest.approx(
        [p[a, b], p[b, a], 1 - p[a, b] - p[b, a]], abs=0.0051
    )
    before = PairEvidence.of(posterior.traces).before
    seen = text(page, "#card .seen:last-of-type")
    assert f"{before[a, b]} in this order, {before[b, a]} in the other" in seen
    ids = page.execute_script(
        "return [...document.querySelectorAll('#card .example-id bdi')].map((e) => e.textContent)"
    )
    assert ids
    assert set(ids) <= set(posterior.traces.ids)
    assert "comes before" in text(page, "#card")


def test_search_finds_and_shows_an_item(show, posterior) -> None:
    page = show(render(posterior))
    box = page.find_element("id", "search")
    box.send_keys("STEP 07")
    assert text(page, "#found") == "step 07"
    box.send_keys(KEYS["Enter"])
    assert text(page, "#card h3") == "step 07"
    box.clear()
    box.send_keys("nobody")
    assert text(page, "#found") == "No such item."


def test_the_keyboard_is_enough(show, posterior) -> None:
    page = show(render(posterior))
    node = page.find_element("css selector", ".node")
    page.execute_script("arguments[0].focus()", node)
    page.switch_to.active_element.send_keys(KEYS["Enter"])
    assert text(page, "#card h3") == node.get_attribute("aria-label")
    focused = "return document.activeElement === document.querySelector(arguments[0])"
    assert page.execute_script(focused, "#card")  # one step from what it offers
    row = page.find_element("css selector", "#card .row")
    page.execute_script("arguments[0].focus()", row)
    row.send_keys(KEYS["Enter"])
    assert count(page, "#card .bar-row") == 3
    assert page.execute_script(focused, "#card")  # though the row is gone
    page.switch_to.active_element.send_keys(KEYS["Escape"])
    assert page.switch_to.active_element == node
    link = page.find_element("css selector", ".pair-name")
    link.send_keys(KEYS["Enter"])
    assert count(page, "#card .bar-row") == 3
    slider = page.find_element("id", "threshold")
    before = float(text(page, "#threshold-value"))
    slider.send_keys("\ue014")  # the right arrow
    assert float(text(page, "#threshold-value")) == pytest.approx(before + 0.01)


def test_zoom_and_turn(show, posterior) -> None:
    page = show(render(posterior))
    width = "return Number(document.querySelector('.hasse').getAttribute('width'))"
    before = page.execute_script(width)
    click(page, "[aria-label='Zoom in']")
    assert page.execute_script(width) == pytest.approx(before * 1.25)
    direction = "return document.querySelector('.viewport').dataset.direction"
    first = page.execute_script(direction)
    click(page, "[aria-label='Turn the diagram']")
    assert page.execute_script(direction) != first
    assert count(page, ".hasse .edge") == len(posterior.decode(0.5).cover_pairs)


@pytest.mark.parametrize(("width", "height", "whole"), [(1280, 900, True), (390, 100, False)])
def test_a_diagram_larger_than_its_window_says_so(show, posterior, width, height, whole) -> None:
    page = show(render(posterior), width=width, height=height)
    all_seen = page.execute_script(
        "const box = document.querySelector('.viewport'); return "
        "box.scrollWidth <= box.clientWidth + 1 && box.scrollHeight <= box.clientHeight + 1"
    )
    assert all_seen is whole
    assert ("press Fit" in text(page, "#tally")) is not whole


def test_the_lists_of_pairs(show, posterior) -> None:
    page = show(render(posterior))
    p = posterior.precedence
    upper = np.triu_indices(len(p), 1)
    most, either = np.maximum(p, p.T)[upper], (1 - p - p.T)[upper]
    evidence = PairEvidence.of(posterior.traces)
    expected = {
        "ordered": int((most >= 0.9).sum()),
        "free": int((either >= 0.9).sum()),
        "undecided": int(((most < 0.9) & (either < 0.9)).sum()),
        "oneOrder": int((evidence.one_order | evidence.one_order.T)[upper].sum()),
        "never": int(evidence.never_together[upper].sum()),
    }
    for name, number in expected.items():
        assert text(page, f"[data-list='{name}'] .tally") == str(number)
        click(page, f"[data-list='{name}']")
        assert count(page, "#pair-list tbody tr") == min(number, 12)
    assert str(expected["ordered"]) in text(page, "#verdict")


def test_scores_follow_the_threshold(show, posterior) -> None:
    from posetta.evaluate import closure_scores

    truth = posterior.decode(0.3)
    page = show(render(posterior, truth=truth, test=posterior.traces))
    for threshold in (0.5, 0.9):
        slide(page, threshold)
        scores = closure_scores(posterior.decode(threshold), truth)
        shown = page.execute_script(
            "return [...document.querySelectorAll('#scores dd')].map((e) => Number(e.textContent))"
        )
        expected = [scores.precision, scores.recall, scores.f1]
        assert shown[:3] == pytest.approx(expected, abs=0.00051)
    assert "Held-out traces" in text(page, "section#scores")


def hostile_page() -> str:
    posterior = drawn_posterior(items=HOSTILE, seed=2)
    traces = replace(
        posterior.traces,
        report=replace(posterior.traces.report, files=(HOSTILE[2],), notes={HOSTILE[1]: 2}),
        records=replace(
            posterior.traces.records,
            ids=tuple(HOSTILE[k % len(HOSTILE)] for k in range(len(posterior.traces.ids))),
        ),
    )
    posterior = replace(
        posterior, traces=traces, settings={HOSTILE[2]: HOSTILE[3]}, warnings=HOSTILE
    )
    groups = Groups(dict(zip(HOSTILE, HOSTILE[::-1], strict=True)))
    return render(posterior, groups=groups, truth=posterior.decode(0.5))


@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_labels_are_only_text(show, width) -> None:
    page = show(hostile_page(), width=width)
    scripts, pictures = count(page, "script"), count(page, "img, iframe, object, svg[onload]")
    for k, label in enumerate(HOSTILE):
        click(page, f".node[data-item='{k}'], .chip[data-item='{k}']")
        assert text(page, "#card h3") == label
    click(page, ".edge")
    assert page.execute_script("return window.hacked") is None
    assert (scripts, pictures) == (2, 0)
    inline = "return [...document.querySelectorAll('*')].filter((e) => e.onclick || e.onerror)"
    assert page.execute_script(inline) == []
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    assert page.title.startswith("<img src=x onerror=")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_only_down(show, posterior, scheme) -> None:
    groups = Groups({label: f"team {k % 3}" for k, label in enumerate(posterior.items)})
    truth = posterior.decode(0.4)
    page = show(
        render(posterior, groups=groups, truth=truth, test=posterior.traces),
        width=390,
        height=844,
        scheme=scheme,
    )
    assert page.execute_script("return document.documentElement.scrollWidth") <= 390
    narrowest = page.execute_script(
        "return Math.min(...[...document.querySelectorAll('.facts-list dd')]"
        ".map((e) => e.getBoundingClientRect().width))"
    )
    assert narrowest > 80
    background = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (int(background.strip("rgb()").split(",")[0]) < 60) == (scheme == "dark")
    corner = page.execute_script(
        "const c = document.querySelector('.heat');"
        "return c.getContext('2d').getImageData(c.width - 3, 3, 1, 1).data[0]"
    )
    # The last of the first row: a sure precedence, dark on light and light on dark.
    assert (corner > 128) == (scheme == "dark")


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        ("ok", "good", "Status ok"),
        ("approximate", "fair", "Approximate"),
        ("budget_reached", "bad", "Stopped early"),
        ("unmixed", "bad", "Not converged"),
        ("diverged", "bad", "Not converged"),
    ],
)
def test_the_banner(show, posterior, status, kind, words) -> None:
    page = show(render(with_status(posterior, status, "Raise draws.")))
    banner = text(page, f"#status.{kind}")
    assert banner.startswith(words)
    assert banner.endswith("Raise draws.")


def test_what_misses_its_limit_is_marked(show, posterior, monkeypatch) -> None:
    def marked(r_hat: float, ess: float) -> list[bool]:
        found = {"r_hat": {"rho": r_hat}, "ess": {"rho": ess}}
        page = show(render(replace(posterior, diagnostics=found)))
        return page.execute_script(
            "return [...document.querySelectorAll('#convergence td')]"
            ".map((cell) => cell.classList.contains('poor'))"
        )

    assert marked(1.01, 321.0) == [False, False]
    assert marked(1.06, 321.0) == [True, False]
    assert marked(1.01, 99.0) == [False, True]
    monkeypatch.setattr(convergence, "R_HAT_LIMIT", 1.1)
    monkeypatch.setattr(convergence, "ESS_LIMIT", 400.0)
    assert marked(1.06, 321.0) == [False, True]


def exact() -> Posterior:
    traces = Traces.from_lists([["a", "b", "c"], ["a", "c"]])
    return fit(traces, method=Exact(draws=100, prior_draws=2000), seed=1)


UNUSUAL = {
    "a point": lambda: point_posterior([[0, 1, 1], [0, 0, 0], [0, 0, 0]]),
    "exact": exact,
    "one item": lambda: drawn_posterior(items=["only"], n_traces=2),
    "one item, a point": lambda: point_posterior([[0]]),
    "no relation": lambda: point_posterior(np.zeros((4, 4)), lists=[labels(4), labels(4)[::-1]]),
    "no traces": lambda: drawn_posterior(n_traces=0),
    "one draw": lambda: drawn_posterior(n_draws=1, n_chains=1),
    "elbo": lambda: drawn_posterior(
        method="fullrank", diagnostics={"elbo_trace": [-9.0, -5.0], "elbo_trace_steps": 25}
    ),
    "not our method": lambda: drawn_posterior(method="by hand", diagnostics={}),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_unusual_results_have_a_page(show, case) -> None:
    posterior = UNUSUAL[case]()
    page = show(render(posterior, truth=Poset.antichain(posterior.items)))
    assert count(page, "section.part") >= 5
    assert count(page, ".hasse .edge") == len(posterior.decode(0.5).cover_pairs)
    assert count(page, ".hasse .node, .apart .chip") == len(posterior.items)
    assert "undefined" not in text(page, "#page")
    assert "NaN" not in text(page, "#page")

"""The page's modules in the real engine: decoding against Python, the layout against its laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from posetta.order import Poset
from posetta.posterior import decode
from posetta.report.render import script

LAYOUT = ("layers.js", "crossings.js", "positions.js", "layout.js")
DIRECTIONS = ("down", "right")


def called(browser, modules, expression, *arguments):
    """Run modules on an empty page and return the value of an expression in them."""
    code = script(modules).rstrip().removesuffix("}")
    browser.get("about:blank")
    return browser.execute_script(f"{code}\nreturn {expression};\n}}", *arguments)


def random_covers(n_items, seed, spread=2):
    latent = np.random.default_rng(seed).standard_normal((n_items, spread))
    latent += np.random.default_rng(seed + 1).standard_normal((n_items, 1))
    return Poset.from_latent(latent, [str(k) for k in range(n_items)])


# -- decode ----------------------------------------------------------------------------------------


def matrices():
    generator = np.random.default_rng(1)
    found = [np.zeros((0, 0)), np.zeros((1, 1))]
    for n in (2, 3, 4, 5, 7, 9):
        for values in (None, 4, 10):  # few values: ties and cycles that weigh the same
            for _ in range(6):
                p = generator.random((n, n)) if values is None else (
                    generator.integers(0, values + 1, (n, n)) / values
                )  # fmt: skip
                np.fill_diagonal(p, 0.0)
                found.append(p)
    return found


@pytest.mark.parametrize(
    ("before", "after", "point", "word"),
    [
        (0.02, 0.03, False, "free to swap"),
        (0.88, 0.02, False, "leaves the pair open"),  # more likely before, not yet sure
        (0.60, 0.40, False, "leaves the pair open"),  # a ranking knows no free pairs
        (0.95, 0.01, False, "for noise"),
        (0.0, 0.0, True, "free to swap"),
        (1.0, 0.0, True, "for noise"),
    ],
)
def test_what_is_said_of_a_pair_seen_in_both_orders(browser, before, after, point, word) -> None:
    state = {
        "data": {
            "precedence": [[0, before], [after, 0]],
            "before": [[0, 38], [2, 0]],
            "sure": 0.9,
            "is_point": point,
        }
    }
    said = "pairVerdict(arguments[0], pairFacts(arguments[0], 0, 1))"
    assert word in called(browser, ("evidence.js",), said, state)


def test_decode_agrees_with_python(browser) -> None:
    cases = [(p, t) for p in matrices() for t in (0.0, 0.25, 0.5, 0.8)]
    answers = called(
        browser,
        ("decode.js",),
        "arguments[0].map(([p, t]) => decode(p, t))",
        [[p.tolist(), t] for p, t in cases],
    )
    n_cyclic = 0
    for (p, threshold), answer in zip(cases, answers, strict=True):
        closure = decode(p, threshold)
        order = Poset.from_closure(closure, [str(k) for k in range(len(p))])
        assert answer["closure"] == closure.tolist()
        assert answer["covers"] == np.argwhere(order.covers).tolist()
        level = {label: k for k, labels in enumerate(order.levels) for label in labels}
        assert answer["level"] == [level[str(k)] for k in range(len(p))]
        n_cyclic += not (closure >= (p > threshold)).all()
    assert n_cyclic > 50  # the cases do test the breaking of cycles


# -- layout ----------------------------------------------------------------------------------------


def laid_out(browser, order, direction, width=100, height=30):
    edges = np.argwhere(order.covers).tolist()
    generator = np.random.default_rng(0)
    sizes = [
        {"width": width + int(generator.integers(0, 80)), "height": height} for _ in order.items
    ]
    found = called(browser, LAYOUT, "layout(...arguments)", sizes, edges, direction)
    return sizes, edges, found


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("n_items", [1, 2, 12, 45, 100])
def test_laws_of_the_layout(browser, n_items, direction) -> None:
    order = random_covers(n_items, seed=n_items)
    sizes, edges, found = laid_out(browser, order, direction)
    across, along = ("width", "height") if direction == "down" else ("height", "width")
    x, y = ("x", "y") if direction == "down" else ("y", "x")
    items = found["items"]
    depth = {label: k for k, labels in enumerate(order.levels) for label in labels}
    assert [item["layer"] for item in items] == [depth[label] for label in order.items]
    for a, b in edges:
        end = items[a][y] + sizes[a][along] / 2
        assert end < items[b][y] - sizes[b][along] / 2
    for layer in range(order.depth):
        inside = [k for k, item in enumerate(items) if item["layer"] == layer]
        inside.sort(key=lambda k: items[k][x])
        for a, b in itertools.pairwise(inside):
            room = items[b][x] - items[a][x] - (sizes[a][across] + sizes[b][across]) / 2
            assert room > 9.9
    for size, item in zip(sizes, items, strict=True):
        assert item["x"] - size["width"] / 2 > -0.01
        assert item["y"] - size["height"] / 2 > -0.01
        assert item["x"] + size["width"] / 2 < found["width"] + 0.01
        assert item["y"] + size["height"] / 2 < found["height"] + 0.01
    for (a, b), points in zip(edges, found["edges"], strict=True):
        k = 0 if direction == "down" else 1
        assert points[0][k] == pytest.approx(items[a][x])
        assert points[-1][k] == pytest.approx(items[b][x])
        assert points[0][1 - k] == pytest.approx(items[a][y] + sizes[a][along] / 2)
        assert points[-1][1 - k] == pytest.approx(items[b][y] - sizes[b][along] / 2)
        assert all(p[1 - k] <= q[1 - k] + 1e-9 for p, q in itertools.pairwise(points))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_no_edge_runs_through_an_item(browser, direction) -> None:
    order = random_covers(30, seed=4)
    sizes, edges, found = laid_out(browser, order, direction)
    k = 0 if direction == "down" else 1
    for (a, b), points in zip(edges, found["edges"], strict=True):
        for p, q in itertools.pairwise(points):
            if p[k] != q[k]:
                continue  # between layers
            for c, (item, size) in enumerate(zip(found["items"], sizes, strict=True)):
                half = (size["width"] / 2, size["height"] / 2)
                centre = (item["x"], item["y"])
                beside = abs(p[k] - centre[k]) >= half[k]
                low, high = centre[1 - k] - half[1 - k], centre[1 - k] + half[1 - k]
                apart = q[1 - k] <= low + 1e-6 or p[1 - k] >= high - 1e-6
                assert c in (a, b) or beside or apart


def geometric_crossings(points_of_edges) -> int:
    """Count, between each two layers, the pairs of distinct lines that change sides."""
    lines = {
        (p[1], p[0], q[0])
        for points in points_of_edges
        for p, q in itertools.pairwise(points)
        if q[1] - p[1] > 35  # between layers, which are 30 high
    }
    found = 0
    for y in {line[0] for line in lines}:
        here = [line for line in lines if line[0] == y]
        for n, (_, a, b) in enumerate(here):
            found += sum((a - c) * (b - d) < -1e-9 for _, c, d in here[n + 1 :])
    return found


@pytest.mark.parametrize("n_items", [8, 20, 45])
def test_the_number_of_crossings_is_that_of_the_drawing(browser, n_items) -> None:
    _, _, found = laid_out(browser, random_covers(n_items, seed=n_items), "down")
    assert found["crossings"] == geometric_crossings(found["edges"])


def test_trees_and_ladders_are_drawn_without_crossings(browser) -> None:
    tree = Poset.from_pairs([(str((k - 1) // 2), str(k)) for k in range(1, 31)])
    pairs = [(f"a{k}", f"b{(k * 7) % 12}") for k in range(12)]  # a shuffled matching
    pairs += [(f"b{k}", f"c{(k * 5) % 12}") for k in range(12)]
    for order in (tree, Poset.from_pairs(pairs)):
        assert laid_out(browser, order, "down")[2]["crossings"] == 0
    square = Poset.from_pairs([("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")])
    assert laid_out(browser, square, "down")[2]["crossings"] == 1


def test_chains_and_long_edges_are_straight(browser) -> None:
    chain = Poset.from_chain([str(k) for k in range(8)])
    _, _, found = laid_out(browser, chain, "down")
    assert np.ptp([item["x"] for item in found["items"]]) < 1e-6
    pairs = [(str(k), str(k + 1)) for k in range(7)] + [("0", "aside"), ("aside", "7")]
    _, _, found = laid_out(browser, Poset.from_pairs(pairs), "down")
    long = max(found["edges"], key=len)
    assert len(long) > 8
    assert np.ptp([p[0] for p in long[2:-1]]) < 1e-6


def test_edges_of_one_item_share_their_way(browser) -> None:
    """Three long edges out of one item are one branching line, not three."""
    chain = [(f"c{k}", f"c{k + 1}") for k in range(6)]
    fan = [("hub", f"t{k}") for k in range(3)] + [("c5", f"t{k}") for k in range(3)]
    order = Poset.from_pairs(chain + fan)
    _, edges, found = laid_out(browser, order, "down")
    hub = order.items.index("hub")
    ways = [p for (a, _), p in zip(edges, found["edges"], strict=True) if a == hub]
    assert len(ways) == 3
    assert ways[0][:-1] == ways[1][:-1] == ways[2][:-1]


def test_isotonic_regression(browser) -> None:
    generator = np.random.default_rng(2)
    cases = []
    for n in (1, 2, 5, 12):
        for _ in range(5):
            wish = generator.normal(0, 30, n)
            weight, distance = generator.random(n) + 0.1, generator.random(n) * 20
            cases.append((wish, weight, distance))
    answers = called(
        browser,
        LAYOUT,
        "arguments[0].map((c) => isotonic(...c))",
        [[part.tolist() for part in case] for case in cases],
    )
    for (wish, weight, distance), answer in zip(cases, answers, strict=True):
        offset = np.cumsum(distance)
        reference = isotonic_regression(wish - offset, weights=weight).x + offset
        assert np.allclose(answer, reference)


def test_the_curve_of_an_edge(browser) -> None:
    points = [[0, 0], [0, 10], [20, 40]]
    down, right = called(
        browser,
        LAYOUT,
        '[curve(arguments[0], "down"), curve(arguments[0].map(([x, y]) => [y, x]), "right")]',
        points,
    )
    assert down == "M0,0L0,10C0,25 20,25 20,40"
    assert right == "M0,0L10,0C25,0 25,20 40,20"

"""Hasse diagrams: one order with the probabilities of its covers, or several side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posetta.errors import InputError, choice
from posetta.evaluate import closure_scores
from posetta.order import Poset
from posetta.plots import style
from posetta.plots.diagram import Line, Panel, compose, shade
from posetta.plots.layers import longest_paths
from posetta.plots.scene import Points, set_scene
from posetta.posterior import Posterior
from posetta.posterior.matrix import matrix_over

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Relation = NDArray[np.bool_]

_MOST_VALUES = 30
"""With more covers than this the probabilities are shown by colour alone."""
_THIN, _THICK = 0.7, 2.2
_DENSE = 3
"""With more lines than this for each item, each on a way of its own, none could be followed."""


def hasse(
    result: Posterior | Poset,
    *,
    threshold: float = 0.5,
    title: str | None = None,
    direction: str = "auto",
    values: bool | None = None,
) -> Figure:
    """Draw the decoded order of a posterior, or an order: earlier items above (or to the left).

    Colour and width of a line show Pr(i before j | data). ``values`` writes the probabilities
    beside the lines; by default it does so for up to 30 of them, where there is room. ``direction``
    is "down", "right" or "auto", which takes what fits a page better. Items in no precedence stand
    apart. The figure is as large as its labels need. With very many lines, long ones of the same
    item share their way, the surest on top.
    """
    order = _order(result, threshold)
    dense = order.covers.sum() > _DENSE * order.n_items
    scene = set_scene(order.items, order.covers, direction=direction, bundled=bool(dense))
    probability = _probability(result, order.items)
    values = len(scene.routes) <= _MOST_VALUES if values is None else values
    lines = _cover_lines(order.covers, probability, values=values)
    key = None if probability is None else "probability"
    return compose([(title, scene, lines)], key, columns=1)


def hasse_panels(
    results: Mapping[str, Posterior | Poset],
    *,
    threshold: float = 0.5,
    truth: Poset | None = None,
    relation: str = "covers",
    columns: int = 2,
    direction: str = "auto",
    shared: bool = True,
) -> Figure:
    """Draw several orders over the same items on shared positions, one panel for each.

    ``shared=False`` gives each order its own positions, better where orders differ a lot.

    Without ``truth`` colour shows probability. With it, lines are recovered, spurious or missed,
    counted under each panel. ``relation="covers"`` draws the covers of each order: recovered if
    the truth has that precedence, else spurious; and the truth's covers that the order lacks,
    missed. ``relation="closure"`` draws all precedences, with dots for items at the truth's
    positions: the counts are then those of `closure_scores`.
    """
    choice(relation, ("covers", "closure"), "relation")
    if not results:
        raise InputError("there is no result to draw.")
    orders = {name: _order(result, threshold) for name, result in results.items()}
    items = (truth or next(iter(orders.values()))).items
    orders = {name: order.reindex(items) for name, order in orders.items()}
    headings = {name: style.method_name(name) for name in orders}
    if truth is None:
        probability = {name: _probability(result, items) for name, result in results.items()}
        lines = {name: _cover_lines(o.covers, probability[name]) for name, o in orders.items()}
        key = "probability" if any(p is not None for p in probability.values()) else None
    else:
        lines = {name: _judged_lines(order, truth, relation) for name, order in orders.items()}
        key = "truth"
        for name, order in orders.items():
            if results[name] is truth:
                continue
            headings[name] += f": closure F1 {closure_scores(order, truth).f1:.3f}"
    labelled = truth is None or relation == "covers"
    groups = [list(orders)] if shared else [[name] for name in orders]
    drawn: list[Panel] = []
    for group in groups:
        base = (truth or orders[group[0]]).covers
        ground = _common_ground(base, [lines[name] for name in group]) if labelled else base
        scene = set_scene(items, ground, direction=direction, labelled=labelled)
        drawn += [(headings[name], scene, lines[name]) for name in group]
    return compose(drawn, key, columns)


def write_hasse_svg(
    posterior: Posterior, path: str | os.PathLike[str], threshold: float = 0.5
) -> None:
    """Write the Hasse diagram of a posterior as SVG: the ``hasse.svg`` of a result folder."""
    from posetta.plots.files import save_figure

    save_figure(hasse(posterior, threshold=threshold), path)


# -- what to draw --------------------------------------------------------------------------------


def _order(result: Posterior | Poset, threshold: float) -> Poset:
    return result if isinstance(result, Poset) else result.decode(threshold)


def _probability(result: Posterior | Poset, items: tuple[str, ...]) -> Points | None:
    """Return the probabilities behind an order, in the order of ``items``; one order has none."""
    if isinstance(result, Poset) or result.is_point:
        return None
    return matrix_over(result, items)


def _common_ground(base: Relation, drawn: Sequence[Sequence[Line]]) -> Relation:
    """Return the pairs that get a way of their own on shared positions.

    These are the pairs of ``base``, and those of the panels that point to a later layer of it, so
    that the layers stay as they are. An item that is free in ``base`` stands where the first panel
    that binds it asks for. All other pairs are drawn across, as arcs.
    """
    union = base.copy()
    layer = longest_paths(union)
    for line in (line for lines in drawn for line in lines):
        i, j = line.edge
        if layer[i] < layer[j] or not (_bound(union, i) and _bound(union, j)):
            union[i, j] = True
            layer = longest_paths(union)
    return union


def _bound(relation: Relation, item: int) -> bool:
    return bool(relation[item].any() or relation[:, item].any())


def _cover_lines(
    covers: Relation, probability: Points | None, *, values: bool = False
) -> list[Line]:
    lines = []
    for i, j in np.argwhere(covers).tolist():
        if probability is None:
            lines.append(Line((i, j), "cover", style.INK, 1.0))
            continue
        p = float(probability[i, j])
        width = _THIN + (_THICK - _THIN) * p
        lines.append(Line((i, j), "cover", shade(p), width, value=p if values else None))
    return sorted(lines, key=lambda line: line.width)  # the surest on top


def _judged_lines(order: Poset, truth: Poset, relation: str) -> list[Line]:
    own, true = (
        (order.covers, truth.covers) if relation == "covers" else (order.closure, truth.closure)
    )
    missed, recovered, spurious = (
        np.argwhere(pairs).tolist()
        for pairs in (true & ~order.closure, own & truth.closure, own & ~truth.closure)
    )
    return [
        *(Line((i, j), "missed", style.MISSED, 1.0, "--") for i, j in missed),
        *(Line((i, j), "recovered", style.RECOVERED, 1.2) for i, j in recovered),
        *(Line((i, j), "spurious", style.SPURIOUS, 1.5, arrow=True) for i, j in spurious),
    ]

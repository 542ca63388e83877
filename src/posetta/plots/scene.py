"""`Scene`: an order laid out on paper, in points; boxes with labels, or dots, and lines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from posetta.errors import choice
from posetta.plots.layers import Edge, Layout, lay_out
from posetta.plots.style import TEXT_SIZE, shown, text_width

Points = NDArray[np.float64]

BOX_HEIGHT = 1.9 * TEXT_SIZE
_BOX_PADDING = 1.3 * TEXT_SIZE
_DOT = 6.0
_DOTS_SIZE = (300.0, 330.0)
_GAP = 10.0  # between the boxes of a layer
_BEND = 5.0
_PAGE = (11.0, 8.0)
"""A direction is chosen as if the picture had to fit a page of this shape."""
_FREE_GAP = 26.0


@dataclass(frozen=True)
class Scene:
    """Where everything stands; x to the right, y upwards, from (0, 0) to (width, height)."""

    items: tuple[str, ...]
    centre: Points
    """(item, 2)"""
    size: Points
    """(item, 2): width and height of the boxes."""
    routes: dict[Edge, Points]
    """For each cover the points its line passes, from the border of a box to that of the next."""
    free: tuple[int, ...]
    """Items in no precedence at all; they stand apart, below the others."""
    free_top: float
    """Height below which the free items stand."""
    width: float
    height: float
    direction: str
    labelled: bool


def set_scene(
    items: tuple[str, ...],
    relation: NDArray[np.bool_],
    *,
    direction: str = "auto",
    labelled: bool = True,
    bundled: bool = False,
) -> Scene:
    """Lay out the pairs of an acyclic relation (the covers of an order, or of several together).

    ``direction`` is "down" (earlier above), "right", or "auto": what fits a page better.
    ``bundled`` lets long lines of the same item share their way.
    """
    choice(direction, ("auto", "down", "right"), "direction")
    if not labelled:
        return _to_fit(_scene(items, relation, "down" if direction == "auto" else direction, False))
    if direction != "auto":
        return _scene(items, relation, direction, labelled, bundled)
    scenes = [_scene(items, relation, one, labelled, bundled) for one in ("down", "right")]
    return min(scenes, key=lambda s: max(s.width / _PAGE[0], s.height / _PAGE[1]))


def _to_fit(scene: Scene) -> Scene:
    """Return a scene of dots, which need no room of their own, in a common size."""
    scale = np.array(
        [_DOTS_SIZE[0] / max(scene.width, 1.0), _DOTS_SIZE[1] / max(scene.height, 1.0)]
    )
    return replace(
        scene,
        centre=scene.centre * scale,
        routes={edge: points * scale for edge, points in scene.routes.items()},
        free_top=scene.free_top * scale[1],
        width=_DOTS_SIZE[0],
        height=_DOTS_SIZE[1],
    )


def _scene(
    items: tuple[str, ...],
    relation: NDArray[np.bool_],
    direction: str,
    labelled: bool,
    bundled: bool = False,
) -> Scene:
    related = relation.any(axis=0) | relation.any(axis=1)
    bound, free = np.flatnonzero(related), np.flatnonzero(~related)
    size = _box_sizes(items, labelled)
    down = direction == "down"
    gap = _GAP if down or not labelled else 0.4 * _GAP
    breadth = size[bound, 0 if down else 1] + gap
    covers = relation[np.ix_(bound, bound)]
    layout = lay_out(covers, breadth.tolist(), bend=_BEND, bundled=bundled)
    centre = np.zeros((len(items), 2))
    along, thick = _depths(layout, size[bound, 1 if down else 0])
    centre[bound] = _place(layout.across, along[layout.layer] + thick[layout.layer] / 2.0, down)
    routes = {
        (int(bound[i]), int(bound[j])): _route(places, along, thick, down)
        for (i, j), places in layout.routes.items()
    }
    everything = [
        *routes.values(),
        centre[bound] - size[bound] / 2,
        centre[bound] + size[bound] / 2,
    ]
    corners = np.concatenate(everything) if len(bound) else np.zeros((1, 2))
    low, high = corners.min(axis=0), corners.max(axis=0)
    width = high[0] - low[0]
    free_centre, free_width, free_height = _shelves(size[free], max(width, 360.0))
    lift = free_height + (_FREE_GAP if len(free) and len(bound) else 0.0)
    centre[bound] += np.array([0.0, lift]) - low
    centre[free] = free_centre
    return Scene(
        items=items,
        centre=centre,
        size=size,
        routes={edge: points + np.array([0.0, lift]) - low for edge, points in routes.items()},
        free=tuple(free.tolist()),
        free_top=free_height,
        width=float(max(width, free_width)),
        height=float(high[1] - low[1] + lift),
        direction=direction,
        labelled=labelled,
    )


def _box_sizes(items: tuple[str, ...], labelled: bool) -> Points:
    if not labelled:
        return np.full((len(items), 2), _DOT)
    return np.array(
        [[text_width(shown(item)) + _BOX_PADDING, BOX_HEIGHT] for item in items]
    ).reshape(-1, 2)


def _depths(layout: Layout, extent: Points) -> tuple[Points, Points]:
    """Return where each layer begins, measured from the first, and how thick it is.

    The more lines run between two layers, the more room they get.
    """
    n = layout.n_layers
    thick, busy = np.zeros(n), np.zeros(n)
    np.maximum.at(thick, layout.layer, extent)
    for (layer, _), _ in {step for places in layout.routes.values() for step in pairwise(places)}:
        busy[layer] += 1
    room = np.clip(16.0 + 0.7 * busy, 22.0, 100.0)
    return np.concatenate([[0.0], np.cumsum(thick + room)[:-1]])[:n], thick


def _place(across: Points, along: Points, down: bool) -> Points:
    """Turn places along and across the layers into x and y: later is lower, or further right."""
    return np.stack([across, -along] if down else [along, -across], axis=-1)


def _route(places: list[tuple[int, float]], along: Points, thick: Points, down: bool) -> Points:
    """Return the points of a line: out of one box, straight through each layer, into the other."""
    (first, start), *bends, (last, end) = places
    depth = [along[first] + thick[first]]
    across = [start]
    for layer, place in bends:
        depth += [along[layer], along[layer] + thick[layer]]
        across += [place, place]
    return _place(np.array([*across, end]), np.array([*depth, along[last]]), down)


def _shelves(size: Points, width: float) -> tuple[Points, float, float]:
    """Put boxes in rows of at most ``width``; return their middles, and the width and height."""
    centre = np.zeros_like(size)
    x = row = 0.0
    widest = 0.0
    for k, (wide, _) in enumerate(size):
        if x and x + wide > width:
            x, row = 0.0, row + 1.0
        centre[k] = (x + wide / 2.0, row)
        x += wide + _GAP
        widest = max(widest, x - _GAP)
    if not len(size):
        return centre, 0.0, 0.0
    pitch = float(size[:, 1].max()) + 0.5 * _GAP
    height = row * pitch + float(size[:, 1].max())
    centre[:, 1] = height - centre[:, 1] * pitch - size[:, 1].max() / 2.0
    return centre, widest, height

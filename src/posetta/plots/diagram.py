"""Drawing Hasse diagrams: boxes, lines, numbers and keys, panel by panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from posetta.plots import style
from posetta.plots.layers import Edge
from posetta.plots.scene import Points, Scene
from posetta.posterior.findings import written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARGIN = 14.0
_TITLE_ROOM = 12.0
_KEY_ROOM = 40.0
_LEAST_WIDTH = 250.0


@dataclass(frozen=True)
class Line:
    """One line of a diagram."""

    edge: Edge
    kind: str
    """"cover", or "recovered", "spurious", "missed"."""
    colour: Any
    width: float
    dashes: str = "-"
    arrow: bool = False
    value: float | None = None


def shade(probability: float) -> Any:
    """Return the colour of a probability; the palest part of the map is left out."""
    from matplotlib import colormaps

    return colormaps[style.PROBABILITY_MAP](0.2 + 0.8 * probability)


def _way(scene: Scene, edge: Edge) -> Points:
    """Return the way of a pair: the scene's own if it has one, else an arc from box to box."""
    return scene.routes[edge] if edge in scene.routes else _arc(scene, *edge)


def _arc(scene: Scene, i: int, j: int) -> Points:
    start, end = scene.centre[i], scene.centre[j]
    along = end - start
    control = (start + end) / 2.0 + 0.14 * np.array([-along[1], along[0]])
    share = np.linspace(0.0, 1.0, 200)[:, None]
    points = (1 - share) ** 2 * start + 2 * share * (1 - share) * control + share**2 * end
    outside = ~(_inside(points, scene, i) | _inside(points, scene, j))
    return points[outside] if outside.sum() > 1 else np.stack([start, end])


def _inside(points: Points, scene: Scene, item: int) -> Any:
    return (np.abs(points - scene.centre[item]) <= scene.size[item] / 2.0 + 1.0).all(axis=1)


Panel = tuple[str | None, Scene, list[Line]]


def compose(drawn: Sequence[Panel], key: str | None, columns: int) -> Figure:
    """Put panels in rows; every panel has the size of its scene, so one unit is one point."""
    columns = min(columns, len(drawn))
    rows = -(-len(drawn) // columns)
    has_title = any(name is not None for name, *_ in drawn)
    top = _TITLE_ROOM if has_title else 0.0
    bottom = _KEY_ROOM if key == "truth" else 0.0
    wide = max(max(scene.width for _, scene, _ in drawn), _LEAST_WIDTH) + 2 * _MARGIN
    high = max(scene.height for _, scene, _ in drawn) + 2 * _MARGIN + top + bottom
    foot = _KEY_ROOM if key == "probability" else 0.0
    whole = (wide * columns, high * rows + foot)
    figure = style.empty_figure(whole[0] / style.POINTS_PER_INCH, whole[1] / style.POINTS_PER_INCH)
    figure.set_layout_engine("none")
    for number, (name, scene, lines) in enumerate(drawn):
        row, column = divmod(number, columns)
        left, low = column * wide, foot + (rows - 1 - row) * high
        x = left + (wide - scene.width) / 2.0
        y = low + bottom + _MARGIN
        across, up = whole
        ax = figure.add_axes((x / across, y / up, scene.width / across, scene.height / up))
        _draw(ax, scene, lines, panel=number)
        if name is not None:
            style.title(ax, name)
        if key == "truth":
            _judgement_key(figure, lines, (left + wide / 2.0) / whole[0], low / whole[1])
    if key == "probability":
        _probability_key(figure, whole)
    return style.plain_text(figure)


def _draw(ax: Axes, scene: Scene, lines: Sequence[Line], panel: int) -> None:
    ax.set_axis_off()
    ax.set_xlim(0.0, max(scene.width, 1.0))
    ax.set_ylim(0.0, max(scene.height, 1.0))
    if scene.labelled:
        _draw_curves(ax, scene, lines, panel)
        _draw_boxes(ax, scene, panel)
        _draw_values(ax, scene, lines)
    else:
        _draw_straight(ax, scene, lines, panel)
        ax.plot(*scene.centre.T, "o", color=style.INK, markersize=3.5, zorder=4, clip_on=False)
    if scene.free and len(scene.free) < len(scene.items):
        ax.text(
            0.0, scene.free_top + 5.0, "In no precedence:", fontsize=style.SMALL_SIZE,
            color=style.FAINT, va="bottom",
        )  # fmt: skip


def _draw_curves(ax: Axes, scene: Scene, lines: Sequence[Line], panel: int) -> None:
    from matplotlib.patches import FancyArrowPatch

    for line in lines:
        routed = line.edge in scene.routes
        arrow = line.arrow or not routed  # an arc may lead anywhere
        ax.add_patch(
            FancyArrowPatch(
                path=_smooth(_way(scene, line.edge), routed, scene.direction),
                arrowstyle="-|>" if arrow else "-",
                mutation_scale=7.0,
                edgecolor=line.colour,
                facecolor=line.colour if arrow else "none",
                linewidth=line.width,
                linestyle=line.dashes,
                capstyle="round",
                zorder=2,
                clip_on=False,
                gid=f"{line.kind}-{panel}-{line.edge[0]}-{line.edge[1]}",
            )
        )


def _smooth(points: Points, routed: bool, direction: str) -> Any:
    """Return a path through the points; routed lines leave and enter the layers upright."""
    from matplotlib.path import Path

    if not routed:
        return Path(points)
    vertices, codes = [points[0]], [Path.MOVETO]
    along = 1 if direction == "down" else 0
    for a, b in pairwise(points):
        reach = np.zeros(2)
        reach[along] = 0.45 * (b - a)[along]
        vertices += [a + reach, b - reach, b]
        codes += [Path.CURVE4] * 3
    return Path(vertices, codes)


def _draw_straight(ax: Axes, scene: Scene, lines: Sequence[Line], panel: int) -> None:
    """Draw thousands of lines, one collection for each kind."""
    from matplotlib.collections import LineCollection

    looks = {"recovered": (0.3, 0.3, 1), "missed": (0.5, 0.9, 2), "spurious": (0.7, 1.0, 3)}
    for kind, (width, opacity, zorder) in looks.items():
        chosen = [line for line in lines if line.kind == kind]
        if chosen:
            ax.add_collection(
                LineCollection(
                    [scene.centre[list(line.edge)] for line in chosen],
                    colors=chosen[0].colour,
                    linestyles=chosen[0].dashes,
                    linewidths=width,
                    alpha=opacity,
                    zorder=zorder,
                    gid=f"{kind}-{panel}",
                ),
                autolim=False,
            )


def _draw_boxes(ax: Axes, scene: Scene, panel: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    for k, (item, (x, y), (width, height)) in enumerate(
        zip(scene.items, scene.centre, scene.size, strict=True)
    ):
        ax.add_patch(
            FancyBboxPatch(
                (x - width / 2.0, y - height / 2.0), width, height,
                boxstyle="round,pad=0,rounding_size=4", facecolor="white",
                edgecolor=style.FAINT if k in scene.free else style.INK,
                linewidth=0.8, zorder=3, clip_on=False, gid=f"item-{panel}-{k}",
            )
        )  # fmt: skip
        ax.text(
            x, y, style.shown(item), fontsize=style.TEXT_SIZE, color=style.INK, ha="center",
            va="center_baseline", zorder=4, parse_math=False,
        )  # fmt: skip


def _draw_values(ax: Axes, scene: Scene, lines: Sequence[Line]) -> None:
    """Write probabilities beside their lines, where no box and no other number stands."""
    size = style.SMALL_SIZE
    half = np.array([style.text_width(">0.99", size) / 2.0 + 1.0, 0.6 * size])
    taken = [(c, s / 2.0) for c, s in zip(scene.centre, scene.size, strict=True)]
    for line in lines:
        if line.value is None:
            continue
        path = _smooth(scene.routes[line.edge], True, scene.direction)
        points = path.interpolated(1).to_polygons(closed_only=False)[0]
        for share in (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78):
            spot = _at_share(points, share)
            if all((np.abs(spot - centre) >= half + other).any() for centre, other in taken):
                taken.append((spot, half))
                ax.text(
                    spot[0], spot[1], written(line.value), fontsize=size, color=style.INK,
                    ha="center",
                    va="center", zorder=5,
                    bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
                )  # fmt: skip
                break


def _at_share(points: Points, share: float) -> Points:
    """Return the point at a share of the length of a line."""
    points = np.asarray(points)
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    at = share * length[-1]
    return np.array([np.interp(at, length, points[:, k]) for k in (0, 1)])


def _probability_key(figure: Figure, whole: tuple[float, float]) -> None:
    """Draw the scale of the probabilities at the foot of the figure."""
    width, height, low = min(150.0, 0.6 * whole[0]), 7.0, 18.0
    ax = figure.add_axes(
        ((whole[0] - width) / 2 / whole[0], low / whole[1], width / whole[0], height / whole[1])
    )
    share = np.linspace(0.0, 1.0, 101)
    ax.imshow(np.array([[shade(p) for p in share]]), aspect="auto", extent=(0.0, 1.0, 0.0, 1.0))
    ax.set_yticks([])
    ax.set_xticks([0.0, 0.5, 1.0])
    ax.tick_params(labelsize=style.SMALL_SIZE, length=2, pad=1, color=style.FAINT)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title("Pr(before | data)", fontsize=style.SMALL_SIZE, color=style.INK, pad=2)


def _judgement_key(figure: Figure, lines: Sequence[Line], x: float, y: float) -> None:
    from matplotlib.lines import Line2D

    kinds: tuple[tuple[str, str, Any], ...] = (
        ("recovered", style.RECOVERED, "-"),
        ("spurious", style.SPURIOUS, "-"),
        ("missed", style.MISSED, "--"),
    )
    handles = [
        Line2D(
            [], [], color=colour, linestyle=dashes, linewidth=1.6,
            label=f"{kind} ({sum(line.kind == kind for line in lines):,})",
        )
        for kind, colour, dashes in kinds
    ]  # fmt: skip
    style.legend(
        figure, handles, loc="lower center", bbox_to_anchor=(x, y + 0.004), ncols=3,
        handlelength=2.2, columnspacing=1.2,
    )  # fmt: skip

"""Pictures of precedence matrices: heat maps side by side, and how far two posteriors agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from posetta.errors import InputError
from posetta.evaluate import closure_mae
from posetta.order import Poset
from posetta.plots import style
from posetta.posterior import Posterior
from posetta.posterior.matrix import matrix_over

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABELLED = 60
"""With more items than this the rows are too thin for labels."""
_ROW = 8.5  # points for a labelled row


def precedence_maps(results: Mapping[str, Posterior | Poset], *, columns: int = 4) -> Figure:
    """Draw Pr(row before column | data) of each result on one scale, items in one order.

    The items are sorted by depth in the first result: by the expected number of items before each,
    minus the number after it. A single order counts as 0 and 1.
    """
    if not results:
        raise InputError("there is no result to draw.")
    first = next(iter(results.values()))
    matrix = matrix_over(first, first.items)
    order = np.argsort(matrix.sum(axis=0) - matrix.sum(axis=1), kind="stable")
    items = tuple(first.items[k] for k in order)
    labels = [style.shown(item) for item in items]
    labelled = len(items) <= _LABELLED
    margin = max(map(style.text_width, labels), default=0.0) * 0.9 if labelled else 0.0
    side = (_ROW * len(items) if labelled else 3.0 * len(items)) + 20.0
    side = max(side, 150.0)
    columns = min(columns, len(results))
    rows = -(-len(results) // columns)
    figure = style.empty_figure(
        (columns * (side + 12.0) + margin + 80.0) / style.POINTS_PER_INCH,
        (rows * (side + 36.0) + margin + 24.0) / style.POINTS_PER_INCH,
    )
    figure.set_layout_engine("compressed")  # panels of a fixed shape, close together
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for spare in grid.flat[len(results) :]:
        spare.remove()
    drawn = list(grid.flat[: len(results)])
    for ax, (name, result) in zip(drawn, results.items(), strict=True):
        image = ax.imshow(
            matrix_over(result, items),
            cmap=style.PROBABILITY_MAP,
            vmin=0.0,
            vmax=1.0,
            interpolation="nearest",
        )
        style.title(ax, style.method_name(name))
        ax.tick_params(length=0, labelsize=style.SMALL_SIZE, labelcolor=style.INK)
        for spine in ax.spines.values():
            spine.set_color(style.FAINT)
        if labelled:
            ax.set_xticks(range(len(items)), labels, rotation=90)
            ax.set_yticks(range(len(items)), labels)
        else:
            ax.set_xticks([])
            ax.set_yticks([])
    for ax in drawn:  # shared axes hide labels; a panel with nothing below it needs them
        ax.tick_params(labelbottom=labelled and _is_lowest(ax, drawn))
    bar = figure.colorbar(image, ax=drawn, shrink=0.6, aspect=25, pad=0.01)
    bar.set_label("Pr(row before column | data)", fontsize=style.TEXT_SIZE, color=style.INK)
    bar.ax.tick_params(labelsize=style.TEXT_SIZE, color=style.FAINT)
    bar.outline.set_visible(False)
    return style.plain_text(figure)


def _is_lowest(ax: Axes, drawn: list[Axes]) -> bool:
    spec = ax.get_subplotspec()
    assert spec is not None
    return not any(
        (other := one.get_subplotspec()) is not None
        and other.colspan.start == spec.colspan.start
        and other.rowspan.start > spec.rowspan.start
        for one in drawn
    )


def agreement(
    reference: tuple[str, Posterior | Poset],
    others: Mapping[str, Posterior | Poset],
    *,
    threshold: float = 0.5,
) -> Figure:
    """Compare Pr(i before j | data) of every ordered pair under the reference and other results.

    The dashed diagonal is agreement. Pairs that one side keeps (above ``threshold``) and the other
    does not are ringed and counted; above stands the mean absolute difference over all pairs.
    """
    name, base = reference
    if not others:
        raise InputError("there is no result to compare with the reference.")
    figure, axes = style.panels(len(others), width=2.5, height=2.75, columns=4)
    pairs = ~np.eye(len(base.items), dtype=bool)
    x = matrix_over(base, base.items)[pairs]
    for ax, (other_name, other) in zip(axes, others.items(), strict=True):
        mae = closure_mae(base, other)  # refuses different items
        y = matrix_over(other, base.items)[pairs]
        crossing = (x > threshold) != (y > threshold)
        ax.plot([0, 1], [0, 1], "--", color=style.FAINT, linewidth=0.8, zorder=1)
        for line in (ax.axvline, ax.axhline):
            line(threshold, color=style.FAINT, linewidth=0.6, linestyle=":", zorder=1)
        ax.scatter(x, y, s=7, color=style.RECOVERED, alpha=0.35, linewidths=0, zorder=2)
        ax.scatter(
            x[crossing], y[crossing], s=26, facecolors="none", edgecolors=style.SPURIOUS,
            linewidths=0.9, zorder=3, gid="crossing",
        )  # fmt: skip
        # Above the frame: inside it would hide the pairs that matter most.
        ax.text(
            0.0, 1.02, f"MAE {mae:.3f}, {int(crossing.sum())} of {len(x):,} cross",
            transform=ax.transAxes, fontsize=style.TEXT_SIZE, color=style.INK, va="bottom",
        )  # fmt: skip
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.03)
        ax.set_aspect("equal")
        ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
        ax.set_xticks(ticks, ["0", "", "0.5", "", "1"])
        ax.set_yticks(ticks, ["0", "", "0.5", "", "1"])
        style.axis_labels(ax, style.method_name(name), style.method_name(other_name))
    return style.plain_text(figure)

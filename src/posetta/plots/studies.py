"""Pictures of studies, from tidy tables: scaling, ablations, and who wins where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posetta.plots import style
from posetta.plots.tables import (
    Cell,
    Metrics,
    cells,
    distinct,
    metric,
    metric_labels,
    need,
    rows_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DODGE = 0.62
"""Share of the room between two categories that the methods spread over."""


def scaling(
    table: Any,
    *,
    x: str = "n",
    metrics: Metrics = ("mae", "seconds", "f1"),
    method: str = "method",
) -> Figure:
    """Draw metrics against the size: means over the runs of a method, bands of one standard error.

    ``table`` is a DataFrame or a list of mappings with a row for each run; missing values are left
    out, infinite ones counted at the upper edge. ``metrics`` names columns, here as in the other
    pictures of studies; a mapping gives their labels as well.
    """
    rows = rows_of(table)
    need(rows, (x, method, *metrics))
    looks = style.method_looks(distinct(rows, method))
    places = distinct(rows, x)
    shown = metric_labels(metrics)
    figure, axes = style.panels(len(shown), width=2.7, height=2.5)
    for ax, (column, label) in zip(axes, shown.items(), strict=True):
        found = cells(rows, method, x, column)
        for name, look in looks.items():
            for place in places:
                if (name, place) in found:
                    _say_infinite(ax, found[name, place], look.colour, x=place)
            at = [place for place in places if _has_mean(found, name, place)]
            mean = np.array([found[name, place].mean for place in at])
            error = np.array([found[name, place].error for place in at])
            low = mean - error
            if metric(column).log and len(mean):
                low = np.maximum(low, 0.5 * mean)  # a band has no place below 0 on a log scale
            ax.plot(
                at, mean, marker=look.marker, color=look.colour, markersize=4.5, linewidth=1.3,
                gid=f"mean-{name}",
            )  # fmt: skip
            ax.fill_between(at, low, mean + error, color=look.colour, alpha=0.18, linewidth=0)
        _dress_metric(ax, column)
        style.axis_labels(ax, metric(x).label, label)
        if _spread_evenly(places):
            style.log_scale(ax, "x")
            ax.set_xlim(0.9 * places[0], 1.1 * places[-1])
        ax.set_xticks(places, [f"{place:g}" for place in places])
        ax.minorticks_off()
    _method_key(figure, looks)
    return style.plain_text(figure)


def ablation(
    table: Any,
    *,
    x: str,
    metrics: Metrics = ("f1", "nll", "seconds"),
    method: str = "method",
) -> Figure:
    """Draw metrics at a few values of a setting: mean and standard error, and every run as a dot.

    The values of the setting are categories, in ascending order; methods stand side by side. A
    method that does not know the setting is a dashed line across all of them.
    """
    rows = rows_of(table)
    need(rows, (x, method, *metrics))
    looks = style.method_looks(distinct(rows, method))
    places = distinct(rows, x)
    shown = metric_labels(metrics)
    figure, axes = style.panels(len(shown), width=2.7, height=2.5)
    for ax, (column, label) in zip(axes, shown.items(), strict=True):
        found = cells(rows, method, x, column)
        for shift, (name, look) in zip(_shifts(len(looks)), looks.items(), strict=True):
            if (name, None) in found:
                _line_across(ax, found[name, None], look.colour, f"mean-{name}")
                _say_infinite(ax, found[name, None], look.colour, x=len(places) - 0.56)
            for k, place in enumerate(places):
                if (name, place) in found:
                    _say_infinite(ax, found[name, place], look.colour, x=k + shift)
            at = [k for k, place in enumerate(places) if _has_mean(found, name, place)]
            if not at:
                continue
            drawn = [found[name, places[k]] for k in at]
            for k, cell in zip(at, drawn, strict=True):
                ax.plot(
                    np.full(len(cell.values), k + shift), cell.values, ".", color=look.colour,
                    alpha=0.35, markersize=4, zorder=2,
                )  # fmt: skip
            ax.errorbar(
                np.array(at) + shift, [cell.mean for cell in drawn],
                yerr=[cell.error for cell in drawn], fmt=look.marker, color=look.colour,
                markersize=5, linewidth=1.0, capsize=2, zorder=3, gid=f"mean-{name}",
            )  # fmt: skip
        _dress_metric(ax, column)
        ax.set_xlim(-0.5, len(places) - 0.5)
        ax.set_xticks(range(len(places)), [_written(place) for place in places])
        ax.grid(visible=False, axis="x")
        style.axis_labels(ax, metric(x).label, label)
    _method_key(figure, looks)
    return style.plain_text(figure)


def regimes(
    table: Any,
    *,
    regime: str = "regime",
    metrics: Metrics = ("f1", "brier"),
    method: str = "method",
) -> Figure:
    """Draw who wins where: a row for each regime, means and standard errors of every method.

    The best mean of a regime is a filled marker, the others are hollow: a lead within the bars is
    no lead. A mean that leaves infinite runs out is never the best; how many it leaves out is
    written at the edge.
    """
    rows = rows_of(table)
    need(rows, (regime, method, *metrics))
    looks = style.method_looks(distinct(rows, method))
    places = distinct(rows, regime)
    labels = [style.shown(_written(place), 44) for place in places]
    margin = max(map(style.text_width, labels)) / style.POINTS_PER_INCH
    height = 0.9 + len(places) * max(0.34, 0.13 * len(looks))
    shown = metric_labels(metrics)
    figure, axes = style.panels(
        len(shown), width=2.7 + margin / len(shown), height=height, share_y=True
    )
    for ax, (column, label) in zip(axes, shown.items(), strict=True):
        found = cells(rows, method, regime, column)
        for shift, (name, look) in zip(_shifts(len(looks)), looks.items(), strict=True):
            for k, place in enumerate(places):
                if (name, place) not in found:
                    continue
                cell = found[name, place]
                _say_infinite(ax, cell, look.colour, y=k + shift)
                if not _has_mean(found, name, place):
                    continue
                best = cell.mean == _best(found, looks, place, column)
                ax.errorbar(
                    cell.mean, k + shift, xerr=cell.error, fmt=look.marker, color=look.colour,
                    markerfacecolor=look.colour if best else "white", markersize=5,
                    linewidth=1.0, capsize=2, gid=f"{'best' if best else 'other'}-{name}-{k}",
                )  # fmt: skip
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.set_yticks(range(len(places)), labels)
        for k in range(1, len(places)):
            ax.axhline(k - 0.5, color=style.GRID, linewidth=0.8)
        ax.grid(visible=False, axis="y")
        ax.tick_params(axis="y", length=0)
        if metric(column).log:
            style.log_scale(ax, "x")
        better = metric(column).better
        style.axis_labels(ax, label + (f" ({better} is better)" if better else ""))
    _method_key(figure, looks)
    return style.plain_text(figure)


def _line_across(ax: Axes, cell: Cell, colour: str, gid: str) -> None:
    """Draw a mean, and its standard error as a band, from edge to edge."""
    if not len(cell.values):
        return
    low, high = cell.mean - cell.error, cell.mean + cell.error
    ax.axhspan(low, high, color=colour, alpha=0.10, linewidth=0, zorder=1)
    ax.axhline(cell.mean, color=colour, linestyle="--", linewidth=1.0, zorder=2, gid=gid)


def _best(found: Any, looks: Any, place: Any, column: str) -> float | None:
    here = [found[name, place] for name in looks if (name, place) in found]
    means = [cell.mean for cell in here if not cell.n_infinite]
    better = metric(column).better
    if not better or not means:
        return None
    return max(means) if better == "higher" else min(means)


def _has_mean(found: Mapping[tuple[Any, Any], Cell], name: str, place: Any) -> bool:
    return (name, place) in found and len(found[name, place].values) > 0


def _say_infinite(
    ax: Axes, cell: Cell, colour: str, *, x: float | None = None, y: float | None = None
) -> None:
    """Write at the far end of the axis how many runs are infinite: their mean is of the others."""
    if not cell.n_infinite:
        return
    words = f"∞ {cell.n_infinite}/{cell.n_infinite + len(cell.values)}"
    if x is not None:
        ax.text(
            x, 0.99, words, transform=ax.get_xaxis_transform(), rotation=90, ha="center", va="top",
            color=colour, fontsize=6,
        )  # fmt: skip
    if y is not None:
        ax.text(
            0.99, y, words, transform=ax.get_yaxis_transform(), ha="right", va="center",
            color=colour, fontsize=6,
        )  # fmt: skip


def _shifts(n: int) -> list[float]:
    """Return where ``n`` methods stand beside the middle of a category."""
    if n == 1:
        return [0.0]
    return np.linspace(-_DODGE / 2.0, _DODGE / 2.0, n).tolist()


def _spread_evenly(places: Sequence[Any]) -> bool:
    """Whether sizes such as 10, 20, 50, 100 ask for a logarithmic axis."""
    return len(places) > 1 and places[0] > 0 and places[-1] / places[0] >= 5.0


def _dress_metric(ax: Axes, column: str) -> None:
    if metric(column).log:
        style.log_scale(ax)
    elif metric(column).up_to_one:
        low, _ = ax.get_ylim()
        ax.set_ylim(min(low, 0.95), 1.02)


def _written(place: Any) -> str:
    return f"{place:g}" if isinstance(place, int | float) else str(place)


def _method_key(figure: Figure, looks: dict[str, style.MethodLook]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [], [], color=look.colour, marker=look.marker, markersize=4.5, linewidth=1.3,
            label=style.method_name(name),
        )
        for name, look in looks.items()
    ]  # fmt: skip
    width = figure.get_size_inches()[0] * style.POINTS_PER_INCH
    entry = max(style.text_width(style.method_name(name)) for name in looks) + 44.0
    style.legend(figure, handles, loc="outside upper center", ncols=max(1, int(width / entry)))

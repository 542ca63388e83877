"""The reliability curve: do pairs that are said to hold with 80 % hold 80 times in 100?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from posetta.errors import InputError
from posetta.evaluate.calibration import Calibration
from posetta.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reliability(results: Mapping[str, Calibration]) -> Figure:
    """Draw observed against predicted shares by method, and how many pairs each bin holds.

    ``results`` come from `posetta.evaluate.calibration`, and so do the bars: its standard errors.
    Empty bins are left out. The dashed diagonal is perfect calibration: above it a method is too
    cautious, below it too sure.
    """
    if not results:
        raise InputError("there is nothing to draw: no result was given.")
    figure = style.empty_figure(3.4, 4.0)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3.0, 1.0))
    looks = style.method_looks(results)
    for ax in (top, bottom):
        style.dress(ax)
    top.plot([0, 1], [0, 1], "--", color=style.FAINT, linewidth=0.8)
    handles = []
    for name, found in results.items():
        bins = [one for one in found.bins if one.n_pairs]
        predicted, observed = [one.predicted for one in bins], [one.observed for one in bins]
        error = [one.observed.standard_error or 0.0 for one in bins]
        look = looks[name]
        handles.append(
            top.errorbar(
                predicted, observed, yerr=error, fmt=f"{look.marker}-", color=look.colour,
                markersize=4.5, linewidth=1.2, elinewidth=0.8, capsize=2,
                label=style.method_name(name),
            )
        )  # fmt: skip
        bottom.plot(
            predicted, [one.n_pairs for one in bins],
            marker=look.marker, color=look.colour, markersize=3.5, linewidth=1.0,
        )  # fmt: skip
    style.log_scale(bottom)
    top.set_xlim(-0.03, 1.03)
    top.set_ylim(-0.03, 1.03)
    style.axis_labels(top, "", "share that is true")
    style.axis_labels(bottom, "Pr(before | data), mean of the bin", "pairs")
    style.legend(top, handles, loc="upper left")
    return style.plain_text(figure)

"""The reliability curve: do pairs that are said to hold with 80 % hold 80 times in 100?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from posetta.errors import InputError
from posetta.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ReliabilityBins(NamedTuple):
    """Pairs in bins of their probability; one entry for each bin."""

    predicted: Sequence[float]
    """Mean probability of the pairs in the bin."""
    observed: Sequence[float]
    """Share of them that the truth has."""
    pairs: Sequence[int]
    """How many pairs the bin holds."""


def reliability(bins: Mapping[str, ReliabilityBins | tuple[Sequence[float], ...]]) -> Figure:
    """Draw observed against predicted shares by method, and how many pairs each bin holds.

    Bars are binomial standard errors, sqrt(q (1 - q) / pairs). Empty bins are left out. The dashed
    diagonal is perfect calibration: above it a method is too cautious, below it too sure.
    """
    if not bins:
        raise InputError("there is nothing to draw: no bins were given.")
    figure = style.empty_figure(3.4, 4.0)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3.0, 1.0))
    looks = style.method_looks(bins)
    for ax in (top, bottom):
        style.dress(ax)
    top.plot([0, 1], [0, 1], "--", color=style.FAINT, linewidth=0.8)
    handles = []
    for name, given in bins.items():
        predicted, observed, count = (np.asarray(part, dtype=float) for part in given)
        if not len(predicted) == len(observed) == len(count):
            raise InputError(f"{name}: predicted, observed and pairs have different lengths.")
        kept = count > 0
        predicted, observed, count = predicted[kept], observed[kept], count[kept]
        error = np.sqrt(observed * (1.0 - observed) / count)
        look = looks[name]
        handles.append(
            top.errorbar(
                predicted, observed, yerr=error, fmt=f"{look.marker}-", color=look.colour,
                markersize=4.5, linewidth=1.2, elinewidth=0.8, capsize=2,
                label=style.method_name(name),
            )
        )  # fmt: skip
        bottom.plot(
            predicted, count, marker=look.marker, color=look.colour, markersize=3.5, linewidth=1.0
        )
    style.log_scale(bottom)
    top.set_xlim(-0.03, 1.03)
    top.set_ylim(-0.03, 1.03)
    style.axis_labels(top, "", "share that is true")
    style.axis_labels(bottom, "Pr(before | data), mean of the bin", "pairs")
    style.legend(top, handles, loc="upper left")
    return style.plain_text(figure)

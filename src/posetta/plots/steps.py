"""The steps of one trace under the hard and the relaxed model, candidate by candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from posetta.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Step(NamedTuple):
    """The choice at one step: probabilities of the remaining items under both models."""

    placed: Sequence[str]
    remaining: Sequence[str]
    hard: Sequence[float]
    relaxed: Sequence[float]


def step_bars(steps: Sequence[Step]) -> Figure:
    """Draw, for every step, the probability of each remaining item: hard beside relaxed."""
    figure, axes = style.panels(len(steps), width=2.7, height=2.4, share_y=True)
    for number, (ax, step) in enumerate(zip(axes, steps, strict=True), start=1):
        at = np.arange(len(step.remaining))
        for shift, values, colour in (
            (-0.2, step.hard, style.INK),
            (0.2, step.relaxed, style.RECOVERED),
        ):
            bars = ax.bar(at + shift, values, width=0.36, color=colour, zorder=2)
            for bar, value in zip(bars, values, strict=True):
                ax.text(
                    bar.get_x() + 0.18, value + 0.015, _written(value), ha="center", va="bottom",
                    fontsize=style.SMALL_SIZE, color=style.INK,
                )  # fmt: skip
        ax.set_xticks(at, [style.shown(item) for item in step.remaining])
        ax.set_ylim(0.0, 1.15)
        ax.set_yticks([0.0, 0.5, 1.0])
        ax.grid(visible=False, axis="x")
        done = ", ".join(map(style.shown, step.placed))
        style.title(ax, f"step {number}" + (f", after {done}" if done else ""))
    style.axis_labels(axes[0], "", "probability of coming next")
    from matplotlib.patches import Patch

    handles = [Patch(color=style.INK, label="hard"), Patch(color=style.RECOVERED, label="relaxed")]
    style.legend(figure, handles, loc="outside upper center", ncols=2)
    return style.plain_text(figure)


def _written(value: float) -> str:
    return "0" if value == 0.0 else "<0.01" if value < 0.005 else f"{value:.2f}"

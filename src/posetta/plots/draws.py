"""Pictures of draws: how a run went, and what the scalars are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posetta.errors import InputError
from posetta.plots import style
from posetta.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCALAR_NAMES = {
    "rho": "ρ", "beta": "β", "gamma": "γ", "noise": "noise ε", "dim": "dimension d",
    "relations": "number of precedences", "log_likelihood": "log-likelihood",
}  # fmt: skip
_CHAIN_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
# Where a scalar lives: densities are folded back at these borders, not smeared over them.
_SUPPORT = {"rho": (0.0, 1.0), "noise": (0.0, 1.0), "beta": (0.0, np.inf), "gamma": (0.0, np.inf)}


def chain_traces(posterior: Posterior) -> Figure:
    """Draw log-likelihood, number of precedences and inferred scalars along the chains."""
    if posterior.is_point:
        raise InputError("a single order has no draws to show.")
    series = {
        "log_likelihood": log_likelihoods(posterior),
        "relations": posterior.n_relations.astype(float),
    }
    for name in _varying([posterior]):
        series[name] = posterior.draws.scalars[name]
    figure, axes = style.panels(len(series), width=3.2, height=2.0, columns=2)
    for ax, (name, values) in zip(axes, series.items(), strict=True):
        _chain_lines(ax, values)
        style.axis_labels(ax, "draw", SCALAR_NAMES.get(name, name))
    return style.plain_text(figure)


def elbo_traces(posteriors: Mapping[str, Posterior]) -> Figure:
    """Draw how the ELBO of variational fits rose, one line for each."""
    figure, (ax,) = style.panels(1, width=4.2, height=2.6)
    looks = style.method_looks(posteriors)
    for name, posterior in posteriors.items():
        steps, elbo = elbo_of(posterior)
        ax.plot(steps, elbo, color=looks[name].colour, linewidth=1.3, label=style.method_name(name))
    style.axis_labels(ax, "step", "ELBO")
    _clip_start(ax, [elbo_of(posterior)[1] for posterior in posteriors.values()])
    style.legend(ax, ax.get_legend_handles_labels()[0], loc="lower right")
    return style.plain_text(figure)


def convergence(posteriors: Mapping[str, Posterior], *, columns: int = 4) -> Figure:
    """Draw a panel for each method: ELBO along the steps, or log-likelihood of the draws."""
    if not posteriors:
        raise InputError("there is no result to draw.")
    figure, axes = style.panels(len(posteriors), width=2.6, height=2.1, columns=columns)
    for ax, (name, posterior) in zip(axes, posteriors.items(), strict=True):
        style.title(ax, style.method_name(name))
        if "elbo_trace" in posterior.diagnostics:
            steps, elbo = elbo_of(posterior)
            ax.plot(steps, elbo, color=style.RECOVERED, linewidth=1.2)
            _clip_start(ax, [elbo])
            style.axis_labels(ax, "step", "ELBO")
        else:
            _chain_lines(ax, log_likelihoods(posterior))
            style.axis_labels(ax, "draw", "log-likelihood")
    return style.plain_text(figure)


def scalar_densities(
    cases: Mapping[str, Mapping[str, Posterior]], *, scalars: Sequence[str] | None = None
) -> Figure:
    """Draw posterior densities of the scalars by method; a row of panels for each case.

    ``cases`` maps a title to results by method: ``{"bishops": {"hard": ..., "nuts": ...}}``. Dotted
    lines are posterior means. A scalar that was fixed has no density.
    """
    everything = [one for results in cases.values() for one in results.values()]
    names = _varying(everything) if scalars is None else list(scalars)
    if not names:
        raise InputError("there is nothing to draw: every scalar of these results is fixed.")
    looks = style.method_looks(dict.fromkeys(m for results in cases.values() for m in results))
    figure, axes = style.panels(len(cases) * len(names), width=2.5, height=1.9, columns=len(names))
    for row, (case, results) in enumerate(cases.items()):
        for column, scalar in enumerate(names):
            ax = axes[row * len(names) + column]
            for method, posterior in results.items():
                if scalar in _varying([posterior]):
                    _density(ax, posterior.draws.scalar(scalar), scalar, looks[method].colour)
            if not ax.lines:
                _say_fixed(ax)
            ax.set_ylim(bottom=0.0)
            ax.set_yticks([])
            ax.spines["left"].set_visible(False)
            style.axis_labels(ax, SCALAR_NAMES.get(scalar, scalar))
            if column == 0:
                ax.set_ylabel(style.shown(case), fontsize=style.TEXT_SIZE, parse_math=False)
    _line_key(figure, looks)
    return style.plain_text(figure)


def log_likelihoods(posterior: Posterior) -> NDArray[np.float64]:
    """Return the log-likelihood of all traces, copies included, as (chain, draw)."""
    return posterior.draws.log_likelihood @ posterior.traces.counts.astype(float)


def elbo_of(posterior: Posterior) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the steps and the ELBO that a variational fit recorded."""
    diagnostics = posterior.diagnostics
    if "elbo_trace" not in diagnostics:
        raise InputError(f"method {posterior.method!r} recorded no ELBO; fullrank and flow do.")
    # In a file, what was not finite stands as None.
    elbo = np.array([np.nan if v is None else v for v in diagnostics["elbo_trace"]], dtype=float)
    every = float(diagnostics.get("elbo_trace_steps", 1))
    return np.arange(1.0, len(elbo) + 1.0, dtype=np.float64) * every, elbo


def _varying(posteriors: Sequence[Posterior]) -> list[str]:
    """Return the scalars that vary in some result, in the order of their table."""
    return [
        name
        for name in SCALAR_NAMES
        if any(
            name in one.draws.scalars and np.ptp(one.draws.scalars[name]) > 0.0
            for one in posteriors
        )
    ]


def _chain_lines(ax: Axes, values: NDArray[np.float64]) -> None:
    for k, chain in enumerate(values):
        ax.plot(
            np.arange(1, len(chain) + 1), chain, linewidth=0.7, alpha=0.85,
            color=_CHAIN_COLOURS[k % len(_CHAIN_COLOURS)], gid=f"chain-{k}",
        )  # fmt: skip


def _clip_start(ax: Axes, traces: Sequence[NDArray[np.float64]]) -> None:
    """Let the first steps, often far below the rest, leave the picture, so that the end is seen."""
    finite = np.concatenate([trace[np.isfinite(trace)] for trace in traces])
    if len(finite) < 10:
        return
    low, high = np.quantile(finite, 0.25), finite.max()
    if high > low:
        ax.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))


def _say_fixed(ax: Axes) -> None:
    ax.set_xticks([])
    ax.text(
        0.5, 0.5, "fixed, or no part of the method", transform=ax.transAxes, ha="center",
        va="center", fontsize=style.SMALL_SIZE, color=style.FAINT,
    )  # fmt: skip


def _density(ax: Axes, values: NDArray[np.float64], scalar: str, colour: str) -> None:
    if scalar == "dim":
        places, counts = np.unique(values, return_counts=True)
        ax.plot(places, counts / counts.sum(), marker="o", markersize=3, color=colour, linewidth=1)
    else:
        grid, density = folded_density(values, *_SUPPORT.get(scalar, (-np.inf, np.inf)))
        ax.plot(grid, density, color=colour, linewidth=1.3)
        ax.fill_between(grid, density, color=colour, alpha=0.1, linewidth=0)
    ax.axvline(float(values.mean()), color=colour, linestyle=":", linewidth=1.0)


def folded_density(
    values: NDArray[np.float64], low: float = -np.inf, high: float = np.inf
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a grid and a Gaussian kernel density on it, folded back at the borders.

    f(x) = 1/(S h) sum_s [phi((x - v_s)/h) + its images at the borders], with Silverman's h. The
    integral over [low, high] is 1.
    """
    spread = min(
        values.std(ddof=1), np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.34 or np.inf
    )
    h = 0.9 * spread * len(values) ** -0.2
    grid = np.linspace(max(low, values.min() - 3 * h), min(high, values.max() + 3 * h), 201)
    images = [values]
    images += [2 * border - values for border in (low, high) if np.isfinite(border)]
    density = sum(
        np.exp(-0.5 * ((grid[:, None] - image[None, :]) / h) ** 2).sum(axis=1) for image in images
    )
    return grid, np.asarray(density / (len(values) * h * np.sqrt(2 * np.pi)))


def _line_key(figure: Figure, looks: dict[str, style.MethodLook]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.colour, linewidth=1.5, label=style.method_name(name))
        for name, look in looks.items()
    ]
    style.legend(figure, handles, loc="outside upper center", ncols=4)

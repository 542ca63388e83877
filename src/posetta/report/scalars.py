"""Posterior of the scalars and of the order's shape, as small histograms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.posterior import Posterior

_BINS = 24
_MEANING = {
    "rho": "correlation of the latent columns: near 1 the order is nearly total",
    "beta": "how strongly a step prefers items that many others wait for",
    "gamma": "sharpness of the relaxed precedence",
    "noise": "share of steps that ignore the order",
    "dim": "latent dimension: how complex the order may be",
    "relations": "ordered pairs in a draw",
    "depth": "levels in a draw",
}
_WHOLE = ("dim", "relations", "depth")


def scalar_content(posterior: Posterior) -> list[dict[str, Any]]:
    """Return mean, spread and histogram of every scalar; a fixed one is only a number."""
    named = {name: posterior.draws.scalar(name) for name in _MEANING if name in _known(posterior)}
    if not posterior.is_point:
        named["relations"] = posterior.n_relations.reshape(-1).astype(np.float64)
        named["depth"] = posterior.depth.reshape(-1).astype(np.float64)
    return [
        {"name": name, "meaning": _MEANING[name], **_summary(values, name in _WHOLE)}
        for name, values in named.items()
        if np.isfinite(values).all()
    ]


def _known(posterior: Posterior) -> set[str]:
    return set(posterior.draws.scalars)


def _summary(values: NDArray[np.float64], whole: bool) -> dict[str, Any]:
    low, high = float(values.min()), float(values.max())
    if low == high:
        return {"value": low}
    if whole and high - low < _BINS:
        edges = np.arange(low - 0.5, high + 1.0)
    elif whole:  # bins of equally many whole numbers, or the histogram shows a comb
        width = -(-(high - low + 1) // _BINS)
        edges = np.arange(low - 0.5, high + width, width)
    else:
        edges = np.linspace(low, high, _BINS + 1)
    counts, _ = np.histogram(values, edges)
    q5, q95 = np.quantile(values, [0.05, 0.95])
    return {
        "mean": float(values.mean()),
        "sd": float(values.std(ddof=1)),
        "q5": float(q5),
        "q95": float(q95),
        "edges": [float(edge) for edge in edges],
        "counts": counts.tolist(),
    }

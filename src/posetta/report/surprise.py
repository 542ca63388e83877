"""Which traces does the result expect least, and at which step?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from posetta.posterior import Posterior, predictive
from posetta.report.shape import thinned

_MOST_WORK = 20_000_000
"""Draws times steps: some seconds of the likelihood."""
_MOST_DRAWS = 400
_LISTED = 50


def surprise_content(posterior: Posterior) -> list[dict[str, Any]] | None:
    """Return the most surprising training traces, the greatest surprise first; None if unknown.

    The surprise of a trace is the mean over its steps of -log2 p(step | prefix), p averaged over
    draws; its least likely step is named, with the number of candidates that were left then.
    """
    traces, draws = posterior.traces, posterior.draws
    if not traces.n_steps or not {"beta", "noise"} <= set(draws.scalars):
        return None
    relaxed = posterior.likelihood == "relaxed" and draws.latent is not None
    most = max(1, min(_MOST_DRAWS, _MOST_WORK // traces.n_steps))
    few = replace(posterior, draws=thinned(draws, most))
    step = predictive(few, traces, "own" if relaxed else "hard").step
    ends = np.cumsum(traces.n_listed)
    widths = np.diff(traces.offsets)
    rows = []
    for row, (end, length) in enumerate(zip(ends, traces.n_listed, strict=True)):
        log_p = step[end - length : end]
        candidates = widths[row] - np.arange(length)
        worst = int(np.argmin(log_p))
        rows.append((float(-log_p.mean() / np.log(2.0)), row, worst, log_p, candidates))
    rows.sort(key=lambda entry: -entry[0])
    record_of = {int(row): k for k, row in reversed(list(enumerate(traces.records.row)))}
    return [
        {
            "id": traces.ids[record_of[row]],
            "count": int(traces.counts[row]),
            "items": traces.sequence(row).tolist(),
            "bits": bits if np.isfinite(bits) else None,
            "step": worst,
            "probability": float(np.exp(log_p[worst])),
            "candidates": int(candidates[worst]),
        }
        for bits, row, worst, log_p, candidates in rows[:_LISTED]
    ]

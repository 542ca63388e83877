"""Which traces does the result expect least, and at which step?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from posetta.posterior import Draws, Posterior, score_traces

_MOST_WORK = 200_000_000
"""Draws times steps: some seconds of the likelihood."""
_MOST_DRAWS = 1000
_LISTED = 50


def surprise_content(posterior: Posterior) -> list[dict[str, Any]] | None:
    """Return the most surprising training traces, the greatest surprise first; None if unknown.

    The surprise of a trace is -log2 of its probability, for each step; its least likely step is
    named, with the number of candidates that were left then.
    """
    traces = posterior.traces
    own = posterior.likelihood != "hard" and posterior.draws.latent is not None
    if not traces.n_steps or not (own or {"beta", "noise"} <= set(posterior.draws.scalars)):
        return None
    most = max(1, min(_MOST_DRAWS, _MOST_WORK // traces.n_steps))
    few = replace(posterior, draws=thinned(posterior.draws, most))
    scores = score_traces(few, traces, "own" if own else "hard")
    widths = np.diff(traces.offsets)
    ranked = sorted(enumerate(scores), key=lambda entry: -entry[1].surprise)
    return [
        {
            "id": score.ids[0],
            "count": score.count,
            "items": traces.sequence(row).tolist(),
            "bits": score.surprise / np.log(2.0) if np.isfinite(score.surprise) else None,
            "step": score.most_surprising_step - 1,
            "probability": float(score.step_probability[score.most_surprising_step - 1]),
            "candidates": int(widths[row]) - score.most_surprising_step + 1,
        }
        for row, score in ranked[:_LISTED]
    ]


def thinned(draws: Draws, most: int) -> Draws:
    """Return every k-th draw of each chain, so that at most about ``most`` are left."""
    k = max(1, -(-draws.n_chains * draws.n_draws // most))
    return Draws(
        closure_bits=draws.closure_bits[:, ::k],
        scalars={name: values[:, ::k] for name, values in draws.scalars.items()},
        log_likelihood=draws.log_likelihood[:, ::k],
        latent=None if draws.latent is None else draws.latent[:, ::k],
    )

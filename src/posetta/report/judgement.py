"""How good is it, where a true order or held-out traces are given?"""

from __future__ import annotations

from typing import Any

import numpy as np

from posetta.data import Traces
from posetta.evaluate import (
    calibration,
    closure_mae,
    closure_scores,
    step_nll,
    trace_nll,
)
from posetta.order import Poset
from posetta.posterior import Posterior

_WORDS = {"hard": "exact frontier", "relaxed": "relaxed", "plackett-luce": "Plackett-Luce"}


def truth_content(posterior: Posterior, truth: Poset, threshold: float) -> dict[str, Any]:
    """Return recovery at the threshold, Brier score and calibration against a true order.

    Calibration sorts all ordered pairs into ten bins of Pr(i before j) and sets the mean
    probability of each bin beside the share that is true.
    """
    scores = closure_scores(posterior.decode(threshold), truth)
    content: dict[str, Any] = {
        "closure": np.argwhere(truth.reindex(posterior.items).closure).tolist(),
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "brier": 0.0,
    }
    if posterior.is_point:  # its probabilities are 0 and 1: the squares are the differences
        content["brier"] = closure_mae(posterior, truth)
    elif len(posterior.items) > 1:
        found = calibration(posterior, truth)
        content["brier"] = float(found.brier)
        content["reliability"] = [
            {"said": one.predicted, "true": float(one.observed), "n": one.n_pairs}
            for one in found.bins
            if one.n_pairs
        ]
    return content


def held_out_content(posterior: Posterior, test: Traces) -> dict[str, Any]:
    """Return trace and step NLL of held-out traces, under the result's own and the hard model."""
    likelihoods = ("own", "hard") if posterior.likelihood == "relaxed" else ("own",)
    rows = []
    for likelihood in likelihoods:
        words = _WORDS[posterior.likelihood if likelihood == "own" else likelihood]
        for name, nll in (("trace", trace_nll), ("step", step_nll)):
            value = nll(posterior, test, likelihood)
            rows.append({"name": name, "likelihood": words, **value.to_dict()})
    return {"n_traces": len(test), "rows": rows}

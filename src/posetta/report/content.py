"""Everything the page shows, as plain values: what `render` embeds as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.errors import check_threshold
from posetta.order import Poset
from posetta.plain import plain
from posetta.posterior import Posterior
from posetta.posterior.findings import SURE
from posetta.report.convergence import convergence_content
from posetta.report.examples import example_traces
from posetta.report.groups import Groups, group_content
from posetta.report.judgement import held_out_content, truth_content
from posetta.report.reproduce import provenance_content
from posetta.report.scalars import scalar_content
from posetta.report.surprise import surprise_content

_METHODS = {
    "hard": "Markov chains on the exact likelihood",
    "nuts": "no-U-turn sampler on the relaxed likelihood",
    "fullrank": "Gaussian approximation of the relaxed posterior",
    "flow": "flow approximation of the relaxed posterior",
    "exact": "enumeration of every order",
    "softdag": "soft edges fitted by gradient descent",
    "plackett-luce": "supports of a ranking model, no partial order",
    "majority": "pairs that most traces agree on",
    "maximal": "pairs that the traces (almost) never contradict",
}
_STATUS = {
    "ok": "The fit passed its checks.",
    "point": "A rule that gives one order; there is nothing to converge.",
    "approximate": "An approximation that converged. Probabilities near 1/2 may be off.",
    "budget_reached": "The run ended before it was done. Treat the probabilities as provisional.",
    "unmixed": "The fit has not converged. Do not rely on these probabilities yet.",
    "diverged": "The sampler broke down in parts of the posterior. Do not rely on these numbers.",
}


def content(
    posterior: Posterior,
    *,
    threshold: float = 0.5,
    groups: Groups | Mapping[str, str] | None = None,
    truth: Poset | None = None,
    test: Traces | None = None,
    settings: str | None = None,
) -> dict[str, Any]:
    """Return what the page shows; every value is a plain one, NaN and infinity are None."""
    check_threshold(threshold)
    if groups is not None and not isinstance(groups, Groups):
        groups = Groups(groups)
    if groups is not None:
        groups.check(posterior.items)
    names = {} if groups is None else groups.name
    shown = {
        "items": list(posterior.items),
        "names": [names.get(label, label) for label in posterior.items],
        "precedence": [[_short(p) for p in row] for row in posterior.precedence.tolist()],
        "before": PairEvidence.of(posterior.traces).before.tolist(),
        "threshold": threshold,
        "sure": SURE,
        "is_point": posterior.is_point,
        "head": _head(posterior, threshold),
        "n_traces": len(posterior.traces),
        "traces": example_traces(posterior.traces),
        "groups": None
        if groups is None
        else group_content(groups, posterior.items, posterior.precedence),
        "scalars": scalar_content(posterior),
        "convergence": convergence_content(posterior),
        "truth": None if truth is None else truth_content(posterior, truth, threshold),
        "test": None if test is None else held_out_content(posterior, test),
        "surprise": surprise_content(posterior),
        "provenance": provenance_content(posterior, settings),
    }
    return {name: plain(value) for name, value in shown.items()}


def _head(posterior: Posterior, threshold: float) -> dict[str, Any]:
    traces = posterior.traces
    files = traces.report.files
    source = files[0].replace("\\", "/").rsplit("/", 1)[-1] if files else ""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    is_rule = posterior.is_point and posterior.status == "ok"
    return {
        "title": source + more or f"{len(posterior.items)} items",
        "n_items": len(posterior.items),
        "n_traces": len(traces),
        "n_unique": traces.n_unique,
        "method": posterior.method,
        "method_words": _METHODS.get(posterior.method, ""),
        "verdict": verdict(posterior),
        "status": posterior.status,
        "status_words": _STATUS["point" if is_rule else posterior.status],
        "warnings": list(posterior.warnings),
        "levels": posterior.decode(threshold).depth,
    }


def verdict(posterior: Posterior) -> str:
    """Return the outcome in a sentence or two, without figures that the draws do not bear."""
    n = len(posterior.items)
    pairs = n * (n - 1) // 2
    if n < 2:
        return "There is nothing to order: the data name one item."
    upper = np.triu_indices(n, 1)
    p, q = posterior.precedence[upper], posterior.precedence.T[upper]
    never = int(PairEvidence.of(posterior.traces).never_together[upper].sum())
    if posterior.is_point:
        ordered = int((p + q > 0.5).sum())
        words = (
            f"Of {pairs:,} pairs of items, {ordered:,} come in a fixed order and "
            f"{pairs - ordered:,} are left free. This method gives one order and no probabilities."
        )
    else:
        ordered = int((np.maximum(p, q) >= SURE).sum())
        free = int((1.0 - p - q >= SURE).sum())
        words = (
            f"Of {pairs:,} pairs of items, {ordered:,} come in a fixed order and {free:,} are "
            f"free, each with a probability of at least {SURE:.0%}; "
            f"{_still(pairs - ordered - free)}."
        )
    if never:
        words += f" {never:,} pairs were never seen together."
    return words


def _still(undecided: int) -> str:
    if undecided == 0:
        return "none stays undecided"
    return f"{undecided:,} stay{'s' if undecided == 1 else ''} undecided"


def _short(p: float) -> float | int:
    """0 and 1 are most of a matrix, and shorter without a decimal point."""
    return int(p) if p in (0.0, 1.0) else p

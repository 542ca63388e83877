"""What a job reports about its posterior: one flat row of numbers and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import InputError
from posetta.evaluate import closure_mae, closure_scores, step_nll, trace_nll, waic
from posetta.evaluate.predictive import NegativeLogLikelihood
from posetta.order import Poset
from posetta.posterior import Posterior
from posetta.suite.data_sets import DataSet

_CALIBRATION_BINS = 10
# As they stand in `Posterior.diagnostics`.
_DIAGNOSTICS = (
    "r_hat_max",
    "ess_min",
    "pair_r_hat_99",
    "chain_mae_max",
    "divergences",
    "elbo",
    "pareto_k",
)


def measure(posterior: Posterior, data: DataSet, thresholds: Sequence[float]) -> dict[str, Any]:
    """Return the row of a fit; what does not apply is absent.

    A metric that refuses these draws, or fails, says so under "notes": hours of fitting are not
    lost for it.
    """
    row: dict[str, Any] = {"status": posterior.status, "is_point": posterior.is_point}
    notes: list[str] = []

    def add(what: Callable[[], Mapping[str, Any]]) -> None:
        try:
            row.update(what())
        except InputError as error:
            notes.append(str(error))
        except Exception as error:
            notes.append(f"{type(error).__name__}: {error}")

    test, truth = data.test, data.truth
    if truth is not None:
        add(lambda: structure(posterior, truth, thresholds))
        add(lambda: observed_structure(posterior, truth, thresholds[0]))
        add(lambda: calibration(posterior, truth))
    if test is not None:
        add(lambda: prediction(posterior, test, "own"))
        add(lambda: prediction(posterior, test, "hard"))
    if not posterior.is_point:
        add(lambda: information(posterior))
    diagnostics = posterior.diagnostics
    row |= {name: diagnostics[name] for name in _DIAGNOSTICS if name in diagnostics}
    for name, summary in posterior.scalar_summary.items():
        row |= {f"{name}_mean": summary["mean"], f"{name}_sd": summary["sd"]}
    return {**row, "notes": notes}


def structure(
    posterior: Posterior, truth: Poset, thresholds: Sequence[float]
) -> dict[str, float | int]:
    """Closure scores at every threshold, and the distance of the probabilities from the truth."""
    row: dict[str, float | int] = {}
    for threshold in thresholds:
        scores = closure_scores(posterior.decode(threshold), truth)
        at = round(100 * threshold)
        for name in ("f1", "precision", "recall", "n_recovered", "n_spurious", "n_missed"):
            row[f"{name}_{at}"] = getattr(scores, name)
    return {**row, "mae_truth": closure_mae(posterior, truth)}


def observed_structure(posterior: Posterior, truth: Poset, threshold: float) -> dict[str, float]:
    """F1 over the items that the training traces list; absent when that is all of them."""
    listings = posterior.traces.listings
    seen = [item for item, count in zip(posterior.items, listings, strict=True) if count]
    if len(seen) == len(posterior.items):
        return {}
    order = posterior.decode(threshold).suborder(seen)
    scores = closure_scores(order, truth.suborder(seen))
    return {"f1_observed": scores.f1, "n_unseen": len(posterior.items) - len(seen)}


def calibration(posterior: Posterior, truth: Poset) -> dict[str, float]:
    """Brier score and expected calibration error of the pair probabilities.

    Brier is the mean of (P_ij - C_ij)^2 over ordered pairs i != j; for a single order that is its
    share of wrong pairs. The calibration error, which only probabilities have, is the mean over
    pairs of |mean P - share of true pairs| in ten bins of equal width.
    """
    probability, outcome = pairs(posterior, truth)
    if not len(probability):
        return {}
    row = {"brier": float(np.mean((probability - outcome) ** 2))}
    if not posterior.is_point:
        place = np.minimum((probability * _CALIBRATION_BINS).astype(int), _CALIBRATION_BINS - 1)
        gap = np.bincount(place, weights=probability - outcome, minlength=_CALIBRATION_BINS)
        row["ece"] = float(np.abs(gap).sum() / len(probability))
    return row


def pairs(posterior: Posterior, truth: Poset) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P_ij and whether i precedes j in truth, over the ordered pairs i != j."""
    off_diagonal = ~np.eye(len(posterior.items), dtype=bool)
    closure = truth.reindex(posterior.items).closure
    return posterior.precedence[off_diagonal], closure[off_diagonal].astype(np.float64)


def prediction(posterior: Posterior, test: Traces, likelihood: str) -> dict[str, float | int]:
    """Trace NLL and Step NLL; infinite ones with their number and the mean of the rest."""
    suffix = "" if likelihood == "own" else "_hard"
    found = {
        f"trace_nll{suffix}": trace_nll(posterior, test, likelihood),
        f"step_nll{suffix}": step_nll(posterior, test, likelihood),
    }
    row: dict[str, float | int] = {}
    for name, value in found.items():
        row |= _with_impossible(name, value)
    return row


def _with_impossible(name: str, value: NegativeLogLikelihood) -> dict[str, float | int]:
    row: dict[str, float | int] = {name: float(value), f"{name}_impossible": value.n_impossible}
    if value.n_impossible:
        row[f"{name}_finite"] = value.finite_mean
    return row


def information(posterior: Posterior) -> dict[str, float]:
    """WAIC of the training traces and its parts."""
    found = waic(posterior, posterior.traces)
    return {
        "waic": found.waic,
        "p_waic": found.p_waic,
        "elpd_waic": found.lppd - found.p_waic,
        "waic_se": found.standard_error,
    }

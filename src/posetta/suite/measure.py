"""What a job reports about its posterior: one flat row of numbers and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from posetta.data import Traces
from posetta.errors import InputError
from posetta.evaluate import (
    NegativeLogLikelihood,
    calibration,
    closure_mae,
    closure_scores,
    observed_items,
    step_nll,
    trace_nll,
    waic,
)
from posetta.order import Poset
from posetta.posterior import Posterior
from posetta.posterior.posterior import Rule
from posetta.suite.data_sets import DataSet

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


def measure(
    posterior: Posterior,
    data: DataSet,
    thresholds: Sequence[float],
    rules: Sequence[Rule] = (),
) -> dict[str, Any]:
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
        for rule in rules:
            add(partial(decoded, posterior, truth, rule))
        add(lambda: observed_structure(posterior, truth, thresholds[0]))
        add(lambda: calibrated(posterior, truth))
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


def decoded(posterior: Posterior, truth: Poset, rule: Rule) -> dict[str, float]:
    """F1 of another decoder; a single order is its own under all of them."""
    order = posterior.decode() if posterior.is_point else posterior.decode(rule=rule)
    return {f"f1_{rule}": closure_scores(order, truth).f1}


def observed_structure(posterior: Posterior, truth: Poset, threshold: float) -> dict[str, float]:
    """F1 over the items that the training traces list; absent when that is all of them."""
    n_unseen = len(posterior.items) - len(observed_items(posterior.traces))
    if not n_unseen:
        return {}
    scores = closure_scores(posterior.decode(threshold), truth, posterior.traces)
    return {"f1_observed": scores.f1, "n_unseen": n_unseen}


def calibrated(posterior: Posterior, truth: Poset) -> dict[str, float]:
    """Brier score and expected calibration error of the pair probabilities.

    The Brier score of a single order, all of whose pairs are 0 or 1, is its share of wrong pairs;
    it has no calibration error.
    """
    if len(posterior.items) < 2:
        return {}
    if posterior.is_point:
        return {"brier": closure_mae(posterior, truth)}
    found = calibration(posterior, truth)
    return {"brier": float(found.brier), "ece": float(found.ece)}


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

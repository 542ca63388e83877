"""The SoftDAG-Frontier baseline (appendix softdag): a soft graph by Adam, then one order.

For every pair of penalties and every random start the objective of `soft_graph` is minimised on
the larger part of the traces; the fit with the least Step NLL on the rest is chosen. Thresholding
soft reachability, breaking cycles and closing gives the order.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.baselines.cycles import cut_words, without_cycles
from posetta.baselines.point import fixed_noise, point_posterior
from posetta.baselines.settings import SoftDAG
from posetta.baselines.soft_graph import LEAST_DEGREE, Objective, acyclicity, soft_graph
from posetta.baselines.soft_search import Search, mean_over_steps
from posetta.data import Traces
from posetta.model.model import Model
from posetta.posterior import Posterior
from posetta.posterior.diagnostics import LET_IT_RUN

# With beta above this, two followers beat one at odds of 1.5^20 = 3,000 to 1: no choice is left.
_SHARP_BETA = 20.0
# With beta below this, 99 followers beat none at odds of 100^0.01 = 1.05 to 1: they do not matter.
_FLAT_BETA = 0.01
# Scores that differ by less than this between the two directions of every pair say nothing.
_SYMMETRIC = 1e-3
# A gain over the uniform choice, in nats a step, that is too small to be one.
_NO_GAIN = 1e-3


def run(
    traces: Traces,
    model: Model,
    settings: SoftDAG,
    seed: int,
    report: Callable[[float, str], None],
) -> Posterior:
    """Fit the baseline. Ctrl-C and ``max_seconds`` end the search with the best fit so far."""
    noise = fixed_noise(model, "softdag")
    started = time.perf_counter()
    # One step compiles the likelihood, or loads what was compiled.
    n = traces.n_items
    Objective(traces, 1, 0.0, 0.0, noise).value_and_gradient(np.zeros((n, n)), 1.0)
    compiled = time.perf_counter() - started
    search = Search(traces, model, settings, seed, report)
    chosen, final = search.run()
    graph = soft_graph(final.logits, search.path_length)
    threshold = settings.threshold
    if threshold is None:
        threshold = 0.5 if n < 100 else 1.0 / 3.0
    closure, n_cut = without_cycles(graph.reach > threshold, graph.reach)
    found: dict[str, Any] = {
        "sparsity": chosen.sparsity,
        "acyclicity": chosen.acyclicity,
        "validation_step_nll": chosen.step_nll,
        "uniform_step_nll": mean_over_steps(_log_choices(search.judged), search.judged),
        "held_out": len(search.judged) if search.held_out else 0,
        "soft_beta": final.beta,
        "notears": acyclicity(graph.edges, max(search.path_length, LEAST_DEGREE))[0],
        "threshold": threshold,
        "cut_pairs": n_cut,
        "soft_scores": np.round(graph.reach, 6).tolist(),
        "tried": [
            {
                "sparsity": candidate.sparsity,
                "acyclicity": candidate.acyclicity,
                "restart": candidate.restart,
                "objective": candidate.objective,
                "step_nll": candidate.step_nll,
            }
            for candidate in search.tried
        ],
    }
    degenerate = _degeneracies(closure, graph.reach, found, beta_is_free=model.beta is None)
    found["degenerate"] = list(degenerate)
    warnings = tuple(degenerate.values())
    if search.stopped:
        share = f"{len(search.tried)} of {len(search.grid) * search.restarts}"
        warnings += (f"the search was stopped after {share} fits. {LET_IT_RUN}",)
    return point_posterior(
        closure,
        traces,
        model,
        method="softdag",
        settings=settings,
        seed=seed,
        started=started,
        compiled=compiled,
        status="budget_reached" if search.stopped else "ok",
        warnings=warnings,
        diagnostics=found,
    )


def _log_choices(traces: Traces) -> NDArray[np.float64]:
    """Return log |R_t| of every listed step: what a uniform choice pays."""
    sizes = np.diff(traces.offsets)
    left = [np.arange(size, size - k, -1) for size, k in zip(sizes, traces.n_listed, strict=True)]
    return np.log(np.concatenate(left)) if left else np.zeros(0)


def _degeneracies(
    closure: NDArray[np.bool_],
    reach: NDArray[np.float64],
    found: dict[str, Any],
    *,
    beta_is_free: bool,
) -> dict[str, str]:
    """Name the ways in which a fit may have failed, each with words for the user."""
    n = len(closure)
    words = {}
    if n > 1 and not closure.any():
        words["empty"] = (
            "the order is empty: no soft score stayed above the threshold. Lower threshold or "
            "sparsity, or raise steps."
        )
    if n > 1 and np.abs(reach - reach.T).max() < _SYMMETRIC:
        words["symmetric"] = (
            "the soft scores are the same in both directions of every pair: the search ended at "
            "the uninformative solution. Raise restarts or steps."
        )
    if n > 2 and closure.sum() == n * (n - 1) // 2:
        words["total"] = (
            "every pair is ordered: a single line, which the soft model prefers when it has seen "
            "few traces. Raise sparsity or threshold if some steps are free."
        )
    if found["cut_pairs"]:
        words["cycles"] = cut_words(found["cut_pairs"], "above the threshold")
        words["cycles"] += " Raise acyclicity."
    beta = found["soft_beta"]
    if beta_is_free and not _FLAT_BETA <= beta <= _SHARP_BETA:
        words["beta"] = (
            f"the soft fit ended at beta = {beta:.3g}, which leaves "
            + ("no choice" if beta > 1.0 else "every choice equal")
            + ". Fix beta in the model (beta=1, say)."
        )
    gain = found["uniform_step_nll"] - found["validation_step_nll"]
    if found["uniform_step_nll"] > 0.0 and gain < _NO_GAIN:
        words["no gain"] = (
            f"the chosen fit predicts held-out steps no better than a uniform choice (Step NLL "
            f"{found['validation_step_nll']:.3f} against {found['uniform_step_nll']:.3f})."
        )
    return words

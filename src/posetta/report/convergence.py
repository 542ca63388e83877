"""Did it converge? Chains side by side, or the climb of the ELBO, and the figures that judge it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.posterior import Posterior
from posetta.posterior.diagnostics import ESS_LIMIT, PAIR_R_HAT_LIMIT, R_HAT_LIMIT
from posetta.posterior.pareto import PARETO_K_LIMIT

_MOST_POINTS = 400
_FACTS = {
    "r_hat_max": ("largest R-hat", f"at most {R_HAT_LIMIT}"),
    "ess_min": ("fewest effective draws", f"at least {ESS_LIMIT:.0f}"),
    "pair_r_hat_99": ("R-hat of uncertain pairs, 99th percentile", f"at most {PAIR_R_HAT_LIMIT}"),
    "pair_mcse_max": ("largest Monte Carlo error of a pair probability", ""),
    "chain_mae_max": ("mean difference of pair probabilities between two chains", ""),
    "divergences": ("divergent iterations", ""),
    "elbo": ("ELBO", ""),
    "pareto_k": ("Pareto k", f"at most {PARETO_K_LIMIT}"),
    "log_evidence": ("log evidence", ""),
    "precedence_se_max": ("largest standard error of a pair probability", ""),
    "impossible_traces": ("traces that contradict the order", ""),
}


def convergence_content(posterior: Posterior) -> dict[str, Any]:
    """Return lines to draw (over draws or steps), R-hat and ESS with their limits, and facts."""
    found = posterior.diagnostics
    lines: list[dict[str, Any]] = []
    if "elbo_trace" in found:
        trace = np.asarray(found["elbo_trace"], dtype=float)
        every = int(found.get("elbo_trace_steps", 1))
        lines.append(_line("ELBO", "step", trace[None], every))
    elif not posterior.is_point and "r_hat" in found:
        log_likelihood = posterior.draws.log_likelihood
        if log_likelihood.shape[2]:
            total = log_likelihood @ posterior.traces.counts
            lines.append(_line("log likelihood of the traces", "draw", total, 1))
        lines.append(_line("ordered pairs", "draw", posterior.n_relations, 1))
    r_hat, ess = found.get("r_hat") or {}, found.get("ess") or {}
    return {
        "lines": [line for line in lines if line["x"]],
        "quantities": [
            {"name": name.replace("_", " "), "r_hat": r_hat[name], "ess": ess.get(name)}
            for name in r_hat
        ],
        "limits": {"r_hat": R_HAT_LIMIT, "ess": ESS_LIMIT},
        "facts": [
            {"name": words, "value": found[key], "wanted": wanted}
            for key, (words, wanted) in _FACTS.items()
            if key in found
        ],
    }


def _line(name: str, unit: str, values: NDArray[Any], every: int) -> dict[str, Any]:
    """Return one panel: a line for each chain, thinned to what a screen can show."""
    k = max(1, -(-values.shape[1] // _MOST_POINTS))
    shown = values[:, ::k]
    return {
        "name": name,
        "unit": unit,
        "x": [(j * k + 1) * every for j in range(shown.shape[1])],
        "chains": [
            [round(v, 4) if np.isfinite(v) else None for v in chain] for chain in shown.tolist()
        ],
    }

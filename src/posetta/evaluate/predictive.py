"""How well does a posterior predict traces? Trace NLL, Step NLL and WAIC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import InputError, SettingError
from posetta.evaluate.measured import Measured
from posetta.evaluate.training import support_warnings, training_log_likelihood
from posetta.plain import plain
from posetta.posterior import Posterior, predictive

# A pointwise variance above this makes WAIC unreliable (Vehtari, Gelman and Gabry, 2017).
_LARGE_VARIANCE = 0.4


class NegativeLogLikelihood(Measured):
    """A mean NLL; infinite if any trace or step is impossible under every draw."""

    n: int
    """Traces, or steps, that were averaged (counts included)."""
    n_impossible: int
    """Of these, how many every draw gives probability 0."""
    finite_mean: float
    """Mean over the possible ones; NaN if there are none."""

    @classmethod
    def of(cls, log_probability: NDArray[np.float64], weight: NDArray[np.int64]) -> Self:
        """Average -log p with the given multiplicities."""
        n = int(weight.sum())
        if n == 0:
            raise InputError("there is nothing to score in these test traces.")
        possible = np.isfinite(log_probability)
        nll, kept = -log_probability[possible], weight[possible]
        finite_mean = float(np.average(nll, weights=kept)) if kept.sum() else float("nan")
        error = None
        if possible.all() and n > 1:
            variance = float(kept @ (nll - finite_mean) ** 2) / (n - 1)
            error = float(np.sqrt(variance / n))
        self = cls(finite_mean if possible.all() else np.inf, error)
        self.n = n
        self.n_impossible = n - int(kept.sum())
        self.finite_mean = finite_mean
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the mean and what stands behind it as plain values; None if not finite."""
        return {
            "value": plain(float(self)),
            "standard_error": self.standard_error,
            "n": self.n,
            "n_impossible": self.n_impossible,
            "finite_mean": plain(self.finite_mean),
        }

    def __repr__(self) -> str:
        if not self.n_impossible:
            return super().__repr__()
        return f"inf ({self.n_impossible} of {self.n} impossible; rest {self.finite_mean:.6g})"


def trace_nll(posterior: Posterior, test: Traces, likelihood: str = "own") -> NegativeLogLikelihood:
    """Return the mean over traces of -log mean_s p(trace | draw s).

    ``likelihood="hard"`` scores any method's draws under the hard frontier model.
    """
    test = test.with_items(posterior.items)
    return NegativeLogLikelihood.of(predictive(posterior, test, likelihood).trace, test.counts)


def step_nll(
    posterior: Posterior, test: Traces, likelihood: str = "own", *, first_step: int = 1
) -> NegativeLogLikelihood:
    """Return the mean over steps of -log mean_s p(step | prefix, draw s).

    ``first_step=2`` leaves out the step from the empty prefix.
    """
    if first_step not in (1, 2):
        raise SettingError(f"first_step={first_step} must be 1 or 2.")
    test = test.with_items(posterior.items)
    log_probability = predictive(posterior, test, likelihood).step
    weight = np.repeat(test.counts, test.n_listed)
    if first_step == 2:
        starts = np.cumsum(test.n_listed) - test.n_listed
        log_probability = np.delete(log_probability, starts)
        weight = np.delete(weight, starts)
    return NegativeLogLikelihood.of(log_probability, weight)


@dataclass(frozen=True)
class Waic:
    """WAIC = -2 (lppd - p_waic), one term per observation."""

    waic: float
    lppd: float
    p_waic: float
    standard_error: float
    """Sampling error of ``waic`` over the observations."""
    warnings: tuple[str, ...]


def waic(posterior: Posterior, traces: Traces) -> Waic:
    """Return WAIC of the training traces, with sample variance (S - 1) over draws.

    A row counts ``count`` times; the variance is that of the log-likelihood of one copy. At noise
    0 the support of the hard model depends on the order, so WAIC of hard draws is optimistic: the
    traces that alone show a pair in one direction are named in the warnings.
    """
    log_likelihood = training_log_likelihood(posterior, traces, "WAIC")
    counts = posterior.traces.counts
    top = log_likelihood.max(axis=0)
    with np.errstate(invalid="ignore"):
        shifted = np.exp(log_likelihood - top)
        lppd = top + np.log(shifted.mean(axis=0))
        variance = log_likelihood.var(axis=0, ddof=1)
    n = int(counts.sum())
    terms = -2.0 * (lppd - variance)
    total = float(counts @ terms)
    error = float(np.sqrt(n / max(n - 1, 1) * (counts @ (terms - total / n) ** 2))) if n else 0.0
    return Waic(
        waic=total,
        lppd=float(counts @ lppd),
        p_waic=float(counts @ variance),
        standard_error=error,
        warnings=tuple(_waic_warnings(posterior, variance)),
    )


def _waic_warnings(posterior: Posterior, variance: NDArray[np.float64]) -> list[str]:
    traces = posterior.traces
    warnings = []
    large = int(traces.counts[variance > _LARGE_VARIANCE].sum())
    if large:
        warnings.append(
            f"{large} of {len(traces)} traces have a log-likelihood variance above "
            f"{_LARGE_VARIANCE}: WAIC is unstable there."
        )
    return warnings + support_warnings(posterior, "WAIC")

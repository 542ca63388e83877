"""Leave-one-out prediction: by importance weights, and by refitting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import SettingError
from posetta.evaluate.predictive import NegativeLogLikelihood
from posetta.evaluate.training import support_warnings, training_log_likelihood
from posetta.infer import fit
from posetta.infer.methods import Settings
from posetta.model.model import Model
from posetta.posterior import Posterior, predictive
from posetta.posterior.pareto import FEWEST_WEIGHTS, PARETO_K_LIMIT, smooth_tail
from posetta.rng import child


@dataclass(frozen=True, eq=False)
class Loo:
    """Leave-one-out prediction of the training traces, one term per observation."""

    elpd: float
    """Sum over observations of log p(trace | all others); greater is better."""
    p_loo: float
    """Effective number of parameters: lppd - elpd."""
    standard_error: float
    """Sampling error of ``elpd`` over the observations."""
    pointwise: NDArray[np.float64]
    """(unique row of the posterior's traces,): log p(one copy | all other observations)."""
    pareto_k: NDArray[np.float64]
    """(unique row,): shape of the tail of the weights; NaN where the largest are all equal."""
    warnings: tuple[str, ...]

    @property
    def looic(self) -> float:
        """-2 elpd, on the scale of WAIC."""
        return -2.0 * self.elpd


def loo(posterior: Posterior, traces: Traces) -> Loo:
    """Return PSIS-LOO of the training traces (Vehtari, Gelman and Gabry, 2017).

    One observation y is left out by weighting the draws with 1 / p(y | draw), the tail of the
    weights smoothed:

        p(y | others) = sum_s w_s p(y | s) / sum_s w_s

    A row that was observed ``count`` times loses one copy and counts ``count`` times. At noise 0
    this is optimistic for hard draws, and Pareto k cannot see it: see ``warnings``, and `kfold`.
    """
    log_likelihood = training_log_likelihood(posterior, traces, "LOO")
    counts = posterior.traces.counts
    n_rows = log_likelihood.shape[1]
    pointwise, k = np.empty(n_rows), np.empty(n_rows)
    for row in range(n_rows):
        values = log_likelihood[:, row]
        log_weights, k[row] = smooth_tail(-values)
        pointwise[row] = np.logaddexp.reduce(log_weights + values)
    lppd = np.logaddexp.reduce(log_likelihood, axis=0) - np.log(len(log_likelihood))
    n = int(counts.sum())
    elpd = float(counts @ pointwise)
    error = 0.0
    if n > 1:
        error = float(np.sqrt(n / (n - 1) * (counts @ (pointwise - elpd / n) ** 2)))
    return Loo(
        elpd=elpd,
        p_loo=float(counts @ (lppd - pointwise)),
        standard_error=error,
        pointwise=pointwise,
        pareto_k=k,
        warnings=(
            *_tail_warnings(k, posterior.traces, len(log_likelihood)),
            *support_warnings(posterior, "LOO"),
        ),
    )


def _tail_warnings(k: NDArray[np.float64], traces: Traces, n_draws: int) -> list[str]:
    if n_draws < FEWEST_WEIGHTS:
        return [
            f"{n_draws} draws are too few for Pareto k: it needs {FEWEST_WEIGHTS}. Raise draws."
        ]
    bad = np.flatnonzero(k > PARETO_K_LIMIT)
    if not len(bad):
        return []
    worst = int(bad[np.argmax(k[bad])])
    return [
        f"{int(traces.counts[bad].sum())} of {len(traces)} traces have Pareto k above "
        f"{PARETO_K_LIMIT}, {traces.describe_row(worst)} the largest: the draws say too little "
        "about a fit without them. Raise draws, or use evaluate.kfold."
    ]


@dataclass(frozen=True, eq=False)
class KFold:
    """Prediction of held-out observations by fits to the others."""

    nll: NegativeLogLikelihood
    """Mean over all observations of -log p(trace | the other folds); infinite if any is
    impossible, with the number of these and the mean over the rest."""
    fold_nll: tuple[NegativeLogLikelihood, ...]
    statuses: tuple[str, ...]
    """How each fit went."""
    n_fits: int
    """Fits that were made: folds that hold out the same traces share one."""

    @property
    def elpd(self) -> float:
        """Sum over observations of log p(trace | the other folds), to compare with LOO."""
        return -float(self.nll) * self.nll.n


def kfold(
    traces: Traces,
    method: str | Settings = "auto",
    model: Model | None = None,
    k: int = 10,
    seed: int = 0,
    *,
    likelihood: str = "own",
) -> KFold:
    """Hold out each of ``k`` random parts of the observations and predict it from the others.

    ``k = len(traces)`` leaves out one observation at a time, exactly. Every fit keeps the universe
    of items and uses the same seed. It costs up to ``k`` fits, and holds where WAIC and LOO do
    not.
    """
    total = len(traces)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 2 <= k <= total:
        raise SettingError(f"k={k!r} must be a whole number of folds, 2 to {total} (the traces).")
    shuffled = child(seed, "kfold").permutation(total)
    folds = [np.sort(part) for part in np.array_split(shuffled, int(k))]
    made: dict[str, tuple[NDArray[np.float64], NDArray[np.int64], str]] = {}
    scored = []
    for fold in folds:
        held_out = traces.take(fold)
        if held_out.hash not in made:
            rest = traces.take(np.setdiff1d(np.arange(total), fold))
            posterior = fit(rest, method, model, seed=seed)
            found = predictive(posterior, held_out, likelihood)
            made[held_out.hash] = (found.trace, held_out.counts, posterior.status)
        scored.append(made[held_out.hash])
    return KFold(
        nll=NegativeLogLikelihood.of(
            np.concatenate([log_p for log_p, _, _ in scored]),
            np.concatenate([counts for _, counts, _ in scored]),
        ),
        fold_nll=tuple(NegativeLogLikelihood.of(log_p, counts) for log_p, counts, _ in scored),
        statuses=tuple(status for _, _, status in scored),
        n_fits=len(made),
    )

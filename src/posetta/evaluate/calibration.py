"""Do pairs with probability p hold in a share p of cases? Reliability, Brier score and ECE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posetta.errors import InputError, SettingError
from posetta.evaluate.jackknife import item_jackknife, jackknife_error, pairs_among
from posetta.evaluate.measured import Measured
from posetta.order import Poset
from posetta.posterior import Posterior


@dataclass(frozen=True)
class ReliabilityBin:
    """Pairs whose probability lies in one interval: [low, high), the last one closed."""

    low: float
    high: float
    n_pairs: int
    predicted: float
    """Mean probability of the pairs; NaN if there are none."""
    observed: Measured
    """Share of the pairs that hold in the truth; NaN if there are none."""


@dataclass(frozen=True)
class Calibration:
    """Pair probabilities against the truth, over all ordered pairs i != j.

    With one result the standard errors come from leaving out one item at a time, with several from
    leaving out one result at a time.
    """

    brier: Measured
    """Mean of (P_ij - [i before j])^2; 0 is perfect."""
    ece: Measured
    """Expected calibration error: the mean over pairs of |predicted - observed| of their bin."""
    bins: tuple[ReliabilityBin, ...]
    n_pairs: int
    n_results: int


def calibration(
    posterior: Posterior | Sequence[Posterior],
    truth: Poset | Sequence[Poset],
    *,
    bins: int = 10,
) -> Calibration:
    """Compare pair probabilities with a known order, or many with theirs (a simulation study).

    A single order (a baseline) has no probabilities and is refused.
    """
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise SettingError(f"bins={bins!r} must be a whole number from 1.")
    posteriors = [posterior] if isinstance(posterior, Posterior) else list(posterior)
    truths = [truth] if isinstance(truth, Poset) else list(truth)
    if len(posteriors) != len(truths) or not posteriors:
        raise InputError(
            f"{len(posteriors)} posteriors and {len(truths)} true orders; each needs its own."
        )
    if any(one.is_point for one in posteriors):
        raise InputError("calibration needs probabilities; a baseline's single order has none.")
    tables = [
        _Table.of(one.precedence, order.reindex(one.items).closure, int(bins))
        for one, order in zip(posteriors, truths, strict=True)
    ]
    whole = _Table.sum(tables)
    if whole.n.sum() == 0:
        raise InputError("calibration needs at least two items.")
    if len(tables) > 1:
        others = [tables[:k] + tables[k + 1 :] for k in range(len(tables))]
        errors = jackknife_error(np.array([_Table.sum(rest).statistics() for rest in others]))
    else:
        P, held = posteriors[0].precedence, truths[0].reindex(posteriors[0].items).closure

        def statistic(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
            return _Table.of(P, held, int(bins), mask).statistics()

        errors = item_jackknife(statistic, len(P))
    values = whole.statistics()
    measured = [
        Measured(float(value), float(error) if np.isfinite(error) else None)
        for value, error in zip(values, errors, strict=True)
    ]
    edges = np.linspace(0.0, 1.0, int(bins) + 1)
    with np.errstate(invalid="ignore"):
        predicted = whole.predicted / whole.n
    return Calibration(
        brier=measured[0],
        ece=measured[1],
        bins=tuple(
            ReliabilityBin(
                low=float(edges[b]),
                high=float(edges[b + 1]),
                n_pairs=int(whole.n[b]),
                predicted=float(predicted[b]),
                observed=measured[2 + b],
            )
            for b in range(int(bins))
        ),
        n_pairs=int(whole.n.sum()),
        n_results=len(tables),
    )


@dataclass(frozen=True)
class _Table:
    """Sums over pairs, bin by bin: all that the scores need."""

    n: NDArray[np.float64]
    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    squares: float

    @classmethod
    def of(
        cls,
        precedence: NDArray[np.float64],
        held: NDArray[np.bool_],
        bins: int,
        mask: NDArray[np.bool_] | None = None,
    ) -> _Table:
        pairs = pairs_among(np.ones(len(held), dtype=np.bool_) if mask is None else mask)
        p, y = precedence[pairs], held[pairs].astype(np.float64)
        place = np.digitize(p, np.linspace(0.0, 1.0, bins + 1)[1:-1])

        def total(weights: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.bincount(place, weights=weights, minlength=bins).astype(np.float64)

        return cls(
            n=total(np.ones_like(p)),
            predicted=total(p),
            observed=total(y),
            squares=float(((p - y) ** 2).sum()),
        )

    @classmethod
    def sum(cls, tables: Sequence[_Table]) -> _Table:
        return cls(
            n=np.sum([table.n for table in tables], axis=0),
            predicted=np.sum([table.predicted for table in tables], axis=0),
            observed=np.sum([table.observed for table in tables], axis=0),
            squares=float(sum(table.squares for table in tables)),
        )

    def statistics(self) -> NDArray[np.float64]:
        """Return Brier, ECE, and the observed share of every bin."""
        total = self.n.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            brier = self.squares / total
            ece = np.abs(self.predicted - self.observed).sum() / total
            return np.concatenate([[brier, ece], self.observed / self.n])

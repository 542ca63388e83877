"""What a result says in words: prerequisites, free pairs, and pairs that the data cannot decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posetta.data.evidence import PairEvidence
from posetta.posterior.posterior import Posterior

SURE = 0.9
"""From this probability on, words are used without "perhaps"."""
CERTAIN = 0.99
"""Below this, a prerequisite may be worth a second look."""


@dataclass(frozen=True)
class PairFinding:
    """Two items, what the result says of them, and what the traces showed."""

    first: str
    second: str
    before: float
    """Pr(first before second | data)."""
    after: float
    free: float
    """Pr(neither before the other | data)."""
    n_first: int
    """Traces that show ``first`` before ``second``."""
    n_second: int


@dataclass(frozen=True)
class Findings:
    """The pairs worth a sentence, the most telling first. A pair is in one list at most.

    ``prerequisites``: covers of the decoded order with a probability of at least 0.9. ``free``:
    pairs that surely have no order. ``undecided``: pairs never seen in both orders of which neither
    can be said, so more traces would be needed. A single order has no probabilities: there, free
    pairs are those that were seen in both orders, undecided ones those never seen together.
    """

    prerequisites: tuple[PairFinding, ...]
    free: tuple[PairFinding, ...]
    undecided: tuple[PairFinding, ...]


def findings(posterior: Posterior, threshold: float = 0.5) -> Findings:
    """Sort the pairs of a result into what is required, what is free and what is open."""
    evidence = PairEvidence.of(posterior.traces)
    before, free = posterior.precedence, posterior.incomparable
    covers = posterior.decode(threshold).covers
    upper = np.triu(np.ones_like(covers), k=1)
    if posterior.is_point:
        is_free = evidence.both_orders & (free == 1.0) & upper
        is_open = evidence.never_together & (free == 1.0) & upper
    else:
        is_free = (free >= SURE) & upper
        said = np.maximum(np.maximum(before, before.T), free) >= SURE
        is_open = ~said & ~evidence.both_orders & upper

    def listed(
        pairs: NDArray[np.bool_], key: Callable[[PairFinding], tuple[float, ...]]
    ) -> tuple[PairFinding, ...]:
        found = [_pair(posterior, evidence, i, j) for i, j in np.argwhere(pairs).tolist()]
        return tuple(sorted(found, key=key, reverse=True))

    return Findings(
        prerequisites=listed(covers & (before >= SURE), lambda p: (p.before, p.n_first)),
        # What mostly came in one order looks like a prerequisite: worth saying that it is none.
        free=listed(is_free, lambda p: (p.n_first * p.n_second > 0, abs(p.n_first - p.n_second))),
        undecided=listed(is_open, lambda p: (_doubt(p), p.n_first + p.n_second)),
    )


def sentences(posterior: Posterior, threshold: float = 0.5, most: int = 3) -> list[str]:
    """Return the most interesting findings in words: from each list in turn, the best first.

    Where nothing is undecided, the least sure of the prerequisites stands in its place.
    """
    found = findings(posterior, threshold)
    point = posterior.is_point
    doubtful = found.undecided
    if not doubtful and not point and found.prerequisites:
        weakest = found.prerequisites[-1]
        doubtful = (weakest,) if weakest.before < CERTAIN and len(found.prerequisites) > 1 else ()
    sure = [pair for pair in found.prerequisites if pair not in doubtful]
    kinds = (
        [required(pair, point) for pair in sure[:most]],
        [free(pair, point) for pair in found.free[:most]],
        [undecided(pair, point) for pair in doubtful[:most]],
    )
    ranked = [kind[k] for k in range(most) for kind in kinds if k < len(kind)]
    return ranked[:most]


def required(pair: PairFinding, is_point: bool = False) -> str:
    """Say that one item must come before another."""
    together = pair.n_first + pair.n_second
    seen = f"so in {pair.n_first} of {together} traces with both" if together else "never together"
    probability = "" if is_point else f"probability {written(pair.before)}; "
    return f'"{pair.first}" must come before "{pair.second}" ({probability}{seen}).'


def free(pair: PairFinding, is_point: bool = False) -> str:
    """Say that two items may be swapped."""
    first, second = pair.first, pair.second
    n, m = pair.n_first, pair.n_second
    if m > n:
        first, second, n, m = second, first, m, n
    probability = "" if is_point else f"probability {written(pair.free)}; "
    shown = "1 trace shows" if n == 1 else f"{n} traces show"
    return (
        f'"{first}" and "{second}" can be swapped ({probability}{shown} "{first}" first, '
        f"{m} the other way)."
    )


def undecided(pair: PairFinding, is_point: bool = False) -> str:
    """Say that the data leave a pair open, or nearly so, and what the traces showed."""
    first, second, p = pair.first, pair.second, pair.before
    n, m = pair.n_first, pair.n_second
    if pair.after > p or (pair.after == p and m > n):
        first, second, p, n, m = second, first, pair.after, m, n
    shown = f"{n} traces show" if n != 1 else "1 trace shows"
    seen = f"{shown} this order and {m or 'none'} the other"
    if n + m == 0:
        seen = "no trace shows them together"
    probability = "" if is_point else f"probability {written(p)}; "
    opening = (
        "It is likely but not sure that"
        if p >= SURE and not is_point
        else ("The data cannot decide whether")
    )
    return f'{opening} "{first}" must come before "{second}" ({probability}{seen}).'


def _pair(posterior: Posterior, evidence: PairEvidence, i: int, j: int) -> PairFinding:
    return PairFinding(
        first=posterior.items[i],
        second=posterior.items[j],
        before=float(posterior.precedence[i, j]),
        after=float(posterior.precedence[j, i]),
        free=float(posterior.incomparable[i, j]),
        n_first=int(evidence.before[i, j]),
        n_second=int(evidence.before[j, i]),
    )


def _doubt(pair: PairFinding) -> float:
    """Return the entropy of before, after and free."""
    shares = np.array([pair.before, pair.after, pair.free])
    shares = shares[shares > 0.0]
    return float(-(shares * np.log(shares)).sum())


def written(probability: float) -> str:
    """Return a probability with two digits; only what is certain is written as 1.00."""
    return ">0.99" if 0.995 <= probability < 1.0 else f"{probability:.2f}"

"""Which traces are odd, and where: step probabilities, impossible steps, contradicted pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import check_threshold
from posetta.plain import plain
from posetta.posterior.posterior import Posterior
from posetta.posterior.predict import predictive


class Contradiction(NamedTuple):
    """A trace chose ``later`` at a step while ``earlier`` was still to come."""

    step: int
    """Number of the step, from 1."""
    earlier: str
    later: str
    probability: float
    """Pr(``earlier`` precedes ``later`` | data)."""


@dataclass(frozen=True, eq=False)
class TraceScore:
    """How probable one distinct trace is, step by step. Steps are numbered from 1."""

    ids: tuple[str, ...]
    """Ids of the records that hold this trace."""
    count: int
    """How often it was observed."""
    items: tuple[str, ...]
    log_probability: float
    """Log of the draw-averaged probability of one copy; -inf if every draw gives it 0."""
    step_probability: NDArray[np.float64]
    """Mean over draws of p(step | prefix, draw), the paper's way."""
    coherent_step_probability: NDArray[np.float64]
    """p(step | prefix, data), draws reweighted by the prefix; NaN after an impossible step."""
    impossible_step: int | None
    """The first step to which every draw gives probability 0, or None."""
    against: tuple[Contradiction, ...]
    """The pairs behind the impossible step: what should have come first, most probable first.
    Every draw holds at least one of them."""
    contradictions: tuple[Contradiction, ...]
    """All pairs that the trace lists against a probability above the threshold, by step."""

    @property
    def surprise(self) -> float:
        """-log probability of the trace per step, so that long and short traces compare."""
        return -self.log_probability / len(self.items)

    @property
    def most_surprising_step(self) -> int:
        """The step of least probability; the first of them if several are least."""
        return int(np.argmin(self.step_probability)) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return the score as plain values, with None for what is infinite or not a number."""
        score = {
            "ids": self.ids,
            "count": self.count,
            "items": self.items,
            "log_probability": self.log_probability,
            "surprise": self.surprise,
            "step_probability": self.step_probability,
            "coherent_step_probability": self.coherent_step_probability,
            "most_surprising_step": self.most_surprising_step,
            "impossible_step": self.impossible_step,
            "against": [pair._asdict() for pair in self.against],
            "contradictions": [pair._asdict() for pair in self.contradictions],
        }
        return {name: plain(value) for name, value in score.items()}


def score_traces(
    posterior: Posterior, traces: Traces, likelihood: str = "own", *, threshold: float = 0.5
) -> list[TraceScore]:
    """Score every distinct trace, in the order of its first record; labels in, labels out.

    ``threshold`` says from which probability on a pair listed the other way round counts as a
    contradiction. Parts of the traces may be scored apart, in processes too: a score depends on
    the posterior and its own trace only.
    """
    check_threshold(threshold)
    traces = traces.with_items(posterior.items)
    found = predictive(posterior, traces, likelihood)
    ids: list[list[str]] = [[] for _ in range(traces.n_unique)]
    for row, name in zip(traces.records.row.tolist(), traces.records.ids, strict=True):
        ids[row].append(name)
    ends = np.cumsum(traces.n_listed)
    step, coherent = np.exp(found.step), np.exp(found.coherent)
    scores = []
    for row, stop in enumerate(ends.tolist()):
        here = slice(stop - int(traces.n_listed[row]), stop)
        impossible = np.flatnonzero(found.step[here] == -np.inf)
        first = int(impossible[0]) + 1 if len(impossible) else None
        contradicted = _contradictions(posterior, traces.choice_set(row), here, threshold)
        scores.append(
            TraceScore(
                ids=tuple(ids[row]),
                count=int(traces.counts[row]),
                items=tuple(traces.labels(row)),
                log_probability=float(found.trace[row]),
                step_probability=step[here],
                coherent_step_probability=coherent[here],
                impossible_step=first,
                against=() if first is None else _against(posterior, traces, row, first),
                contradictions=contradicted,
            )
        )
    return scores


def _contradictions(
    posterior: Posterior, members: NDArray[np.int32], steps: slice, threshold: float
) -> tuple[Contradiction, ...]:
    """Return the pairs (y still to come, x chosen) with Pr(y before x) above the threshold."""
    listed = members[: steps.stop - steps.start]
    # late[t, k]: the probability that what stands at place k should precede what step t chose.
    late = np.triu(posterior.precedence[np.ix_(members, listed)].T, k=1)
    return tuple(
        Contradiction(
            t + 1, posterior.items[members[k]], posterior.items[members[t]], float(late[t, k])
        )
        for t, k in np.argwhere(late > threshold).tolist()
    )


def _against(
    posterior: Posterior, traces: Traces, row: int, step: int
) -> tuple[Contradiction, ...]:
    """Return everything still to come that may precede the chosen item, most probable first."""
    members = traces.choice_set(row)
    chosen, left = members[step - 1], members[step:]
    probability = posterior.precedence[left, chosen]
    order = np.argsort(-probability, kind="stable")
    return tuple(
        Contradiction(
            step, posterior.items[left[k]], posterior.items[chosen], float(probability[k])
        )
        for k in order[probability[order] > 0.0]
    )

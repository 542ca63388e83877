"""Score millions of traces in shards: the same numbers as `predictive`, from many workers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import SettingError
from posetta.posterior import Posterior, Predictive, predictive
from posetta.suite.executors import open_crew


def score_in_shards(
    posterior: Posterior,
    traces: Traces,
    *,
    executor: Any = "serial",
    shards: int | None = None,
    likelihood: str = "own",
) -> Predictive:
    """Return `predictive` of the traces, computed in parts of about the same number of steps.

    ``executor`` is as for a study. Every part holds each of its distinct rows once, so the result
    is the same whatever the number of shards: four for each worker unless given.
    """
    traces = traces.with_items(posterior.items)
    if shards is not None and shards < 1:
        raise SettingError(f"shards={shards} must be at least 1.")
    with open_crew(executor) as crew:
        parts = _parts(traces, 4 * crew.size if shards is None else shards)
        shipped = crew.shipped(posterior)
        futures = [crew.submit(predictive, shipped, part, likelihood) for part in parts]
        scored = [future.result() for future in futures]
    if not scored:
        return predictive(posterior, traces, likelihood)
    return Predictive(*(np.concatenate(fields) for fields in zip(*scored, strict=True)))


def _parts(traces: Traces, shards: int) -> list[Traces]:
    """Return the distinct rows in order, one copy of each, cut where the steps are even."""
    steps = np.cumsum(traces.n_listed)
    cuts = np.searchsorted(steps, np.linspace(0, traces.n_steps, shards + 1)[1:-1], side="left")
    first = _first_observation(traces)
    pieces = np.split(first, cuts)
    return [traces.take(piece) for piece in pieces if len(piece)]


def _first_observation(traces: Traces) -> NDArray[np.int64]:
    """Return an observation of every distinct row."""
    records = traces.records
    starts = np.cumsum(records.count) - records.count
    _, first = np.unique(records.row, return_index=True)
    return starts[first]

"""Tidy tables as they come from a study: one row for each run, one column for each fact."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posetta.errors import InputError

Rows = Sequence[Mapping[str, Any]]
Metrics = Sequence[str] | Mapping[str, str]
"""Columns to show; a mapping holds their labels as well."""


class Metric(NamedTuple):
    """How a column is shown."""

    label: str
    log: bool = False
    better: str = ""
    """"higher" or "lower"."""
    up_to_one: bool = False
    """Whether its axis ends at 1, the best there is."""


METRICS = {
    "f1": Metric("closure F1", better="higher", up_to_one=True),
    "precision": Metric("closure precision", better="higher", up_to_one=True),
    "recall": Metric("closure recall", better="higher", up_to_one=True),
    "mae": Metric("MAE to the reference", better="lower"),
    "mae_reference": Metric("MAE to the reference", better="lower"),
    "mae_second": Metric("MAE to the second reference", better="lower"),
    "brier": Metric("Brier score of pairs", better="lower"),
    "ece": Metric("expected calibration error", better="lower"),
    "nll": Metric("trace NLL", better="lower"),
    "trace_nll": Metric("trace NLL", better="lower"),
    "step_nll": Metric("step NLL", better="lower"),
    "trace_nll_hard": Metric("trace NLL, hard", better="lower"),
    "step_nll_hard": Metric("step NLL, hard", better="lower"),
    "waic": Metric("WAIC", better="lower"),
    "seconds": Metric("seconds", log=True, better="lower"),
    "n": Metric("items n"),
    "n_items": Metric("items n"),
    "tau": Metric("temperature τ"),
    "ip_cov": Metric("IP-Cov"),
}
"""Looks of the columns that studies write; any other column is shown under its own name."""

# A score of a decoded order, with its threshold in hundredths.
_AT_THRESHOLD = re.compile(r"(f1|precision|recall)_(\d{1,2})")
_FRACTIONS = {"50": "1/2", "33": "1/3"}


def metric(name: str) -> Metric:
    """Return how a column is shown; scores look the same at every threshold."""
    at = _AT_THRESHOLD.fullmatch(name)
    return METRICS.get(at[1] if at else name, Metric(name.replace("_", " ")))


def metric_labels(metrics: Metrics) -> dict[str, str]:
    """Return the labels of columns that stand side by side; scores at two thresholds say which."""
    if isinstance(metrics, Mapping):
        return dict(metrics)
    usual = {name: metric(name).label for name in metrics}
    times = Counter(usual.values())
    return {
        name: label + (_threshold(name) if times[label] > 1 else "")
        for name, label in usual.items()
    }


def _threshold(name: str) -> str:
    at = _AT_THRESHOLD.fullmatch(name)
    return f" at {_FRACTIONS.get(at[2], f'0.{at[2]:0>2}')}" if at else ""


@dataclass(frozen=True)
class Cell:
    """The runs of one method at one place."""

    values: NDArray[np.float64]
    """Those that are finite."""
    n_infinite: int = 0

    @property
    def mean(self) -> float:
        """Mean over the finite runs; infinite if there are none."""
        return float(self.values.mean()) if len(self.values) else float("inf")

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 for a single run, whose error is unknown."""
        n = len(self.values)
        return float(self.values.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def rows_of(table: Any) -> Rows:
    """Return the rows of a table: a pandas DataFrame, or mappings."""
    records = table.to_dict("records") if hasattr(table, "to_dict") else list(table)
    if not records:
        raise InputError("the table has no rows; there is nothing to draw.")
    return records


def need(rows: Rows, columns: Iterable[str]) -> None:
    """Refuse a table without one of the columns."""
    known = {name for row in rows for name in row}
    for name in columns:
        if name not in known:
            listed = ", ".join(sorted(known))
            raise InputError(f'the table has no column "{name}". Its columns are: {listed}.')


def distinct(rows: Rows, column: str) -> list[Any]:
    """Return the values of a column: numbers ascending, all else in order of appearance."""
    values = list(dict.fromkeys(row[column] for row in rows if not is_missing(row.get(column))))
    return sorted(values) if all(isinstance(v, int | float) for v in values) else values


def cells(rows: Rows, method: str, x: str, value: str) -> dict[tuple[Any, Any], Cell]:
    """Return the runs by (method, x), leaving out those without a value; x may be None."""
    found: dict[tuple[Any, Any], list[float]] = {}
    for row in rows:
        if not any(is_missing(row.get(name)) for name in (method, value)):
            place = None if is_missing(row.get(x)) else row[x]
            found.setdefault((row[method], place), []).append(float(row[value]))
    finite = {key: np.array(values)[np.isfinite(values)] for key, values in found.items()}
    return {key: Cell(finite[key], len(found[key]) - len(finite[key])) for key in found}


def is_missing(value: Any) -> bool:
    """Whether a field is empty: None, or not a number."""
    return value is None or (isinstance(value, float) and np.isnan(value))

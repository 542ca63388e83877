"""The tidy table of a study: one row for each job, columns of the grid, then of the measures."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.atomic import atomic_bytes, atomic_text
from posetta.errors import SettingError
from posetta.order.align import in_order_of
from posetta.suite.job import model_column
from posetta.suite.store import TABLE_FILE, Store

Row = dict[str, Any]

# First after the columns of the grid; the rest follows as it comes.
_FIRST = ("outcome", "status", "n_items", "n_train", "n_test", "ip_cov")


def tidy_rows(store: Store) -> list[Row]:
    """Return a row for every job of the plan that ended, in the order of the plan.

    Infinite values are floats. ``mae_reference`` and ``pearson_reference`` compare the pair
    probabilities with those of the study's reference method on the same data set and variant,
    ``mae_second`` and ``pearson_second`` with those of its second reference.
    """
    head = store.head
    axes = {model_column(name) for name in head["spec"]["axes"].get("model", {})}
    latest = store.latest()
    planned = [(entry, latest[entry["hash"]]) for entry in head["plan"] if entry["hash"] in latest]
    rows = [_row(entry, record) for entry, record in planned]
    matrix = cache(_precedence)
    for kind, label in (("reference", "reference"), ("second", "second_reference")):
        method = head["spec"].get(label)  # folders of earlier versions know one reference only
        # Where a reference stands in for several values of a model axis, it has no such column.
        references = [
            (entry["data"], variant, axes & entry["columns"].keys(), entry["columns"], record)
            for entry, record in planned
            if entry["columns"]["method"] == method and record["outcome"] == "done"
            for variant in (entry["columns"].get("variant"), *entry["also"])
        ]
        for row, (entry, record) in zip(rows, planned, strict=True):
            if record["outcome"] != "done":
                continue
            here = (entry["data"], entry["columns"].get("variant"))
            for data, variant, varied, columns, reference in references:
                same = all(entry["columns"].get(name) == columns[name] for name in varied)
                if (data, variant) == here and same:
                    row |= _agreement(matrix(record["folder"]), matrix(reference["folder"]), kind)
    return rows


def _row(entry: Mapping[str, Any], record: Mapping[str, Any]) -> Row:
    measured = {k: _number(v) for k, v in record.get("row", {}).items() if k != "notes"}
    about = {k: v for k, v in record.get("data", {}).items() if k != "hash"}
    row: Row = {**entry["columns"], "outcome": record["outcome"]}
    row |= {**about, **measured}
    first = {name: row[name] for name in _FIRST if name in row}
    rest = {name: value for name, value in row.items() if name not in first}
    grid = {name: rest.pop(name) for name in entry["columns"]}
    return {
        **grid,
        **first,
        **rest,
        "wall_seconds": record["wall_seconds"],
        "cores": record.get("cores"),
        "alone": record.get("alone"),
        "code": record["code"],
        "error": record.get("error"),
        "notes": " ".join(record.get("row", {}).get("notes", ())) or None,
        "job": record["folder"].name,
        "data": entry["data"],
    }


def _number(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf") else value


def _precedence(folder: Path) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return tuple(result["items"]), np.asarray(result["precedence"], dtype=np.float64)


def _agreement(
    own: tuple[tuple[str, ...], NDArray[np.float64]],
    other: tuple[tuple[str, ...], NDArray[np.float64]],
    kind: str,
) -> Row:
    """Return mean absolute difference and correlation of two sets of pair probabilities."""
    if set(own[0]) != set(other[0]) or len(own[0]) < 2:
        return {}
    off_diagonal = ~np.eye(len(own[0]), dtype=bool)
    p, q = own[1][off_diagonal], in_order_of(own[0], *other)[off_diagonal]
    row: Row = {f"mae_{kind}": float(np.abs(p - q).mean())}
    if np.ptp(p) > 0.0 and np.ptp(q) > 0.0:
        row[f"pearson_{kind}"] = float(np.corrcoef(p, q)[0, 1])
    return row


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Return the names of all columns, in the order in which they appear."""
    return list(dict.fromkeys(name for row in rows for name in row))


def write_table(store: Store, path: str | os.PathLike[str] | None = None) -> Path:
    """Write the tidy table, by default ``table.csv`` in the study's folder; .parquet also works."""
    target = store.folder / TABLE_FILE if path is None else Path(path)
    if target.suffix not in (".csv", ".parquet"):
        raise SettingError(f"{target} must end in .csv or .parquet.")
    rows = tidy_rows(store)
    names = columns_of(rows)
    if target.suffix == ".parquet":
        _write_parquet(rows, names, target)
        return target
    with atomic_text(target) as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return target


def _write_parquet(rows: list[Row], names: list[str], target: Path) -> None:
    try:
        import pandas
    except ModuleNotFoundError:
        raise SettingError("a Parquet table needs pandas and pyarrow. Write a .csv.") from None
    table = pandas.DataFrame(rows, columns=names)
    for name in names:
        kinds = {isinstance(row.get(name), str) for row in rows if row.get(name) is not None}
        if len(kinds) > 1:  # a column of numbers and words, which Parquet does not know
            table[name] = [None if value is None else str(value) for value in table[name]]
    with atomic_bytes(target) as file:
        table.to_parquet(file, index=False)

"""Tables of a study in Markdown, with the paper's figures in brackets beside ours."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from posetta.errors import SettingError
from posetta.suite.job import matches
from posetta.suite.store import Store
from posetta.suite.table import Row, tidy_rows

_PAPER = Path(__file__).parent / "paper"
_HEADINGS = {
    "mae_reference": "MAE to {reference}",
    "mae_second": "MAE to {second_reference}",
    "mae_truth": "MAE to truth",
    "f1_50": "F1 at 1/2",
    "f1_33": "F1 at 1/3",
    "precision_50": "precision",
    "recall_50": "recall",
    "precision_33": "precision at 1/3",
    "recall_33": "recall at 1/3",
    "n_recovered_33": "recovered",
    "n_spurious_33": "spurious",
    "n_missed_33": "missed",
    "f1_observed": "F1, observed items",
    "trace_nll": "Trace NLL",
    "step_nll": "Step NLL",
    "trace_nll_hard": "Trace NLL, hard",
    "step_nll_hard": "Step NLL, hard",
    "trace_nll_hard_impossible": "impossible test traces, hard",
    "waic": "WAIC",
    "p_waic": "p_WAIC",
    "elpd_waic": "elpd",
    "ip_cov": "IP-Cov",
    "n_train": "train",
    "n_test": "test",
    "brier": "Brier",
    "ece": "ECE",
    "r_hat_max": "R-hat",
    "ess_min": "least ESS",
    "peak_mb": "peak MB",
    "cpu_seconds": "processor seconds",
}
_OTHERWISE = "–"
# Facts of a data set: every method that ran on it repeats them, so they count once.
_OF_THE_DATA = frozenset({"n_items", "n_train", "n_test", "n_relations", "ip_cov", "mean_length"})


def markdown_tables(store: Store) -> str:
    """Return every table that the study's spec asks for, one after another.

    Each cell is the mean over the jobs that its row stands for, ± the standard error of that mean;
    where some of them have no such value, "(2 of 3)" says how many have. The paper's figure follows
    in [brackets] where it has one. A mean that is infinite says in how many jobs, and the mean of
    the rest.
    """
    head, rows = store.head, tidy_rows(store)
    parts = [f"# {head['spec']['title']}", _state(head, rows)]
    for title, content in tables_by_title(head, rows).items():
        parts.append(f"## {title}\n\n{content}")
    failures = [row for row in rows if row["outcome"] == "failed"]
    if failures:
        lines = [f"- {row['job']}: {row['error']}" for row in failures]
        parts.append("Failed jobs:\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def tables_by_title(head: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, str]:
    """Return the tables that the study in ``head`` asks for, made from rows of its tidy table."""
    spec = head["spec"]
    return {table["title"]: _table(table, rows, head["plan"], spec) for table in spec["tables"]}


def paper_table(name: str) -> tuple[list[Row], Mapping[str, str]]:
    """Return a table of the paper as rows with our column names, and its label and note."""
    index = tomllib.loads((_PAPER / "index.toml").read_text(encoding="utf-8"))
    if name not in index:
        listed = ", ".join(repr(known) for known in index)
        raise SettingError(f"paper={name!r} is unknown. Choose one of: {listed}.")
    with (_PAPER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = [{k: _parsed(v) for k, v in row.items()} for row in csv.DictReader(file)]
    return rows, index[name]


def _parsed(text: str) -> Any:
    if text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _state(head: Mapping[str, Any], rows: Sequence[Row]) -> str:
    done = sum(row["outcome"] == "done" for row in rows)
    seconds = sum(row["wall_seconds"] for row in rows)
    n_others = sum(row["code"] != head["code"] for row in rows)
    others = f"\nRows of other versions of the code than the latest run: {n_others}."
    return (
        f"Study `{head['spec']['study']}`, profile `{head['spec']['profile']}`: {done} of "
        f"{len(head['plan'])} jobs done, {seconds / 60:.1f} minutes of work."
        + (others if n_others else "")
    )


def _table(
    table: Mapping[str, Any],
    rows: Sequence[Row],
    plan: Sequence[Mapping[str, Any]],
    spec: Mapping[str, Any],
) -> str:
    keys, columns = list(table["rows"]), list(table["columns"])
    where = table.get("where", {})
    chosen = [row for row in rows if matches(row, where)]
    planned = [e["columns"] for e in plan if matches(e["columns"], where)]
    papers, about = paper_table(table["paper"]) if "paper" in table else ([], {})
    groups = list(dict.fromkeys(tuple(entry.get(k) for k in keys) for entry in planned))
    # Without "across" a column is a measure; with it, a measure at one of its values.
    spread: list[dict[str, Any]] = [{}]
    if across := table.get("across"):
        spread = [{across: v} for v in dict.fromkeys(entry.get(across) for entry in planned)]
    spots = [(column, at) for column in columns for at in spread]
    headings = [*keys, "jobs"]
    for column, at in spots:
        name = _HEADINGS.get(column, column.replace("_", " ")).format(**spec)
        values = [_OTHERWISE if value is None else str(value) for value in at.values()]
        headings.append(", ".join([name] * (len(columns) > 1 or not at) + values))
    lines = [_line(headings), _line(["---"] * len(headings))]
    for group in groups:
        place = dict(zip(keys, group, strict=True))
        here = [row for row in chosen if _same(row, place) and row["outcome"] == "done"]
        n_planned = sum(_same(entry, place) for entry in planned)
        cells = [_OTHERWISE if value is None else str(value) for value in group]
        cells.append(f"{len(here)}/{n_planned}")
        for column, at in spots:
            paper = next((row for row in papers if _same_paper(row, {**place, **at})), {})
            cells.append(_cell([row for row in here if _same(row, at)], column, paper.get(column)))
        lines.append(_line(cells))
    silent = [c for c in columns if chosen and all(row.get(c) is None for row in chosen)]
    if silent:
        lines += ["", f"No finished job has a value of: {', '.join(silent)}."]
    if about:
        lines += ["", f"In brackets: the paper's figures ({about['label']}). {about['note']}"]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _same(row: Mapping[str, Any], place: Mapping[str, Any]) -> bool:
    return all(row.get(name) == value for name, value in place.items())


def _same_paper(row: Mapping[str, Any], place: Mapping[str, Any]) -> bool:
    """Return whether a line of the paper stands for the place, as far as it says where it is."""
    return all(row[name] == value for name, value in place.items() if name in row) and any(
        name in row for name in place
    )


def _cell(rows: Sequence[Row], column: str, paper: float | None) -> str:
    """Return mean ± standard error, of how many if not of all, and the paper's in brackets."""
    if column in _OF_THE_DATA:
        rows = list({row["data"]: row for row in rows}.values())
    pairs = [(row[column], row) for row in rows if row.get(column) is not None]
    beside = "" if paper is None else f" [{figure(paper)}]"
    if not pairs:
        return _OTHERWISE + beside
    if len(pairs) < len(rows):
        beside = f" ({len(pairs)} of {len(rows)})" + beside
    if isinstance(pairs[0][0], str):
        return ", ".join(sorted({str(value) for value, _ in pairs})) + beside
    values = np.array([value for value, _ in pairs], dtype=np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        rest = [row.get(f"{column}_finite", v) if np.isinf(v) else v for v, row in pairs]
        known = [value for value in rest if value is not None and np.isfinite(value)]
        mean = f"; {figure(float(np.mean(known)))} without" if known else ""
        return f"∞ in {infinite.sum()} of {len(values)}{mean}" + beside
    text = figure(float(values.mean()))
    if len(values) > 1:
        text += f" ± {figure(float(values.std(ddof=1) / np.sqrt(len(values))))}"
    return text + beside


def figure(value: float) -> str:
    """Return a number as tables print it: three decimals below 10, fewer above."""
    if value == int(value) and abs(value) >= 10:
        return f"{value:,.0f}"
    size = abs(value)
    decimals = 3 if size < 10 else 2 if size < 100 else 1 if size < 10_000 else 0
    return f"{value:,.{decimals}f}"

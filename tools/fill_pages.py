"""Bring the tables of studies into the documentation: ``python tools/fill_pages.py DIR...``.

Each DIR is the folder of a study that ``posetta suite run`` filled. A page of docs/ holds a table
between two comments:

    <!-- table: STUDY / TITLE -->
    <!-- end -->

Everything between them is replaced. Rows without a finished job are left out, and so is the column
that counts jobs if no job is missing. The tidy table goes to docs/results/STUDY.csv, with four
digits of every number, and figures of the table alone are drawn anew. A long study may be run in
parts, in several folders and on several days: what docs/results/STUDY.csv holds of jobs that did
not end in DIR stays.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

from posetta import plots
from posetta.cli.suite_figures import _DRAW
from posetta.suite import Store
from posetta.suite.job import matches
from posetta.suite.markdown import tables_by_title
from posetta.suite.table import Row, columns_of, tidy_rows

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = {
    ("dim_sensitivity", "variants"): "dimension.svg",
    ("flow_tau", "flow_tau_f1"): "flow-tau.svg",
    ("ipcov_ablation", "coverage"): "coverage.svg",
    ("large", "large"): "large.svg",
    ("noise", "noise"): "noise.svg",
    ("regimes", "regimes_15"): "regimes-15.svg",
    ("regimes", "regimes_30"): "regimes-30.svg",
    ("synthetic_grid", "scaling"): "grid-scaling.svg",
    ("tau_ablation", "tau"): "tau.svg",
    ("workflows", "workflows"): "workflows.svg",
}
"""Figures that need no draws, by study and name, and where they stand in docs/pictures."""
BLOCK = re.compile(r"<!-- table: (\w+) / (.*?) -->\n.*?<!-- end -->", re.DOTALL)
# What says nothing to a reader of the table, or is the same in all rows.
LEFT_OUT = {
    "outcome", "cores", "error", "notes", "job", "data", "is_point", "mean_length", "elpd_waic",
    "wall_seconds", "n_warnings",
}  # fmt: skip


def written(value: object) -> str:
    """Return a value as it stands in docs/results."""
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def read(text: str) -> object:
    """Return a value that stands in docs/results."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def all_rows(store: Store, results: Path) -> list[Row]:
    """Return the rows of a study in the order of its plan, earlier results where it has no job."""
    ended = (row for row in tidy_rows(store) if row["outcome"] == "done")
    new = {place_of(row, store): row for row in ended}
    held: dict[tuple[str, ...], Row] = {}
    if results.exists():
        with results.open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                row = {name: read(text) for name, text in line.items()}
                held[place_of(row, store)] = row
    rows = []
    for entry in store.head["plan"]:
        place = place_of(entry["columns"], store)
        if place in new:
            rows.append(new[place])
        elif place in held:
            about = {**entry["columns"], "outcome": "done", "data": entry["data"]}
            rows.append(held[place] | about)
    return rows


def place_of(row: Row, store: Store) -> tuple[str, ...]:
    """Return where a row stands in the grid of its study."""
    names = columns_of(entry["columns"] for entry in store.head["plan"])
    return tuple(written(row.get(name)) for name in names)


def for_page(table: str) -> str:
    """Return a table without rows that stand for no job, and without a count that says nothing."""
    lines = table.splitlines()
    grid = [line for line in lines if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in grid]
    at = cells[0].index("jobs")
    body = [row for row in cells[2:] if not row[at].startswith("0/")]
    complete = all(row[at].split("/")[0] == row[at].split("/")[1] for row in body)
    kept = [k for k in range(len(cells[0])) if k != at or not complete]
    shown = ["| " + " | ".join(row[k] for k in kept) + " |" for row in [*cells[:2], *body]]
    return "\n".join([*shown, *lines[len(grid) :]])


def fill(page: Path, study: str, tables: dict[str, str]) -> int:
    """Replace the study's tables in a page; return how many there are."""
    count = 0

    def replaced(found: re.Match[str]) -> str:
        nonlocal count
        if found[1] != study:
            return found[0]
        count += 1
        return f"<!-- table: {study} / {found[2]} -->\n{for_page(tables[found[2]])}\n<!-- end -->"

    text = page.read_text(encoding="utf-8")
    page.write_text(BLOCK.sub(replaced, text), encoding="utf-8")
    return count


def draw(store: Store, rows: list[Row]) -> int:
    """Draw the figures of the study that need no draws; return how many there are."""
    spec = store.head["spec"]
    count = 0
    for figure in spec["figures"]:
        picture = PICTURES.get((spec["study"], figure["name"]))
        if picture is not None:
            chosen = [row for row in rows if matches(row, figure.get("where", {}))]
            drawn = _DRAW[figure["draw"]](plots, store, spec, figure, chosen)
            plots.save_figure(drawn, DOCS / "pictures" / picture)
            count += 1
    return count


def write_results(rows: list[Row], target: Path) -> None:
    """Write the tidy table, rounded."""
    names = [
        name
        for name in columns_of(rows)
        if name not in LEFT_OUT and any(row.get(name) is not None for row in rows)
    ]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([written(row.get(name)) for name in names] for row in rows)


def main(folders: list[str]) -> None:
    """Fill pages and results from the folders of studies."""
    for folder in folders:
        store = Store(folder)
        study = store.head["spec"]["study"]
        results = DOCS / "results" / f"{study}.csv"
        rows = all_rows(store, results)
        tables = tables_by_title(store.head, rows)
        count = sum(fill(page, study, tables) for page in sorted(DOCS.rglob("*.md")))
        write_results(rows, results)
        pictures = draw(store, rows)
        print(f"{study}: {len(rows)} rows, {count} tables, {pictures} pictures")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Long tables: CSV and TSV with one event per row and columns for case, item and time.

Events are kept as packed integers, so a log of millions of rows fits in little memory; a case may
be spread over the file. With a time column each case is sorted by time, and the cases for which
this changed the order are counted; without one, the order of the file counts.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data.place import named
from posetta.data.readers.contract import Columns, Format, Parsed, RawTrace
from posetta.data.source import Source
from posetta.data.times import Clock

# The names of the XES standard win over the others; of these, two in one file are ambiguous.
_STANDARD = {"case": "case:concept:name", "item": "concept:name", "time": "time:timestamp"}
_USUAL = {
    "case": [
        "case",
        "case_id",
        "caseid",
        "trace",
        "trace_id",
        "traceid",
        "run",
        "run_id",
        "session",
        "session_id",
    ],
    "item": [
        "item",
        "activity",
        "activity_name",
        "event",
        "event_name",
        "action",
        "task",
        "step",
        "tool",
    ],
    "time": ["time", "timestamp", "datetime", "date", "complete_timestamp", "start_timestamp"],
}


class _Events:
    """All events of a file, in file order, packed."""

    def __init__(self) -> None:
        self.cases: dict[str, int] = {}
        self.items: dict[str, int] = {}
        self.case = array("i")
        self.item = array("i")
        self.line = array("q")
        self.whole = array("q")
        self.part = array("q")


def _read(source: Source, columns: Columns, delimiters: str) -> Parsed:
    lines = source.lines()
    first = next(lines, "")
    delimiter = max(delimiters, key=first.count)
    rows = csv.reader(chain([first], lines), delimiter=delimiter, skipinitialspace=True)
    try:
        header = next(rows, [])
        if not any(header):
            return Parsed(iter(()))
        at = _find_columns(source, header, columns)
        unused = [name for k, name in enumerate(header) if k not in at.values()]
        if unused:
            source.notes[f"column(s) not used ({named(unused)})"] += len(unused)
        events = _collect(source, rows, header, at)
    except csv.Error as error:
        raise source.fault(
            f"is not a table that can be read ({error}). Look for a quote that is left open.",
            rows.line_num,
        ) from None
    how = ", ".join(f'{role} "{header[k]}"' for role, k in at.items())
    if "time" not in at:
        how += ", no time: the file order counts"
    return Parsed(_cases(source, events, "time" in at), f"columns {how}")


def _find_columns(source: Source, header: list[str], columns: Columns) -> dict[str, int]:
    """Return the position of each role's column; ``time`` may be absent."""
    at: dict[str, int] = {}
    for role, wanted in columns._asdict().items():
        if wanted is None:
            found = _usual_columns(role, header)
        else:
            found = [k for k, name in enumerate(header) if name == wanted]
        if len(found) > 1:
            raise source.fault(
                f"several columns could be the {role} ({named([header[k] for k in found])}). "
                f"Give them different names, and pass {role}=... to say which one it is.",
                line=1,
            )
        if found:
            at[role] = found[0]
        elif wanted:
            raise source.fault(
                f'there is no column "{wanted}" ({role}={wanted!r}). '
                f"The columns are {named(header, 12)}.",
                line=1,
            )
        elif role != "time":
            raise source.fault(
                f"no column has a usual name of the {role}. The columns are {named(header, 12)}: "
                f"pass {role}=... to say which one it is. If each line is a whole trace, pass "
                'format="text".',
                line=1,
            )
    if len(set(at.values())) < len(at):
        raise source.fault("one column cannot serve as case, item and time at once.", line=1)
    return at


def _usual_columns(role: str, header: list[str]) -> list[int]:
    plain = [name.strip().lower().replace(" ", "_").replace("-", "_") for name in header]
    standard = [k for k, name in enumerate(plain) if name == _STANDARD[role]]
    return standard or [k for k, name in enumerate(plain) if name in _USUAL[role]]


def _collect(
    source: Source,
    rows: Any,  # a csv.reader: rows of fields, and line_num
    header: list[str],
    at: dict[str, int],
) -> _Events:
    events = _Events()
    clock = Clock()
    case_at, item_at, time_at = at["case"], at["item"], at.get("time")
    width = len(header)
    n_padded = 0
    line = rows.line_num + 1
    for row in rows:
        if len(row) != width:
            if row:
                raise source.fault(
                    f"has {len(row)} fields, but the header has {width}. Quote fields that hold "
                    "the separator, and fill in missing fields.",
                    line,
                )
            source.notes["blank line(s) skipped"] += 1
            line = rows.line_num + 1
            continue
        case, item = row[case_at].strip(), row[item_at].strip()
        n_padded += (case != row[case_at]) + (item != row[item_at])
        if not case or not item:
            role = "item" if case else "case"
            raise source.fault(
                f'the column "{header[at[role]]}" is empty; every event needs its {role}.', line
            )
        events.case.append(events.cases.setdefault(case, len(events.cases)))
        events.item.append(events.items.setdefault(item, len(events.items)))
        events.line.append(line)
        if time_at is not None:
            try:
                whole, part = clock.read(row[time_at])
            except ValueError as error:
                raise source.fault(str(error), line) from None
            events.whole.append(whole)
            events.part.append(part)
        # A quoted field may span lines: the next row starts after the last line of this one.
        line = rows.line_num + 1
    if n_padded:
        source.notes["cell(s) had surrounding spaces removed"] += n_padded
    return events


def _cases(source: Source, events: _Events, timed: bool) -> Iterator[RawTrace]:
    """Yield one trace per case, in the order in which the cases first appear."""
    case = np.frombuffer(events.case, dtype=np.intc)
    order = np.argsort(case, kind="stable")
    tied = np.zeros(len(case), dtype=bool)
    if timed:
        whole = np.frombuffer(events.whole, dtype=np.int64)
        part = np.frombuffer(events.part, dtype=np.int64)
        unsorted = np.unique(case[order[1:]][_falls(case[order], whole[order], part[order])])
        if len(unsorted):
            source.notes["case(s) sorted by time: the file had them in another order"] += len(
                unsorted
            )
        order = np.lexsort((part, whole, case))
        tied[1:] = _stays(case[order], whole[order], part[order])
    ends = np.cumsum(np.bincount(case, minlength=len(events.cases)))
    ties_before = np.concatenate([[0], np.cumsum(tied)])
    items = np.frombuffer(events.item, dtype=np.intc)[order]
    lines = np.frombuffer(events.line, dtype=np.int64)[order]
    names = list(events.items)
    start = 0
    for name, end in zip(events.cases, ends.tolist(), strict=True):
        has_ties = ties_before[end] > ties_before[start]
        yield RawTrace(
            [names[i] for i in items[start:end].tolist()],
            id=name,
            line=int(lines[start]),
            ranks=np.cumsum(~tied[start:end]).tolist() if has_ties else None,
            item_lines=lines[start:end],  # type: ignore[arg-type]  # read only for an error
        )
        start = end


def _falls(
    case: NDArray[np.intc], whole: NDArray[np.int64], part: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Say for each event but the first whether it is earlier than the one before in its case."""
    earlier = (whole[1:] < whole[:-1]) | ((whole[1:] == whole[:-1]) & (part[1:] < part[:-1]))
    return (case[1:] == case[:-1]) & earlier


def _stays(
    case: NDArray[np.intc], whole: NDArray[np.int64], part: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Say for each event but the first whether it has the case and time of the one before."""
    same_time = (whole[1:] == whole[:-1]) & (part[1:] == part[:-1])
    return (case[1:] == case[:-1]) & same_time


def _looks_like(head: str, delimiters: str) -> str:
    first = head.partition("\n")[0].rstrip("\r")
    delimiter = max(delimiters, key=first.count)
    try:
        header = next(csv.reader([first], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return ""
    if all(_usual_columns(role, header) for role in ("case", "item")):
        return "its first line names a column for the case and one for the item"
    return ""


CSV = Format(
    "csv", (".csv",), partial(_read, delimiters=",;"), partial(_looks_like, delimiters=",;"), True
)
TSV = Format(
    "tsv",
    (".tsv", ".tab"),
    partial(_read, delimiters="\t"),
    partial(_looks_like, delimiters="\t"),
    True,
)

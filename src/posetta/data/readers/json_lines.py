"""JSON Lines, one object per trace, and JSON: a list of traces or ``{"traces": [...]}``.

A trace is ``{"id": "run-1", "items": ["a", "b"], "count": 1, "choice_set": ["a", "b", "c"]}``,
where all but ``items`` may be missing and other keys are kept as metadata, or just ``["a", "b"]``.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from posetta.data.place import named
from posetta.data.readers.contract import Columns, Format, Parsed, RawTrace
from posetta.data.source import Source

_OWN_KEYS = frozenset({"id", "items", "count", "choice_set"})


def _read_lines(source: Source, _columns: Columns) -> Parsed:
    return Parsed(_traces_of_lines(source))


def _traces_of_lines(source: Source) -> Iterator[RawTrace]:
    for line, text in enumerate(source.lines(), start=1):
        if text.isspace():
            source.notes["blank line(s) skipped"] += 1
        else:
            yield _trace(source, _loads(source, text, line), line, "this line")


def _read_document(source: Source, _columns: Columns) -> Parsed:
    text = "".join(source.lines())
    if not text.strip():
        return Parsed(iter(()))
    document = _loads(source, text)
    rows = document.get("traces") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        if isinstance(document, dict) and (what := _file_of_ours(document)):
            raise source.fault(f"is {what}, not traces. Name the files that hold the traces.")
        raise source.fault(
            f'should hold a list of traces, or an object with the key "traces" that holds such a '
            f"list, but it holds {_kind(document)}. "
            'If each line is an object of its own, pass format="jsonl".'
        )
    if isinstance(document, dict) and len(document) > 1:
        unused = [key for key in document if key != "traces"]
        source.notes[f"key(s) of the document not used ({named(unused)})"] += len(unused)
    traces = (_trace(source, row, 0, f"entry {k}") for k, row in enumerate(rows, start=1))
    return Parsed(traces)


def _file_of_ours(document: dict[str, Any]) -> str:
    """Say which other file of Posetta this is: folders of results and simulations hold them."""
    if "precedence" in document:
        return "the summary of a result"
    return "an order" if "items" in document and {"covers", "closure"} & document.keys() else ""


def _loads(source: Source, text: str, line: int = 0) -> Any:
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except json.JSONDecodeError as error:
        raise source.fault(
            f"is not valid JSON ({error.msg} at column {error.colno}). Correct it"
            + ("." if line else ', or pass format="jsonl" if each line is an object.'),
            line or error.lineno,
        ) from None
    except RecursionError:
        raise source.fault("the JSON is nested too deeply. Make it flatter.", line) from None
    except ValueError as error:  # numbers beyond what Python converts, and the three hooks below
        raise source.fault(f"is not JSON that can be read ({error}).", line) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = [key for key, uses in Counter(key for key, _ in pairs).items() if uses > 1]
        raise ValueError(f"an object holds the key {named(twice)} twice")
    return made


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value


def _trace(source: Source, row: Any, line: int, what: str) -> RawTrace:
    if isinstance(row, list):
        return RawTrace(_labels(source, row, line, what), line=line)
    if not isinstance(row, dict):
        raise source.fault(
            f'{what} is {_kind(row)}; a trace is an object like {{"items": ["a", "b"]}} or a list '
            "of items.",
            line,
        )
    if "items" not in row:
        found = f"its keys are {named(list(row))}" if row else "it is empty"
        raise source.fault(f'{what} has no "items" ({found}). Name the list of items so.', line)
    count = row.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool):
        raise source.fault(f'{what} has the "count" {_kind(count)}; use a whole number.', line)
    return RawTrace(
        _labels(source, row["items"], line, f'"items" of {what}'),
        id=_id(source, row.get("id"), line, what),
        count=count,
        choice_set=None
        if row.get("choice_set") is None
        else _labels(source, row["choice_set"], line, f'"choice_set" of {what}'),
        line=line,
        metadata={key: value for key, value in row.items() if key not in _OWN_KEYS},
    )


def _labels(source: Source, value: Any, line: int, what: str) -> list[str]:
    if not isinstance(value, list):
        raise source.fault(f"{what} is {_kind(value)}; it should be a list of items.", line)
    for label in value:
        if not isinstance(label, str):
            raise source.fault(
                f"{what} holds {_kind(label)}; items are text. Write each in quotes.", line
            )
    return value


def _id(source: Source, value: Any, line: int, what: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise source.fault(f'{what} has the "id" {_kind(value)}; use text or a whole number.', line)


def _kind(value: Any) -> str:
    """Describe a JSON value in its own words, shortly."""
    if isinstance(value, dict):
        return f"an object with the keys {named(list(value))}" if value else "an empty object"
    if isinstance(value, list):
        return "a list"
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else shown[:40] + "..."


def _looks_like_lines(head: str) -> str:
    first = head.lstrip().partition("\n")[0]
    if not first.startswith("{"):
        return ""
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return ""
    return "" if "traces" in row else "its first line is a JSON object by itself"


def _looks_like_document(head: str) -> str:
    return "it starts like a JSON document" if head.lstrip()[:1] in ("[", "{") else ""


JSON_LINES = Format("jsonl", (".jsonl", ".ndjson"), _read_lines, _looks_like_lines)
JSON = Format("json", (".json",), _read_document, _looks_like_document)

"""Plain text: one trace per line, as in ``3: a > b > c``.

One separator serves the whole file: the first of ``->``, ``>``, tab, ``;``, ``,`` that occurs in
any trace, else spaces. It must then occur in every line that holds one of those behind it in the
list, so a comma may be part of a label (``Paris, France > London, UK``) but a file that mixes two
ways of writing is refused, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from posetta.data.readers.contract import Columns, Format, Parsed, RawTrace
from posetta.data.source import Source

_SEPARATORS = {"->": '"->"', ">": '">"', "\t": "tab", ";": '";"', ",": '","'}
_COUNT = re.compile(r"(\d+)\s*:(.*)", re.DOTALL)


def _read(source: Source, _columns: Columns) -> Parsed:
    rows = []
    for line, text in enumerate(source.lines(), start=1):
        stripped = text.strip()
        if not stripped:
            source.notes["blank line(s) skipped"] += 1
        elif stripped.startswith("#"):
            source.notes["comment line(s) skipped"] += 1
        else:
            rows.append((line, *_split_count(source, line, stripped)))
    separator = _separator(source, rows)
    how = f"items separated by {_SEPARATORS.get(separator, 'spaces')}" if rows else ""
    return Parsed(_traces(rows, separator), how)


def _traces(rows: list[tuple[int, int, str]], separator: str) -> Iterator[RawTrace]:
    for line, count, body in rows:
        if not body:
            labels = []
        elif separator:
            labels = [label.strip() for label in body.split(separator)]
        else:
            labels = body.split()
        yield RawTrace(labels, count=count, line=line)


def _split_count(source: Source, line: int, text: str) -> tuple[int, str]:
    """Split ``3: a, b`` into the count and the rest."""
    match = _COUNT.fullmatch(text)
    if match is None:
        return 1, text
    digits, body = match.groups()
    if body[:1].isdigit():  # 08:30 is a time of day, 3:1,2 is a count: do not guess
        raise source.fault(
            f'starts with "{digits[:20]}:{body[0]}", which may be a count or a label. Put a space '
            "after the colon if it is a count; write the traces as JSON Lines if it is a label.",
            line,
        )
    if len(digits) > 10:
        raise source.fault("has a count of more than ten digits. Correct it.", line)
    return int(digits), body.strip()


def _separator(source: Source, rows: list[tuple[int, int, str]]) -> str:
    """Return the file's separator, ``""`` for spaces."""
    candidates = list(_SEPARATORS)
    for k, separator in enumerate(candidates):
        first = next((line for line, _, body in rows if separator in body), None)
        if first is None:
            continue
        for line, _, body in rows:
            other = next((c for c in candidates[k + 1 :] if c in body), None)
            if other and separator not in body:
                raise source.fault(
                    f"items are separated by {_SEPARATORS[other]} here, but by "
                    f"{_SEPARATORS[separator]} on line {first}. Use one separator in the file.",
                    line,
                )
        return separator
    return ""


def _looks_like(_head: str) -> str:
    return "its content is not that of any other format, so each line is one trace"


TEXT = Format("text", (".txt", ".text", ".traces"), _read, _looks_like)

"""Which format is this? The setting decides, else the file name, else the content."""

from __future__ import annotations

from pathlib import PurePath

from posetta.data.readers import FORMATS
from posetta.data.readers.contract import Format
from posetta.data.source import Source
from posetta.errors import choice


def detect(source: Source, format: str | None) -> tuple[Format, str]:
    """Return the format of an input, and how that was decided, in words."""
    if format is not None:
        choice(format, (f.name for f in FORMATS), "format")
        return next(f for f in FORMATS if f.name == format), "as asked for"
    suffixes = [s.lower() for s in PurePath(source.name).suffixes if s.lower() != ".gz"]
    if suffixes:
        for candidate in FORMATS:
            if suffixes[-1] in candidate.suffixes:
                return candidate, f"because of the file name's ending {suffixes[-1]}"
    head = source.head_text()
    for candidate in FORMATS:
        if reason := candidate.looks_like(head):
            return candidate, f"because {reason}"
    raise AssertionError("the last format of the table recognises everything")

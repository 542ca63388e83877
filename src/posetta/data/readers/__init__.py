"""Readers, one file per format. To add a format, write its file and add its line below."""

from __future__ import annotations

from posetta.data.readers import json_lines, long_table, preflib, text, xes

# Where the file name does not decide, the first format that recognises the content is taken, so
# the strictest come first, and text, which takes anything, comes last.
FORMATS = (
    xes.XES,
    json_lines.JSON_LINES,
    json_lines.JSON,
    preflib.PREFLIB,
    long_table.CSV,
    long_table.TSV,
    text.TEXT,
)

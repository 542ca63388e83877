"""The user page on data formats: its examples are read, and it names everything there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from posetta.data import read_traces
from posetta.data.policies import EMPTY, REPEATS, TIES
from posetta.data.readers import FORMATS, long_table

PAGE = (Path(__file__).parents[2] / "docs" / "data-formats.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', PAGE, flags=re.DOTALL))


@pytest.mark.parametrize(
    ("name", "n_traces", "n_items"),
    [
        ("orders.txt", 4, 3),
        ("events.csv", 2, 3),
        ("runs.jsonl", 6, 3),
        ("runs.json", 2, 2),
        ("votes.toi", 17, 3),
        ("log.xes", 1, 2),
    ],
)
def test_examples_are_read(tmp_path, name, n_traces, n_items):
    (tmp_path / name).write_text(EXAMPLES[name], encoding="utf-8")
    traces = read_traces(tmp_path / name)
    assert (len(traces), traces.n_items) == (n_traces, n_items)


def test_every_name_is_on_the_page():
    usual = {name for names in long_table._USUAL.values() for name in names}
    names = {f.name for f in FORMATS} | set(REPEATS) | set(TIES) | set(EMPTY)
    names |= usual | set(long_table._STANDARD.values())
    assert [name for name in sorted(names) if f"`{name}`" not in PAGE] == []

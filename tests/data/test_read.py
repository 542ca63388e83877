"""`read_traces` as a whole: policies, universes, several files, streams, detection."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest

from posetta.data import read_traces
from posetta.data.readers import FORMATS
from posetta.errors import InputError, SettingError


def read(text: str, name: str = "x.txt", **settings):
    stream = io.StringIO(text)
    stream.name = name
    return read_traces(stream, **settings)


# -- repeats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("repeats", "expected"),
    [("first", ["a", "b", "c"]), ("last", ["b", "a", "c"]), ("number", ["a#1", "b", "a#2", "c"])],
)
def test_repeats(repeats, expected):
    assert list(read("a,b,a,c\n", repeats=repeats)) == [expected]


def test_dropped_repeats_are_counted_per_observation():
    report = read("3: a,b,a,a\nb,a\n", repeats="first").report
    assert report.notes["repeated item(s) dropped, the first kept"] == 6


def test_an_item_that_repeats_anywhere_is_numbered_everywhere():
    traces = read("a,b\na,b,a\nb\n", repeats="number")
    assert list(traces) == [["a#1", "b"], ["a#1", "b", "a#2"], ["b"]]
    assert traces.report.notes['item(s) that repeat and were numbered ("a")'] == 1


def test_numbering_reaches_choice_sets():
    rows = [
        {"items": ["a", "a"], "choice_set": ["b", "a"]},
        {"items": ["b"], "choice_set": ["a", "b"]},
    ]
    traces = read("\n".join(map(json.dumps, rows)), "x.jsonl", repeats="number")
    sets = [{traces.items[i] for i in traces.choice_set(r)} for r in range(2)]
    assert sets == [{"a#1", "a#2", "b"}, {"a#1", "b"}]


def test_numbering_reaches_the_items_of_a_header():
    text = "2\n1,x\n2,y\n2,2,2\n1,1,1,1\n1,1,1\n"
    assert read(text, "x.soi", repeats="number").items == ("x#1", "x#2", "x#3", "y")


def test_a_numbered_name_that_exists_already_is_an_error():
    with pytest.raises(InputError, match=r'x.txt, line 2: there already is an item "a#2"'):
        read("a,b,a\na#2,b\n", repeats="number")


def test_a_tie_is_looked_for_after_repeats_are_gone():
    text = "case,item,time\n1,a,1\n1,b,2\n1,a,2\n"
    assert list(read(text, "x.csv", repeats="first")) == [["a", "b"]]
    with pytest.raises(InputError, match='"b" and "a" tied'):
        read(text, "x.csv", repeats="last")


def test_copies_of_one_item_at_one_time_are_no_tie_once_numbered():
    assert list(read("case,item,time\n1,a,1\n1,a,1\n", "x.csv", repeats="number")) == [
        ["a#1", "a#2"]
    ]
    with pytest.raises(InputError, match='"a#2" and "b" tied'):
        read("case,item,time\n1,a,1\n1,a,1\n1,b,1\n", "x.csv", repeats="number")


# -- empty traces ----------------------------------------------------------------------------------


def test_empty_traces():
    text = '{"items": []}\n{"id": "q", "items": ["a"]}\n'
    with pytest.raises(InputError, match=r'x.jsonl, line 1: trace "1" is empty.*empty="drop"'):
        read(text, "x.jsonl")
    traces = read(text, "x.jsonl", empty="drop")
    assert traces.ids == ("q",)
    assert traces.report.notes["empty trace(s) dropped"] == 1
    with pytest.raises(InputError, match=r"no trace is left \(1 empty trace\(s\) dropped\)"):
        read('{"items": []}\n', "x.jsonl", empty="drop")


# -- universes -------------------------------------------------------------------------------------


def test_items_fix_the_universe():
    traces = read("b,a\n", items=["a", "b", "c"])
    assert traces.items == ("a", "b", "c")
    assert traces.report.notes['item(s) never listed ("c")'] == 1
    with pytest.raises(InputError, match=r'x.txt, line 1: trace "1" holds the item "z"'):
        read("b,z\n", items=["a", "b", "c"])


def test_an_unknown_item_in_a_choice_set_is_named():
    row = '{"id": "q", "items": ["a"], "choice_set": ["a", "z"]}'
    with pytest.raises(InputError, match=r'x.jsonl, line 1: trace "q" holds the item "z"'):
        read(row, "x.jsonl", items=["a", "b"])


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.json", "x.jsonl", "x.xes"])
def test_an_empty_file_is_the_prior_alone_when_the_universe_is_fixed(name):
    traces = read("", name, items=["a", "b"])
    assert (len(traces), traces.items) == (0, ("a", "b"))


def test_choice_set_all_is_the_universe_of_the_whole_file():
    traces = read("a,b\nc\n", choice_set="all")
    assert [traces.choice_set(r).tolist() for r in range(2)] == [[0, 1, 2], [2, 0, 1]]
    with pytest.raises(InputError, match="states its own choice_set"):
        read('{"items": ["a"], "choice_set": ["a", "b"]}', "x.jsonl", choice_set="all")


def test_the_report_names_a_few_items_seen_once():
    notes = read("a,b,c,d,e,f\na\n").report.notes
    assert notes['item(s) seen in only one trace ("b", "c", "d", "e", "f")'] == 5


# -- several files ---------------------------------------------------------------------------------


def test_several_files_become_one(tmp_path):
    one, two = tmp_path / "one.jsonl", tmp_path / "two.csv"
    one.write_text('{"id": "r", "items": ["a", "b"]}\n')
    two.write_text("case,item\nr,c\nr,b\n")
    traces = read_traces([one, str(two)])
    assert traces.items == ("a", "b", "c")
    assert traces.ids == (f"{one}:r", f"{two}:r")
    assert traces.source == ((str(one), 1), (str(two), 2))
    assert traces.report.files == (str(one), str(two))
    assert traces.report.format == "jsonl, csv"


def test_numbering_looks_at_all_files(tmp_path):
    (tmp_path / "one.txt").write_text("a,b\n")
    (tmp_path / "two.txt").write_text("a,a\n")
    traces = read_traces([tmp_path / "one.txt", tmp_path / "two.txt"], repeats="number")
    assert list(traces) == [["a#1", "b"], ["a#1", "a#2"]]


def test_a_file_may_be_named_once_only(tmp_path):
    with pytest.raises(SettingError, match="twice"):
        read_traces([tmp_path / "x", tmp_path / "x"])
    with pytest.raises(SettingError, match="empty list"):
        read_traces([])
    with pytest.raises(SettingError, match="neither a path nor a stream"):
        read_traces(3)


# -- where bytes come from -------------------------------------------------------------------------


class Trickle(io.RawIOBase):
    """A pipe that hands out one byte at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._data.read(min(size, 1))


@pytest.mark.parametrize("compress", [lambda data: data, gzip.compress])
def test_streams_of_every_kind(monkeypatch, tmp_path, compress):
    data = compress("é,b\n".encode() * 3)
    path = tmp_path / "plain"
    path.write_bytes(data)
    stdin = io.TextIOWrapper(io.BytesIO(data))
    monkeypatch.setattr(sys, "stdin", stdin)
    with path.open("rb") as file:
        for source in (path, str(path), file, io.BytesIO(data), Trickle(data), "-"):
            assert list(read_traces(source)) == [["é", "b"]] * 3


def test_a_long_file_is_read_beyond_the_part_that_was_looked_at():
    text = "".join(f"item{k},item{k + 1}\n" for k in range(20_000))
    assert read_traces(io.BytesIO(text.encode())).n_unique == 20_000
    assert read_traces(io.BytesIO(gzip.compress(text.encode()))).n_unique == 20_000


# -- detection -------------------------------------------------------------------------------------

CONTENT = {
    "xes": '<?xml version="1.0"?><log><trace><event><string key="concept:name" value="a"/>'
    "</event></trace></log>",
    "jsonl": '{"items": ["a"]}\n{"items": ["a"]}\n',
    "json": '[["a"]]',
    "preflib": "# NUMBER ALTERNATIVES: 1\n# ALTERNATIVE NAME 1: a\n1: 1\n",
    "csv": "case,item\n1,a\n",
    "tsv": "case\titem\n1\ta\n",
    "text": "a\n",
}


@pytest.mark.parametrize("format", [f.name for f in FORMATS])
def test_every_format_is_found_by_content_by_name_and_by_setting(format):
    by_content = read(CONTENT[format], "unnamed")
    assert by_content.report.format == format
    assert " because it" in by_content.report.detected
    suffix = next(f.suffixes[0] for f in FORMATS if f.name == format)
    by_name = read(CONTENT[format], f"x{suffix.upper()}.gz")
    assert by_name.report.format == format
    assert f"ending {suffix}" in by_name.report.detected
    by_setting = read(CONTENT[format], "x.zzz", format=format)
    assert "as asked for" in by_setting.report.detected
    assert by_setting.items == by_name.items == by_content.items == ("a",)


def test_no_two_formats_claim_one_ending():
    suffixes = [suffix for f in FORMATS for suffix in f.suffixes]
    assert len(set(suffixes)) == len(suffixes)


@pytest.mark.parametrize("setting", ["format", "repeats", "ties", "empty", "choice_set"])
def test_an_unknown_choice_lists_the_valid_ones(setting):
    with pytest.raises(SettingError, match=rf"{setting}='zzz' is unknown. Choose one of: '"):
        read("a\n", **{setting: "zzz"})

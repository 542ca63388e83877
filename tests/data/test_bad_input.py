"""Bad input: every file here gets one `InputError` that says where, what and the way out."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from posetta.data import read_traces
from posetta.errors import InputError

XES_HEAD = b'<?xml version="1.0"?>\n<log>\n<trace><string key="concept:name" value="p"/>\n'
BOMB = (
    b'<?xml version="1.0"?>\n<!DOCTYPE log [\n<!ENTITY a "aaaaaaaaaa">\n'
    + b"".join(b'<!ENTITY %c "%s">\n' % (98 + k, b"&%c;" % (97 + k) * 10) for k in range(9))
    + b"]>\n<log>&j;</log>"
)
EXTERNAL = b'<!DOCTYPE log SYSTEM "file:///etc/hostname">\n<log></log>'
PREFLIB = b"# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n"
LONG_LINE = b"case,item\n1," + b"x" * 10_000_000 + b"\n"

# name of the file, its bytes, what the message must match after the name of the file
CASES = {
    # nothing there
    "empty text": ("f.txt", b"", ": is empty"),
    "empty csv": ("f.csv", b"", ": is empty"),
    "empty json": ("f.json", b"", ": is empty"),
    "empty jsonl": ("f.jsonl", b"", ": is empty"),
    "empty xes": ("f.xes", b"", ": is empty"),
    "empty preflib": ("f.soc", b"", ", line 1: is not a PrefLib file"),
    "only comments": ("f.txt", b"# one\n\n# two\n", ": holds no traces"),
    "only a header": ("f.csv", b"case,item\n", ": holds no traces"),
    "only a preflib header": ("f.soc", PREFLIB, ": holds no traces"),
    "no json traces": ("f.json", b"[]", ": holds no traces"),
    "no xes traces": ("f.xes", b"<log></log>", ": holds no traces"),
    # bytes
    "latin-1": (
        "f.txt",
        b"a,b\nc,caf\xe9\n",
        r", line 2: byte 0xe9 \(offset 9 in the file\) is not",
    ),
    "latin-1 after a mark": ("f.txt", b"\xef\xbb\xbfa\n\xe9", r", line 2: byte 0xe9 \(offset 5 "),
    "latin-1 json": ("f.json", b'[["a"],\n["\xe9"]]', ", line 2: byte 0xe9"),
    "latin-1 csv": ("f.csv", b"case,item\n1,\xe9\n", ", line 2: byte 0xe9"),
    "utf-16": (
        "f.txt",
        "a,b\n".encode("utf-16"),
        ", line 1: starts with the byte-order mark of UTF",
    ),
    "utf-16 without a mark": (
        "f.txt",
        "a,b\n".encode("utf-16-le"),
        r", line 1: .* NUL .*offset 1 ",
    ),
    "NUL": (
        "f.jsonl",
        b'{"items": ["a"]}\n{"items": ["\0"]}',
        r", line 2: .*NUL byte \(offset 29 ",
    ),
    "NUL in csv": ("f.csv", b"case,item\n1,\0\n", ", line 2: holds a NUL byte"),
    "NUL in xes": ("f.xes", XES_HEAD + b"\0", r", line 4: is not well-formed XML \("),
    "old Mac line ends": ("f.txt", b"a,b\rb,a\r", ", line 1: holds a carriage return"),
    "truncated gzip": ("f.csv.gz", gzip.compress(b"case,item\n1,a\n")[:-9], ": .*truncated"),
    "damaged gzip": (
        "f.txt.gz",
        gzip.compress(b"a,b\n")[:10] + b"\xff" * 40,
        ": the compressed data are damaged",
    ),
    "wrong checksum": ("f.gz", gzip.compress(b"a,b\n")[:-8] + b"\0" * 8, ": .* are damaged"),
    # text
    "repeat": (
        "f.txt",
        b"a,b\nc,ship,b,ship\n",
        r', line 2: trace "2" lists "ship" twice \(positions 2 and 4\). Each item may appear once; '
        r'pass repeats="first" to keep the first.$',
    ),
    "missing label": ("f.txt", b"a,b\na,,b\n", ', line 2: trace "2" holds an item whose name is'),
    "empty trace": ("f.txt", b"a,b\n3:\n", ', line 2: trace "2" is empty.*empty="drop"'),
    "zero count": ("f.txt", b"0: a,b\n", ', line 1: trace "1" has the count 0'),
    "large count": ("f.txt", b"9999999999: a,b\n", ', line 1: trace "1" has the count 9999999999'),
    "huge count": ("f.txt", b"9" * 5000 + b": a,b\n", ", line 1: has a count of more than ten"),
    "count or label": ("f.txt", b"08:30,09:00\n", ', line 1: starts with "08:3", which may be'),
    "two separators": ("f.txt", b"a;b\nb,a\n", ', line 2: .* by "," here, but by ";" on line 1'),
    # tables
    "no case column": (
        "f.csv",
        b"item,when\na,1\n",
        ', line 1: .*usual name of the case.*"item", "when": pass',
    ),
    "no item column": (
        "f.csv",
        b"case,what\n1,a\n",
        ", line 1: .*usual name of the item.*pass item=",
    ),
    "text called csv": ("f.csv", b"a,b,c\nb,a,c\n", ', line 1: .*pass format="text"'),
    "short row": ("f.csv", b"case,item,time\n1,a,1\n1,b\n", ", line 3: has 2 fields, but .* has 3"),
    "long row": ("f.csv", b"case,item\n1,a,b\n", ", line 2: has 3 fields, but the header has 2"),
    "after quoted lines": ("f.csv", b'case,item\n"1\n1\n1",a\n1\n', ", line 5: has 1 fields"),
    "open quote": (
        "f.csv",
        b'case,item\n1,"' + b"x\n" * 99_999,
        r", line \d+: .*quote .* left open",
    ),
    "a line of 10 MB": ("f.csv", LONG_LINE, ", line 2: is not a table that can be read"),
    "no case": ("f.csv", b"case,item\n,a\n", ', line 2: the column "case" is empty'),
    "no item": ("f.csv", b"case,item\n1,\n", ', line 2: the column "item" is empty'),
    "column named twice": (
        "f.csv",
        b"case,item,item\n1,a,b\n",
        ', line 1: several columns could be the item ."item", "item"',
    ),
    "nan": ("f.csv", b"case,item,time\n1,a,NaN\n", ', line 2: the time "NaN" is not finite'),
    "infinite": (
        "f.tsv",
        b"case\titem\ttime\n1\ta\tinf\n",
        ', line 2: the time "inf" is not finite',
    ),
    "no time": ("f.csv", b"case,item,time\n1,a,1\n1,b,\n", ", line 3: the time is missing"),
    "no date": ("f.csv", b"case,item,time\n1,a,soon\n", ', line 2: the time "soon" is neither'),
    "mixed zones": (
        "f.csv",
        b"case,item,time\n1,a,2024-01-01T00:00Z\n1,b,2024-01-01T00:00\n",
        ", line 3: .*without a time zone, but the times before it are a date with a time zone",
    ),
    "tied times": (
        "f.csv",
        b"case,item,time\n1,a,1\n1,b,1\n",
        ', line 3: trace "1" has "a" and "b"',
    ),
    # JSON
    "cut off": ("f.json", b'[["a", "b"', ", line 1: is not valid JSON"),
    "cut off line": ("f.jsonl", b'{"items": ["a"]}\n{"items"', ", line 2: is not valid JSON"),
    "lines called json": ("f.json", b'{"items": []}\n{}', ', line 2: .*pass format="jsonl"'),
    "a number": ("f.json", b"7", ": should hold a list of traces.*holds 7"),
    "no traces key": ("f.json", b'{"runs": []}', r': should hold .*an object with the keys "runs"'),
    "row is text": ("f.jsonl", b'"a,b"\n', ', line 1: this line is "a,b"; a trace is an object'),
    "no items key": ("f.jsonl", b'{"id": "p"}\n', ', line 1: .*no "items".*"id"'),
    "items is text": ("f.jsonl", b'{"items": "ab"}', r', line 1: "items" of this line is "ab"'),
    "items are numbers": ("f.json", b"[[1, 2]]", ": entry 1 holds 1; items are text"),
    "nested items": ("f.json", b'[["a", ["b"]]]', ": entry 1 holds a list; items are text"),
    "choice set is text": (
        "f.jsonl",
        b'{"items": ["a"], "choice_set": "a"}',
        ', line 1: "choice_set"',
    ),
    "choice set too small": (
        "f.jsonl",
        b'{"id": "p", "items": ["a"], "choice_set": ["b"]}',
        ', line 1: trace "p" lists "a", which is not in its own choice_set',
    ),
    "deep": ("f.jsonl", b"[" * 100_000, ", line 1: the JSON is nested too deeply"),
    "deep document": ("f.json", b'{"traces":' + b"[" * 100_000, ": the JSON is nested too deeply"),
    "NaN count": ("f.jsonl", b'{"items": ["a"], "count": NaN}', ", line 1: .*NaN is not a JSON"),
    "infinite count": ("f.jsonl", b'{"items": ["a"], "count": 1e999}', ", line 1: .* too large"),
    "fractional count": ("f.jsonl", b'{"items": ["a"], "count": 1.5}', ', line 1: .*"count" 1.5'),
    "boolean count": ("f.jsonl", b'{"items": ["a"], "count": true}', ', line 1: .*"count" true'),
    "negative count": ("f.jsonl", b'{"items": ["a"], "count": -1}', ", line 1: .*has the count -1"),
    "huge number": ("f.jsonl", b'{"items": ["a"], "count": ' + b"9" * 9999 + b"}", ", line 1: "),
    "key twice": ("f.jsonl", b'{"items": ["a"], "items": ["b"]}', ', line 1: .*"items" twice'),
    "id is a list": ("f.jsonl", b'{"id": [], "items": ["a"]}', ', line 1: .*"id" a list'),
    "duplicate id": (
        "f.jsonl",
        b'{"id": "p", "items": ["a"]}\n\n{"id": "p", "items": ["b"]}',
        ', line 3: trace "p" has the same id as an earlier trace on line 1',
    ),
    "half a character": ("f.json", rb'[["\ud800"]]', ": trace .* is not valid Unicode text"),
    # PrefLib
    "no header": ("f.soc", b"1: 1,2\n", ", line 1: is not a PrefLib file"),
    "names missing": (
        "f.soc",
        PREFLIB[:47] + b"1: 1\n",
        ": .*announces 2 alternatives and names 1",
    ),
    "one name twice": ("f.soc", PREFLIB.replace(b": y", b": x"), ': .*name.s. "x" for two'),
    "unknown alternative": ("f.soc", PREFLIB + b"1: 1,3\n", ", line 4: ranks alternative 3"),
    "not a number": ("f.soc", PREFLIB + b"1: 1,b\n", ', line 4: "b" should be the number'),
    "no count": ("f.soc", PREFLIB + b"1,2\n", ", line 4: a ranking starts with its count"),
    "open brace": ("f.toc", PREFLIB + b"1: {1,2\n", ", line 4: has a brace without its partner"),
    "closing brace": ("f.toc", PREFLIB + b"1: 1},2\n", ", line 4: has a brace without its partner"),
    "tie": ("f.toc", PREFLIB + b"1: {1,2}\n", ', line 4: trace "1" has "x" and "y" tied'),
    "ranked twice": ("f.soc", PREFLIB + b"1: 1,2,1\n", ', line 4: trace "1" lists "x" twice'),
    "old: odd space": ("f.soc", b"2\n1,x\n2\x1c,y\n2,2,2\nx", ", line 5: a ranking starts with"),
    "old: cut off": ("f.soc", b"3\n1,x\n2,y\n", ", line 3: .* announces 3 alternatives"),
    "old: no sums": ("f.soc", b"1\n1,x\n5,1\n", ', line 3: a line like "voters,sum,unique"'),
    # XES
    "entity bomb": ("f.xes", BOMB, ", line 2: has a document type declaration.*Remove it"),
    "external entity": ("f.xes", EXTERNAL, ", line 1: has a document type declaration"),
    "cut off log": ("f.xes", XES_HEAD, ", line 4: is not well-formed XML .*cut off"),
    "crossed tags": (
        "f.xes",
        b"<log>\n<trace></log>",
        ", line 2: is not well-formed XML .mismatched",
    ),
    "unknown encoding": ("f.xes", b'<?xml version="1.0" encoding="zzz"?><log/>', "(:|, line 1:) "),
    "a web page": ("f.xes", b"<html></html>", ", line 1: is not an XES log: .*<html>"),
    "event without a name": (
        "f.xes",
        XES_HEAD + b"<event/></trace></log>",
        ', line 4: .*"concept:n',
    ),
    "loose event": ("f.xes", b"<log><event/></log>", ", line 1: has an event outside of any trace"),
    "empty xes trace": ("f.xes", XES_HEAD + b"</trace></log>", ', line 3: trace "p" is empty'),
    "two xes traces of one name": (
        "f.xes",
        b'<log><trace><string key="concept:name" value="p"/><event><string key="concept:name" '
        b'value="a"/></event></trace>\n<trace><string key="concept:name" value="p"/><event><string '
        b'key="concept:name" value="a"/></event></trace></log>',
        ', line 2: trace "p" has the same id as an earlier trace on line 1',
    ),
    "bad xes time": (
        "f.xes",
        XES_HEAD
        + b'<event><string key="concept:name" value="a"/>\n<date key="time:timestamp" value="x"/>'
        b"</event></trace></log>",
        ', line 5: the time "x" is neither',
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(tmp_path: Path, monkeypatch, case: str):
    name, content, message = CASES[case]
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    with pytest.raises(InputError, match=f"(?s)^{name}{message}") as caught:
        read_traces(name)
    assert caught.value.__cause__ is None
    assert len(str(caught.value)) < 500, "a message fits on a screen"


def test_no_such_file(tmp_path: Path):
    with pytest.raises(InputError, match=r"x.csv: there is no such file. Check the path."):
        read_traces(tmp_path / "x.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read_traces("nul\0character")


def test_a_directory(tmp_path: Path):
    with pytest.raises(InputError, match=r"is a directory. Pass a file"):
        read_traces(tmp_path)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything"
)
def test_a_file_that_may_not_be_read(tmp_path: Path):
    path = tmp_path / "x.csv"
    path.write_text("case,item\n")
    path.chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        read_traces(path)


def test_permission_errors_of_the_system_are_translated(tmp_path: Path, monkeypatch):
    def refuse(*_args, **_settings):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"x.csv: may not be read \(permission denied\)"):
        read_traces(tmp_path / "x.csv")

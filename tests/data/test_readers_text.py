"""Plain text, JSON and PrefLib: small files, written out, and what they must become."""

from __future__ import annotations

import io

import pytest

from posetta.data import read_traces
from posetta.errors import InputError


def read(text: str, name: str = "x.txt", **settings):
    stream = io.StringIO(text)
    stream.name = name
    return read_traces(stream, **settings)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("a b c\nb a\n", "spaces"),
        ("a, b, c\nb,a\n", '","'),
        ("a;b;c\nb; a\n", '";"'),
        ("a\tb\tc\r\nb\ta\r\n", "tab"),
        ("a > b > c\nb>a\n", '">"'),
        ("a -> b -> c\nb->a\n", '"->"'),
    ],
)
def test_each_separator(text, how):
    traces = read(text)
    assert list(traces) == [["a", "b", "c"], ["b", "a"]]
    assert traces.report.detected.endswith(f"items separated by {how}")


def test_a_label_may_hold_weaker_separators():
    traces = read("Paris, France > London, UK\nNew York > Paris, France\n")
    assert traces.items == ("Paris, France", "London, UK", "New York")


def test_two_ways_of_writing_in_one_file_are_refused():
    with pytest.raises(InputError, match=r'x.txt, line 2: .*"," here, but by ">" on line 1'):
        read("a > b\na, b\n")


def test_counts_comments_and_blank_lines():
    traces = read("# a comment\n\n3: a, b\nb, a\n10 :a, b\n")
    assert len(traces) == 14
    assert traces.n_unique == 2
    assert traces.source == (("x.txt", 3), ("x.txt", 4), ("x.txt", 5))
    assert traces.ids == ("1", "2", "3")
    assert dict(traces.report.notes) == {"comment line(s) skipped": 1, "blank line(s) skipped": 1}


def test_a_byte_order_mark_is_removed_and_reported():
    traces = read_traces(io.BytesIO("\ufeffa,b\n".encode()))
    assert traces.items == ("a", "b")
    assert traces.report.notes["byte-order mark(s) removed"] == 1


def test_one_trace_of_one_item_is_fine():
    traces = read("a\n")
    assert list(traces) == [["a"]]
    assert "1 trace(s) of a single item, which say nothing about order" in traces.report.lines()


def test_a_line_of_ten_megabytes_is_one_long_trace():
    labels = [f"item{k:07d}" for k in range(900_000)]
    traces = read(",".join(labels))
    assert traces.max_length == 900_000
    assert traces.items == tuple(labels)


# -- JSON ------------------------------------------------------------------------------------------

ROWS = '{"id": "p", "items": ["a", "b"], "count": 2, "agent": "x"}\n\n{"items": ["b"]}\n'


def test_json_lines_keep_ids_counts_and_metadata():
    traces = read(ROWS, "x.jsonl")
    assert traces.ids == ("p", "2")
    assert len(traces) == 3
    assert [dict(m) for m in traces.records.metadata] == [{"agent": "x"}, {}]
    assert traces.records.line.tolist() == [1, 3]


def test_a_larger_choice_set_makes_a_different_row():
    traces = read(
        '{"items": ["a"]}\n{"items": ["a"], "choice_set": ["b", "a"]}\n'
        '{"items": ["a"], "choice_set": ["a"]}\n{"items": ["a"], "choice_set": ["a", "b"]}\n',
        "x.jsonl",
    )
    assert traces.counts.tolist() == [2, 2]
    assert traces.choice_set(1).tolist() == [0, 1]


@pytest.mark.parametrize(
    "text",
    [
        '[["a", "b"], ["b"]]',
        '[{"items": ["a", "b"]}, {"items": ["b"]}]',
        '{"traces": [["a", "b"], {"items": ["b"]}]}',
        '\n {"traces":\n [["a", "b"], ["b"]]}',
    ],
)
@pytest.mark.parametrize("name", ["x.json", "unnamed"])
def test_json_documents(text, name):
    traces = read(text, name)
    assert list(traces) == [["a", "b"], ["b"]]
    assert traces.report.format == "json"


def test_other_keys_of_a_document_are_reported():
    notes = read('{"traces": [["a"]], "made_by": 1}', "x.json").report.notes
    assert notes['key(s) of the document not used ("made_by")'] == 1


# -- PrefLib ---------------------------------------------------------------------------------------

NEW = """# FILE NAME: 1.toc
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 6
# ALTERNATIVE NAME 1: Ann, of Ghent
# ALTERNATIVE NAME 2: Bob
# ALTERNATIVE NAME 3: Cy
# ALTERNATIVE NAME 4: Di
3: 2,1
2: 1,{2,3}
1: {3}
"""
OLD = """4
1,Ann, of Ghent
2,Bob
3,Cy
4,Di
6,6,3
3,2,1
2,1,{2,3}
1,{3}
"""


@pytest.mark.parametrize("text", [NEW, OLD])
@pytest.mark.parametrize("name", ["x.toi", "unnamed"])
def test_both_headers_of_preflib(text, name):
    traces = read(text, name, ties="file-order")
    assert traces.report.format == "preflib"
    assert traces.items == ("Ann, of Ghent", "Bob", "Cy", "Di")
    assert [traces.labels(r) for r in range(3)] == [
        ["Bob", "Ann, of Ghent"],
        ["Ann, of Ghent", "Bob", "Cy"],
        ["Cy"],
    ]
    assert traces.counts.tolist() == [3, 2, 1]
    assert dict(traces.report.notes) == {
        "trace(s) with ties kept in the order of the file": 2,
        'item(s) never listed ("Di")': 1,
        "trace(s) of a single item, which say nothing about order": 1,
    }


def test_top_k_lists_are_chosen_from_all_alternatives():
    traces = read(NEW, "x.toi", ties="drop", choice_set="all")
    assert traces.choice_set(0).tolist() == [1, 0, 2, 3]
    assert len(traces) == 4


def test_a_header_that_announces_other_numbers_is_reported():
    traces = read(NEW.replace("VOTERS: 6", "VOTERS: 7"), "x.toi", ties="file-order")
    assert traces.report.notes["ranking(s) in the file, where its header announces 7"] == 6

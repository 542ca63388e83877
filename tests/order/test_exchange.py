"""Orders in JSON, networkx, Graphviz and Mermaid; the published workflow orders, where present."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import hostile_labels, posets

from posetta.errors import InputError
from posetta.order import Poset, read_order, write_order

law = settings(derandomize=True, deadline=None, max_examples=60)

DATA = Path(os.environ.get("POSETTA_DATA", Path(__file__).parents[3] / "shared" / "data"))
WORKFLOWS = DATA / "wfcommons"

hostile_items = st.lists(hostile_labels, min_size=1, max_size=4, unique=True)


# -- JSON ----------------------------------------------------------------------------------------


@law
@given(order=posets())
def test_json_round_trip(order, tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "order.json"
    write_order(order, path)
    assert read_order(path) == order
    content = json.loads(path.read_text(encoding="utf-8"))
    assert list(content) == ["items", "covers", "closure"]


@law
@given(items=hostile_items)
def test_json_round_trip_of_hostile_labels(items, tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "order.json"
    order = Poset.from_chain(items)
    write_order(order, path)
    assert read_order(path) == order


@pytest.mark.parametrize("kept", [["covers"], ["closure"], ["covers", "closure"]])
def test_either_relation_is_enough_and_other_keys_are_ignored(kept, tmp_path):
    order = Poset.from_chain(["a", "b", "c"])
    relations = {"covers": order.cover_pairs, "closure": order.closure_pairs}
    content = {"items": order.items, "n_items": 3, **{key: relations[key] for key in kept}}
    path = tmp_path / "order.json"
    path.write_text(json.dumps(content))
    assert read_order(path) == order


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: is not JSON"),
        ('{"items": ["a"],\n', "line 2, column 1: is not JSON"),
        ("[]", "holds no JSON object"),
        ('{"covers": []}', 'has no "items"'),
        ('{"items": ["a"]}', 'neither "covers" nor "closure"'),
        ('{"items": "ab", "covers": []}', '"items" is not a list'),
        ('{"items": ["a"], "covers": {"a": "b"}}', '"covers" is not a list'),
        ('{"items": [1, 2], "covers": []}', "non-empty text"),
        ('{"items": ["a", "a"], "covers": []}', "twice"),
        ('{"items": ["\\ud800"], "covers": []}', "not valid Unicode"),
        ('{"items": ["a", "b"], "covers": ["ab"]}', "'ab' is not a pair"),
        ('{"items": ["a", "b"], "covers": [["a", "z"]]}', "'z' is not among the 2 items"),
        ('{"items": ["a", "b"], "covers": [["a", ["b"]]]}', "non-empty text"),
        ('{"items": ["a", "b"], "covers": [["a", "b"], ["b", "a"]]}', "cycle: a -> b -> a"),
        ('{"items": ["a", "b", "c"], "closure": [["a", "b"], ["b", "c"]]}', "not transitive"),
        ('{"items": ["a", "b"], "covers": [], "closure": [["a", "b"]]}', "different orders"),
        ("[" * 100_000, "nested too deeply"),
        ('{"items": ' + "1" * 10_000 + "}", "not JSON that can be read"),
    ],
)
def test_bad_files_get_one_error_that_names_the_file(text, message, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_order(path)
    assert str(caught.value).startswith(str(path))


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"missing\.json: cannot be read: No such file"):
        read_order(tmp_path / "missing.json")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_order(tmp_path)
    (tmp_path / "latin.json").write_bytes('{"items": ["é"], "covers": []}'.encode("latin-1"))
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_order(tmp_path / "latin.json")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "order.json"
    write_order(Poset.from_chain(["a", "b"]), path)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        write_order(Poset.antichain(["x"]), path)
    assert read_order(path).items == ("a", "b")
    assert list(tmp_path.iterdir()) == [path]


def test_writing_into_a_missing_folder_is_one_clear_error(tmp_path):
    with pytest.raises(InputError, match="cannot be written: No such file"):
        write_order(Poset.antichain(["x"]), tmp_path / "nowhere" / "order.json")
    with pytest.raises(InputError, match="cannot be written"):
        write_order(Poset.antichain(["x"]), ".")


# -- networkx ------------------------------------------------------------------------------------


@law
@given(posets())
def test_networkx_round_trip_and_agreement(order):
    graph = order.to_networkx()
    assert Poset.from_networkx(graph) == order
    assert Poset.from_networkx(order.to_networkx(closure=True)) == order
    assert set(networkx.transitive_closure_dag(graph).edges) == set(order.closure_pairs)
    reduced = networkx.transitive_reduction(order.to_networkx(closure=True))
    assert set(reduced.edges) == set(order.cover_pairs)


def test_networkx_graphs_that_are_no_orders_are_refused():
    with pytest.raises(InputError, match="undirected"):
        Poset.from_networkx(networkx.Graph([("a", "b")]))
    with pytest.raises(InputError, match="cycle: a -> b -> a"):
        Poset.from_networkx(networkx.DiGraph([("a", "b"), ("b", "a")]))
    with pytest.raises(InputError, match="non-empty text"):
        Poset.from_networkx(networkx.DiGraph([(1, 2)]))
    parallel_edges = networkx.MultiDiGraph([("a", "b"), ("a", "b")])
    assert Poset.from_networkx(parallel_edges) == Poset.from_chain(["a", "b"])


# -- diagrams ------------------------------------------------------------------------------------

# What a reader of the diagram sees of a label: lines, with other control characters replaced.
LINE_BREAKS = re.compile(r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")


def visible(label):
    shown = LINE_BREAKS.sub("\n", label).replace("\t", " ")
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", "\ufffd", shown)


def test_dot_draws_the_covers():
    order = Poset.from_pairs([("a", "b"), ("b", "c"), ("a", "c")])
    assert order.to_dot() == (
        "digraph order {\n"
        "  rankdir=TB;\n"
        '  n0 [label="a"];\n'
        '  n1 [label="b"];\n'
        '  n2 [label="c"];\n'
        "  n0 -> n1;\n"
        "  n1 -> n2;\n"
        "}\n"
    )


def test_mermaid_draws_the_covers():
    order = Poset.from_pairs([("plan it", "build-all"), ("plan it", "test")])
    assert order.to_mermaid() == (
        'flowchart TB\n  n0["plan it"]\n  n1["build-all"]\n  n2["test"]\n  n0 --> n1\n  n0 --> n2\n'
    )


@pytest.mark.parametrize(
    ("label", "escaped"),
    [
        ('say "hi"', r"say \"hi\""),
        ("C:\\new", r"C:\\new"),
        ("two\nlines", r"two\nlines"),
        ("<b>&lt;</b>", "<b>&amp;lt;</b>"),
        ("größe 漢字 ✓", "größe 漢字 ✓"),
    ],
)
def test_dot_escapes(label, escaped):
    assert f'  n0 [label="{escaped}"];' in Poset.antichain([label]).to_dot().split("\n")


@pytest.mark.parametrize(
    ("label", "escaped"),
    [
        ('say "hi"', "say #34;hi#34;"),
        ("x[1](2){3}", "x#91;1#93;#40;2#41;#123;3#125;"),
        ("two\nlines", "two<br/>lines"),
        ("<b>&", "#60;b#62;#38;"),
        ("#35;", "#35;35#59;"),
        ("__init__", "#95;#95;init#95;#95;"),
        ("- item", "#45; item"),
        ("merge_fits-2", "merge_fits-2"),
        ("größe 漢字", "größe 漢字"),
    ],
)
def test_mermaid_escapes(label, escaped):
    assert f'  n0["{escaped}"]' in Poset.antichain([label]).to_mermaid().split("\n")


@law
@given(hostile_items)
def test_dot_labels_survive_and_stay_on_their_line(items):
    lines = Poset.antichain(items).to_dot().splitlines()
    assert len(lines) == len(items) + 3
    for label, line in zip(items, lines[2:-1], strict=True):
        quoted = re.fullmatch(r'  n\d+ \[label="((?:[^"\\]|\\.)*)"\];', line)
        assert quoted
        read = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], quoted[1])
        assert not re.search(r"&(?!amp;)", read)
        assert read.replace("&amp;", "&") == visible(label)


@law
@given(hostile_items)
def test_mermaid_labels_survive_without_any_syntax(items):
    lines = Poset.antichain(items).to_mermaid().splitlines()
    assert len(lines) == len(items) + 1
    for label, line in zip(items, lines[1:], strict=True):
        quoted = re.fullmatch(r'  n\d+\["(.*)"\]', line)
        assert quoted
        pieces = quoted[1].split("<br/>")
        assert all(re.fullmatch(r"(?:#\d+;|[\w\s-])*", piece) for piece in pieces)
        read = "\n".join(re.sub(r"#(\d+);", lambda m: chr(int(m[1])), p) for p in pieces)
        assert read == visible(label)


# -- published workflows -------------------------------------------------------------------------


def workflow_table():
    """Rows of the README that comes with the workflow orders: file name and its six numbers."""
    readme = WORKFLOWS / "README.md"
    if not readme.exists():
        return []
    rows = re.findall(r"^\| (\S+) \|((?: [^|]+\|){6})$", readme.read_text(), flags=re.MULTILINE)
    numbers = [(name, re.findall(r"(\d+)(?: \(omitted\))? \|", cells)) for name, cells in rows]
    return [(name, *map(int, cells)) for name, cells in numbers if len(cells) == 6]


@pytest.mark.skipif(not WORKFLOWS.exists(), reason=f"no workflow orders in {WORKFLOWS}")
def test_published_workflows_have_the_published_shape():
    table = workflow_table()
    assert len(table) == len(list(WORKFLOWS.glob("*.order.json")))
    for name, n_items, _, n_covers, n_closure, n_levels, widest in table:
        order = read_order(WORKFLOWS / f"{name}.order.json")
        shape = (order.n_items, int(order.covers.sum()), order.n_relations, order.depth)
        assert shape == (n_items, n_covers, n_closure, n_levels), name
        assert max(map(len, order.levels)) == widest, name
        assert order.width >= widest

"""`posetta show`, `evaluate` and `export`: verbs that read a result folder."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.posterior.examples import three_draws

from posetta.cli import main
from posetta.cli.printing import console, show_status
from posetta.data import Traces
from posetta.infer import fit
from posetta.order import Poset, read_order, write_order
from posetta.posterior.export import export
from posetta.posterior.io import load

ITEMS = ['plan "A"', "code;", "test & go", "free"]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    lines = [ITEMS, [ITEMS[3], *ITEMS[:3]], [ITEMS[0], ITEMS[1], ITEMS[3], ITEMS[2]]] * 4
    text = "".join(json.dumps({"items": line}) + "\n" for line in lines)
    (folder / "runs.jsonl").write_text(text)
    arguments = ["fit", str(folder / "runs.jsonl"), "--seed", "2", "--threshold", "0.4"]
    arguments += ["--set", "prior_draws=20000"]
    assert main([*arguments, "--out", str(folder / "result"), "--quiet"]) == 0
    return folder / "result"


def test_show_repeats_what_was_learnt(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(result)]) == 0
    printed = capsys.readouterr().out
    assert "12 traces of 4 items, fitted with method exact, seed 2." in printed
    assert '"plan "A"" must come before "code;"' in printed
    assert "at threshold 0.4" in printed
    assert "Status: ok" in printed
    assert main(["show", str(result), "--threshold", "0.999", "--json"]) == 0
    strict = json.loads(capsys.readouterr().out)
    assert strict["threshold"] == 0.999
    saved = json.loads((result / "result.json").read_text())
    assert strict["precedence"] == saved["precedence"]


def test_the_time_is_that_of_starting_points_and_run(capsys: pytest.CaptureFixture[str]) -> None:
    show_status(console(), three_draws(seconds={"start": 2.0, "run": 3.5, "compile": 4.0}))
    told = capsys.readouterr().out
    assert "Time: 5.5 s, and 4.0 s to compile or load the sampler.\n" in told


def test_evaluate_against_a_truth_and_traces(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = tmp_path / "truth.json"
    write_order(Poset.from_pairs([(ITEMS[0], ITEMS[1])], items=ITEMS[::-1]), truth)
    (tmp_path / "good.jsonl").write_text(json.dumps({"items": ITEMS}) + "\n")
    test = ["--test", str(tmp_path / "good.jsonl")]
    assert main(["evaluate", str(result), "--truth", str(truth), *test, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["truth"]["n_recovered"] == 1
    assert scores["truth"]["recall"] == 1.0
    assert scores["test"]["trace_nll"]["value"] > 0.0
    assert scores["test"]["trace_nll"]["n_impossible"] == 0
    assert main(["evaluate", str(result), "--truth", str(truth), *test]) == 0
    assert "recall 1.000" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["evaluate", "report"])
def test_new_traces_are_read_as_the_options_say(
    verb: str, result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = tmp_path / "twice.jsonl"
    twice.write_text(json.dumps({"items": [*ITEMS, ITEMS[0]]}) + "\n")
    out = ["--out", str(tmp_path / "page.html")] if verb == "report" else []
    arguments = [verb, str(result), *out, "--test", str(twice)]
    assert main(arguments) == 2
    assert "pass --repeats first" in capsys.readouterr().err
    arguments += ["--repeats", "first"]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert f"Read {twice}: " in shown.out
    assert "\n  1 repeat" in shown.out
    assert shown.err == ""
    assert main([*arguments, "--json", *(["--force"] if out else [])]) == 0
    shown = capsys.readouterr()
    json.loads(shown.out)
    assert shown.err.startswith("posetta: 1 repeat")
    truth = tmp_path / "truth.json"
    write_order(Poset.from_pairs([(ITEMS[0], ITEMS[1])], items=ITEMS), truth)
    assert main([verb, str(result), "--truth", str(truth), "--ties", "drop"]) == 2
    assert "--ties says how to read --test" in capsys.readouterr().err


def test_impossible_traces_are_counted_not_hidden(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reverse = tmp_path / "reverse.jsonl"
    lines = [json.dumps({"items": items}) for items in (ITEMS[::-1], ITEMS)]
    reverse.write_text("\n".join(lines) + "\n")
    point = tmp_path / "point"
    runs = str(result.parent / "runs.jsonl")
    assert main(["fit", runs, "--method", "maximal", "--out", str(point), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(point), "--test", str(reverse), "--json"]) == 0
    nll = json.loads(capsys.readouterr().out)["test"]["trace_nll"]
    assert nll["value"] is None
    assert nll["n_impossible"] == 1
    assert nll["finite_mean"] > 0.0
    assert main(["evaluate", str(point), "--test", str(reverse)]) == 0
    assert "infinite: 1 of 2 are impossible" in capsys.readouterr().out


def test_exports_hold_the_order(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    posterior = load(result)
    order = posterior.decode(0.4)  # the threshold that it was saved with
    written = {}
    for to in ("dot", "mermaid", "graphml", "csv", "json"):
        assert main(["export", str(result), "--to", to]) == 0
        written[to] = capsys.readouterr().out
    assert written["dot"].count(" -> ") == len(order.cover_pairs)
    assert written["dot"].count("[label=") == 4 + len(order.cover_pairs)
    assert written["mermaid"].count(" -->|") == len(order.cover_pairs)
    root = ElementTree.fromstring(written["graphml"])
    space = "{http://graphml.graphdrawing.org/xmlns}"
    nodes = {node.get("id"): node[0].text for node in root.iter(f"{space}node")}
    assert sorted(nodes.values()) == sorted(ITEMS)
    edges = {
        (nodes[edge.get("source")], nodes[edge.get("target")]): float(edge[0].text or "nan")
        for edge in root.iter(f"{space}edge")
    }
    assert set(edges) == set(order.cover_pairs)
    for (first, then), probability in edges.items():
        assert probability == pytest.approx(posterior.probability(first, then))
    rows = list(csv.DictReader(io.StringIO(written["csv"])))
    assert len(rows) == 6
    for row in rows:
        assert float(row["pr_a_before_b"]) == pytest.approx(
            posterior.probability(row["a"], row["b"]), abs=1e-5
        )
        shares = sum(float(row[key]) for key in ("pr_a_before_b", "pr_b_before_a", "pr_free"))
        assert shares == pytest.approx(1.0, abs=1e-4)
        marks = {(row["a"], row["b"]): "<", (row["b"], row["a"]): ">"}
        assert row["decoded"] == next(
            (mark for pair, mark in marks.items() if pair in order.closure_pairs), ""
        )
    file = tmp_path / "order.json"
    file.write_text(written["json"])
    assert read_order(file) == order


@pytest.mark.parametrize("to", ["dot", "mermaid", "csv", "json"])  # GraphML is ASCII
def test_an_export_is_utf8_in_every_locale(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs.jsonl").write_text(json.dumps({"items": ["\u627f\u8a8d", "caf\u00e9"]}))
    out = str(tmp_path / "result")
    runs = str(tmp_path / "runs.jsonl")
    assert main(["fit", runs, "--method", "maximal", "--out", out, "--quiet"]) == 0
    file = tmp_path / "order.txt"
    assert main(["export", out, "--to", to, "--out", str(file)]) == 0
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", latin)
    assert main(["export", out, "--to", to]) == 0
    assert latin.buffer.getvalue() == file.read_bytes()
    assert "caf\u00e9" in file.read_text(encoding="utf-8")
    without_bytes = io.StringIO()
    monkeypatch.setattr(sys, "stdout", without_bytes)
    assert main(["export", out, "--to", to]) == 0
    assert without_bytes.getvalue() == file.read_text(encoding="utf-8")


def test_export_writes_a_file_once(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "order.dot"
    arguments = ["export", str(result), "--to", "dot", "--out", str(file)]
    assert main(arguments) == 0
    before = file.read_text()
    assert main([*arguments, "--threshold", "0.9999"]) == 2
    assert "--force" in capsys.readouterr().err
    assert file.read_text() == before
    assert main([*arguments, "--threshold", "0.9999", "--force"]) == 0


def test_hostile_labels_survive_every_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = ["\x1b[31m", "<script>", 'a"b\\', "line\nbreak", "$x$"]
    (tmp_path / "runs.jsonl").write_text(json.dumps({"items": labels}) + "\n")
    out = tmp_path / "result"
    arguments = ["fit", str(tmp_path / "runs.jsonl"), "--method", "maximal", "--out", str(out)]
    assert main(arguments) == 0
    ElementTree.parse(out / "hasse.svg")
    for to in ("dot", "mermaid", "graphml", "csv", "json"):
        capsys.readouterr()
        assert main(["export", str(out), "--to", to]) == 0
        printed = capsys.readouterr().out
        if to == "graphml":
            ElementTree.fromstring(printed)
        if to == "json":
            assert json.loads(printed)["items"] == labels


def test_graphml_keeps_what_xml_may_hold() -> None:
    labels = ["\u627f\u8a8d\u3000\u7533\u8acb", "no\u00a0break", "bell\x07"]
    page = export(fit(Traces.from_lists([labels]), method="maximal"), "graphml")
    texts = [node.text for node in ElementTree.fromstring(page).iter()]
    assert labels[0] in texts
    assert labels[1] in texts
    assert "bell\ufffd" in texts

"""The verbs, their output, and their exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from posetta.cli import main
from posetta.cli.app import data, evaluate, export, fit, report, show, simulate
from posetta.data import read_traces
from posetta.order import read_order
from posetta.posterior.io import load

RUNS = "a,b,c\nb,a,c\n2: a,b,c\n"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.txt"
    path.write_text(RUNS)
    return path


def test_demo_tells_what_the_data_are_and_what_follows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    for text in ("40  39 distinct", "Pairs seen in both orders", "deploy to production", "F1"):
        assert text in printed
    findings = printed.split("Three findings")[1]
    assert re.findall(r"^(\d)\. ", findings, re.MULTILINE) == ["1", "2", "3"]
    assert "must come before" in findings
    assert "can be swapped" in findings
    assert f"Open {out}" in findings
    assert load(out).status == "ok"
    assert {"hasse.svg", "result.json", "posterior.nc"} <= {path.name for path in out.iterdir()}
    assert main(["demo", "--out", str(out)]) == 2  # before any work is done
    assert "--force" in capsys.readouterr().err


def test_data_describes(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", str(runs)]) == 0
    printed = capsys.readouterr().out
    assert "runs.txt" in printed
    assert "2 distinct" in printed
    assert main(["data", str(runs), "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["n_traces"] == 4
    assert described["n_unique"] == 2
    assert described["pairs_in_both_orders"] == 1
    assert described["pairs_in_one_order"] == 2


def test_several_inputs_become_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("one.txt", "a,b"), ("two.txt", "b,a")):
        (tmp_path / name).write_text(text)
    inputs = [str(tmp_path / "one.txt"), str(tmp_path / "two.txt")]
    assert main(["data", *inputs, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_traces"] == 2


def test_fit_writes_a_result_that_loads(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result"
    assert main(["fit", str(runs), "--out", str(out), "--seed", "3"]) == 0
    assert "Method auto chose exact" in capsys.readouterr().out
    posterior = load(out)
    assert posterior.method == "exact"
    assert posterior.seed == 3
    assert json.loads((out / "result.json").read_text())["status"] == "ok"


def test_fit_json_is_one_document(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(runs), "--method", "maximal", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["closure"] == [["a", "c"], ["b", "c"]]


def test_fit_reads_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "posetta", "fit", "-", "--method", "majority", "--json"],
        input=RUNS,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    assert ["a", "b"] in json.loads(done.stdout)["closure"]


def test_out_is_never_overwritten_without_force(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result"
    arguments = ["fit", str(runs), "--method", "maximal", "--out", str(out)]
    assert main(arguments) == 0
    before = (out / "result.json").read_bytes()
    assert main([*arguments, "--seed", "1"]) == 2
    assert "--force" in capsys.readouterr().err
    assert (out / "result.json").read_bytes() == before
    assert main([*arguments, "--seed", "1", "--force"]) == 0
    assert json.loads((out / "result.json").read_text())["seed"] == 1


def test_force_never_removes_what_is_not_ours(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result"
    out.mkdir()
    (out / "precious.txt").write_text("mine")
    assert main(["fit", str(runs), "--method", "maximal", "--out", str(out), "--force"]) == 2
    assert "precious.txt" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["precious.txt"]


def test_simulate_writes_files_that_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "sim"
    arguments = ["simulate", "--items", "8", "--rho", "0.9", "--seed", "7", "--out", str(out)]
    assert main([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    order = read_order(out / "order.json")
    train = read_traces(out / "train.jsonl", items=order.items)
    assert (facts["items"], facts["train"]) == (order.n_items, len(train)) == (8, 8)
    assert all(order.is_linear_extension(trace) for trace in train)
    again = tmp_path / "again"
    given = ["simulate", "--order", str(out / "order.json"), "--ip-cov", "none", "--traces", "5"]
    assert main([*given, "--lengths", "3-5", "--out", str(again)]) == 0
    lengths = [len(trace) for trace in read_traces(again / "train.jsonl")]
    assert len(lengths) == 5
    assert all(3 <= length <= 5 for length in lengths)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "nowhere.txt"], "nowhere.txt"),
        (["fit", "{runs}", "--method", "magic"], "'exact', 'majority', 'maximal'"),
        (["fit", "{runs}", "--method", "maximal", "--draws", "9"], "--draws"),
        (["fit", "{runs}", "--method", "maximal", "--noise", "infer"], "cannot infer the noise"),
        (["fit", "{runs}", "--items", "{folder}/none.txt"], "none.txt"),
        (["simulate", "--items", "5", "--lengths", "nan", "--out", "{folder}/x"], "--lengths nan"),
        (["fit", "{runs}", "--dim", "many"], "--dim many"),
        (["fit", "{runs}", "--noise", "1.5"], "--noise 1.5"),
        (["fit", "{runs}", "--threshold", "2"], "--threshold 2"),
        (["fit", "{runs}", "--out", "{runs}"], "is a file"),
        (["fit", "{runs}", "--format", "xml"], "--format xml"),
        (["fit"], "Missing argument"),
        (["fit", "{runs}", "--frobnicate"], "--frobnicate"),
        (["data", "{folder}/empty"], "no file in this folder"),
        (["data", "{folder}/*.csv"], "no file matches"),
        (["fit", "{runs}", "--set", "rungs"], "name=value"),
        (["fit", "{runs}", "--method", "hard", "--set", "magic=1"], "--set magic. Drop it"),
        (["fit", "{runs}", "--method", "hard", "--set", "rungs=x"], "--set rungs=x"),
        (["fit", "{runs}", "--method", "maximal", "--draws", "9"], "no --draws. Drop it"),
        (["fit", "{runs}", "--beta", "-1"], "or be left out to be inferred"),
        (["fit", "{runs}", "--holdout", "1.5"], "--holdout 1.5"),
        (["fit", "{runs}", "--seed", "-1"], "--seed -1"),
        (["data", "{runs}", "{runs}"], "named twice"),
        (["simulate", "--out", "{folder}/x"], "--items N"),
        (["simulate", "--items", "5", "--order", "x", "--out", "{folder}/x"], "drop them"),
        (["simulate", "--items", "5", "--ip-cov", "7", "--out", "{folder}/x"], "the word none"),
        (["simulate", "--items", "0", "--out", "{folder}/x"], "--items 0"),
        (["simulate", "--items", "5", "--ip-cov", "lots", "--out", "{folder}/x"], "--ip-cov lots"),
        (["simulate", "--items", "5", "--lengths", "9", "--out", "{folder}/x"], "--lengths 9"),
        (["simulate", "--items", "5", "--out", "{runs}/x"], "cannot be written"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_bad_use_is_one_message_and_code_2(
    arguments: list[str], message: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(runs.parent)
    (runs.parent / "empty").mkdir()
    filled = [a.format(runs=runs, folder=folder) for a in arguments]
    before = sorted(runs.parent.rglob("*"))
    assert main(filled) == 2
    shown = capsys.readouterr()
    assert message.format(folder=folder) in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == "" or "Read" in shown.out
    assert sorted(runs.parent.rglob("*")) == before


def test_the_examples_in_the_help_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("order,step\n1,a\n1,b\n2,b\n2,a\n")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/one.csv").write_text("case,item\n" + "1,a\n1,b\n2,b\n2,a\n3,a\n3,b\n")
    items = "".join(f"i{k},{k % 2}\n" for k in range(8))
    (tmp_path / "offices.csv").write_text("item,group\n" + items)
    for verb in (simulate, data, fit, show, report, evaluate, export):
        examples = re.findall(r"`(posetta [^`]+)`", (verb.__doc__ or "").split("Example: ")[1])
        assert any(example.startswith(f"posetta {verb.__name__} ") for example in examples)
        for example in examples:
            assert main(example.split()[1:]) == 0, capsys.readouterr().err
        assert main([verb.__name__, "--help"]) == 0
        assert "Example: posetta" in capsys.readouterr().out


def test_version_names_dependencies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    printed = capsys.readouterr().out
    assert "numba" in printed
    assert "matplotlib" in printed


def test_control_characters_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "escapes.jsonl"
    path.write_text(json.dumps({"items": ["\x1b[31mred", "\x1b]0;title\x07"]}) + "\n")
    assert main(["data", str(path)]) == 0
    assert main(["fit", str(path), "--method", "maximal"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\\x1b[31mred" in printed
    assert main(["fit", str(path), "--method", "maximal", "--quiet"]) == 0
    assert "\x1b" not in capsys.readouterr().err  # notes
    path.write_text(json.dumps({"items": ["\x1b[31mred", "\x1b[31mred"]}) + "\n")
    assert main(["fit", str(path), "--method", "maximal"]) == 2
    assert "\x1b" not in capsys.readouterr().err  # a refusal


def test_the_universe_can_be_fixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs.txt").write_text("a,b\n")
    (tmp_path / "items.txt").write_text("b\na\nc\n")
    arguments = ["data", str(tmp_path / "runs.txt"), "--items", str(tmp_path / "items.txt")]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items_never_seen"] == ["c"]


def test_hard_settings_reach_the_sampler(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--draws", "40", "--warmup", "10", "--chains", "2", "--thin", "1"]
    assert main(["fit", str(runs), "--method", "hard", *options, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["settings"]["draws"] == 40
    assert result["settings"]["chains"] == 2


def test_strict_fails_a_run_that_did_not_mix(runs: Path) -> None:
    short = ["--draws", "4", "--warmup", "0", "--chains", "2", "--thin", "1"]
    assert main(["fit", str(runs), "--method", "hard", *short, "--quiet"]) == 0
    assert main(["fit", str(runs), "--method", "hard", *short, "--quiet", "--strict"]) == 3


def test_what_reading_dropped_is_said_also_when_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.txt"
    path.write_text("a,b,a\nb,a\n")
    arguments = ["fit", str(path), "--method", "maximal", "--repeats", "first"]
    assert main([*arguments, "--json"]) == 0
    shown = capsys.readouterr()
    json.loads(shown.out)
    assert "repeat" in shown.err


def test_labels_are_not_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hostile.jsonl"
    path.write_text(json.dumps({"items": ["[red]a[/red]", ":smile:"]}) + "\n")
    assert main(["fit", str(path), "--method", "maximal"]) == 0
    printed = capsys.readouterr().out
    assert "[red]a[/red]" in printed
    assert ":smile:" in printed


def test_shell_completion_knows_the_verbs() -> None:
    words = {"_POSETTA_COMPLETE": "complete_bash", "COMP_WORDS": "posetta e", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "posetta"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **words},
    )
    assert set(done.stdout.split()) == {"evaluate", "export"}

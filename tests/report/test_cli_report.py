from __future__ import annotations

import json

import pytest
from tests.report.examples import drawn_posterior

from posetta.cli import main
from posetta.data import write_traces
from posetta.order import write_order
from posetta.posterior.io import save
from posetta.report import render


@pytest.fixture
def result(tmp_path):
    save(drawn_posterior(), tmp_path / "result", threshold=0.7)
    return tmp_path / "result"


def test_the_page_goes_into_the_result_folder(result, capsys) -> None:
    for _ in range(2):  # renewed without being asked twice
        assert main(["report", str(result)]) == 0
    assert "report.html" in capsys.readouterr().out
    page = (result / "report.html").read_text(encoding="utf-8")
    assert page == render(drawn_posterior(), threshold=0.7)  # the threshold of the result


def test_all_options(result, tmp_path, capsys) -> None:
    posterior = drawn_posterior()
    write_order(posterior.decode(0.5), tmp_path / "order.json")
    write_traces(posterior.traces, tmp_path / "test.jsonl")
    groups = "item,group\n" + "".join(f"{label},g\n" for label in posterior.items)
    (tmp_path / "groups.csv").write_text(groups)
    page = tmp_path / "page.html"
    arguments = ["report", str(result), "--out", str(page), "--threshold", "0.6", "--json"]
    arguments += ["--truth", str(tmp_path / "order.json"), "--test", str(tmp_path / "test.jsonl")]
    arguments += ["--groups", str(tmp_path / "groups.csv")]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"report": str(page), "bytes": page.stat().st_size}
    text = page.read_text(encoding="utf-8")
    assert '"threshold":0.6' in text
    assert '"truth":{' in text
    assert '"test":{' in text
    assert '"groups":{' in text
    assert main(arguments) == 2
    assert "--force" in capsys.readouterr().err
    assert main([*arguments, "--force"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "not a result folder"),
        (["{result}", "--groups", "none.csv"], "cannot be read"),
        (["{result}", "--truth", "none.json"], "cannot be read"),
        (["{result}", "--test", "none.jsonl"], "none.jsonl"),
        (["{result}", "--threshold", "2"], "threshold"),
        (["{result}", "--out", "none/page.html"], "cannot be written"),
    ],
)
def test_bad_use_is_one_message(result, tmp_path, monkeypatch, capsys, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *(a.format(result=result) for a in arguments)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.startswith("posetta: ")
    assert "Traceback" not in said
    assert not list(result.glob("*.html"))

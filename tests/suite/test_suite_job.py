"""Addresses of jobs: what changes them and what does not."""

from __future__ import annotations

from pathlib import Path

from tests.suite.studies import tiny

from posetta.suite.code_version import code_version, without_words
from posetta.suite.expand import jobs_of
from posetta.suite.job import Job, fingerprint


def test_the_address_of_a_job_is_the_same_everywhere():
    # Written down once: should it ever change, every finished job of every study runs again.
    assert fingerprint({"a": 1, "b": [0.1, "x"], "c": None}) == "a594b6ea6099"
    assert fingerprint({"b": [0.1, "x"], "c": None, "a": 1}) == "a594b6ea6099"
    assert jobs_of(tiny())[0].hash == jobs_of(tiny())[0].hash


def test_names_do_not_enter_the_address_but_settings_do():
    job = jobs_of(tiny())[0]
    renamed = Job(job.spec, {**job.columns, "case": "other"})
    assert renamed.hash == job.hash
    changed = Job({**job.spec, "settings": {"eps": 0.1}}, job.columns)
    assert changed.hash != job.hash
    assert job.address("c0de") == f"maximal-{job.hash}-c0de"
    assert Job(job.spec, {"method": "a b/c"}).address("0").startswith("a-b-c-")


def test_the_content_of_data_files_enters_the_address(tmp_path: Path):
    study = tiny(
        kind="traces_file",
        data={"file": "lists.txt"},
        axes={"seed": [7]},
        methods={"maximal": {}},
        tables=[],
    )
    (without,) = jobs_of(study, tmp_path)
    found = []
    for content in ("a,b\n", "b,a\n", "a,b\n"):
        (tmp_path / "lists.txt").write_text(content)
        found.append(jobs_of(study, tmp_path)[0])
    assert found[0].hash == found[2].hash
    assert len({job.hash for job in (without, *found)}) == 3
    assert len({job.spec["seed"] for job in (without, *found)}) == 1


def test_the_code_version_is_of_code_not_of_words():
    plain = "def f(x):\n    return x + 1\n"
    wordy = '"""M."""\n\n\ndef f(x):\n    """Add."""\n    # one\n    return (x\n            + 1)\n'
    assert without_words(plain) == without_words(wordy)
    assert without_words(plain) != without_words(plain.replace("+ 1", "+ 2"))
    assert len(code_version()) == 8

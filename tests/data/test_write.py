"""What `write_traces` writes, `read_traces` reads back."""

from __future__ import annotations

import json

import pytest

from posetta.data import Traces, read_traces, write_traces
from posetta.errors import InputError

ROWS = [
    {"id": "p", "items": ["b", "a"], "count": 3, "agent": {"name": "é\n"}, "score": 0.1},
    {"id": "q", "items": ["a"], "choice_set": ["a", "c"]},
    {"id": "r", "items": ["b", "a"], "choice_set": ["b", "a"]},
]


@pytest.fixture
def traces(tmp_path) -> Traces:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return read_traces(path, items=["c", "a", "b", "never"])


def everything(traces: Traces) -> tuple:
    rows = [
        (
            id,
            count,
            traces.labels(row),
            sorted(traces.items[i] for i in traces.choice_set(row)),
            dict(metadata),
        )
        for id, count, row, metadata in zip(
            traces.ids,
            traces.records.count.tolist(),
            traces.records.row.tolist(),
            traces.records.metadata,
            strict=True,
        )
    ]
    return traces.items, rows, traces.hash


def test_the_round_trip_is_exact(traces, tmp_path):
    write_traces(traces, tmp_path / "again.jsonl")
    assert everything(read_traces(tmp_path / "again.jsonl", items=traces.items)) == everything(
        traces
    )


def test_a_part_is_written_as_the_part_that_it_is(traces, tmp_path):
    part = traces.take([0, 2, 4])
    write_traces(part, tmp_path / "part.jsonl")
    assert everything(read_traces(tmp_path / "part.jsonl", items=part.items)) == everything(part)


def test_the_file_says_no_more_than_needed(traces, tmp_path):
    write_traces(traces, tmp_path / "out.jsonl")
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert written[0] == ROWS[0]
    assert written[1] == {"id": "q", "items": ["a"], "choice_set": ["a", "c"]}
    assert written[2] == {"id": "r", "items": ["b", "a"]}


def test_a_failure_leaves_the_old_file_and_nothing_else(traces, tmp_path, monkeypatch):
    target = tmp_path / "out.jsonl"
    target.write_text("old")

    def fail(*_args, **_settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("posetta.data.write.json.dumps", fail)
    with pytest.raises(KeyboardInterrupt):
        write_traces(traces, target)
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.jsonl", "rows.jsonl"]


def test_whoever_reads_the_old_file_can_go_on(traces, tmp_path):
    target = tmp_path / "out.jsonl"
    target.write_text("old")
    with target.open() as reader:
        write_traces(traces, target)
        assert reader.read() == "old"
    assert len(read_traces(target)) == len(traces)


def test_a_folder_that_does_not_exist_is_named(traces, tmp_path):
    with pytest.raises(InputError, match=r"nowhere.*cannot be written"):
        write_traces(traces, tmp_path / "nowhere" / "x.jsonl")


def test_what_is_no_file_is_refused_and_a_link_is_followed(traces, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    for place in (".", "inner"):
        with pytest.raises(InputError, match="cannot be written"):
            write_traces(traces, place)
    (tmp_path / "link.jsonl").symlink_to("inner/real.jsonl")
    write_traces(traces, "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert [path.name for path in (tmp_path / "inner").iterdir()] == ["real.jsonl"]

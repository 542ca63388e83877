"""Public data sets, read whole: the counts must be those that their descriptions state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from posetta.data import read_traces
from posetta.errors import InputError


@pytest.mark.parametrize(
    ("file", "n_traces", "n_unique", "n_items", "longest"),
    [
        ("sushi/00014-00000001.soc", 5000, 4926, 10, 10),
        ("sushi/00014-00000002.soi", 5000, 5000, 100, 10),
        ("rankdata/netflix.soc", 588, 24, 4, 4),
        ("rankdata/shirt.soc", 30, 30, 11, 11),
        ("rankdata/cities.soi", 392, 372, 36, 6),
    ],
)
def test_rankings_agree_with_their_headers(
    shared_data: Path, file, n_traces, n_unique, n_items, longest
):
    traces = read_traces(shared_data / file)
    assert (len(traces), traces.n_unique, traces.n_items, traces.max_length) == (
        n_traces,
        n_unique,
        n_items,
        longest,
    )
    assert not any("announces" in note for note in traces.report.notes)


def test_a_ranking_that_was_edited_is_reported(shared_data: Path):
    traces = read_traces(shared_data / "rankdata" / "education_courses.soi")
    assert (len(traces), traces.n_items) == (12, 13)
    assert traces.report.notes["ranking(s) in the file, where its header announces 14"] == 12


def test_ties_between_skaters(shared_data: Path):
    path = shared_data / "rankdata" / "skaters.toc"
    with pytest.raises(InputError, match=r'skaters.toc, line 49: trace "7" has .* tied'):
        read_traces(path)
    assert len(read_traces(path, ties="drop")) == 6
    kept = read_traces(path, ties="file-order")
    assert (len(kept), kept.n_items, kept.max_length) == (9, 30, 30)


@pytest.mark.parametrize(
    (
        "file",
        "n_traces",
        "n_events",
        "n_activities",
        "shortest",
        "longest",
        "repeating",
        "variants",
    ),
    [
        ("running-example.xes", 6, 42, 8, 5, 13, 2, 6),
        ("roadtraffic100traces.xes", 100, 390, 10, 2, 9, 10, 10),
        ("receipt.xes.gz", 1434, 8577, 27, 1, 25, 91, 116),
    ],
)
def test_event_logs(
    shared_data: Path,
    file,
    n_traces,
    n_events,
    n_activities,
    shortest,
    longest,
    repeating,
    variants,
):
    path = shared_data / "eventlogs" / file
    with pytest.raises(InputError, match=rf'{file}, line \d+: trace ".*" lists ".*" twice'):
        read_traces(path, ties="file-order")
    # Numbered repeats lose nothing, so all figures of the log can be found again.
    traces = read_traces(path, repeats="number", ties="file-order")
    assert len(traces) == n_traces
    assert int(traces.n_listed @ traces.counts) == n_events
    assert len({label.partition("#")[0] for label in traces.items}) == n_activities
    assert (int(traces.n_listed.min()), traces.max_length) == (shortest, longest)
    with_repeats = sum(any(label.endswith("#2") for label in trace) for trace in traces)
    assert with_repeats == repeating
    assert traces.n_unique == variants


@pytest.mark.parametrize(
    ("scenario", "n_items", "n_traces", "shortest", "longest", "complete"),
    [
        ("simple_ecs", 5, 10, 4, 5, 2),
        ("slb_ecs_rds", 12, 9, 6, 10, 0),
        ("slb_ecs_redis", 9, 10, 5, 9, 1),
        ("eip_slb_ecs", 9, 10, 7, 9, 2),
        ("dual_zone_ecs_slb", 7, 8, 5, 7, 2),
        ("dual_zone_ecs_slb_rds", 10, 7, 7, 9, 0),
    ],
)
def test_cloud_workflows(
    shared_data: Path, scenario, n_items, n_traces, shortest, longest, complete
):
    folder = shared_data / "cloud_iac_6"
    universe = json.loads((folder / f"{scenario}.order.json").read_text())["items"]
    traces = read_traces(folder / f"{scenario}.traces.jsonl", items=universe)
    assert (traces.n_items, len(traces)) == (n_items, n_traces)
    assert (int(traces.n_listed.min()), traces.max_length) == (shortest, longest)
    assert int(traces.counts[traces.n_listed == n_items].sum()) == complete
    assert all(metadata["scenario"] == scenario for metadata in traces.records.metadata)


def test_all_cloud_workflows_at_once(shared_data: Path):
    files = sorted((shared_data / "cloud_iac_6").glob("*ecs*.traces.jsonl"))
    assert len(read_traces(files)) == 54


@pytest.mark.parametrize(
    ("file", "n_items", "n_traces", "longest"),
    [("bishops", 47, 65, 35), ("bishops_strict", 41, 38, 32), ("pl_ranking", 24, 134, 10)],
)
def test_witness_lists(shared_data: Path, file, n_items, n_traces, longest):
    traces = read_traces(shared_data / "royal_acta" / f"{file}.traces.jsonl")
    assert (traces.n_items, len(traces), traces.max_length) == (n_items, n_traces, longest)
    assert not traces.report.notes


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("agent_traces/otlp_example_trace.json", 'an object with the keys "resourceSpans"'),
        ("agent_traces/tau_bench_gpt-4o-airline.json", 'entry 1 has no "items"'),
        (
            "royal_acta/actors.csv",
            'no column has a usual name of the case. The columns are "id", "name"',
        ),
        ("wfcommons/srasearch-chameleon-10a-001.order.json", "is an order, not traces"),
    ],
)
def test_files_that_are_not_traces_are_refused_clearly(shared_data: Path, file, message):
    with pytest.raises(InputError, match=message):
        read_traces(shared_data / file)

"""The embedded demo data are what their record says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from posetta.data.demo import demo_order, demo_traces

ROOT = Path(__file__).resolve().parents[2]


def test_demo_traces_obey_the_demo_order() -> None:
    order, traces = demo_order(), demo_traces()
    assert traces.items == order.items
    assert len(traces) == 40
    assert all(order.respects(trace) for trace in traces)
    assert any(len(trace) < order.n_items for trace in traces)


def test_the_script_makes_the_committed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(ROOT / "tools" / "make_demo.py"))
    committed = script["TARGET"]
    monkeypatch.setitem(script["main"].__globals__, "TARGET", tmp_path)
    script["main"]()
    for name in ("release.traces.jsonl", "release.order.json"):
        assert (tmp_path / name).read_bytes() == (committed / name).read_bytes()

"""What was observed? Traces, checked once at the gate, and the readers of many formats."""

from __future__ import annotations

from posetta.data.read import read_traces
from posetta.data.report import ReadReport
from posetta.data.traces import Traces
from posetta.data.write import write_traces

__all__ = ["ReadReport", "Traces", "read_traces", "write_traces"]

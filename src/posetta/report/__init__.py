"""What does a reader see? One self-contained page; never calls `fit`."""

from __future__ import annotations

from posetta.report.groups import Groups, read_groups
from posetta.report.render import render, write_report

__all__ = ["Groups", "read_groups", "render", "write_report"]

"""The embedded demo: forty runs of a service release, simulated from an order we wrote down.

``tools/make_demo.py`` made the files. Some runs leave out steps, as real ones do.
"""

from __future__ import annotations

from importlib.resources import as_file, files

from posetta.data.read import read_traces
from posetta.data.traces import Traces
from posetta.order import Poset, read_order

_FILES = files("posetta.data") / "demo_files"


def demo_traces() -> Traces:
    """Return the forty demo runs."""
    with as_file(_FILES / "release.traces.jsonl") as path:
        return read_traces(path, items=demo_order().items)


def demo_order() -> Poset:
    """Return the true order behind the demo runs."""
    with as_file(_FILES / "release.order.json") as path:
        return read_order(path)

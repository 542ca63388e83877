"""`write_traces`: traces as JSON Lines, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from posetta.atomic import atomic_text
from posetta.data.traces import Traces


def write_traces(traces: Traces, path: str | os.PathLike[str]) -> None:
    """Write one JSON object per record: id, items, count, choice_set if larger, metadata.

    An existing file is replaced only when the new one is complete. Items that no trace holds are
    not in the file: pass ``items=traces.items`` to `read_traces` to get the same universe back.
    """
    with atomic_text(path) as file:
        file.writelines(json.dumps(row, allow_nan=False) + "\n" for row in _rows(traces))


def _rows(traces: Traces) -> Iterator[dict[str, Any]]:
    records = traces.records
    for k, row in enumerate(records.row.tolist()):
        made: dict[str, Any] = {"id": records.ids[k], "items": traces.labels(row)}
        if records.count[k] != 1:
            made["count"] = int(records.count[k])
        members = traces.choice_set(row)
        if len(members) > traces.n_listed[row]:
            made["choice_set"] = [traces.items[i] for i in members]
        yield made | dict(records.metadata[k])

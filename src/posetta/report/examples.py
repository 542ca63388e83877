"""Which traces travel with the page, so that it can show examples for every pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from posetta.data import Traces

_MOST_STEPS = 60_000
"""Items of all traces on the page together: some 300 kB."""
_WANTED = 3
"""Examples of each order of each pair."""


def example_traces(traces: Traces) -> list[dict[str, Any]]:
    """Return distinct traces that together show every observed order of a pair three times.

    Traces are taken in the order of the data; one that shows nothing new is left out, and the page
    never holds more than a fixed number of steps.
    """
    shown = np.zeros((traces.n_items, traces.n_items), dtype=np.int64)
    id_of_row = dict(zip(traces.records.row[::-1].tolist(), traces.ids[::-1], strict=True))
    rows, steps = [], 0
    for row in range(traces.n_unique):
        listed = traces.sequence(row)
        rest = traces.choice_set(row)[len(listed) :]
        new = False
        for k, item in enumerate(listed):
            after = np.concatenate([listed[k + 1 :], rest])
            new = new or bool((shown[item, after] < _WANTED).any())
            shown[item, after] += 1
        if not new:
            continue
        steps += len(listed) + len(rest)
        if steps > _MOST_STEPS:
            break
        entry: dict[str, Any] = {
            "id": id_of_row[row],
            "count": int(traces.counts[row]),
            "items": listed.tolist(),
        }
        if len(rest):
            entry["unlisted"] = rest.tolist()
        rows.append(entry)
    return rows

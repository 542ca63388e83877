"""Seconds and peak memory for reading a large event log, from CSV and from XES.

Run: python benchmarks/readers.py [--events 1600000] [--cases 250000] [--activities 42]

The log is generated from a seed into a temporary folder. Each reader runs in a process of its own,
so that its peak memory is its own. The bar for CSV at the default size: 30 s and 2 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

_MEASURE = """
import json, resource, sys, time
from posetta.data import read_traces
started = time.perf_counter()
traces = read_traces(sys.argv[1])
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "peak_mb": peak, "traces": len(traces),
                  "unique": traces.n_unique, "items": traces.n_items,
                  "events": int(traces.n_listed @ traces.counts)}))
"""


def make_log(events: int, cases: int, activities: int) -> list[tuple[list[int], list[int]]]:
    """Return one (activities, minutes) pair per case; lengths differ and no activity repeats.

    Nearly every case is a variant of its own, which is the worst case for collapsing.
    """
    rng = np.random.default_rng(7)
    lengths = np.clip(rng.poisson(events / cases, size=cases), 1, activities)
    while excess := int(lengths.sum()) - events:  # hit the number of events exactly
        step = -1 if excess > 0 else 1
        room = np.flatnonzero((lengths + step >= 1) & (lengths + step <= activities))
        lengths[rng.choice(room, size=min(abs(excess), len(room)), replace=False)] += step
    log = []
    for length in lengths.tolist():
        chosen = np.sort(rng.choice(activities, size=length, replace=False))
        order = np.argsort(np.arange(length) + rng.normal(scale=0.5, size=length))
        start = int(rng.integers(500_000))
        log.append((chosen[order].tolist(), (start + np.arange(length) * 7).tolist()))
    return log


def write_csv(log: list[tuple[list[int], list[int]]], path: Path) -> None:
    """Write the events of all cases mixed, in order of time, as a running system would."""
    rows = sorted(
        (minute, case, activity)
        for case, (activities, minutes) in enumerate(log)
        for activity, minute in zip(activities, minutes, strict=True)
    )
    with path.open("w", encoding="utf-8") as file:
        file.write("case_id,activity,timestamp,resource\n")
        for minute, case, activity in rows:
            file.write(f"case-{case},Activity {activity:02d},{_stamp(minute)},r{case % 50}\n")


def write_xes(log: list[tuple[list[int], list[int]]], path: Path) -> None:
    """Write the same log as XES."""
    with path.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<log xes.version="1.0">\n')
        for case, (activities, minutes) in enumerate(log):
            file.write(f'<trace>\n<string key="concept:name" value="case-{case}"/>\n')
            file.writelines(_xes_events(case, activities, minutes))
            file.write("</trace>\n")
        file.write("</log>\n")


def _xes_events(case: int, activities: list[int], minutes: list[int]) -> Iterator[str]:
    for activity, minute in zip(activities, minutes, strict=True):
        yield (
            f'<event>\n<string key="concept:name" value="Activity {activity:02d}"/>\n'
            f'<date key="time:timestamp" value="{_stamp(minute)}"/>\n'
            f'<string key="org:resource" value="r{case % 50}"/>\n</event>\n'
        )


def _stamp(minute: int) -> str:
    return (datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)).isoformat()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_600_000)
    parser.add_argument("--cases", type=int, default=250_000)
    parser.add_argument("--activities", type=int, default=42)
    sizes = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(sizes.events, sizes.cases, sizes.activities)
        print(f"{sizes.events:,} events, {sizes.cases:,} cases, {sizes.activities} activities")
        for write in (write_csv, write_xes):
            path = Path(folder) / f"log.{write.__name__.removeprefix('write_')}"
            write(log, path)
            run = subprocess.run(
                [sys.executable, "-c", _MEASURE, str(path)],
                check=True,
                capture_output=True,
                text=True,
            )
            found = json.loads(run.stdout)
            if (found["traces"], found["events"]) != (sizes.cases, sizes.events):
                sys.exit(f"{path.name}: read {found['traces']} traces, {found['events']} events")
            print(
                f"{path.suffix[1:]}: {found['seconds']:5.1f} s, peak {found['peak_mb']:,.0f} MB, "
                f"{path.stat().st_size / 2**20:,.0f} MB file, {found['unique']:,} distinct traces"
            )
            path.unlink()


if __name__ == "__main__":
    main()

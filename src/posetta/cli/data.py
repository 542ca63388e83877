"""``posetta data``: describe traces without fitting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posetta.cli import options

if TYPE_CHECKING:
    from posetta.data import Traces


def data(
    inputs: options.Inputs,
    format: options.Format = None,
    repeats: options.Repeats = "error",
    ties: options.Ties = "error",
    empty: options.Empty = "error",
    choice_set: options.ChoiceSet = "listed",
    case: options.Case = None,
    item: options.Item = None,
    time: options.Time = None,
    items: options.Items = None,
    json: options.Json = False,
) -> None:
    """Describe traces without fitting: sizes, conflicts, which pairs were seen in both orders.

    Example: `posetta data runs.jsonl` or `posetta data log.csv --case order --item step`
    """
    import json as json_module

    from posetta.cli.printing import console, show_conflicts, show_description, show_report
    from posetta.data.describe import describe

    traces = read(inputs, format, repeats, ties, empty, choice_set, case, item, time, items)
    described = describe(traces)
    if json:
        notes = dict(traces.report.notes)
        print(json_module.dumps({**described.to_dict(), "hash": traces.hash, "notes": notes}))
        return
    out = console()
    show_report(out, traces.report)
    show_description(out, described)
    show_conflicts(out, traces)


def read(
    inputs: list[str],
    format: str | None,
    repeats: str,
    ties: str,
    empty: str,
    choice_set: str,
    case: str | None,
    item: str | None,
    time: str | None,
    items: str | None,
) -> Traces:
    """Read all inputs into one set of traces."""
    from posetta.data import read_traces
    from posetta.data.inputs import find_inputs

    found = find_inputs(inputs)
    return read_traces(
        found[0] if len(found) == 1 else found,
        format=format,
        items=None if items is None else _universe(items),
        repeats=repeats,
        ties=ties,
        empty=empty,
        choice_set=choice_set,
        case=case,
        item=item,
        time=time,
    )


def _universe(path: str) -> list[str]:
    """Read the labels of an order file, or one label per line."""
    from pathlib import Path

    from posetta.errors import InputError
    from posetta.order import read_order

    if path.endswith(".json"):
        return list(read_order(path).items)
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the items cannot be read: {error}.") from None
    return [line.strip() for line in lines if line.strip()]

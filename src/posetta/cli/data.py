"""``posetta data``: describe traces without fitting."""

from __future__ import annotations

from posetta.cli import options


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

    Example: `posetta data sim/train.jsonl` or `posetta data log.csv --case order --item step`
    """
    import json as json_module

    from posetta.cli.printing import console, show_conflicts, show_description, show_report
    from posetta.cli.reading import read, universe
    from posetta.data.describe import describe

    traces = read(
        inputs,
        None if items is None else universe(items),
        format=format,
        repeats=repeats,
        ties=ties,
        empty=empty,
        choice_set=choice_set,
        case=case,
        item=item,
        time=time,
    )
    described = describe(traces)
    if json:
        notes = dict(traces.report.notes)
        print(json_module.dumps({**described.to_dict(), "hash": traces.hash, "notes": notes}))
        return
    out = console()
    show_report(out, traces.report)
    show_description(out, described)
    show_conflicts(out, traces)

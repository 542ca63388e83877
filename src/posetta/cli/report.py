"""``posetta report``: the page of a saved result."""

from __future__ import annotations

from typing import Annotated

import typer

from posetta.cli import options


def report(
    result: options.Result,
    out: Annotated[
        str | None, typer.Option(help="File to write; `report.html` in the result folder.")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="CSV file with columns `item` and `group` (and perhaps `name`)."),
    ] = None,
    truth: Annotated[
        str | None, typer.Option(help="Order file to compare with: recovery and calibration.")
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            help="Traces to score that were not fitted; by default those that fit held out."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Where the slider starts; by default the threshold of the result."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    json: options.Json = False,
    format: options.Format = None,
    repeats: options.Repeats = "error",
    ties: options.Ties = "error",
    empty: options.Empty = "error",
    choice_set: options.ChoiceSet = "listed",
    case: options.Case = None,
    item: options.Item = None,
    time: options.Time = None,
) -> None:
    """Write a result as one HTML page: diagram, pairs, convergence, settings. Opens from disk.

    Example: `posetta report result --groups offices.csv`
    """
    import json as json_module
    from pathlib import Path

    from posetta.cli.printing import console, show_report
    from posetta.cli.reading import read_test
    from posetta.cli.result import SETTINGS_FILE
    from posetta.cli.show import saved_threshold
    from posetta.data import read_traces
    from posetta.errors import InputError
    from posetta.order import read_order
    from posetta.posterior.io import load
    from posetta.report import read_groups, write_report

    posterior = load(result)
    page = Path(result) / "report.html" if out is None else Path(out)
    if out is not None and page.exists() and not force:
        raise InputError(f"{page} exists. Choose another file, or replace it with --force.")
    unseen = read_test(
        test,
        posterior.items,
        format=format,
        repeats=repeats,
        ties=ties,
        empty=empty,
        choice_set=choice_set,
        case=case,
        item=item,
        time=time,
    )
    if unseen is not None:
        show_report(None if json else console(), unseen.report)
    held_out = Path(result) / "held-out.jsonl"
    if unseen is None and held_out.exists():
        unseen = read_traces(held_out, items=posterior.items)
    made_by = Path(result) / SETTINGS_FILE
    write_report(
        posterior,
        page,
        threshold=saved_threshold(result) if threshold is None else threshold,
        groups=None if groups is None else read_groups(groups),
        truth=None if truth is None else read_order(truth),
        test=unseen,
        settings=made_by.read_text(encoding="utf-8") if made_by.exists() else None,
    )
    if json:
        print(json_module.dumps({"report": str(page), "bytes": page.stat().st_size}))
    else:
        print(f"Wrote {page} ({page.stat().st_size / 1000:,.0f} kB). Open it in a browser.")

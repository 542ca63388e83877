"""``posetta show``: what a saved result says."""

from __future__ import annotations

from typing import Annotated

import typer

from posetta.cli import options


def show(
    result: options.Result,
    threshold: Annotated[
        float | None,
        typer.Option(help="Decode at this probability instead of the one it was saved with."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Print what a saved result says: prerequisites, free pairs, open questions, levels, status.

    Example: `posetta show result` or `posetta show result --threshold 0.8`
    """
    import json as json_module

    from posetta.cli.printing import console, counted, show_findings, show_order, show_status
    from posetta.posterior.io import load, summary

    posterior = load(result)
    threshold = saved_threshold(result) if threshold is None else threshold
    content = summary(posterior, threshold)
    if json:
        print(json_module.dumps(content, allow_nan=False))
        return
    out = console()
    data = content["data"]
    size = f"{counted(data['n_traces'], 'trace')} of {counted(data['n_items'], 'item')}"
    out.print(f"{size}, fitted with method {posterior.method}, seed {posterior.seed}.")
    show_findings(out, posterior, threshold)
    show_order(out, posterior, threshold)
    show_status(out, posterior)


def saved_threshold(result: str) -> float:
    """Return the threshold that a result was saved with."""
    import json as json_module
    from pathlib import Path

    from posetta.errors import InputError
    from posetta.posterior.io import SUMMARY_FILE

    content = json_module.loads((Path(result) / SUMMARY_FILE).read_text(encoding="utf-8"))
    threshold = content.get("threshold")
    if not isinstance(threshold, int | float):
        raise InputError(f"{result} is damaged: {SUMMARY_FILE} names no threshold.")
    return float(threshold)

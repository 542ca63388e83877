"""``posetta export``: a saved result for other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from posetta.cli import options


def export(
    result: options.Result,
    to: Annotated[str, typer.Option(help="`dot`, `mermaid`, `graphml`, `csv` or `json`.")],
    out: Annotated[
        str | None, typer.Option(help="File to write; without it, standard output.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Decode at this probability instead of the one it was saved with."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write the decoded order of a saved result for other programs.

    `dot`, `mermaid` and `graphml` hold the direct precedences with their probabilities, `json` the
    order file that Posetta reads, `csv` a line for every pair with all three probabilities.

    Example: `posetta export result --to mermaid --out order.mmd`
    """
    from pathlib import Path

    from posetta.atomic import atomic_text
    from posetta.cli.show import saved_threshold
    from posetta.errors import InputError, choice
    from posetta.posterior.export import LANGUAGES
    from posetta.posterior.export import export as write
    from posetta.posterior.io import load

    choice(to, LANGUAGES, "to")
    if out is not None and Path(out).exists() and not force:
        raise InputError(f"{out} is there already. Name another file, or replace it with --force.")
    posterior = load(result)
    text = write(posterior, to, saved_threshold(result) if threshold is None else threshold)
    if out is None:
        _print_as_utf8(text)
        return
    with atomic_text(out) as file:
        file.write(text)
    print(f"Wrote {out}")


def _print_as_utf8(text: str) -> None:
    """Write to standard output what a file would hold: other programs read it, no terminal."""
    import sys

    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a stream of text stands in for it
        sys.stdout.write(text)
    else:
        binary.write(text.encode())

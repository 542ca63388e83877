"""Options that several verbs share."""

from __future__ import annotations

from typing import Annotated

import typer

Inputs = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders or patterns with traces; `-` reads standard input.",
        metavar="INPUT",
    ),
]
Result = Annotated[
    str, typer.Argument(help="A result folder, as `posetta fit --out` writes it.", metavar="RESULT")
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Read the input as this format instead of finding it out."),
]
Repeats = Annotated[
    str, typer.Option(help="An item listed twice in a trace: `error`, `first`, `last`, `number`.")
]
Ties = Annotated[
    str, typer.Option(help="Items of equal time or rank: `error`, `file-order`, `drop`.")
]
Empty = Annotated[str, typer.Option(help="Traces that list nothing: `error`, `drop`.")]
ChoiceSet = Annotated[
    str,
    typer.Option(help="`listed`: a trace orders its own items; `all`: it chose from all of them."),
]
Case = Annotated[str | None, typer.Option(help="Column that names the case.")]
Item = Annotated[str | None, typer.Option(help="Column that names the item.")]
Time = Annotated[str | None, typer.Option(help="Column that holds the time.")]
Items = Annotated[
    str | None,
    typer.Option(
        help="File that fixes the universe of items: an order (.json), or one label per line."
    ),
]
Threshold = Annotated[
    float, typer.Option(help="Keep a precedence when its probability is above this.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing output folder.")]

"""``posetta demo``: the embedded data, end to end."""

from __future__ import annotations

from typing import Annotated

import typer

from posetta.cli import options

SEED = 1
THRESHOLD = 0.5
COMPILES = "The first run compiles the sampler (about half a minute); later runs load it."


def demo(
    out: Annotated[str, typer.Option(help="Folder for the result.")] = "posetta-demo",
    force: options.Force = False,
) -> None:
    """Look at forty runs of a service release and find out what must come before what.

    Example: `posetta demo` or `posetta demo --out /tmp/demo --force`
    """
    from posetta.cli.config import to_toml
    from posetta.cli.evaluate import against_truth, score_lines
    from posetta.cli.printing import (
        console,
        show_conflicts,
        show_description,
        show_order,
        show_status,
    )
    from posetta.cli.result import write_result
    from posetta.cli.words import printable
    from posetta.data.demo import demo_order, demo_traces
    from posetta.data.describe import describe
    from posetta.infer import choose_method, fit
    from posetta.posterior.findings import sentences
    from posetta.posterior.folder import RESULT_FILES, check_free

    check_free(out, ours=RESULT_FILES, overwrite=force)
    screen = console()
    traces, truth = demo_traces(), demo_order()
    screen.rule("The demo data: runs of a service release, some of them missing steps")
    show_description(screen, describe(traces))
    show_conflicts(screen, traces)
    method = choose_method(traces)
    screen.rule("What must come before what")
    screen.print(f"Fitting with method {method}. " + COMPILES)
    posterior = fit(traces, method=method, seed=SEED, progress=True)
    show_order(screen, posterior, THRESHOLD)
    show_status(screen, posterior)
    screen.rule("Against the true order, which the demo knows")
    simple = fit(traces, method="maximal")
    for name, result in ((method, posterior), ("the intersection of the traces", simple)):
        screen.print(f"{name}:")
        for line in score_lines({"truth": against_truth(result, truth, THRESHOLD)}):
            screen.print(f"  {line}")
    screen.rule("Three findings")
    for number, sentence in enumerate(sentences(posterior, THRESHOLD), start=1):
        screen.print(printable(f"{number}. {sentence}"))
    effective = {"method": method, "seed": SEED, "threshold": THRESHOLD}
    settings = to_toml(effective, {}, command="posetta demo")
    files = write_result(
        posterior, out, threshold=THRESHOLD, overwrite=force, settings=settings, truth=truth
    )
    others = ", ".join(name for name in files if name != "report.html")
    screen.print(f"Open {out}/report.html in a browser; {out} also holds {others}.")

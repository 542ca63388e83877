"""``posetta suite``: run a study, print its tables, draw its figures."""

from __future__ import annotations

from typing import Annotated

import typer

from posetta.cli import options

FAILED_JOBS = 3

suite = typer.Typer(
    name="suite",
    help="Run a study of many fits, print its tables, draw its figures.",
    no_args_is_help=True,
)
Folder = Annotated[str, typer.Argument(help="Folder of a study.", metavar="DIR")]


@suite.command()
def run(
    spec: Annotated[
        str,
        typer.Argument(help="Study, a TOML file such as experiments/noise.toml.", metavar="SPEC"),
    ],
    out: Annotated[
        str | None,
        typer.Option(help="Folder for results; a study that is there already goes on."),
    ] = None,
    profile: Annotated[str, typer.Option(help="`quick`, `full`, or `paper` where it has one.")] = (
        "full"
    ),
    executor: Annotated[
        str,
        typer.Option(help="`serial`, `local:N`, `dask-local:N` or `dask:tcp://HOST:PORT`."),
    ] = "serial",
    threads: Annotated[
        int | None, typer.Option(help="Cores for each worker; by default an equal share.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="Folder of public data.", envvar="POSETTA_DATA", show_envvar=True),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only jobs with this value, such as `method=hard`; may be repeated. Of "
            "several values of one name either will do."
        ),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed jobs again.")] = False,
    any_code: Annotated[
        bool,
        typer.Option("--any-code", help="Keep finished jobs of other versions of the code."),
    ] = False,
    side_by_side: Annotated[
        bool,
        typer.Option("--side-by-side", help="Let jobs of a timing study share the machine."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the jobs, run none.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 if any job has failed.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    json: options.Json = False,
) -> None:
    """Run the jobs of a study that are not finished.

    Example: `posetta suite run experiments/synthetic_grid.toml --profile quick --out grid`
    """
    import json as json_module
    import sys
    from dataclasses import asdict

    from posetta.errors import SettingError
    from posetta.suite import jobs_of, read_study, run_study
    from posetta.suite.progress import LineWatcher, LiveWatcher, Watcher
    from posetta.suite.runner import selected

    study = read_study(spec, profile)
    pairs = [text.partition("=") for text in where or ()]
    if any(not equals for _, equals, _ in pairs):
        raise SettingError("--where needs NAME=VALUE, such as method=hard.")
    values: dict[str, list[str]] = {}
    for name, _, value in pairs:
        values.setdefault(name, []).append(value)
    if dry_run:
        for job in selected(jobs_of(study), values):
            print(json_module.dumps(dict(job.columns)) if json else str(job))
        return
    if out is None:
        raise SettingError("--out is missing: name a folder for the results.")
    watcher = Watcher() if quiet else LiveWatcher() if sys.stderr.isatty() else LineWatcher()
    ended = run_study(
        study,
        out,
        executor=executor,
        threads=threads,
        data_folder=data,
        where=values,
        retry=retry,
        any_code=any_code,
        side_by_side=side_by_side,
        watcher=watcher,
    )
    if json:
        print(json_module.dumps({**asdict(ended), "out": out}))
    else:
        left = f" {ended.n_left} are left." if ended.n_left else ""
        failed = f" {ended.n_failed} failed; --retry runs them again." if ended.n_failed else ""
        print(f"{study.study}: {ended.n_jobs} jobs, {ended.n_ran} run now.{failed}{left}")
        print(f"Table: {out}/table.csv. Print it with: posetta suite table {out}")
    if strict and ended.n_failed:
        raise typer.Exit(FAILED_JOBS)


@suite.command()
def table(
    folder: Folder,
    to: Annotated[
        str | None, typer.Option(help="Write the tidy table to this .csv or .parquet file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the tidy rows as JSON.")] = False,
) -> None:
    """Print the tables of a study in Markdown, the paper's figures in brackets beside ours.

    Example: `posetta suite table grid > grid.md`
    """
    import json as json_module
    from pathlib import Path

    from posetta.errors import InputError
    from posetta.suite import Store, markdown_tables, tidy_rows, write_table
    from posetta.suite.work import recorded

    store = Store(folder)
    if to is not None and Path(to).exists() and not force:
        raise InputError(f"{to} is there already. Name another file, or replace it with --force.")
    write_table(store, to)
    if json:
        print(json_module.dumps(recorded(tidy_rows(store)), allow_nan=False))
    else:
        print(markdown_tables(store), end="")


@suite.command()
def figures(
    folder: Folder,
    out: Annotated[
        str | None, typer.Option(help="Folder for the figures; DIR/figures unless given.")
    ] = None,
    format: Annotated[str, typer.Option(help="`svg`, `png` or `pdf`.")] = "svg",
) -> None:
    """Draw the figures of a study.

    Example: `posetta suite figures grid`
    """
    from posetta.cli.suite_figures import draw_figures

    for path in draw_figures(folder, out, kind=format):
        print(path)

"""``posetta fit``: infer the order behind traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from posetta.cli import options
from posetta.cli.data import read
from posetta.cli.demo import COMPILES

if TYPE_CHECKING:
    from posetta.infer.methods import Settings

NOT_OK = 3


def fit(
    inputs: options.Inputs,
    method: Annotated[
        str,
        typer.Option(
            help="`auto`, `exact` (up to 5 items), `hard`, `nuts`, `fullrank`, `flow` (needs the "
            "extra flow), `majority`, `maximal`, `softdag` or `plackett-luce`."
        ),
    ] = "auto",
    dim: Annotated[str, typer.Option(help="Latent dimension, or `random`.")] = "4",
    tau: Annotated[float, typer.Option(help="Soft-min temperature of relaxed methods.")] = 0.3,
    rho: Annotated[float | None, typer.Option(help="Fix rho instead of inferring it.")] = None,
    beta: Annotated[float | None, typer.Option(help="Fix beta instead of inferring it.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Fix gamma instead of inferring it.")] = None,
    noise: Annotated[
        str, typer.Option(help="Share of steps that ignore the order, or `infer`.")
    ] = "0",
    draws: Annotated[int | None, typer.Option(help="Draws kept of each chain.")] = None,
    warmup: Annotated[
        int | None, typer.Option(help="Sweeps or iterations before the first draw.")
    ] = None,
    chains: Annotated[int | None, typer.Option(help="Number of chains.")] = None,
    thin: Annotated[int | None, typer.Option(help="Sweeps or iterations for each draw.")] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="Stop after this time with what was drawn.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="File to save a long run in; the same command goes on from there."),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Keep a precedence when its probability is above this.")
    ] = 0.5,
    out: Annotated[
        str | None, typer.Option(help="Write a result folder (result.json, posterior.nc).")
    ] = None,
    force: options.Force = False,
    seed: options.Seed = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 unless the status is ok or approximate.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only warnings.")] = False,
    json: options.Json = False,
    format: options.Format = None,
    repeats: options.Repeats = "error",
    ties: options.Ties = "error",
    empty: options.Empty = "error",
    choice_set: options.ChoiceSet = "listed",
    case: options.Case = None,
    item: options.Item = None,
    time: options.Time = None,
    items: options.Items = None,
) -> None:
    """Infer the partial order behind traces, with a probability for every precedence.

    Example: `posetta fit runs.jsonl --out result --seed 7`
    """
    import json as json_module
    import sys

    import numpy as np

    from posetta.cli.show import console, show_posterior, show_report
    from posetta.infer import METHODS, choose_method
    from posetta.infer import fit as run_fit
    from posetta.model.model import Model
    from posetta.posterior.decode import decode
    from posetta.posterior.folder import RESULT_FILES, check_free
    from posetta.posterior.io import save, summary

    model = Model(
        dim="random" if dim == "random" else int(_number(dim, int, "--dim")),
        tau=tau,
        rho=rho,
        beta=beta,
        gamma=gamma,
        noise=None if noise == "infer" else _number(noise, float, "--noise"),
    )
    given: dict[str, int | float | str | None] = {
        "draws": draws,
        "warmup": warmup,
        "chains": chains,
        "thin": thin,
        "max_seconds": max_seconds,
        "checkpoint": checkpoint,
    }
    # A bad setting must not wait for the data to be read and fitted.
    decode(np.zeros((0, 0)), threshold)
    if method != "auto":
        _settings(method, given)
    if out is not None:
        check_free(out, ours=RESULT_FILES, overwrite=force)
    traces = read(inputs, format, repeats, ties, empty, choice_set, case, item, time, items)
    screen = console()
    talk = not (json or quiet)
    if talk:
        show_report(screen, traces.report)
    else:
        for line in traces.report.lines():
            print(f"posetta: {line}", file=sys.stderr)
    if method == "auto":
        method = choose_method(traces)
        if talk:
            screen.print(f"Method auto chose {method} for {traces.n_items} items.")
    settings = _settings(method, given)
    if talk and METHODS[method].reports:
        screen.print(COMPILES)
    posterior = run_fit(traces, method=settings, model=model, seed=seed, progress=talk)
    if out is not None:
        save(posterior, out, threshold=threshold, overwrite=force)
    if json:
        print(json_module.dumps(summary(posterior, threshold), allow_nan=False))
    elif talk:
        show_posterior(screen, posterior, threshold)
        if out is not None:
            screen.print(f"Saved to {out}")
    else:
        for warning in posterior.warnings:
            print(f"posetta: {warning}", file=sys.stderr)
    if strict and posterior.status not in ("ok", "approximate"):
        raise typer.Exit(NOT_OK)


def _settings(method: str, given: dict[str, int | float | str | None]) -> Settings:
    """Return the settings of the method, with those that were given on the command line."""
    from dataclasses import fields, replace

    from posetta.errors import SettingError
    from posetta.infer.methods import settings_of

    _, settings = settings_of(method)
    wanted = {name: value for name, value in given.items() if value is not None}
    known = {field.name for field in fields(settings)}
    for name in wanted:
        if name not in known:
            option = "--" + name.replace("_", "-")
            raise SettingError(f"method {method!r} has no setting {option}. Drop it.")
    changed: Settings = replace(settings, **wanted)  # type: ignore[arg-type]
    return changed


def _number(text: str, kind: type, option: str) -> int | float:
    from posetta.errors import SettingError

    word = {"--dim": "random", "--noise": "infer"}[option]
    try:
        value: int | float = kind(text)
    except ValueError:
        raise SettingError(f"{option} {text}: expected a number or the word {word}.") from None
    return value

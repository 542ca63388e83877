"""``posetta fit``: infer the order behind traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from posetta.cli import options
from posetta.cli.demo import COMPILES
from posetta.cli.words import METHOD_OPTIONS

if TYPE_CHECKING:
    from posetta.infer.methods import Settings

NOT_OK = 3
_NOT_SETTINGS = ("config", "out", "force", "json", "quiet", "strict", "set_")
"""Options that say where results go and what is printed, not what is done."""
_OF_THE_METHOD = "settings of the method in the file of --config"


def _config(context: typer.Context, path: str | None) -> str | None:
    """Take settings from a file; what stands on the command line wins."""
    if path is not None:
        from posetta.cli.config import read_config

        switches = {
            parameter.name or "": bool(getattr(parameter, "is_flag", False))
            for parameter in context.command.params
        }
        options, of_the_method = read_config(path, switches)
        context.default_map = options
        context.meta[_OF_THE_METHOD] = of_the_method
    return path


def fit(
    context: typer.Context,
    inputs: options.Inputs,
    config: Annotated[  # noqa: ARG001 (its callback reads it)
        str | None,
        typer.Option(
            callback=_config,
            is_eager=True,
            help="Take options from this TOML file; the command line wins.",
        ),
    ] = None,
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
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other setting of the method, such as `rungs=4`."),
    ] = None,
    threshold: options.Threshold = 0.5,
    holdout: Annotated[
        float | None,
        typer.Option(help="Keep this share of the traces out of the fit, and score it, e.g. 0.2."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(help="Write a result folder: draws, summary, diagram, settings, report."),
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

    Example: `posetta fit sim/train.jsonl --out result --seed 7`, or with a fifth of the traces held
    out: `posetta fit logs/*.csv --holdout 0.2 --method hard --out result-of-logs`
    """
    import json as json_module
    import sys

    import numpy as np

    from posetta.cli.config import parse_assignments, to_toml
    from posetta.cli.evaluate import against_traces, score_lines
    from posetta.cli.printing import (
        console,
        counted,
        show_findings,
        show_order,
        show_report,
        show_status,
    )
    from posetta.cli.reading import read, universe
    from posetta.cli.result import write_result
    from posetta.cli.words import printable, warning_words
    from posetta.errors import SettingError
    from posetta.infer import METHODS, choose_method
    from posetta.infer import fit as run_fit
    from posetta.model.model import Model
    from posetta.posterior.decode import decode
    from posetta.posterior.folder import RESULT_FILES, check_free
    from posetta.posterior.io import summary
    from posetta.rng import seed_sequence

    model = Model(
        dim="random" if dim == "random" else int(_number(dim, int, "--dim")),
        tau=tau,
        rho=rho,
        beta=beta,
        gamma=gamma,
        noise=None if noise == "infer" else _number(noise, float, "--noise"),
    )
    values = (draws, warmup, chains, thin, max_seconds, checkpoint)
    named = dict(zip(METHOD_OPTIONS, values, strict=True))
    # An option may also come from the file: then --set, which does not, wins.
    typed = {name for name in named if _is_typed(context, name)}
    chosen = parse_assignments(set_ or ())
    for name in typed & chosen.keys():
        raise SettingError(f"{name} is given twice, by --{name.replace('_', '-')} and by --set.")
    in_tables = parse_assignments(context.meta.get(_OF_THE_METHOD, ())) | chosen
    others = {name: value for name, value in in_tables.items() if name not in typed}
    named = {name: value for name, value in named.items() if name not in others}
    given = others | {name: value for name, value in named.items() if value is not None}
    # A bad setting must not wait for the data to be read and fitted.
    decode(np.zeros((0, 0)), threshold)
    seed_sequence(seed)
    if holdout is not None and not 0.0 < holdout < 1.0:
        raise SettingError(f"--holdout {holdout:g} must lie between 0 and 1.")
    if method != "auto":
        _settings(method, given)
    if out is not None:
        check_free(out, ours=RESULT_FILES, overwrite=force)
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
    screen = console()
    talk = not (json or quiet)
    show_report(screen if talk else None, traces.report)
    if talk:
        screen.print(
            f"{counted(len(traces), 'trace')}, {traces.n_unique:,} distinct, "
            f"{counted(traces.n_items, 'item')}."
        )
    test = None
    if holdout is not None:
        traces, test = traces.split(holdout, seed)
        if talk:
            screen.print(
                f"Held out {counted(len(test), 'trace')}; fitting the other {len(traces):,}."
            )
    if method == "auto":
        method = choose_method(traces)
        if talk:
            screen.print(f"Method auto chose {method} for {counted(traces.n_items, 'item')}.")
    settings = _settings(method, given)
    if talk and METHODS[method].reports:
        screen.print(COMPILES)
    posterior = run_fit(traces, method=settings, model=model, seed=seed, progress=talk)
    scores = {} if test is None else {"test": against_traces(posterior, test)}
    files: list[str] = []
    if out is not None:
        names = [parameter.name or "" for parameter in context.command.params]
        effective = {
            name: context.params[name]
            for name in names
            if name not in (*_NOT_SETTINGS, "help", *others)
        }
        text = to_toml({**effective, "method": method}, others)
        files = write_result(
            posterior, out, threshold=threshold, overwrite=force, settings=text, test=test
        )
    if json:
        print(json_module.dumps({**summary(posterior, threshold), **scores}, allow_nan=False))
    elif talk:
        show_findings(screen, posterior, threshold)
        show_order(screen, posterior, threshold)
        for line in score_lines(scores):
            screen.print(line)
        show_status(screen, posterior)
        if out is not None:
            screen.print(printable(f"Saved to {out}: {', '.join(files)}"))
    else:
        for warning in posterior.warnings:
            print(printable(f"posetta: {warning_words(warning, method)}"), file=sys.stderr)
    if strict and posterior.status not in ("ok", "approximate"):
        raise typer.Exit(NOT_OK)


def _is_typed(context: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line, not in a file."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _settings(method: str, given: Mapping[str, Any]) -> Settings:
    """Return the settings of the method, with those that were given on the command line."""
    from dataclasses import fields, replace

    from posetta.errors import SettingError
    from posetta.infer.methods import settings_of

    _, settings = settings_of(method)
    known = {field.name for field in fields(settings)}
    for name in given:
        if name not in known:
            listed = ", ".join(map(_option, sorted(known))) or "none"
            raise SettingError(
                f"method {method!r} has no {_option(name)}. Drop it; its settings are: {listed}."
            )
    try:
        changed: Settings = replace(settings, **given)
    except TypeError as error:  # --set with a value of another kind
        raise SettingError(f"the settings of method {method!r} do not fit: {error}.") from None
    return changed


def _option(setting: str) -> str:
    """Return how a setting of a method is given."""
    own = setting in METHOD_OPTIONS
    return "--" + setting.replace("_", "-") if own else f"--set {setting}"


def _number(text: str, kind: type, option: str) -> int | float:
    from posetta.errors import SettingError

    word = {"--dim": "random", "--noise": "infer"}[option]
    try:
        value: int | float = kind(text)
    except ValueError:
        raise SettingError(f"{option} {text}: expected a number or the word {word}.") from None
    return value

"""The program ``posetta``: its verbs, its exit codes, its one way to report an error.

Exit codes: 0 done; 2 bad input or setting, or interrupted; 3 done, but the status is not ok under
--strict.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from posetta import __version__
from posetta.cli.data import data
from posetta.cli.demo import demo
from posetta.cli.evaluate import evaluate
from posetta.cli.export import export
from posetta.cli.fit import fit
from posetta.cli.report import report
from posetta.cli.show import show
from posetta.cli.simulate import simulate
from posetta.cli.suite import suite
from posetta.cli.words import in_our_words, printable
from posetta.errors import InputError, MissingExtra, SettingError

BAD_INPUT = 2
_TYPER_INTERRUPTED = 130

app = typer.Typer(
    name="posetta",
    help="From many linear traces of one process to the partial order behind them.\n\n"
    "Start with `posetta demo`, or with `posetta simulate --items 8 --rho 0.9 --seed 7 --out sim`: "
    "the examples of the other verbs go on from there.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _verb in (demo, data, fit, show, report, evaluate, export, simulate):
    app.command()(_verb)
app.add_typer(suite)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        parts = (
            "numpy", "scipy", "numba", "nutpie", "xarray", "h5netcdf", "networkx", "matplotlib",
            "typer", "rich",
        )  # fmt: skip
        print(f"posetta {__version__}")
        print("with " + ", ".join(f"{name} {version(name)}" for name in parts))
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show versions."),
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a label that the terminal cannot show is escaped
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    command = typer.main.get_command(app)
    try:
        code = command.main(args=words, prog_name="posetta", standalone_mode=False)
        if code == _TYPER_INTERRUPTED:  # typer turns Ctrl-C into this code
            raise KeyboardInterrupt
        sys.stdout.flush()  # what cannot be written is said here, not as the interpreter ends
        return int(code or 0)
    except (KeyboardInterrupt, typer.Abort):
        kept = "what was finished is kept" if words[:1] == ["suite"] else "nothing was written"
        print(f"posetta: interrupted; {kept}.", file=sys.stderr)
        return BAD_INPUT
    except (InputError, SettingError, MissingExtra) as error:
        message = in_our_words(str(error), *_names(command, words))
        print(printable(f"posetta: {message}"), file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        sys.stdout = None  # whoever read us has gone: nothing more to say, at exit neither
        return BAD_INPUT
    except OSError as error:
        where = f" {error.filename}" if error.filename else " the output"
        why = printable(f"cannot read or write{where}: {error.strerror or error}.")
        print(f"posetta: {why}", file=sys.stderr)
        if error.filename is None:
            sys.stdout = None  # what is left in its buffer cannot be written at exit either
        return BAD_INPUT
    except Exception as error:
        # typer's usage errors (unknown option, missing argument) know how to show themselves.
        if not hasattr(error, "show") or not hasattr(error, "exit_code"):
            raise
        error.show()
        return int(error.exit_code)


def _names(command: Any, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options of the verb that was called, and settings that ``--set`` gives it."""
    verb = next((word for word in words if word in command.commands), None)
    if verb is None:
        return [], []
    parameters = getattr(command.commands[verb], "params", ())
    options = [name[2:] for one in parameters for name in one.opts if name.startswith("--")]
    if "set" not in options:
        return options, []
    from dataclasses import fields

    from posetta.infer.methods import METHODS

    settings = {field.name for known in METHODS.values() for field in fields(known.settings)}
    return options, sorted(settings - {name.replace("-", "_") for name in options})

"""The program ``posetta``: its verbs, its exit codes, its one way to report an error.

Exit codes: 0 done; 2 bad input or setting; 3 done, but the status is not ok under --strict;
130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from posetta import __version__
from posetta.cli.data import data
from posetta.cli.demo import demo
from posetta.cli.fit import fit
from posetta.cli.report import report
from posetta.cli.simulate import simulate
from posetta.cli.suite import suite
from posetta.errors import InputError, MissingExtra, SettingError

BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="posetta",
    help="From many linear traces of one process to the partial order behind them.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(data)
app.command()(fit)
app.command()(report)
app.command()(simulate)
app.add_typer(suite)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        parts = ("numpy", "scipy", "numba", "xarray", "h5netcdf", "networkx", "typer", "rich")
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
    try:
        command = typer.main.get_command(app)
        code = command.main(
            args=None if arguments is None else list(arguments),
            prog_name="posetta",
            standalone_mode=False,
        )
        if code == INTERRUPTED:  # typer turns Ctrl-C into this code
            print("posetta: interrupted.", file=sys.stderr)
        return int(code or 0)
    except (InputError, SettingError, MissingExtra) as error:
        print(f"posetta: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        sys.stdout = None  # whoever read us has gone: nothing more to say, at exit neither
        return BAD_INPUT
    except OSError as error:
        print(f"posetta: cannot write the output: {error.strerror or error}.", file=sys.stderr)
        return BAD_INPUT
    except Exception as error:
        # typer's usage errors (unknown option, missing argument) know how to show themselves.
        if not hasattr(error, "show") or not hasattr(error, "exit_code"):
            raise
        error.show()
        return int(error.exit_code)

"""Settings from a TOML file, and the effective settings written back as one."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from posetta.errors import InputError, SettingError

OF_THE_METHOD = "settings"
"""Table of a settings file with whatever has no option of its own, as ``--set`` takes it."""


def read_config(path: str, options: Mapping[str, bool]) -> tuple[dict[str, Any], list[str]]:
    """Read a settings file: options by name, and settings of the method as ``--set`` takes them.

    Its keys are the long options, with ``-`` or ``_``; ``options`` says which of them are switches,
    true or false.
    """
    try:
        content = tomllib.loads(Path(path).read_bytes().decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not TOML: {error}.") from None
    known = {name.replace("-", "_"): switch for name, switch in options.items()}
    given: dict[str, Any] = {}
    of_the_method: list[str] = []
    for key, value in content.items():
        name = key.replace("-", "_")
        if name == OF_THE_METHOD and isinstance(value, dict):
            of_the_method = [f"{inner}={_toml(one)}" for inner, one in value.items()]
        elif name not in known:
            listed = ", ".join(sorted({*known, OF_THE_METHOD} - {"config"}))
            raise SettingError(f"{path}: {key} is no setting. There are: {listed}.")
        elif isinstance(value, dict):
            raise SettingError(f"{path}: {key} is a table; expected a value.")
        elif isinstance(value, bool) != known[name]:
            wanted = "true or false" if known[name] else "a value that is neither true nor false"
            raise SettingError(f"{path}: {key} = {_toml(value)}: expected {wanted}.")
        elif isinstance(value, list) and name != "inputs":
            raise SettingError(f"{path}: {key} is a list; expected one value.")
        elif isinstance(value, list):
            given[name] = [str(one) for one in value]
        else:
            given[name] = value if isinstance(value, bool) else str(value)
    return given, of_the_method


def parse_assignments(words: Iterable[str]) -> dict[str, Any]:
    """Read ``name=value`` words; a value is a number, true, false, a list, or else text."""
    found = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name.strip():
            raise SettingError(f"--set {word}: expected name=value.")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        name = name.strip().replace("-", "_")
        if name in found:
            raise SettingError(f"--set {name} is there twice. Give it once.")
        found[name] = tuple(value) if isinstance(value, list) else value
    return found


def to_toml(
    settings: Mapping[str, Any],
    of_the_method: Mapping[str, Any],
    command: str = "posetta fit --config settings.toml --out again",
) -> str:
    """Return a settings file that says the same again; what is None has no line."""
    lines = [f"# This result is made again by: {command}"]
    lines += [f"{name} = {_toml(value)}" for name, value in settings.items() if value is not None]
    if of_the_method:
        lines += ["", f"[{OF_THE_METHOD}]"]
        lines += [f"{name} = {_toml(value)}" for name, value in of_the_method.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, int | float):
        return repr(value)
    # A JSON string is a TOML string, but for a character that JSON leaves as it is.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")

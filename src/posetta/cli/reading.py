"""Reading traces as the options of a verb say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posetta.data import Traces

AS_IT_STANDS = {
    "format": None,
    "repeats": "error",
    "ties": "error",
    "empty": "error",
    "choice_set": "listed",
    "case": None,
    "item": None,
    "time": None,
}
"""How traces are read unless an option says otherwise."""


def read(inputs: list[str], items: Sequence[str] | None, **how: Any) -> Traces:
    """Read all inputs into one set of traces; ``items`` fixes the universe."""
    from posetta.data import read_traces
    from posetta.data.inputs import find_inputs
    from posetta.errors import InputError
    from posetta.order.labels import is_text

    for name in inputs:
        if not is_text(name):
            shown = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
            raise InputError(f"{shown}: this file name is not UTF-8. Rename the file.")
    found = find_inputs(inputs)
    return read_traces(found[0] if len(found) == 1 else found, items=items, **how)


def read_test(test: list[str] | None, items: Sequence[str], **how: Any) -> Traces | None:
    """Read the traces that ``--test`` names over the items of a result; None if it names none."""
    from posetta.errors import SettingError

    if test:
        return read(test, items, **how)
    for name, value in how.items():
        if value != AS_IT_STANDS[name]:
            option = "--" + name.replace("_", "-")
            raise SettingError(f"{option} says how to read --test. Name --test TRACES, or drop it.")
    return None


def universe(path: str) -> list[str]:
    """Read the labels of an order file, or one label per line."""
    from pathlib import Path

    from posetta.errors import InputError
    from posetta.order import read_order

    if path.endswith(".json"):
        return list(read_order(path).items)
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the items cannot be read: {error}.") from None
    return [line.strip() for line in lines if line.strip()]

"""Where trouble is: the file, line and trace that every message starts with."""

from __future__ import annotations

from posetta.errors import InputError


def place(file: str, line: int = 0) -> str:
    """Return ``"orders.csv, line 18: "``, or as much of it as is known."""
    if not file:
        return ""
    return f"{file}, line {line}: " if line else f"{file}: "


def trace_fault(file: str, line: int, trace: str, text: str) -> InputError:
    """Return the error that one trace deserves: place, name, what is wrong and the way out."""
    return InputError(f'{place(file, line)}trace "{trace}" {text}')


def named(labels: list[str] | tuple[str, ...], at_most: int = 5) -> str:
    """Return labels in quotes, the first few of them when there are many."""
    shown = ", ".join(f'"{label}"' for label in labels[:at_most])
    return f"{shown}, ..." if len(labels) > at_most else shown

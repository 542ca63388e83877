"""What may be a label: any text with something in it that can be written as UTF-8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from posetta.errors import InputError


def is_text(label: str) -> bool:
    """Say whether a string can be written as UTF-8: it holds no lone surrogate."""
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True


def list_problem(values: Any) -> str:
    """Say what stands in the place of a list (or tuple, or array); nothing if it is one."""
    if isinstance(values, list | tuple):
        return ""
    if isinstance(values, str | bytes):
        return f"the text {values!r}"
    if isinstance(values, Set):
        return "a set, which has no order"
    if isinstance(values, Mapping):
        return "a mapping"
    if not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        return f"{values!r}" if values is None else f"of the type {type(values).__name__}"
    return ""


def item_index(items: Sequence[str]) -> dict[str, int]:
    """Map labels to positions, refusing empty, repeated and non-text labels."""
    if problem := list_problem(items):
        raise InputError(f"items is {problem}, not a list of labels. Pass a list.")
    index: dict[str, int] = {}
    for label in items:
        if not isinstance(label, str) or not label.strip() or not is_text(label):
            raise InputError(f"items holds {label!r}; every item needs a non-empty text label.")
        if label in index:
            raise InputError(f'items holds "{label}" twice.')
        index[label] = len(index)
    return index

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


def check_label(label: object) -> None:
    """Refuse what is not text with something in it that can be written as UTF-8."""
    if not isinstance(label, str) or not label.strip():
        raise InputError(f"items holds {label!r}; every item needs a non-empty text label.")
    if not is_text(label):
        raise InputError(f"items holds {label!r}, which is not valid Unicode text.")


def index_labels(labels: Sequence[str]) -> dict[str, int]:
    """Map every label to its position; labels are non-empty text and each appears once."""
    if problem := list_problem(labels):
        raise InputError(f"items is {problem}, not a list of labels. Pass a list.")
    index: dict[str, int] = {}
    for label in labels:
        check_label(label)
        if label in index:
            raise InputError(f'items holds "{label}" twice. Labels must differ.')
        index[label] = len(index)
    return index

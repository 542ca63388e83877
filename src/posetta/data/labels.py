"""What may be a label: any text with something in it that can be written as UTF-8."""

from __future__ import annotations

from collections.abc import Sequence

from posetta.errors import InputError


def is_text(label: str) -> bool:
    """Say whether a string can be written as UTF-8: it holds no lone surrogate."""
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True


def item_index(items: Sequence[str]) -> dict[str, int]:
    """Map labels to positions, refusing empty, repeated and non-text labels."""
    if isinstance(items, str):
        raise InputError(f"items is the text {items!r}, not a list of labels. Pass a list.")
    index: dict[str, int] = {}
    for label in items:
        if not isinstance(label, str) or not label.strip() or not is_text(label):
            raise InputError(f"items holds {label!r}; every item needs a non-empty text label.")
        if label in index:
            raise InputError(f'items holds "{label}" twice.')
        index[label] = len(index)
    return index

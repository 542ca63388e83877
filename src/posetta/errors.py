"""The exceptions that a user of Posetta may meet.

Every message says where the trouble is (file, line, trace, item), what it is, and the way out.
"""

from __future__ import annotations

from collections.abc import Iterable


class InputError(ValueError):
    """The data are not what Posetta can read or use."""


class SettingError(ValueError):
    """A setting is out of range, unknown, or cannot be honoured by the chosen method."""


class MissingExtra(ImportError):  # noqa: N818
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs the extra "{extra}": pip install "posetta[{extra}]"')


def choice(value: str, allowed: Iterable[str], setting: str) -> str:
    """Return ``value`` if it is one of ``allowed``; otherwise say which ones there are."""
    allowed = tuple(allowed)
    if value not in allowed:
        listed = ", ".join(repr(name) for name in allowed)
        raise SettingError(f"{setting}={value!r} is unknown. Choose one of: {listed}.")
    return value

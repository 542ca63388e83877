"""The exceptions that a user of Posetta may meet.

Every message says where the trouble is (file, line, trace, item), what it is, and the way out.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral


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


def check_threshold(threshold: float) -> None:
    """Refuse a threshold of probabilities that keeps nothing, or everything and more."""
    if not 0.0 <= threshold < 1.0:
        raise SettingError(f"threshold={threshold} must lie in [0, 1).")


def check_whole(settings: object, **least: int) -> None:
    """Refuse settings that are not whole numbers from the given least value."""
    for name, lowest in least.items():
        value = getattr(settings, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or value < lowest:
            raise SettingError(f"{name}={value!r} must be a whole number from {lowest}.")


def check_positive(settings: object, *names: str) -> None:
    """Refuse settings that are neither None nor a number greater than 0."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not value > 0.0:
            raise SettingError(f"{name}={value!r} must be greater than 0.")

"""Settings of every method, and the one table that names them. Settings hold no state."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

from posetta.baselines.settings import Majority, Maximal
from posetta.errors import SettingError, choice

__all__ = ["METHODS", "Exact", "Majority", "Maximal", "Settings", "settings_of"]


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Enumeration of all orders of at most five items: the oracle."""

    draws: int = 4000
    """I.i.d. draws returned beside the exact probabilities."""
    prior_draws: int = 1_000_000
    """Simulated latents behind the prior weights; the error falls with their square root."""

    def __post_init__(self) -> None:
        for name, least in (("draws", 1), ("prior_draws", 1000)):
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not whole or value < least:
                raise SettingError(f"{name}={value!r} must be a whole number from {least}.")


Settings = Exact | Majority | Maximal

# name -> (settings, module whose `run` fits it). A module loads only when its method is used.
METHODS: dict[str, tuple[type[Settings], str]] = {
    "exact": (Exact, "posetta.infer.exact"),
    "majority": (Majority, "posetta.baselines.majority"),
    "maximal": (Maximal, "posetta.baselines.maximal"),
}


def settings_of(method: str | Settings) -> tuple[str, Settings, str]:
    """Return name, settings and module of a method given by name or by settings."""
    if isinstance(method, str):
        choice(method, ("auto", *METHODS), "method")
        kind, module = METHODS[method]
        return method, kind(), module
    for name, (kind, module) in METHODS.items():
        if isinstance(method, kind):
            return name, method, module
    raise SettingError(f"method={method!r} is neither a name nor the settings of a method.")

"""Settings of the baselines."""

from __future__ import annotations

from dataclasses import dataclass

from posetta.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class Majority:
    """Keep i before j where more than ``threshold`` of the traces that order the pair say so."""

    threshold: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold < 1.0:
            raise SettingError(f"threshold={self.threshold} must lie in [0, 1).")


@dataclass(frozen=True, kw_only=True)
class Maximal:
    """Keep i before j where at most a share ``eps`` of the traces that order the pair disagree.

    ``eps = 0`` is the intersection of the traces: every pair seen in one order only.
    """

    eps: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.eps < 0.5:
            raise SettingError(f"eps={self.eps} must lie in [0, 1/2).")

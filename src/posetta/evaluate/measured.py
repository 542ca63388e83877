"""A number that knows its own uncertainty."""

from __future__ import annotations

from typing import Self


class Measured(float):
    """A float with a standard error; it computes and prints like the number it is."""

    standard_error: float | None

    def __new__(cls, value: float, standard_error: float | None = None) -> Self:
        """Attach the standard error (None: unknown) to the number."""
        measured = super().__new__(cls, value)
        measured.standard_error = standard_error
        return measured

    def __repr__(self) -> str:
        error = "" if self.standard_error is None else f" ± {self.standard_error:.3g}"
        return f"{float(self):.6g}{error}"

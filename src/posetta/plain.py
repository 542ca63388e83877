"""Values as JSON has them: numpy's become Python's, what is not finite becomes None."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import isfinite
from typing import Any


def plain(value: Any) -> Any:
    """Return a value as JSON has it, at any depth; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # arrays and scalars of numpy, which need not be loaded here
        return plain(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value

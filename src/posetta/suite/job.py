"""`Job`: one data set, one method, one seed. All that decides its result, and its address."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Job:
    """One cell of a study.

    ``spec`` is plain JSON and decides the result: data set, method, settings, model, seed of the
    fit, what is measured and kept. ``columns`` only says where the row stands in the table, so
    renaming a case does not run anything again.
    """

    spec: Mapping[str, Any]
    columns: Mapping[str, Any]
    also: tuple[str, ...] = ()
    """Further variants of the model that make no difference to it, so that it stands for them."""

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits of the spec, the same on every machine."""
        return fingerprint(self.spec)

    @property
    def data_hash(self) -> str:
        """The same of the data set alone: jobs that share it can be compared."""
        return fingerprint(self.spec["data"])

    def address(self, code: str) -> str:
        """Return the name of the job's folder under a version of the code."""
        label = re.sub(r"[^\w.-]+", "-", str(self.columns["method"]))
        return f"{label}-{self.hash}-{code}"

    def __str__(self) -> str:
        where = ", ".join(f"{k} {v}" for k, v in self.columns.items() if k != "method")
        return f"{self.columns['method']} ({where})"


def model_column(field: str) -> str:
    """Return the name of a model axis in the table: only tau is never a parameter of the data."""
    return field if field == "tau" else f"model_{field}"


def matches(columns: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Return whether columns have the values asked for, each a value or a list of values."""
    return all(
        columns.get(name) in (wanted if isinstance(wanted, list) else [wanted])
        for name, wanted in where.items()
    )


def fingerprint(value: Any) -> str:
    """Return twelve hexadecimal digits of a plain value; the order of its keys does not matter."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]

"""Saving and loading a `Posterior`: ``posterior.nc`` (draws) and ``result.json`` (summary).

``result.schema.json``, beside this file, is the JSON Schema of the summary.
"""

from __future__ import annotations

import io
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from posetta.data import ReadReport
from posetta.errors import InputError
from posetta.model.model import Model
from posetta.plain import plain
from posetta.posterior.check import all_orders
from posetta.posterior.folder import RESULT_FILES, staged_folder
from posetta.posterior.posterior import Posterior
from posetta.posterior.tree import read_draws, write_draws

SCHEMA_VERSION = 1
DRAWS_FILE = "posterior.nc"
SUMMARY_FILE = "result.json"
_DECIMALS = 6
"""Of the probabilities in the summary; the draws file holds them in full."""


def save(
    posterior: Posterior,
    folder: str | os.PathLike[str],
    *,
    threshold: float = 0.5,
    overwrite: bool = False,
) -> Path:
    """Write a result folder; an existing one is replaced only with ``overwrite=True``."""
    with staged_folder(folder, ours=RESULT_FILES, overwrite=overwrite) as staging:
        text = json.dumps(summary(posterior, threshold), indent=1, allow_nan=False)
        (staging / SUMMARY_FILE).write_text(text + "\n", encoding="utf-8")
        # By way of memory: HDF5 itself crashes where the disk is full.
        draws = io.BytesIO()
        write_draws(posterior, draws)
        (staging / DRAWS_FILE).write_bytes(draws.getbuffer())
    return Path(folder)


def load(folder: str | os.PathLike[str]) -> Posterior:
    """Read a result folder back; what is inside is checked, down to every draw."""
    source = Path(folder)
    for name in (SUMMARY_FILE, DRAWS_FILE):
        if not (source / name).exists():
            raise InputError(f"{source} is not a result folder: {name} is missing.")
    try:
        head = json.loads((source / SUMMARY_FILE).read_text(encoding="utf-8"))
        if head["schema_version"] <= SCHEMA_VERSION:
            return _from_files(source / DRAWS_FILE, head)
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        why = str(error).rstrip(".")
        raise InputError(f"{source} is damaged and cannot be read: {why}.") from None
    raise InputError(
        f"{source / SUMMARY_FILE} has schema version {head['schema_version']}; this Posetta "
        f"{version('posetta')} reads up to {SCHEMA_VERSION}. Install a newer Posetta."
    )


def summary(posterior: Posterior, threshold: float = 0.5) -> dict[str, Any]:
    """Return the content of ``result.json``: plain values, with None for NaN and infinity."""
    order = posterior.decode(threshold)
    traces = posterior.traces
    content = {
        "schema_version": SCHEMA_VERSION,
        "posetta_version": posterior.made_with["posetta"],
        "method": posterior.method,
        "likelihood": posterior.likelihood,
        "is_point": posterior.is_point,
        "model": posterior.model.to_dict(),
        "settings": posterior.settings,
        "seed": posterior.seed,
        "data": {
            "hash": traces.hash,
            "n_traces": len(traces),
            "n_unique": traces.n_unique,
            "n_items": traces.n_items,
            "max_length": traces.max_length,
            "read": {
                "files": traces.report.files,
                "format": traces.report.format,
                "detected": traces.report.detected,
                "notes": traces.report.notes,
            },
        },
        "items": posterior.items,
        "precedence": np.round(posterior.precedence, _DECIMALS).tolist(),
        "threshold": threshold,
        "closure": order.closure_pairs,
        "covers": order.cover_pairs,
        "scalars": posterior.scalar_summary,
        "diagnostics": posterior.diagnostics,
        "status": posterior.status,
        "warnings": posterior.warnings,
        "seconds": posterior.seconds,
        "environment": {k: v for k, v in posterior.made_with.items() if k != "posetta"},
    }
    return {name: plain(value) for name, value in content.items()}


def _from_files(draws_file: Path, head: dict[str, Any]) -> Posterior:
    items = tuple(head["items"])
    read = head["data"]["read"]
    report = ReadReport(
        files=tuple(read["files"]),
        format=read["format"],
        detected=read["detected"],
        notes=read["notes"],
    )
    draws, traces, precedence = read_draws(draws_file, items, report)
    if traces.hash != head["data"]["hash"]:
        raise ValueError(f"{SUMMARY_FILE} and {DRAWS_FILE} are of different traces")
    # The summary rounds: its values lie within half a unit of the last decimal.
    told = np.asarray(head["precedence"], dtype=np.float64)
    if (
        told.shape != precedence.shape
        or not (np.abs(told - precedence) <= 0.51 * 10.0**-_DECIMALS).all()
    ):
        raise ValueError(f"{SUMMARY_FILE} and {DRAWS_FILE} disagree on the precedence")
    _check_summary(head)
    model: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in head["model"].items()
    }
    posterior = Posterior(
        items=items,
        method=head["method"],
        likelihood=head["likelihood"],
        model=Model(**model),
        settings=head["settings"],
        seed=head["seed"],
        traces=traces,
        draws=draws,
        precedence=precedence,
        status=head["status"],
        warnings=tuple(head["warnings"]),
        diagnostics=head["diagnostics"],
        seconds=head["seconds"],
        is_point=head["is_point"],
        made_with={"posetta": head["posetta_version"], **head["environment"]},
    )
    if not all_orders(draws.closure_bits, len(items)):
        raise ValueError(f"{DRAWS_FILE} holds draws that are not orders")
    return posterior


def _check_summary(head: dict[str, Any]) -> None:
    """Refuse values that no result has: files may have been edited, or cut."""
    for name in ("settings", "diagnostics", "seconds", "environment"):
        if not isinstance(head[name], dict):
            raise ValueError(f"{name} in {SUMMARY_FILE} is no table")
    warnings = head["warnings"]
    if not isinstance(warnings, list) or not all(isinstance(text, str) for text in warnings):
        raise ValueError(f"warnings in {SUMMARY_FILE} are no list of texts")
    if not isinstance(head["seed"], int) or isinstance(head["seed"], bool):
        raise ValueError(f"seed in {SUMMARY_FILE} is no whole number")
    threshold = head["threshold"]
    if not isinstance(threshold, int | float) or not 0.0 <= threshold < 1.0:
        raise ValueError(f"threshold in {SUMMARY_FILE} does not lie in [0, 1)")

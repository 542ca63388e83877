"""Saving and loading a `Posterior`: ``posterior.nc`` (draws) and ``result.json`` (summary)."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.data.traces import Records
from posetta.errors import InputError
from posetta.model.model import Model
from posetta.posterior.folder import RESULT_FILES, staged_folder
from posetta.posterior.posterior import Draws, Posterior

SCHEMA_VERSION = 1
DRAWS_FILE = "posterior.nc"
SUMMARY_FILE = "result.json"


def save(
    posterior: Posterior,
    folder: str | os.PathLike[str],
    *,
    threshold: float = 0.5,
    overwrite: bool = False,
) -> Path:
    """Write a result folder; an existing one is replaced only with ``overwrite=True``."""
    with staged_folder(folder, ours=RESULT_FILES, overwrite=overwrite) as staging:
        to_datatree(posterior).to_netcdf(staging / DRAWS_FILE, engine="h5netcdf")
        text = json.dumps(summary(posterior, threshold), indent=1, allow_nan=False, default=_plain)
        (staging / SUMMARY_FILE).write_text(text + "\n", encoding="utf-8")
    return Path(folder)


def load(folder: str | os.PathLike[str]) -> Posterior:
    """Read a result folder back."""
    source = Path(folder)
    for name in (SUMMARY_FILE, DRAWS_FILE):
        if not (source / name).exists():
            raise InputError(f"{source} is not a result folder: {name} is missing.")
    try:
        head = json.loads((source / SUMMARY_FILE).read_text(encoding="utf-8"))
        if head["schema_version"] <= SCHEMA_VERSION:
            with xarray.open_datatree(source / DRAWS_FILE, engine="h5netcdf") as tree:
                return _from_files(tree.load(), head)
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{source} is damaged and cannot be read: {error}.") from None
    raise InputError(
        f"{source / SUMMARY_FILE} has schema version {head['schema_version']}; this Posetta "
        f"{version('posetta')} reads up to {SCHEMA_VERSION}. Install a newer Posetta."
    )


def summary(posterior: Posterior, threshold: float = 0.5) -> dict[str, Any]:
    """Return the content of ``result.json``."""
    order = posterior.decode(threshold)
    traces = posterior.traces
    return {
        "schema_version": SCHEMA_VERSION,
        "posetta_version": version("posetta"),
        "method": posterior.method,
        "likelihood": posterior.likelihood,
        "is_point": posterior.is_point,
        "model": posterior.model.to_dict(),
        "settings": dict(posterior.settings),
        "seed": posterior.seed,
        "data": {
            "hash": traces.hash,
            "n_traces": len(traces),
            "n_unique": traces.n_unique,
            "n_items": traces.n_items,
            "max_length": traces.max_length,
        },
        "items": list(posterior.items),
        "precedence": np.round(posterior.precedence, 6).tolist(),
        "threshold": threshold,
        "closure": [list(pair) for pair in order.closure_pairs],
        "covers": [list(pair) for pair in order.cover_pairs],
        "scalars": posterior.scalar_summary,
        "diagnostics": {name: _finite(value) for name, value in posterior.diagnostics.items()},
        "status": posterior.status,
        "warnings": list(posterior.warnings),
        "seconds": dict(posterior.seconds),
        "environment": {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "numpy": version("numpy"),
            "numba": version("numba"),
        },
    }


def to_datatree(posterior: Posterior) -> xarray.DataTree:
    """Return draws, log-likelihood and observed data as a labelled tree."""
    draws, traces = posterior.draws, posterior.traces
    n = len(posterior.items)
    closures = np.unpackbits(draws.closure_bits, axis=-1, count=n).astype(bool)
    at_draw = ("chain", "draw")
    variables: dict[str, Any] = {"closure": ((*at_draw, "item", "item_after"), closures)}
    if draws.latent is not None:
        variables["latent"] = ((*at_draw, "item", "column"), draws.latent)
    for name, values in draws.scalars.items():
        variables[name] = (at_draw, values)
    labels = _text(posterior.items)
    position = {"chain": np.arange(draws.n_chains), "draw": np.arange(draws.n_draws)}
    return xarray.DataTree.from_dict(
        {
            "posterior": xarray.Dataset(
                variables, coords={**position, "item": labels, "item_after": labels}
            ),
            "log_likelihood": xarray.Dataset(
                {"trace": ((*at_draw, "row"), draws.log_likelihood)}, coords=position
            ),
            "summary": xarray.Dataset(
                {"precedence": (("item", "item_after"), posterior.precedence)},
                coords={"item": labels, "item_after": labels},
            ),
            "observed_data": xarray.Dataset(
                {
                    "members": ("member", traces.members),
                    "offsets": ("boundary", traces.offsets),
                    "n_listed": ("row", traces.n_listed),
                    "counts": ("row", traces.counts),
                    "record_row": ("record", traces.records.row),
                    "record_count": ("record", traces.records.count),
                    "record_id": ("record", _text(traces.ids)),
                    "record_file": ("record", _text(traces.records.file)),
                    "record_line": ("record", traces.records.line),
                    "record_metadata": (
                        "record",
                        _text(json.dumps(dict(m)) for m in traces.records.metadata),
                    ),
                }
            ),
        }
    )


def _text(values: Iterable[str]) -> NDArray[np.object_]:
    """Return an array of text. HDF5 ends text at a NUL, so that one is written as a ``\\0``."""
    escaped = [value.replace("\\", "\\\\").replace("\0", "\\0") for value in values]
    return np.array(escaped, dtype=object)


def _read_text(values: NDArray[np.object_]) -> tuple[str, ...]:
    """Undo `_text`."""
    return tuple(
        re.sub(r"\\(.)", lambda m: "\0" if m[1] == "0" else m[1], value)
        for value in values.tolist()
    )


def _finite(value: Any) -> Any:
    """Return None for a number that JSON has no word for."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _plain(value: Any) -> Any:
    """Return the Python number behind a numpy one (a dim or a setting that was given as such)."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _from_files(tree: xarray.DataTree, head: dict[str, Any]) -> Posterior:
    drawn, observed = tree["posterior"], tree["observed_data"]
    items = tuple(head["items"])
    traces = _read_observed(observed, items)
    if traces.hash != head["data"]["hash"]:
        raise ValueError(f"{SUMMARY_FILE} and {DRAWS_FILE} are of different traces")
    model: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in head["model"].items()
    }
    return Posterior(
        items=items,
        method=head["method"],
        likelihood=head["likelihood"],
        model=Model(**model),
        settings=head["settings"],
        seed=head["seed"],
        traces=traces,
        draws=Draws(
            closure_bits=Draws.pack(drawn["closure"].to_numpy().astype(bool)),
            scalars={
                name: drawn[name].to_numpy()
                for name in ("rho", "beta", "gamma", "dim", "noise")
                if name in drawn
            },
            log_likelihood=tree["log_likelihood"]["trace"].to_numpy(),
            latent=drawn["latent"].to_numpy() if "latent" in drawn else None,
        ),
        precedence=tree["summary"]["precedence"].to_numpy(),
        status=head["status"],
        warnings=tuple(head["warnings"]),
        diagnostics=head["diagnostics"],
        seconds=head["seconds"],
        is_point=head["is_point"],
    )


def _read_observed(observed: Any, items: tuple[str, ...]) -> Traces:
    arrays = {name: observed[name].to_numpy() for name in observed.data_vars}
    return Traces(
        items=items,
        members=arrays["members"],
        offsets=arrays["offsets"],
        n_listed=arrays["n_listed"],
        counts=arrays["counts"],
        records=Records(
            row=arrays["record_row"],
            count=arrays["record_count"],
            ids=_read_text(arrays["record_id"]),
            file=_read_text(arrays["record_file"]),
            line=arrays["record_line"],
            metadata=tuple(json.loads(text) for text in _read_text(arrays["record_metadata"])),
        ),
    )

"""Draws and traces as a labelled tree: for users, and as ``posterior.nc`` holds them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from posetta.data import ReadReport, Traces
from posetta.data.traces import Records
from posetta.posterior.posterior import Draws, Posterior

_SCALARS = ("rho", "beta", "gamma", "dim", "noise")
# Level 1 of zlib takes most of what can be gained from bits, at the speed of a disk.
_COMPRESSION = {"zlib": True, "complevel": 1, "shuffle": True}
_CHUNK_BYTES = 2**20  # HDF5's own cache holds one chunk of this size


def to_datatree(posterior: Posterior) -> xarray.DataTree:
    """Return draws, log-likelihood and observed data as a labelled tree."""
    n = len(posterior.items)
    bits = posterior.draws.closure_bits
    # One byte for each truth value already: a view, where a conversion would be a second copy.
    closures = np.unpackbits(bits, axis=-1, count=n).view(np.bool_)
    variable = (("chain", "draw", "item", "item_after"), closures)
    return _tree(posterior, "closure", variable, _as_they_are)


def write_draws(posterior: Posterior, file: Any) -> None:
    """Write the tree with the closures as bits, compressed."""
    how_to_read = {"unpack": "numpy.unpackbits(closure_bits, axis=-1, count=n_items): i before j"}
    bits = posterior.draws.closure_bits
    variable = (("chain", "draw", "item", "byte"), bits, how_to_read)
    tree = _tree(posterior, "closure_bits", variable, _text)
    encoding = {
        group: {
            name: {**_COMPRESSION, "chunksizes": _chunks(variable)}
            for name, variable in tree[group].data_vars.items()
            if variable.dims[:2] == ("chain", "draw") and variable.size
        }
        for group in ("/posterior", "/log_likelihood", "/sample_stats")
        if group in tree.groups
    }
    tree.to_netcdf(file, engine="h5netcdf", encoding=encoding)


def read_draws(
    file: Any, items: tuple[str, ...], report: ReadReport
) -> tuple[Draws, Traces, NDArray[np.float64]]:
    """Read draws, traces and precedence back; the closures stay bits."""
    with xarray.open_datatree(file, engine="h5netcdf") as tree:
        tree.load()
    drawn = tree["posterior"]
    # Earlier versions did not write statistics.
    statistics = tree["sample_stats"].data_vars if "sample_stats" in tree.children else {}
    draws = Draws(
        closure_bits=drawn["closure_bits"].to_numpy(),
        scalars={name: drawn[name].to_numpy() for name in _SCALARS if name in drawn},
        log_likelihood=tree["log_likelihood"]["trace"].to_numpy(),
        latent=drawn["latent"].to_numpy() if "latent" in drawn else None,
        statistics={str(name): values.to_numpy() for name, values in statistics.items()},
    )
    traces = _read_observed(tree["observed_data"], items, report)
    return draws, traces, tree["summary"]["precedence"].to_numpy()


def _tree(
    posterior: Posterior,
    name: str,
    closures: Any,
    text: Callable[[Iterable[str]], NDArray[np.object_]],
) -> xarray.DataTree:
    draws, traces = posterior.draws, posterior.traces
    at_draw = ("chain", "draw")
    variables: dict[str, Any] = {name: closures}
    if draws.latent is not None:
        variables["latent"] = ((*at_draw, "item", "column"), draws.latent)
    for scalar, values in draws.scalars.items():
        variables[scalar] = (at_draw, values)
    labels = text(posterior.items)
    position = {"chain": np.arange(draws.n_chains), "draw": np.arange(draws.n_draws)}
    statistics = {name: (at_draw, values) for name, values in draws.statistics.items()}
    of_sampler = {"sample_stats": xarray.Dataset(statistics, coords=position)} if statistics else {}
    return xarray.DataTree.from_dict(
        {
            **of_sampler,
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
                    "record_id": ("record", text(traces.ids)),
                    "record_file": ("record", text(traces.records.file)),
                    "record_line": ("record", traces.records.line),
                    "record_metadata": (
                        "record",
                        text(json.dumps(dict(m)) for m in traces.records.metadata),
                    ),
                }
            ),
        }
    )


def _chunks(variable: xarray.DataArray) -> tuple[int, ...]:
    """Return chunks of whole draws of one chain."""
    n_draws, *rest = variable.shape[1:]
    bytes_a_draw = variable.dtype.itemsize * int(np.prod(rest))
    return (1, min(n_draws, max(1, _CHUNK_BYTES // bytes_a_draw)), *rest)


def _read_observed(observed: Any, items: tuple[str, ...], report: ReadReport) -> Traces:
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
        report=report,
    )


def _as_they_are(values: Iterable[str]) -> NDArray[np.object_]:
    """Return an array of text, for users."""
    return np.array(list(values), dtype=object)


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

"""The data sets of the studies: each kind is a pure function of its parameters and files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from posetta.data import Traces, read_traces
from posetta.errors import InputError, SettingError, choice
from posetta.evaluate.coverage import ip_cov
from posetta.model.simulate import Simulation, simulate
from posetta.order import Poset, read_order
from posetta.order.extensions import sample_linear_extensions
from posetta.rng import child

DIGEST = "digest"
"""Key under which the content of a data set's files enters the address of a job."""
# Uniform extensions added at most to reach full coverage; a dozen items need some tens.
_MOST_EXTENSIONS = 5000

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class DataSet:
    """What a job fits and is judged by."""

    train: Traces
    test: Traces | None = None
    truth: Poset | None = None

    @property
    def ip_cov(self) -> float | None:
        """Realised incomparable-pair coverage of the training traces, where the truth is known."""
        return None if self.truth is None else ip_cov(self.train, self.truth)


class Kind(NamedTuple):
    """A line of the table of kinds."""

    make: Callable[[Parameters, Path | None], DataSet]
    parameters: frozenset[str]
    needs: tuple[str, ...]
    """Parameters without a default."""
    files: Callable[[Parameters], tuple[str, ...]] = lambda _: ()
    """Files that it reads, relative to the data folder."""


def make(data: Parameters, folder: Path | None = None) -> DataSet:
    """Return the data set that a job's ``data`` describes; ``folder`` holds the public data."""
    kind = choice(data["kind"], KINDS, "kind")
    parameters = {name: value for name, value in data.items() if name not in ("kind", DIGEST)}
    check(kind, parameters)
    return KINDS[kind].make(parameters, folder)


def check(kind: str, data: Parameters) -> None:
    """Refuse parameters that the kind does not have, and two that say the same."""
    known = KINDS[kind].parameters
    for name in data:
        if name not in known:
            listed = ", ".join(sorted(known))
            raise SettingError(
                f"data of kind {kind!r} has no parameter {name!r}; it has: {listed}."
            )
    if data.keys() >= {"traces", "traces_per_item"}:
        raise SettingError(
            f"traces={data['traces']!r} and traces_per_item={data['traces_per_item']!r} both say "
            "how many traces there are. Keep one of them."
        )


def digests(data: Parameters, folder: Path) -> dict[str, Any]:
    """Return the content of the files behind a data set as digits; {} if any is missing."""
    paths = [folder / name for name in KINDS[data["kind"]].files(data)]
    if not paths or not all(path.is_file() for path in paths):
        return {}
    return {DIGEST: [hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in paths]}


def _simulated(data: Parameters, _: Path | None) -> DataSet:
    """A random order and traces of it, as `posetta simulate` makes them from the same seed."""
    n = int(data["n"])
    sim = simulate(
        n, dim=data.get("dim", 4), rho=data.get("rho", 0.5), **_trace_parameters(data, n)
    )
    return _of_simulation(sim)


def _of_order_file(data: Parameters, folder: Path | None) -> DataSet:
    """Simulated traces of an order that is on file."""
    order = read_order(_file(data["file"], folder))
    return _of_simulation(simulate(order=order, **_trace_parameters(data, order.n_items)))


def _trace_parameters(data: Parameters, n: int) -> dict[str, Any]:
    coverage = data.get("coverage", 1.0)
    lengths = data.get("lengths")
    n_traces = data.get("traces")
    if n_traces is None and "traces_per_item" in data:
        n_traces = max(1, round(data["traces_per_item"] * n))
    return {
        "beta": data.get("beta", 1.0),
        "seed": _seed(data),
        "n_traces": n_traces,
        "n_test": data.get("test"),
        "ip_cov": None if coverage == "iid" else coverage,
        "lengths": tuple(lengths) if isinstance(lengths, list) else lengths,
        "noise": data.get("noise", 0.0),
    }


def _of_simulation(sim: Simulation) -> DataSet:
    return DataSet(sim.train, sim.test if len(sim.test) else None, sim.order)


def _of_traces_file(data: Parameters, folder: Path | None) -> DataSet:
    """Traces on file without a known order; ``held_out`` sets a share of them aside as a test."""
    traces = read_traces(_file(data["file"], folder), choice_set=data.get("choice_set", "listed"))
    if not data.get("held_out"):
        return DataSet(traces)
    return DataSet(*traces.split(data["held_out"], _seed(data)))


def _cloud(data: Parameters, folder: Path | None) -> DataSet:
    """One scenario of Cloud-IaC-6: successful agent traces and the expert order.

    A third of the traces is held out. Protocol "as_is" trains on the rest. Protocol "topped_up"
    adds uniform linear extensions of the expert order until every incomparable pair is seen both
    ways. The universe is that of the expert order in both.
    """
    protocol = choice(data.get("protocol", "as_is"), ("as_is", "topped_up"), "protocol")
    order_file, traces_file = _cloud_files(data)
    truth = read_order(_file(order_file, folder))
    traces = read_traces(_file(traces_file, folder), items=truth.items)
    seed = _seed(data)
    train, test = traces.split(data.get("held_out", 1 / 3), seed)
    if protocol == "topped_up":
        train = _topped_up(train, truth, seed)
    return DataSet(train, test, truth)


def _topped_up(train: Traces, truth: Poset, seed: int) -> Traces:
    generator = child(seed, "top-up")
    lists = list(train)
    while ip_cov(train, truth) < 1.0:
        if len(lists) > _MOST_EXTENSIONS:
            raise InputError(f"{_MOST_EXTENSIONS} extensions did not reach full coverage.")
        lists += sample_linear_extensions(truth, 1, generator)
        train = Traces.from_lists(lists, items=truth.items)
    return train


def _cloud_files(data: Parameters) -> tuple[str, str]:
    base = f"cloud_iac_6/{data['scenario']}"
    return f"{base}.order.json", f"{base}.traces.jsonl"


def _file(name: str, folder: Path | None) -> Path:
    """Return where a file of the public data is, or say how to give the folder."""
    if folder is None or not (folder / name).is_file():
        raise InputError(
            f"{name} is not there. Name the folder of public data with --data or POSETTA_DATA."
        )
    return folder / name


def _one_file(data: Parameters) -> tuple[str, ...]:
    return (str(data["file"]),)


def _seed(data: Parameters) -> int:
    return int(data.get("seed", 0))


_TRACES = {
    "seed", "coverage", "traces", "traces_per_item", "test", "lengths", "noise", "beta",
}  # fmt: skip
KINDS: dict[str, Kind] = {
    "simulated": Kind(_simulated, frozenset(_TRACES | {"n", "rho", "dim"}), ("n",)),
    "order_file": Kind(_of_order_file, frozenset(_TRACES | {"file"}), ("file",), _one_file),
    "traces_file": Kind(
        _of_traces_file,
        frozenset({"file", "choice_set", "held_out", "seed"}),
        ("file",),
        _one_file,
    ),
    "cloud": Kind(
        _cloud,
        frozenset({"scenario", "seed", "protocol", "held_out"}),
        ("scenario",),
        _cloud_files,
    ),
}

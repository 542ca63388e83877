"""What a worker does: one job, from its spec to its record and files. A pure function of the spec.

The worker writes nothing: the record and the files travel back, so that no file system need be
shared and a job that ran twice (its worker died at the last moment) counts once.
"""

from __future__ import annotations

import json
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from posetta.baselines.settings import Majority, Maximal
from posetta.data import Traces, write_traces
from posetta.infer import fit
from posetta.infer.methods import Exact, FlowVI, FullRankVI, HardMCMC, RelaxedNUTS, Settings
from posetta.model.model import Model
from posetta.order import write_order
from posetta.posterior import Posterior
from posetta.posterior.io import summary
from posetta.posterior.tree import write_draws
from posetta.suite.code_version import code_version
from posetta.suite.data_sets import DataSet, make
from posetta.suite.expand import model_of, settings_for
from posetta.suite.measure import measure
from posetta.suite.pinning import forget_peak, peak_megabytes, pinned

RECORD_VERSION = 1

# Tiny fits that compile, or load, all that the real one needs; what the flow shares with others.
_WARM: dict[str, Settings] = {
    "majority": Majority(),
    "maximal": Maximal(),
    "exact": Exact(draws=4, prior_draws=1000),
    "hard": HardMCMC(draws=4, warmup=1, chains=1, thin=1),
    "nuts": RelaxedNUTS(draws=4, warmup=20, chains=1, mass_matrix="full-rank", jumps=1),
    "fullrank": FullRankVI(draws=4, iterations=2, cooling=0, restarts=1),
    "flow": FullRankVI(draws=4, iterations=2, cooling=0, restarts=1),
}
_WARM_TRACES = [["a", "b", "c"], ["a", "c"]]  # an order of any dimension allows them
_warmed: set[tuple[str, bool, bool]] = set()


@dataclass(frozen=True)
class Outcome:
    """What comes back from a worker."""

    record: Mapping[str, Any]
    """The content of ``job.json``."""
    files: Mapping[str, bytes]


def run_job(
    spec: Mapping[str, Any], data_folder: str | None = None, cores: Sequence[int] | None = None
) -> Outcome:
    """Make the data, fit, measure. An error is an outcome too: it is recorded, not raised."""
    began = time.perf_counter()
    record: dict[str, Any] = {
        "record_version": RECORD_VERSION,
        "spec": spec,
        "code": code_version(),
        "posetta_version": version("posetta"),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    files: dict[str, bytes] = {}
    try:
        with pinned(cores) as n_cores:
            record["cores"] = n_cores
            data = make(spec["data"], None if data_folder is None else Path(data_folder))
            files |= _data_files(data)
            record["data"] = _about(data)
            _fit_and_measure(spec, data, record, files)
        record["outcome"] = "done"
    except Exception as error:
        record |= {
            "outcome": "failed",
            "error": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exc(),
        }
    record["wall_seconds"] = round(time.perf_counter() - began, 3)
    return Outcome(recorded(record), files)


def _fit_and_measure(
    spec: Mapping[str, Any], data: DataSet, record: dict[str, Any], files: dict[str, bytes]
) -> None:
    model = model_of(spec["model"])
    settings = settings_for(spec["method"], spec["settings"], data.train.n_items, model.dim)
    record["settings"], record["model"] = asdict(settings), model.to_dict()
    compiling = _warm(spec["method"], model)
    if isinstance(settings, FlowVI):
        compiling += _compile_flow(data.train, model, settings)
    forget_peak()
    held = peak_megabytes()
    began, processor = time.perf_counter(), time.process_time()
    posterior = fit(data.train, method=settings, model=model, seed=spec["seed"])
    took, processor = time.perf_counter() - began, time.process_time() - processor
    peak = peak_megabytes()  # of the fit: what scoring needs beside it is no cost of the method
    record["settings"] = dict(posterior.settings)  # with what the method chose itself
    files |= _result_files(posterior, spec)
    fitting = {k: v for k, v in posterior.seconds.items() if k != "compile"}
    # A method may report what was compiled when its module was loaded, long before this fit.
    compiled = posterior.seconds.get("compile", 0.0)
    compiling += compiled if compiled <= took else 0.0
    record["row"] = {
        **measure(posterior, data, spec["thresholds"], spec.get("rules", ())),
        # Start, fit and draws; compilation apart.
        "seconds": round(sum(fitting.values()), 4),
        # Of all threads: what the fit costs also on a machine that is busy with other work.
        "cpu_seconds": round(processor, 4),
        "compile_seconds": round(compiling, 3),
        "peak_mb": peak,
        "held_mb": held,
        "n_warnings": len(posterior.warnings),
    }
    record["warnings"] = list(posterior.warnings)


def _warm(method: str, model: Model) -> float:
    """Compile what the method needs, once in the life of a worker; return the seconds it took."""
    settings = _WARM.get(method)
    kernels = (method, model.noise == 0.0, model.dim == "random")
    if settings is None or kernels in _warmed:
        return 0.0
    began = time.perf_counter()
    warm_model = replace(model, beta=model.beta if model.beta is None else min(model.beta, 1.0))
    fit(Traces.from_lists(_WARM_TRACES), method=settings, model=warm_model, seed=0)
    _warmed.add(kernels)
    return time.perf_counter() - began


def _compile_flow(traces: Traces, model: Model, settings: FlowVI) -> float:
    """Compile the flow for the shapes of this fit; return the seconds it took."""
    began = time.perf_counter()
    from posetta.infer import flow_vi

    flow_vi.compile_for(traces, model, settings)
    return time.perf_counter() - began


def _about(data: DataSet) -> dict[str, Any]:
    train, test, truth = data.train, data.test, data.truth
    return {
        "hash": train.hash,
        "n_items": train.n_items,
        "n_train": len(train),
        "n_test": 0 if test is None else len(test),
        "mean_length": float((train.n_listed @ train.counts) / max(len(train), 1)),
        "n_relations": None if truth is None else truth.n_relations,
        "ip_cov": data.ip_cov,
    }


def _data_files(data: DataSet) -> dict[str, bytes]:
    """Return the data set as the files that `posetta simulate` writes."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_traces(data.train, root / "train.jsonl")
        if data.test is not None:
            write_traces(data.test, root / "test.jsonl")
        if data.truth is not None:
            write_order(data.truth, root / "order.json")
        return {path.name: path.read_bytes() for path in root.iterdir()}


def _result_files(posterior: Posterior, spec: Mapping[str, Any]) -> dict[str, bytes]:
    """Return ``result.json``, and with keep = "draws" also ``posterior.nc``."""
    text = json.dumps(summary(posterior, spec["thresholds"][0]), allow_nan=False)
    files = {"result.json": text.encode()}
    if spec["keep"] == "draws":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "posterior.nc"
            write_draws(posterior, path)
            files[path.name] = path.read_bytes()
    return files


def recorded(value: Any) -> Any:
    """Return a value as records hold it: JSON, with the text "inf" for an infinite number."""
    if isinstance(value, Mapping):
        return {str(key): recorded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [recorded(part) for part in value]
    if isinstance(value, bool | int | str) or value is None:
        return value
    number = float(value)
    if number != number:
        return None
    return number if abs(number) != float("inf") else str(number)

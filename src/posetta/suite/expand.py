"""From a study to its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from posetta.errors import SettingError, choice
from posetta.infer.methods import METHODS, HardMCMC, Settings, settings_of
from posetta.model.model import Model
from posetta.rng import seed_sequence
from posetta.suite.data_sets import DIGEST, KINDS, check, digests
from posetta.suite.job import Job, fingerprint, matches, model_column
from posetta.suite.spec import Study, Table

# Keys of a method's table that are not settings.
_METHOD, _MODEL, _DATA, _ONLY, _AT = "method", "model", "data", "only", "at"
_VARIANT = "variant"
# Settings of "hard" that a budget of iterations stands in for.
_OF_ITERATIONS = ("warmup", "thin", "rungs")


def jobs_of(study: Study, data_folder: Path | None = None) -> list[Job]:
    """Return the jobs of a study, every data set with every method that takes part.

    Settings and models are checked here, before anything runs. What plays no part in a method's
    density is dropped from its job: with several tau, Hard-MCMC runs once. ``data_folder`` is where
    files are looked up; their content enters the address of a job.
    """
    found: dict[str, Job] = {}
    known: set[str] = set()
    for columns, data, model in _cells(study):
        for label, entry in study.methods.items():
            here = {**columns, "method": label}
            _check_places(study, here, label, entry)
            if not matches(here, entry.get(_ONLY, {})):
                continue
            job = _job(study, here, data, model, label, entry, data_folder)
            twin = found.get(job.hash)
            found[job.hash] = job if twin is None else _shared(twin, job)
            known |= here.keys()
    _check_tables(study, known)
    return list(found.values())


def settings_for(method: str, given: Table, n_items: int, dim: int | str) -> Settings:
    """Return the settings object of a method from plain values.

    ``iterations`` of "hard" is a budget of single proposals, half of it burn-in, as in the paper:
    it takes the place of warmup, thin and rungs.
    """
    _, settings = settings_of(method)
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
    if isinstance(settings, HardMCMC) and "iterations" in given:
        columns = dim if isinstance(dim, int) else 4
        paper = {k: given.pop(k) for k in ("iterations", "draws", "chains") if k in given}
        given = {k: v for k, v in given.items() if k not in _OF_ITERATIONS}
        settings = HardMCMC.of_iterations(n_items=n_items, dim=columns, **paper)
    known = {field.name for field in fields(settings)}
    for name in given:
        if name not in known:
            raise SettingError(f"method {method!r} has no setting {name!r}.")
    changed: Settings = replace(settings, **given)
    return changed


def model_of(given: Table) -> Model:
    """Return the model from plain values; the word "infer" stands for None."""
    known = {field.name for field in fields(Model)}
    for name in given:
        if name not in known:
            raise SettingError(f"the model has no field {name!r}.")
    plain: dict[str, Any] = {
        name: None if value == "infer" else tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
    }
    return Model(**plain)


def _cells(study: Study) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Iterate over the data sets and models of a study: columns, data, model."""
    data_axes = {name: values for name, values in study.axes.items() if name != "model"}
    model_axes = study.axes.get("model", {})
    unnamed: list[tuple[str, Table]] = [("", {})]
    cases = [*study.cases.items()] or unnamed
    variants = [*study.variants.items()] or unnamed
    choice(study.kind, KINDS, "kind")
    for (case, case_data), (variant, variant_model), values, model_values in product(
        cases, variants, product(*data_axes.values()), product(*model_axes.values())
    ):
        at = dict(zip(data_axes, values, strict=True))
        model_at = dict(zip(model_axes, model_values, strict=True))
        data = {**study.data, **case_data, **at}
        check(study.kind, data)
        for name in KINDS[study.kind].needs:
            if name not in data:
                raise SettingError(f"data of kind {study.kind!r} need {name}.")
        columns = {**({"case": case} if case else {}), **at}
        columns |= {model_column(name): value for name, value in model_at.items()}
        columns |= {_VARIANT: variant} if variant else {}
        yield columns, data, {**study.model, **variant_model, **model_at}


def _check_places(study: Study, columns: Table, label: str, entry: Table) -> None:
    """Refuse a place in the grid that names what is no column: it would match nothing, unseen."""
    places = {
        "keep_draws_where": [study.keep_draws_where or {}],
        f"methods.{label}.{_ONLY}": [entry.get(_ONLY, {})],
        f"methods.{label}.{_AT}": [exception.get("when", {}) for exception in entry.get(_AT, ())],
    }
    for where, tables in places.items():
        for name in (name for table in tables for name in table):
            if name not in columns:
                listed = ", ".join(columns)
                raise SettingError(f"{where}: {name!r} is no column; they are: {listed}.")


def _check_tables(study: Study, known: set[str]) -> None:
    """Refuse tables and figures that ask for rows by what is no column of the plan."""
    for kind, name in (("table", "title"), ("figure", "name")):
        for entry in study.tables if kind == "table" else study.figures:
            asked = [*entry.get("rows", ()), *entry.get("where", {})]
            asked += [entry[field] for field in ("across", "by") if field in entry]
            for column in asked:
                if column not in known:
                    listed = ", ".join(sorted(known))
                    raise SettingError(
                        f"{kind} {entry.get(name)!r}: {column!r} is no column of the plan; they "
                        f"are: {listed}."
                    )


def _job(
    study: Study,
    columns: dict[str, Any],
    data: Table,
    model: Table,
    label: str,
    entry: Table,
    data_folder: Path | None,
) -> Job:
    method = entry.get(_METHOD, label)
    settings = {k: v for k, v in entry.items() if k not in (_METHOD, _MODEL, _DATA, _ONLY, _AT)}
    model = {**model, **entry.get(_MODEL, {})}
    data = {**data, **entry.get(_DATA, {})}
    for exception in entry.get(_AT, ()):
        if matches(columns, exception.get("when", {})):
            changed = {k: v for k, v in exception.items() if k not in ("when", _MODEL)}
            settings |= changed
            model |= exception.get(_MODEL, {})
    where = f"study {study.study!r}, method {label!r}"
    try:
        check(study.kind, data)
        model_of(model)
        if method in METHODS:  # an unknown method is a job that fails alone
            model = {k: v for k, v in model.items() if k in METHODS[method].uses}
            settings_for(method, settings, int(data.get("n", 10)), model.get("dim", 4))
    except (SettingError, TypeError) as error:
        raise SettingError(f"{where}: {error}") from None
    data = {"kind": study.kind, **data}
    if data_folder is not None:
        data |= digests(data, data_folder)
    seed = int(data.get("seed", 0))
    purpose = fingerprint({k: v for k, v in data.items() if k not in ("seed", DIGEST)})
    spec = {
        "data": data,
        "method": method,
        "settings": settings,
        "model": model,
        "seed": int(seed_sequence(seed, "suite", purpose, label).generate_state(1)[0]),
        "thresholds": list(study.thresholds),
        **({"rules": list(study.rules)} if study.rules else {}),
        "keep": "draws" if _keeps_draws(study, columns) else "summary",
    }
    return Job(spec, columns)


def _keeps_draws(study: Study, columns: Table) -> bool:
    chosen = study.keep_draws_where
    return study.keep == "draws" or (chosen is not None and matches(columns, chosen))


def _shared(first: Job, second: Job) -> Job:
    """Return a job that stands in two places of the table.

    It keeps the name of the first variant; in any other column that differs it stays empty.
    """
    columns = {
        name: value
        for name, value in first.columns.items()
        if name == _VARIANT or second.columns.get(name, value) == value
    }
    variant = second.columns.get(_VARIANT)
    if variant is None or variant in (columns[_VARIANT], *first.also):
        return Job(first.spec, columns, first.also)
    return Job(first.spec, columns, (*first.also, str(variant)))

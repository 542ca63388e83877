"""How a result was made: settings, versions, and the lines that make it again."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import version
from typing import Any

from posetta.infer.methods import METHODS
from posetta.model.model import Model
from posetta.posterior import Posterior


def provenance_content(posterior: Posterior, settings: str | None) -> dict[str, Any]:
    """Return tables of what was read, believed and set, and the way to do it again.

    ``settings`` is the text of the ``settings.toml`` that the command line wrote beside the result.
    """
    traces = posterior.traces
    return {
        "data": _rows(
            {
                "files": ", ".join(traces.report.files) or "given in Python",
                "format": traces.report.format or "-",
                "fingerprint": traces.hash,
                "traces": len(traces),
                "distinct traces": traces.n_unique,
                "items": traces.n_items,
                "longest trace": traces.max_length,
                **{f"note: {what}": count for what, count in traces.report.notes.items()},
            }
        ),
        "model": _rows(_model(posterior)),
        "settings": _rows({"method": posterior.method, **posterior.settings}),
        "run": _rows(
            {
                "seed": posterior.seed,
                "status": posterior.status,
                **{f"seconds, {part}": round(s, 2) for part, s in posterior.seconds.items()},
                "draws": f"{posterior.draws.n_chains} × {posterior.draws.n_draws:,}"
                if not posterior.is_point
                else "one order",
                "posetta, this page": version("posetta"),
                "Python, this page": platform.python_version(),
                "numpy, this page": version("numpy"),
            }
        ),
        "command": settings,
        "python": snippet(posterior),
    }


def _model(posterior: Posterior) -> dict[str, Any]:
    """Return the fields that enter the method's density; a scalar without a value is inferred."""
    known = METHODS.get(posterior.method)
    fields_ = posterior.model.to_dict()
    words = {"dim_prior_mean": "half the number of items"}
    return {
        name: words.get(name, "inferred") if value is None else value
        for name, value in fields_.items()
        if known is None or name in known.uses
    }


def snippet(posterior: Posterior) -> str | None:
    """Return the Python lines that make this result again; None if no single fit does.

    They check the fingerprint of the traces, which says whether these were read and split as then.
    """
    changed = _changed(posterior)
    if changed is None or "merged_seeds" in posterior.settings:
        return None
    model, settings = changed
    kind = METHODS[posterior.method].settings.__name__
    files = posterior.traces.report.files
    source = f"po.read_traces({(files[0] if len(files) == 1 else list(files))!r})"
    lines = ["import posetta as po", ""]
    lines += [f"traces = {source}" if files else "traces = ...  # as they were given"]
    lines += [
        f"assert traces.hash == {posterior.traces.hash!r}, 'read or split in another way'",
        "post = po.fit(",
        "    traces,",
        f"    method=po.{kind}({_arguments(settings)}),",
        f"    model=po.Model({_arguments(model)}),",
        f"    seed={posterior.seed},",
        ")",
    ]
    return "\n".join(lines)


def _changed(posterior: Posterior) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return what of model and settings is not the default."""
    if posterior.method not in METHODS:
        return None
    default_settings = METHODS[posterior.method].settings()
    settings = {
        field.name: _tuple(posterior.settings[field.name])
        for field in fields(default_settings)
        if field.name in posterior.settings
        and _tuple(posterior.settings[field.name]) != getattr(default_settings, field.name)
    }
    model = {
        field.name: getattr(posterior.model, field.name)
        for field in fields(Model)
        if getattr(posterior.model, field.name) != field.default
    }
    return model, settings


def _tuple(value: Any) -> Any:
    """A saved result has lists where the settings had tuples."""
    return tuple(value) if isinstance(value, list) else value


def _arguments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _rows(values: Mapping[str, Any]) -> list[list[str]]:
    return [[name, _text(value)] for name, value in values.items()]


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return str(value)

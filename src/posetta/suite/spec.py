"""A study as it is written down: one TOML file, read and checked into a `Study`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, get_args

from posetta.errors import InputError, SettingError, choice
from posetta.posterior.posterior import Rule

Table = Mapping[str, Any]

FIGURES: Mapping[str, tuple[str, ...]] = {
    "scaling": ("x", "metrics"),
    "ablation": ("x", "metrics"),
    "regimes": ("x", "metrics"),
    "closure": (),
    "hasse": (),
    "maps": (),
    "agreement": (),
    "densities": (),
    "convergence": (),
}
"""What a figure can draw, and which fields it needs for that beside its name."""

# Fields of a table and of a figure, each with its type and the word for it.
_LIST, _TEXT, _TABLE = (list, "a list"), (str, "a text"), (Mapping, "a table")
_NUMBER = ((int, float), "a number")
_TABLE_FIELDS = {
    "title": _TEXT, "rows": _LIST, "columns": _LIST, "where": _TABLE, "across": _TEXT,
    "paper": _TEXT,
}  # fmt: skip
_FIGURE_FIELDS = {
    "name": _TEXT, "draw": _TEXT, "x": _TEXT, "metrics": _LIST, "where": _TABLE, "by": _TEXT,
    "threshold": _NUMBER, "relation": _TEXT,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Study:
    """Data sets, methods and what is asked of them; one profile, everything merged."""

    study: str
    title: str
    kind: str
    """Kind of data set, see `posetta.suite.data_sets`."""
    profile: str = "full"
    data: Table = field(default_factory=dict)
    """Parameters that all data sets share."""
    axes: Table = field(default_factory=dict)
    """Parameters of the data sets that vary, each a list; ``axes.model`` does so for the model."""
    cases: Mapping[str, Table] = field(default_factory=dict)
    """Named changes of the data parameters, one more axis."""
    variants: Mapping[str, Table] = field(default_factory=dict)
    """Named changes of the model, one more axis."""
    model: Table = field(default_factory=dict)
    methods: Mapping[str, Table] = field(default_factory=dict)
    """Settings by label; a label is the method's name unless its table says ``method = ...``."""
    reference: str | None = None
    """Label that pair probabilities are compared with, on the same data set."""
    second_reference: str | None = None
    """Another such label."""
    thresholds: tuple[float, ...] = (0.5, 1 / 3)
    rules: tuple[str, ...] = ()
    """Decoders beside the thresholds, whose F1 is measured as well: see `Posterior.decode`."""
    keep: Literal["summary", "draws"] = "summary"
    keep_draws_where: Table | None = None
    """Jobs whose draws are kept all the same: values of their columns."""
    timing: bool = False
    """Whether seconds are a result: jobs then run one at a time."""
    tables: tuple[Table, ...] = ()
    figures: tuple[Table, ...] = ()

    def __post_init__(self) -> None:
        if not self.methods:
            raise SettingError(f"study {self.study!r} names no methods.")
        choice(self.keep, ("summary", "draws"), "keep")
        for rule in self.rules:
            choice(rule, [known for known in get_args(Rule) if known != "threshold"], "rules")
        object.__setattr__(self, "thresholds", tuple(float(t) for t in self.thresholds))
        if not self.thresholds or not all(0.0 <= t < 1.0 for t in self.thresholds):
            raise SettingError(
                f"thresholds={list(self.thresholds)} must be one or more numbers in [0, 1)."
            )
        if len({round(100 * t) for t in self.thresholds}) < len(self.thresholds):
            raise SettingError(
                f"thresholds={list(self.thresholds)}: two are the same to a hundredth, by which "
                "their columns are named."
            )
        for table in self.tables:
            _check_fields("tables", table, _TABLE_FIELDS, ("title", "rows", "columns"))
        for figure in self.figures:
            _check_fields("figures", figure, _FIGURE_FIELDS, ("name", "draw"))
            choice(figure["draw"], FIGURES, "draw")
            _check_fields("figures", figure, _FIGURE_FIELDS, FIGURES[figure["draw"]])
            if Path(figure["name"]).name != figure["name"]:
                raise SettingError(f"figures: name={figure['name']!r} is no name of a file.")
        titles = [table["title"] for table in self.tables]
        if len(set(titles)) < len(titles):
            raise SettingError(f"two tables of study {self.study!r} have the same title.")
        for name in ("reference", "second_reference"):
            if (label := getattr(self, name)) is not None and label not in self.methods:
                raise SettingError(f"{name}={label!r} is not among the methods.")
        if not isinstance(self.axes, Mapping):
            raise SettingError(f"axes={self.axes!r} must be a table: a list for every name.")
        if not isinstance(model := self.axes.get("model", {}), Mapping):
            raise SettingError(f"axes.model={model!r} must be a table: a list for every name.")
        for name, values in {**self.axes, **model}.items():
            if name != "model" and not (isinstance(values, list) and values):
                raise SettingError(f"axes.{name}={values!r} must be a list of one value or more.")

    @classmethod
    def of(cls, content: Table, profile: str = "full") -> Self:
        """Return the study that a parsed file describes under a profile."""
        content = dict(content)
        profiles = content.pop("profiles", {})
        if profile not in profiles and profile != "full":
            named = ", ".join(repr(name) for name in sorted({"full", *profiles}))
            raise SettingError(f"profile={profile!r} is unknown. Choose one of: {named}.")
        merged = _merged(content, profiles.get(profile, {}))
        # "nuts = false" in a profile leaves a method (a case, a variant) out.
        for table in ("methods", "cases", "variants"):
            kept = {k: v for k, v in merged.get(table, {}).items() if v is not False}
            for label, value in kept.items():
                if not isinstance(value, Mapping):
                    raise SettingError(f"{table}.{label}={value!r} must be a table, or false.")
                if not isinstance(value.get("at", []), list):
                    raise SettingError(f"{table}.{label}.at={value['at']!r} must be a list.")
            merged[table] = kept
        for name in ("tables", "figures", "thresholds", "rules"):
            if name in merged:
                merged[name] = tuple(merged[name])
        known = set(cls.__dataclass_fields__) - {"profile"}
        for name in merged:
            if name not in known:
                listed = ", ".join(sorted(known))
                raise SettingError(f"{name!r} is no part of a study. Its parts are: {listed}.")
        for name in ("study", "title", "kind"):
            if not isinstance(merged.get(name), str):
                raise SettingError(f"a study needs {name} = a text.")
        return cls(profile=profile, **merged)


def read_study(path: str | os.PathLike[str], profile: str = "full") -> Study:
    """Read a study from a TOML file; what is wrong is said with the file's name."""
    source = Path(path)
    try:
        content = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{source}: is not TOML: {error}.") from None
    try:
        return Study.of(content, profile)
    except SettingError as error:
        raise SettingError(f"{source}: {error}") from None


def _check_fields(
    where: str, given: Table, fields: Mapping[str, tuple[Any, str]], needed: tuple[str, ...]
) -> None:
    """Refuse a table or a figure with fields that are missing, unknown or of another type."""
    about = given.get("title", given.get("name"))
    place = where if about is None else f"{where}, {about!r}"
    for name in needed:
        if name not in given:
            raise SettingError(f"{place}: needs {name} = {fields[name][1]}.")
    for name, value in given.items():
        if name not in fields:
            raise SettingError(f"{place}: has no field {name!r}; there are: {', '.join(fields)}.")
        kind, word = fields[name]
        if not isinstance(value, kind):
            raise SettingError(f"{place}: {name}={value!r} must be {word}.")


def _merged(base: Table, over: Table) -> dict[str, Any]:
    """Return ``base`` with the values of ``over``; tables are merged, lists replaced."""
    merged = dict(base)
    for name, value in over.items():
        both_tables = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both_tables else value
    return merged

"""``result.json`` obeys its JSON Schema, whichever method wrote it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import get_args

import pytest

from posetta import Exact, HardMCMC, InputError, Traces, fit, load, read_traces, save
from posetta.posterior.io import SCHEMA_VERSION, SUMMARY_FILE
from posetta.posterior.posterior import Status

SCHEMA = json.loads(files("posetta.posterior").joinpath("result.schema.json").read_text("utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
         "integer": int, "number": (int, float)}  # fmt: skip
KNOWN = {"type", "enum", "required", "properties", "additionalProperties", "items", "minItems"}
KNOWN |= {"maxItems", "minimum", "maximum", "$ref", "$defs", "$schema", "title", "description"}


def is_a(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def errors(value, schema, where="result"):
    """Yield what breaks the schema: the words of draft 2020-12 that ours uses, no others."""
    assert schema.keys() <= KNOWN, f"{where}: the checker does not know {schema.keys() - KNOWN}"
    if "$ref" in schema:
        yield from errors(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], where)
    names = schema.get("type", list(TYPES))
    if not any(is_a(value, name) for name in ([names] if isinstance(names, str) else names)):
        yield f"{where}: {value!r} is no {names}"
        return
    if value not in schema.get("enum", [value]):
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if isinstance(value, dict):
        for key in schema.get("required", ()):
            if key not in value:
                yield f"{where}: {key} is missing"
        for key, inner in value.items():
            rule = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            yield from errors(inner, rule, f"{where}.{key}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{where}: {len(value)} entries"
        for k, inner in enumerate(value):
            yield from errors(inner, schema.get("items", {}), f"{where}[{k}]")
    if is_a(value, "number") and not (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
    ):
        yield f"{where}: {value} is out of range"


METHODS = {
    "exact": Exact(draws=10, prior_draws=1000),
    "hard": HardMCMC(draws=20, warmup=5, chains=2, thin=1),
    "majority": "majority",
    "maximal": "maximal",
}


@pytest.fixture
def traces(tmp_path):
    file = tmp_path / "runs.txt"
    file.write_text("a,b,c\n\na,c,b,b\n2: a,b\n", encoding="utf-8")
    return read_traces(file, repeats="first", empty="drop")


def saved(traces, name, folder):
    save(fit(traces, METHODS[name]), folder)
    return json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", METHODS)
def test_what_is_saved_obeys_the_schema(name, traces, tmp_path):
    result = saved(traces, name, tmp_path / "out")
    assert list(errors(result, SCHEMA)) == []
    assert result.keys() == SCHEMA["properties"].keys()


@pytest.mark.parametrize("name", METHODS)
def test_results_without_traces_obey_it_too(name, tmp_path):
    empty = Traces.from_lists([], items=["a", "b"])
    assert list(errors(saved(empty, name, tmp_path / "out"), SCHEMA)) == []


def test_the_schema_follows_the_code():
    assert SCHEMA["properties"]["status"]["enum"] == list(get_args(Status))
    assert SCHEMA["properties"]["schema_version"]["enum"] == [SCHEMA_VERSION]
    assert set(SCHEMA["required"]) == SCHEMA["properties"].keys()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": "fine"}, "'fine' is none of"),
        ({"seed": True}, "True is no integer"),
        ({"closure": [["a"]]}, "1 entries"),
        ({"precedence": [[1.5]]}, "1.5 is out of range"),
        ({"data": {}}, "hash is missing"),
        ({"warnings": [None]}, "None is no string"),
    ],
)
def test_what_breaks_the_schema_is_found(changes, message, traces, tmp_path):
    result = saved(traces, "majority", tmp_path / "out")
    assert message in " ".join(errors({**result, **changes}, SCHEMA))


# -- how the traces were read ----------------------------------------------------------------------


def test_how_the_traces_were_read_is_kept(traces, tmp_path):
    result = saved(traces, "majority", tmp_path / "out")
    report = traces.report
    assert report.notes
    assert result["data"]["read"] == {
        "files": list(report.files),
        "format": report.format,
        "detected": report.detected,
        "notes": dict(report.notes),
    }
    found = load(tmp_path / "out").traces.report
    assert found == report
    assert found.lines() == report.lines()


def test_a_summary_without_it_is_damaged(traces, tmp_path):
    result = saved(traces, "majority", tmp_path / "out")
    del result["data"]["read"]
    (tmp_path / "out" / SUMMARY_FILE).write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(InputError, match="damaged"):
        load(tmp_path / "out")

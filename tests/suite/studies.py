"""Small studies that the tests run."""

from __future__ import annotations

from typing import Any

from posetta.suite.spec import Study


def tiny(**changes: Any) -> Study:
    """Two data sets, two quick methods and one that does not exist."""
    content: dict[str, Any] = {
        "study": "tiny",
        "title": "A tiny study",
        "kind": "simulated",
        "axes": {"n": [4, 6], "seed": [7]},
        "methods": {"maximal": {}, "majority": {}},
        "tables": [
            {
                "title": "Scores",
                "rows": ["n", "method"],
                "columns": ["f1_50", "mae_reference", "step_nll", "status"],
            }
        ],
    }
    return Study.of({**content, **changes})


def slow_jobs(n: int) -> Study:
    """So many jobs of some tenths of a second each, most of it in making data."""
    return tiny(axes={"n": [40], "seed": list(range(n))}, methods={"maximal": {}}, tables=[])

"""Which code made a result? A fingerprint of the sources that decide it.

It covers the rooms below `suite` and the modules of `suite` that read settings, make data and
measure. Comments, docstrings and formatting do not enter: what is hashed is the syntax tree without
them.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_WHAT_MATTERS = (
    "errors.py",
    "rng.py",
    "plain.py",
    "order",
    "data",
    "model",
    "posterior",
    "baselines",
    "infer",
    "evaluate",
    "suite/data_sets.py",
    "suite/expand.py",
    "suite/measure.py",
    "suite/work.py",
)


@cache
def code_version() -> str:
    """Return eight hexadecimal digits that change when a result might."""
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(path.relative_to(_PACKAGE).as_posix().encode())
        digest.update(without_words(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:8]


def _sources() -> list[Path]:
    paths = [_PACKAGE / name for name in _WHAT_MATTERS]
    return sorted(
        source for path in paths for source in ([path] if path.is_file() else path.rglob("*.py"))
    )


def without_words(source: str) -> str:
    """Return the syntax tree of a module as text, docstrings left out."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        # Docstrings, and the strings under fields that serve as such.
        node.body = [  # type: ignore[attr-defined]
            part
            for part in body
            if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        ]
    return ast.dump(tree)

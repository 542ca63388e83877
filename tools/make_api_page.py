"""Write docs/api.md from the public names and the first lines of their docstrings.

Run from the project's root after changing a public name: ``python tools/make_api_page.py``.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import posetta

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
ROOMS = (
    "order",
    "data",
    "model",
    "posterior",
    "baselines",
    "infer",
    "evaluate",
    "suite",
    "plots",
    "report",
)


def render() -> str:
    """Return the page."""
    lines = [
        "# API",
        "",
        "Written by `tools/make_api_page.py`. `help(name)` in Python shows the whole text.",
        "",
        "## posetta",
        "",
        "The names most users need, and the rooms:",
        ", ".join(f"`{name}`" for name in posetta.__all__) + ".",
    ]
    for room in ROOMS:
        module = importlib.import_module(f"posetta.{room}")
        lines += ["", f"## posetta.{room}", "", _first_line(module), ""]
        lines += ["| name | what it is |", "| --- | --- |"]
        lines += [
            f"| `{_signature(module, name)}` | {_about(module, name)} |" for name in module.__all__
        ]
    return "\n".join(lines) + "\n"


def _signature(module: object, name: str) -> str:
    member = getattr(module, name)
    if inspect.isclass(member) or not callable(member):
        return name
    return f"{name}({', '.join(inspect.signature(member).parameters)})"


def _about(module: object, name: str) -> str:
    member = getattr(module, name)
    if not (inspect.isclass(member) or inspect.isroutine(member)):
        return f"A `{type(member).__name__}`."
    return _first_line(member)


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")

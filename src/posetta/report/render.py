"""The page as text: one file that holds its data, its style and its script."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from posetta.atomic import atomic_text
from posetta.data import Traces
from posetta.order import Poset
from posetta.posterior import Posterior
from posetta.report.content import content
from posetta.report.groups import Groups

MODULES = (
    "dom.js",
    "decode.js",
    "layers.js",
    "crossings.js",
    "positions.js",
    "layout.js",
    "state.js",
    "evidence.js",
    "card.js",
    "viewport.js",
    "controls.js",
    "legend.js",
    "diagram.js",
    "heatmap.js",
    "pairs.js",
    "charts.js",
    "sections.js",
    "main.js",
)
"""The page's modules, each after those that it imports."""

_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?:const|function|class) (\w+)", re.MULTILINE)


def render(
    posterior: Posterior,
    *,
    threshold: float = 0.5,
    groups: Groups | Mapping[str, str] | None = None,
    truth: Poset | None = None,
    test: Traces | None = None,
    settings: str | None = None,
) -> str:
    """Return the report of a result as one self-contained HTML page.

    ``groups`` gives items a group (`read_groups` reads them from CSV); a true order adds recovery
    and calibration, held-out traces add their NLL. ``settings`` is the text of a ``settings.toml``
    that makes the result again.
    """
    shown = content(
        posterior, threshold=threshold, groups=groups, truth=truth, test=test, settings=settings
    )
    code, style = script(), _page_file("report.css")
    # The policy lets only this very script and style run, so that no label ever can.
    policy = (
        f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": html.escape(f"{shown['head']['title']} · Posetta report"),
        "style": style,
        "data": embedded(shown),
        "script": code,
    }
    template = _page_file("report.html")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def write_report(
    posterior: Posterior,
    path: str | os.PathLike[str],
    *,
    threshold: float = 0.5,
    groups: Groups | Mapping[str, str] | None = None,
    truth: Poset | None = None,
    test: Traces | None = None,
    settings: str | None = None,
) -> Path:
    """Write the report to a file, which appears whole or not at all; return its path."""
    page = render(
        posterior, threshold=threshold, groups=groups, truth=truth, test=test, settings=settings
    )
    with atomic_text(path) as file:
        file.write(page)
    return Path(path)


def script(modules: tuple[str, ...] = MODULES) -> str:
    """Return modules as one script: each keeps a scope of its own and hands out what it exports."""
    return '"use strict";\n{\n' + "\n".join(map(_enclosed, modules)) + "}\n"


def _enclosed(module: str) -> str:
    text = _IMPORT.sub("", _page_file(module))
    names = ", ".join(_EXPORT.findall(text))
    text = _EXPORT.sub(lambda match: match[0].removeprefix("export "), text)
    if not names:
        return f"(() => {{\n{text}}})();\n"
    return f"const {{ {names} }} = (() => {{\n{text}return {{ {names} }};\n}})();\n"


def embedded(value: Any) -> str:
    """Return JSON that cannot end the element it stands in, whatever the labels are.

    Everything outside ASCII is escaped by `json`, U+2028 and lone surrogates included; what HTML
    may read as markup is escaped here.
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _page_file(name: str) -> str:
    return (files("posetta.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""Orders in other notations: JSON files, networkx graphs, Graphviz and Mermaid text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posetta.atomic import atomic_text
from posetta.errors import InputError
from posetta.order.gate import Pair
from posetta.order.poset import Poset

if TYPE_CHECKING:
    import networkx


def read_order(path: str | os.PathLike[str]) -> Poset:
    """Read an order from JSON: ``items`` and ``covers`` or ``closure`` (or both, which must agree).

    ``{"items": ["a", "b"], "covers": [["a", "b"]]}``: a comes before b. Other keys are ignored.
    """
    try:
        content = json.loads(Path(path).read_bytes())
        return _order_of(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (at byte {error.start}).") from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}, column {error.colno}: is not JSON: {error.msg}."
        ) from error
    except RecursionError:
        raise InputError(f"{path}: is nested too deeply to be an order.") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except ValueError as error:  # a number with more digits than Python converts
        raise InputError(f"{path}: is not JSON that can be read: {error}.") from error


def write_order(poset: Poset, path: str | os.PathLike[str]) -> None:
    """Write items, covers and closure as JSON, one pair per line.

    The file appears whole or not at all: it is written beside its place and then moved there.
    """
    with atomic_text(path) as file:
        file.write(
            f'{{\n"items": {_json(poset.items)},\n'
            f'"covers": [{_json_lines(poset.cover_pairs)}],\n'
            f'"closure": [{_json_lines(poset.closure_pairs)}]\n}}\n'
        )


def to_networkx(poset: Poset, *, closure: bool = False) -> networkx.DiGraph[Any]:
    """Return the graph of the covers, or of the closure; its nodes are the labels."""
    import networkx  # a slow import that only this function needs

    graph = networkx.DiGraph()
    graph.add_nodes_from(poset.items)
    graph.add_edges_from(poset.closure_pairs if closure else poset.cover_pairs)
    return graph


def from_networkx(graph: networkx.DiGraph[Any]) -> Poset:
    """Return the least order with the edges of a directed graph whose nodes are labels."""
    if not graph.is_directed():
        raise InputError("the graph is undirected; an order needs a networkx.DiGraph.")
    return Poset.from_pairs(((edge[0], edge[1]) for edge in graph.edges), items=list(graph.nodes))


def to_dot(poset: Poset, notes: Mapping[Pair, str] | None = None) -> str:
    """Return the Hasse diagram, earliest items on top, in the language of Graphviz.

    Labels stand in quotes only, never as node names, so that no label can be read as syntax.
    ``notes`` are written beside the covers that they are given for.
    """
    nodes = (f'  n{k} [label="{_dot_text(label)}"];' for k, label in enumerate(poset.items))
    edges = (
        f"  n{i} -> n{j}" + (f' [label="{_dot_text(note)}"];' if note else ";")
        for i, j, note in _noted_covers(poset, notes)
    )
    return "\n".join(["digraph order {", "  rankdir=TB;", *nodes, *edges, "}", ""])


def to_mermaid(poset: Poset, notes: Mapping[Pair, str] | None = None) -> str:
    """Return the Hasse diagram, earliest items on top, as a Mermaid flowchart.

    ``notes`` are written beside the covers that they are given for.
    """
    nodes = (f'  n{k}["{_mermaid_text(label)}"]' for k, label in enumerate(poset.items))
    edges = (
        f"  n{i} -->" + (f'|"{_mermaid_text(note)}"|' if note else "") + f" n{j}"
        for i, j, note in _noted_covers(poset, notes)
    )
    return "\n".join(["flowchart TB", *nodes, *edges, ""])


# -- JSON ----------------------------------------------------------------------------------------


def _order_of(content: object) -> Poset:
    if not isinstance(content, dict):
        raise InputError('holds no JSON object; expected {"items": ..., "covers": ...}.')
    items = _list_under("items", content)
    if items is None:
        raise InputError('has no "items", the list of all labels.')
    covers, closure = _list_under("covers", content), _list_under("closure", content)
    if closure is None:
        if covers is None:
            raise InputError('has neither "covers" nor "closure"; one of them is needed.')
        return Poset.from_covers(covers, items)
    order = Poset.from_closure(closure, items)
    if covers is not None and Poset.from_covers(covers, items) != order:
        raise InputError('"covers" and "closure" describe different orders. Keep one of them.')
    return order


def _list_under(key: str, content: dict[str, Any]) -> list[Any] | None:
    value = content.get(key)
    if value is not None and not isinstance(value, list):
        raise InputError(f'"{key}" is not a list.')
    return value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_lines(values: Iterable[object]) -> str:
    return ",".join(f"\n  {_json(value)}" for value in values)


# -- diagrams ------------------------------------------------------------------------------------

_LINE_BREAK = re.compile(r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Letters, digits and spaces mean themselves in Mermaid, and so do - and _ inside a word (markdown
# emphasis and lists start at its edge). All else may be syntax, markup, markdown or an icon.
_MERMAID_SPECIAL = re.compile(r"(?<![^\W_])[-_]|[-_](?![^\W_])|[^\w\s-]")


def _noted_covers(
    poset: Poset, notes: Mapping[Pair, str] | None
) -> list[tuple[int, int, str | None]]:
    found = notes or {}
    return [
        (i, j, found.get((poset.items[i], poset.items[j])))
        for i, j in np.argwhere(poset.covers).tolist()
    ]


def _plain_lines(label: str) -> list[str]:
    """Split a label into lines; other control characters become the replacement character."""
    return [_CONTROL.sub("\ufffd", line.replace("\t", " ")) for line in _LINE_BREAK.split(label)]


def _dot_text(label: str) -> str:
    # Inside quotes Graphviz reads backslash escapes and, unlike most languages, HTML entities.
    escaped = (
        line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
        for line in _plain_lines(label)
    )
    return "\\n".join(escaped)


def _mermaid_text(label: str) -> str:
    # Mermaid's own escape is #<code point>; and a line break is the one piece of markup we use.
    return "<br/>".join(
        _MERMAID_SPECIAL.sub(lambda match: f"#{ord(match[0])};", line)
        for line in _plain_lines(label)
    )

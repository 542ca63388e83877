"""A result in the languages of other programs: Graphviz, Mermaid, GraphML, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
import re

from posetta.errors import choice
from posetta.order.exchange import to_dot, to_mermaid
from posetta.posterior.findings import written
from posetta.posterior.posterior import Posterior

_NOT_XML = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
LANGUAGES = ("dot", "mermaid", "graphml", "csv", "json")


def export(posterior: Posterior, to: str, threshold: float = 0.5) -> str:
    """Return the decoded order as text in one of `LANGUAGES`.

    ``dot``, ``mermaid`` and ``graphml`` hold the covers with their probabilities, ``json`` the
    order file of `read_order`, and ``csv`` a line for every pair with all that is known of it.
    """
    choice(to, LANGUAGES, "to")
    order = posterior.decode(threshold)
    if to == "csv":
        return _csv(posterior, threshold)
    if to == "json":
        content = {
            "items": order.items,
            "covers": order.cover_pairs,
            "closure": order.closure_pairs,
        }
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    shown = {
        (first, then): written(posterior.probability(first, then))
        for first, then in order.cover_pairs
    }
    labels = {} if posterior.is_point else shown
    if to == "dot":
        return to_dot(order, labels)
    if to == "mermaid":
        return to_mermaid(order, labels)
    return _graphml(posterior, threshold)


def _csv(posterior: Posterior, threshold: float) -> str:
    from posetta.data.evidence import PairEvidence

    order = posterior.decode(threshold)
    before = PairEvidence.of(posterior.traces).before
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(
        ["a", "b", "pr_a_before_b", "pr_b_before_a", "pr_free", "traces_a_first", "traces_b_first",
         "decoded"]
    )  # fmt: skip
    precedence, free = posterior.precedence, posterior.incomparable
    for i, a in enumerate(posterior.items):
        for j, b in enumerate(posterior.items[i + 1 :], start=i + 1):
            decoded = "<" if order.closure[i, j] else ">" if order.closure[j, i] else ""
            numbers = (precedence[i, j], precedence[j, i], free[i, j])
            shares = [f"{number:.6g}" for number in numbers]
            lines.writerow([a, b, *shares, before[i, j], before[j, i], decoded])
    return file.getvalue()


def _graphml(posterior: Posterior, threshold: float) -> str:
    """Write GraphML with labels as attributes: any text may be a label, not any text an id."""
    import networkx

    number = {label: f"n{k}" for k, label in enumerate(posterior.items)}
    renamed = networkx.relabel_nodes(posterior.to_networkx(threshold), number)
    for label, name in number.items():
        renamed.nodes[name]["label"] = _xml_text(label)
    return "\n".join(networkx.generate_graphml(renamed, named_key_ids=True)) + "\n"


def _xml_text(label: str) -> str:
    """Return a label without the characters that no XML file may hold."""
    return _NOT_XML.sub("\ufffd", label)

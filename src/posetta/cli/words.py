"""Messages of the library in the words of the command line: ``--repeats first``, not repeats=."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

METHOD_OPTIONS = ("draws", "warmup", "chains", "thin", "max_seconds", "checkpoint")
"""Settings of a method that have an option of their own; the others are given by ``--set``."""
MODEL_OPTIONS = ("dim", "tau", "rho", "beta", "gamma", "noise")
"""Fields of the model that have an option."""

_VALUE = r"""("[^"]*"|'[^']*'|[-+\w.]+)"""
# Where the library's word is not the option's.
_RENAMED = {"n_items": "items", "n_traces": "traces", "n_test": "test"}
_NONE = {"noise": "infer", "ip_cov": "none"}
_PHRASES = (
    (re.compile(r"(--noise \S+ must lie in .*, or be) None to infer"), r"\1 the word infer"),
    (re.compile("or be None to infer"), "or be left out to be inferred"),
    (re.compile("or be None for i.i.d. traces"), "or be the word none for i.i.d. traces"),
    (re.compile(re.escape(" (overwrite=True)")), ""),
)
_PLAIN_WORD = re.compile(r"[-+\w.]+")
# Labels and file names stand in double quotes; so do values, after "=".
_QUOTED = re.compile(r'=?"[^"]*"')
# What to change is named bare after such a word: "Raise warmup and thin, or rungs."
_ADVICE = re.compile(r"\b(?:[Rr]aise|[Ll]ower|[Ll]eave|[Ff]ix|larger)\b[^.;:]*")


def printable(text: str) -> str:
    """Return a text whose control characters cannot reach the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def in_our_words(message: str, options: Iterable[str], settings: Iterable[str] = ()) -> str:
    """Rewrite names and ``name=value`` of options and settings as a user would type them.

    ``settings`` have no option of their own: they are given by ``--set``. What stands in double
    quotes is the user's own, and stays.

    >>> in_our_words('pass repeats="first" to keep the first', ["repeats"])
    'pass --repeats first to keep the first'
    >>> in_our_words("Raise warmup, or rungs.", ["warmup"], ["rungs"])
    'Raise --warmup, or --set rungs.'
    """
    known = {name.replace("-", "_") for name in options}
    typed = {name: f"--set {name}" for name in settings}
    typed |= {name: "--" + name.replace("_", "-") for name in known}
    typed |= {name: "--" + ours for name, ours in _RENAMED.items() if ours in known}
    if typed:
        message = _outside_quotes(message, lambda text: _typed(text, typed))
    for phrase, ours in _PHRASES:
        message = phrase.sub(ours, message)
    return message


def warning_words(warning: str, method: str) -> str:
    """Rewrite a warning of a fit with the options of ``posetta fit``."""
    from dataclasses import fields

    from posetta.infer.methods import METHODS

    known = METHODS.get(method)
    names = [field.name for field in fields(known.settings)] if known else []
    own = [name for name in names if name in METHOD_OPTIONS]
    others = [name for name in names if name not in METHOD_OPTIONS]
    return in_our_words(warning, [*MODEL_OPTIONS, *own], others)


def _outside_quotes(message: str, change: Callable[[str], str]) -> str:
    """Change a message but for what it quotes of the user's data."""
    parts = []
    end = 0
    for quoted in _QUOTED.finditer(message):
        if not quoted[0].startswith("="):
            parts += [change(message[end : quoted.start()]), quoted[0]]
            end = quoted.end()
    return "".join([*parts, change(message[end:])])


def _typed(text: str, typed: Mapping[str, str]) -> str:
    names = "|".join(sorted(map(re.escape, typed), key=len, reverse=True))
    # Not in a path such as runs/noise=0.1/a.csv.
    value = re.compile(rf"(?<![\w/\\-])({names})=(?>(\.\.\.|{_VALUE}))(?![/\\])")
    bare = re.compile(rf"(?<![\w=-])({names})(?![\w=])")

    def assigned(match: re.Match[str]) -> str:
        option = typed[match[1]]
        of_method = option.startswith("--set ")
        if match[2] == "...":
            return f"{option}=..." if of_method else f"{option} {match[1].upper()}"
        given = match[2].strip("\"'")
        given = _NONE.get(match[1], given) if given == "None" else given
        given = given if _PLAIN_WORD.fullmatch(given) else f'"{given}"'
        return option + ("=" if of_method else " ") + given

    def advised(match: re.Match[str]) -> str:
        return bare.sub(lambda name: typed[name[1]], match[0])

    return _ADVICE.sub(advised, value.sub(assigned, text))

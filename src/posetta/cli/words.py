"""Messages of the library in the words of the command line: ``--repeats first``, not repeats=."""

from __future__ import annotations

import re
from collections.abc import Iterable

_VALUE = r"""("[^"]*"|'[^']*'|[-+\w.]+)"""
# Where the library's word is not the option's.
_RENAMED = {"n_items": "items", "n_traces": "traces", "n_test": "test"}
_PLAIN_WORD = re.compile(r"[-+\w.]+")


def in_our_words(message: str, options: Iterable[str]) -> str:
    """Rewrite ``name=value`` and ``name=...`` of the given options as a user would type them.

    >>> in_our_words('pass repeats="first" to keep the first', ["repeats"])
    'pass --repeats first to keep the first'
    """
    known = {name.replace("-", "_") for name in options}
    names = {name: name for name in known}
    names |= {name: ours for name, ours in _RENAMED.items() if ours in known}
    message = message.replace(" (overwrite=True)", "")
    if not names:
        return message
    alternatives = "|".join(sorted(map(re.escape, names), key=len, reverse=True))

    def typed(match: re.Match[str]) -> str:
        option = "--" + names[match[1]].replace("_", "-")
        if match[2] is None or match[2] == "...":
            return f"{option} {names[match[1]].upper()}" if match[2] else option
        value = match[2].strip("\"'")
        return f"{option} {value}" if _PLAIN_WORD.fullmatch(value) else f'{option} "{value}"'

    return re.sub(rf"(?<![\w-])({alternatives})=(\.\.\.|{_VALUE})", typed, message)

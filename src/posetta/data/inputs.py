"""Which files do these words mean? Files, folders and patterns become a list of files."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path

from posetta.data.readers import FORMATS
from posetta.errors import InputError

SUFFIXES = tuple(suffix for known in FORMATS for suffix in known.suffixes)


def find_inputs(words: Iterable[str]) -> list[str]:
    """Return the files that the words name.

    A folder stands for the files in it whose ending names a format (``.csv``, ``.jsonl``, ...,
    also with ``.gz``), by name, hidden ones left out. A word that is no path and holds ``*``,
    ``?`` or ``[`` is a pattern. ``-`` and all else are handed on as they are.
    """
    found: list[str] = []
    for word in words:
        if word != "-" and Path(word).is_dir():
            inside = [str(path) for path in sorted(Path(word).iterdir()) if _readable(path)]
            if not inside:
                raise InputError(
                    f"{word}: no file in this folder ends in {', '.join(SUFFIXES)}. Name a file."
                )
            found += [path for path in inside if path not in found]
        elif glob.has_magic(word) and not Path(word).exists():
            matching = sorted(glob.glob(word, recursive=True))  # noqa: PTH207 (may be absolute)
            files = [path for path in matching if Path(path).is_file()]
            if not files:
                raise InputError(f"{word}: no file matches this pattern.")
            found += [path for path in files if path not in found]
        else:
            found.append(word)
    return found


def _readable(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    return path.is_file() and not name.startswith(".") and name.endswith(SUFFIXES)

"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, TextIO, cast

from posetta.errors import InputError


@contextmanager
def atomic_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Give a UTF-8 file to write in, and move it to ``path`` when all is written.

    If anything fails on the way, or the run is interrupted, the destination is as it was before.
    A link is followed: it goes on to lead there.
    """
    with _whole(path, text=True) as file:
        yield cast(TextIO, file)


@contextmanager
def atomic_bytes(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a binary file to write in; otherwise as `atomic_text`."""
    with _whole(path, text=False) as file:
        yield cast(BinaryIO, file)


@contextmanager
def _whole(path: str | os.PathLike[str], *, text: bool) -> Iterator[IO[str] | IO[bytes]]:
    target = Path(os.path.realpath(path))
    unfinished = target.parent / f".{target.name}-{secrets.token_hex(4)}-new"
    try:
        with (
            unfinished.open("w", encoding="utf-8", newline="\n") if text else unfinished.open("wb")
        ) as file:
            yield file
        unfinished.replace(target)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror or error}. Check the folder."
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)

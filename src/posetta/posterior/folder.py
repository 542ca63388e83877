"""A folder of results: written beside its destination, then moved into place."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posetta.errors import InputError

# What each verb writes. Overwriting replaces files of the same kind of folder and nothing else: a
# simulation is never removed to make room for a result.
RESULT_FILES = frozenset(
    {"result.json", "posterior.nc", "report.html", "hasse.svg", "settings.toml", "held-out.jsonl"}
)
SIMULATION_FILES = frozenset({"train.jsonl", "test.jsonl", "order.json"})


@contextmanager
def staged_folder(
    folder: str | os.PathLike[str], *, ours: frozenset[str], overwrite: bool
) -> Iterator[Path]:
    """Give a folder to write in, and move it to its place when all is written.

    ``ours`` names the files that may be replaced. If anything fails on the way, or the run is
    interrupted, the destination is as it was before. A link is followed: it goes on to lead there.
    """
    check_free(folder, ours=ours, overwrite=overwrite)
    target = Path(os.path.realpath(folder))
    mark = secrets.token_hex(4)
    staging = target.with_name(f".{target.name}-{mark}-new")
    aside = target.with_name(f".{target.name}-{mark}-old")
    try:
        staging.mkdir(parents=True)
        yield staging
        check_free(folder, ours=ours, overwrite=overwrite)  # the work may have taken hours
        if target.exists():
            target.replace(aside)
        staging.replace(target)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}.") from None
    finally:
        # Whatever happened, and wherever: without a new folder in place, the old one goes back.
        if aside.exists() and not target.exists():
            aside.replace(target)
        shutil.rmtree(staging, ignore_errors=True)
        shutil.rmtree(aside, ignore_errors=True)


def check_free(folder: str | os.PathLike[str], *, ours: frozenset[str], overwrite: bool) -> None:
    """Refuse a destination that holds something or cannot be written, before any work is done.

    With ``overwrite`` a folder may hold the files named in ``ours``, but nothing else.
    """
    target = Path(folder)
    if target.is_file():
        raise InputError(f"{target} is a file. Name a folder.")
    # The folder is made beside its place and then moved there, so its parent must take it.
    place = Path(os.path.realpath(target)).parent
    while not place.exists():
        place = place.parent
    try:  # permissions alone do not tell, for the superuser or on a read-only disk
        Path(tempfile.mkdtemp(prefix=".", dir=place)).rmdir()
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{folder} cannot be written: {why} ({place}).") from None
    if not target.is_dir():
        return
    held = sorted(path.name for path in target.iterdir())
    foreign = [name for name in held if name not in ours]
    if foreign:
        raise InputError(
            f'{target} holds "{foreign[0]}", which is never replaced. Choose another folder.'
        )
    if held and not overwrite:
        raise InputError(
            f"{target} holds earlier results. Choose another folder, or replace them with "
            "--force (overwrite=True)."
        )

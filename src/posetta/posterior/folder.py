"""A folder of results: written beside its destination, then moved into place."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posetta.errors import InputError

# What Posetta writes. Overwriting removes these and nothing else.
OUR_FILES = {
    "result.json",
    "posterior.nc",
    "report.html",
    "hasse.svg",
    "train.jsonl",
    "test.jsonl",
    "order.json",
}


@contextmanager
def staged_folder(folder: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """Give a folder to write in, and move it to its place when all is written.

    If anything fails on the way, the destination is as it was before.
    """
    target = Path(folder)
    check_free(target, overwrite=overwrite)
    staging = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        yield staging
        staging.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        staging.replace(target)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror or error}.") from None
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)


def check_free(folder: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Refuse a destination that holds something, before any work is done for it.

    With ``overwrite`` a folder may hold earlier results, but nothing that is not ours.
    """
    target = Path(folder)
    if target.is_file():
        raise InputError(f"{target} is a file. Name a folder.")
    if not target.is_dir():
        return
    held = sorted(path.name for path in target.iterdir())
    foreign = [name for name in held if name not in OUR_FILES]
    if foreign:
        raise InputError(
            f'{target} holds "{foreign[0]}", which Posetta did not write. Choose another folder.'
        )
    if held and not overwrite:
        raise InputError(
            f"{target} holds earlier results. Choose another folder, or replace them with "
            "--force (overwrite=True)."
        )

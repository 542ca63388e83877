"""Checkpoints of a Hard-MCMC run: one file that appears whole, and fits one run only."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from posetta.atomic import atomic_bytes
from posetta.errors import InputError, SettingError
from posetta.plain import plain

_FORMAT = 5


def save(
    path: Path, identity: Mapping[str, Any], chains: Sequence[Mapping[str, Any]], seconds: float
) -> None:
    """Write the frozen chains of a run that took ``seconds``; ``identity`` says which run it is."""
    arrays: dict[str, Any] = {}
    heads = []
    for c, frozen in enumerate(chains):
        heads.append({key: frozen[key] for key in ("done", "generator")})
        arrays |= {
            f"{c}/{name}": array for name, array in frozen.items() if isinstance(array, np.ndarray)
        }
    head = json.dumps(
        plain({"format": _FORMAT, "identity": identity, "seconds": seconds, "chains": heads})
    )
    with atomic_bytes(path) as file:
        np.savez(file, head=np.array(head), **arrays)


def load(path: Path, identity: Mapping[str, Any]) -> tuple[list[dict[str, Any]], float]:
    """Read the frozen chains of the run ``identity`` and its seconds; refuse those of another."""
    try:
        with np.load(path) as file:
            head = json.loads(str(file["head"]))
            arrays = {name: file[name] for name in file.files if name != "head"}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path}: is not a checkpoint, or is damaged. Delete it to start anew, or name "
            "another file."
        ) from error
    if head.get("format") != _FORMAT:
        raise InputError(
            f"{path}: was written by another version of Posetta. Delete it to start anew."
        )
    other = [name for name, value in identity.items() if head["identity"].get(name) != value]
    if other:
        raise SettingError(
            f"checkpoint={str(path)!r} is of another run: {', '.join(other)} differ. "
            "Name another file, or delete it to start anew."
        )
    chains = []
    for c, part in enumerate(head["chains"]):
        mine = {
            name.split("/", 1)[1]: array
            for name, array in arrays.items()
            if name.startswith(f"{c}/")
        }
        chains.append({**mine, **part})
    return chains, float(head["seconds"])

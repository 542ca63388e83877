"""One seed in, independent children out.

A child is addressed by *what it is for*, not by when it was asked for: ``child(7, "hard", 2)`` is
the stream of chain 2 of method "hard" whether two or eight chains run, on any number of cores.
"""

from __future__ import annotations

import zlib

import numpy as np

from posetta.errors import SettingError


def child(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return the generator that belongs to ``purpose`` under ``seed``."""
    return np.random.Generator(np.random.PCG64(seed_sequence(seed, *purpose)))


def seed_sequence(seed: int, *purpose: str | int) -> np.random.SeedSequence:
    """Return the seed sequence that belongs to ``purpose`` under ``seed``."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise SettingError(f"seed={seed!r} is not a whole number of at least 0.")
    key = tuple(zlib.crc32(p.encode()) if isinstance(p, str) else int(p) for p in purpose)
    return np.random.SeedSequence(int(seed), spawn_key=key)

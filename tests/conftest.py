from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets, which is not part of the project; skips where absent."""
    beside_the_project = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("POSETTA_DATA", beside_the_project))
    if not folder.is_dir():
        pytest.skip(f"no public data at {folder}: set POSETTA_DATA to the folder that holds them")
    return folder

"""Importing Posetta and asking for help load nothing heavy and compile nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "numba", "llvmlite", "nutpie", "arviz", "jax", "matplotlib", "scipy", "xarray", "pandas",
    "networkx",
)  # fmt: skip


def loaded_after(code: str) -> set[str]:
    probe = f"{code}\nimport sys\nprint('\\x00'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split("\n")[-2].split("\x00")}


@pytest.mark.parametrize(
    "code",
    [
        "import posetta",
        "from posetta.cli import main\nassert main(['--help']) == 0",
        "from posetta.cli import main\nassert main(['fit', '--help']) == 0",
        "import posetta.order, posetta.data",
        "from posetta.cli import main\nassert main(['suite', 'run', '--help']) == 0",
        "import posetta.suite.executors",
    ],
)
def test_light_imports(code: str) -> None:
    assert loaded_after(code).isdisjoint(HEAVY)


def test_the_probe_sees_heavy_modules() -> None:
    assert "numba" in loaded_after("import posetta\nposetta.fit")

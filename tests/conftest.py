from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]


def _cache_for_these_kernels() -> Path:
    """A compiled-code folder of its own for each state of the compiled sources.

    numba decides by the time stamp of ONE file whether compiled code is fresh; a kernel that calls
    a function of another file would survive a change of that function.
    """
    digest = hashlib.sha256()
    for path in sorted((_ROOT / "src").rglob("*.py")):
        source = path.read_bytes()
        # Kernels and what they call: all of infer/hard (its constants too), and whoever uses numba.
        if b"numba" in source or path.parent.name == "hard":
            digest.update(source)
    return _ROOT / ".pytest_cache" / "numba" / digest.hexdigest()[:16]


# Before anything imports numba, which reads it once.
os.environ["NUMBA_CACHE_DIR"] = str(_cache_for_these_kernels())
# A shell starts background jobs with Ctrl-C ignored, and programs inherit that: tests that
# interrupt would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Most of the flow tests' time is XLA's compiler; they need its code correct, not fast.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets, which is not part of the project; skips where absent."""
    beside_the_project = _ROOT.parent / "shared" / "data"
    folder = Path(os.environ.get("POSETTA_DATA", beside_the_project))
    if not folder.is_dir():
        pytest.skip(f"no public data at {folder}: set POSETTA_DATA to the folder that holds them")
    return folder

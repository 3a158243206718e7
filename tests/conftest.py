"""Fixtures for all tests."""

import hashlib
import os
from pathlib import Path

# Numba's cache notices a change in a function's own file, but not in another file that it calls. A cache of its own for
# every state of the compiled code keeps stale machine code out of the tests. This must be set before Numba is imported.
_SOURCE = Path(__file__).resolve().parents[1] / "src" / "relaxwl"
_FILES = sorted([*_SOURCE.rglob("*_compiled.py"), *_SOURCE.rglob("_compiling.py")])
_COMPILED = hashlib.sha256(b"".join(path.read_bytes() for path in _FILES)).hexdigest()[:16]
# Numba's key does not know either whether indices are checked.
_COMPILED += "-bounds" if os.environ.get("NUMBA_BOUNDSCHECK") == "1" else ""
os.environ.setdefault("NUMBA_CACHE_DIR", str(_SOURCE.parents[1] / "build" / "numba" / _COMPILED))

import hypothesis  # noqa: E402
import pytest  # noqa: E402

# No deadlines: the first call of a compiled function takes seconds, and machines are noisy.
hypothesis.settings.register_profile("relaxwl", deadline=None, derandomize=True)
hypothesis.settings.load_profile("relaxwl")


def unavailable(what: str) -> None:
    """Skip with a reason on a user's machine; in CI nothing may be silently left out."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and CI must not skip what needs it")
    pytest.skip(f"{what} is not available here")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder with the benchmark data and golden files that lies beside the checkout."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "data").is_dir():
        unavailable("the folder ../shared with the benchmark data")
    return folder

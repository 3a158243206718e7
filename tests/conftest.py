"""Fixtures for all tests."""

import os
from pathlib import Path

# Numba's key does not know whether indices are checked. This must be set before Numba is imported.
if os.environ.get("NUMBA_BOUNDSCHECK") == "1":
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parents[1] / "build" / "numba-bounds"))

import hypothesis
import pytest

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

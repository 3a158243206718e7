"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest


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

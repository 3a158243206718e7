"""Benchmark sets for the tests of the baselines."""

import pytest

from relaxwl.datasets.tu import load_tu


@pytest.fixture(scope="session")
def load(shared):
    """Load one of the benchmark sets by name."""
    return lambda name: load_tu(shared / "data" / f"{name}.zip")[0]

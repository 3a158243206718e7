"""Fixtures for all tests."""

import os
from pathlib import Path

# Numba's key does not know whether indices are checked. This must be set before Numba is imported.
if os.environ.get("NUMBA_BOUNDSCHECK") == "1":
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parents[1] / "build" / "numba-bounds"))

import hypothesis
import numpy as np
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


@pytest.fixture(scope="session")
def dataset(tmp_path_factory):
    """Return the folder of a small data set in TU layout: ego networks with their degrees as labels."""
    from relaxwl.datasets import make_egonets  # not for tests that look at what is imported

    folder = tmp_path_factory.mktemp("data") / "TINY"
    folder.mkdir()
    graphs, y = make_egonets(24, n_nodes=20, random_state=0)
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    edges = np.column_stack([sources, graphs.indices]) + 1
    np.savetxt(folder / "TINY_A.txt", edges, fmt="%d", delimiter=", ")
    np.savetxt(folder / "TINY_graph_indicator.txt", graphs.graph_of_node + 1, fmt="%d")
    np.savetxt(folder / "TINY_graph_labels.txt", y, fmt="%d")
    np.savetxt(folder / "TINY_node_labels.txt", np.minimum(graphs.degrees, 5), fmt="%d")
    return folder

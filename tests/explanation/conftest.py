"""An explanation of planted patterns."""

import pytest

from explanation.planted import planted
from relaxed_kernels import optimized
from relaxwl.explanation import explain


@pytest.fixture(scope="session")
def explanation():
    """Explain graphs with and without the planted pattern."""
    graphs, y = planted()
    kernel = optimized(max_depth=2, n_partitions=2, n_clusters=2.0, random_state=0)
    return explain(kernel, graphs, y, n_permutations=199)

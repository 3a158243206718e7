"""A contributor: a kernel of one's own beside ours, from a module in the working folder."""

import json

import numpy as np

import relaxwl as package
from journeys.steps import relaxwl, walk

MODULE = '''"""Graphs compared by their numbers of nodes and edges."""

import numpy as np

from relaxwl.kernels.base import GraphKernel


class Sizes(GraphKernel):
    """A kernel on two numbers."""

    def __init__(self, scale=1.0, n_jobs=None):
        self.scale = scale
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Nothing to learn."""
        self.n_graphs_ = len(X)
        return self

    def fit_prepare(self, X):
        """Fit, and return what comparing takes."""
        return self.fit(X).prepare(X)

    def prepare(self, X):
        """Return the two numbers of each graph."""
        return np.column_stack([X.node_counts, X.edge_counts]) * self.scale

    def compare(self, x, y=None, settings=({},)):
        """Return a matrix for each setting."""
        other = x if y is None else y
        return [np.exp(-np.square(x[:, None] - other[None]).sum(axis=2) / 10) for _ in settings]
'''


def journey(folder):
    """Walk the journey."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(3, 9, 40)
    graphs = package.GraphCollection.from_edges([(n, [(i, i + 1) for i in range(n - 1)]) for n in sizes.tolist()])
    package.datasets.write_tu(folder / "SIZES.zip", graphs, (sizes > 5).astype(int))
    (folder / "my_kernels.py").write_text(MODULE)

    unknown = relaxwl(folder, "benchmark", "SIZES.zip", "--kernels", "my_kernels:Absent", "--out", "r", code=2)[1]
    assert "my_kernels" in unknown
    assert not (folder / "r").exists()
    run = ("benchmark", "SIZES.zip", "--kernels", "wl", "my_kernels:Sizes", "--folds", "3", "--repeats", "1", "--json")
    cells = {cell["kernel"]: cell["mean"] for cell in json.loads(relaxwl(folder, *run, "--out", "r")[0])}
    assert len(cells) == 2
    assert min(cells.values()) > 0.9

    class Costly(package.EditCost):
        """What a contributor tries first: a cost of one's own."""

    cost = package.EditCost.from_callable(lambda a, b: 0.0 if a == b else 1.0)
    kernel = package.RelaxedWeisfeilerLehman(1, 1, "sqrt", cost=cost, random_state=0).fit(graphs)
    assert kernel.kernel_matrix(graphs).shape == (40, 40)


if __name__ == "__main__":
    walk(journey)

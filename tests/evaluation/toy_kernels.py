"""Kernels that remember, cheat, dawdle and fail, and what is compared of two runs."""

import numpy as np

from relaxwl._execution import TimeLimitReached
from relaxwl.kernels.base import GraphKernel

QUICK = {"n_folds": 4, "n_repeats": 2, "C": (0.125, 8.0), "dataset": "toy"}
TIMES = {"fit_seconds", "gram_seconds", "transform_seconds", "svm_seconds"}
NOT_COMPARED = {*TIMES, "peak_memory_mb", "finished_at", "n_jobs"}


def comparable(results):
    """What two runs must agree on: everything but times."""
    return [{name: v for name, v in vars(record).items() if name not in NOT_COMPARED} for record in results.folds]


class Spy(GraphKernel):
    """A kernel that writes down which graphs it met; each graph is told apart by its number of nodes."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y=None):
        Spy.seen.append(("fit", X.node_counts.tolist(), y))
        return self

    def kernel_matrix(self, X, Y=None):
        if Y is not None:
            Spy.seen.append(("between", X.node_counts.tolist(), Y.node_counts.tolist()))
        a, b = X.node_counts, X.node_counts if Y is None else Y.node_counts
        return np.minimum(a[:, None], b).astype(float)


class Noise(GraphKernel):
    """A kernel that depends on its seed alone, to see seeds arrive."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        return self

    def kernel_matrix(self, X, Y=None):
        features = np.random.default_rng(self.random_state).standard_normal((len(X), 3))
        return features @ features.T


class Slow(GraphKernel):
    """A kernel that never gets ready in time."""

    def fit(self, X, y=None):
        raise TimeLimitReached("the time limit of 1 seconds was reached")


class Huge(GraphKernel):
    """A kernel that needs more memory than there is."""

    def fit(self, X, y=None):
        raise MemoryError("this needs 10 TB")


class Broken(GraphKernel):
    def fit(self, X, y=None):
        return self

    def kernel_matrix(self, X, Y=None):
        return np.full((len(X), len(X)), np.nan)

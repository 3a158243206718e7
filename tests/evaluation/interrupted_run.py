"""Run by test_protocol.py as a process of its own: an evaluation that stands still after a number of folds."""

import sys
import time

from evaluation.small_data import random_graphs
from relaxwl.evaluation import ResultStore, cross_validate
from relaxwl.kernels import WeisfeilerLehman


class PausingStore(ResultStore):
    """A store that never returns once it holds ``limit`` folds (0: no limit)."""

    limit = 0

    def append(self, records):
        super().append(records)
        if self.limit and len(self.load().folds) >= self.limit:
            time.sleep(600)


if __name__ == "__main__":
    protocol, path, limit = sys.argv[1:]
    store = PausingStore(path)
    store.limit = int(limit)
    graphs, y = random_graphs(40)
    kernels = {"deep": WeisfeilerLehman(max_depth=2), "shallow": WeisfeilerLehman(max_depth=1)}
    cross_validate(kernels, graphs, y, protocol=protocol, n_folds=4, n_repeats=3, C=(0.125, 8.0), store=store)

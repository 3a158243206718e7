"""How R-WL* grows with labels, degree, rows and clusters, one of them at a time.

Run ``python benchmarks/growth.py [--plot FILE]``. Random graphs of 40 nodes (200 of them, 8 labels, mean degree 6
where nothing else is said); depth 3, one partition, one thread. Processor time of fitting with k-means and with one
assignment (``max_iter=0``), the least of three rounds, and for the size of things the distinct trees of depths 1 to 3.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from relaxwl import GraphCollection, RelaxedWeisfeilerLehman

USUAL: dict[str, float] = {"graphs": 200, "labels": 8, "degree": 6, "clusters": 1.0}
GROWING: dict[str, tuple[float, ...]] = {
    "labels": (1, 2, 4, 8, 16, 32, 64),
    "degree": (2, 4, 8, 16, 32),
    "graphs": (50, 100, 200, 400, 800),
    "clusters": (0.5, 1.0, 2.0, 4.0, 8.0),
}


def random_graphs(n_graphs: int, n_labels: int, degree: float, n_nodes: int = 40, seed: int = 0) -> GraphCollection:
    """Make random graphs with labels and edges drawn uniformly."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(n_graphs):
        edges = np.argwhere(np.triu(rng.random((n_nodes, n_nodes)) < degree / (n_nodes - 1), 1))
        graphs.append((n_nodes, edges.tolist(), rng.integers(n_labels, size=n_nodes).tolist()))
    return GraphCollection.from_edges(graphs)


def measured(setting: dict[str, float]) -> tuple[int, float, float]:
    """Return the number of trees, and the seconds of a fit and of one assignment."""
    graphs = random_graphs(int(setting["graphs"]), int(setting["labels"]), setting["degree"])
    seconds = []
    for max_iter in (None, 0):
        kernel = RelaxedWeisfeilerLehman(3, 1, n_clusters=setting["clusters"], max_iter=max_iter, random_state=0)
        times = []
        for _ in range(3):
            start = time.process_time()
            kernel.fit(graphs)
            times.append(time.process_time() - start)
        seconds.append(min(times))
    return sum(int(level.n_trees.sum()) for level in kernel.partitions_[0][1:]), seconds[0], seconds[1]


def draw(found: dict[str, list[Any]], file: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(3 * len(found), 2.6), sharey=True, layout="constrained")
    for axis, (name, rows) in zip(axes, found.items(), strict=True):
        values = [row[0] for row in rows]
        axis.loglog(values, [1e6 * row[2] / row[1] for row in rows], "o-", label="k-means")
        axis.loglog(values, [1e6 * row[3] / row[1] for row in rows], "s--", label="one assignment")
        axis.set_xlabel({"clusters": "clusters / √trees", "degree": "mean degree"}.get(name, name))
        axis.set_xticks(values, [f"{value:g}" for value in values])
        axis.minorticks_off()
    axes[0].set_ylabel("µs a tree")
    axes[0].legend(frameon=False)
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    measured(USUAL | {"graphs": 20})  # compile
    found: dict[str, list[Any]] = {}
    for name, values in GROWING.items():
        print(f"\n{name:>9}{'trees':>9}{'k-means':>11}{'µs a tree':>11}{'no round':>11}{'µs a tree':>11}")
        for value in values:
            n_trees, fit, once = measured(USUAL | {name: value})
            found.setdefault(name, []).append((value, n_trees, fit, once))
            print(
                f"{value:>9g}{n_trees:>9}{fit:>9.3f} s{1e6 * fit / n_trees:>11.1f}{once:>9.3f} s"
                f"{1e6 * once / n_trees:>11.1f}",
                flush=True,
            )
    if arguments.plot:
        draw(found, arguments.plot)


if __name__ == "__main__":
    main()

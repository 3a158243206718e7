"""How R-WL* grows with labels, degree, rows and clusters, one of them at a time; and what many small graphs cost.

Run ``python benchmarks/growth.py [--plot FILE]`` or ``--graphs 10000 100000 1000000``, which makes so many random trees
of 10 nodes in two classes and prints the processor time of WL features (unary code, depth 2), of R-WL* features (depth
2, one partition), of a linear model of the WL features, and up to ``--most`` graphs of a whole ``GraphClassifier``.
``--crossing 2500 5000 10000`` fits ``GraphClassifier`` to so many graphs of DBLP_v1 and Tox21_AHR by Gram matrices and
as a linear model, and prints cross-validated scores beside processor times.

Without ``--graphs``: random graphs of 40 nodes (200 of them, 8 labels, mean degree 6
where nothing else is said); depth 3, one partition, one thread. Processor time of fitting with k-means and with one
assignment (``max_iter=0``), the least of three rounds, and for the size of things the distinct trees of depths 1 to 3.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from relaxwl import GraphClassifier, GraphCollection, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl._memory import forget_peak_memory, peak_memory
from relaxwl.datasets import load_tu
from relaxwl.learning.heads import LinearClassifier
from relaxwl.predictors import base

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

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


def random_trees(n_graphs: int, n_nodes: int = 10, seed: int = 0) -> tuple[GraphCollection, Any]:
    """Make random trees in two classes: the labels of the second are less even, and its trees deeper."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_graphs)
    numbers = np.arange(1, n_nodes)
    reach = np.where(y[:, None] == 1, np.minimum(numbers, 3), numbers)
    parents = numbers - 1 - (rng.random((n_graphs, n_nodes - 1)) * reach).astype(np.int64)
    first = n_nodes * np.arange(n_graphs)[:, None]
    ends = np.concatenate([(first + numbers).ravel(), (first + parents).ravel()])
    others = np.roll(ends, len(ends) // 2)
    order = np.lexsort((others, ends))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_graphs * n_nodes))])
    labels = (rng.random((n_graphs, n_nodes)) ** np.where(y[:, None] == 1, 1.2, 1.0) * 8).astype(np.int32).ravel()
    offsets = n_nodes * np.arange(n_graphs + 1)
    return GraphCollection(offsets, indptr, others[order], node_codes=labels, node_vocabulary=tuple(range(8))), y


def many_graphs(n_graphs: int, with_predictor: bool) -> None:
    """Print what features and linear models of many small graphs cost."""
    graphs, y = random_trees(n_graphs)
    forget_peak_memory()
    features: list[Any] = []
    wl = WeisfeilerLehman(2, similarity="intersection", normalize=True)
    relaxed = RelaxedWeisfeilerLehman(2, 1, "sqrt", max_iter=0, similarity="dot", random_state=0)
    steps = {
        "WL features": lambda: features.append(wl.fit_transform(graphs)),
        "linear model of them": lambda: LinearClassifier().fit(features[0], y),
        "R-WL* features": lambda: relaxed.fit_transform(graphs),
    }
    if with_predictor:
        steps["GraphClassifier().fit"] = lambda: GraphClassifier(random_state=0).fit(graphs, y)
    for name, step in steps.items():
        start = time.process_time()
        step()
        seconds, peak = time.process_time() - start, (peak_memory() or 0.0) / 2**20
        print(f"{n_graphs:>9} {name:<26}{seconds:>9.2f}{1e6 * seconds / n_graphs:>12.1f}{peak:>9.0f}", flush=True)


def crossing(sizes: list[int]) -> None:
    """Print scores and times of Gram matrices and of linear models on the first graphs of shuffled data sets."""
    for name, scoring in (("DBLP_v1", "accuracy"), ("Tox21_AHR", "roc_auc")):
        graphs, y = load_tu(DATA / f"{name}.zip")
        order = np.random.default_rng(0).permutation(len(graphs))
        for size in (100, *(size for size in sizes if size <= len(graphs))):  # the first compiles
            some = np.sort(order[:size])
            for way, limit in (("Gram matrices", size), ("linear model", 0)):
                base.MATRICES_UP_TO = base.LINEAR_FROM = limit
                start = time.process_time()
                model = GraphClassifier(scoring=scoring, random_state=0).fit(graphs[some], y[some])
                seconds = time.process_time() - start
                print(f"{name:<10}{size:>7} {way:<14} {scoring} {model.report_.score:.4f}{seconds:>8.1f} s", flush=True)


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
    parser.add_argument(
        "--graphs", type=int, nargs="+", help="numbers of small graphs to measure features and models on"
    )
    parser.add_argument("--most", type=int, default=10**5, help="graphs up to which GraphClassifier is fitted")
    parser.add_argument("--crossing", type=int, nargs="+", help="numbers of graphs to compare the two ways on")
    arguments = parser.parse_args()
    if arguments.crossing:
        crossing(arguments.crossing)
        return
    if arguments.graphs:
        print(f"{'graphs':>9} {'what':<26}{'seconds':>9}{'µs a graph':>12}{'peak MB':>9}")
        for n_graphs in (1000, *arguments.graphs):  # the first compiles
            many_graphs(n_graphs, n_graphs <= arguments.most)
        return
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

"""Numbers that describe a data set."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._progress import printable
from relaxwl.evaluation.records import DatasetRecord
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.inputs import as_collection
from relaxwl.unfolding import leaves, refine

# Depth up to which distinct trees are counted: the depth to which the paper's kernels go.
TREE_DEPTH = 4


def describe_dataset(
    name: str,
    graphs: Any,
    y: Sequence[Any],
    *,
    fingerprint: str = "",
    tree_depth: int = TREE_DEPTH,
    n_jobs: int | None = None,
) -> DatasetRecord:
    """Return the row of the data-set table.

    Parameters
    ----------
    name : str
        What the data set is called.
    graphs : GraphCollection or anything that ``relaxwl.as_collection`` accepts
        The graphs.
    y : sequence
        Their classes.
    fingerprint : str
        What identifies graphs and classes, if that is known.
    tree_depth : int
        Depth up to which distinct unfolding trees are counted.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])])
    >>> record = describe_dataset("two", graphs, ["path", "triangle"])
    >>> record.n_edges, record.mean_degree, record.distinct_trees
    (5, 1.6666666666666667, [1, 2, 3, 3, 3])
    """
    graphs = as_collection(graphs)
    classes, sizes = np.unique(np.asarray(y), return_counts=True)
    attributes = graphs.node_attributes
    rows, ids = leaves(graphs.node_codes)
    distinct_trees = [len(rows)]
    for _ in range(tree_depth):
        rows, ids = refine(graphs, graphs.node_codes, ids, len(rows), n_jobs=n_jobs)
        distinct_trees.append(len(rows))
    return DatasetRecord(
        name=name,
        fingerprint=fingerprint,
        n_graphs=len(graphs),
        class_sizes={printable(str(label)): int(size) for label, size in zip(classes, sizes, strict=True)},
        n_nodes=graphs.n_nodes,
        n_edges=graphs.n_edges,
        mean_nodes=_mean(graphs.node_counts),
        mean_edges=_mean(graphs.edge_counts),
        mean_density=_mean(densities(graphs)),
        mean_degree=2 * graphs.n_edges / graphs.n_nodes if graphs.n_nodes else 0.0,
        n_node_labels=None if graphs.node_vocabulary is None else len(graphs.node_vocabulary),
        n_edge_labels=None if graphs.edge_vocabulary is None else len(graphs.edge_vocabulary),
        n_node_attributes=None if attributes is None else attributes.shape[1],
        distinct_trees=distinct_trees,
    )


def densities(graphs: GraphCollection) -> Float64:
    """Return the share of node pairs of each graph that are edges; 0 for graphs with fewer than two nodes."""
    n_pairs = graphs.node_counts * (graphs.node_counts - 1) / 2
    return np.asarray(np.divide(graphs.edge_counts, n_pairs, out=np.zeros(len(graphs)), where=n_pairs > 0))


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def indistinguishable_graphs(graphs: Any, n_jobs: int | None = None) -> NDArray[np.int64]:
    """Return a number for each graph, the same for graphs that no Weisfeiler-Lehman refinement tells apart.

    Node labels and directions count, edge labels do not.

    Examples
    --------
    >>> hexagon = (6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)])
    >>> triangles = (6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    >>> indistinguishable_graphs(GraphCollection.from_edges([hexagon, triangles, (6, [])]))
    array([0, 0, 1])
    """
    seen = (collection := as_collection(graphs)).seen("both")
    edges = seen.edge_codes if seen.directed else None
    rows, ids = leaves(collection.node_codes)
    while True:
        finer, deeper = refine(
            seen, collection.node_codes, ids, len(rows), edge_codes=edges, n_edge_codes=2 if seen.directed else 1,
            n_jobs=n_jobs,
        )  # fmt: skip
        if len(finer) == len(rows):  # a refinement that splits nothing never will
            break
        rows, ids = finer, deeper
    spans = zip(collection.offsets[:-1], collection.offsets[1:], strict=True)
    keys = [np.sort(ids[start:stop]).tobytes() for start, stop in spans]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], np.int64)


def accuracy_bound(groups: NDArray[np.int64], y: Sequence[Any]) -> float:
    """Return the largest accuracy of anything that cannot tell the graphs of a group apart.

    >>> accuracy_bound(np.array([0, 0, 0, 1]), ["a", "a", "b", "b"])
    0.75
    """
    best: dict[int, int] = {}
    for (group, _), count in Counter(zip(groups.tolist(), np.asarray(y).tolist(), strict=True)).items():
        best[group] = max(best.get(group, 0), count)
    return sum(best.values()) / len(groups) if len(groups) else 1.0

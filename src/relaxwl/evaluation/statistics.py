"""Statistics of data sets."""

from collections.abc import Sequence
from typing import Any

import numpy as np

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
        Name of the data set.
    graphs : GraphCollection or anything that ``relaxwl.as_collection`` accepts
        The graphs.
    y : sequence
        Their classes.
    fingerprint : str, default=""
        Fingerprint of graphs and classes, if it is known.
    tree_depth : int, default=4
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

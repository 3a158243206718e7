"""Graphs in the manner of PyTorch Geometric: objects whose tensors are called edge_index, x and edge_attr."""

from typing import Any

import numpy as np

from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.graphs.building import as_names, check_symmetric
from relaxwl.inputs.reading import Names, Parts, build

KIND = "a PyTorch Geometric graph"


def recognise(item: Any) -> bool:
    """Whether the item has edges as PyTorch Geometric's Data has them."""
    return hasattr(item, "edge_index")


def read(graphs: list[Any], names: Names) -> GraphCollection:
    """Read the tensors of each object."""
    return build([_parts(graph, names, index) for index, graph in enumerate(graphs)])


def _parts(graph: Any, names: Names, index: int) -> Parts:
    """Read the tensors of an object in the manner of PyTorch Geometric's ``Data``."""
    arcs = as_array(graph.edge_index) if graph.edge_index is not None else np.empty((2, 0), np.int64)
    if arcs.ndim != 2 or arcs.shape[0] != 2:
        raise GraphError(index, f"edge_index must have shape (2, n_edges), not {arcs.shape}")
    columns: dict[str, Any] = {}
    for kind, default in (("node", "x"), ("edge", "edge_attr")):
        label = getattr(names, f"{kind}_label")
        wanted = getattr(names, f"{kind}_attributes")
        if wanted is None and label != default and getattr(graph, default, None) is not None:
            wanted = default
        columns[f"{kind}_labels"] = None if label is None else _labels(graph, label, index)
        arrays = [_array_of(graph, name, index) for name in as_names(wanted)]
        columns[f"{kind}_attributes"] = _vectors(arrays, index)
    n_nodes = _node_count(graph, index)
    parts = Parts(n_nodes, arcs.T if arcs.size else [], **columns)
    if not names.symmetrize and arcs.size and arcs.min() >= 0 and arcs.max() < n_nodes:
        check_symmetric(np.unique(arcs.T.astype(np.int64), axis=0), None, n_nodes, index)
    return parts


def _node_count(graph: Any, index: int) -> int:
    count, features = getattr(graph, "num_nodes", None), getattr(graph, "x", None)
    if count is not None:
        return int(count)
    if features is not None:
        return len(features)
    raise GraphError(index, "has neither num_nodes nor x to tell its number of vertices")


def _array_of(graph: Any, name: str, index: int) -> Any:
    values = getattr(graph, name, None)
    if values is None:
        raise GraphError(index, f"has no {name!r}")
    return as_array(values)


def _labels(graph: Any, name: str, index: int) -> Any:
    """Return one label a row; a single column holds the labels themselves, not tuples of one."""
    values = _array_of(graph, name, index)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _vectors(arrays: list[Any], index: int) -> Any:
    if not arrays:
        return None
    try:
        return np.concatenate([array.reshape(-1, 1) if array.ndim == 1 else array for array in arrays], axis=1)
    except ValueError as error:
        raise GraphError(index, f"the attributes do not fit together: {error}") from None


def as_array(values: Any) -> Any:
    """Return a tensor of whatever library and device as an array."""
    for step in ("detach", "cpu", "numpy"):
        if hasattr(values, step):
            values = getattr(values, step)()
    return np.asarray(values)

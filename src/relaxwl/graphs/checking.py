"""What the arrays of a collection must fulfil: compiled code does not look where it reads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def check_safe(values: dict[str, Any]) -> None:
    """Refuse arrays of a collection by which compiled code would read beyond their ends; quick, for every collection.

    >>> check_safe({"offsets": np.array([0, 2]), "indptr": np.array([0, 1, 2]), "indices": np.array([1, 7])})
    Traceback (most recent call last):
    ...
    ValueError: indices must lie from 0 to 1
    """
    indices, n_nodes = values["indices"], len(values["indptr"]) - 1
    _check_spans("offsets", values["offsets"], n_nodes)
    _check_spans("indptr", values["indptr"], len(indices))
    _check_codes("indices", indices, len(indices), n_nodes)
    for kind, length in (("node", n_nodes), ("edge", len(indices))):
        codes, attributes = values.get(f"{kind}_codes"), values.get(f"{kind}_attributes")
        if codes is not None:
            _check_codes(f"{kind}_codes", codes, length, len(values[f"{kind}_vocabulary"] or (None,)))
        if attributes is not None and (attributes.ndim != 2 or len(attributes) != length):
            raise ValueError(f"{kind}_attributes must be a table with {length} rows, not of shape {attributes.shape}")


def check_clean(graphs: Any) -> None:
    """Refuse a collection whose adjacency is not what all code takes it for; for what comes from a file.

    Neighbors lie in the same graph, ascend, are no loops, and in undirected graphs see each other by the same label
    and attributes.
    """
    sources, targets = np.repeat(np.arange(graphs.n_nodes, dtype=np.int32), graphs.degrees), graphs.indices
    of_node = graphs.graph_of_node
    if (of_node[sources] != of_node[targets]).any():
        raise ValueError("an edge leads from one graph to another")
    ascend = (sources[1:] > sources[:-1]) | (targets[1:] > targets[:-1])
    if not ascend.all() or (sources == targets).any():
        raise ValueError("neighbors must ascend, without loops and repetitions")
    if not graphs.directed:
        _check_symmetric(graphs)


def _check_symmetric(graphs: Any) -> None:
    shape = (graphs.n_nodes, graphs.n_nodes)
    # Sorted by targets, in time linear in the edges: its data are the places of the entries seen from the other end.
    turned = csr_array((np.arange(len(graphs.indices)), graphs.indices, graphs.indptr), shape=shape).tocsc()
    if not (np.array_equal(turned.indptr, graphs.indptr) and np.array_equal(turned.indices, graphs.indices)):
        raise ValueError("an undirected edge is seen from one of its ends alone")
    order = turned.data
    for what, carried in (("label", graphs.edge_codes), ("attributes", graphs.edge_attributes)):
        if carried is not None and not np.array_equal(carried[order], carried, equal_nan=carried.dtype.kind == "f"):
            raise ValueError(f"an undirected edge must have the same {what} at both of its ends")


def _check_spans(name: str, bounds: NDArray[Any], length: int) -> None:
    fits = bounds.ndim == 1 and len(bounds) and bounds[0] == 0 and bounds[-1] == length
    if not fits or (bounds[1:] < bounds[:-1]).any():
        raise ValueError(f"{name} must ascend from 0 to {length}")


def _check_codes(name: str, codes: NDArray[Any], length: int, n_codes: int) -> None:
    if codes.shape != (length,):
        raise ValueError(f"{name} must be {length} numbers, not an array of shape {codes.shape}")
    if codes.size and (codes.min() < 0 or codes.max() >= n_codes):
        raise ValueError(f"{name} must lie from 0 to {n_codes - 1}")

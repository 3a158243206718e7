"""Adjacency matrices, graphs of GraKeL, and tuples: ``(n_nodes, edges, labels)`` and GraKeL's ``(edges, labels)``."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relaxwl._validation import is_integer
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.graphs.arrays import Float64
from relaxwl.graphs.building import adjacency_arcs, join_vectors
from relaxwl.graphs.labels import sort_labels
from relaxwl.inputs.reading import GraphParts, Names, build, refuse_names, with_weights

KIND, MATRIX, GRAKEL = "a tuple of edges", "an adjacency matrix", "a grakel.Graph"
FORMS = "(n_nodes, edges[, labels[, edge labels]]) or (edges[, labels[, edge labels]])"


def is_tuple(item: Any) -> bool:
    """Whether the item is a tuple or list with the length of a graph."""
    return isinstance(item, (tuple, list)) and 1 <= len(item) <= 4


def read_tuples(graphs: list[Any], names: Names) -> GraphCollection:
    """Read graphs given as tuples; an edge without a weight gets weight 1 if others have weights."""
    refuse_names(names, KIND)
    return build(with_weights([tuple_parts(graph, names, at) for at, graph in enumerate(graphs)]), names)


def is_matrix(item: Any) -> bool:
    """Whether the item is an array of numbers or a sparse matrix."""
    return hasattr(item, "tocoo") or (isinstance(item, np.ndarray) and item.dtype != object)


def read_matrices(matrices: list[Any], names: Names) -> GraphCollection:
    """Read square matrices; weights other than 1 become an edge attribute."""
    refuse_names(names, MATRIX)
    return GraphCollection.from_adjacency(matrices, symmetrize=names.symmetrize, directed=names.directed)


def is_grakel(item: Any) -> bool:
    """Whether the item has the interface of ``grakel.Graph``."""
    return hasattr(item, "edge_dictionary") and hasattr(item, "adjacency_matrix")


def read_grakel(graphs: list[Any], names: Names) -> GraphCollection:
    """Read graphs of GraKeL, in either of the forms in which it keeps them."""
    refuse_names(names, GRAKEL)
    parts = []
    for index, graph in enumerate(graphs):
        # GraKeL keeps a graph as a dictionary or as a matrix, with labels of its own for each of the two forms.
        if graph.edge_dictionary is not None and graph.adjacency_matrix is None:
            members = (graph.edge_dictionary, graph.node_labels, graph.edge_labels)
            parts.append(tuple_parts(members, names, index))
        else:
            labels = graph.index_node_labels or None, graph.index_edge_labels or None
            parts.append(matrix_parts(np.asarray(graph.adjacency_matrix), *labels, names, index))
    return build(with_weights(parts), names)


@dataclass(frozen=True)
class _Listing:
    """Edges between nodes of any name, as they were listed."""

    edges: list[tuple[Any, Any]]
    weights: Float64 | None = None
    nodes: Iterable[Any] = ()  # beyond those that have edges
    in_order: bool = False  # whether edge labels may be given in the order of the edges
    directed: bool | None = None  # None for pairs, which may stand for either direction


def tuple_parts(members: Sequence[Any], names: Names, index: int) -> GraphParts:
    """Read ``(n_nodes, edges[, labels[, edge labels]])`` or GraKeL's ``(edges[, labels[, edge labels]])``."""
    n_nodes, structure, node_labels, edge_labels = _split_members(members, index)
    if node_labels is not None and not isinstance(node_labels, Mapping):
        if isinstance(node_labels, (str, Set)) or not isinstance(node_labels, Iterable):
            found = f"{type(node_labels).__name__} {node_labels!r}"
            raise GraphError(index, f"labels must be a sequence or a dictionary, not {found}")
        node_labels = node_labels if hasattr(node_labels, "__len__") else list(node_labels)
    n_labels = None if node_labels is None else len(node_labels)
    if n_nodes is None and _is_matrix(structure, n_labels, index):
        return matrix_parts(structure, node_labels, edge_labels, names, index)
    listing = _listing(structure, names, index)
    if isinstance(edge_labels, Mapping):
        listing = _without_loops(listing)
    edge_labels, directed = _labels_of_edges(listing, edge_labels, names, index)
    edges = listing.edges
    if n_nodes is None and n_labels is not None and not isinstance(node_labels, Mapping):
        n_nodes = n_labels
    if n_nodes is None:  # nodes are numbered in the order of their names
        ends = (node for edge in edges for node in edge)
        named = _names_of_nodes([*listing.nodes, *(node_labels or ()), *ends], index)
        numbers = {node: number for number, node in enumerate(named)}
        n_nodes, edges = len(numbers), [(numbers[u], numbers[v]) for u, v in edges]
        if node_labels is not None:
            bare = [node for node in named if node_labels.get(node) is None]
            if bare and names.missing is None:
                raise GraphError(index, f"node {bare[0]!r} has no label; label all nodes or none")
            node_labels = [node_labels.get(node) for node in named]
    return GraphParts(n_nodes, edges, node_labels, edge_labels, edge_attributes=listing.weights, directed=directed)


def matrix_parts(matrix: Any, node_labels: Any, edge_labels: Any, names: Names, index: int) -> GraphParts:
    """Read an adjacency matrix with separate labels."""
    n_nodes, arcs, weights, lopsided = adjacency_arcs(matrix, index, names.symmetrize)
    listing = _without_loops(_Listing([(u, v) for u, v in arcs.tolist()], weights, directed=lopsided))
    edge_labels, directed = _labels_of_edges(listing, edge_labels, names, index)
    return GraphParts(
        n_nodes, listing.edges, node_labels, edge_labels, edge_attributes=listing.weights, directed=directed
    )


def _without_loops(listing: _Listing) -> _Listing:
    """Drop edges from a node to itself, which need no label, and keep their nodes."""
    proper = [position for position, (source, target) in enumerate(listing.edges) if source != target]
    weights = None if listing.weights is None else listing.weights[proper]
    nodes = [*listing.nodes, *(source for source, _ in listing.edges)]
    return replace(listing, edges=[listing.edges[position] for position in proper], weights=weights, nodes=nodes)


def _split_members(members: Sequence[Any], index: int) -> tuple[int | None, Any, Any, Any]:
    """Return the number of nodes if it is given, the edges, the labels and the edge labels."""
    n_nodes = None
    if is_integer(members[0]):
        n_nodes, members = int(members[0]), members[1:]
    if not 1 <= len(members) <= 3 or is_scalar(members[0]):
        raise GraphError(index, f"expected {FORMS}; a single graph is put in a list, [graph]")
    # GraKeL gives unlabeled graphs empty dictionaries.
    labels = [None if isinstance(member, Mapping) and not member else member for member in members[1:]]
    structure, node_labels, edge_labels = [members[0], *labels, None, None][:3]
    return n_nodes, structure, node_labels, edge_labels


def _is_matrix(structure: Any, n_labels: int | None, index: int) -> bool:
    """Whether the first member of a tuple is an adjacency matrix; the notes of ``as_collection`` have the rules."""
    if hasattr(structure, "tocoo"):
        return True
    if isinstance(structure, np.ndarray):
        square = structure.ndim == 2 and structure.shape[0] == structure.shape[1]
    else:
        rows = structure if isinstance(structure, list) and structure else [None]
        square = all(isinstance(row, list) and len(row) == len(rows) for row in rows)
    if not square or len(structure) != 2:
        return square
    if n_labels is None and isinstance(structure, list):
        problem = "two lists of two numbers can be two edges or a matrix"
        raise GraphError(index, f"{problem}: write edges as tuples, [(0, 1), (1, 2)], or the matrix as an array")
    return n_labels in (None, 2)


def _listing(structure: Any, names: Names, index: int) -> _Listing:
    """Read edges given as pairs, triples with a weight, or a dictionary."""
    if isinstance(structure, Mapping):
        neighbors = [isinstance(value, (Mapping, Set, list, tuple, np.ndarray)) for value in structure.values()]
        if all(neighbors):
            return _neighbor_listing(structure, names.symmetrize, index)
        triples: list[Any] = [(*_pair(key, index), weight) for key, weight in structure.items()]
    elif isinstance(structure, Iterable) and not isinstance(structure, str):
        triples = structure.tolist() if isinstance(structure, np.ndarray) else list(structure)
    else:
        raise GraphError(index, f"the edges must be pairs of nodes, not {type(structure).__name__}")
    edges = [_pair(edge, index) for edge in triples]
    weights = [edge[2] if len(edge) == 3 else 1 for edge in triples]
    return _Listing(edges, _weights(weights, index), in_order=not isinstance(structure, (Mapping, Set)))


def _pair(edge: Any, index: int) -> tuple[Any, Any]:
    if not isinstance(edge, (tuple, list, np.ndarray)) or len(edge) not in (2, 3):
        raise GraphError(index, f"an edge must be a pair of nodes or a triple with a weight, not {edge!r}")
    return edge[0], edge[1]


def _weights(weights: list[Any], index: int) -> Float64 | None:
    """Return weights as one attribute per edge, or None if all are 1."""
    if all(weight == 1 for weight in weights):
        return None
    return join_vectors([weights], len(weights), index)


def _neighbor_listing(structure: Mapping[Any, Any], symmetrize: bool, index: int) -> _Listing:
    """Read a dictionary from nodes to their neighbors, which lists each edge in both directions."""
    arcs: dict[tuple[Any, Any], Any] = {}
    for node, neighbors in structure.items():
        weights = neighbors if isinstance(neighbors, Mapping) else dict.fromkeys(_names_of_nodes(neighbors, index), 1)
        arcs.update({(node, other): weight for other, weight in weights.items()})
    if symmetrize:
        return _Listing(list(arcs), nodes=structure, directed=False)
    directed = any(arcs.get((target, source)) != weight for (source, target), weight in arcs.items())
    return _Listing(list(arcs), _weights(list(arcs.values()), index), nodes=structure, directed=directed)


def _names_of_nodes(nodes: Iterable[Any], index: int) -> tuple[Any, ...]:
    try:
        return sort_labels(nodes)
    except (TypeError, ValueError):
        raise GraphError(index, "nodes must be named by numbers, strings or tuples of these") from None


def _labels_of_edges(listing: _Listing, labels: Any, names: Names, index: int) -> tuple[Any, bool | None]:
    """Return the label of each edge, and whether the graph is directed, which may also follow from the labels.

    A dictionary lists an edge in either direction and an arc in its own; a sequence has the order of the edges.
    """
    if labels is None:
        return None, listing.directed
    if not isinstance(labels, Mapping):
        if not listing.in_order:
            raise GraphError(index, "edge labels must be a dictionary from pairs, as these edges have no order")
        return labels, listing.directed
    arcs = names.directed or (listing.directed is not None and not names.symmetrize)
    found, directed = [], listing.directed
    for source, target in listing.edges:
        one, other = labels.get((source, target)), labels.get((target, source))
        label = other if one is None and not names.directed else one
        if label is None and names.missing is None:
            raise GraphError(index, f"edge ({source!r}, {target!r}) has no label; label all edges or none")
        if one is not None and other is not None and one != other:
            if not arcs:
                raise GraphError(index, f"edge ({source!r}, {target!r}) has the labels {one!r} and {other!r}")
            directed = True
        found.append(label)
    return found, directed


def is_scalar(value: Any) -> bool:
    """Whether the value can be the name of a node or an entry of a matrix."""
    return isinstance(value, (str, int, float, np.generic))


def is_pair(value: Any) -> bool:
    """Whether the value can be an edge, with or without a weight."""
    return isinstance(value, (tuple, list)) and len(value) in (2, 3) and all(is_scalar(part) for part in value)

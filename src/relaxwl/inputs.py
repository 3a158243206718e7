"""One function that turns graphs of any common kind into a GraphCollection.

Graphs of other libraries are recognised by what they can do, never by importing the library.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from relaxwl.graphs import DIRECTED, CollectionBuilder, Graph, GraphCollection, GraphError, sort_labels
from relaxwl.graphs.arrays import Float64
from relaxwl.graphs.building import adjacency_arcs, as_names, check_symmetric, join_vectors

ACCEPTED = (
    "networkx, igraph, PyTorch Geometric and GraKeL graphs, square adjacency matrices, "
    "(n_nodes, edges[, labels]) and (edges, labels[, edge labels])"
)

TUPLE_FORMS = "(n_nodes, edges[, labels[, edge labels]]) or (edges[, labels[, edge labels]])"

# What to_networkx writes, and what graphs are searched for when the caller names nothing.
LABEL, ATTRIBUTES = "label", "attributes"


@dataclass(frozen=True)
class _Names:
    """Where labels and attributes are kept, as the caller says; None means the convention of the kind."""

    node_label: str | None
    edge_label: str | None
    node_attributes: str | Sequence[str] | None
    edge_attributes: str | Sequence[str] | None
    symmetrize: bool

    @property
    def given(self) -> list[str]:
        """The arguments that name something."""
        fields = ("node_label", "edge_label", "node_attributes", "edge_attributes")
        return [field for field in fields if getattr(self, field) is not None]


@dataclass(frozen=True)
class _Parts:
    """One graph as ``CollectionBuilder.add`` takes it."""

    n_nodes: int
    edges: Any
    node_labels: Any = None
    edge_labels: Any = None
    node_attributes: Any = None
    edge_attributes: Any = None


def as_collection(
    graphs: Any,
    *,
    node_label: str | None = None,
    edge_label: str | None = None,
    node_attributes: str | Sequence[str] | None = None,
    edge_attributes: str | Sequence[str] | None = None,
    symmetrize: bool = False,
) -> GraphCollection:
    """Turn graphs of any common kind into a :class:`GraphCollection`.

    Parameters
    ----------
    graphs : GraphCollection, path, or iterable of graphs of one kind
        A collection is returned as it is, a path is read as a TU data set (its graphs alone). An iterable is
        consumed once; the table below says what its items may be.
    node_label, edge_label : str, optional
        Where networkx, igraph and PyTorch Geometric graphs keep their labels.
    node_attributes, edge_attributes : str or list of str, optional
        Where they keep numeric attributes (numbers or vectors, joined in this order). An empty list reads none.
    symmetrize : bool
        Accept directed graphs and forget the directions (and, in adjacency matrices, the weights).

    Returns
    -------
    GraphCollection
        The graphs in the given order.

    Raises
    ------
    TypeError
        If a single graph is given instead of a list, or something that is no graph at all.
    GraphError
        A ``ValueError`` that names the index of a graph that cannot be read.

    Notes
    -----
    What an item of the list is taken for:

    ========================================  ======================================================================
    item                                      reading
    ========================================  ======================================================================
    ``relaxwl`` graph                         itself, with labels and attributes
    networkx or igraph graph                  the attributes named; without names, ``label`` and ``attributes`` (which
                                              ``to_networkx`` writes) if all vertices (edges) of all graphs have them
    object with ``edge_index`` (PyG)          ``x`` and ``edge_attr`` are attributes; ``node_label="x"`` makes every
                                              distinct row of ``x`` a label instead
    ``grakel.Graph``                          its edges and labels
    square array or sparse matrix             adjacency; weights other than 1 become an edge attribute
    ``(integer, edges[, labels[, ...]])``     vertices ``0 .. integer - 1``, edges, vertex labels, edge labels
    ``(edges[, labels[, edge labels]])``      GraKeL's input, see below
    ========================================  ======================================================================

    In GraKeL's input the first member is an adjacency matrix (an array, a sparse matrix, or a list of lists), a list
    or set of pairs or of triples with a weight, a dictionary from pairs to weights, or a dictionary from vertices to
    neighbours. Labels are a dictionary from vertices, or a sequence for the vertices ``0 .. n - 1``; edge labels are a
    dictionary from pairs, either direction, or a sequence in the order of the edges. The vertices are those that have
    a label or an edge, in sorted order. A square array or list of lists is a matrix. Of two rows of two numbers that
    is only so with two labels, and for an array without labels; two such lists without labels are refused, as they
    could be two edges.

    A list of pairs may list an edge once or twice. All that distinguishes the directions (matrices, neighbours of
    vertices, ``grakel.Graph``, ``edge_index``) has to hold both, or is a directed graph.

    Examples
    --------
    >>> as_collection([([(0, 1), (1, 2)], ["C", "O", "C"]), ([], ["N"])])
    GraphCollection(2 graphs, 4 nodes, 2 edges, 3 node labels)
    >>> as_collection([np.array([[0, 1], [1, 0]])])
    GraphCollection(1 graphs, 2 nodes, 1 edges)
    """
    names = _Names(node_label, edge_label, node_attributes, edge_attributes, symmetrize)
    if isinstance(graphs, GraphCollection):
        _refuse_names(names, "a GraphCollection")
        return graphs
    if isinstance(graphs, (str, os.PathLike)):
        _refuse_names(names, "a data set in TU layout")
        return _read_path(graphs)
    items = _items(graphs)
    if not items:
        return GraphCollection.concatenate([])
    kinds = [_kind(item, index) for index, item in enumerate(items)]
    for index, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise GraphError(index, f"is {kind}, but graph 0 is {kinds[0]}; all graphs of a list must be of one kind")
    return _READERS[kinds[0]](items, names)


def _refuse_names(names: _Names, what: str) -> None:
    if names.given:
        raise ValueError(f"{names.given[0]} names an attribute, but {what} has no attributes to be looked up by name")


def _read_path(path: str | os.PathLike[str]) -> GraphCollection:
    """Read the graphs of a TU data set; a string that is no path was probably meant for another function."""
    from relaxwl.datasets.tu import read_tu

    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file or folder {os.fspath(path)!r} to read as a data set in TU layout")
    return read_tu(path).graphs


# ------------------------------------------------------------------------------------------- recognising


def _items(graphs: Any) -> list[Any]:
    """Consume the iterable; a single graph in its place is an error that says so."""
    if hasattr(graphs, "to_data_list"):  # a batch of PyTorch Geometric is one graph to all other tests
        return list(graphs.to_data_list())
    single = _object_kind(graphs)
    if single == MATRIX and getattr(graphs, "ndim", 2) != 2:
        single = None  # a stack of matrices is a list of them
    if single == PYG and any(base.__name__ == "Dataset" for base in type(graphs).__mro__):
        single = None  # a data set hands out the arrays of all its graphs by the same names
    if single is not None:
        raise TypeError(f"expected a list of graphs, got {single}: put a single graph in a list, [graph]")
    if isinstance(graphs, (Mapping, Set)) or not isinstance(graphs, Iterable):
        raise TypeError(f"expected a list of graphs, got {type(graphs).__name__}; graphs may be {ACCEPTED}")
    items = list(graphs)
    if isinstance(graphs, (list, tuple)) and items and _begins_like_a_graph(items):
        raise TypeError("expected a list of graphs, got what looks like one graph's edges: put it in a list, [graph]")
    return items


def _begins_like_a_graph(members: list[Any]) -> bool:
    """Whether the first member of a list is what only a single graph, not a list of graphs, can begin with."""
    first = members[0]
    if _is_whole_number(first) or isinstance(first, (Mapping, Set)):
        return True
    if _object_kind(first) == MATRIX and len(members) > 1:
        second = members[1]
        return isinstance(second, (Mapping, list, tuple)) or (isinstance(second, np.ndarray) and second.ndim == 1)
    if not isinstance(first, (list, tuple)) or not first:
        return False
    # (0, 1) begins an edge list and [0, 1, 1] a matrix, but (3, [...]) is a graph.
    return _is_pair(first[0]) or (len(first) > 1 and all(_is_scalar(part) for part in first))


RELAXWL, NETWORKX, IGRAPH = "a relaxwl graph", "a networkx graph", "an igraph graph"
PYG, GRAKEL, MATRIX, TUPLE = "a PyTorch Geometric graph", "a grakel.Graph", "an adjacency matrix", "a tuple of edges"


def _object_kind(item: Any) -> str | None:
    """Return the kind of a graph that is one object, or None."""
    if isinstance(item, Graph):
        return RELAXWL
    if hasattr(item, "nodes") and hasattr(item, "adj") and hasattr(item, "is_directed"):
        return NETWORKX
    if hasattr(item, "vs") and hasattr(item, "es") and hasattr(item, "get_edgelist"):
        return IGRAPH
    if hasattr(item, "edge_dictionary") and hasattr(item, "adjacency_matrix"):
        return GRAKEL
    if hasattr(item, "edge_index"):
        return PYG
    if hasattr(item, "tocoo") or (isinstance(item, np.ndarray) and item.dtype != object):
        return MATRIX
    return None


def _kind(item: Any, index: int) -> str:
    """Return the kind of an item, or say what is wrong with it."""
    kind = _object_kind(item)
    if kind is not None:
        return kind
    if isinstance(item, GraphCollection):
        problem = "is a whole GraphCollection; pass it alone, or join several with GraphCollection.concatenate"
    elif isinstance(item, (str, os.PathLike)):
        problem = f"is the text {os.fspath(item)!r}; a path stands for a whole data set and is passed alone"
    elif isinstance(item, (tuple, list)):
        if 1 <= len(item) <= 4:
            return TUPLE
        problem = f"is a {type(item).__name__} of {len(item)} members; graphs may be {ACCEPTED}"
    else:
        problem = f"is {'None' if item is None else 'of type ' + type(item).__name__}; graphs may be {ACCEPTED}"
    raise GraphError(index, problem)


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int, float, np.generic))


def _is_pair(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) in (2, 3) and all(_is_scalar(part) for part in value)


# ------------------------------------------------------------------------------------- graphs as objects


def _from_views(graphs: list[Graph], names: _Names) -> GraphCollection:
    """Take the graphs of each collection at once, join the collections and restore the order."""
    _refuse_names(names, RELAXWL)
    collections = {id(graph.collection): graph.collection for graph in graphs}
    members: dict[int, list[int]] = {key: [] for key in collections}
    for position, graph in enumerate(graphs):
        members[id(graph.collection)].append(position)
    taken = [collections[key][[graphs[position].index for position in positions]] for key, positions in members.items()]
    if len(taken) == 1:
        return taken[0]
    _check_views_agree(graphs)
    order = np.array([position for positions in members.values() for position in positions])
    return GraphCollection.concatenate(taken)[np.argsort(order)]


def _check_views_agree(graphs: list[Graph]) -> None:
    """Name the first graph that carries other things than those before it."""
    for kind, counted in (("node", "n_nodes"), ("edge", "n_edges")):
        carriers = [(index, graph) for index, graph in enumerate(graphs) if getattr(graph, counted)]
        for index, graph in carriers:
            first, reference = carriers[0][0], carriers[0][1].collection
            labelled = [getattr(one, f"{kind}_vocabulary") is not None for one in (reference, graph.collection)]
            widths = [
                None if values is None else values.shape[1]
                for values in (getattr(one, f"{kind}_attributes") for one in (reference, graph.collection))
            ]
            if labelled[0] != labelled[1]:
                raise GraphError(index, f"of graphs {first} and {index} only one has {kind} labels")
            if widths[0] != widths[1]:
                raise GraphError(index, f"the {kind} attributes have not the same length as those of graph {first}")


def _from_networkx(graphs: list[Any], names: _Names) -> GraphCollection:
    nodes = [(graph.number_of_nodes(), _networkx_presence(graph.nodes(data=True))) for graph in graphs]
    edges = [(graph.number_of_edges(), _networkx_presence(graph.edges(data=True))) for graph in graphs]
    found = _conventional_names(names, nodes, edges)
    _warn_of_unread(found, {key for graph in graphs for _, data in graph.nodes(data=True) for key in data})
    return GraphCollection.from_networkx(
        graphs,
        found.node_label,
        found.edge_label,
        found.node_attributes,
        edge_attributes=found.edge_attributes,
        symmetrize=names.symmetrize,
    )


def _networkx_presence(entries: Iterable[tuple[Any, ...]]) -> Callable[[str], int]:
    """Return a function that counts the vertices or edges that have an attribute."""
    return lambda name: sum(name in entry[-1] for entry in entries)


def _conventional_names(
    names: _Names,
    nodes: list[tuple[int, Callable[[str], int]]],
    edges: list[tuple[int, Callable[[str], int]]],
) -> _Names:
    """Fill in ``label`` and ``attributes`` where the caller names nothing and the graphs have them."""
    given = {field: getattr(names, field) for field in names.given}
    for field, counts, name, what in (
        ("node_label", nodes, LABEL, "vertices"),
        ("edge_label", edges, LABEL, "edges"),
        ("node_attributes", nodes, ATTRIBUTES, "vertices"),
        ("edge_attributes", edges, ATTRIBUTES, "edges"),
    ):
        if field not in given and _is_everywhere(name, counts, what, field):
            given[field] = name
    return replace(names, **given)


def _warn_of_unread(names: _Names, attributes: set[Any]) -> None:
    """Say which vertex attributes lie unused when the vertices end up without a label: easy to overlook otherwise."""
    attributes = attributes - {ATTRIBUTES}
    if names.node_label is None and names.node_attributes is None and attributes:
        listed = ", ".join(sorted(repr(name) for name in attributes)[:5])
        warnings.warn(
            f"the vertices have the attributes {listed}, and none of them is read: an attribute counts as the label if "
            f"it is called {LABEL!r} or if you say so, relaxwl.as_collection(graphs, node_label=…); node_attributes=[] "
            "reads none and says nothing",
            UserWarning,
            stacklevel=4,
        )


def _is_everywhere(name: str, counts: list[tuple[int, Callable[[str], int]]], what: str, field: str) -> bool:
    """Whether all vertices (edges) have an attribute; refuse graphs of which only some have it."""
    present = [count(name) for _, count in counts]
    if not any(present):
        return False
    for index, ((total, _), having) in enumerate(zip(counts, present, strict=True)):
        if having < total:
            problem = f"{total - having} of its {total} {what} have no attribute {name!r}, which others have"
            raise GraphError(index, f"{problem}; give it to all, or say with {field} what to use")
    return True


def _from_igraph(graphs: list[Any], names: _Names) -> GraphCollection:
    def presence(elements: Any) -> tuple[int, Callable[[str], int]]:
        # igraph fills an attribute that only some elements have with None.
        def count(name: str) -> int:
            return sum(value is not None for value in elements[name]) if name in elements.attributes() else 0

        return len(elements), count

    nodes, edges = [presence(graph.vs) for graph in graphs], [presence(graph.es) for graph in graphs]
    found = _conventional_names(names, nodes, edges)
    # igraph's own "name" is what a vertex is called, not what it is.
    _warn_of_unread(found, {key for graph in graphs for key in graph.vs.attributes()} - {"name"})
    parts = []
    for index, graph in enumerate(graphs):
        if graph.is_directed() and not names.symmetrize:
            raise GraphError(index, DIRECTED)
        columns = {
            "node_labels": _igraph_column(graph.vs, found.node_label, index),
            "edge_labels": _igraph_column(graph.es, found.edge_label, index),
            "node_attributes": _igraph_vectors(graph.vs, found.node_attributes, index),
            "edge_attributes": _igraph_vectors(graph.es, found.edge_attributes, index),
        }
        parts.append(_Parts(graph.vcount(), graph.get_edgelist(), **columns))
    return _build(parts)


def _igraph_column(elements: Any, name: str | None, index: int) -> list[Any] | None:
    if name is None:
        return None
    if name not in elements.attributes():
        if not len(elements):
            return []
        raise GraphError(index, f"has no attribute {name!r}; it has {elements.attributes()}")
    return list(elements[name])


def _igraph_vectors(elements: Any, names: str | Sequence[str] | None, index: int) -> Float64 | None:
    columns = [_igraph_column(elements, name, index) for name in as_names(names)]
    return join_vectors(columns, len(elements), index) if columns else None


def _from_pyg(graphs: list[Any], names: _Names) -> GraphCollection:
    return _build([_pyg_parts(graph, names, index) for index, graph in enumerate(graphs)])


def _pyg_parts(graph: Any, names: _Names, index: int) -> _Parts:
    """Read the tensors of an object in the manner of PyTorch Geometric's ``Data``."""
    arcs = _array(graph.edge_index) if graph.edge_index is not None else np.empty((2, 0), np.int64)
    if arcs.ndim != 2 or arcs.shape[0] != 2:
        raise GraphError(index, f"edge_index must have shape (2, n_edges), not {arcs.shape}")
    columns: dict[str, Any] = {}
    for kind, default in (("node", "x"), ("edge", "edge_attr")):
        label = getattr(names, f"{kind}_label")
        wanted = getattr(names, f"{kind}_attributes")
        if wanted is None and label != default and getattr(graph, default, None) is not None:
            wanted = default
        columns[f"{kind}_labels"] = None if label is None else _pyg_labels(graph, label, index)
        arrays = [_pyg_array(graph, name, index) for name in as_names(wanted)]
        columns[f"{kind}_attributes"] = _pyg_vectors(arrays, index)
    n_nodes = _pyg_node_count(graph, index)
    parts = _Parts(n_nodes, arcs.T if arcs.size else [], **columns)
    if not names.symmetrize and arcs.size and arcs.min() >= 0 and arcs.max() < n_nodes:
        check_symmetric(np.unique(arcs.T.astype(np.int64), axis=0), None, n_nodes, index)
    return parts


def _pyg_node_count(graph: Any, index: int) -> int:
    count, features = getattr(graph, "num_nodes", None), getattr(graph, "x", None)
    if count is not None:
        return int(count)
    if features is not None:
        return len(features)
    raise GraphError(index, "has neither num_nodes nor x to tell its number of vertices")


def _pyg_array(graph: Any, name: str, index: int) -> Any:
    values = getattr(graph, name, None)
    if values is None:
        raise GraphError(index, f"has no {name!r}")
    return _array(values)


def _pyg_labels(graph: Any, name: str, index: int) -> Any:
    """Return one label a row; a single column holds the labels themselves, not tuples of one."""
    values = _pyg_array(graph, name, index)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _pyg_vectors(arrays: list[Any], index: int) -> Any:
    if not arrays:
        return None
    try:
        return np.concatenate([array.reshape(-1, 1) if array.ndim == 1 else array for array in arrays], axis=1)
    except ValueError as error:
        raise GraphError(index, f"the attributes do not fit together: {error}") from None


def _array(values: Any) -> Any:
    """Return a tensor of whatever library and device as an array."""
    for step in ("detach", "cpu", "numpy"):
        if hasattr(values, step):
            values = getattr(values, step)()
    return np.asarray(values)


def _from_grakel(graphs: list[Any], names: _Names) -> GraphCollection:
    _refuse_names(names, GRAKEL)
    parts = []
    for index, graph in enumerate(graphs):
        # GraKeL keeps a graph as a dictionary or as a matrix, with labels of its own for each of the two forms.
        if graph.edge_dictionary is not None and graph.adjacency_matrix is None:
            members = (graph.edge_dictionary, graph.node_labels, graph.edge_labels)
            parts.append(_tuple_parts(members, names.symmetrize, index))
        else:
            labels = graph.index_node_labels or None, graph.index_edge_labels or None
            parts.append(_matrix_parts(np.asarray(graph.adjacency_matrix), *labels, names.symmetrize, index))
    return _build(_with_weights(parts))


def _from_matrices(matrices: list[Any], names: _Names) -> GraphCollection:
    _refuse_names(names, MATRIX)
    return GraphCollection.from_adjacency(matrices, symmetrize=names.symmetrize)


# -------------------------------------------------------------------------------------- graphs as tuples


def _from_tuples(graphs: list[Any], names: _Names) -> GraphCollection:
    _refuse_names(names, TUPLE)
    return _build(_with_weights([_tuple_parts(graph, names.symmetrize, at) for at, graph in enumerate(graphs)]))


@dataclass(frozen=True)
class _Listing:
    """Edges between vertices of any name, as they were listed."""

    edges: list[tuple[Any, Any]]
    weights: Float64 | None = None
    vertices: Iterable[Any] = ()  # beyond those that have edges
    in_order: bool = False  # whether edge labels may be given in the order of the edges


def _tuple_parts(members: Sequence[Any], symmetrize: bool, index: int) -> _Parts:
    """Read ``(n_nodes, edges[, labels[, edge labels]])`` or GraKeL's ``(edges[, labels[, edge labels]])``."""
    n_nodes, structure, node_labels, edge_labels = _split_members(members, index)
    if node_labels is not None and not isinstance(node_labels, Mapping):
        node_labels = _sized(node_labels, index)
    n_labels = None if node_labels is None else len(node_labels)
    if n_nodes is None and _is_matrix(structure, n_labels, index):
        return _matrix_parts(structure, node_labels, edge_labels, symmetrize, index)
    listing = _listing(structure, symmetrize, index)
    if isinstance(edge_labels, Mapping):
        listing = _without_loops(listing)
    edge_labels = _labels_of_edges(listing, edge_labels, index)
    edges = listing.edges
    if n_nodes is None and n_labels is not None and not isinstance(node_labels, Mapping):
        n_nodes = n_labels
    if n_nodes is None:
        numbers = _number_vertices(listing, node_labels, index)
        n_nodes, edges = len(numbers), [(numbers[u], numbers[v]) for u, v in edges]
        node_labels = _labels_of(numbers, node_labels, index)
    return _Parts(n_nodes, edges, node_labels, edge_labels, edge_attributes=listing.weights)


def _matrix_parts(matrix: Any, node_labels: Any, edge_labels: Any, symmetrize: bool, index: int) -> _Parts:
    n_nodes, arcs, weights = adjacency_arcs(matrix, index, symmetrize)
    listing = _without_loops(_Listing([(u, v) for u, v in arcs.tolist()], weights))
    edge_labels = _labels_of_edges(listing, edge_labels, index)
    return _Parts(n_nodes, listing.edges, node_labels, edge_labels, edge_attributes=listing.weights)


def _without_loops(listing: _Listing) -> _Listing:
    """Drop edges from a vertex to itself, which need no label, and keep their vertices."""
    proper = [position for position, (source, target) in enumerate(listing.edges) if source != target]
    return _Listing(
        [listing.edges[position] for position in proper],
        None if listing.weights is None else listing.weights[proper],
        vertices=[*listing.vertices, *(source for source, _ in listing.edges)],
        in_order=listing.in_order,
    )


def _split_members(members: Sequence[Any], index: int) -> tuple[int | None, Any, Any, Any]:
    """Return the number of vertices if it is given, the edges, the labels and the edge labels."""
    n_nodes = None
    if _is_whole_number(members[0]):
        n_nodes, members = int(members[0]), members[1:]
    if not 1 <= len(members) <= 3 or _is_scalar(members[0]):
        raise GraphError(index, f"expected {TUPLE_FORMS}; a single graph is put in a list, [graph]")
    # GraKeL gives unlabelled graphs empty dictionaries.
    labels = [None if isinstance(member, Mapping) and not member else member for member in members[1:]]
    structure, node_labels, edge_labels = [members[0], *labels, None, None][:3]
    return n_nodes, structure, node_labels, edge_labels


def _sized(labels: Any, index: int) -> Any:
    """Return labels as something with a length."""
    if isinstance(labels, (str, Set)) or not isinstance(labels, Iterable):
        raise GraphError(index, f"labels must be a sequence or a dictionary, not {type(labels).__name__} {labels!r}")
    return labels if hasattr(labels, "__len__") else list(labels)


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


def _listing(structure: Any, symmetrize: bool, index: int) -> _Listing:
    """Read edges given as pairs, triples with a weight, or a dictionary."""
    if isinstance(structure, Mapping):
        neighbours = [isinstance(value, (Mapping, Set, list, tuple, np.ndarray)) for value in structure.values()]
        if all(neighbours):
            return _neighbour_listing(structure, symmetrize, index)
        triples: list[Any] = [(*_pair(key, index), weight) for key, weight in structure.items()]
    elif isinstance(structure, Iterable) and not isinstance(structure, str):
        triples = structure.tolist() if isinstance(structure, np.ndarray) else list(structure)
    else:
        raise GraphError(index, f"the edges must be pairs of vertices, not {type(structure).__name__}")
    edges = [_pair(edge, index) for edge in triples]
    weights = [edge[2] if len(edge) == 3 else 1 for edge in triples]
    return _Listing(edges, _weights(weights, index), in_order=not isinstance(structure, (Mapping, Set)))


def _pair(edge: Any, index: int) -> tuple[Any, Any]:
    if not isinstance(edge, (tuple, list, np.ndarray)) or len(edge) not in (2, 3):
        raise GraphError(index, f"an edge must be a pair of vertices or a triple with a weight, not {edge!r}")
    return edge[0], edge[1]


def _weights(weights: list[Any], index: int) -> Float64 | None:
    """Return weights as one attribute an edge, or None if all are 1."""
    if all(weight == 1 for weight in weights):
        return None
    return join_vectors([weights], len(weights), index)


def _neighbour_listing(structure: Mapping[Any, Any], symmetrize: bool, index: int) -> _Listing:
    """Read a dictionary from vertices to their neighbours, which says each edge in both directions."""
    arcs: dict[tuple[Any, Any], Any] = {}
    for vertex, neighbours in structure.items():
        weights = (
            neighbours if isinstance(neighbours, Mapping) else dict.fromkeys(_names_of_vertices(neighbours, index), 1)
        )
        arcs.update({(vertex, other): weight for other, weight in weights.items()})
    if symmetrize:
        return _Listing(list(arcs), vertices=structure)
    for (source, target), weight in arcs.items():
        if arcs.get((target, source)) != weight:
            raise GraphError(index, DIRECTED)
    return _Listing(list(arcs), _weights(list(arcs.values()), index), vertices=structure)


def _number_vertices(listing: _Listing, labels: Mapping[Any, Any] | None, index: int) -> dict[Any, int]:
    """Give the vertices numbers in the order of their names."""
    ends = (vertex for edge in listing.edges for vertex in edge)
    named = _names_of_vertices([*listing.vertices, *(labels or ()), *ends], index)
    return {vertex: number for number, vertex in enumerate(named)}


def _names_of_vertices(vertices: Iterable[Any], index: int) -> tuple[Any, ...]:
    try:
        return sort_labels(vertices)
    except (TypeError, ValueError):
        raise GraphError(index, "vertices must be named by numbers, strings or tuples of these") from None


def _labels_of(vertices: Iterable[Any], labels: Mapping[Any, Any] | None, index: int) -> list[Any] | None:
    if labels is None:
        return None
    for vertex in vertices:
        if labels.get(vertex) is None:
            raise GraphError(index, f"vertex {vertex!r} has no label; label all vertices or none")
    return [labels[vertex] for vertex in vertices]


def _labels_of_edges(listing: _Listing, labels: Any, index: int) -> Any:
    """Look each edge up in either direction; a sequence is in the order of the edges already."""
    if labels is None:
        return None
    if not isinstance(labels, Mapping):
        if not listing.in_order:
            raise GraphError(index, "edge labels must be a dictionary from pairs, as these edges have no order")
        return labels
    found = []
    for source, target in listing.edges:
        one, other = labels.get((source, target)), labels.get((target, source))
        if one is None and other is None:
            raise GraphError(index, f"edge ({source!r}, {target!r}) has no label; label all edges or none")
        if one is not None and other is not None and one != other:
            raise GraphError(index, f"edge ({source!r}, {target!r}) has the labels {one!r} and {other!r}")
        found.append(other if one is None else one)
    return found


def _with_weights(graphs: list[_Parts]) -> list[_Parts]:
    """Give every graph weights if one has them: an edge without a weight weighs 1."""
    if all(graph.edge_attributes is None for graph in graphs):
        return graphs
    return [
        replace(graph, edge_attributes=np.ones((len(graph.edges), 1))) if graph.edge_attributes is None else graph
        for graph in graphs
    ]


def _build(graphs: list[_Parts]) -> GraphCollection:
    builder = CollectionBuilder()
    for graph in graphs:
        builder.add(
            graph.n_nodes,
            graph.edges,
            node_labels=graph.node_labels,
            edge_labels=graph.edge_labels,
            node_attributes=graph.node_attributes,
            edge_attributes=graph.edge_attributes,
        )
    return GraphCollection(**builder.build())


_READERS: dict[str, Callable[[list[Any], _Names], GraphCollection]] = {
    RELAXWL: _from_views,
    NETWORKX: _from_networkx,
    IGRAPH: _from_igraph,
    PYG: _from_pyg,
    GRAKEL: _from_grakel,
    MATRIX: _from_matrices,
    TUPLE: _from_tuples,
}

"""The function ``as_collection``.

Graphs of other libraries are recognized by their attributes and methods; their libraries are not imported.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np

from relaxwl._validation import is_integer
from relaxwl.datasets.smiles import is_rdkit_molecule
from relaxwl.datasets.tu import read_tu
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.graphs.labels import Label
from relaxwl.inputs import libraries, pyg, tuples
from relaxwl.inputs.files import graph_files, read_files
from relaxwl.inputs.reading import Names, refuse_names

ACCEPTED = (
    "networkx, igraph, PyTorch Geometric and GraKeL graphs, RDKit molecules, SMILES strings, rows with an edge_index, "
    "square adjacency matrices, (n_nodes, edges[, labels]) and (edges, labels[, edge labels])"
)

# Kinds of objects, with the functions that recognize one and that read a list of them. The first match is used.
OBJECTS: dict[str, tuple[Callable[[Any], bool], Callable[[list[Any], Names], GraphCollection]]] = {
    libraries.VIEW: (libraries.is_view, libraries.read_views),
    "a networkx graph": (libraries.is_networkx, libraries.read_networkx),
    "an igraph graph": (libraries.is_igraph, libraries.read_igraph),
    tuples.GRAKEL: (tuples.is_grakel, tuples.read_grakel),
    pyg.KIND: (pyg.is_pyg, pyg.read_pyg),
    libraries.RDKIT: (is_rdkit_molecule, libraries.read_rdkit),
    libraries.SMILES: (lambda item: isinstance(item, str), libraries.read_texts),
    "a row with an edge_index": (pyg.is_row, pyg.read_rows),
    tuples.MATRIX: (tuples.is_matrix, tuples.read_matrices),
}
READERS = {kind: read for kind, (_, read) in OBJECTS.items()} | {tuples.KIND: tuples.read_tuples}


def as_collection(
    graphs: Any,
    *,
    node_label: str | Sequence[str] | None = None,
    edge_label: str | Sequence[str] | None = None,
    node_attributes: str | Sequence[str] | None = None,
    edge_attributes: str | Sequence[str] | None = None,
    symmetrize: bool = False,
    directed: bool | None = None,
    missing: Label | None = None,
) -> GraphCollection:
    """Convert graphs of other libraries into a :class:`GraphCollection`.

    Parameters
    ----------
    graphs : GraphCollection, path, or iterable of graphs of one kind
        A collection is returned unchanged. A path is read as a TU data set (graphs only) or as a folder of GraphML, GML
        or edge-list files, one graph per file, in the natural order of their names. An iterable is consumed once; the
        table below lists the types of its items. A data frame or an Arrow table contains graphs in its rows or in its
        only column.
    node_label, edge_label : str or list of str, optional
        Names of the attributes of networkx, igraph and PyTorch Geometric graphs that contain labels; several names give
        tuples.
    node_attributes, edge_attributes : str or list of str, optional
        Names of numeric attributes (numbers or vectors, joined in this order). An empty list reads none.
    symmetrize : bool, default=False
        Ignore the directions of directed graphs (and the weights of adjacency matrices).
    directed : bool, optional
        Whether edges are arcs, if the graphs do not determine it, or to enforce it; see the notes.
    missing : label, optional
        Label of nodes and edges without a label; missing attributes are then NaN. By default partially labeled graphs
        raise an error.

    Returns
    -------
    GraphCollection
        The graphs in the given order, with ``names`` if all of them have one: the name of a networkx or igraph graph,
        ``name`` or ``id`` of other objects and of rows, the name of a file without its extension.

    Raises
    ------
    TypeError
        If a single graph, or an object that is not a list, is given instead of a list of graphs.
    GraphError
        A ``ValueError`` that names the index of an item that is not a graph or cannot be read.

    See Also
    --------
    ToGraphs : The same as a step of a pipeline.
    relaxwl.GraphCollection.from_edges : Make a collection from lists of edges.

    Notes
    -----
    Types of items:

    ========================================  ======================================================================
    item                                      reading
    ========================================  ======================================================================
    ``relaxwl`` graph                         itself, with labels and attributes
    networkx or igraph graph                  the attributes named; without names, ``label`` and ``attributes`` (which
                                              ``to_networkx`` writes) if all nodes (edges) of all graphs have them
    object with ``edge_index`` (PyG)          ``x``, ``edge_attr``, ``edge_weight`` are attributes; ``node_label="x"``
                                              makes every distinct row of ``x`` a label; ``adj_t`` is read too, and
                                              batches are taken apart
    dictionary with ``edge_index``            the same for rows of a dataset hub, with ``node_feat``,
                                              ``edge_attr`` and ``num_nodes``
    ``grakel.Graph``                          its edges and labels
    RDKit molecule, SMILES string             atoms labeled by element, bonds by type
    square array or sparse matrix             adjacency; weights other than 1 become an edge attribute
    ``(integer, edges[, labels[, ...]])``     nodes ``0 .. integer - 1``, edges, node labels, edge labels
    ``(edges[, labels[, edge labels]])``      GraKeL's input, see below
    ========================================  ======================================================================

    In GraKeL's input the first member is an adjacency matrix (an array, a sparse matrix, or a list of lists), a list or
    set of pairs or of triples with a weight, a dictionary from pairs to weights, or a dictionary from nodes to
    neighbors. Labels are a dictionary from nodes, or a sequence for the nodes ``0 .. n - 1``; edge labels are a
    dictionary from pairs, either direction, or a sequence in the order of the edges. The nodes are those with a label
    or an edge, in sorted order. A square array or list of lists is a matrix. Two rows of two numbers are a matrix only
    with two labels, or as an array without labels; two such lists without labels raise an error, because they could be
    two edges.

    A collection is directed or undirected. The type of networkx and igraph graphs determines this; a ``DiGraph`` is
    directed even if it is symmetric. Other formats with directions (matrices, neighbors of nodes, ``grakel.Graph``,
    ``edge_index``) are directed if one of the graphs is not symmetric. A list of pairs is undirected and may list an
    edge once or twice, unless ``directed=True``.

    A warning lists what is ignored: attributes that are not read, self-loops and parallel edges.

    Examples
    --------
    >>> as_collection([([(0, 1), (1, 2)], ["C", "O", "C"]), ([], ["N"])])
    GraphCollection(2 graphs, 4 nodes, 2 edges, 3 node labels)
    >>> as_collection([np.array([[0, 1], [1, 0]])])
    GraphCollection(1 graph, 2 nodes, 1 edge)
    """
    names = Names(node_label, edge_label, node_attributes, edge_attributes, symmetrize, directed, missing)
    if symmetrize and directed:
        raise ValueError("symmetrize=True ignores directions and directed=True uses them; choose one")
    if isinstance(graphs, GraphCollection):
        refuse_names(names, "a GraphCollection")
        return _directed_as_asked(graphs, names)
    files = graph_files(graphs) if isinstance(graphs, (str, os.PathLike)) else []
    if files:
        graphs = read_files(files, bool(directed))
    if isinstance(graphs, (str, os.PathLike)):
        refuse_names(names, "a data set in TU layout")
        if not Path(graphs).exists():
            raise FileNotFoundError(
                f"there is no file or folder {os.fspath(graphs)!r} to read as a data set in TU layout"
            )
        return _directed_as_asked(read_tu(graphs, directed=bool(directed)).graphs, names)
    items = _items(graphs)
    if not items:
        return GraphCollection.concatenate([])
    kinds = [_kind(item, index) for index, item in enumerate(items)]
    for index, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise GraphError(index, f"is {kind}, but graph 0 is {kinds[0]}; all graphs of a list must be of one kind")
    try:
        return READERS[kinds[0]](items, names)
    except GraphError as error:
        if not files:
            raise
        raise GraphError(error.index, error.problem, files[error.index].name) from None


def _directed_as_asked(graphs: GraphCollection, names: Names) -> GraphCollection:
    """Return a collection with the requested directions; raise an error if it has the wrong type."""
    if names.symmetrize:
        return graphs.to_undirected()
    if names.directed is not None and graphs.directed != names.directed:
        kind = "directed" if graphs.directed else "undirected"
        raise ValueError(f"directed={names.directed}, but the collection is {kind}")
    return graphs


def _items(graphs: Any) -> list[Any]:
    """Consume the iterable; raise an error if it is a single graph."""
    if pyg.is_table(graphs):
        return pyg.items_of(graphs)
    if hasattr(graphs, "to_data_list"):
        return pyg.unbatched([graphs])
    single = _object_kind(graphs)
    if single == tuples.MATRIX and getattr(graphs, "ndim", 2) != 2:
        single = None  # a stack of matrices is a list of them
    if single == pyg.KIND and any(base.__name__ == "Dataset" for base in type(graphs).__mro__):
        single = None  # a data set has the arrays of all its graphs under the same names
    if single is not None:
        raise TypeError(f"graphs must be a list, not {single}: put a single graph in a list, [graph]")
    if isinstance(graphs, (Mapping, Set)) or not isinstance(graphs, Iterable):
        raise TypeError(f"graphs must be a list of graphs, not {type(graphs).__name__}; they may be {ACCEPTED}")
    items = pyg.unbatched(list(graphs))
    if isinstance(graphs, (list, tuple)) and items and _begins_like_a_graph(items):
        raise TypeError("graphs must be a list, not what looks like one graph's edges: put it in a list, [graph]")
    return items


def _begins_like_a_graph(members: list[Any]) -> bool:
    """Whether the first item shows that a list is a single graph, not a list of graphs."""
    first = members[0]
    if _object_kind(first) == tuples.MATRIX:  # before mappings, since one of SciPy's sparse formats is a dictionary
        second = members[1] if len(members) > 1 else None
        if _object_kind(second) == tuples.MATRIX:
            return isinstance(second, np.ndarray) and second.ndim == 1
        return isinstance(second, (Mapping, list, tuple))
    if is_integer(first) or (isinstance(first, (Mapping, Set)) and not pyg.is_row(first)):
        return True
    if not isinstance(first, (list, tuple)) or not first:
        return False
    # (0, 1) begins an edge list and [0, 1, 1] a matrix, but (3, [...]) is a graph.
    return tuples.is_pair(first[0]) or (len(first) > 1 and all(tuples.is_scalar(part) for part in first))


def _object_kind(item: Any) -> str | None:
    """Return the kind of a graph that is one object, or None."""
    return next((kind for kind, (is_one, _) in OBJECTS.items() if is_one(item)), None)


def _kind(item: Any, index: int) -> str:
    """Return the kind of an item, or raise an error."""
    kind = _object_kind(item)
    if kind is not None:
        return kind
    if isinstance(item, GraphCollection):
        problem = "is a whole GraphCollection; pass it alone, or join several with GraphCollection.concatenate"
    elif isinstance(item, os.PathLike):
        problem = f"is the path {os.fspath(item)!r}; a path stands for a whole data set and is passed alone"
    elif tuples.is_tuple(item):
        return tuples.KIND
    elif isinstance(item, (tuple, list)):
        problem = f"is a {type(item).__name__} of {len(item)} members; graphs may be {ACCEPTED}"
    else:
        problem = f"is {'None' if item is None else 'of type ' + type(item).__name__}; graphs may be {ACCEPTED}"
    raise GraphError(index, problem)

"""Graphs of libraries: views of collections, networkx, igraph, and RDKit molecules."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from relaxwl.datasets.smiles import MoleculeError, from_rdkit, from_smiles
from relaxwl.graphs import Graph, GraphCollection, GraphError
from relaxwl.graphs.building import (
    as_names,
    check_known,
    common_direction,
    common_names,
    join_labels,
    join_vectors,
    there_are,
    without_gaps,
)
from relaxwl.inputs.reading import GraphParts, Names, build, conventional_names, refuse_names, warn_of_unread

VIEW, RDKIT, SMILES = "a relaxwl graph", "an RDKit molecule", "a SMILES string"
# Attributes of igraph's nodes that contain names, not labels.
NODE_NAMES = {"name", "_nx_name"}


def is_view(item: object) -> bool:
    """Whether the item is a graph of a collection."""
    return isinstance(item, Graph)


def read_views(graphs: list[Graph], names: Names) -> GraphCollection:
    """Take the graphs of each collection at once, join the collections and restore the order."""
    refuse_names(names, VIEW)
    _check_direction([graph.directed for graph in graphs], names)
    collections = {id(graph.collection): graph.collection for graph in graphs}
    members: dict[int, list[int]] = {key: [] for key in collections}
    for position, graph in enumerate(graphs):
        members[id(graph.collection)].append(position)
    taken = [collections[key][[graphs[position].index for position in positions]] for key, positions in members.items()]
    taken = [part.to_undirected() for part in taken] if names.symmetrize else taken
    if len(taken) == 1:
        return taken[0]
    _check_views_agree(graphs)
    order = np.array([position for positions in members.values() for position in positions])
    return GraphCollection.concatenate(taken)[np.argsort(order)]


def _check_direction(directed: list[bool], names: Names) -> None:
    """Raise an error if graphs that are known to be directed or undirected do not have the requested type."""
    if names.directed is not None and not names.symmetrize:
        common_direction(directed, names.directed, inferred=False)


def _check_views_agree(graphs: list[Graph]) -> None:
    """Raise an error for the first graph that has other kinds of labels or attributes than the graphs before it."""
    for index, graph in enumerate(graphs):
        if graph.directed != graphs[0].directed:
            raise GraphError(index, "of graphs 0 and this one only one is directed; a collection is one or the other")
    for kind in ("node", "edge"):
        carriers = [index for index, graph in enumerate(graphs) if getattr(graph, f"n_{kind}s")]
        for index in carriers:
            parts = graphs[carriers[0]].collection, graphs[index].collection
            labeled = [getattr(one, f"{kind}_vocabulary") is not None for one in parts]
            widths = [np.shape(getattr(one, f"{kind}_attributes"))[1:] for one in parts]
            if labeled[0] != labeled[1]:
                raise GraphError(index, f"of graphs {carriers[0]} and {index} only one has {kind} labels")
            if widths[0] != widths[1]:
                raise GraphError(
                    index, f"the {kind} attributes have not the same length as those of graph {carriers[0]}"
                )


def is_networkx(item: Any) -> bool:
    """Whether the item has the interface of a networkx graph."""
    return hasattr(item, "nodes") and hasattr(item, "adj") and hasattr(item, "is_directed")


def read_networkx(graphs: list[Any], names: Names) -> GraphCollection:
    """Read graphs with the attributes that are named, or with ``label`` and ``attributes``."""
    nodes = [(graph.number_of_nodes(), _presence(graph.nodes(data=True))) for graph in graphs]
    edges = [(graph.number_of_edges(), _presence(graph.edges(data=True))) for graph in graphs]
    found = conventional_names(names, nodes, edges)
    warn_of_unread(
        names,
        found,
        {key for graph in graphs for _, data in graph.nodes(data=True) for key in data},
        {key for graph in graphs for *_, data in graph.edges(data=True) for key in data},
    )
    _check_direction([graph.is_directed() for graph in graphs], names)
    return GraphCollection.from_networkx(
        graphs,
        found.node_label,
        found.edge_label,
        found.node_attributes,
        edge_attributes=found.edge_attributes,
        symmetrize=names.symmetrize,
        missing=names.missing,
    )


def _presence(entries: Iterable[tuple[Any, ...]]) -> Callable[[str], int]:
    """Return a function that counts the nodes or edges that have an attribute."""
    return lambda name: sum(name in entry[-1] for entry in entries)


def is_igraph(item: Any) -> bool:
    """Whether the item has the interface of an igraph graph."""
    return hasattr(item, "vs") and hasattr(item, "es") and hasattr(item, "get_edgelist")


def read_igraph(graphs: list[Any], names: Names) -> GraphCollection:
    """Read graphs with the attributes that are named, or with ``label`` and ``attributes``."""

    def presence(elements: Any) -> tuple[int, Callable[[str], int]]:
        # igraph fills an attribute that only some elements have with None.
        def count(name: str) -> int:
            return sum(value is not None for value in elements[name]) if name in elements.attributes() else 0

        return len(elements), count

    nodes, edges = [presence(graph.vs) for graph in graphs], [presence(graph.es) for graph in graphs]
    found = conventional_names(names, nodes, edges)
    node_keys = {key for graph in graphs for key in graph.vs.attributes()} - NODE_NAMES
    warn_of_unread(names, found, node_keys, {key for graph in graphs for key in graph.es.attributes()})
    columns = {
        "node_labels": _columns([graph.vs for graph in graphs], found.node_label, names),
        "edge_labels": _columns([graph.es for graph in graphs], found.edge_label, names),
        "node_attributes": _columns([graph.vs for graph in graphs], found.node_attributes, names),
        "edge_attributes": _columns([graph.es for graph in graphs], found.edge_attributes, names),
    }
    if names.missing is not None:
        for part in ("node_attributes", "edge_attributes"):
            columns[part] = [without_gaps(column) for column in columns[part]]
    parts = []
    for index, graph in enumerate(graphs):
        joined: dict[str, Any] = {}
        for part, by_name in columns.items():
            own, length = [column[index] for column in by_name], graph.vcount() if "node" in part else graph.ecount()
            if own and part.endswith("labels"):
                joined[part] = join_labels(own, names.missing)
            elif own:
                joined[part] = join_vectors(own, length, index)
        parts.append(GraphParts(graph.vcount(), graph.get_edgelist(), directed=graph.is_directed(), **joined))
    called = common_names([graph["name"] if "name" in graph.attributes() else None for graph in graphs])
    return build(parts, names, inferred=False).with_names(called)


def _columns(elements: list[Any], wanted: str | Sequence[str] | None, names: Names) -> list[list[list[Any]]]:
    """Return, for each name that is wanted, the values of each graph."""
    partial, found = names.missing is not None, []
    for name in as_names(wanted):
        if partial:
            keys = {key: None for one in elements for key in one.attributes()}
            check_known(name, [key for key in keys if key == name or key not in NODE_NAMES])
        found.append([_column(one, name, index, partial) for index, one in enumerate(elements)])
    return found


def _column(elements: Any, name: str, index: int, partial: bool) -> list[Any]:
    if name in elements.attributes():
        return list(elements[name])
    if len(elements) and not partial:
        raise GraphError(index, f"has no attribute {name!r}; {there_are(elements.attributes())}")
    return [None] * len(elements)


def read_rdkit(molecules: list[Any], names: Names) -> GraphCollection:
    """Read molecules with elements and types of bonds as labels; ``relaxwl.molecules.from_rdkit`` has the options."""
    refuse_names(names, RDKIT)
    _check_direction([False] * len(molecules), names)
    graphs: GraphCollection = from_rdkit(molecules)
    return graphs


def read_texts(texts: list[str], names: Names) -> GraphCollection:
    """Read SMILES strings as molecules; ``relaxwl.molecules.from_smiles`` has the options."""
    refuse_names(names, SMILES)
    _check_direction([False] * len(texts), names)
    try:
        graphs: GraphCollection = from_smiles(texts)
    except MoleculeError as error:
        hint = "a path stands for a whole data set and is passed alone"
        raise GraphError(error.index, f"the text {error.text!r} is not a molecule ({error.problem}); {hint}") from None
    return graphs

"""Graphs of igraph."""

from collections.abc import Callable, Sequence
from typing import Any

from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.graphs.building import (
    as_names,
    check_known,
    common_names,
    join_labels,
    join_vectors,
    there_are,
    without_gaps,
)
from relaxwl.inputs.reading import Names, Parts, build, conventional_names, warn_of_unread

KIND = "an igraph graph"
# What a vertex is called is not what it is.
VERTEX_NAMES = {"name", "_nx_name"}


def recognise(item: Any) -> bool:
    """Whether the item can do what an igraph graph can."""
    return hasattr(item, "vs") and hasattr(item, "es") and hasattr(item, "get_edgelist")


def read(graphs: list[Any], names: Names) -> GraphCollection:
    """Read graphs with the attributes that are named, or with ``label`` and ``attributes``."""

    def presence(elements: Any) -> tuple[int, Callable[[str], int]]:
        # igraph fills an attribute that only some elements have with None.
        def count(name: str) -> int:
            return sum(value is not None for value in elements[name]) if name in elements.attributes() else 0

        return len(elements), count

    nodes, edges = [presence(graph.vs) for graph in graphs], [presence(graph.es) for graph in graphs]
    found = conventional_names(names, nodes, edges)
    node_keys = {key for graph in graphs for key in graph.vs.attributes()} - VERTEX_NAMES
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
        parts.append(Parts(graph.vcount(), graph.get_edgelist(), directed=graph.is_directed(), **joined))
    called = common_names([graph["name"] if "name" in graph.attributes() else None for graph in graphs])
    return build(parts, names, inferred=False).with_names(called)


def _columns(elements: list[Any], wanted: str | Sequence[str] | None, names: Names) -> list[list[list[Any]]]:
    """Return, for each name that is wanted, the values of each graph."""
    partial, found = names.missing is not None, []
    for name in as_names(wanted):
        if partial:
            keys = {key: None for one in elements for key in one.attributes()}
            check_known(name, [key for key in keys if key == name or key not in VERTEX_NAMES])
        found.append([_column(one, name, index, partial) for index, one in enumerate(elements)])
    return found


def _column(elements: Any, name: str, index: int, partial: bool) -> list[Any]:
    if name in elements.attributes():
        return list(elements[name])
    if len(elements) and not partial:
        raise GraphError(index, f"has no attribute {name!r}; {there_are(elements.attributes())}")
    return [None] * len(elements)

"""Graphs of igraph."""

from collections.abc import Callable, Sequence
from typing import Any

from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.graphs.arrays import Float64
from relaxwl.graphs.building import as_names, join_labels, join_vectors, there_are
from relaxwl.inputs.reading import Names, Parts, build, conventional_names, warn_of_unread

KIND = "an igraph graph"


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
    # What a vertex is called is not what it is.
    node_keys = {key for graph in graphs for key in graph.vs.attributes()} - {"name", "_nx_name"}
    warn_of_unread(names, found, node_keys, {key for graph in graphs for key in graph.es.attributes()})
    parts = []
    for index, graph in enumerate(graphs):
        columns = {
            "node_labels": _labels(graph.vs, found.node_label, index, names.missing),
            "edge_labels": _labels(graph.es, found.edge_label, index, names.missing),
            "node_attributes": _vectors(graph.vs, found.node_attributes, index),
            "edge_attributes": _vectors(graph.es, found.edge_attributes, index),
        }
        parts.append(Parts(graph.vcount(), graph.get_edgelist(), directed=graph.is_directed(), **columns))
    return build(parts, names, inferred=False)


def _labels(elements: Any, names: str | Sequence[str] | None, index: int, missing: Any) -> list[Any] | None:
    columns = [_column(elements, name, index) for name in as_names(names)]
    return join_labels(columns, missing) if columns else None


def _column(elements: Any, name: str, index: int) -> list[Any]:
    if name not in elements.attributes():
        if not len(elements):
            return []
        raise GraphError(index, f"has no attribute {name!r}; {there_are(elements.attributes())}")
    return list(elements[name])


def _vectors(elements: Any, names: str | Sequence[str] | None, index: int) -> Float64 | None:
    columns = [_column(elements, name, index) for name in as_names(names)]
    return join_vectors(columns, len(elements), index) if columns else None

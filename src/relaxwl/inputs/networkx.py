"""Graphs of networkx."""

from collections.abc import Callable, Iterable
from typing import Any

from relaxwl.graphs import GraphCollection
from relaxwl.graphs.building import common_direction
from relaxwl.inputs.reading import Names, conventional_names, warn_of_unread

KIND = "a networkx graph"


def recognise(item: Any) -> bool:
    """Whether the item can do what a networkx graph can."""
    return hasattr(item, "nodes") and hasattr(item, "adj") and hasattr(item, "is_directed")


def read(graphs: list[Any], names: Names) -> GraphCollection:
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
    if names.directed is not None:
        common_direction([graph.is_directed() for graph in graphs], names.directed, inferred=False)
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
    """Return a function that counts the vertices or edges that have an attribute."""
    return lambda name: sum(name in entry[-1] for entry in entries)

"""What all readers share: what the caller asked for, one graph's parts, and the names that count without being told."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relaxwl.graphs import CollectionBuilder, GraphCollection, GraphError

# What to_networkx writes, and what graphs are searched for when the caller names nothing.
LABEL, ATTRIBUTES = "label", "attributes"


@dataclass(frozen=True)
class Names:
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
class Parts:
    """One graph as ``CollectionBuilder.add`` takes it."""

    n_nodes: int
    edges: Any
    node_labels: Any = None
    edge_labels: Any = None
    node_attributes: Any = None
    edge_attributes: Any = None


def refuse_names(names: Names, what: str) -> None:
    """Refuse names where nothing is kept by name."""
    if names.given:
        raise ValueError(f"{names.given[0]} names an attribute, but {what} has no attributes to be looked up by name")


def conventional_names(
    names: Names,
    nodes: list[tuple[int, Callable[[str], int]]],
    edges: list[tuple[int, Callable[[str], int]]],
) -> Names:
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


def warn_of_unread(names: Names, attributes: set[Any]) -> None:
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


def with_weights(graphs: list[Parts]) -> list[Parts]:
    """Give every graph weights if one has them: an edge without a weight weighs 1."""
    if all(graph.edge_attributes is None for graph in graphs):
        return graphs
    return [
        replace(graph, edge_attributes=np.ones((len(graph.edges), 1))) if graph.edge_attributes is None else graph
        for graph in graphs
    ]


def build(graphs: list[Parts]) -> GraphCollection:
    """Check the graphs and put them into one collection."""
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

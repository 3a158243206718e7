"""Code shared by all readers: options, the parts of a graph, and conventional names."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relaxwl._validation import warn_user
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.graphs.building import CollectionBuilder, as_names, common_direction
from relaxwl.graphs.labels import Label

# Names that to_networkx writes, and that are read if the caller names no attributes.
LABEL, ATTRIBUTES = "label", "attributes"


@dataclass(frozen=True)
class Names:
    """The caller's names of labels and attributes, and other options for reading graphs.

    A name that is None is replaced by the conventional name of the format.
    """

    node_label: str | Sequence[str] | None = None
    edge_label: str | Sequence[str] | None = None
    node_attributes: str | Sequence[str] | None = None
    edge_attributes: str | Sequence[str] | None = None
    symmetrize: bool = False
    directed: bool | None = None
    missing: Label | None = None

    @property
    def given(self) -> list[str]:
        """The arguments that name something."""
        fields = ("node_label", "edge_label", "node_attributes", "edge_attributes")
        return [field for field in fields if getattr(self, field) is not None]


@dataclass(frozen=True)
class GraphParts:
    """One graph as ``CollectionBuilder.add`` takes it; ``directed`` is None for edges that may be either."""

    n_nodes: int
    edges: Any
    node_labels: Any = None
    edge_labels: Any = None
    node_attributes: Any = None
    edge_attributes: Any = None
    directed: bool | None = None


def refuse_names(names: Names, what: str) -> None:
    """Raise an error if names are given for a format without named attributes."""
    if names.given:
        raise ValueError(f"{names.given[0]} names an attribute, but {what} has no attributes to be looked up by name")


def conventional_names(
    names: Names, nodes: list[tuple[int, Callable[[str], int]]], edges: list[tuple[int, Callable[[str], int]]]
) -> Names:
    """Fill in ``label`` and ``attributes`` where the caller names nothing and the graphs have them.

    It is an error if only some nodes (edges) of a graph have them, unless values may be missing.
    """
    found: dict[str, Any] = {}
    for kind, counts in (("node", nodes), ("edge", edges)):
        for field, name in ((f"{kind}_label", LABEL), (f"{kind}_attributes", ATTRIBUTES)):
            present = [count(name) for _, count in counts] if field not in names.given else []
            if not any(present):
                continue
            found[field] = name
            for index, ((total, _), having) in enumerate(zip(counts, present, strict=True)):
                if having < total and names.missing is None:
                    problem = f"{total - having} of its {total} {kind}s have no attribute {name!r}, which others have"
                    raise GraphError(
                        index, f"{problem}; give it to all, select another with {field}, or pass missing=…"
                    )
    return replace(names, **found)


def warn_of_unread(asked: Names, read: Names, node_keys: Iterable[Any], edge_keys: Iterable[Any]) -> None:
    """Warn of attributes that are not read, unless the caller has named attributes to read."""
    found = []
    for kind, what, keys in (("node", "node", node_keys), ("edge", "edge", edge_keys)):
        if getattr(asked, f"{kind}_attributes") is None:
            names = {*as_names(getattr(read, f"{kind}_label")), *as_names(getattr(read, f"{kind}_attributes"))}
            left = sorted(repr(key) for key in set(keys) - names)
            if left:
                found.append((kind, f"the {what} attributes {', '.join(left[:5])}{' …' if len(left) > 5 else ''}"))
    if found:
        kinds = [kind for kind, _ in found]
        warn_user(
            f"{' and '.join(words for _, words in found)} are not read: select with "
            f"{', '.join(f'{kind}_label=…, {kind}_attributes=…' for kind in kinds)}, or "
            f"{' and '.join(f'{kind}_attributes=[]' for kind in kinds)} to leave out the rest"
        )


def with_weights(graphs: list[GraphParts]) -> list[GraphParts]:
    """Give every graph weights if one has them: an edge without a weight gets weight 1."""
    if all(graph.edge_attributes is None for graph in graphs):
        return graphs
    return [
        replace(graph, edge_attributes=np.ones((len(graph.edges), 1))) if graph.edge_attributes is None else graph
        for graph in graphs
    ]


def build(graphs: list[GraphParts], names: Names = Names(), *, inferred: bool = True) -> GraphCollection:
    """Check the graphs and put them into one collection.

    ``inferred`` means that graphs count as directed only because they are asymmetric, not because of their type.
    """
    found = [graph.directed if len(graph.edges) or not inferred else False for graph in graphs]
    directed = not names.symmetrize and common_direction(found, names.directed, inferred=inferred)
    builder = CollectionBuilder(directed=directed, missing=names.missing)
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

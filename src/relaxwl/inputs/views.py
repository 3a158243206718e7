"""Graphs of our own, taken out of collections and put back together."""

import numpy as np

from relaxwl.graphs import Graph, GraphCollection, GraphError
from relaxwl.inputs.reading import Names, refuse_names

KIND = "a relaxwl graph"


def recognise(item: object) -> bool:
    """Whether the item is a graph of a collection."""
    return isinstance(item, Graph)


def read(graphs: list[Graph], names: Names) -> GraphCollection:
    """Take the graphs of each collection at once, join the collections and restore the order."""
    refuse_names(names, KIND)
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


def _check_views_agree(graphs: list[Graph]) -> None:
    """Name the first graph that carries other things than those before it."""
    for index, graph in enumerate(graphs):
        if graph.directed != graphs[0].directed:
            raise GraphError(index, "of graphs 0 and this one only one is directed; a collection is one or the other")
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

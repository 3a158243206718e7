"""Graphs of GraKeL."""

from typing import Any

import numpy as np

from relaxwl.graphs import GraphCollection
from relaxwl.inputs.reading import Names, build, refuse_names, with_weights
from relaxwl.inputs.tuples import matrix_parts, tuple_parts

KIND = "a grakel.Graph"


def recognise(item: Any) -> bool:
    """Whether the item keeps its edges as grakel.Graph does."""
    return hasattr(item, "edge_dictionary") and hasattr(item, "adjacency_matrix")


def read(graphs: list[Any], names: Names) -> GraphCollection:
    """Read graphs of GraKeL, in either of the forms in which it keeps them."""
    refuse_names(names, KIND)
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

"""Collections of undirected, labeled and attributed graphs."""

from relaxwl.graphs.building import DIRECTED, CollectionBuilder, GraphError, assemble
from relaxwl.graphs.collection import Graph, GraphCollection
from relaxwl.graphs.labels import Label, Vocabulary, check_same_kind, encode_labels, match_codes, sort_labels

__all__ = [
    "DIRECTED",
    "CollectionBuilder",
    "Graph",
    "GraphCollection",
    "GraphError",
    "Label",
    "Vocabulary",
    "assemble",
    "check_same_kind",
    "encode_labels",
    "match_codes",
    "sort_labels",
]

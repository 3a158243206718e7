"""Collections of undirected and directed, labeled and attributed graphs."""

from relaxwl.graphs.building import GraphError as GraphError
from relaxwl.graphs.collection import Graph, GraphCollection

__all__ = ["Graph", "GraphCollection"]

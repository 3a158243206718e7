"""Relaxed Weisfeiler-Lehman graph kernels: neighbourhoods that are similar count as alike."""

from importlib import import_module as _import_module

from relaxwl import datasets, kernels
from relaxwl.clustering.barycenter import transport_barycenter
from relaxwl.clustering.kmeans import WassersteinKMeans
from relaxwl.costs import EditCost
from relaxwl.distances.pairwise import distinct_tree_distances, tree_distances
from relaxwl.distances.transport import transport_distance
from relaxwl.distances.tree import TreeMapping, tree_edit_distance, tree_edit_mapping
from relaxwl.graphs import Graph, GraphCollection
from relaxwl.inputs import as_collection
from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.unfolding.tree import UnfoldingTree, unfolding_tree

__version__ = "0.1.0.dev0"

__all__ = [
    "EditCost",
    "Graph",
    "GraphCollection",
    "RelaxedWeisfeilerLehman",
    "TreeMapping",
    "UnfoldingTree",
    "WassersteinKMeans",
    "WeisfeilerLehman",
    "as_collection",
    "datasets",
    "distinct_tree_distances",
    "evaluation",
    "explanation",
    "kernels",
    "transport_barycenter",
    "transport_distance",
    "tree_distances",
    "tree_edit_distance",
    "tree_edit_mapping",
    "unfolding_tree",
]

# Imported when first used: they bring in scikit-learn's model selection, which kernels alone do without.
_LAZY = frozenset({"evaluation", "explanation"})


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _import_module(f"relaxwl.{name}")
    raise AttributeError(f"module 'relaxwl' has no attribute {name!r}")

"""Relaxed Weisfeiler-Lehman graph kernels: neighborhoods that are similar count as alike."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "ContinuousWeisfeilerLehman",
    "EditCost",
    "Graph",
    "GraphClassifier",
    "GraphCollection",
    "GraphIndex",
    "GraphRegressor",
    "KernelDistance",
    "KernelMatrix",
    "NodeClusters",
    "RelaxedWeisfeilerLehman",
    "ToGraphs",
    "TreeMapping",
    "UnfoldingTree",
    "WassersteinKMeans",
    "WeisfeilerLehman",
    "as_collection",
    "datasets",
    "distributed",
    "evaluation",
    "explanation",
    "kernels",
    "molecules",
    "transport_barycenter",
    "transport_distance",
    "tree_distances",
    "tree_edit_distance",
    "tree_edit_mapping",
    "unfolding_tree",
]

if TYPE_CHECKING:
    from relaxwl import datasets, distributed, evaluation, explanation, kernels, molecules
    from relaxwl.clustering.barycenter import transport_barycenter
    from relaxwl.clustering.kmeans import WassersteinKMeans
    from relaxwl.costs import EditCost
    from relaxwl.distances.pairwise import tree_distances
    from relaxwl.distances.transport import transport_distance
    from relaxwl.distances.tree import TreeMapping, tree_edit_distance, tree_edit_mapping
    from relaxwl.graphs import Graph, GraphCollection
    from relaxwl.inputs import ToGraphs, as_collection
    from relaxwl.kernels import ContinuousWeisfeilerLehman, RelaxedWeisfeilerLehman, WeisfeilerLehman
    from relaxwl.predictors import (
        GraphClassifier,
        GraphIndex,
        GraphRegressor,
        KernelDistance,
        KernelMatrix,
        NodeClusters,
    )
    from relaxwl.unfolding.tree import UnfoldingTree, unfolding_tree
else:
    # Names are imported when first used: ``relaxwl --help`` does without numerics, and kernels without evaluation.
    _LOCATIONS = {
        "ContinuousWeisfeilerLehman": "kernels",
        "EditCost": "costs",
        "Graph": "graphs",
        "GraphClassifier": "predictors.classifier",
        "GraphCollection": "graphs",
        "GraphIndex": "predictors.index",
        "GraphRegressor": "predictors.regressor",
        "KernelDistance": "predictors.transformers",
        "KernelMatrix": "predictors.transformers",
        "RelaxedWeisfeilerLehman": "kernels",
        "ToGraphs": "inputs",
        "TreeMapping": "distances.tree",
        "UnfoldingTree": "unfolding.tree",
        "NodeClusters": "predictors.transformers",
        "WassersteinKMeans": "clustering.kmeans",
        "WeisfeilerLehman": "kernels",
        "as_collection": "inputs",
        "transport_barycenter": "clustering.barycenter",
        "transport_distance": "distances.transport",
        "tree_distances": "distances.pairwise",
        "tree_edit_distance": "distances.tree",
        "tree_edit_mapping": "distances.tree",
        "unfolding_tree": "unfolding.tree",
    }
    _SUBPACKAGES = frozenset(
        {
            "clustering",
            "costs",
            "datasets",
            "distances",
            "distributed",
            "drawing",
            "evaluation",
            "explanation",
            "gp",
            "graphs",
            "inputs",
            "kernels",
            "predictors",
            "learning",
            "molecules",
            "reports",
            "unfolding",
        }
    )

    def __getattr__(name: str) -> object:
        if name in _SUBPACKAGES:
            return _import_module(f"relaxwl.{name}")
        if name in _LOCATIONS:
            value = getattr(_import_module(f"relaxwl.{_LOCATIONS[name]}"), name)
            globals()[name] = value  # so that it is looked up once
            return value
        raise AttributeError(f"module 'relaxwl' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

"""Relaxed Weisfeiler-Lehman graph kernels, which match similar neighborhoods."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from relaxwl._version import __version__ as __version__

__all__ = [
    "ContinuousWeisfeilerLehman", "EditCost", "Graph", "GraphClassifier", "GraphCollection", "GraphDiscrepancy",
    "GraphDistance", "GraphIndex", "GraphRegressor", "GraphStatistics", "KernelDistance", "KernelMatrix",
    "NodeClusters", "RelaxedWeisfeilerLehman", "ToGraphs", "TreeMapping", "UnfoldingTree", "WassersteinKMeans",
    "WeisfeilerLehman", "as_collection", "comparison", "datasets", "distributed", "evaluation", "explanation",
    "graph_distances", "kernels", "molecules", "reports", "transport_barycenter", "transport_distance",
    "transport_distances", "transport_nearest", "tree_distances", "tree_edit_distance", "tree_edit_mapping",
    "two_sample_test", "unfolding_tree",
]  # fmt: skip

if TYPE_CHECKING:
    from relaxwl import comparison, datasets, distributed, evaluation, explanation, kernels, molecules, reports
    from relaxwl.clustering.barycenter import transport_barycenter
    from relaxwl.clustering.kmeans import WassersteinKMeans
    from relaxwl.comparison import GraphDiscrepancy, two_sample_test
    from relaxwl.costs import EditCost
    from relaxwl.distances.batch import transport_distance, transport_distances, transport_nearest
    from relaxwl.distances.graphs import GraphDistance, graph_distances
    from relaxwl.distances.pairwise import tree_distances
    from relaxwl.distances.tree import TreeMapping, tree_edit_distance, tree_edit_mapping
    from relaxwl.graphs import Graph, GraphCollection
    from relaxwl.inputs import ToGraphs, as_collection
    from relaxwl.kernels import ContinuousWeisfeilerLehman, RelaxedWeisfeilerLehman, WeisfeilerLehman
    from relaxwl.kernels.statistics import GraphStatistics
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
    # Names are imported on first use, so that ``relaxwl --help`` loads no numerics and kernels load no evaluation.
    _NAMES = {
        "clustering.barycenter": ["transport_barycenter"],
        "clustering.kmeans": ["WassersteinKMeans"],
        "comparison": ["GraphDiscrepancy", "two_sample_test"],
        "costs": ["EditCost"],
        "distances.graphs": ["GraphDistance", "graph_distances"],
        "distances.pairwise": ["tree_distances"],
        "distances.batch": ["transport_distance", "transport_distances", "transport_nearest"],
        "distances.tree": ["TreeMapping", "tree_edit_distance", "tree_edit_mapping"],
        "graphs": ["Graph", "GraphCollection"],
        "inputs": ["ToGraphs", "as_collection"],
        "kernels": ["ContinuousWeisfeilerLehman", "RelaxedWeisfeilerLehman", "WeisfeilerLehman"],
        "kernels.statistics": ["GraphStatistics"],
        "predictors.classifier": ["GraphClassifier"],
        "predictors.index": ["GraphIndex"],
        "predictors.regressor": ["GraphRegressor"],
        "predictors.transformers": ["KernelDistance", "KernelMatrix", "NodeClusters"],
        "unfolding.tree": ["UnfoldingTree", "unfolding_tree"],
    }
    _LOCATIONS = {name: module for module, names in _NAMES.items() for name in names}

    def __getattr__(name: str) -> object:
        if name in _LOCATIONS:
            value = getattr(_import_module(f"relaxwl.{_LOCATIONS[name]}"), name)
            globals()[name] = value  # so that it is looked up once
            return value
        try:
            return _import_module(f"relaxwl.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"relaxwl.{name}":
                raise
        raise AttributeError(f"module 'relaxwl' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

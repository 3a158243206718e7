"""Baseline kernels from the literature."""

from relaxwl.kernels.baselines.gradual import GradualWL
from relaxwl.kernels.baselines.graphlet_sampling import GraphletSampling
from relaxwl.kernels.baselines.histograms import ShortestPath, VertexEdgeHistogram, WLOptimalAssignment
from relaxwl.kernels.baselines.odd_sth import OddSth
from relaxwl.kernels.baselines.pwl import PersistentWL
from relaxwl.kernels.baselines.statistics import StatisticsForestClassifier, StatisticsForestRegressor
from relaxwl.kernels.baselines.tmd import TreeMover
from relaxwl.kernels.baselines.wwl import WassersteinWL

__all__ = [
    "GradualWL", "GraphletSampling", "OddSth", "PersistentWL", "ShortestPath", "StatisticsForestClassifier",
    "StatisticsForestRegressor", "TreeMover", "VertexEdgeHistogram", "WLOptimalAssignment", "WassersteinWL",
]  # fmt: skip

"""Predictors of graphs: estimators and transformers on top of the kernels."""

from relaxwl.predictors.classifier import GraphClassifier
from relaxwl.predictors.effects import ClusterEffect as ClusterEffect
from relaxwl.predictors.effects import NodeEffects as NodeEffects
from relaxwl.predictors.index import GraphIndex
from relaxwl.predictors.regressor import GraphRegressor
from relaxwl.predictors.report import FitReport as FitReport
from relaxwl.predictors.transformers import KernelDistance, KernelMatrix, NodeClusters

__all__ = ["GraphClassifier", "GraphIndex", "GraphRegressor", "KernelDistance", "KernelMatrix", "NodeClusters"]

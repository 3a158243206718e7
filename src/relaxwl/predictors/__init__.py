"""Graphs in, answers out: estimators and transformers that stand on the kernels."""

from relaxwl.predictors.transformers import KernelDistance, KernelMatrix, VertexGroups

__all__ = ["KernelDistance", "KernelMatrix", "VertexGroups"]

"""Explanations of kernels: clusters of neighborhoods that separate classes, and their nodes in the graphs."""

from relaxwl.explanation.explain import explain
from relaxwl.explanation.explanation import Explanation

__all__ = ["Explanation", "explain"]

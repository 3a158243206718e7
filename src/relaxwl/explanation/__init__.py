"""Explanations of kernels: clusters of neighborhoods that separate classes, and where in the graphs they are."""

from relaxwl.explanation.explain import explain
from relaxwl.explanation.explanation import Explanation

__all__ = ["Explanation", "explain"]

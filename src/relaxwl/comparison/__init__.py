"""Comparisons of two collections of graphs: a test, a distance, and what differs."""

from relaxwl.comparison.differences import Differences as Differences
from relaxwl.comparison.discrepancy import GraphDiscrepancy as GraphDiscrepancy
from relaxwl.comparison.isomorphism import GenerationQuality as GenerationQuality
from relaxwl.comparison.isomorphism import isomorphism_classes as isomorphism_classes
from relaxwl.comparison.two_sample import TwoSampleResult as TwoSampleResult
from relaxwl.comparison.two_sample import two_sample_test as two_sample_test

__all__ = [
    "Differences", "GenerationQuality", "GraphDiscrepancy", "TwoSampleResult", "isomorphism_classes", "two_sample_test",
]  # fmt: skip

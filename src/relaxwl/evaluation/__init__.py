"""Nested cross-validation of kernels, its records and tables."""

from relaxwl.evaluation.protocol import cross_validate
from relaxwl.evaluation.results import Results, ResultStore
from relaxwl.evaluation.tables import compare, mean_ranks, results_table, runtime_table, significance_table

__all__ = [
    "ResultStore",
    "Results",
    "compare",
    "cross_validate",
    "mean_ranks",
    "results_table",
    "runtime_table",
    "significance_table",
]

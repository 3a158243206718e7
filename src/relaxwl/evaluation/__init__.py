"""Nested cross-validation of kernels, its records and tables."""

from relaxwl.evaluation.folds import DEFAULT_C
from relaxwl.evaluation.protocol import cross_validate
from relaxwl.evaluation.records import Cell, DatasetRecord, FailedRun, FoldRecord
from relaxwl.evaluation.results import Results, ResultStore
from relaxwl.evaluation.significance import compare, mean_ranks, significance_table
from relaxwl.evaluation.statistics import describe_dataset
from relaxwl.evaluation.tables import Table, dataset_table, results_table, runtime_table

__all__ = [
    "DEFAULT_C",
    "Cell",
    "DatasetRecord",
    "FailedRun",
    "FoldRecord",
    "ResultStore",
    "Results",
    "Table",
    "compare",
    "cross_validate",
    "dataset_table",
    "describe_dataset",
    "mean_ranks",
    "results_table",
    "runtime_table",
    "significance_table",
]

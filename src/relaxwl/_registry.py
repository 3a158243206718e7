"""All estimators by name: kernels and predictors; for the command line and evaluation."""

from relaxwl.kernels.registry import ENTRIES as KERNELS
from relaxwl.kernels.registry import Entry, find_entry

ENTRIES = (
    *KERNELS,
    Entry(
        "auto",
        "auto",
        "relaxwl.predictors:GraphClassifier",
        "GraphClassifier: exact and relaxed kernels and statistics, learned weights; GraphRegressor for regression",
        regressor="relaxwl.predictors:GraphRegressor",
    ),
    Entry(
        "molecules",
        "molecules",
        "relaxwl.molecules:MoleculeClassifier",
        "MoleculeClassifier: graphs, descriptors and fingerprints of molecules; MoleculeRegressor for regression",
        regressor="relaxwl.molecules:MoleculeRegressor",
    ),
)


def estimator_names() -> list[str]:
    """Return the names of all estimators, in the order of the tables."""
    return [entry.name for entry in ENTRIES]


def get_estimator(name: str) -> Entry:
    """Return the entry of an estimator by its name, or as ``package.module:Class``."""
    return find_entry(name, ENTRIES)

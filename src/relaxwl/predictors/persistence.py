"""Predictors in model files: which classes and attributes they bring along, each with a check."""

import os
from typing import Any

import numpy as np

from relaxwl.kernels.base import CountKernel, descendants
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.model_schema import of, register, require
from relaxwl.kernels.persistence import ModelFileError, load_model
from relaxwl.kernels.registry import import_kernels
from relaxwl.learning.gaussian_process import GaussianProcess
from relaxwl.learning.heads import (
    Head,
    KernelSVM,
    LinearClassifier,
    LinearRegressor,
    ProcessClassifier,
    ProcessRegressor,
    Tried,
)
from relaxwl.learning.voting import VotingMachine
from relaxwl.predictors.blocks import KernelBlocks
from relaxwl.predictors.novelty import Novelty
from relaxwl.predictors.report import FitReport
from relaxwl.predictors.views import ColumnScaler, CountView, Similarity, VectorView


def load_predictor(path: str | os.PathLike[str], kinds: tuple[type, ...]) -> Any:
    """Read a predictor of one of these classes; nothing in the file is executed."""
    import_kernels()
    model = load_model(path, {kind.__name__: kind for kind in (*kinds, *descendants(CountKernel))})
    if not isinstance(model, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ModelFileError(f"{path} holds a {type(model).__name__}, not a {names}")
    return model


def _classes(value: Any, what: str) -> None:
    known = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufU"
    require(known and len(value) > 1 and len(np.unique(value)) == len(value), f"{what} must be different classes")


for _kind in (
    ColumnScaler, Counts, CountView, FitReport, GaussianProcess, KernelBlocks, KernelSVM, LinearClassifier,
    LinearRegressor, Novelty, ProcessClassifier, ProcessRegressor, Similarity, Tried, VectorView, VotingMachine,
):  # fmt: skip
    register(_kind)
register(
    attributes={
        "classes_": _classes,
        "kernel_weights_": of(dict),
        "report_": of(FitReport),
        "_head": of(Head),
        "_blocks": of(KernelBlocks),
        "_novelty": of(Novelty),
        "_takes_extra": of(bool),
        "environments_": of(np.ndarray),
    }
)

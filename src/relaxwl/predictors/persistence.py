"""Predictors in model files: which classes and attributes they bring along, each with a check."""

import os
from typing import Any

import numpy as np

from relaxwl.kernels.base import CountKernel
from relaxwl.kernels.model_schema import of, register, require, texts
from relaxwl.kernels.persistence import load_model
from relaxwl.kernels.registry import import_kernels
from relaxwl.learning.gaussian_process import GaussianProcess
from relaxwl.learning.vectors import VectorKernel
from relaxwl.learning.voting import VotingMachine
from relaxwl.predictors.averaged import AveragedKernel, Prepared
from relaxwl.predictors.linear import LinearMachine, LinearRegression
from relaxwl.predictors.novelty import Novelty
from relaxwl.predictors.portfolio import Family
from relaxwl.predictors.report import FitReport, Tried


def load_predictor(path: str | os.PathLike[str], kinds: tuple[type, ...]) -> Any:
    """Read a predictor of one of these classes; nothing in the file is executed."""
    import_kernels()
    inside = [AveragedKernel, *_descendants(CountKernel)]
    model = load_model(path, {kind.__name__: kind for kind in (*kinds, *inside)})
    if not isinstance(model, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"{path} holds a {type(model).__name__}, not a {names}")
    return model


def _descendants(kind: Any) -> list[Any]:
    return [found for child in kind.__subclasses__() for found in (child, *_descendants(child))]


def _number(value: Any, what: str) -> None:
    require(isinstance(value, (int, float)) and np.isfinite(value), f"{what} must be a finite number")


def _text(value: Any, what: str) -> None:
    require(isinstance(value, str), f"{what} must be a text")


def _families(value: Any, what: str) -> None:
    require(isinstance(value, list) and value, f"{what} must be a list of families")
    for family in value:
        of(Family)(family, what)
        of(CountKernel)(family.kernel, what)


def _table(value: Any, what: str) -> None:
    fits = isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype == np.float64
    require(value is None or fits, f"{what} must be a table of numbers")


for _kind in (
    Family, FitReport, GaussianProcess, LinearMachine, LinearRegression, Novelty, Prepared, Tried, VectorKernel,
    VotingMachine,
):  # fmt: skip
    register(_kind)
register(
    attributes={
        "families_": _families,
        "scales_": of(list),
        "blocks_": texts,
        "left_out_": texts,
        "classes_": of(np.ndarray),
        "kernel_": of((AveragedKernel, LinearMachine, LinearRegression)),
        "kernel_weights_": of(dict),
        "report_": of(FitReport),
        "_training": of(Prepared),
        "_machine": of(VotingMachine),
        "_process": of(GaussianProcess),
        "_blocks": texts,
        "_slope": _number,
        "_penalty": _number,
        "_choice": _text,
        "_extra": _table,
        "_extra_kernel": of(VectorKernel),
        "_novelty": of(Novelty),
    }
)

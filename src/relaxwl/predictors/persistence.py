"""Predictors in model files: which classes and attributes they bring along, each with a check."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from relaxwl.kernels.base import SIMILARITIES, CountKernel, descendants
from relaxwl.kernels.model_schema import of, register, require, texts, vector, whole
from relaxwl.kernels.persistence import ModelFileError, load_model
from relaxwl.kernels.registry import import_kernels
from relaxwl.learning.gaussian_process import GaussianProcess
from relaxwl.learning.vectors import VectorKernel
from relaxwl.learning.voting import VotingMachine
from relaxwl.predictors.averaged import COMBINATIONS, AveragedKernel, Prepared
from relaxwl.predictors.linear import LinearMachine, LinearRegression
from relaxwl.predictors.novelty import N_CHAINS, Novelty
from relaxwl.predictors.portfolio import Family
from relaxwl.predictors.report import FitReport, Tried

# More classes than this make more pairs than any machine was fitted for.
MOST_CLASSES = 10_000


def load_predictor(path: str | os.PathLike[str], kinds: tuple[type, ...]) -> Any:
    """Read a predictor of one of these classes; nothing in the file is executed."""
    import_kernels()
    inside = [AveragedKernel, *descendants(CountKernel)]
    model = load_model(path, {kind.__name__: kind for kind in (*kinds, *inside)})
    if not isinstance(model, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ModelFileError(f"{path} holds a {type(model).__name__}, not a {names}")
    try:
        _check_whole(model)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} does not hold a complete model: {error}") from None
    return model


# ---------------------------------------------------------------------------------------------------- parts


def _number(value: Any, what: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    require(number and abs(value) < float("inf"), f"{what} must be a finite number")


def _text(value: Any, what: str) -> None:
    require(isinstance(value, str), f"{what} must be a text")


def _families(value: Any, what: str) -> None:
    require(isinstance(value, list) and value, f"{what} must be a list of families")
    for family in value:
        of(Family)(family, what)
        of(CountKernel)(family.kernel, what)
        _text(family.block, "the block of a family")
        _text(family.name, "the name of a family")
        of(tuple)(family.views, "the views of a family")
        known = (view in SIMILARITIES if isinstance(view, str) else isinstance(view, float) for view in family.views)
        require(family.views and all(known), "the views of a family must be similarities or decays")


def _table(value: Any, what: str) -> None:
    if value is not None:
        vector(np.float64, 2)(value, what)


def _classes(value: Any, what: str) -> None:
    known = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufU"
    require(known and len(value) > 1 and len(np.unique(value)) == len(value), f"{what} must be different classes")


def _machine(value: Any, what: str) -> None:
    of(VotingMachine)(value, what)
    whole(MOST_CLASSES)(value.n_classes, "n_classes")
    n_pairs = value.n_classes * (value.n_classes - 1) // 2
    for name, dtype, shape in (
        ("support", np.int64, (len(value.support),)),
        ("coefficients", np.float64, (n_pairs, len(value.support))),
        ("intercepts", np.float64, (n_pairs,)),
    ):
        _shaped(getattr(value, name), dtype, shape, f"{name} of the machine")


def _process(value: Any, what: str) -> None:
    of(GaussianProcess)(value, what)
    n_graphs = len(value.dual_)
    shapes = {"factor_": (n_graphs, n_graphs), "weights_": (len(value.weights_),)}
    shapes |= dict.fromkeys(("dual_", "_residuals", "_whitened_ones"), (n_graphs,))
    for name, shape in shapes.items():
        _shaped(getattr(value, name), np.float64, shape, f"{name} of the process")
    numbers = ("noise_", "jitter_", "mean_", "log_likelihood_", "n_starts", "max_iter", "verbose")
    for name in numbers:
        _number(getattr(value, name), f"{name} of the process")
    _only(value, (*shapes, *numbers))


def _vectors(value: Any, what: str) -> None:
    of(VectorKernel)(value, what)
    if not vars(value):
        return  # there were no vectors in fitting
    whole()(value.n_columns_, "n_columns_")
    n_kept = len(value.kept_)
    _shaped(value.kept_, np.int64, (n_kept,), "kept_")
    require(value.kept_.min(initial=0) >= 0 and value.kept_.max(initial=-1) < value.n_columns_, "kept_ must be columns")
    for name in ("mean_", "deviation_"):
        _shaped(getattr(value, name), np.float64, (n_kept,), name)
    require(value.deviation_.min(initial=1.0) > 0, "deviation_ must be above 0")
    for name in ("gamma_", "gaussian_scale_"):
        _number(getattr(value, name), name)
    _only(value, ("n_columns_", "kept_", "mean_", "deviation_", "gamma_", "gaussian_scale_"))


def _novelty(value: Any, what: str) -> None:
    of(Novelty)(value, what)
    levels = value.kernel.partitions_
    n_measured = min(len(levels), N_CHAINS) * (len(levels[0]) - 1)
    _shaped(value.units_, np.float64, (n_measured,), "the units of novelty")
    require(value.units_.min(initial=1.0) > 0, "the units of novelty must be above 0")
    _number(value.usual_, "the usual distance of novelty")


def _linear(value: Any, what: str) -> None:
    _families(value.families_, what)
    texts(value.left_out_, "left_out")
    n_columns = sum(len(family.kernel.get_feature_names_out()) for family in value.families_)
    if value.scaler_ is not None:
        n_extra = len(value.scaler_.mean_)
        n_columns += n_extra
        for name in ("mean_", "scale_"):
            _shaped(getattr(value.scaler_, name), np.float64, (n_extra,), f"{name} of the vectors")
        require(value.scaler_.scale_.min(initial=1.0) > 0, "scale_ of the vectors must be above 0")
    if isinstance(value, LinearMachine):
        n_rows = len(value.machine_.coef_)
        _shaped(value.machine_.coef_, np.float64, (n_rows, n_columns), "the weights")
        _shaped(value.machine_.intercept_, np.float64, (n_rows,), "the intercepts")
        _number(value.slope_, "slope")
    else:
        _shaped(value.model_.coef_, np.float64, (n_columns,), "the weights")
        _number(value.model_.intercept_, "the intercept")
        _number(value.deviation_, "deviation")


def _kernel(value: Any, what: str) -> None:
    of((AveragedKernel, LinearMachine, LinearRegression))(value, what)
    if not isinstance(value, AveragedKernel):
        _linear(value, what)


def _weights(value: Any, what: str) -> None:
    of(dict)(value, what)
    for name, weight in value.items():
        _number(weight, f"the weight of {name}")


def _report(value: Any, what: str) -> None:
    of(FitReport)(value, what)
    for name in ("task", "metric", "chosen", "baseline_name"):
        _text(getattr(value, name), f"{name} of the report")
    for name in ("kernels", "left_out", "tried"):
        of(tuple)(getattr(value, name), f"{name} of the report")
    for text in (*value.kernels, *value.left_out, *(one.name for one in value.tried)):
        _text(text, "a name in the report")
    for one in value.tried:
        of(Tried)(one, "what the report tells of")
        _text(one.detail, "a detail in the report")
    # Where nothing could be tried, a score is not a number.
    for number in (value.score, value.baseline, value.seconds, *(one.score for one in value.tried)):
        require(isinstance(number, float), "a score in the report must be a number")


def _shaped(value: Any, dtype: Any, shape: tuple[int, ...], what: str) -> None:
    vector(dtype, len(shape))(value, what)
    require(value.shape == shape, f"{what} must be of shape {shape}, not {value.shape}")


def _only(value: Any, names: Iterable[str]) -> None:
    unknown = vars(value).keys() - set(names)
    require(not unknown, f"{type(value).__name__} has no {', '.join(sorted(unknown))}")


# ---------------------------------------------------------------------------------------------------- the whole


def _check_whole(model: Any) -> None:
    """Check that the parts of a predictor are there and fit each other."""
    for name in ("kernel_", "_novelty", "report_", "_extra", "_extra_kernel"):
        require(hasattr(model, name), f"{name} is missing")
    vectors = model._extra is not None
    if vectors:
        n_columns = model._extra_kernel.n_columns_
        require(model._extra.shape[1] == n_columns, f"the vectors must have {n_columns} columns")
    if isinstance(model.kernel_, AveragedKernel):
        n_compared = model._n_compared()
        require(not vectors or len(model._extra) == n_compared, f"there must be vectors of {n_compared} graphs")
        require(set(model.kernel_.blocks_) == {family.block for family in model.kernel_.families_}, "blocks_ must be "
                "those of the families")  # fmt: skip
    else:
        require(vectors == (model.kernel_.scaler_ is not None), "vectors must have scales")
    if hasattr(model, "classes_"):
        _check_classifier(model)
    else:
        _check_regressor(model, vectors)


def _check_classifier(model: Any) -> None:
    n_classes = len(model.classes_)
    if isinstance(model.kernel_, AveragedKernel):
        require(model._machine.n_classes == n_classes, f"the machine must be one of {n_classes} classes")
        name = model._choice.removesuffix(" + extra")
        require(name in COMBINATIONS or name == "extra", f"{model._choice!r} is no choice")
        require("extra" not in model._choice or model._extra is not None, f"{model._choice!r} needs vectors")
    else:
        of(LinearMachine)(model.kernel_, "kernel_")
        rows = 1 if n_classes == 2 else n_classes
        require(len(model.kernel_.machine_.coef_) == rows, f"the machine must be one of {n_classes} classes")
    _number(model._slope, "_slope")


def _check_regressor(model: Any, vectors: bool) -> None:
    if not isinstance(model.kernel_, AveragedKernel):
        of(LinearRegression)(model.kernel_, "kernel_")
        return
    require(len(model._blocks) == len(set(model._blocks)) == len(model._process.weights_), "weights must be of blocks")
    require(model.kernel_weights_.keys() == set(model._blocks), "kernel_weights_ must be of blocks")
    require(("extra" in model._blocks) == vectors, "vectors must have a weight")


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
        "classes_": _classes,
        "kernel_": _kernel,
        "kernel_weights_": _weights,
        "report_": _report,
        "_training": of(Prepared),
        "_machine": _machine,
        "_process": _process,
        "_blocks": texts,
        "_slope": _number,
        "_penalty": _number,
        "_choice": _text,
        "_extra": _table,
        "_extra_kernel": _vectors,
        "_novelty": _novelty,
    }
)

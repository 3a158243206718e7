"""Predictors in model files: their part of the schema, and checks that their parts are consistent."""

import os
from typing import Any

import numpy as np

from relaxwl.kernels.base import SIMILARITIES, CountKernel, descendants
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.model_schema import (
    HUGE,
    MAX_BLOCKS,
    MAX_CLASSES,
    MAX_DEPTH,
    MAX_FOLDS,
    MAX_TARGETS,
    MAX_VIEWS,
    absent,
    check_levels,
    choice,
    fitted,
    listed,
    mapped,
    number,
    of,
    optional,
    record,
    require,
    text,
    vector,
    whole,
)
from relaxwl.kernels.persistence import load_model
from relaxwl.kernels.registry import import_kernels
from relaxwl.kernels.statistics import GraphStatistics, QuantileRanks
from relaxwl.learning.gaussian_process import GaussianProcess
from relaxwl.learning.heads import (
    Calibration,
    Head,
    Linear,
    LinearClassifier,
    LinearRegressor,
    ProcessClassifier,
    ProcessHead,
    ProcessRegressor,
    Trial,
)
from relaxwl.predictors.blocks import COMBINED, KernelBlocks
from relaxwl.predictors.novelty import Novelty
from relaxwl.predictors.report import FitReport, FitReports
from relaxwl.predictors.views import ColumnScaler, CountView, Similarity, StatisticsScaler, VectorView

# Minimum of numbers by which others are divided, so that results are finite.
TINY = 1e-100
POSITIVE = number(TINY, 1 / TINY)
_line, _table, _cube = (vector(np.float64, ndim, least=-HUGE, most=HUGE) for ndim in (1, 2, 3))


def load_predictor(path: str | os.PathLike[str], kinds: tuple[type, ...]) -> Any:
    """Read a predictor of one of these classes; no content of the file is executed."""
    import_kernels()
    inside = {kind.__name__: kind for kind in descendants(CountKernel)}
    return load_model(path, {kind.__name__: kind for kind in kinds}, inside)


def _shaped(owner: Any, **shapes: tuple[int, ...]) -> None:
    for name, shape in shapes.items():
        found = getattr(owner, name).shape
        require(found == shape, f"{name} must be of shape {shape}, not {found}")


def _ascending(value: Any, what: str, below: int) -> None:
    inside = value.min(initial=0) >= 0 and value.max(initial=-1) < below and (value[1:] > value[:-1]).all()
    require(inside, f"{what} must be ascending numbers from 0 to {below - 1}")


# ---------------------------------------------------------------------------------------------------- views


def _check_count_view(view: CountView) -> None:
    require(len(view.blocks) == len(view.settings), "a view must have a block for each of its settings")
    depth = whole(view.kernel.max_depth)
    checks = {"similarity": choice(*SIMILARITIES), "max_depth": depth, "decay": number(TINY, 1000.0)}
    for setting in view.settings:
        require(len(setting) <= 1 and setting.keys() <= checks.keys(), "a setting must be one of a view")
        for name, value in setting.items():
            checks[name](value, name)
    if view.training is not None:
        shapes = [part.matrix.shape for part in view.training]
        expected = [(shapes[0][0], columns) for columns in view.n_columns()]
        require(shapes == expected, f"the counts of {view.name} must be those of its kernel")


def _check_vector_view(view: VectorView) -> None:
    similarities: Any = view.similarities
    require(len(view.blocks) == len(similarities) == len(view.kernels), "a view must have a block for each kernel")
    n_columns = view.n_columns()[0]
    for one in similarities:
        _ascending(one.columns, "columns", n_columns)
        if one.factors is not None:
            _shaped(one, factors=one.columns.shape)
    if view.training is not None:
        _shaped(view, training=(len(view.training), n_columns))


def _check_scaler(scaler: ColumnScaler) -> None:
    _ascending(scaler.kept_, "kept_", scaler.n_columns_)
    _shaped(scaler, mean_=scaler.kept_.shape, deviation_=scaler.kept_.shape)
    # Columns that vary less, relative to their mean, are not kept, because their scaled values would be too large.
    inside = np.abs(scaler.mean_) <= 1e13 * scaler.deviation_
    require(inside.all(), "mean_ must not be far larger than deviation_")


def _check_blocks(blocks: KernelBlocks) -> None:
    kernels = (getattr(view, "kernel", None) for view in blocks.views)
    check_levels(*(kernel for kernel in kernels if hasattr(kernel, "max_depth")))
    if blocks.scales:  # linear models have none
        shapes = [len(scales) for scales in blocks.scales]
        require(shapes == [len(view.blocks) for view in blocks.views], "there must be a scale for each similarity")


_block = {"name": text, "blocks": listed(text, MAX_BLOCKS, 1, tuple)}
record(
    CountView, _check_count_view, **_block, kernel=of(CountKernel), settings=listed(of(dict), MAX_BLOCKS, 1, tuple),
    source=choice("graphs", "molecules"), training=optional(listed(of(Counts), MAX_DEPTH + 1, 1)),
)  # fmt: skip
record(
    VectorView, _check_vector_view, **_block, scaler=of(object), kernels=of(tuple),
    source=choice("extra", "graphs", "molecules"),
    exponential=absent(of(bool)), laplacian=absent(of(bool)),
    training=optional(_table), similarities=listed(of(Similarity), MAX_BLOCKS, 1),
)  # fmt: skip
record(
    Similarity, columns=vector(np.int64), width=optional(POSITIVE), unit=POSITIVE, exponential=absent(of(bool)),
    laplacian=absent(of(bool)), factors=optional(vector(np.float64, least=0.0, most=HUGE)),
)  # fmt: skip
record(
    ColumnScaler, _check_scaler, n_columns_=whole(), kept_=vector(np.int64), mean_=vector(np.float64),
    deviation_=vector(np.float64, least=TINY),
)  # fmt: skip
record(StatisticsScaler, statistics=of(GraphStatistics), ranks=of(QuantileRanks))
record(
    KernelBlocks, _check_blocks, views=listed(of((CountView, VectorView)), MAX_VIEWS, 1),
    scales=listed(listed(number(0, 1 / TINY), MAX_BLOCKS, 1), MAX_VIEWS),
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------- heads


def _check_calibration(calibration: Calibration, n_folds: int, n_classes: int) -> None:
    """Check that folds and classes of a calibration are those of a head."""
    require(n_folds <= MAX_FOLDS, f"there must be at most {MAX_FOLDS} folds")
    for name, most in (("folds", n_folds), ("codes", n_classes)):
        values = getattr(calibration, name)
        _shaped(calibration, **{name: calibration.scores.shape})
        require(values.min(initial=0) >= 0 and values.max(initial=-1) < most, f"{name} must be from 0 to {most - 1}")


def _check_process(process: GaussianProcess) -> None:
    n_objects, n_columns = len(process.dual_), len(process.mean_)
    if process.sample_ is not None:
        _ascending(process.sample_, "sample_", n_objects)
    _shaped(process, dual_=(n_objects, n_columns), ratios_=(n_objects,))


def _check_processes(head: Any) -> None:
    _ascending(head.rows, "rows", 2**62)
    require(len(set(head.blocks)) == len(head.blocks), "blocks must differ")
    process, n_folds, n_classes = head.process, len(head.fold_duals), 1
    n_columns = len(process.mean_)
    _shaped(process, weights_=(len(head.blocks),), dual_=(len(head.rows), n_columns))
    if isinstance(head, ProcessClassifier):
        require(n_columns != 2, "there must be one column of targets for two classes")
        _shaped(head, coefficients=(n_columns, n_columns), intercepts=(n_columns,))
        n_classes = head.n_classes
    else:
        require(n_columns == 1, "there must be one column of targets for numbers")
    _shaped(head, fold_duals=(n_folds, len(head.rows), n_columns), fold_means=(n_folds, n_columns))
    _check_calibration(head.calibration, n_folds, n_classes)


def _check_linear(head: Any) -> None:
    (n_rows, n_features), n_folds = head.coefficients.shape, len(head.fold_coefficients)
    classes = isinstance(head, LinearClassifier)
    require(n_rows == 1 or (classes and n_rows > 2), "there must be coefficients of classes")
    _shaped(head, intercepts=(n_rows,), fold_intercepts=(n_folds, n_rows))
    _shaped(head, fold_coefficients=(n_folds, n_rows, n_features))
    _check_calibration(head.calibration, n_folds, head.n_classes if classes else 1)


def _distinct(value: Any, what: str) -> None:
    require(len({id(one) for one in value}) == len(value), f"{what} must be different objects")


record(
    Calibration, folds=vector(np.int64), scores=vector(np.float64, least=0, most=HUGE), codes=vector(np.int64)
)  # fmt: skip
_calibrated = {"calibration": of(Calibration), "n_examples": whole(least=1)}
record(
    GaussianProcess, _check_process, weights_=vector(np.float64, least=0, most=HUGE), noise_=number(0, HUGE),
    jitter_=number(0, HUGE), mean_=_line, log_likelihood_=number(), dual_=_table,
    ratios_=vector(np.float64, least=0, most=HUGE), is_table_=of(bool), sample_=optional(vector(np.int64)),
    inflation_=POSITIVE,
)  # fmt: skip
_processes = {
    "process": of(GaussianProcess), "blocks": listed(text, MAX_BLOCKS, 1),
    "weights": mapped(number(0, HUGE), MAX_BLOCKS), "rows": vector(np.int64), "chosen": text,
    "fold_duals": _cube, "fold_means": _table, **_calibrated,
}  # fmt: skip
record(ProcessRegressor, _check_processes, **_processes)
record(ProcessClassifier, _check_processes, **_processes, coefficients=_table, intercepts=_line)
_linear = {
    "coefficients": _table, "intercepts": _line, "chosen": text, "fold_coefficients": _cube, "fold_intercepts": _table,
    **_calibrated,
}  # fmt: skip
record(LinearClassifier, _check_linear, **_linear, slope=POSITIVE)
record(LinearRegressor, _check_linear, **_linear, deviation=number(0, HUGE))


# ------------------------------------------------------------------------------------------------ predictors


def _classes(value: Any, what: str, least: int = 2) -> None:
    if isinstance(value, list):  # of several targets
        require(1 <= len(value) <= MAX_TARGETS, f"{what} must be of 1 to {MAX_TARGETS} targets")
        for one in value:
            _classes(one, what, 1)
        return
    known = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "bifU"
    require(known and least <= len(value) <= MAX_CLASSES, f"{what} must be {least} to {MAX_CLASSES} classes")
    require((value[1:] > value[:-1]).all(), f"{what} must be different classes, in order")


def _check_novelty(novelty: Novelty) -> None:
    require((np.diff(novelty.reference) >= 0).all(), "reference must ascend")


def _check_reports(reports: FitReports) -> None:
    require(len(reports.names) == len(reports.reports), "there must be a name for each report")


_places = absent(vector((np.int32, np.int64)))
record(
    Novelty, _check_novelty, reference=vector(np.float64, least=0, most=HUGE), indices=_places, indptr=_places,
    data=absent(vector(np.float64, least=-HUGE, most=HUGE)), n_columns=absent(whole()),
)  # fmt: skip
record(Trial, name=text, score=number(nan=True), detail=text)
record(
    FitReport, task=text, metric=text, validation=text, tried=listed(of(Trial), 1000, 1, tuple), chosen=text,
    score=number(nan=True), greater_is_better=of(bool), baseline=number(nan=True), baseline_name=text,
    kernels=listed(text, MAX_VIEWS, 0, tuple), left_out=listed(text, 1000, 0, tuple),
    warnings=listed(text, 1000, 0, tuple), seconds=number(0),
)  # fmt: skip
record(
    FitReports, _check_reports, names=listed(text, MAX_TARGETS, 0, tuple),
    reports=listed(of(FitReport), MAX_TARGETS, 0, tuple),
)  # fmt: skip
fitted(
    "GraphPredictor", report_=of((FitReport, FitReports)),
    kernel_weights_=optional(mapped(number(0, HUGE), MAX_BLOCKS)),
    names_=optional(listed(optional(text), kind=tuple)), columns_=optional(mapped(of((str, list)))),
    _heads=listed(optional(of(Head)), MAX_TARGETS, 1), _blocks=of(KernelBlocks), _novelty=of(Novelty),
    _takes_extra=of(bool), extra_names_=absent(optional(listed(text))),
    _is_table=of(bool), _split=listed(of(Calibration), MAX_TARGETS),
    _kept=optional(vector(np.int64)), n_objects_in_=whole(least=1), target_names_=listed(text, MAX_TARGETS, 1),
)  # fmt: skip
fitted("GraphClassifier", classes_=_classes)


def check_predictor(model: Any) -> None:
    """Check that heads, blocks and training objects of a predictor from a file are consistent."""
    heads = [head for head in model._heads if head is not None]
    _distinct(heads, "heads")
    _distinct([head.process for head in heads if isinstance(head, ProcessHead)], "processes")
    blocks, n_objects, n_learned = model._blocks, model.n_objects_in_, model._n_learned
    if model._kept is not None:
        _ascending(model._kept, "_kept", n_objects)
    takes = any(view.source == "extra" for view in blocks.views)
    require(model._takes_extra or not takes, "vectors beside the graphs must be taken")
    require(model.names_ is None or len(model.names_) == n_objects, f"there must be {n_objects} names")
    n_names = len(model.target_names_)
    require(n_names == len(set(model.target_names_)) == len(model._heads), "there must be a name for each target")
    require(model._is_table or len(model._heads) == 1, "one target needs one head")
    require(len(model._split) in (0, len(model._heads)), "there must be a calibration for each target")
    linear = any(hasattr(head, "fold_coefficients") for head in heads)
    require(not linear or all(hasattr(head, "fold_coefficients") for head in heads), "heads must be of one kind")
    if not linear:  # neighbors are found by the weighted sum of the blocks
        weights: Any = getattr(model, "kernel_weights_", None)
        require(weights is not None, "kernel_weights_ must be there")
        weighed = {name for name, weight in weights.items() if weight > 0}
        require(weighed <= set(blocks.names) or blocks.names == [COMBINED],
                "kernel_weights_ must be those of the blocks")  # fmt: skip
    several = isinstance(model.report_, FitReports)
    n_reports = len(model.report_.reports) if several else 1
    require(n_reports == len(heads) and model._is_table == several, "there must be a report for each head")
    n_features = sum(view.n_features() for view in blocks.views) if linear else 0
    classes = getattr(model, "_classes", [None] * len(model._heads))
    require(len(classes) == len(model._heads), "there must be classes for each target")
    for place, head in enumerate(model._heads):
        if head is None:
            require(classes[place] is not None and len(classes[place]) == 1, "a target without a head has one class")
            continue
        of(model._head_kinds)(head, "a head")
        if isinstance(head, Linear):
            _shaped(head, coefficients=(len(head.coefficients), n_features))
        else:
            require(len(blocks.scales) == len(blocks.views), "there must be scales for each view")
            for view in blocks.views:
                require(view.training is not None and view.n_training() == n_learned, f"{view.name} must have objects")
            require(head.rows.max(initial=-1) < n_learned, f"rows must be below {n_learned}")
            require(set(head.blocks) <= set(blocks.names), "the blocks of a head must be those of the views")
        n_classes = 1 if classes[place] is None else len(classes[place])
        if classes[place] is not None:
            require(head.n_classes == n_classes, f"the head must be one of {n_classes} classes")
        if model._split:
            _check_calibration(model._split[place], 1, n_classes)

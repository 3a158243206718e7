"""Nested cross-validation of graph kernels with support vector machines.

Outer folds estimate, inner folds choose. A fold's kernel parameters and C are chosen together on its training part, by
the number of correct predictions in an inner cross-validation; ties go to the first candidate and the smallest C. The
test part's classes are used once, to compare them with the predictions.

*Transductive*: a kernel is fitted on all graphs (never on their classes) once a repetition, and all folds share its
Gram matrices. *Inductive*: it is fitted on the training graphs of each fold alone and meets the test graphs afterwards.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import forget_peak_memory
from relaxwl.evaluation.contestants import is_reseeded, require_recognisable, resolve
from relaxwl.evaluation.folds import DEFAULT_C, Settings, Split, checked_settings, kernel_seed, outer_splits
from relaxwl.evaluation.progress import Meter, ProgressEvent, Share
from relaxwl.evaluation.recording import DIGITS, OUT_OF_TIME, Data, Keeper, Recorder
from relaxwl.evaluation.results import Results
from relaxwl.evaluation.selection import Choice, FittedVariant, Selection, fit_variant
from relaxwl.evaluation.warm_up import warm_up
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.inputs import as_collection
from relaxwl.kernels.limits import Deadline
from relaxwl.kernels.limits import time_limit as limited
from relaxwl.kernels.registry import Entry, Variant

# Gram matrices of kernels without a seed are kept from one repetition to the next up to this size.
KEPT_BYTES = 2 * 1024**3
# So many different numbers with fractions may still be names of classes.
MOST_FRACTIONS = 10

logger = logging.getLogger(__name__)


def cross_validate(
    kernels: Any,
    graphs: Any,
    y: Any,
    *,
    protocol: str = "transductive",
    n_folds: int = 10,
    n_repeats: int = 5,
    inner_folds: int = 3,
    C: Sequence[float] = DEFAULT_C,
    depths: Sequence[int] | None = None,
    solver: str = "path",
    n_jobs: int | None = None,
    random_state: int = 0,
    time_limit: float | None = None,
    store: Any = None,
    dataset: str = "data",
    progress: Callable[[ProgressEvent], None] | None = None,
) -> Results:
    """Evaluate graph kernels by nested, stratified, repeated cross-validation with a support vector machine.

    Parameters
    ----------
    kernels : str, GraphKernel, sequence of these, or mapping from name to GraphKernel
        What to evaluate; strings are names of the kernel registry.
    graphs : GraphCollection or anything that ``relaxwl.as_collection`` accepts
        The graphs.
    y : sequence of n_graphs classes
        Numbers or strings. No kernel ever sees them.
    protocol : {"transductive", "inductive"}
        Whether kernels are fitted on all graphs or on the training graphs of each fold alone.
    n_folds, n_repeats, inner_folds : int
        Outer folds, repetitions with other folds and reseeded kernels, inner folds for the choice of parameters.
    C : sequence of float
        What the penalty of the support vector machine is chosen from; the kernel is scaled to mean diagonal 1.
    depths : sequence of int, optional
        Restrict the choice among settings with a ``max_depth`` to these; by default all that the registry names, or
        that an estimator offers.
    solver : {"path", "libsvm"}
        Who fits the machines that choose parameters: our own compiled path of C values, or LIBSVM, with which anybody
        can check a table against scikit-learn alone. The machine that predicts a fold is LIBSVM's in any case.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int
        Seed of folds and kernels. Folds are the same for all kernels.
    time_limit : float, optional
        Seconds that a repetition of a kernel may take; beyond, the kernel is recorded as out of time.
    store : ResultStore or path, optional
        Where records are kept. What it holds already for the same data, settings and kernels is not computed again.
    dataset : str
        Name of the data set in records and tables.
    progress : callable, optional
        Called with a :class:`ProgressEvent`, never by two threads at a time.

    Returns
    -------
    Results
        The records of this evaluation, whether computed now or found in the store.

    Examples
    --------
    >>> from relaxwl.kernels import WeisfeilerLehman
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> results = cross_validate(WeisfeilerLehman(max_depth=1), GraphCollection.from_edges([path, triangle] * 6),
    ...                          ["path", "triangle"] * 6, n_folds=3, n_repeats=2, dataset="toy")
    >>> results
    Results(1 data sets, 1 kernels, 6 folds)
    >>> results.cell("toy", "WeisfeilerLehman").mean
    1.0
    """
    settings = checked_settings(protocol, n_folds, n_repeats, inner_folds, C, depths, random_state, solver)
    Deadline(time_limit)  # refuses what is no time
    contestants = resolve(kernels, settings.depths)
    if store is not None:
        for contestant in contestants:
            require_recognisable(contestant)
    data = _checked_data(graphs, y, dataset, settings, n_jobs, time_limit)
    keeper = Keeper(store)
    keeper.describe(data)
    meter = Meter(progress, data.name, len(contestants) * n_repeats * n_folds)
    for contestant in contestants:
        _evaluate(contestant, data, n_repeats, keeper, meter)
    return keeper.results()


def _evaluate(contestant: Entry, data: Data, n_repeats: int, keeper: Keeper, meter: Meter) -> None:
    """Compute, record by record, what the store does not hold yet."""
    recorder = Recorder.of(contestant, data)
    keeper.take_sketch(recorder.key)
    n_folds = data.settings.n_folds
    kept: dict[int, FittedVariant] = {}
    is_warm = False
    for repetition in range(n_repeats):
        share = meter.start(contestant.title, repetition, n_folds)
        missing = [fold for fold in range(n_folds) if not keeper.take_fold(recorder.key, repetition, fold)]
        if missing and keeper.take_out_of_time(recorder.key, repetition, data.time_limit):
            meter.finish((n_repeats - repetition) * n_folds, OUT_OF_TIME)
            return
        if missing and not is_warm:
            warm_up(contestant, data.graphs, data.n_jobs, unseen=data.settings.protocol == "inductive")
            is_warm = True
        forget_peak_memory()
        try:
            with limited(data.time_limit):
                _evaluate_folds(recorder, repetition, missing, kept, keeper, share)
        except (TimeoutError, MemoryError) as error:
            logger.info("%s on %s: %s", contestant.name, data.name, error)
            given_up = recorder.given_up(repetition, error)
            keeper.add([given_up])
            meter.finish((n_repeats - repetition) * n_folds, given_up.cause)
            return
        meter.finish(n_folds)


def _evaluate_folds(
    recorder: Recorder, repetition: int, folds: list[int], kept: dict[int, FittedVariant], keeper: Keeper, meter: Share
) -> None:
    """Evaluate some folds of a repetition: together if they share Gram matrices, else one by one."""
    data = recorder.data
    splits = outer_splits(data.y, data.settings, repetition)

    def keep(batch: list[int], choices: list[Choice], seen: Int64) -> None:
        pairs = zip(batch, choices, strict=True)
        keeper.add([recorder.fold(repetition, fold, splits[fold], choice) for fold, choice in pairs])
        if not keeper.take_sketch(recorder.key):
            keeper.add([recorder.sketch(seen, choices[0])])

    if data.settings.protocol == "inductive":
        for fold in folds:
            choice = _inductive(recorder.contestant, data, repetition, splits[fold], meter.part(len(folds)))
            keep([fold], [choice], splits[fold].train)
    elif folds:
        chosen = [splits[fold] for fold in folds]
        choices = _transductive(recorder.contestant, data, repetition, chosen, kept, meter)
        keep(folds, choices, np.arange(len(data.y)))


def _variants(contestant: Entry, data: Data, repetition: int) -> list[Variant]:
    seed = kernel_seed(data.settings.random_state, repetition)
    return contestant.variants(seed, data.n_jobs)


def _transductive(
    contestant: Entry,
    data: Data,
    repetition: int,
    splits: list[Split],
    kept: dict[int, FittedVariant],
    meter: Share,
) -> list[Choice]:
    """Choose for several folds from the same Gram matrices of all graphs, variant by variant."""
    variants = _variants(contestant, data, repetition)
    selection = Selection(splits, data.y, data.settings.C, data.n_jobs, data.settings.solver)
    for number, variant in enumerate(variants):
        share = meter.part(len(variants))
        fitted = kept.get(number)
        if fitted is None:
            share.say("fitting")
            fitted = fit_variant(variant, data.graphs)
            kept_bytes = fitted.nbytes + sum(other.nbytes for other in kept.values())
            if not is_reseeded(variant.estimator) and kept_bytes <= KEPT_BYTES:
                kept[number] = fitted
        selection.enter(fitted, share)
    return selection.choices


def _inductive(contestant: Entry, data: Data, repetition: int, split: Split, meter: Share) -> Choice:
    """Choose for one fold, with kernels that have seen its training graphs alone, and classes of these alone."""
    variants = _variants(contestant, data, repetition)
    training, unseen = data.graphs[split.train], data.graphs[split.test]
    within, settings = [split.within_training()], data.settings
    selection = Selection(within, data.y[split.train], settings.C, data.n_jobs, settings.solver)
    for variant in variants:
        share = meter.part(len(variants))
        share.say("fitting")
        fitted = fit_variant(variant, training)
        selection.enter(fitted, share, partial(_unseen_matrix, fitted, unseen, selection.choices[0]))
    return selection.choices[0]


def _unseen_matrix(fitted: FittedVariant, unseen: GraphCollection, choice: Choice, position: int) -> Float64:
    """Return the Gram matrix between unseen and training graphs in the candidate at ``position``."""
    started = time.perf_counter()
    kernel, setting = fitted.variant.estimator, fitted.variant.settings[position]
    [matrix] = kernel.compare(kernel.prepare(unseen), fitted.prepared, [setting])
    choice.transform_seconds += time.perf_counter() - started
    return np.asarray(matrix)


def _checked_data(
    graphs: Any, y: Any, dataset: str, settings: Settings, n_jobs: int | None, time_limit: float | None
) -> Data:
    graphs = as_collection(graphs)
    labels = np.asarray(y)
    if labels.shape != (len(graphs),):
        raise ValueError(f"y must hold one class for each of the {len(graphs)} graphs, but has shape {labels.shape}")
    classes, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError("y holds a single class; there is nothing to tell apart")
    _check_class_sizes(classes, sizes, settings)
    digest = hashlib.sha256(graphs.fingerprint().encode())
    digest.update(json.dumps([str(labels.dtype.kind), labels.tolist()], default=str).encode())
    return Data(
        dataset,
        digest.hexdigest()[:DIGITS],
        graphs,
        codes.astype(np.int64),
        classes.tolist(),
        settings,
        n_jobs,
        time_limit,
    )


def _check_class_sizes(classes: NDArray[Any], sizes: Int64, settings: Settings) -> None:
    smallest = int(sizes.argmin())
    size = int(sizes[smallest])
    in_training = size - -(-size // settings.n_folds)
    if size < settings.n_folds or in_training < settings.inner_folds:
        if _looks_continuous(classes, int(sizes.sum())):
            raise ValueError(f"y looks continuous ({len(classes)} distinct values); classification needs classes")
        raise ValueError(
            f"class {classes[smallest]} has {size} graphs: too few for n_folds={settings.n_folds} and "
            f"inner_folds={settings.inner_folds}; use fewer folds or leave the class out"
        )


def _looks_continuous(values: NDArray[Any], n_graphs: int) -> bool:
    """Say whether distinct values are measurements: numbers of which most occur once, or many with a fraction."""
    if values.dtype.kind not in "iuf":
        return False
    return 2 * len(values) > n_graphs or (len(values) > MOST_FRACTIONS and bool((values % 1 != 0).any()))

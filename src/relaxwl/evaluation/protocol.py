"""Nested cross-validation of graph kernels with support vector machines.

Outer folds estimate, inner folds select. A fold's kernel parameters and C are selected together on its training part,
by the number of correct predictions in an inner cross-validation; ties go to the first candidate and the smallest C.
The test part's classes are used once, to compare them with the predictions.

*Transductive*: a kernel is fitted on all graphs (never on their classes) once per repetition, and all folds share its
Gram matrices. *Inductive*: it is fitted on the training graphs of each fold only, and transforms the test graphs later.
"""

import datetime
import hashlib
import json
import logging
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy
import sklearn

from relaxwl._execution import Deadline
from relaxwl._execution import time_limit as limited
from relaxwl._memory import forget_peak_memory, peak_memory
from relaxwl._progress import ProgressBar
from relaxwl._validation import check_integer, infer_task, plain_targets
from relaxwl._version import __version__
from relaxwl.evaluation.folds import DEFAULT_C, DIGITS, Data, Settings, Split, kernel_seed, outer_splits, read_splits
from relaxwl.evaluation.records import DatasetRecord, FailedRun, FoldRecord, Key, Record, identity_of
from relaxwl.evaluation.results import SECONDS, Results, ResultStore
from relaxwl.evaluation.selection import (
    Advance,
    Choice,
    FittedVariant,
    Selection,
    classify,
    fit_variant,
    identity,
    is_kernel,
    part_of,
    regress,
    regression_scores,
    resolve,
    warm_up,
)
from relaxwl.evaluation.statistics import describe_dataset
from relaxwl.graphs.arrays import Float64
from relaxwl.inputs import as_collection
from relaxwl.kernels.registry import Entry, Variant
from relaxwl.learning.scoring import get_score

logger = logging.getLogger(__name__)

OUT_OF_TIME, OUT_OF_MEMORY = "out of time", "out of memory"
# Scores of classifiers in addition to accuracy; the first two do not need probabilities.
CLASS_SCORES = ("balanced_accuracy", "mcc", "roc_auc", "average_precision", "log_loss")


@dataclass(frozen=True)
class Recorder:
    """Makes the records of one kernel on one data set."""

    estimator: Entry
    data: Data
    key: Key

    @classmethod
    def of(cls, estimator: Entry, data: Data) -> "Recorder":
        """Return the recorder of a kernel, with the fingerprint of everything that its numbers depend on."""
        parts = [data.fingerprint, identity(estimator), json.dumps(data.settings.as_json(), sort_keys=True)]
        parts += [] if is_kernel(estimator) else ["fitted on training graphs"]
        fingerprint = hashlib.sha256("|".join(parts).encode()).hexdigest()[:DIGITS]
        return cls(estimator, data, Key(data.name, estimator.name, data.fingerprint, fingerprint))

    def fold(self, repetition: int, fold: int, split: Split, choice: Choice) -> FoldRecord:
        """Return the record of an evaluated fold."""
        data, targets = self.data, self.data.y[split.test]
        scores: dict[str, float] = {}
        accuracy, converged = None, True
        if choice.values is not None:
            predictions = choice.values.tolist()
            scores = regression_scores(targets, choice.values, choice.deviations)
        elif choice.prediction is None:
            raise ValueError(f"the kernel {self.estimator.name} has no variants")
        else:
            codes, converged = choice.prediction.classes, choice.prediction.converged
            predictions, accuracy = [data.classes[code] for code in codes], float(np.mean(codes == targets))
            table = choice.probabilities
            offered = CLASS_SCORES[:2] if table is None else CLASS_SCORES
            table = np.eye(len(data.classes))[codes] if table is None else table
            scores = {name: get_score(name, "classification")(targets, table) for name in offered}
        peak = peak_memory()
        return FoldRecord(
            key=self.key,
            title=self.estimator.title,
            settings=data.settings.as_json(),
            repetition=repetition,
            fold=fold,
            kernel_seed=kernel_seed(data.settings.random_state, repetition),
            accuracy=accuracy,
            inner_accuracy=choice.correct / split.n_held_out if choice.correct >= 0 else None,
            parameters={name: _plain(value) for name, value in choice.parameters.items()},
            test_indices=split.test.tolist(),
            targets=data.targets(split.test),
            predictions=predictions,
            n_candidates=choice.n_candidates,
            n_fits=choice.n_fits,
            n_unconverged=choice.n_unconverged + (not converged),
            converged=converged,
            **{name: round(getattr(choice, name), 6) for name in SECONDS},
            peak_memory_mb=None if peak is None else round(peak / 2**20, 1),
            n_jobs=data.n_jobs,
            versions=versions(),
            finished_at=_now(),
            scores=scores,
            deviations=None if choice.deviations is None else choice.deviations.tolist(),
        )


class RecordKeeper:
    """Records of the store and new records, which are stored; ``used`` are those of this evaluation."""

    def __init__(self, store: Any) -> None:
        self._store = store if store is None or isinstance(store, ResultStore) else ResultStore(store)
        self._known = {} if self._store is None else {identity_of(record): record for record in self._store.load()}
        self.used: dict[Any, Record] = {}

    def add(self, records: Sequence[Record]) -> None:
        """Add new records."""
        if self._store is not None:
            self._store.append(records)
        for record in records:
            self._known[identity_of(record)] = self.used[identity_of(record)] = record

    def take(self, *identity: Any) -> bool:
        """Add a known record (see :func:`identity_of`) to the results; return whether there was one."""
        if identity in self._known:
            self.used[identity] = self._known[identity]
        return identity in self._known

    def take_out_of_time(self, key: Key, repetition: int, time_limit: float | None) -> bool:
        """Return whether the kernel exceeded an equal or longer time limit before; use that record."""
        given_up = (
            identity
            for identity, record in self._known.items()
            if identity[:4] == (FailedRun, key, repetition, OUT_OF_TIME)
            and isinstance(record, FailedRun)
            and (record.time_limit is None or (time_limit is not None and record.time_limit >= time_limit))
        )
        first = next(given_up, None)
        return first is not None and self.take(*first)


def _plain(value: Any) -> Any:
    """Return a JSON-serializable parameter."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Return the versions of the packages on which the results depend."""
    modules: dict[str, Any] = {"numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    system = {"python": platform.python_version(), "platform": platform.platform()}
    return {"relaxwl": __version__} | {name: module.__version__ for name, module in modules.items()} | system


# ---------------------------------------------------------------------------------------------- evaluation

# Maximum size of Gram matrices of kernels without a seed that are kept from one repetition to the next.
KEPT_BYTES = 2 * 1024**3
# Seconds between two progress messages.
SECONDS_PER_LINE = 10.0
Kept = dict[int, FittedVariant]


def cross_validate(
    kernels: Any,
    graphs: Any,
    y: Any,
    *,
    protocol: str | None = None,
    task: str | None = None,
    splits: Any = None,
    groups: Sequence[Any] | None = None,
    n_folds: int = 10,
    n_repeats: int | None = None,
    inner_folds: int = 3,
    C: Sequence[float] = DEFAULT_C,
    depths: Sequence[int] | None = None,
    solver: str = "path",
    n_jobs: int | None = None,
    random_state: int = 0,
    time_limit: float | None = None,
    store: Any = None,
    dataset: str = "data",
    verbose: int = 0,
) -> Results:
    """Evaluate graph kernels by nested, stratified, repeated cross-validation with a support vector machine.

    Estimators with ``fit(graphs, y)``, ``predict(graphs)`` and optionally ``predict_proba`` can be evaluated together
    with kernels, such as ``GraphClassifier`` (``"auto"``); they are fitted on the training graphs of a fold only, under
    both protocols.

    Parameters
    ----------
    kernels : str, estimator, sequence of these, or mapping from name to estimator
        The kernels to evaluate; strings are names of the kernel registry.
    graphs : GraphCollection or anything that ``relaxwl.as_collection`` accepts
        The graphs.
    y : sequence of n_graphs classes, or numbers for regression
        Classes (numbers or strings) or numeric targets. Kernels are fitted without them.
    protocol : {"transductive", "inductive"}, optional
        Whether kernels are fitted on all graphs (the default) or on the training graphs of each fold (the default with
        ``splits``).
    task : {"classification", "regression"}, optional
        Kind of ``y``; by default inferred: numbers are classes if they are whole and repeat (each occurs twice on
        average, and ten times if there are more than ten different ones). Regression needs predictors instead of
        kernels.
    splits : path, list or str, optional
        Folds to use instead of a cross-validation: a JSON file in the format of Errica et al. (or its content), whose
        validation parts are used for model selection; ``"random:20"``, 20 random test parts of 20 %; or
        ``"scaffold:5"``, 5 random test parts of 20 % of the groups.
    groups : sequence, optional
        For ``"scaffold:5"``: the group of each graph, such as the scaffold of its molecule; groups are never split.
        Copies of a molecule (graphs from SMILES) are in the same fold, except in folds from a file.
    n_folds : int, default=10
        Number of outer folds.
    n_repeats : int, optional
        Number of repetitions, each with new folds and reseeded kernels; by default 5, and 1 with ``splits``.
    inner_folds : int, default=3
        Number of inner folds for model selection.
    C : sequence of float, optional
        Candidate penalties of the support vector machine, by default ten powers of 2 from 2⁻¹² to 2¹². The kernel is
        scaled to mean diagonal 1.
    depths : sequence of int, optional
        Depths (``max_depth``) to choose from; by default those of the registry or of the estimator.
    solver : {"path", "libsvm"}, default="path"
        Solver of the SVMs in model selection: a compiled solver for a path of C values, or LIBSVM, which gives the same
        table with scikit-learn. Test folds are always predicted with LIBSVM.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, default=0
        Seed of folds and kernels. Folds are the same for all kernels.
    time_limit : float, optional
        Limit in seconds for one repetition of a kernel; a kernel that takes longer is recorded as out of time.
    store : ResultStore or path, optional
        File for the records. Records of the same data, settings and kernels are not computed again.
    dataset : str, default="data"
        Name of the data set in records and tables.
    verbose : int, default=0
        1 shows progress: a bar in terminals and notebooks, a line every few seconds elsewhere.

    Returns
    -------
    Results
        The records of this evaluation, computed now or read from the store.

    See Also
    --------
    results_table : Table of the scores.
    compare : Corrected paired test of two kernels.

    Examples
    --------
    >>> from relaxwl import GraphCollection
    >>> from relaxwl.kernels import WeisfeilerLehman
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> results = cross_validate(WeisfeilerLehman(max_depth=1), GraphCollection.from_edges([path, triangle] * 6),
    ...                          ["path", "triangle"] * 6, n_folds=3, n_repeats=2, dataset="toy")
    >>> results
    Results(1 data set, 1 kernel, 6 folds)
    >>> results.cell("toy", "WeisfeilerLehman").mean
    1.0
    """
    Deadline(time_limit)  # raises an error for an invalid time limit
    n_repeats = (5 if splits is None else 1) if n_repeats is None else check_integer("n_repeats", n_repeats, 1)
    protocol = protocol or ("transductive" if splits is None else "inductive")
    depths = None if depths is None else tuple(depths)
    entries = resolve(kernels, depths)
    collection = as_collection(graphs)
    task = infer_task(plain_targets(y, len(collection))) if task is None else task
    settings = Settings(protocol, n_folds, inner_folds, C, depths, random_state, solver, task)
    estimators = [entry.for_task(task) for entry in entries]
    for estimator in estimators if store is not None else []:
        identity(estimator, require_name=True)
    given = None if splits is None else read_splits(splits, len(collection), groups)
    if given is not None:
        settings = replace(settings, n_folds=given.n_folds, splits=given.name)
    data = Data.of(collection, y, dataset, settings, given, n_jobs, time_limit)
    keeper = RecordKeeper(store)
    if not keeper.take(DatasetRecord, data.name, data.fingerprint):
        labels = [] if task == "regression" else data.targets(np.arange(len(data.y)))
        described = describe_dataset(data.name, collection, labels, fingerprint=data.fingerprint, n_jobs=n_jobs)
        keeper.add([described])
    total = len(estimators) * n_repeats * settings.n_folds
    with ProgressBar(data.name, total, verbose=verbose, every=SECONDS_PER_LINE) as progress:
        for number, estimator in enumerate(estimators):
            outcome = _evaluate(estimator, data, n_repeats, keeper, progress)
            progress.reach((number + 1) * n_repeats * settings.n_folds, "%s: %s", estimator.title, outcome)
    return Results(keeper.used.values())


def _evaluate(estimator: Entry, data: Data, n_repeats: int, keeper: RecordKeeper, progress: ProgressBar) -> str:
    """Compute the records that are not in the store; return the outcome."""
    recorder = Recorder.of(estimator, data)
    n_folds = data.settings.n_folds
    kept: Kept = {}
    is_warm = False
    begun = progress.done
    for repetition in range(n_repeats):
        where = f"{estimator.title}, repetition {repetition + 1}"
        progress.reach(begun + repetition * n_folds, "%s", where)

        def advance(share: float, what: str, where: str = where) -> None:
            progress.add(share * n_folds, "%s: %s", where, what)

        missing = [fold for fold in range(n_folds) if not keeper.take(FoldRecord, recorder.key, repetition, fold)]
        if missing and keeper.take_out_of_time(recorder.key, repetition, data.time_limit):
            return OUT_OF_TIME
        if missing and not is_warm:
            warm_up(estimator, data.graphs, data.n_jobs, unseen=data.settings.protocol == "inductive")
            is_warm = True
        forget_peak_memory()
        try:
            with limited(data.time_limit):
                _evaluate_folds(recorder, repetition, missing, kept, keeper, advance)
        except (TimeoutError, MemoryError) as error:
            logger.info("%s on %s: %s", estimator.name, data.name, error)
            cause = OUT_OF_MEMORY if isinstance(error, MemoryError) else OUT_OF_TIME
            settings, limit = data.settings.as_json(), data.time_limit
            failed = FailedRun(recorder.key, estimator.title, settings, repetition, cause, limit, str(error), _now())
            keeper.add([failed])
            return cause
    return "done"


def _evaluate_folds(
    recorder: Recorder, repetition: int, folds: list[int], kept: Kept, keeper: RecordKeeper, advance: Advance
) -> None:
    """Evaluate some folds of a repetition: together if they share Gram matrices, else one by one."""
    data, estimator = recorder.data, recorder.estimator
    inductive, regression = data.settings.protocol == "inductive", data.settings.task == "regression"
    splits = outer_splits(data.y, data.settings, repetition, data.splits, data.copies)
    part = part_of(advance, max(len(folds), 1))

    def variants() -> list[Variant]:
        return estimator.variants(kernel_seed(data.settings.random_state, repetition), data.n_jobs)

    def keep(batch: list[int], choices: list[Choice]) -> None:
        pairs = zip(batch, choices, strict=True)
        keeper.add([recorder.fold(repetition, fold, splits[fold], choice) for fold, choice in pairs])

    if not is_kernel(estimator):
        advance(0.0, "fitting")
        for fold in folds:
            train, test = splits[fold].train, splits[fold].test
            labels = data.y[train] if regression else np.array(data.targets(train))
            predicted = regress if regression else partial(classify, classes=data.classes)
            choice = predicted(variants()[0].estimator, data.graphs[train], labels, data.graphs[test])
            part(1.0, "predicting")
            keep([fold], [choice])
    elif inductive:
        for fold in folds:
            split = splits[fold]
            training = replace(data, graphs=data.graphs[split.train], y=data.y[split.train])
            within, unseen = [split.within_training()], data.graphs[split.test]
            keep([fold], _choose(variants(), training, within, part, {}, unseen))
    elif folds:
        chosen = [splits[fold] for fold in folds]
        keep(folds, _choose(variants(), data, chosen, advance, kept))


def _choose(
    variants: list[Variant], data: Data, splits: list[Split], advance: Advance, kept: Kept, unseen: Any = None
) -> list[Choice]:
    """Select for several folds from the same Gram matrices, variant by variant.

    ``kept`` contains fitted variants for later repetitions; with ``unseen``, the kernel is not fitted to the test
    graphs.
    """
    selection = Selection(splits, data.y, data.settings.C, data.n_jobs, data.settings.solver)
    for number, variant in enumerate(variants):
        share = part_of(advance, len(variants))
        fitted = kept.get(number)
        if fitted is None:
            share(0.0, "fitting")
            fitted = fit_variant(variant, data.graphs)
            kept_bytes = fitted.nbytes + sum(other.nbytes for other in kept.values())
            seeded = any(name.rpartition("__")[2] == "random_state" for name in variant.estimator.get_params())
            if unseen is None and not seeded and kept_bytes <= KEPT_BYTES:
                kept[number] = replace(fitted, prepared=None)  # no other graphs will be compared

        def rows(position: int, fitted: FittedVariant = fitted) -> Float64:
            """Return the Gram matrix between unseen and training graphs for the setting at ``position``."""
            started = time.perf_counter()
            kernel, setting = fitted.variant.estimator, fitted.variant.settings[position]
            [matrix] = kernel.compare(kernel.prepare(unseen), fitted.prepared, [setting])
            selection.choices[0].transform_seconds += time.perf_counter() - started
            return np.asarray(matrix)

        selection.enter(fitted, share, None if unseen is None else rows)
    return selection.choices

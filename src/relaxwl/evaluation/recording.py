"""What happened in a fold becomes records, with small pictures of Gram matrices, and is kept."""

import datetime
import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.decomposition import KernelPCA
from sklearn.preprocessing import KernelCenterer

import relaxwl
from relaxwl._memory import peak_memory
from relaxwl._progress import printable
from relaxwl.evaluation.estimators import identity
from relaxwl.evaluation.folds import DIGITS, Data, Split, kernel_seed
from relaxwl.evaluation.records import DatasetRecord, FailedRun, FoldRecord, GramSketch, Key, Record, identity_of
from relaxwl.evaluation.results import SECONDS, Results, ResultStore
from relaxwl.evaluation.selection import Choice, log_loss, regression_scores
from relaxwl.evaluation.statistics import describe_dataset
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels.registry import Entry
from relaxwl.learning.scoring import get_score

OUT_OF_TIME, OUT_OF_MEMORY = "out of time", "out of memory"
# Blocks on a side of a picture: enough to see the classes, little enough to keep hundreds of pictures.
SKETCH_SIDE = 90
# Variance below this share of the diagonal is rounding: all graphs are the same to the kernel.
VANISHING = 1e-12
# Scores of classifiers that know probabilities, beside accuracy and log loss.
CLASS_SCORES = ("balanced_accuracy", "mcc", "roc_auc", "average_precision")


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
            offered = ("balanced_accuracy", "mcc") if table is None else CLASS_SCORES
            table = np.eye(len(data.classes))[codes] if table is None else table
            scores = {name: get_score(name, "classification")(targets, table) for name in offered}
            if choice.probabilities is not None:
                scores["log_loss"] = log_loss(choice.probabilities, targets)
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
            offered={name: [_plain(value) for value in values] for name, values in choice.offered.items()},
            scores=scores,
            deviations=None if choice.deviations is None else choice.deviations.tolist(),
        )

    def given_up(self, repetition: int, error: Exception) -> FailedRun:
        """Return the record of a repetition that was given up."""
        settings, limit = self.data.settings.as_json(), self.data.time_limit
        cause = OUT_OF_MEMORY if isinstance(error, MemoryError) else OUT_OF_TIME
        return FailedRun(self.key, self.estimator.title, settings, repetition, cause, limit, str(error), _now())

    def sketch(self, positions: Int64, choice: Choice) -> GramSketch:
        """Return a picture of the Gram matrix (of the graphs at ``positions``) that a fold has chosen."""
        parameters = {name: _plain(value) for name, value in choice.parameters.items()}
        picture = sketch_gram(np.asarray(choice.gram), self.data.y[positions], list(map(str, self.data.classes)))
        return GramSketch(key=self.key, title=self.estimator.title, parameters=parameters, **picture)


class RecordKeeper:
    """What is known, from the store or computed now; everything new goes to the store at once."""

    def __init__(self, store: Any) -> None:
        self._store = store if store is None or isinstance(store, ResultStore) else ResultStore(store)
        self._known = {} if self._store is None else {identity_of(record): record for record in self._store.load()}
        self._used: dict[Any, Record] = {}

    def add(self, records: Sequence[Record]) -> None:
        """Take in new records, all at once."""
        if self._store is not None:
            self._store.append(records)
        for record in records:
            self._known[identity_of(record)] = self._used[identity_of(record)] = record

    def take(self, *identity: Any) -> bool:
        """Take a known record (see :func:`identity_of`) into the results; say whether there was one."""
        if identity in self._known:
            self._used[identity] = self._known[identity]
        return identity in self._known

    def describe(self, data: Data) -> None:
        """Take in what the data set looks like."""
        if not self.take(DatasetRecord, data.name, data.fingerprint):
            labels = [] if data.settings.task == "regression" else data.targets(np.arange(len(data.y)))
            found = describe_dataset(data.name, data.graphs, labels, fingerprint=data.fingerprint, n_jobs=data.n_jobs)
            self.add([found])

    def take_out_of_time(self, key: Key, repetition: int, time_limit: float | None) -> bool:
        """Say whether the kernel was out of time here before, with no less time than it would get now; take that in."""
        given_up = (
            identity
            for identity, record in self._known.items()
            if identity[:4] == (FailedRun, key, repetition, OUT_OF_TIME)
            and isinstance(record, FailedRun)
            and (record.time_limit is None or (time_limit is not None and record.time_limit >= time_limit))
        )
        first = next(given_up, None)
        return first is not None and self.take(*first)

    def results(self) -> Results:
        """Return what this evaluation asked for, computed or found."""
        return Results(self._used.values())


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Return the versions of what the numbers depend on."""
    modules: dict[str, Any] = {"relaxwl": relaxwl, "numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    system = {"python": platform.python_version(), "platform": platform.platform()}
    return {name: module.__version__ for name, module in modules.items()} | system


# ------------------------------------------------------------------------------------------- pictures of Gram matrices


def sketch_gram(gram: Float64, y: Int64, class_names: Sequence[str]) -> dict[str, Any]:
    """Return the picture of a Gram matrix, as fields of a :class:`GramSketch`; ``y`` indexes ``class_names``."""
    cosine = cosine_normalized(gram)
    coordinates, explained = kernel_pca(cosine)
    ends = np.cumsum(np.bincount(y, minlength=len(class_names))) / max(len(y), 1)
    return {
        "blocks": _blocks(cosine, np.argsort(y, kind="stable")).tolist(),
        "class_names": [printable(name) for name in class_names],
        "class_ends": ends.tolist(),
        "coordinates": np.round(coordinates, 4).tolist(),
        "classes": y.tolist(),
        "explained": [round(float(share), 4) for share in explained],
    }


def cosine_normalized(gram: Float64) -> Float64:
    """Return the matrix scaled to a diagonal of 1; graphs with k(G, G) = 0 keep their zeros.

    >>> cosine_normalized(np.array([[4.0, 2.0], [2.0, 1.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    lengths = np.sqrt(np.maximum(gram.diagonal(), 0))
    lengths[lengths == 0] = 1
    return np.asarray(gram / lengths[:, None] / lengths)


def kernel_pca(gram: Float64, n_components: int = 2) -> tuple[Float64, Float64]:
    """Return the first principal components in feature space, (n, n_components), and their shares of the variance.

    Signs are fixed (the entry of largest size is positive), so that pictures do not flip between machines.

    >>> points, shares = kernel_pca(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> points[:, 0].round(6).tolist(), shares.round(6).tolist()
    ([1.0, -1.0], [1.0, 0.0])
    """
    total = float(KernelCenterer().fit_transform(gram).trace())
    n_there = min(n_components, len(gram))
    points, shares = np.zeros((len(gram), n_components)), np.zeros(n_components)
    if total <= VANISHING * float(gram.trace()):
        return points, shares
    pca = KernelPCA(n_there, kernel="precomputed", random_state=0)
    points[:, :n_there] = pca.fit_transform(gram)
    shares[:n_there] = np.maximum(pca.eigenvalues_, 0) / total
    peaks = points[np.abs(points).argmax(axis=0), np.arange(n_components)]
    return points * np.where(peaks < 0, -1, 1), shares


def _blocks(gram: Float64, order: Int64) -> Int64:
    """Average the sorted matrix over blocks, and spread the values from 0 to 255 between robust limits."""
    n = len(order)
    side = min(n, SKETCH_SIDE)
    starts = np.arange(side) * n // side
    rows = np.add.reduceat(gram[order], starts, axis=0)
    sums = np.add.reduceat(rows[:, order], starts, axis=1)
    sizes = np.diff(np.append(starts, n))
    means = sums / sizes[:, None] / sizes
    low, high = np.quantile(means, [0.02, 0.98])
    spread = (means - low) / (high - low) if high > low else np.zeros_like(means)
    return np.rint(np.clip(spread, 0, 1) * 255).astype(np.int64)

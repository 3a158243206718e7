"""Turns what happened in a fold into records, and keeps them."""

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

import relaxwl
from relaxwl._memory import peak_memory
from relaxwl.evaluation.contestants import identity
from relaxwl.evaluation.data import DIGITS, Data
from relaxwl.evaluation.folds import Split, kernel_seed
from relaxwl.evaluation.predicting import log_loss, regression_scores
from relaxwl.evaluation.records import FoldRecord, GivenUp, GramSketch, Key, Record
from relaxwl.evaluation.results import Results
from relaxwl.evaluation.selection import Choice
from relaxwl.evaluation.sketches import sketch_gram
from relaxwl.evaluation.statistics import describe_dataset
from relaxwl.evaluation.store import ResultStore
from relaxwl.graphs.arrays import Int64
from relaxwl.kernels.registry import Entry

OUT_OF_TIME, OUT_OF_MEMORY = "out of time", "out of memory"


@dataclass(frozen=True)
class Recorder:
    """Makes the records of one kernel on one data set."""

    contestant: Entry
    data: Data
    key: Key

    @classmethod
    def of(cls, contestant: Entry, data: Data) -> "Recorder":
        """Return the recorder of a kernel, with the fingerprint of everything that its numbers depend on."""
        parts = [data.fingerprint, identity(contestant), json.dumps(data.settings.as_json(), sort_keys=True)]
        fingerprint = hashlib.sha256("|".join(parts).encode()).hexdigest()[:DIGITS]
        return cls(contestant, data, Key(data.name, contestant.name, data.fingerprint, fingerprint))

    def fold(self, repetition: int, fold: int, split: Split, choice: Choice) -> FoldRecord:
        """Return the record of an evaluated fold."""
        data = self.data
        predictions, accuracy, converged = self._outcome(split, choice)
        return FoldRecord(
            key=self.key,
            title=self.contestant.title,
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
            fit_seconds=round(choice.fit_seconds, 6),
            gram_seconds=round(choice.gram_seconds, 6),
            transform_seconds=round(choice.transform_seconds, 6),
            svm_seconds=round(choice.svm_seconds, 6),
            peak_memory_mb=_megabytes(peak_memory()),
            n_jobs=data.n_jobs,
            versions=versions(),
            finished_at=_now(),
            offered={name: [_plain(value) for value in values] for name, values in choice.offered.items()},
            scores=self._scores(split, choice),
            deviations=None if choice.deviations is None else choice.deviations.tolist(),
        )

    def _outcome(self, split: Split, choice: Choice) -> tuple[list[Any], float | None, bool]:
        """Return the predictions as users read them, the accuracy (None in regression), and whether fits converged."""
        if choice.values is not None:
            return choice.values.tolist(), None, True
        if choice.prediction is None:
            raise ValueError(f"the kernel {self.contestant.name} has no variants")
        codes = choice.prediction.classes
        accuracy = float(np.mean(codes == self.data.y[split.test]))
        return [self.data.classes[code] for code in codes], accuracy, choice.prediction.converged

    def _scores(self, split: Split, choice: Choice) -> dict[str, float]:
        targets = self.data.y[split.test]
        if choice.values is not None:
            return regression_scores(targets, choice.values, choice.deviations)
        return {} if choice.probabilities is None else {"log_loss": log_loss(choice.probabilities, targets)}

    def given_up(self, repetition: int, error: Exception) -> GivenUp:
        """Return the record of a repetition that was given up."""
        settings, limit = self.data.settings.as_json(), self.data.time_limit
        cause = OUT_OF_MEMORY if isinstance(error, MemoryError) else OUT_OF_TIME
        return GivenUp(self.key, self.contestant.title, settings, repetition, cause, limit, str(error), _now())

    def sketch(self, positions: Int64, choice: Choice) -> GramSketch:
        """Return a picture of the Gram matrix (of the graphs at ``positions``) that a fold has chosen."""
        parameters = {name: _plain(value) for name, value in choice.parameters.items()}
        names = [str(label) for label in self.data.classes]
        classes = self.data.y[positions]
        return sketch_gram(np.asarray(choice.gram), classes, names, self.key, self.contestant.title, parameters)


class Keeper:
    """What is known, from the store or computed now; everything new goes to the store at once."""

    def __init__(self, store: Any) -> None:
        self._store = store if store is None or isinstance(store, ResultStore) else ResultStore(store)
        self._known = Results([]) if self._store is None else self._store.load()
        self._folds = {(r.key, r.repetition, r.fold): r for r in self._known.folds}
        self._sketches = {sketch.key: sketch for sketch in self._known.sketches}
        self._used: dict[int, Record] = {}

    def add(self, records: Sequence[Record]) -> None:
        """Take in new records, all at once."""
        if self._store is not None:
            self._store.append(records)
        self._use(records)

    def describe(self, data: Data) -> None:
        """Take in what the data set looks like, unless it is known."""
        known = self._known.dataset_records.get((data.name, data.fingerprint))
        if known is not None:
            self._use([known])
            return
        labels = [] if data.settings.task == "regression" else data.targets(np.arange(len(data.y)))
        self.add([describe_dataset(data.name, data.graphs, labels, fingerprint=data.fingerprint, n_jobs=data.n_jobs)])

    def take_fold(self, key: Key, repetition: int, fold: int) -> bool:
        """Take a known fold into the results; say whether there was one."""
        record = self._folds.get((key, repetition, fold))
        self._use([] if record is None else [record])
        return record is not None

    def take_sketch(self, key: Key) -> bool:
        """Take the known picture of a kernel's Gram matrix into the results; say whether there was one."""
        sketch = self._sketches.get(key)
        self._use([] if sketch is None else [sketch])
        return sketch is not None

    def take_out_of_time(self, key: Key, repetition: int, time_limit: float | None) -> bool:
        """Say whether the kernel was out of time here before, with no less time than it would get now; take that in."""
        given_up = [
            record
            for record in self._known
            if isinstance(record, GivenUp)
            and record.cause == OUT_OF_TIME
            and (record.key, record.repetition) == (key, repetition)
            and (record.time_limit is None or (time_limit is not None and record.time_limit >= time_limit))
        ]
        self._use(given_up[:1])
        return bool(given_up)

    def results(self) -> Results:
        """Return what this evaluation asked for, computed or found."""
        return Results(self._used.values())

    def _use(self, records: Sequence[Record]) -> None:
        self._used.update({id(record): record for record in records})
        self._sketches.update({record.key: record for record in records if isinstance(record, GramSketch)})


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Return the versions of what the numbers depend on."""
    return {
        "relaxwl": relaxwl.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "platform": platform.platform(),
    }


def _megabytes(n_bytes: float | None) -> float | None:
    return None if n_bytes is None else round(n_bytes / 2**20, 1)

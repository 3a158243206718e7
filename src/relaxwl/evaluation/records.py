"""Typed records of an evaluation, and their form as lines of JSON.

A line ends with a checksum of everything before it; its fields must be those of a record.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_args

import numpy as np

Scalar = str | int | float | bool | None
# Number of hexadecimal digits of the checksum of a line, and the pattern of a line with its checksum.
CHECKSUM_DIGITS = 16
CHECKSUM = re.compile(rb'(.*),"checksum":"([0-9a-f]{%d})"\}' % CHECKSUM_DIGITS, re.DOTALL)
# Scores of which lower values are better.
LOWER_IS_BETTER = frozenset({"rmse", "mae", "nlpd", "log_loss"})
# Number of decimals of scores other than accuracies in tables.
DIGITS = 3


@dataclass(frozen=True)
class Key:
    """Identity of a kernel on a data set under one set of settings.

    ``data`` identifies the graphs and their classes, ``fingerprint`` also the kernel with its parameters and the
    settings, among them this package's version. Records with different fingerprints are never averaged.
    """

    dataset: str
    kernel: str
    data: str
    fingerprint: str


@dataclass(frozen=True)
class FoldRecord:
    """One outer fold of one repetition: the setting selected on the training part, and its scores on the test part.

    ``fit_seconds`` is the time of the fits that the fold used and ``gram_seconds`` that of the Gram matrices of all
    their settings (0 for a kernel that does not separate them), without the imports and the compilation of the first
    fit in a process (for kernels of other packages, including them); in the transductive protocol all folds of a
    repetition share them. ``transform_seconds`` is the time for the Gram matrices between unseen and training graphs,
    ``svm_seconds`` the time for selection and final fit. ``n_fits`` counts support vector machines of two classes,
    ``n_unconverged`` those that reached the iteration limit. ``peak_memory_mb`` is the peak memory of the process
    during the repetition (on some systems: since its start), including memory used before. ``accuracy`` is None in
    regression, and ``inner_accuracy`` if the estimator is not a kernel; ``scores`` contains other scores by name, and
    ``deviations`` the standard deviations of a predictor's predictions.
    """

    key: Key
    title: str
    settings: dict[str, Any]
    repetition: int
    fold: int
    kernel_seed: int
    accuracy: float | None
    inner_accuracy: float | None
    parameters: dict[str, Any]
    test_indices: list[int]
    targets: list[Scalar]
    predictions: list[Scalar]
    n_candidates: int
    n_fits: int
    n_unconverged: int
    converged: bool
    fit_seconds: float
    gram_seconds: float
    transform_seconds: float
    svm_seconds: float
    peak_memory_mb: float | None
    n_jobs: int | None
    versions: dict[str, str]
    finished_at: str
    scores: dict[str, float] = field(default_factory=dict)
    deviations: list[float] | None = None

    def score(self, metric: str) -> float:
        """Return the accuracy, or another score by its name."""
        scores = self.scores if self.accuracy is None else {"accuracy": self.accuracy, **self.scores}
        if metric not in scores:
            raise KeyError(f"no score {metric!r} in the results; there are: {', '.join(scores)}")
        return scores[metric]

    @property
    def kernel_seconds(self) -> float:
        """Seconds for everything but the support vector machines."""
        return self.fit_seconds + self.gram_seconds + self.transform_seconds


@dataclass(frozen=True)
class FailedRun:
    """A repetition that was not finished: out of time or out of memory.

    ``time_limit`` is that of the evaluation (None: the evaluation had none, but the kernel has its own limit).
    """

    key: Key
    title: str
    settings: dict[str, Any]
    repetition: int
    cause: str
    time_limit: float | None
    message: str
    finished_at: str


@dataclass(frozen=True)
class DatasetRecord:
    """Description of a data set: the row of the data-set table."""

    name: str
    fingerprint: str
    n_graphs: int
    class_sizes: dict[str, int]
    n_nodes: int
    n_edges: int
    mean_nodes: float
    mean_edges: float
    mean_density: float
    mean_degree: float
    n_node_labels: int | None
    n_edge_labels: int | None
    n_node_attributes: int | None
    distinct_trees: list[int]


Record = FoldRecord | FailedRun | DatasetRecord
RECORD_TYPES: dict[str, Any] = dict(zip(("fold", "given-up", "dataset"), get_args(Record), strict=True))
TYPE_NAMES = {cls: name for name, cls in RECORD_TYPES.items()}
# Fields whose values may occur only once in a store; time limits may differ, so that a longer one can be tried.
IDENTITY: dict[type[Record], tuple[str, ...]] = {
    FoldRecord: ("key", "repetition", "fold"),
    FailedRun: ("key", "repetition", "cause", "time_limit"),
    DatasetRecord: ("name", "fingerprint"),
}


def identity_of(record: Record) -> tuple[Any, ...]:
    """Return the identity of a record within a store."""
    return type(record), *(getattr(record, name) for name in IDENTITY[type(record)])


@dataclass(frozen=True)
class Cell:
    """The scores of a kernel on a data set, as shown in a table.

    ``accuracies`` (or values of another ``metric``) has one entry for each complete repetition: the mean over its
    folds; if the folds were given, one for each fold. ``mean`` and ``std`` (of the population, as in ``numpy.std``) are
    computed over them, NaN if there are none; with a single one ``has_spread`` is false, and the standard deviation of
    0 is not informative. ``given_up`` is the reason why some repetition did not finish ("out of time" or "out of
    memory"), and is empty if all finished.
    """

    dataset: str
    kernel: str
    title: str
    accuracies: tuple[float, ...]
    given_up: str
    records: tuple[FoldRecord, ...] = field(repr=False)
    metric: str = "accuracy"

    @property
    def mean(self) -> float:
        """Mean over the repetitions."""
        return float(np.mean(self.accuracies)) if self.accuracies else float("nan")

    @property
    def std(self) -> float:
        """Standard deviation over the repetitions."""
        return float(np.std(self.accuracies)) if self.accuracies else float("nan")

    @property
    def chance(self) -> float:
        """Score of the majority-class baseline, or RMSE of the mean predictor; NaN for other scores."""
        targets = [target for record in self.records for target in record.targets]
        if self.metric == "rmse":
            return float(np.std(np.asarray(targets, np.float64)))
        most = max(Counter(targets).values(), default=0) / max(len(targets), 1)
        return most if self.metric == "accuracy" else float("nan")

    def written(self, value: float, digits: int = 1) -> str:
        """Return a value of the score as text: accuracies in percent."""
        return f"{100 * value:.{digits}f} %" if self.metric == "accuracy" else f"{value:.{DIGITS}f}"

    @property
    def percent(self) -> float:
        """Mean accuracy as shown in tables."""
        return round(100 * self.mean, 2)

    @property
    def rank(self) -> float:
        """Sort key (less is better), rounded as in tables, so that values that are equal there tie."""
        if self.metric == "accuracy":
            return -self.percent
        return round(self.mean, DIGITS) if self.metric in LOWER_IS_BETTER else -round(self.mean, DIGITS)

    @property
    def has_spread(self) -> bool:
        """Whether there are enough repetitions for a standard deviation."""
        return len(self.accuracies) > 1

    @property
    def finished(self) -> bool:
        """Whether there is an accuracy to show."""
        return bool(self.accuracies) and not self.given_up


def best_cells(cells: Iterable[Cell]) -> list[Cell]:
    """Return the finished cells with the best mean as shown in tables: several, if these are equal."""
    finished = [cell for cell in cells if cell.finished]
    best = min((cell.rank for cell in finished), default=None)
    return [cell for cell in finished if cell.rank == best]


# ------------------------------------------------------------------------------------------------------ lines of JSON


def record_to_json(record: Record) -> str:
    """Return a record as one line of JSON, with its checksum; names may contain any characters."""
    line = json.dumps({"type": TYPE_NAMES[type(record)], **asdict(record)}, separators=(",", ":"))
    return f'{line[:-1]},"checksum":"{_checksum(line.encode())}"}}'


def record_from_json(line: str | bytes) -> Record:
    """Return the record that a line of JSON describes.

    Raises
    ------
    ValueError
        If the line is damaged, cut short or not a record.
    """
    marked = CHECKSUM.fullmatch(line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line.strip())
    if marked is None:
        raise ValueError("it is cut, or not a record: it does not end with a checksum")
    content = marked[1] + b"}"
    if _checksum(content) != marked[2].decode():
        raise ValueError("it does not match its checksum")
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("the line is not complete JSON") from None
    kind = values.pop("type", None) if isinstance(values, dict) else None
    if not isinstance(kind, str) or kind not in RECORD_TYPES:
        raise ValueError(f"it is not a record of type {', '.join(RECORD_TYPES)}")
    known = {field.name for field in fields(RECORD_TYPES[kind])}
    if known - values.keys():
        raise ValueError(f"the fields {', '.join(sorted(known - values.keys()))} are missing")
    values = {name: value for name, value in values.items() if name in known}  # earlier versions stored more
    try:
        if "key" in values:
            values["key"] = Key(**values["key"])
    except TypeError:
        raise ValueError("its key is not that of a record") from None
    record: Record = RECORD_TYPES[kind](**values)
    return record


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:CHECKSUM_DIGITS]

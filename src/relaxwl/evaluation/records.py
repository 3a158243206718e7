"""Typed records of an evaluation, and their form as lines of JSON.

A line ends with a checksum of all that stands before it. Lines of old have none and are read all the same; but whatever
the line, its fields must be those of a record, of the right types.
"""

import hashlib
import json
import re
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

Scalar = str | int | float | bool | None
# Hexadecimal digits of the checksum of a line, and how the line ends with it.
CHECKSUM_DIGITS = 16
CHECKSUM = re.compile(rb'(.*),"checksum":"([0-9a-f]{%d})"\}' % CHECKSUM_DIGITS, re.DOTALL)
# What tables and reports ask the settings of a run for.
SETTINGS = {"protocol", "n_folds", "inner_folds", "C", "depths", "random_state", "version"}


@dataclass(frozen=True)
class Key:
    """What a record belongs to: a kernel on a data set under one set of settings.

    ``data`` identifies the graphs and their classes, ``fingerprint`` also the kernel with its parameters and the
    settings, among them this package's version. Records with different fingerprints are never averaged.
    """

    dataset: str
    kernel: str
    data: str
    fingerprint: str


@dataclass(frozen=True)
class FoldRecord:
    """One outer fold of one repetition: what was chosen on the training part and how it did on the test part.

    ``fit_seconds`` is the time of the fits that the fold relied on and ``gram_seconds`` that of the Gram matrices of
    all their settings (0 for a kernel that does not tell them apart), without the imports and the compilation that the
    first fit in a process needs (kernels of other packages: with them); in the transductive protocol all folds of a
    repetition share them. ``transform_seconds`` is the time for the Gram matrices between unseen and training graphs,
    ``svm_seconds`` the time for selection and final fit. ``n_fits`` counts support vector machines of two classes,
    ``n_unconverged`` those that reached the iteration limit. ``peak_memory_mb`` is the most that the process held
    during the repetition (where the system cannot tell: since its start), with what it held before. ``offered`` names
    the values that each parameter was chosen from (empty in records of old). ``accuracy`` is None in regression, and
    ``inner_accuracy`` where the contestant predicts by itself; ``scores`` holds other scores by name, and
    ``deviations`` what a predictor says about how far off its predictions may be.
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
    offered: dict[str, list[Scalar]] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    deviations: list[float] | None = None

    def score(self, metric: str) -> float:
        """Return the accuracy, or another score by its name."""
        if metric == "accuracy" and self.accuracy is not None:
            return self.accuracy
        try:
            return self.scores[metric]
        except KeyError:
            known = [*(["accuracy"] if self.accuracy is not None else []), *self.scores]
            raise KeyError(f"no score {metric!r} in the results; there are: {', '.join(known)}") from None

    @property
    def kernel_seconds(self) -> float:
        """Seconds for everything but the support vector machines."""
        return self.fit_seconds + self.gram_seconds + self.transform_seconds


@dataclass(frozen=True)
class GivenUp:
    """A repetition that had no end: out of time or out of memory.

    ``time_limit`` is what the evaluation allowed (None: nothing was said, but the kernel has a limit of its own).
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
    """What a data set looks like: the row of the data-set table."""

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


@dataclass(frozen=True)
class GramSketch:
    """A small picture of a Gram matrix and of the graphs as it sees them, for the report.

    ``blocks`` is the cosine-normalised matrix, sorted by class and averaged over blocks, as rows of numbers from 0 to
    255; ``class_ends`` says where (as a share of the side) each class ends. ``coordinates`` are the first two
    kernel principal components of each graph in ``classes``' order.
    """

    key: Key
    title: str
    parameters: dict[str, Any]
    blocks: list[list[int]]
    class_names: list[str]
    class_ends: list[float]
    coordinates: list[list[float]]
    classes: list[int]
    explained: list[float]


Record = FoldRecord | GivenUp | DatasetRecord | GramSketch
RECORD_TYPES: dict[str, type[Record]] = {
    "fold": FoldRecord,
    "given-up": GivenUp,
    "dataset": DatasetRecord,
    "gram-sketch": GramSketch,
}
TYPE_NAMES = {cls: name for name, cls in RECORD_TYPES.items()}


def record_to_json(record: Record) -> str:
    """Return a record as one line of JSON, with its checksum; any name in it can be written."""
    values = {"type": TYPE_NAMES[type(record)], **asdict(record)}
    line = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    try:
        content = line.encode()
    except UnicodeEncodeError:  # a lone surrogate, as in a file name that is not UTF-8
        line = json.dumps(values, separators=(",", ":"))
        content = line.encode()
    return f'{line[:-1]},"checksum":"{_checksum(content)}"}}'


def has_checksum(line: bytes) -> bool:
    """Say whether a line carries a checksum; those of old files do not."""
    return CHECKSUM.fullmatch(line.strip()) is not None


def record_from_json(line: str | bytes) -> Record:
    """Return the record that a line of JSON describes.

    Raises
    ------
    ValueError
        If the line is damaged, cut short or not a record.
    """
    content = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line.strip()
    marked = CHECKSUM.fullmatch(content)
    if marked:
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
    record_type = RECORD_TYPES[kind]
    _check_fields(record_type, values)
    if "key" in values:
        values["key"] = Key(**values["key"])
    record = record_type(**values)
    if isinstance(record, (FoldRecord, GivenUp)):
        _check_sense(record)
    return record


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:CHECKSUM_DIGITS]


def _check_fields(record_type: type, values: dict[str, Any]) -> None:
    """Refuse fields that a record does not have, that are missing (but those added later) or of another type."""
    known = {f.name: f for f in fields(record_type)}
    later = {name for name, f in known.items() if f.default is not MISSING or f.default_factory is not MISSING}
    wrong = (known.keys() ^ values.keys()) - (later - values.keys())
    if wrong:
        raise ValueError(f"the fields {', '.join(sorted(wrong))} are missing or unknown")
    for name, hint in _hints(record_type).items():
        if name in values and not _fits(values[name], hint):
            raise ValueError(f"its field {name} cannot be {str(values[name])[:60]!r}")


def _check_sense(record: FoldRecord | GivenUp) -> None:
    """Refuse what no evaluation writes, though its types are right."""
    missing = SETTINGS - record.settings.keys()
    if missing:
        raise ValueError(f"its settings lack {', '.join(sorted(missing))}")
    n_folds = record.settings["n_folds"]
    if record.repetition < 0 or not isinstance(n_folds, int) or not isinstance(record.settings["protocol"], str):
        raise ValueError("its settings make no sense")
    if isinstance(record, FoldRecord):
        sizes = {len(record.test_indices), len(record.targets), len(record.predictions)}
        if not 0 <= record.fold < n_folds or len(sizes) > 1 or not 0 <= (record.accuracy or 0.0) <= 1:
            raise ValueError("its fold, accuracy or predictions make no sense")


@cache
def _hints(record_type: type) -> dict[str, Any]:
    return get_type_hints(record_type)


def _fits(value: Any, hint: Any) -> bool:
    """Say whether a value of JSON is of the type that a field is declared with."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is UnionType:
        return any(_fits(value, choice) for choice in inner)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, inner[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(item, inner[1]) for item in value.values())
    if hint is Key:
        return isinstance(value, dict) and value.keys() == _hints(Key).keys() and all(map(_is_text, value.values()))
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return isinstance(value, hint)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)

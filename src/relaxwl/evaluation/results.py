"""Typed records of an evaluation, and the append-only file that keeps them.

A store is a text file with one JSON object a line: a :class:`FoldRecord` for every fold that was evaluated, a
:class:`GivenUp` for a repetition that had no end, a :class:`DatasetRecord` for every data set and a
:class:`GramSketch` for pictures. Lines are only ever appended, each batch with one write that is forced to the disk, so
a run that was killed leaves whole lines behind (a torn one is dropped with a warning) and continues where it stopped.
"""

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Scalar = str | int | float | bool | None


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
    the values that each parameter was chosen from (empty in records of old).
    """

    key: Key
    title: str
    settings: dict[str, Any]
    repetition: int
    fold: int
    kernel_seed: int
    accuracy: float
    inner_accuracy: float
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
# So many lines that are no records are named one by one.
MOST_NOTES = 3
TYPE_NAMES = {cls: name for name, cls in RECORD_TYPES.items()}


@dataclass(frozen=True)
class Cell:
    """A kernel on a data set: what a table shows.

    ``accuracies`` has one entry for each complete repetition: the mean accuracy over its folds. ``mean`` and ``std``
    (the population's, as ``numpy.std`` gives it) are taken over them, NaN where there is none; with a single
    repetition ``has_spread`` is false, and the standard deviation of 0 says nothing. ``given_up`` says
    why some repetition had no end ("out of time" or "out of memory"), and is empty if none was given up.
    """

    dataset: str
    kernel: str
    title: str
    accuracies: tuple[float, ...]
    given_up: str
    records: tuple[FoldRecord, ...] = field(repr=False)

    @property
    def mean(self) -> float:
        """Mean accuracy over the repetitions."""
        return float(np.mean(self.accuracies)) if self.accuracies else float("nan")

    @property
    def std(self) -> float:
        """Standard deviation of the repetitions' accuracies."""
        return float(np.std(self.accuracies)) if self.accuracies else float("nan")

    @property
    def percent(self) -> float:
        """Mean accuracy as tables show it, so that equal numbers are equally good."""
        return round(100 * self.mean, 2)

    @property
    def has_spread(self) -> bool:
        """Whether there are repetitions enough for a standard deviation to mean anything."""
        return len(self.accuracies) > 1

    @property
    def finished(self) -> bool:
        """Whether there is an accuracy to show."""
        return bool(self.accuracies) and not self.given_up


class Results(Sequence[Record]):
    """An immutable sequence of records with the questions that tables, plots and reports ask.

    Examples
    --------
    >>> Results([]).datasets
    []
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = tuple(records)

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> "Results": ...
    def __getitem__(self, index: int | slice) -> "Record | Results":
        return Results(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __repr__(self) -> str:
        return f"Results({len(self.datasets)} data sets, {len(self.kernels)} kernels, {len(self.folds)} folds)"

    def __str__(self) -> str:
        return self.table()

    def table(self, form: str = "text") -> str:
        """Return the accuracies as ``text``, ``markdown``, ``csv`` or ``latex``; each run has a table of its own."""
        # Imported here because tables are made of results.
        from relaxwl.evaluation.tables import results_table

        return "\n\n".join(results_table(part).render(form) for part in self.split())

    # ------------------------------------------------------------------------------------------ what is there

    @property
    def folds(self) -> list[FoldRecord]:
        """The evaluated folds."""
        return [record for record in self._records if isinstance(record, FoldRecord)]

    @property
    def datasets(self) -> list[str]:
        """Names of the evaluated data sets, in the order in which they came."""
        return _unique(record.key.dataset for record in self._evaluated())

    @property
    def kernels(self) -> list[str]:
        """Names of the evaluated kernels, in the order in which they came."""
        return _unique(record.key.kernel for record in self._evaluated())

    @property
    def dataset_records(self) -> dict[tuple[str, str], DatasetRecord]:
        """What is known about each data set, by name and fingerprint."""
        return {(r.name, r.fingerprint): r for r in self._records if isinstance(r, DatasetRecord)}

    @property
    def sketches(self) -> list[GramSketch]:
        """The pictures of Gram matrices."""
        return [record for record in self._records if isinstance(record, GramSketch)]

    def select(
        self, *, dataset: str | None = None, kernel: str | None = None, protocol: str | None = None
    ) -> "Results":
        """Return the records of one data set, kernel or protocol; what is not given is not restricted."""

        def wanted(record: Record) -> bool:
            if isinstance(record, DatasetRecord):
                return dataset in (None, record.name)
            of_protocol = isinstance(record, GramSketch) or protocol in (None, record.settings["protocol"])
            return dataset in (None, record.key.dataset) and kernel in (None, record.key.kernel) and of_protocol

        return Results(record for record in self._records if wanted(record))

    # ------------------------------------------------------------------------------------------ two runs in one

    def split(self) -> list["Results"]:
        """Separate runs that must not share a table: by protocol settings, then by content of equally named data.

        Each part holds at most one set of settings, and for each data set and kernel one fingerprint.
        """
        parts: list[_Part] = []
        for record in self._evaluated():
            settings = json.dumps(record.settings, sort_keys=True)
            part = next((p for p in parts if p.settings == settings and p.agrees_with(record.key)), None)
            if part is None:
                parts.append(part := _Part(settings))
            part.take(record)
        return [Results([*self._companions(part), *part.records]) for part in parts]

    def require_one_run(self) -> None:
        """Refuse records of runs that differ in settings, data or version.

        Raises
        ------
        ValueError
            If :meth:`split` would return more than one part.
        """
        n_parts = len(self.split())
        if n_parts > 1:
            raise ValueError(
                f"the results come from {n_parts} runs that differ in settings, data or version and must not share a "
                "table; take them one at a time from Results.split()"
            )

    # ------------------------------------------------------------------------------------------ what came out

    def cell(self, dataset: str, kernel: str) -> Cell:
        """Return what is known about a kernel on a data set.

        Parameters
        ----------
        dataset : str
            Name of the data set.
        kernel : str
            Name of the kernel (``"rwl-star"``), or its title as tables print it (``"R-WL*"``). Where it was evaluated
            on other data sets alone, the cell is empty.

        Raises
        ------
        KeyError
            If there is no such data set or kernel in the results.
        ValueError
            If the records come from runs with different fingerprints.
        """
        self._require_dataset(dataset)
        kernel = self._kernel_name(kernel)
        evaluated = [r for r in self._evaluated() if (r.key.dataset, r.key.kernel) == (dataset, kernel)]
        if len({record.key.fingerprint for record in evaluated}) > 1:
            raise ValueError(
                f"the results of {kernel} on {dataset} come from runs that differ in settings, data or version; "
                "take them one at a time from Results.split()"
            )
        folds = tuple(record for record in evaluated if isinstance(record, FoldRecord))
        complete = _complete_repetitions(folds)
        given_up = [r.cause for r in evaluated if isinstance(r, GivenUp) and r.repetition not in complete]
        return Cell(
            dataset=dataset,
            kernel=kernel,
            title=evaluated[0].title if evaluated else kernel,
            accuracies=tuple(float(np.mean([record.accuracy for record in complete[r]])) for r in sorted(complete)),
            given_up=given_up[-1] if given_up else "",
            records=folds,
        )

    def predictions(self, dataset: str, kernel: str) -> NDArray[Any]:
        """Return the out-of-fold predictions: an array (n_repetitions, n_graphs), complete repetitions only."""
        complete = _complete_repetitions(self.cell(dataset, kernel).records)
        rows = []
        for repetition in sorted(complete):
            pairs = sorted(
                pair
                for record in complete[repetition]
                for pair in zip(record.test_indices, record.predictions, strict=True)
            )
            rows.append([prediction for _, prediction in pairs])
        return np.array(rows)

    def _require_dataset(self, name: str) -> None:
        known = _unique([*self.datasets, *(described for described, _ in self.dataset_records)])
        if name not in known:
            raise KeyError(f"no data set {name!r} in the results; there are: {', '.join(known) or 'none'}")

    def _kernel_name(self, kernel: str) -> str:
        """Return the name of a kernel that is called by its name or by its title."""
        known = self.kernels
        if kernel in known:
            return kernel
        titled = _unique(record.key.kernel for record in self._evaluated() if record.title == kernel)
        if len(titled) != 1:
            raise KeyError(f"no kernel {kernel!r} in the results; there are: {', '.join(known) or 'none'}")
        return titled[0]

    def _evaluated(self) -> list[FoldRecord | GivenUp]:
        return [record for record in self._records if isinstance(record, (FoldRecord, GivenUp))]

    def _companions(self, part: "_Part") -> list[Record]:
        """Return the data-set records and sketches that belong to a part."""
        return [
            record
            for record in self._records
            if (isinstance(record, DatasetRecord) and part.claims.get((record.name, "")) == record.fingerprint)
            or (isinstance(record, GramSketch) and _claims(record.key).items() <= part.claims.items())
        ]


@dataclass
class _Part:
    """Records that may share a table, and what they have committed themselves to."""

    settings: str
    claims: dict[tuple[str, str], str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    def agrees_with(self, key: Key) -> bool:
        return all(self.claims.get(what, value) == value for what, value in _claims(key).items())

    def take(self, record: FoldRecord | GivenUp) -> None:
        self.claims.update(_claims(record.key))
        self.records.append(record)


class ResultStore:
    """An append-only file of records, one JSON object a line.

    Parameters
    ----------
    path : path
        The file; it need not exist, its folder must.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ResultStore(Path(folder) / "results.jsonl")
    ...     len(store.load())
    0
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"cannot keep results in {self.path}: the folder {self.path.parent} does not exist")

    def append(self, records: Iterable[Record]) -> None:
        """Write records, all in one write, and wait until the disk has them."""
        lines = b"".join(record_to_json(record).encode() + b"\n" for record in records)
        if not lines:
            return
        with self.path.open("a+b") as file:
            if _ends_in_a_torn_line(file):
                lines = b"\n" + lines
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

    def load(self) -> Results:
        """Read all records; of two for the same fold the first counts.

        A line that is no record (the last, if the machine went down while it was written) is dropped with a warning;
        of many, as in a file of another kind, the first are named and the others counted.
        """
        if not self.path.exists():
            return Results([])
        records: dict[Any, Record] = {}
        n_dropped = 0
        for number, line in enumerate(self.path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                record = record_from_json(line)
            except ValueError as error:
                n_dropped += 1
                if n_dropped <= MOST_NOTES:
                    warnings.warn(f"{self.path}, line {number}: dropped, because {error}", stacklevel=2)
                continue
            records.setdefault(_identity(record), record)
        if n_dropped > MOST_NOTES:
            warnings.warn(f"{self.path}: {n_dropped} lines were dropped", stacklevel=2)
        return Results(records.values())


def record_to_json(record: Record) -> str:
    """Return a record as one line of JSON."""
    return json.dumps({"type": TYPE_NAMES[type(record)], **asdict(record)}, ensure_ascii=False, separators=(",", ":"))


def record_from_json(line: str | bytes) -> Record:
    """Return the record that a line of JSON describes.

    Raises
    ------
    ValueError
        If the line is cut short or is not a record.
    """
    try:
        values = json.loads(line)
    except ValueError:
        raise ValueError("the line is not complete JSON") from None
    if not isinstance(values, dict) or values.get("type") not in RECORD_TYPES:
        raise ValueError(f"it is not a record of type {', '.join(RECORD_TYPES)}")
    record_type = RECORD_TYPES[values.pop("type")]
    names = {f.name for f in fields(record_type)}
    later = {f.name for f in fields(record_type) if f.default_factory is not MISSING or f.default is not MISSING}
    wrong = (names ^ values.keys()) - (later - values.keys())
    if wrong:
        raise ValueError(f"the fields {', '.join(sorted(wrong))} are missing or unknown")
    if "key" in values:
        try:
            values["key"] = Key(**values["key"])
        except TypeError:
            raise ValueError("its key does not say which data set and kernel it belongs to") from None
    return record_type(**values)


def _identity(record: Record) -> tuple[Any, ...]:
    """Return what may occur only once in a store; time limits may differ, so that a longer one can be tried."""
    match record:
        case FoldRecord():
            return ("fold", record.key, record.repetition, record.fold)
        case GivenUp():
            return ("given-up", record.key, record.repetition, record.cause, record.time_limit)
        case GramSketch():
            return ("gram-sketch", record.key)
        case DatasetRecord():
            return ("dataset", record.name, record.fingerprint)


def _ends_in_a_torn_line(file: Any) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) != b"\n")


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _complete_repetitions(folds: Iterable[FoldRecord]) -> dict[int, list[FoldRecord]]:
    by_repetition: dict[int, dict[int, FoldRecord]] = {}
    for record in folds:
        by_repetition.setdefault(record.repetition, {})[record.fold] = record
    return {
        repetition: [members[fold] for fold in sorted(members)]
        for repetition, members in by_repetition.items()
        if all(len(members) == record.settings["n_folds"] for record in members.values())
    }


def _claims(key: Key) -> dict[tuple[str, str], str]:
    """Return which data a name stands for, and which fingerprint a kernel has on it."""
    return {(key.dataset, ""): key.data, (key.dataset, key.kernel): key.fingerprint}


def best_cells(cells: Iterable[Cell]) -> list[Cell]:
    """Return the finished cells with the highest mean accuracy, as tables show it: several, if they are equal there."""
    finished = [cell for cell in cells if cell.finished]
    highest = max((cell.percent for cell in finished), default=None)
    return [cell for cell in finished if cell.percent == highest]


def finished_cells(results: Results) -> Iterator[Cell]:
    """Yield the cells that have an accuracy, data set by data set."""
    for dataset in results.datasets:
        for kernel in results.kernels:
            cell = results.cell(dataset, kernel)
            if cell.finished:
                yield cell

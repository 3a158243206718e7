"""The records of an evaluation: their file, and summaries for tables, plots and reports."""

import json
import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import check_memory
from relaxwl._storage import naming_file, require_regular
from relaxwl._validation import counted
from relaxwl.evaluation.records import (
    Cell,
    DatasetRecord,
    FailedRun,
    FoldRecord,
    Record,
    identity_of,
    record_from_json,
    record_to_json,
)
from relaxwl.evaluation.tables import results_table

# The times of a record, as columns of a table of folds.
SECONDS = ("fit_seconds", "gram_seconds", "transform_seconds", "svm_seconds")
# Bytes of memory of records per byte of their file.
BYTES_PER_BYTE = 20
# Maximum number of invalid lines that are reported one by one.
MAX_NOTES = 3


class Results(Sequence[Record]):
    """An immutable sequence of records, with the summaries that tables, plots and reports show.

    Parameters
    ----------
    records : iterable of records
        Records of folds, failed runs and data sets, as :func:`cross_validate` makes them.

    See Also
    --------
    ResultStore : A file of records.
    results_table : Table of the scores.

    Examples
    --------
    >>> Results([]).datasets
    []
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = tuple(records)

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: Any) -> Any:
        return Results(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __repr__(self) -> str:
        counts = ((self.datasets, "data set"), (self.kernels, "kernel"), (self.folds, "fold"))
        return f"Results({', '.join(counted(len(found), what) for found, what in counts)})"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """Show the tables in a notebook."""
        return "".join(results_table(part)._repr_html_() for part in self.split())

    def table(self, form: str = "text") -> str:
        """Return the accuracies as a table; each run has a table of its own.

        Parameters
        ----------
        form : {"text", "markdown", "csv"}, default="text"
            The format.

        Returns
        -------
        str
            The tables.
        """
        return "\n\n".join(results_table(part).render(form) for part in self.split())

    # ------------------------------------------------------------------------------------------ what is there

    @property
    def folds(self) -> list[FoldRecord]:
        """The evaluated folds."""
        return [record for record in self._records if isinstance(record, FoldRecord)]

    @property
    def datasets(self) -> list[str]:
        """Names of the evaluated data sets, in order of appearance."""
        return _unique(record.key.dataset for record in self._evaluated())

    @property
    def kernels(self) -> list[str]:
        """Names of the evaluated kernels, in order of appearance."""
        return _unique(record.key.kernel for record in self._evaluated())

    @property
    def dataset_records(self) -> dict[tuple[str, str], DatasetRecord]:
        """Descriptions of the data sets, by name and fingerprint."""
        return {(r.name, r.fingerprint): r for r in self._records if isinstance(r, DatasetRecord)}

    def select(self, *, dataset: str | None = None, kernel: str | None = None) -> "Results":
        """Return the records of one data set or kernel.

        Parameters
        ----------
        dataset, kernel : str, optional
            Names; by default all.

        Returns
        -------
        Results
            The records.
        """

        def wanted(record: Record) -> bool:
            if isinstance(record, DatasetRecord):
                return dataset in (None, record.name)
            return dataset in (None, record.key.dataset) and kernel in (None, record.key.kernel)

        return Results(record for record in self._records if wanted(record))

    # ------------------------------------------------------------------------------------------ two runs in one

    def split(self) -> list["Results"]:
        """Separate runs that must not share a table: by protocol settings, then by content of equally named data.

        Each part holds at most one set of settings, and for each data set and kernel one fingerprint.

        Returns
        -------
        list of Results
            The parts.
        """
        # For each part, the settings and fingerprints that all its records share, and the records.
        parts: list[tuple[dict[str, str], list[Record]]] = []
        for record in self._evaluated():
            key, settings = record.key, json.dumps(record.settings, sort_keys=True)
            claims = {"": settings, f"{key.dataset}\0": key.data, f"{key.dataset}\0{key.kernel}": key.fingerprint}
            part = next(
                (p for p in parts if all(p[0].get(what, value) == value for what, value in claims.items())), None
            )
            if part is None:
                parts.append(part := ({}, []))
            part[0].update(claims)
            part[1].append(record)
        described = self.dataset_records.values()
        return [
            Results([*(one for one in described if claims.get(f"{one.name}\0") == one.fingerprint), *records])
            for claims, records in parts
        ]

    def require_one_run(self) -> None:
        """Raise an error if the records come from runs that differ in settings, data or version.

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

    @property
    def metric(self) -> str:
        """Default score of tables: the accuracy, or in regression the root mean squared error."""
        return "rmse" if any(record.accuracy is None for record in self.folds) else "accuracy"

    def title(self, kernel: str) -> str:
        """Return the name of a kernel in tables.

        Parameters
        ----------
        kernel : str
            Name of the kernel.

        Returns
        -------
        str
            The title, such as ``"R-WL*"``.
        """
        return next((record.title for record in self._evaluated() if record.key.kernel == kernel), kernel)

    def cell(self, dataset: str, kernel: str, metric: str | None = None) -> Cell:
        """Return the scores of a kernel on a data set.

        Parameters
        ----------
        dataset : str
            Name of the data set.
        kernel : str
            Name of the kernel (``"rwl-star"``), or its title as tables print it (``"R-WL*"``). The cell is empty if the
            kernel was evaluated on other data sets only.
        metric : str, optional
            The score: ``"accuracy"``, ``"balanced_accuracy"``, ``"mcc"``, and for predictors ``"roc_auc"``,
            ``"average_precision"``, ``"log_loss"``; in regression ``"rmse"``, ``"mae"``, ``"r2"``, ``"spearman"``,
            ``"nlpd"``, ``"coverage"``.

        Returns
        -------
        Cell
            Scores with ``mean`` and ``std``, and the records of the folds.

        Raises
        ------
        KeyError
            If there is no such data set, kernel or score in the results.
        ValueError
            If the records come from runs with different fingerprints.
        """
        known = _unique([*self.datasets, *(described for described, _ in self.dataset_records)])
        if dataset not in known:
            raise KeyError(f"no data set {dataset!r} in the results; there are: {', '.join(known) or 'none'}")
        if kernel not in self.kernels:
            titled = _unique(record.key.kernel for record in self._evaluated() if record.title == kernel)
            if len(titled) != 1:
                raise KeyError(f"no kernel {kernel!r} in the results; there are: {', '.join(self.kernels) or 'none'}")
            kernel = titled[0]
        evaluated = [r for r in self._evaluated() if (r.key.dataset, r.key.kernel) == (dataset, kernel)]
        if len({record.key.fingerprint for record in evaluated}) > 1:
            raise ValueError(
                f"the results of {kernel} on {dataset} come from runs that differ in settings, data or version; "
                "take them one at a time from Results.split()"
            )
        folds = tuple(record for record in evaluated if isinstance(record, FoldRecord))
        complete = _complete_repetitions(folds)
        accuracies: tuple[float, ...] = ()
        if complete:
            scores = np.array([[r.score(metric or self.metric) for r in complete[n]] for n in sorted(complete)])
            if folds[0].settings.get("splits"):  # a score for each fold, since given folds are equal in all repetitions
                scores = scores.T
            # A score may be undefined in a fold, such as ROC AUC if a class is missing.
            rows = (row[~np.isnan(row)] for row in scores)
            accuracies = tuple(float(np.mean(row)) if len(row) else float("nan") for row in rows)
        given_up = [r.cause for r in evaluated if isinstance(r, FailedRun) and r.repetition not in complete]
        return Cell(
            dataset=dataset,
            kernel=kernel,
            title=evaluated[0].title if evaluated else self.title(kernel),
            accuracies=accuracies,
            given_up=given_up[-1] if given_up else "",
            records=folds,
            metric=metric or self.metric,
        )

    def to_pandas(self) -> Any:
        """Return the folds as a pandas ``DataFrame``: one row each, with scores, choices, times and memory.

        Returns
        -------
        pandas.DataFrame
            The table.

        Examples
        --------
        >>> Results([]).to_pandas().empty  # doctest: +SKIP
        True
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install pandas") from None
        rows: list[dict[str, Any]] = []
        for record in self.folds:
            row: dict[str, Any] = {"dataset": record.key.dataset, "kernel": record.key.kernel, "title": record.title}
            row |= {"protocol": record.settings["protocol"], "repetition": record.repetition, "fold": record.fold}
            if record.accuracy is not None:
                row |= {"accuracy": record.accuracy, "inner_accuracy": record.inner_accuracy}
            last = {name: getattr(record, name) for name in (*SECONDS, "peak_memory_mb")}
            rows.append({**row, **record.scores, **record.parameters, **last})
        return pandas.DataFrame(rows)

    def predictions(self, dataset: str, kernel: str) -> NDArray[Any]:
        """Return the out-of-fold predictions of complete repetitions.

        Parameters
        ----------
        dataset, kernel : str
            Names of the data set and of the kernel.

        Returns
        -------
        array (n_repetitions, n_graphs)
            The predictions. With given folds, graphs may be tested several times or never; a row then has one entry for
            each test.
        """
        rows = []
        for _, folds in sorted(_complete_repetitions(self.cell(dataset, kernel).records).items()):
            pairs = sorted(
                pair for record in folds for pair in zip(record.test_indices, record.predictions, strict=True)
            )
            rows.append([prediction for _, prediction in pairs])
        return np.array(rows)

    def _evaluated(self) -> list[FoldRecord | FailedRun]:
        return [record for record in self._records if isinstance(record, (FoldRecord, FailedRun))]


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


class ResultStore:
    """An append-only file of records, one JSON object per line.

    Each batch is appended with one write that is flushed to disk, so that an interrupted run leaves complete lines and
    can be resumed. Damaged lines are ignored with a warning, and their records are computed again.

    Parameters
    ----------
    path : path
        The file; it may not exist yet, but its folder must.

    See Also
    --------
    cross_validate : Evaluate kernels; ``store=`` takes a store or its path.

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
        """Append records in one write and flush them to disk.

        Parameters
        ----------
        records : iterable of records
            The records.
        """
        lines = b"".join(record_to_json(record).encode() + b"\n" for record in records)
        if not lines:
            return
        with naming_file(self.path), self.path.open("a+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            if size and file.read(1) != b"\n":  # the last line is incomplete
                lines = b"\n" + lines
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

    def load(self) -> Results:
        """Read all records; duplicates of a fold are ignored.

        Lines that are not records (such as an incomplete last line) or do not match their checksum are ignored with a
        warning that names the first ones and counts the others.

        Returns
        -------
        Results
            The records.
        """
        if not self.path.exists():
            return Results([])
        size = require_regular(self.path)
        check_memory(BYTES_PER_BYTE * size, f"reading {self.path}", "is it a file of results?")
        records: dict[Any, Record] = {}
        n_dropped = 0
        for number, line in enumerate(self.path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                record = record_from_json(line)
            except ValueError as error:
                n_dropped += 1
                if n_dropped <= MAX_NOTES:
                    warnings.warn(f"{self.path}, line {number}: left out, because {error}", stacklevel=2)
                continue
            records.setdefault(identity_of(record), record)
        if n_dropped > MAX_NOTES:
            warnings.warn(f"{self.path}: {n_dropped} lines were left out", stacklevel=2)
        return Results(records.values())

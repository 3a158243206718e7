"""The append-only file that keeps the records of an evaluation.

A store is a text file with one JSON object a line: a :class:`FoldRecord` for every fold that was evaluated, a
:class:`GivenUp` for a repetition that had no end, a :class:`DatasetRecord` for every data set and a
:class:`GramSketch` for pictures. Lines are only ever appended, each batch with one write that is forced to the disk, so
a run that was killed leaves whole lines behind and continues where it stopped. A line that is torn or damaged is named,
stays where it is and counts for nothing: what it stood for is computed again.
"""

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from relaxwl._memory import refuse_beyond_memory
from relaxwl._storage import naming_file, require_regular
from relaxwl.evaluation.records import (
    DatasetRecord,
    FoldRecord,
    GivenUp,
    GramSketch,
    Record,
    has_checksum,
    record_from_json,
    record_to_json,
)
from relaxwl.evaluation.results import Results

# What a byte of the file takes when it has become records.
BYTES_PER_BYTE = 20
# So many lines that are no records are named one by one.
MOST_NOTES = 3


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
        with naming_file(self.path), self.path.open("a+b") as file:
            if _ends_in_a_torn_line(file):
                lines = b"\n" + lines
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

    def load(self) -> Results:
        """Read all records; of two for the same fold the first counts.

        A line that is no record (the last, if the machine went down while it was written) or does not match its
        checksum is left out with a warning that names it; of many, as in a file of another kind, the first are named
        and the others counted.
        """
        if not self.path.exists():
            return Results([])
        size = require_regular(self.path)
        refuse_beyond_memory(BYTES_PER_BYTE * size, f"reading {self.path}", "is it a file of results?")
        records: dict[Any, Record] = {}
        n_dropped = 0
        checked = False
        for number, line in enumerate(self.path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                # Lines are only appended: behind one with a checksum, one without has lost it.
                if checked and not has_checksum(line):
                    raise ValueError("it has lost its checksum")
                checked = checked or has_checksum(line)
                record = record_from_json(line)
            except ValueError as error:
                n_dropped += 1
                if n_dropped <= MOST_NOTES:
                    warnings.warn(f"{self.path}, line {number}: left out, because {error}", stacklevel=2)
                continue
            records.setdefault(_identity(record), record)
        if n_dropped > MOST_NOTES:
            warnings.warn(f"{self.path}: {n_dropped} lines were left out", stacklevel=2)
        return Results(records.values())


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

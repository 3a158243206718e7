"""Records as an evaluation would write them, without an evaluation."""

import hashlib
import json

from relaxwl.evaluation.records import DatasetRecord, FailedRun, FoldRecord, Key, record_to_json
from relaxwl.evaluation.results import Results

SETTINGS = {"protocol": "transductive", "n_folds": 2, "inner_folds": 3, "C": [1.0], "depths": None, "random_state": 0}
SETTINGS |= {"version": "1"}


def key(dataset="EGO-1", kernel="wl", data="d0", fingerprint=None):
    return Key(dataset, kernel, data, fingerprint or f"{dataset}/{kernel}/{data}")


def fold(repetition, number, accuracy, *, title=None, settings=SETTINGS, n_fits=30, n_unconverged=0, **of):
    predictions = ["a", "b"] if accuracy == 1 else ["a", "a"] if accuracy == 0.5 else ["b", "a"]
    identity = key(**of)
    return FoldRecord(
        key=identity,
        title=title or identity.kernel,
        settings=settings,
        repetition=repetition,
        fold=number,
        kernel_seed=1,
        accuracy=accuracy,
        inner_accuracy=0.5,
        parameters={"max_depth": 2, "C": 0.125},
        test_indices=[2 * number, 2 * number + 1],
        targets=["a", "b"],
        predictions=predictions,
        n_candidates=3,
        n_fits=n_fits,
        n_unconverged=n_unconverged,
        converged=True,
        fit_seconds=0.2,
        gram_seconds=0.05,
        transform_seconds=0.0,
        svm_seconds=2.0,
        peak_memory_mb=100.0,
        n_jobs=None,
        versions={"relaxwl": "1"},
        finished_at="2026-01-01T00:00:00+00:00",
    )


def repetitions(*accuracies, **of):
    """Two folds for each repetition."""
    return [fold(r, f, accuracy, **of) for r, pair in enumerate(accuracies) for f, accuracy in enumerate(pair)]


def given_up(repetition=0, cause="out of time", time_limit=10.0, **of):
    identity = key(**of)
    when = "2026-01-01T00:00:00+00:00"
    return FailedRun(identity, identity.kernel, SETTINGS, repetition, cause, time_limit, "no end", when)


def described(name="EGO-1", density=0.1, fingerprint="d0"):
    return DatasetRecord(
        name, fingerprint, 4, {"a": 2, "b": 2}, 40, 80, 10.0, 20.0, density, 4.0, None, None, None, [1, 5, 9]
    )


def table_of_four():
    """Two kernels on two levels of one family: better, worse, out of time, unfinished."""
    return Results(
        [
            described("EGO-1", 0.1),
            described("EGO-2", 0.3),
            *repetitions((1.0, 0.5), (1.0, 1.0), dataset="EGO-1", kernel="rwl-star-paper", title="R-WL*"),
            *repetitions((0.5, 0.5), (0.5, 0.0), dataset="EGO-1", kernel="wl"),
            *repetitions((0.5, 1.0), (1.0, 1.0), dataset="EGO-2", kernel="rwl-star-paper", title="R-WL*"),
            given_up(dataset="EGO-2", kernel="wl"),
            fold(0, 0, 1.0, dataset="EGO-1", kernel="sp"),
        ]
    )


def changed(record, change):
    """Return the line of a record with other values, and with a checksum that is right."""
    values = json.loads(record_to_json(record)) | change
    del values["checksum"]
    return signed(json.dumps(values, separators=(",", ":")))


def signed(text):
    """Return an object of JSON with its checksum in the place of its last character."""
    text = text[:-1] + "}"
    return f'{text[:-1]},"checksum":"{hashlib.sha256(text.encode()).hexdigest()[:16]}"}}'

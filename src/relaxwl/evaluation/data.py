"""What an evaluation runs on: graphs with classes or numbers, checked once."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._progress import printable
from relaxwl._validation import looks_continuous, plain_targets
from relaxwl.evaluation.folds import Settings, Splits
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int64

# Digits of a SHA-256 that records carry: enough that two runs never share them by chance.
DIGITS = 16


@dataclass(frozen=True)
class Data:
    """What is evaluated on, under which settings and with which means.

    ``y`` holds codes that index ``classes``, or in regression (where there are no classes) the targets themselves.
    """

    name: str
    fingerprint: str
    graphs: GraphCollection
    y: Any
    classes: list[Any]
    settings: Settings
    splits: Splits | None
    n_jobs: int | None
    time_limit: float | None

    def targets(self, positions: Int64) -> list[Any]:
        """Return the classes or numbers of some graphs, as the user gave them."""
        if self.settings.task == "regression":
            return self.y[positions].tolist()  # type: ignore[no-any-return]
        return [self.classes[code] for code in self.y[positions]]


def checked_data(
    graphs: GraphCollection,
    y: Any,
    dataset: str,
    settings: Settings,
    splits: Splits | None,
    n_jobs: int | None,
    time_limit: float | None,
) -> Data:
    """Return the data of an evaluation, or say why there is nothing to learn from them."""
    targets = plain_targets(y, len(graphs))
    digest = hashlib.sha256(graphs.fingerprint().encode())
    digest.update(json.dumps([str(targets.dtype.kind), targets.tolist()], default=str).encode())
    checked = _numbers(targets) if settings.task == "regression" else _codes(targets, settings, splits)
    name, fingerprint = printable(dataset), digest.hexdigest()[:DIGITS]
    return Data(name, fingerprint, graphs, checked[0], checked[1], settings, splits, n_jobs, time_limit)


def _numbers(targets: NDArray[Any]) -> tuple[Any, list[Any]]:
    if targets.dtype.kind not in "iufb" or not np.isfinite(targets).all():
        raise ValueError("y must hold finite numbers for regression")
    return targets.astype(np.float64), []


def _codes(targets: NDArray[Any], settings: Settings, splits: Splits | None) -> tuple[Any, list[Any]]:
    """Return the class codes of the graphs, and the classes that they index."""
    classes, codes, sizes = np.unique(targets, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError("y holds a single class; there is nothing to tell apart")
    if splits is None:
        _check_class_sizes(classes, sizes, settings)
    return codes.astype(np.int64), classes.tolist()


def _check_class_sizes(classes: NDArray[Any], sizes: Int64, settings: Settings) -> None:
    smallest = int(sizes.argmin())
    size = int(sizes[smallest])
    in_training = size - -(-size // settings.n_folds)
    if size < settings.n_folds or in_training < settings.inner_folds:
        if looks_continuous(classes, int(sizes.sum())):
            raise ValueError(
                f"y looks continuous ({len(classes)} distinct values); classification needs classes, and "
                "task='regression' takes numbers"
            )
        raise ValueError(
            f"class {classes[smallest]} has {size} graphs: too few for n_folds={settings.n_folds} and "
            f"inner_folds={settings.inner_folds}; use fewer folds or leave the class out"
        )

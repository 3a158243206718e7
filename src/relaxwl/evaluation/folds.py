"""Input of an evaluation: settings, graphs with targets, and the folds and seeds determined by them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from relaxwl._progress import printable
from relaxwl._storage import require_regular
from relaxwl._validation import check_choice, check_integer, infer_task, plain_targets
from relaxwl._version import __version__
from relaxwl.datasets.smiles import MoleculeCollection
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int64
from relaxwl.learning.svm import SOLVERS

PROTOCOLS = ("transductive", "inductive")
TASKS = ("classification", "regression")
DEFAULT_C = tuple(2.0**exponent for exponent in (-12, -8, -5, -3, -1, 1, 3, 5, 8, 12))
# The share of graphs in the test part of a random or scaffold split.
TEST_SHARE = 0.2
# Number of digits of a SHA-256 in records, enough for two runs never to share them by chance.
DIGITS = 16


@dataclass(frozen=True)
class Settings:
    """Validated settings of an evaluation, apart from the data and the kernels."""

    protocol: str
    n_folds: int
    inner_folds: int
    C: Sequence[float]
    depths: tuple[int, ...] | None
    random_state: int
    solver: str = "path"
    task: str = "classification"
    splits: str | None = None

    def __post_init__(self) -> None:
        check_choice("protocol", self.protocol, PROTOCOLS)
        check_choice("solver", self.solver, SOLVERS)
        check_choice("task", self.task, TASKS)
        # An integer, not a generator, so that a run can be repeated from its record.
        least = {"n_folds": 1 if self.splits else 2, "inner_folds": 2, "random_state": 0}
        values: dict[str, Any] = {
            name: check_integer(name, getattr(self, name), bound) for name, bound in least.items()
        }
        values["C"] = tuple(sorted({float(value) for value in self.C}))
        if not values["C"] or not np.isfinite(values["C"]).all() or values["C"][0] <= 0:
            raise ValueError(f"C must be finite numbers > 0, not {self.C!r}")
        if self.depths is not None:
            values["depths"] = tuple(sorted({int(depth) for depth in self.depths}))
        vars(self).update(values)

    def as_json(self) -> dict[str, Any]:
        """Return the settings for the records, with the version of the package."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {**values, "version": __version__}


@dataclass(frozen=True)
class Split:
    """Positions of an outer fold's training and test graphs, ascending, and of the inner folds within the training."""

    train: Int64
    test: Int64
    inner: tuple[tuple[Int64, Int64], ...]

    def within_training(self) -> "Split":
        """Return the same split with positions within the training part, and nothing else."""
        inner = tuple((np.searchsorted(self.train, fit), np.searchsorted(self.train, out)) for fit, out in self.inner)
        return Split(np.arange(len(self.train)), np.arange(0), inner)

    @property
    def n_held_out(self) -> int:
        """Number of held-out predictions of the inner folds."""
        return sum(len(held_out) for _, held_out in self.inner)


@dataclass(frozen=True)
class Splits:
    """Folds that a user gives instead of a cross-validation.

    ``name`` is the name in records; ``given`` are the folds of a file, None if they are drawn in each repetition.
    ``groups`` (such as scaffolds of molecules) are not split.
    """

    name: str
    n_folds: int
    given: tuple[Split, ...] | None = None
    groups: Int64 | None = None


@dataclass(frozen=True)
class Data:
    """Graphs and targets of an evaluation, its settings, threads and time limit.

    ``y`` contains codes that index ``classes`` or, in regression (without classes), the targets themselves. Graphs with
    the same number in ``copies`` are copies of a molecule, which drawn folds do not separate.
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
    copies: Int64 | None = None

    def targets(self, positions: Int64) -> list[Any]:
        """Return the classes or numbers of some graphs, as the user gave them."""
        if self.settings.task == "regression":
            return self.y[positions].tolist()  # type: ignore[no-any-return]
        return [self.classes[code] for code in self.y[positions]]

    @classmethod
    def of(
        cls, graphs: GraphCollection, y: Any, dataset: str, settings: Settings, splits: Splits | None, *means: Any
    ) -> "Data":
        """Return validated data of an evaluation."""
        targets = plain_targets(y, len(graphs))
        digest = hashlib.sha256(graphs.fingerprint().encode())
        digest.update(json.dumps([str(targets.dtype.kind), targets.tolist()], default=str).encode())
        classes: list[Any] = []
        if settings.task == "regression":
            if targets.dtype.kind not in "iufb" or not np.isfinite(targets).all():
                raise ValueError("y must contain finite numbers for regression")
            values = targets.astype(np.float64)
        else:
            found, codes, sizes = np.unique(targets, return_inverse=True, return_counts=True)
            if len(found) < 2:
                raise ValueError("y contains a single class; at least two are needed")
            if splits is None:
                size = int(sizes.min())
                if size < settings.n_folds or size - -(-size // settings.n_folds) < settings.inner_folds:
                    if infer_task(targets) == "regression":
                        raise ValueError(
                            f"y looks continuous ({len(found)} distinct values); classification needs classes, and "
                            "task='regression' takes numbers"
                        )
                    raise ValueError(
                        f"class {found[sizes.argmin()]} has {size} graphs: too few for n_folds={settings.n_folds} and "
                        f"inner_folds={settings.inner_folds}; use fewer folds or leave the class out"
                    )
            values, classes = codes.astype(np.int64), found.tolist()
        fingerprint = digest.hexdigest()[:DIGITS]
        copies: Int64 | None = None
        if isinstance(graphs, MoleculeCollection) and all(source is not None for source in graphs.sources):
            from relaxwl.molecules import duplicates  # imports all predictors, which other data sets do not need

            numbers = duplicates(graphs)
            copies = numbers if len(np.unique(numbers)) < len(graphs) else None
        means = (*means, copies)
        return cls(printable(dataset), fingerprint, graphs, values, classes, settings, splits, *means)


# ------------------------------------------------------------------------------------------------ given folds


def read_splits(splits: Any, n_graphs: int, groups: Sequence[Any] | None = None) -> Splits:
    """Return the folds given by the argument ``splits``.

    Parameters
    ----------
    splits : path, list, or str
        A JSON file (or its content) in the form of Errica et al.: a list with, for each fold, ``"test"`` and
        ``"model_selection"``, whose first entry has ``"train"`` and ``"validation"``, all lists of positions of
        graphs. Or ``"random:20"``: 20 random parts of a fifth are tested; or ``"scaffold:5"``: the same with groups
        kept together.
    n_graphs : int
        Number of graphs.
    groups : sequence, optional
        The group of each graph, for ``"scaffold:5"``.

    Examples
    --------
    >>> read_splits([{"test": [0], "model_selection": [{"train": [1, 2], "validation": [3]}]}], 4).given[0].train
    array([1, 2, 3])
    """
    if isinstance(splits, str) and splits.partition(":")[0] in ("random", "scaffold"):
        kind, _, number = splits.partition(":")
        if not (number.isascii() and number.isdecimal()) or int(number) < 1:
            raise ValueError(f"splits must name a number of splits, as in '{kind}:5', not {splits!r}")
        if kind == "random":
            return Splits(splits, int(number))
        if groups is None or len(groups) != n_graphs:
            raise ValueError("splits='scaffold:…' needs the group (scaffold) of each graph in groups")
        codes = np.unique(np.asarray(groups), return_inverse=True)[1]
        return Splits(splits, int(number), groups=codes.astype(np.int64))
    content, source = splits, "splits"
    if isinstance(splits, (str, Path)):
        source = str(splits)
        try:
            require_regular(splits)
            content = json.loads(Path(splits).read_bytes())
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no file {splits} with folds; splits takes a file, 'random:20' or 'scaffold:5'"
            ) from None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{splits} is not a JSON file with folds: {error}") from None
    if not isinstance(content, (list, tuple)) or not content:
        raise ValueError(f"{source} must contain a list of folds, not {str(content)[:40]!r}")
    given = tuple(_given_fold(fold, n_graphs, f"{source}, fold {number}") for number, fold in enumerate(content))
    digest = hashlib.sha256(json.dumps([[s.train.tolist(), s.test.tolist()] for s in given]).encode()).hexdigest()
    name = Path(splits).name if isinstance(splits, (str, Path)) else "given"
    return Splits(f"{name} {digest[:8]}", len(given), given)


def _given_fold(fold: Any, n_graphs: int, where: str) -> Split:
    try:
        chosen = fold["model_selection"][0]
        parts = {"test": fold["test"], "train": chosen["train"], "validation": chosen["validation"]}
    except (KeyError, IndexError, TypeError):
        raise ValueError(f"{where}: there must be 'test' and 'model_selection' with 'train' and 'validation'") from None
    for name, part in parts.items():
        positions = np.asarray(part)
        if positions.ndim != 1 or positions.dtype.kind not in "iu" or not len(positions) or bool in map(type, part):
            raise ValueError(f"{where}, {name}: must be a list of positions of graphs")
        if positions.min() < 0 or positions.max() >= n_graphs:
            lie = f"{where}, {name}: positions must lie from 0 to {n_graphs - 1}"
            raise ValueError(f"{lie}; the folds are those of another data set")
        parts[name] = np.sort(positions.astype(np.int64))
    together = np.concatenate(list(parts.values()))
    if len(np.unique(together)) != len(together):
        raise ValueError(f"{where}: a graph is in two of its parts, or twice in one")
    train = np.union1d(parts["train"], parts["validation"])
    return Split(train, parts["test"], ((parts["train"], parts["validation"]),))


# ------------------------------------------------------------------------------------------------ drawn folds


def outer_splits(
    y: Any, settings: Settings, repetition: int, splits: Splits | None = None, copies: Int64 | None = None
) -> list[Split]:
    """Return the folds of a repetition, which depend on targets, settings, repetition and copies of molecules alone."""
    if splits is not None and splits.given is not None:
        return list(splits.given)
    classify, n_folds = settings.task == "classification", settings.n_folds
    seeds = np.random.SeedSequence([settings.random_state, repetition]).generate_state(n_folds + 1)
    plain, grouped = (StratifiedKFold, StratifiedGroupKFold) if classify else (KFold, GroupKFold)
    folds = plain if copies is None else grouped
    groups = copies if splits is None or splits.groups is None else splits.groups
    if splits is None:
        outer = folds(n_folds, shuffle=True, random_state=int(seeds[0]))
    else:
        shuffled = GroupShuffleSplit if groups is not None else StratifiedShuffleSplit if classify else ShuffleSplit
        outer = shuffled(n_folds, test_size=TEST_SHARE, random_state=int(seeds[0]))
    found, parts = [], outer.split(np.empty(len(y)), y if classify else None, groups)
    for (fit, test), seed in zip(parts, seeds[1:], strict=True):
        train = np.sort(fit)
        inner = folds(settings.inner_folds, shuffle=True, random_state=int(seed))
        within = inner.split(np.empty(len(train)), y[train], None if copies is None else copies[train])
        found.append(Split(train, np.sort(test), tuple((train[fit], train[out]) for fit, out in within)))
    return found


def kernel_seed(random_state: int, repetition: int) -> int:
    """Return the seed of the kernels in a repetition."""
    # The third number separates this stream from that of the folds.
    return int(np.random.SeedSequence([random_state, repetition, 1]).generate_state(1)[0])

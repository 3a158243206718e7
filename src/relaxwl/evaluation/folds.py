"""Settings of an evaluation, and the folds and seeds that follow from them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

import relaxwl
from relaxwl.graphs.arrays import Int64
from relaxwl.learning.svm import SOLVERS

PROTOCOLS = ("transductive", "inductive")
LATER_DEFAULTS = {"solver": "path"}
DEFAULT_C = tuple(2.0**exponent for exponent in (-12, -8, -5, -3, -1, 1, 3, 5, 8, 12))


@dataclass(frozen=True)
class Settings:
    """What defines an evaluation, apart from the data and the kernels."""

    protocol: str
    n_folds: int
    inner_folds: int
    C: tuple[float, ...]
    depths: tuple[int, ...] | None
    random_state: int
    solver: str = "path"

    def as_json(self) -> dict[str, Any]:
        """Return the settings, with the package's version, as they stand in the records."""
        values = asdict(self)
        depths = None if self.depths is None else list(self.depths)
        # What later versions added is left out where it is as it was before: records of old stay comparable.
        later = {name: values.pop(name) for name in LATER_DEFAULTS}
        changed = {name: value for name, value in later.items() if value != LATER_DEFAULTS[name]}
        return {**values, "C": list(self.C), "depths": depths, "version": relaxwl.__version__, **changed}


@dataclass(frozen=True)
class Split:
    """Positions of an outer fold's training and test graphs, and of the inner folds within the training part."""

    train: Int64
    test: Int64
    inner: tuple[tuple[Int64, Int64], ...]

    def within_training(self) -> "Split":
        """Return the same split with positions within the training part, and nothing else."""
        inner = tuple((np.searchsorted(self.train, fit), np.searchsorted(self.train, out)) for fit, out in self.inner)
        return Split(np.arange(len(self.train)), np.arange(0), inner)


def checked_settings(
    protocol: str,
    n_folds: int,
    n_repeats: int,
    inner_folds: int,
    C: Sequence[float],
    depths: Sequence[int] | None,
    random_state: int,
    solver: str = "path",
) -> Settings:
    """Return the settings that a user asked for, or say which of them makes no sense."""
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, not {protocol!r}")
    for name, value, least in (("n_folds", n_folds, 2), ("n_repeats", n_repeats, 1), ("inner_folds", inner_folds, 2)):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name} must be an integer >= {least}, not {value!r}")
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise ValueError(f"random_state must be an integer >= 0, so that a run can be repeated, not {random_state!r}")
    penalties = tuple(sorted({float(value) for value in C}))
    if not penalties or not np.isfinite(penalties).all() or penalties[0] <= 0:
        raise ValueError(f"C must be finite numbers > 0, not {C!r}")
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, not {solver!r}")
    chosen_depths = None if depths is None else tuple(sorted({int(depth) for depth in depths}))
    return Settings(protocol, int(n_folds), int(inner_folds), penalties, chosen_depths, int(random_state), solver)


def outer_splits(y: Int64, settings: Settings, repetition: int) -> list[Split]:
    """Return the folds of a repetition, which depend on classes, settings and repetition alone."""
    seeds = np.random.SeedSequence([settings.random_state, repetition]).generate_state(settings.n_folds + 1)
    folds = StratifiedKFold(settings.n_folds, shuffle=True, random_state=int(seeds[0]))
    return [
        Split(train, test, _inner_splits(y, train, settings.inner_folds, int(seed)))
        for (train, test), seed in zip(folds.split(np.empty(len(y)), y), seeds[1:], strict=True)
    ]


def _inner_splits(y: Int64, train: Int64, inner_folds: int, seed: int) -> tuple[tuple[Int64, Int64], ...]:
    folds = StratifiedKFold(inner_folds, shuffle=True, random_state=seed)
    return tuple((train[fit], train[held_out]) for fit, held_out in folds.split(np.empty(len(train)), y[train]))


def kernel_seed(random_state: int, repetition: int) -> int:
    """Return the seed of the kernels in a repetition."""
    # The third number keeps this stream apart from the one of the folds.
    return int(np.random.SeedSequence([random_state, repetition, 1]).generate_state(1)[0])

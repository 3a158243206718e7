"""The choice of parameters within a fold: every setting of a fitted kernel, every C, scored on the training part."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from relaxwl._execution import map_chunks
from relaxwl.evaluation.folds import Split
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels.registry import Variant
from relaxwl.learning.svm import (
    PathScores,
    Prediction,
    predict,
    score_path,
    submatrix,
    training_scale,
)


@dataclass
class Choice:
    """The best setting found so far for a fold, the predictions with it, and what the search has cost.

    A contestant that predicts by itself leaves ``correct`` at -1; ``values`` and ``deviations`` are of regression.
    """

    correct: int = -1
    parameters: dict[str, Any] = field(default_factory=dict)
    prediction: Prediction | None = None
    probabilities: Float64 | None = None
    values: Float64 | None = None
    deviations: Float64 | None = None
    gram: Float64 | None = None
    n_candidates: int = 0
    n_fits: int = 0
    n_unconverged: int = 0
    fit_seconds: float = 0.0
    gram_seconds: float = 0.0
    transform_seconds: float = 0.0
    svm_seconds: float = 0.0

    offered: dict[str, list[Any]] = field(default_factory=dict)

    def offer(self, settings: Sequence[dict[str, Any]]) -> None:
        """Note what there is to choose from: the values of each parameter, in the order in which they came."""
        for name, value in (pair for setting in settings for pair in setting.items()):
            values = self.offered.setdefault(name, [])
            if value not in values:
                values.append(value)

    def count(self, scores: PathScores) -> None:
        """Add up what a path of C values has cost."""
        self.n_fits += scores.n_fits
        self.n_unconverged += scores.n_unconverged
        self.svm_seconds += scores.seconds


@dataclass(frozen=True)
class Candidate:
    """A Gram matrix and the parameters that gave it: what model selection chooses from."""

    parameters: dict[str, Any]
    matrix: Float64


@dataclass(frozen=True)
class FittedVariant:
    """A fitted kernel: the Gram matrices of all its settings (of all graphs, or of training graphs), and their price.

    ``prepared`` is what the kernel knows of the graphs, for comparing others with them.
    """

    variant: Variant
    prepared: Any
    candidates: list[Candidate]
    fit_seconds: float
    gram_seconds: float

    @property
    def nbytes(self) -> int:
        """Memory that the Gram matrices take."""
        return sum(candidate.matrix.nbytes for candidate in self.candidates)


def fit_variant(variant: Variant, graphs: GraphCollection) -> FittedVariant:
    """Fit a kernel, and check the Gram matrices of its settings once for all folds."""
    kernel = variant.estimator
    started = time.perf_counter()
    prepared = kernel.fit_prepare(graphs)
    fitted = time.perf_counter()
    matrices = kernel.compare(prepared, None, variant.settings)
    finished = time.perf_counter()
    candidates = [
        Candidate({**variant.parameters, **setting}, _checked(matrix, len(graphs), kernel, setting))
        for setting, matrix in zip(variant.settings, matrices, strict=True)
    ]
    return FittedVariant(variant, prepared, candidates, fitted - started, finished - fitted)


def _checked(matrix: Any, n_graphs: int, kernel: Any, setting: dict[str, Any]) -> Float64:
    """Return a matrix that compiled code can take."""
    checked: Float64 = np.ascontiguousarray(matrix, np.float64)
    if checked.shape != (n_graphs, n_graphs) or not np.isfinite(checked).all():
        raise ValueError(f"{kernel} gave no finite square Gram matrix with {setting}")
    return checked


# Counts a share of some work as done, and tells what it was; several threads may call it.
Advance = Callable[[float, str], None]


def part_of(advance: Advance, n_parts: int) -> Advance:
    """Return what counts shares of one of ``n_parts`` equal parts of some work."""
    return lambda share, what: advance(share / n_parts, what)


class Selection:
    """Folds in which fitted kernels compete, one after the other.

    A fold predicts as soon as a kernel is better than those before, and not when all are known: so the Gram matrices of
    one kernel at a time are in memory, and the price is a few fits more among hundreds.

    Parameters
    ----------
    splits : sequence of Split
        The folds; positions refer to rows of the Gram matrices.
    y : array of class codes
        Classes of the rows. Those of test graphs are not used (in the inductive protocol they are not even there).
    C : sequence of float
        Penalties, ascending.
    n_jobs : int, optional
        Number of threads.
    solver : {"path", "libsvm"}
        Who fits the machines that choose; the final fit of a fold is LIBSVM's in any case.
    """

    def __init__(
        self, splits: Sequence[Split], y: Int64, C: Sequence[float], n_jobs: int | None, solver: str = "path"
    ) -> None:
        self.splits, self.y, self.C, self.n_jobs, self.solver = splits, y, C, n_jobs, solver
        self.choices = [Choice() for _ in splits]

    def enter(self, fitted: FittedVariant, advance: Advance, unseen: Callable[[int], Float64] | None = None) -> None:
        """Let a fitted kernel compete in every fold.

        ``unseen(position)`` returns the Gram matrix between test and training graphs in the candidate at ``position``;
        without it the test graphs are rows of the candidates' own matrices.
        """
        scales = [
            [training_scale(candidate.matrix.diagonal()[split.train]) for split in self.splits]
            for candidate in fitted.candidates
        ]
        correct = self._inner_scores(fitted, scales, advance)
        improved = [fold for fold, choice in enumerate(self.choices) if correct[fold].max() > choice.correct]
        map_chunks(partial(self._predict, fitted, scales, correct, unseen), improved, self.n_jobs)
        for choice in self.choices:
            choice.n_candidates += len(fitted.candidates)
            choice.offer([candidate.parameters for candidate in fitted.candidates])
            choice.offer([{"C": penalty} for penalty in self.C])
            choice.fit_seconds += fitted.fit_seconds
            choice.gram_seconds += fitted.gram_seconds

    def _inner_scores(self, fitted: FittedVariant, scales: list[list[float]], advance: Advance) -> Int64:
        """Return how many training graphs inner folds got right: (n_folds, n_candidates, n_C)."""
        tasks = [
            (fold, position, inner)
            for position in range(len(fitted.candidates))
            for fold, split in enumerate(self.splits)
            for inner in split.inner
        ]

        def scored(task: tuple[int, int, tuple[Int64, Int64]]) -> PathScores:
            fold, position, (fit, held_out) = task
            gram = fitted.candidates[position].matrix
            scores = score_path(gram, self.y, fit, held_out, scales[position][fold], self.C, self.solver)
            advance(1 / len(tasks), "choosing")
            return scores

        correct = np.zeros((len(self.splits), len(fitted.candidates), len(self.C)), np.int64)
        for (fold, position, _), scores in zip(tasks, map_chunks(scored, tasks, self.n_jobs), strict=True):
            correct[fold, position] += scores.correct
            self.choices[fold].count(scores)
        return correct

    def _predict(
        self,
        fitted: FittedVariant,
        scales: list[list[float]],
        correct: Int64,
        unseen: Callable[[int], Float64] | None,
        fold: int,
    ) -> None:
        """Fit on a fold's whole training part with the best setting, and predict its test part."""
        split, choice = self.splits[fold], self.choices[fold]
        # The first maximum in row-major order: of equals the first candidate, and of its C the smallest.
        position, penalty = divmod(int(correct[fold].argmax()), len(self.C))
        candidate, scale = fitted.candidates[position], scales[position][fold]
        training = submatrix(candidate.matrix, split.train, split.train, scale)
        if unseen is None:
            rows = submatrix(candidate.matrix, split.test, split.train, scale)
        else:
            rows = unseen(position) * scale
        choice.prediction = predict(training, rows, self.y[split.train], self.C[penalty])
        choice.n_fits += 1
        choice.svm_seconds += choice.prediction.seconds
        choice.correct = int(correct[fold].max())
        choice.parameters = {**candidate.parameters, "C": self.C[penalty]}
        # One picture of the matrix is enough, so the other folds let it go.
        choice.gram = candidate.matrix if fold == 0 else None

"""GraphClassifier: graphs in, classes and probabilities out."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from relaxwl._progress import report
from relaxwl._validation import ParameterError
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.learning.choosing import (
    FAVOURITE,
    Folds,
    Scores,
    chosen,
    decisions_out_of_fold,
    fit_slope,
    inner_folds,
    machine,
    score_kernel,
)
from relaxwl.learning.voting import VotingMachine
from relaxwl.predictors.averaged import Prepared
from relaxwl.predictors.base import GraphPredictor
from relaxwl.predictors.effects import VertexEffects, vertex_effects
from relaxwl.predictors.linear import LinearMachine
from relaxwl.predictors.report import FitReport, Tried

# Folds whose decisions say how sure the classifier is.
CALIBRATION_FOLDS = 5


class GraphClassifier(ClassifierMixin, GraphPredictor):
    """A classifier of graphs that finds out by itself which kernels suit the data.

    It fits exact and relaxed Weisfeiler-Lehman kernels (along shortest paths too, where that is affordable) once on all
    training graphs, without their classes; averages them in a few ways; chooses among these averages and the penalties
    of a support vector machine by inner folds; and learns from decisions out of fold how sure it may be. From some
    10,000 graphs on it is a linear machine on explicit features, and ``report_`` says so.

    Parameters
    ----------
    effort : {"quick", "balanced", "thorough"}
        How many kernels, partitions and depths.
    time_limit : float, optional
        Seconds that fitting may take, roughly; less is tried then, and ``report_`` says what was left out.
    class_weight : dict, "balanced" or None
        Weights of the classes, as in scikit-learn; right predictions count by them in the choice of combination and
        penalty, too.
    node_label, edge_label, node_attributes, edge_attributes, symmetrize, directed, missing
        Where graphs of other libraries keep what, as in :func:`relaxwl.as_collection`.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int or None
        Seeds groupings and folds.
    verbose : int
        1 logs what is fitted and tried.

    Attributes
    ----------
    classes_ : array
        The classes.
    kernel_ : AveragedKernel
        The fitted kernel that was chosen.
    report_ : FitReport
        What was tried and chosen, with cross-validated scores beside that of the largest class; print it.

    Examples
    --------
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(60, level=1, random_state=0)
    >>> model = GraphClassifier(effort="quick", random_state=0).fit(graphs[:40], y[:40])
    >>> model.predict(graphs[40:]).shape, model.predict_proba(graphs[40:]).shape
    ((20,), (20, 4))
    >>> model.report_.baseline_name
    'largest class'
    """

    def __init__(
        self,
        effort: str = "balanced",
        time_limit: float | None = None,
        class_weight: Any = None,
        node_label: str | None = None,
        edge_label: str | None = None,
        node_attributes: str | Sequence[str] | None = None,
        edge_attributes: str | Sequence[str] | None = None,
        symmetrize: bool = False,
        directed: bool | None = None,
        missing: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.effort = effort
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.node_label = node_label
        self.edge_label = edge_label
        self.node_attributes = node_attributes
        self.edge_attributes = edge_attributes
        self.symmetrize = symmetrize
        self.directed = directed
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, extra: Any = None) -> Self:
        """Learn from graphs and their classes.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : array-like (n_graphs,)
            Their classes.
        extra : array-like (n_graphs, n_columns), optional
            Numbers that are known of each graph besides: a kernel on them joins the average.
        """
        graphs, table = self._checked_input(X, extra)
        codes = self._class_codes(y, len(graphs))
        if self._is_large(graphs):
            return self._fit_linear(graphs, table, codes)
        scores, best = self._learn(self._fit_kernels(graphs, table), codes)
        self.report_ = self._report(scores, best, codes, [family.name for family in self.kernel_.families_])
        self._forget_the_others()
        return self

    def predict(self, X: Any, extra: Any = None) -> NDArray[Any]:
        """Return the class of each graph: the most probable one."""
        decisions = self._decisions(X, extra)
        return np.asarray(self.classes_[decisions.argmax(axis=1)])

    def predict_proba(self, X: Any, extra: Any = None) -> Float64:
        """Return the probability of each class, calibrated on decisions out of fold: (n_graphs, n_classes)."""
        decisions = self._decisions(X, extra)
        return np.asarray(softmax(self._slope * decisions, axis=1))

    def decision_function(self, X: Any, extra: Any = None) -> Float64:
        """Return the decisions: (n_graphs,) for two classes, positive for the second, else (n_graphs, n_classes)."""
        table = self._decisions(X, extra)
        return table[:, 1] - table[:, 0] if len(self.classes_) == 2 else table

    def score(self, X: Any, y: Any, sample_weight: Any = None, extra: Any = None) -> float:
        """Return the share of graphs whose class is predicted rightly."""
        right = np.asarray(self.predict(X, extra) == np.asarray(y))
        return float(np.average(right, weights=sample_weight))

    def explain(self, X: Any, extra: Any = None) -> list[VertexEffects]:
        """Return, for each graph, what its vertices do to the decision for the predicted class.

        The effect of a vertex is the change of the decision when its counts are taken out; see
        :class:`relaxwl.predictors.VertexEffects`, which also says when effects add up.
        :func:`relaxwl.reports.write_effects` makes a page of them.
        """
        check_is_fitted(self)
        graphs = self._graphs(X)
        table = self._new_extra(extra, graphs)
        if isinstance(self.kernel_, LinearMachine):
            return self.kernel_.explain(graphs, table, self.classes_)
        codes = self._decisions(graphs, extra).argmax(axis=1)

        def prepare(count: Any, graph: GraphCollection) -> Prepared:
            return Prepared([count(family.kernel, graph) for family in self.kernel_.families_])

        def values(prepared: Prepared, place: int) -> Float64:
            own = None if table is None else np.repeat(table[[place]], prepared.n_graphs, axis=0)
            return self._machine.margins(self._gram(self._cross_blocks(prepared, own)))[:, codes[place]]

        return vertex_effects(graphs, prepare, values, self.classes_[codes])

    # ----------------------------------------------------------------------------------------------- fitting

    _kept = ("classes_", "_machine", "_slope", "_penalty", "_choice")

    def _class_codes(self, y: Any, n_graphs: int) -> Int64:
        check_classification_targets(y)
        targets = np.asarray(y)
        if targets.shape != (n_graphs,):
            raise ValueError(f"y must hold one class for each of {n_graphs} graphs, not an array of {targets.shape}")
        self.classes_, codes = np.unique(targets, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, and all graphs are of class {self.classes_[0]}")
        self._weights = self._code_weights()
        return np.asarray(codes, np.int64)

    def _code_weights(self) -> Any:
        """Return the class weights by code instead of by name."""
        weights, names = self.class_weight, self.classes_.tolist()
        if not isinstance(weights, dict):
            if weights is not None and weights != "balanced":
                raise ParameterError(f"class_weight must be a dict, 'balanced' or None, not {weights!r}")
            return weights
        unknown = [name for name in weights if name not in names]
        if unknown:
            raise ParameterError(f"class_weight must name classes of y, not {unknown[0]!r}; the classes are {names}")
        return {code: weights.get(name, 1.0) for code, name in enumerate(names)}

    def _learn(self, blocks: dict[str, Float64], codes: Int64) -> tuple[list[Scores], Scores]:
        """Choose a combination and a penalty, learn how sure decisions are, and fit; return all scores and the best."""
        scores = self._tried(blocks, codes, inner_folds(codes, self._seed))
        best = chosen(scores, len(codes)) if scores else Scores("all", float("nan"), FAVOURITE)
        self._penalty = best.penalty
        self._choose(best.name)
        gram = self._gram(blocks)
        self._slope = self._calibrated(gram, codes)
        self._machine = VotingMachine.of(machine(gram, codes, self._penalty, self._weights))
        return scores, best

    def _names(self, blocks: dict[str, Float64]) -> list[str]:
        """Return what takes part in the choice; vectors beside the graphs join every average, or stand alone."""
        names = self.kernel_.combinations()
        if "extra" not in blocks:
            return list(names)
        return [*(f"{name} + extra" for name in names), "all", "extra"]

    def _tried(self, blocks: dict[str, Float64], codes: Int64, folds: Folds) -> list[Scores]:
        """Score the combinations one after the other, so that one of them at a time is in memory."""
        scores: list[Scores] = []
        names = self._names(blocks) if folds else []
        n_kernels = len(self.kernel_.families_)
        for place, name in enumerate(names, 1):
            if scores and self._time_is_up():
                self.kernel_.left_out_.append(f"choice of {name}: the time limit of {self.time_limit:g} s was reached")
                continue
            gram = self._combined(blocks, name)
            scores.append(score_kernel(name, gram, codes, folds, self._weights, self.n_jobs))
            told = (name, 100 * scores[-1].best, scores[-1].penalty)
            share = (n_kernels + place / len(names)) / (n_kernels + 1)
            report(self.verbose, "%s: %.1f %% right with C = %g", *told, share=share)
        return scores

    def _choose(self, name: str) -> None:
        self._choice = name
        self.kernel_.combination = name.removesuffix(" + extra") if name != "extra" else "all"

    def _gram(self, blocks: dict[str, Float64]) -> Float64:
        return self._combined(blocks, self._choice)

    def _combined(self, blocks: dict[str, Float64], name: str) -> Float64:
        """Return the kernel values of a choice."""
        if name == "extra":
            return blocks["extra"]
        own = {block: matrix for block, matrix in blocks.items() if block != "extra"}
        total: Float64 = self.kernel_.combined(own, name.removesuffix(" + extra"))
        return (total + blocks["extra"]) / 2 if name.endswith(" + extra") else total

    def _calibrated(self, gram: Float64, codes: Int64) -> float:
        folds = inner_folds(codes, self._seed + 1, CALIBRATION_FOLDS, 1)

        def decide(train: Int64, test: Int64) -> Float64:
            fitted = VotingMachine.of(machine(gram[np.ix_(train, train)], codes[train], self._penalty, self._weights))
            return fitted.decisions(gram[np.ix_(test, train[fitted.support])])

        return fit_slope(*decisions_out_of_fold(decide, codes, len(self.classes_), folds, self.n_jobs))

    def _forget_the_others(self) -> None:
        """Drop kernels and graphs that predictions do without: they would cost time and memory in each of them."""
        kept = self.kernel_.restrict(self.kernel_.combination)
        support = self._machine.support
        self._training = Prepared([self._training.parts[place] for place in kept]).take(support)
        self._extra = None if self._extra is None else self._extra[support]

    def _fit_linear(self, graphs: GraphCollection, extra: Float64 | None, codes: Int64) -> Self:
        machines = LinearMachine(self.effort, self._seed, self.n_jobs, self.verbose)
        self._fit_extra(extra)
        scores = machines.fit(graphs, extra, codes, self._weights)
        self.kernel_ = machines
        self._slope = machines.slope_
        self._fit_novelty(graphs)
        note = f"all Gram matrices: {len(graphs)} graphs are too many, so linear machines on explicit features"
        machines.left_out_.append(note)
        best = max(scores, key=lambda one: one.best)
        self.report_ = self._report(scores, best, codes, [family.name for family in machines.families_])
        return self

    def _report(self, scores: list[Scores], best: Scores, codes: Int64, kernels: list[str]) -> FitReport:
        sizes = np.bincount(codes, compute_sample_weight(self._weights, codes))
        left_out = list(self.kernel_.left_out_)
        if not scores:
            left_out.append(f"choosing: no class but at most one has three graphs; C = {FAVOURITE:g}")
        return FitReport(
            f"{len(codes)} graphs, {len(self.classes_)} classes",
            "accuracy" if self._weights is None else "weighted accuracy",
            tuple(Tried(one.name, one.best, f"C = {one.penalty:g}") for one in scores) or (Tried("all", np.nan),),
            best.name,
            best.best,
            float(sizes.max() / sizes.sum()),
            "largest class",
            tuple(kernels),
            tuple(left_out),
            self._elapsed(),
        )

    # -------------------------------------------------------------------------------------------- predicting

    def _decisions(self, X: Any, extra: Any) -> Float64:
        """Return one column for each class; the largest entry of a row decides."""
        check_is_fitted(self)
        parts = [self._batch_decisions(graphs, table) for graphs, table in self._batches(X, extra)]
        return np.concatenate([np.zeros((0, len(self.classes_))), *parts])

    def _batch_decisions(self, graphs: GraphCollection, extra: Float64 | None) -> Float64:
        if isinstance(self.kernel_, LinearMachine):
            return self.kernel_.decisions(graphs, extra)
        return self._machine.decisions(self._gram(self._cross_blocks(self.kernel_.prepare(graphs), extra)))

    def _n_compared(self) -> int:
        return len(self._machine.support)

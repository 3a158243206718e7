"""Linear machines on explicit features, for more graphs than Gram matrices can hold."""

import time
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight

from relaxwl._execution import map_chunks
from relaxwl._progress import report
from relaxwl.explanation.groupings import count_groups, groupings
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels.base import CountKernel
from relaxwl.learning.choosing import Scores, decision_table, fit_slope, inner_folds, plain_folds
from relaxwl.predictors.effects import VertexEffects
from relaxwl.predictors.portfolio import Family, portfolio

# For features of length 1; larger penalties take longer and longer.
PENALTIES = tuple(2.0**power for power in (-5, -3, -1, 1, 3))
RIDGES = tuple(10.0**power for power in (-3, -2, -1, 0, 1))
N_FOLDS = 3
BLOCKS = ("exact", "coarse", "fine")


class LinearFeatures:
    """Weighted counts of exact and relaxed kernels side by side; each kernel's part has length 1 in every graph."""

    def __init__(self, effort: str, random_state: int, n_jobs: int | None, verbose: int) -> None:
        self.effort = effort
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def to_state(self) -> dict[str, Any]:
        """Return what a model file keeps: kernels, scales and weights."""
        scaler = None if self.scaler_ is None else (self.scaler_.mean_, self.scaler_.scale_)
        return {"families": self.families_, "scaler": scaler, "left_out": self.left_out_, **self._model_state()}

    @classmethod
    def from_state(cls, families: Any, scaler: Any, left_out: Any, **model: Any) -> Self:
        """Return what :meth:`to_state` kept."""
        features = cls("quick", 0, None, 0)
        features.families_, features.left_out_, features.scaler_ = families, left_out, None
        if scaler is not None:
            features.scaler_ = StandardScaler()
            features.scaler_.mean_, features.scaler_.scale_ = scaler
        features._restore_model(**model)
        return features

    def _model_state(self) -> dict[str, Any]:
        raise NotImplementedError

    def _restore_model(self, **model: Any) -> None:
        raise NotImplementedError

    def fit_features(self, graphs: GraphCollection, extra: Float64 | None) -> csr_array:
        """Fit the kernels and return the features."""
        plan = portfolio(graphs, "quick", self.random_state, self.n_jobs, self.verbose)
        self.families_: list[Family] = [family for family in plan.families if family.block in BLOCKS]
        self.left_out_ = list(plan.left_out)
        self.scaler_ = None if extra is None else StandardScaler().fit(extra)
        blocks = []
        for place, family in enumerate(self.families_, 1):
            started = time.perf_counter()
            kernel: CountKernel = family.kernel
            blocks.append(kernel.fit_transform(graphs))
            told = (family.name, time.perf_counter() - started)
            report(self.verbose, "%s: fitted in %.1f s", *told, share=place / (len(self.families_) + 1))
        return self._joined(blocks, extra)

    def features(self, graphs: GraphCollection, extra: Float64 | None) -> csr_array:
        """Return the features of graphs."""
        return self._joined([family.kernel.weighted_counts(graphs) for family in self.families_], extra)

    def vertex_features(self, graph: GraphCollection) -> csr_array:
        """Return the features of one graph, vertex by vertex: the rows add up to the graph's, vectors beside it aside.

        Each vertex of a group has an equal share of what the group counts.
        """
        parts = [_vertex_shares(family.kernel, graph) for family in self.families_]
        if self.scaler_ is not None:
            parts.append(csr_array((graph.n_nodes, len(self.scaler_.mean_))))
        return csr_array(hstack(parts, format="csr"))

    def effects(
        self, graphs: GraphCollection, weights: Float64, values: Float64, predictions: Any
    ) -> list[VertexEffects]:
        """Return what vertices add to the ``values`` that were predicted: a row of ``weights`` for each graph."""
        found = []
        for place, prediction in enumerate(predictions):
            added = self.vertex_features(graphs[[place]]) @ weights[place]
            found.append(VertexEffects(graphs[place], prediction, float(values[place]), np.asarray(added), True))
        return found

    def _joined(self, blocks: list[csr_array], extra: Float64 | None) -> csr_array:
        parts = list(blocks)
        if extra is not None and self.scaler_ is not None:
            parts.append(csr_array(self.scaler_.transform(extra) / np.sqrt(max(extra.shape[1], 1))))
        return csr_array(hstack(parts, format="csr"))


class LinearMachine(LinearFeatures):
    """A linear support vector machine, its penalty by inner folds."""

    def fit(self, graphs: GraphCollection, extra: Float64 | None, codes: Int64, class_weight: Any) -> list[Scores]:
        """Fit on graphs with class codes, and return what the penalties scored."""
        features = self.fit_features(graphs, extra)
        folds = inner_folds(codes, self.random_state, N_FOLDS, 1)
        n_classes = len(np.unique(codes))
        accuracy = np.zeros(len(PENALTIES))
        held_out = np.concatenate([test for _, test in folds])
        weights = compute_sample_weight(class_weight, codes)
        tables: list[Float64] = []
        for place, C in enumerate(PENALTIES):

            def decide(fold: tuple[Int64, Int64], C: float = C) -> Float64:
                train, test = fold
                fitted = _linear(C, class_weight).fit(features[train], codes[train])
                return decision_table(fitted.decision_function(features[test]))

            tables.append(np.concatenate(map_chunks(decide, folds, self.n_jobs)))
            accuracy[place] = np.average(tables[-1].argmax(axis=1) == codes[held_out], weights=weights[held_out])
            report(self.verbose, "linear machine with C = %g: %.1f %% right", C, 100 * accuracy[place])
        best = int(accuracy.argmax())
        self.slope_ = fit_slope(tables[best], codes[held_out]) if tables[best].shape[1] == n_classes else 1.0
        self.machine_ = _linear(PENALTIES[best], class_weight).fit(features, codes)
        return [Scores("linear machine", float(accuracy[best]), PENALTIES[best])]

    def _model_state(self) -> dict[str, Any]:
        machine = self.machine_
        return {"coef": machine.coef_, "intercept": machine.intercept_, "slope": self.slope_}

    def _restore_model(self, **model: Any) -> None:
        self.slope_ = model["slope"]
        self.machine_ = LinearSVC()
        self.machine_.coef_, self.machine_.intercept_ = model["coef"], model["intercept"]
        n_rows = len(model["coef"])
        self.machine_.classes_ = np.arange(2 if n_rows == 1 else n_rows)

    def decisions(self, graphs: GraphCollection, extra: Float64 | None) -> Float64:
        """Return one column for each class."""
        return decision_table(self.machine_.decision_function(self.features(graphs, extra)))

    def explain(self, graphs: GraphCollection, extra: Float64 | None, classes: Any) -> list[VertexEffects]:
        """Return what vertices add to the decision for the predicted class."""
        decisions = self.machine_.decision_function(self.features(graphs, extra))
        weights = self.machine_.coef_
        if decisions.ndim == 1:
            decisions, weights = np.column_stack([-decisions, decisions]), np.concatenate([-weights, weights])
        codes = decisions.argmax(axis=1)
        return self.effects(graphs, weights[codes], decisions.max(axis=1), classes[codes])


class LinearRegression(LinearFeatures):
    """Ridge regression, its penalty by inner folds."""

    def fit(self, graphs: GraphCollection, extra: Float64 | None, y: Float64) -> dict[float, float]:
        """Fit on graphs with targets, and return the root mean squared error of each penalty."""
        features = self.fit_features(graphs, extra)
        folds = plain_folds(len(y), self.random_state, N_FOLDS)
        errors: dict[float, float] = {}
        for ridge in RIDGES:

            def residuals(fold: tuple[Int64, Int64], ridge: float = ridge) -> Float64:
                train, test = fold
                return np.asarray(y[test] - _ridge(ridge).fit(features[train], y[train]).predict(features[test]))

            found = np.concatenate(map_chunks(residuals, folds, self.n_jobs))
            errors[ridge] = float(np.sqrt(np.mean(found**2)))
            report(self.verbose, "ridge regression with penalty %g: RMSE %.4g", ridge, errors[ridge])
        best = min(errors, key=lambda ridge: errors[ridge])
        self.deviation_ = errors[best]
        self.model_ = _ridge(best).fit(features, y)
        return errors

    def _model_state(self) -> dict[str, Any]:
        return {"coef": self.model_.coef_, "intercept": float(self.model_.intercept_), "deviation": self.deviation_}

    def _restore_model(self, **model: Any) -> None:
        self.deviation_ = model["deviation"]
        self.model_ = Ridge()
        self.model_.coef_, self.model_.intercept_ = model["coef"], model["intercept"]

    def predict(self, graphs: GraphCollection, extra: Float64 | None) -> Float64:
        """Return the predictions."""
        return np.asarray(self.model_.predict(self.features(graphs, extra)), np.float64)

    def explain(self, graphs: GraphCollection, extra: Float64 | None) -> list[VertexEffects]:
        """Return what vertices add to the predicted number."""
        values = self.predict(graphs, extra)
        return self.effects(
            graphs, np.broadcast_to(self.model_.coef_, (len(graphs), len(self.model_.coef_))), values, values
        )


def _vertex_shares(kernel: CountKernel, graph: GraphCollection) -> csr_array:
    """Return a graph's features under one kernel, shared out among the vertices that they count."""
    features = kernel.weighted_counts(graph)
    found = groupings(kernel, graph)
    counts = count_groups(found, features.shape[1])
    unit = np.zeros(features.shape[1] + 1)  # the last is for vertices that no feature counts
    unit[features.indices] = features.data
    unit[counts.indices] /= counts.data
    columns = np.concatenate([grouping.column_of_node() for grouping in found])
    vertices = np.tile(np.arange(graph.n_nodes), len(found))
    known = columns >= 0
    content = (unit[columns[known]], (vertices[known], columns[known]))
    return csr_array(content, shape=(graph.n_nodes, features.shape[1]))


def _linear(C: float, class_weight: Any) -> LinearSVC:
    return LinearSVC(C=C, class_weight=class_weight, random_state=0, max_iter=2000)


def _ridge(penalty: float) -> Ridge:
    return Ridge(alpha=penalty, solver="lsqr")

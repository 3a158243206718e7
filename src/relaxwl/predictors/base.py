"""The core of all predictors: objects → views → blocks of kernels (or features) → a head that learns from them."""

import os
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from relaxwl._deadline import Deadline
from relaxwl._execution import spans
from relaxwl._memory import MEMORY_SHARE, available_memory
from relaxwl._validation import GraphEstimator, as_seed, check_choice
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.inputs import as_collection
from relaxwl.kernels import RelaxedWeisfeilerLehman
from relaxwl.kernels.base import descendants
from relaxwl.kernels.persistence import save_model
from relaxwl.learning.heads import Linear, Options
from relaxwl.predictors.blocks import KernelBlocks, averages
from relaxwl.predictors.effects import ClusterEffect, NodeEffects, merged_clusters
from relaxwl.predictors.novelty import Novelty
from relaxwl.predictors.portfolio import EFFORTS, portfolio
from relaxwl.predictors.report import FitReport
from relaxwl.predictors.views import CountView, Objects, View, as_table, extra_view

# Beyond so many objects, or where Gram matrices do not fit into memory, linear models on explicit features: a Gaussian
# process takes the cube of their number, and the features are those of the same kernels.
LINEAR_FROM = 5_000
# Blocks of kernels whose features linear models take.
LINEAR_BLOCKS = ("exact", "coarse", "fine", "extra")
# Gram matrices that are in memory at the same time: the blocks, a combination, and what a solver copies.
N_MATRICES = 8
# The part of a time limit that fitting kernels may take; the rest is for choosing.
KERNEL_SHARE = 0.7
# Objects that are scored at once.
BATCH = 2048
# What a model file keeps of every predictor, beside its parameters.
KEPT = (
    "report_", "classes_", "kernel_weights_", "names_", "columns_", "_heads", "_blocks", "_novelty", "_takes_extra",
    "_known",
)  # fmt: skip


class GraphPredictor(GraphEstimator):
    """What does not depend on what is predicted; see :class:`GraphClassifier` and :class:`GraphRegressor`.

    Subclasses for other objects than graphs say how these are read (``_objects``) and which views they bring
    (``_views``).
    """

    report_: FitReport
    kernel_weights_: dict[str, float]
    # Names of the training objects, and the columns of the table that they came from, where these are known.
    names_: tuple[str | None, ...] | None = None
    columns_: dict[str, Any] | None = None
    _head_kinds: tuple[type, ...]
    _seed = 0

    things, nodes = "graphs", "nodes"
    time_limit: float | None = None
    class_weight: Any = None
    n_jobs: int | None
    random_state: Any
    verbose: int
    _kernel_head: Any
    _linear_head: Any

    def fit(self, X: Any, y: Any, extra: Any = None) -> Self:
        """Learn from objects and what is known of them.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts; for molecules SMILES or RDKit's
            The objects.
        y : array-like (n_objects,)
            Their classes, or their numbers.
        extra : array-like (n_objects, n_columns), optional
            Numbers that are known of each object besides: kernels on them join the others.
        """
        self._started = time.perf_counter()
        self._validate_parameters()
        objects = self._objects(X, extra)
        targets = self._targets(y, len(objects))
        self._seed, self._takes_extra = as_seed(self.random_state), objects.extra is not None
        self._known: Float64 = np.asarray(targets, np.float64)[:, None]
        self.names_ = getattr(objects.graphs, "names", None)
        deadline = Deadline(self.time_limit)
        large = self._is_large(len(objects))
        planned, left_out = self._views(objects, **({"effort": "quick"} if large else {}))
        if large:
            planned = [view for view in planned if set(view.blocks) <= set(LINEAR_BLOCKS)]
            left_out.append(f"Gram matrices: {len(objects)} {self.things} are too many, so a linear model on features")
        self._blocks = KernelBlocks(planned, left_out)
        if large:
            features = self._blocks.fit_features(objects, self.verbose)
            self._heads = [self._linear_head(self._options(deadline)).fit(features, targets)]
        else:
            self._learn(self._fit_blocks(objects), targets, deadline)
            self.kernel_weights_ = self._head.weights
        self._fit_novelty(objects.graphs)
        self.report_ = self._report(targets)
        if not large:
            used = [block for block, weight in self.kernel_weights_.items() if weight > 0]
            self._blocks.keep(used or self._blocks.names)
        return self

    def novelty(self, X: Any) -> Float64:
        """Say how far objects lie from those of the fit, so that one sees when a prediction is a guess.

        The distances of a graph's neighborhoods to the centers of their clusters, in units of what 95 % of the fitted
        graphs stay below: a graph with a value above 1 is stranger than these.
        """
        check_is_fitted(self)
        return self._novelty.score(self._objects(X, None).graphs)

    def explain(self, X: Any, extra: Any = None) -> list[NodeEffects]:
        """Return, for each object, what its nodes do to what is predicted for it.

        The effect of a node is the change of the predicted number, or of the decision for the predicted class, when its
        counts are taken out; see :class:`relaxwl.predictors.NodeEffects`, which also says when effects add up.
        :func:`relaxwl.reports.write_effects` makes a page of them.
        """
        return [self._explained(one) for one in self._batches(X, extra, 1)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted predictor, kernels and all, to one file of arrays and JSON; see :meth:`load`."""
        from relaxwl.predictors import persistence  # noqa: F401 - tells the model format of our classes

        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a predictor that :meth:`save` wrote; safe for files from elsewhere: nothing in them is executed."""
        from relaxwl.predictors.persistence import load_predictor

        model: Self = load_predictor(path, (cls, *descendants(cls)))
        return model

    def to_state(self) -> dict[str, Any]:
        """Return what a model file keeps: the parameters, and what predictions need."""
        state = {name: getattr(self, name) for name in KEPT if name in vars(self)}
        return {**self.get_params(deep=False), **state}

    def _check_loaded(self) -> None:
        from relaxwl.predictors.persistence import check_predictor

        check_predictor(self)

    # ------------------------------------------------------------------------------------- objects and views

    def _validate_parameters(self) -> None:
        if hasattr(self, "effort"):
            check_choice("effort", self.effort, EFFORTS)
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(f"time_limit must be a number of seconds > 0 or None, not {self.time_limit!r}")

    def _objects(self, X: Any, extra: Any) -> Objects:
        """Read graphs, as the parameters say."""
        names = ("node_label", "edge_label", "node_attributes", "edge_attributes", "symmetrize", "directed", "missing")
        graphs = X
        if not isinstance(X, GraphCollection):
            graphs = as_collection(X, **{name: getattr(self, name) for name in names})
        # Each kernel would warn of what others take up.
        return Objects(graphs.with_parts(given=()), None if extra is None else as_table(extra, len(graphs)))

    def _views(self, objects: Objects, **options: Any) -> tuple[list[View], list[str]]:
        """Return the views to fit, the cheapest first, and in words what was left out and why."""
        settings = {"effort": getattr(self, "effort", "quick"), **options}
        views, left_out = portfolio(
            objects.graphs, random_state=self._seed, n_jobs=self.n_jobs, verbose=self.verbose, **settings
        )
        return [*views, *([extra_view()] if objects.extra is not None else [])], left_out

    def _is_large(self, n_objects: int) -> bool:
        """Say whether there are too many objects for Gram matrices, in memory or in time."""
        needed = 8.0 * N_MATRICES * n_objects**2
        return n_objects > LINEAR_FROM or needed > MEMORY_SHARE * available_memory()

    def _fit_blocks(self, objects: Objects) -> dict[str, Float64]:
        """Fit all kernels, without targets; return the Gram matrix of each block."""
        limit = None if self.time_limit is None else KERNEL_SHARE * self.time_limit
        return self._blocks.fit(objects, limit, self.verbose)

    def _options(self, deadline: Deadline, blocks: Any = None) -> Options:
        n_views = len(self._blocks.views)
        return Options(
            self._seed, self._class_weights(), self.n_jobs, self.verbose, n_views / (n_views + 1), deadline,
            None if blocks is None else averages(blocks),
        )  # fmt: skip

    def _learn(self, blocks: dict[str, Float64], targets: Any, deadline: Deadline) -> None:
        """Let the head learn from the Gram matrices."""
        self._heads = [self._kernel_head(self._options(deadline, blocks)).fit(blocks, targets)]

    @property
    def _head(self) -> Any:
        """What has learned the target."""
        return self._heads[0]

    def _fit_novelty(self, graphs: GraphCollection) -> None:
        """Take the clusters that are there for a measure of novelty, or make some."""
        fitted = [view.kernel for view in self._blocks.views if isinstance(view, CountView)]
        relaxed = (kernel for kernel in fitted if isinstance(kernel, RelaxedWeisfeilerLehman))
        kernel = next((one for one in relaxed if one.base == "subtree"), None)
        if kernel is None:
            kernel = RelaxedWeisfeilerLehman(2, 2, max_iter=0, random_state=self._seed, n_jobs=self.n_jobs).fit(graphs)
        self._novelty = Novelty(kernel).fit(graphs)

    # ------------------------------------------------------------------------------------------- what is predicted

    def _targets(self, y: Any, n_objects: int) -> Any:
        """Check what is to be learned, and return codes of classes or numbers."""
        raise NotImplementedError

    def _class_weights(self) -> Any:
        """Return weights of classes by code."""
        return None

    def _baseline(self, targets: Any) -> tuple[str, str, float, str]:
        """Return the task in words, the metric, and the score and name of who does not look at the objects."""
        raise NotImplementedError

    def _predicted(self, arrays: tuple[Any, ...]) -> tuple[Any, Int64]:
        """Return the predictions, and which column of the head's values each of them is about."""
        raise NotImplementedError

    def _report(self, targets: Any) -> FitReport:
        task, metric, baseline, name = self._baseline(targets)
        head = self._head
        return FitReport(
            f"{len(targets)} {self.things}, {task}",
            metric,
            head.tried,
            head.chosen,
            head.score,
            baseline,
            name,
            tuple(view.name for view in self._blocks.views),
            (*self._blocks.left_out, *head.left_out),
            time.perf_counter() - self._started,
        )

    # ------------------------------------------------------------------------------------------------- predicting

    def _batches(self, X: Any, extra: Any, size: int | None = None) -> Iterator[Objects]:
        """Yield objects, a batch at a time."""
        check_is_fitted(self)
        objects = self._objects(X, extra)
        if (extra is not None) != self._takes_extra:
            fitted, given = ("with", "without") if self._takes_extra else ("without", "with")
            raise ValueError(f"extra must be as in fitting: the model was fitted {fitted} it, and is used {given} it")
        for start, stop in spans(len(objects), BATCH if size is None else size):
            yield objects.take(np.arange(start, stop))

    def _arrays(self, objects: Objects) -> tuple[Any, ...]:
        """Return what the head predicts from: features, or blocks with the training objects and of each alone."""
        if isinstance(self._head, Linear):
            return (self._blocks.features(objects),)
        return self._compared(self._blocks.represent(objects))

    def _compared(self, represented: list[Any]) -> tuple[Any, ...]:
        training = self._blocks.training(self._head.rows)
        return self._blocks.matrices(represented, training), self._blocks.own(represented)

    def _explained(self, one: Objects) -> NodeEffects:
        """Return what the nodes of one object do to what is predicted for it."""
        arrays = self._arrays(one)
        (prediction,), (column,) = self._predicted(arrays)
        value = float(self._head.values(*arrays)[0, column])
        linear = isinstance(self._head, Linear)
        if linear:
            effects = self._blocks.node_features(one) @ self._head.directions[column]
        elif one.graphs.n_nodes:
            without = [view.without_nodes(one) for view in self._blocks.views]
            effects = value - self._head.values(*self._compared(without))[:, column]
        else:
            effects = np.zeros(0)
        molecule = None if one.molecules is None else one.molecules[0]
        clusters = partial(self._cluster_effects, one, int(column), value)
        return NodeEffects(one.graphs[0], prediction, value, np.asarray(effects), linear, molecule, clusters)

    def _cluster_effects(self, one: Objects, column: int, value: float) -> list[ClusterEffect]:
        """Return what the clusters of an object's nodes do to a prediction, the strongest first."""
        if isinstance(self._head, Linear):
            return []
        represented, effects = self._blocks.represent(one), []
        # Relaxed kernels come last and are asked first: their trees are the centers of clusters.
        for place, view in reversed(list(enumerate(self._blocks.views))):
            if not isinstance(view, CountView) or not view.has_clusters:
                continue
            clusters, less = view.without_clusters(one)
            same = np.zeros(len(clusters), np.int64)
            others = [other.take(whole, same) for other, whole in zip(self._blocks.views, represented, strict=True)]
            without = self._head.values(*self._compared([*others[:place], less, *others[place + 1 :]]))[:, column]
            effects += [
                ClusterEffect(cluster.nodes, view.tree(cluster, one.graphs), cluster.depth, value - left)
                for cluster, left in zip(clusters, without.tolist(), strict=True)
                if left != value
            ]
        return merged_clusters(effects)

"""The core of all predictors: objects → views → blocks of kernels (or features) → a head that learns from them."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import Deadline, spans
from relaxwl._memory import MEMORY_SHARE, physical_memory
from relaxwl._progress import report
from relaxwl._validation import (
    GraphEstimator,
    ParameterError,
    as_seed,
    check_choice,
    check_flag,
    check_integer,
    is_integer,
)
from relaxwl.costs import EditCost
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.inputs import as_collection
from relaxwl.kernels.base import GraphKernel, descendants
from relaxwl.kernels.persistence import save_model
from relaxwl.learning.heads import Calibration, Linear, Options, ProcessRegressor, weights_text
from relaxwl.learning.linear import take_rows
from relaxwl.learning.scoring import Score, get_score, rare_class_warning
from relaxwl.predictors.blocks import COMBINED, KernelBlocks
from relaxwl.predictors.effects import ClusterEffect, ColumnEffect, NodeEffects, merged_clusters
from relaxwl.predictors.novelty import N_KEPT, Novelty, mean_distances, normalized
from relaxwl.predictors.portfolio import EFFORTS, portfolio
from relaxwl.predictors.report import FitReport, FitReports
from relaxwl.predictors.targets import Target, check_coverage, read_targets, sampled_rows
from relaxwl.predictors.views import CountView, Objects, VectorView, View, as_table, column_names, extra_view

# Maximum number of objects for which each kernel has its Gram matrix. For more, Gaussian processes use the matrix of a
# sum of kernels, whose weights are learned from a sample of N_WEIGHED, or equal. Linear models on explicit features are
# used beyond LINEAR_FROM, and if memory is short.
MATRICES_UP_TO, LINEAR_FROM, N_WEIGHED = 5_000, 20_000, 1_500
# Number of objects whose covariance is factored if kernels are not weighted: as preconditioner, and for deviations.
N_FACTORED = 500
# Noise in that case, as a share of the variance. The likelihood, which treats class memberships as numbers with normal
# errors, finds less noise than is best, and cross-validated scores of rare classes are too uncertain to choose it.
CLASS_NOISE = 0.5
# Maximum number of targets for which weights of kernels are learned; the weights are averaged.
N_WEIGHED_TARGETS = 6
NO_MATRICES = "Gram matrices: {}; a linear model on features is used"
ONE_MATRIX = "a Gram matrix for each kernel: too many {}; "
LEARNED, EQUAL = "their weights are learned from {:,}", "all weigh the same"
# Number of Gram matrices in memory at the same time: the blocks, a combination, and the copies of a solver.
N_MATRICES = 8
# The same if there is one matrix of all kernels, and a part of it that is computed or used in learning.
N_COMBINED_MATRICES = 3
# Share of a time limit for fitting kernels, and the share for many objects, for which selection takes longer.
KERNEL_SHARE, LARGE_KERNEL_SHARE = 0.7, 0.5
# Number of objects that are scored at a time; fewer if they are compared with more than MATRICES_UP_TO.
BATCH = 2048
# Attributes that a model file contains for every predictor, in addition to its parameters.
KEPT = (
    "report_", "classes_", "target_names_", "kernel_weights_", "n_objects_in_", "names_", "columns_", "_heads",
    "_blocks", "_novelty", "_takes_extra", "extra_names_", "_split", "_is_table", "_kept",
)  # fmt: skip
# Share of the training objects that calibration="split" holds out.
SPLIT_SHARE = 0.25


class GraphPredictor(GraphEstimator):
    """Base class of predictors; see :class:`GraphClassifier` and :class:`GraphRegressor`.

    Subclasses for objects other than graphs define how these are read (``_objects``) and their views (``_views``).
    """

    report_: FitReport | FitReports
    kernel_weights_: dict[str, float]
    # Names of the training objects, and the columns of their table, if these are known.
    names_: tuple[str | None, ...] | None = None
    columns_: dict[str, Any] | None = None
    # Names of the additional features, if they were given in a data frame.
    extra_names_: list[str] | None = None
    _head_kinds: tuple[type, ...]
    _novelty: Novelty
    _seed = 0

    things, nodes = "graphs", "nodes"
    time_limit: float | None = None
    class_weight: Any = None
    scoring: str | None = None
    calibration: str = "cv"
    skip_targets: bool = False
    cost: Any = None
    n_jobs: int | None
    random_state: Any
    verbose: int
    _kernel_head: Any
    _linear_head: Any
    _task: str
    # Whether weights of the blocks are learned if there are many objects; they are equal otherwise.
    _learns_weights = True
    _is_table: bool
    # Number of objects to which more are reduced, all of rare classes and some of the others; None if there is none.
    _learns_from: int | None = None
    # Positions of these objects, and for each target the factor by which a member of each class counts for others.
    _kept: Int64 | None = None
    _class_factors: dict[str, Float64]
    # Objects with the same number are copies, which folds do not separate; None if there are none.
    _copies: Int64 | None = None

    def fit(self, X: Any, y: Any = None, extra: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts; SMILES strings or RDKit molecules
            The objects. A ShardedCollection is processed shard by shard, on the current Dask client if there is one,
            and gives a linear model; ``y`` defaults to its targets.
        y : array-like (n_objects,) or (n_objects, n_targets), or DataFrame, optional
            The classes or numbers. In a table of several targets NaN, None and ``pandas.NA`` are missing values: every
            kernel is fitted once, and each target is learned from the objects that have a value.
        extra : array-like (n_objects, n_columns) or DataFrame, optional
            Additional numeric features of the objects; a kernel on them is combined with the graph kernels. Names of
            the columns of a data frame are kept, and compared in prediction.
        sample_weight : array-like (n_objects,), optional
            Weights of the objects: an object of weight 2 counts as two. Equal weights are no weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._started = time.perf_counter()
        self._validate_parameters()
        self._deadline, self._kept, self._class_factors = Deadline(self.time_limit), None, {}
        if hasattr(X, "fit_features"):
            return self._fit_shards(X, y, extra, sample_weight)
        objects = self._objects(X, extra)
        targets, self._is_table = read_targets(
            y, len(objects), self.things, self._task == "classification", self.skip_targets
        )
        weights = self._object_weights(sample_weight, len(objects))
        self._seed, self._takes_extra = as_seed(self.random_state), objects.extra is not None
        self.extra_names_ = column_names(extra)
        self._split: list[Calibration] = []
        if self.calibration == "cv":
            return self._fit(objects, targets, weights)
        if len(objects) < 8:
            raise ParameterError(f"calibration='split' needs at least 8 {self.things}, not {len(objects)}")
        n_apart = max(1, round(SPLIT_SHARE * len(objects)))
        chosen = np.random.default_rng(self._seed).permutation(len(objects))[:n_apart]
        copies = self._find_copies(objects)
        copies = np.arange(len(objects)) if copies is None else copies
        apart = np.isin(copies, copies[chosen])
        proper, held_out = np.flatnonzero(~apart), np.flatnonzero(apart)
        known = [target.take(proper) for target in targets]
        for target in known:
            classes = [] if target.classes is None else np.asarray(target.classes).tolist()
            missing = np.setdiff1d(np.arange(len(classes)), target.values)
            if len(classes) > 1 and len(missing):
                raise ParameterError(
                    f"calibration='split' sets aside all {self.things} of class {classes[missing[0]]!r} of target "
                    f"{target.name!r}; use calibration='cv'"
                )
            if not len(target.rows) and not target.is_constant:
                raise ParameterError(
                    f"calibration='split' sets aside all {self.things} with a value of target {target.name!r}; use "
                    "calibration='cv'"
                )
        self._fit(objects.take(proper), known, None if weights is None else weights[proper])
        self._split = [self._split_scores(objects, target, number, held_out) for number, target in enumerate(targets)]
        return self

    def _fit_shards(self, shards: Any, y: Any, extra: Any, sample_weight: Any) -> Self:
        """Fit a linear model to shards that are read one at a time, here or on the workers of a cluster."""
        for name, given in (("extra", extra is not None), ("calibration='split'", self.calibration == "split")):
            if given:
                raise ParameterError(f"predictors on shards have no {name}; leave it out, or fit on shards.sample(…)")
        n_objects, y = shards.n_graphs, shards.y if y is None else y
        if y is None:
            raise ParameterError("the shards have no targets; write them with y, or give y to fit")
        targets, self._is_table = read_targets(
            y, n_objects, self.things, self._task == "classification", self.skip_targets
        )
        weights = self._object_weights(sample_weight, n_objects)
        self._seed, self._takes_extra, self._split = as_seed(self.random_state), False, []
        self.extra_names_ = None
        self._check_shards(shards)
        views, left_out = self._views(Objects(shards.nothing()), True)
        self._plan(views, left_out, n_objects, targets, weights)
        with shards.fit_features(self._blocks, self.verbose) as rows:
            self._fit_heads(rows, targets, weights)
        sample = self._objects(shards.sample(N_KEPT, self._seed)[0], None)
        self._novelty = Novelty.of_features(self._blocks.features(sample))
        self._finish(targets)
        return self

    def _check_shards(self, shards: Any) -> None:
        """Raise an error for shards to which the predictor cannot be fitted."""

    def _plan(
        self, views: list[View], left_out: list[str], n_objects: int, targets: list[Target], weights: Float64 | None
    ) -> None:
        """Store the views to be fitted, the number of objects, and the targets; check weights before all work."""
        self._blocks = KernelBlocks(views, left_out)
        self.n_objects_in_, self.names_ = n_objects, None
        self._keep_targets(targets)
        for target in targets:
            if not target.is_constant:
                self._weighted(target, weights)

    def _fit(self, objects: Objects, targets: list[Target], weights: Float64 | None) -> Self:
        """Fit kernels once, and a head for each target."""
        self._copies = self._find_copies(objects)
        large, n_objects, names = self._is_large(len(objects)), len(objects), getattr(objects.graphs, "names", None)
        self.n_objects_in_ = n_objects
        if not large and self._learns_from is not None and n_objects > self._learns_from:
            objects, targets, weights = self._sampled(objects, targets, weights, self._learns_from)
        self._plan(*self._views(objects, large), n_objects, targets, weights)
        self.names_ = names
        if self._kept is not None:
            rare = ", all of rare classes among them" if self._task == "classification" else ""
            self._blocks.left_out.append(f"{n_objects - len(objects):,} of {n_objects:,} {self.things}: "
                                         f"{len(objects):,} are learned from{rare}")  # fmt: skip
        combined = not large and self._are_many(len(objects))
        inputs = self._fit_combined(objects, targets) if combined else self._fit_views(objects, large)
        self._fit_heads(inputs, targets, weights)
        if large:
            some = np.linspace(0, len(objects) - 1, min(N_KEPT, len(objects))).astype(np.int64)
            self._novelty = Novelty.of_features(self._blocks.features(objects.take(some)))
        else:
            self._novelty = Novelty.of_blocks(inputs, self._similarity_weights())
        self._finish(targets)
        return self

    def _sampled(
        self, objects: Objects, targets: list[Target], weights: Float64 | None, size: int
    ) -> tuple[Objects, list[Target], Float64 | None]:
        """Return some of the objects, their targets and their weights."""
        learned = [target for target in targets if not target.is_constant]
        kept = sampled_rows([self._weighted(target, weights)[0] for target in learned], self._contents(objects), size)
        taken, own = [target.take(kept) for target in targets], None if weights is None else weights[kept]
        if self._task == "classification":  # probabilities are those of all objects, in which rare classes are rarer
            for target in learned:
                some = target.take(kept)
                before, after = (np.bincount(one.values, two) for one, two in (
                    self._weighted(target, weights), self._weighted(some, own)))  # fmt: skip
                self._class_factors[target.name] = before / after
        self._kept, self._copies = kept, None if self._copies is None else self._copies[kept]
        return objects.take(kept), taken, own

    def _contents(self, objects: Objects) -> Int64:
        """Return a random number for each object that depends on its content and the seed, not on its position."""
        raise NotImplementedError

    @property
    def _n_learned(self) -> int:
        """The number of objects that were learned from."""
        return self.n_objects_in_ if self._kept is None else len(self._kept)

    def _fit_combined(self, objects: Objects, targets: list[Target]) -> dict[str, Any]:
        """Fit all kernels, weight them, and return the Gram matrix of their weighted sum."""
        left = self._deadline.remaining()
        limit = None if left is None else max(KERNEL_SHARE * left, 1e-3)
        # Weights of kernels and of columns improve regression; those of columns decrease accuracy in classification.
        weighed, numbers = self._weighed_targets(targets) if self._learns_weights else [], None
        if self._task == "regression":
            numbers = np.zeros((len(objects), len(weighed)))
            for column, target in zip(numbers.T, weighed, strict=True):
                column[target.rows] = (target.values - target.values.mean()) / (target.values.std() or 1.0)
        note = LEARNED.format(N_WEIGHED) if weighed else EQUAL
        self._blocks.left_out.append(f"{ONE_MATRIX.format(self.things)}{note}")
        self._blocks.fit_sampled(objects, N_WEIGHED, numbers, limit, self.verbose)
        self._fitted_views, names = list(self._blocks.views), self._blocks.varying_names()
        shares = self._learned_shares(weighed, names)
        self.kernel_weights_ = {
            name: float(np.mean([one[name] for one in shares])) if shares else 1 / len(names) for name in names
        }
        self._blocks.combine(self.kernel_weights_)
        return {COMBINED: self._blocks.gram()}

    def _weighed_targets(self, targets: list[Target]) -> list[Target]:
        """Return some evenly spaced targets, by which kernels are weighted."""
        some = [target for target in targets if not target.is_constant]
        places = np.linspace(0, len(some) - 1, min(N_WEIGHED_TARGETS, len(some))).astype(np.int64)
        return [some[place] for place in places]

    def _learned_shares(self, targets: list[Target], names: list[str]) -> list[dict[str, float]]:
        """Return the shares of kernels that a process learns for each target, from a sample of objects that have it."""
        shares: list[dict[str, float]] = []
        for target in targets:
            places = np.argsort(target.values, kind="stable")
            places = np.sort(places[np.linspace(0, len(places) - 1, min(N_WEIGHED, len(places))).astype(np.int64)])
            blocks = self._blocks.matrices(self._blocks.training(target.rows[places]))
            left = self._deadline.remaining()
            options = self._options(Deadline(None if left is None else max(left / 4, 1e-3)))
            blocks = {name: blocks[name] for name in names}
            weights = self._kernel_head(options).fit(blocks, target.values[places]).weights
            total = sum(weights.values())
            shares += [{name: weight / total for name, weight in weights.items()}] if total else []
            report(self.verbose, "%s: kernels weighed", target.name)
        return shares

    def _fit_heads(self, inputs: Any, targets: list[Target], weights: Float64 | None) -> None:
        """Fit a head for each target: to Gram matrices by name, to features, or to the features of shards.

        Each target may take an equal part of the remaining time.
        """
        large = not isinstance(inputs, dict)
        self._heads: list[Any] = []
        for number, target in enumerate(targets):
            if target.is_constant:
                self._heads.append(None)
                continue
            target, own = self._weighted(target, weights)
            left = self._deadline.remaining()
            own_part = None if left is None else max(left / (len(targets) - number), 1e-3)
            groups = None if self._copies is None else self._copies[target.rows]
            combined = not large and COMBINED in inputs
            options = replace(self._options(Deadline(own_part)), groups=groups)
            if combined:
                equal = not self._learns_weights
                n_factored, noise_share = (N_FACTORED, CLASS_NOISE) if equal else (N_WEIGHED, None)
                options = replace(options, n_factored=n_factored, noise_share=noise_share)
                options = replace(options, class_factors=self._class_factors.get(target.name))
            kind = self._linear_head if large else self._kernel_head
            mine = _rows(inputs, target.rows, self._n_learned, number == len(targets) - 1)
            head = kind(options).fit(mine, target.values, own)
            head.n_examples = len(target.values)
            if not large:
                head.rows = target.rows[head.rows]
            if combined:
                head.tried = (replace(head.tried[0], detail=weights_text(self.kernel_weights_)),)
            self._heads.append(head)
            if self._is_table:
                report(self.verbose, "%s: fitted", target.name, share=options.share((number + 1) / len(targets)))
        if not large and COMBINED not in inputs:
            learned = [head for head in self._heads if head is not None]
            names = dict.fromkeys(name for head in learned for name in head.weights)
            self.kernel_weights_ = {
                name: float(np.mean([head.weights.get(name, 0.0) for head in learned])) for name in names
            }

    def _finish(self, targets: list[Target]) -> None:
        """Write the report, and remove views that no head uses."""
        reports = [self._report(head, target) for head, target in zip(self._heads, targets, strict=True) if head]
        learned_names = tuple(target.name for head, target in zip(self._heads, targets, strict=True) if head)
        self.report_ = FitReports(learned_names, tuple(reports)) if self._is_table else reports[0]
        heads: list[Any] = [head for head in self._heads if head is not None]
        if heads and self._compares():
            # A process that finds only noise keeps all blocks, regardless of their weights for other targets.
            self._blocks.keep({name for head in heads for name in getattr(head, "blocks", head.weights)})
        self.__dict__.pop("_fitted_views", None)

    def novelty(self, X: Any, extra: Any = None) -> Float64:
        """Return how usual objects are among the training objects, as p-values: small means new.

        The distance of an object is the mean of 1 minus its normalized similarity with the three nearest training
        objects, by the kernels and weights of the model. Its p-value is the share of training objects that are at least
        as far from the others. If training and new objects are exchangeable, 5 % of the new ones have a value below
        0.05. Linear models compare with a sample of 1,000 training objects.

        Parameters
        ----------
        X : as in ``fit``
            The objects.
        extra : array-like, optional
            Additional features of the objects, as in ``fit``.

        Returns
        -------
        float64 array (n_objects,)
            The p-values; predictions for values below 0.05 are extrapolations.
        """
        check_is_fitted(self)
        if self._compares():
            found = [mean_distances(similarity) for similarity in self._similarities(X, extra)]
        else:
            found = [self._novelty.distances(self._blocks.features(batch)) for batch in self._batches(X, extra)]
        return self._novelty.p_values(np.concatenate([np.zeros(0), *found]))

    def _similarities(self, X: Any, extra: Any) -> Iterator[Float64]:
        """Yield the normalized similarities between batches of objects and all training objects."""
        everybody, weights = self._blocks.training(np.arange(self._n_learned)), self._similarity_weights()

        def summed(blocks: Any) -> Float64:
            return np.asarray(sum(weight * blocks[name] for name, weight in weights.items()))

        others = summed(self._blocks.own(everybody))
        for batch in self._batches(X, extra):
            represented = self._blocks.represent(batch)
            similarity = summed(self._blocks.matrices(represented, everybody))
            yield normalized(similarity, summed(self._blocks.own(represented)), others)

    def kneighbors(self, X: Any, n_neighbors: int = 5, extra: Any = None) -> tuple[Float64, Int64]:
        """Return the nearest training objects by the similarity that the model uses.

        Parameters
        ----------
        X : as in ``fit``
            The objects to find neighbors of.
        n_neighbors : int, default=5
            Number of neighbors of each object, at most the number of training objects.
        extra : array-like, optional
            Additional features of the objects, as in ``fit``.

        Returns
        -------
        distances : float64 array (n_objects, n_neighbors)
            1 minus the normalized similarity, ascending.
        indices : int64 array (n_objects, n_neighbors)
            Positions of the neighbors among the training objects.
        """
        check_is_fitted(self)
        check_integer("n_neighbors", n_neighbors, least=1, most=self._n_learned)
        if not self._compares():
            raise ValueError(
                f"a linear model of {self.n_objects_in_} {self.things} does not keep them; relaxwl.GraphIndex finds "
                "neighbors among so many"
            )
        distances, indices = [np.zeros((0, n_neighbors))], [np.zeros((0, n_neighbors), np.int64)]
        for similarity in self._similarities(X, extra):
            order = np.argsort(-similarity, axis=1, kind="stable")[:, :n_neighbors]
            indices.append(order if self._kept is None else self._kept[order])
            distances.append(np.maximum(1 - np.take_along_axis(similarity, order, axis=1), 0.0))
        return np.concatenate(distances), np.concatenate(indices)

    def explain(self, X: Any, extra: Any = None, target: Any = None, additive: bool = False) -> list[NodeEffects]:
        """Return the effect of each node on the prediction, for each object.

        The effect of a node is the change of the predicted number, or of the decision value of the predicted class,
        when its counts are removed; see :class:`relaxwl.predictors.NodeEffects` for details.
        :func:`relaxwl.reports.write_effects` writes a page. Molecules with more than 200 atoms are rejected, except by
        linear models.

        Parameters
        ----------
        X : as in ``fit``
            The objects.
        extra : array-like (n_objects, n_columns), optional
            Additional features of the objects, as in ``fit``.
        target : str or int, optional
            Name or number of one of several targets.
        additive : bool, default=False
            Whether effects must add up to the prediction; raises an error except for linear models (of many objects).

        Returns
        -------
        list of NodeEffects
            The effects, one entry per object.
        """
        number = self._target_number(target)
        if additive and not isinstance(self._heads[number], Linear):
            raise ValueError(
                f"additive=True needs a linear model, and {self.n_objects_in_} {self.things} were few enough for "
                "kernels, which are normalized or compare by minima: their effects do not add up"
            )
        X = self._explainable(X)
        return [effects for batch in self._batches(X, extra) for effects in self._explained(batch, number)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted predictor, including its kernels, to a file of arrays and JSON; see :meth:`load`.

        Parameters
        ----------
        path : path
            The file, for instance ``model.rwl``.
        """
        from relaxwl.predictors import persistence  # noqa: F401 - tells the model format of our classes

        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a predictor from a file written by :meth:`save`; no content of the file is executed.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        fitted predictor
            A predictor that predicts the same.
        """
        from relaxwl.predictors.persistence import load_predictor

        model: Self = load_predictor(path, (cls, *descendants(cls)))
        return model

    def to_state(self) -> dict[str, Any]:
        """Return the parameters and the fitted state for a model file.

        Returns
        -------
        dict
            Arrays and plain values by name.
        """
        state = {name: getattr(self, name) for name in KEPT if name in vars(self)}
        return {**self.get_params(deep=False), **state}

    def _check_loaded(self) -> None:
        from relaxwl.predictors.persistence import check_predictor

        check_predictor(self)

    # ------------------------------------------------------------------------------------- objects and views

    def _validate_parameters(self) -> None:
        if hasattr(self, "effort"):
            check_choice("effort", self.effort, EFFORTS)
        if self.time_limit is not None and not (isinstance(self.time_limit, Real) and self.time_limit > 0):
            raise ValueError(f"time_limit must be a number of seconds > 0 or None, not {self.time_limit!r}")
        check_choice("calibration", self.calibration, ("cv", "split"))
        check_flag("skip_targets", self.skip_targets)
        if not (self.cost is None or isinstance(self.cost, EditCost)):
            raise TypeError(f"cost must be an EditCost or None, not {self.cost!r}")
        get_score(self.scoring, self._task)

    @property
    def _directed(self) -> bool | None:
        """Whether the training graphs are directed; None if no view tells."""
        kernels = (getattr(view, "kernel", None) for view in self._blocks.views)
        return next((kernel.directed_ for kernel in kernels if isinstance(kernel, GraphKernel)), None)

    def _objects(self, X: Any, extra: Any, directed: bool | None = None) -> Objects:
        """Read graphs according to the parameters; ``directed`` is the type of graphs whose direction is unknown."""
        names = ("node_label", "edge_label", "node_attributes", "edge_attributes", "symmetrize", "missing")
        graphs = X
        if not isinstance(X, GraphCollection):
            directed = self.directed if directed is None else directed
            graphs = as_collection(X, directed=directed, **{name: getattr(self, name) for name in names})
        # Each kernel would warn of labels or attributes that other kernels use.
        return Objects(graphs.with_parts(given=()), None if extra is None else as_table(extra, len(graphs)))

    def _find_copies(self, objects: Objects) -> Int64 | None:
        """Return a number for each object that its copies share, or None if there are no copies."""
        return None

    def _views(self, objects: Objects, large: bool = False) -> tuple[list[View], list[str]]:
        """Return the views to fit, the cheapest first, and descriptions of omitted views with the reasons.

        With ``large``, these are the views for linear models.
        """
        effort = getattr(self, "effort", "quick")
        if large and effort == "balanced":
            effort = "quick"
        found, left_out = portfolio(objects.graphs, effort, self._seed, self.n_jobs, self.verbose, self.cost, large)
        views: list[View] = [*found, *([extra_view()] if objects.extra is not None else [])]
        if large:
            left_out.append(f"{self._no_matrices(len(objects))} with the kernels of effort={effort!r}")
        return views, left_out

    def _no_matrices(self, n_objects: int) -> str:
        """Return why a linear model is used; shards are planned without objects."""
        return NO_MATRICES.format(f"too many {self.things}" if n_objects else "shards are read one at a time")

    def _are_many(self, n_objects: int) -> bool:
        """Return whether there are too many objects for a Gram matrix of each kernel."""
        return n_objects > MATRICES_UP_TO

    def _is_large(self, n_objects: int) -> bool:
        """Return whether there are too many objects for Gram matrices, regardless of the memory that is free now."""
        n_objects = n_objects if self._learns_from is None else min(n_objects, self._learns_from)
        n_matrices = N_COMBINED_MATRICES if self._are_many(n_objects) else N_MATRICES
        return n_objects > LINEAR_FROM or 8.0 * n_matrices * n_objects**2 > MEMORY_SHARE * physical_memory()

    def _fit_views(self, objects: Objects, large: bool = False) -> Any:
        """Fit all kernels, without targets; return the Gram matrix of each block, or the features of many objects."""
        left = self._deadline.remaining()
        limit = None if left is None else max((LARGE_KERNEL_SHARE if large else KERNEL_SHARE) * left, 1e-3)
        fit = self._blocks.fit_features if large else self._blocks.fit
        return fit(objects, limit, self.verbose)

    def _options(self, deadline: Deadline) -> Options:
        n_views = len(self._blocks.views)
        done, score = n_views / (n_views + 1), get_score(self.scoring, self._task)
        return Options(score, self._seed, self.n_jobs, self.verbose, done, deadline)

    def _similarity_weights(self) -> dict[str, float]:
        """Return the weights of the blocks by which objects are compared; equal ones if only noise was found."""
        names = self._blocks.names
        weights = {name: self.kernel_weights_.get(name, 0.0) for name in names}
        positive = {name: weight for name, weight in weights.items() if weight > 0}
        return positive or dict.fromkeys(names, 1.0)

    # ------------------------------------------------------------------------------------------- what is predicted

    def _keep_targets(self, targets: list[Target]) -> None:
        """Keep the names of the targets, and their classes."""
        self.target_names_ = [target.name for target in targets]

    def _object_weights(self, sample_weight: Any, n_objects: int) -> Float64 | None:
        """Return weights of the objects as numbers, or None."""
        if sample_weight is None:
            return None
        weights = np.asarray(sample_weight, np.float64)
        if weights.shape != (n_objects,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ParameterError(
                f"sample_weight must be {n_objects} finite numbers >= 0, one for each object, not all 0"
            )
        return weights

    def _target_weights(self, target: Target, weights: Float64 | None) -> Float64 | None:
        """Return the weights of the objects that have a target, including class weights, with a mean of 1.

        Return None if all weights are equal, so that constant weights are no weights.
        """
        own = None if weights is None else weights[target.rows]
        return None if own is None or not np.ptp(own) else own * (len(own) / own.sum())

    def _weighted(self, target: Target, weights: Float64 | None) -> tuple[Target, Float64 | None]:
        """Return a target without the objects of weight 0, and the weights of the others."""
        own = self._target_weights(target, weights)
        if own is None or own.all():
            return target, own
        kept = np.flatnonzero(own)
        values = target.values[kept]
        classes = [] if target.classes is None else np.asarray(target.classes).tolist()
        missing = np.setdiff1d(np.arange(len(classes)), values)
        if len(missing):
            raise ParameterError(f"sample_weight is 0 for all {self.things} of class {classes[missing[0]]!r}")
        return replace(target, rows=target.rows[kept], values=values), own[kept] * (len(kept) / own.sum())

    def _target_number(self, target: Any) -> int:
        """Return the index of a target, given by name or index; it may be omitted if there is only one."""
        check_is_fitted(self)
        names = self.target_names_
        if target is None and len(names) == 1:
            return 0
        place = names.index(target) if target in names else target
        if not is_integer(place) or not 0 <= place < len(names):
            raise ParameterError(f"target must be one of {', '.join(names)} (or its number), not {target!r}")
        if self._heads[place] is None:
            raise ParameterError(
                f"target {names[place]!r} has a single class in the training data, so there is no model of it"
            )
        return int(place)

    def _split_scores(self, objects: Objects, target: Target, number: int, held_out: Int64) -> Calibration:
        """Return the nonconformity scores of the held-out objects under the model of the others."""
        head = self._heads[number]
        self._factor([number])
        rows = np.intersect1d(target.rows, held_out)[: None if head else 0]
        values, zeros = target.values[np.searchsorted(target.rows, rows)], np.zeros(len(rows), np.int64)
        scores = [np.zeros(0)]
        for start, stop in spans(len(rows), self._batch_size()):
            (arrays,) = self._inputs(objects.take(rows[start:stop]), [number])
            found, own = head.outputs(*arrays), values[start:stop]
            if target.classes is not None:
                scores.append(1 - found[np.arange(len(own)), 0, own])
            else:
                scores.append(np.abs(own - found[0][:, 0]) / found[1][:, 0])
        return Calibration(zeros, np.concatenate(scores), zeros if target.classes is None else values)

    def _calibrated(self, X: Any, coverage: float, number: int, extra: Any) -> Iterator[tuple[Any, Calibration]]:
        """Yield the outputs of the models of the folds (or of the model without held-out objects), and scores."""
        check_coverage(coverage)
        head, split = self._heads[number], bool(self._split)
        self._factor([number])
        for batch in self._batches(X, extra):
            (arrays,) = self._inputs(batch, [number])
            outputs = head.outputs(*arrays) if split else head.fold_outputs(*arrays)
            yield outputs, self._split[number] if split else head.calibration

    def _baseline(self, target: Target, score: Score) -> tuple[str, float, str]:
        """Return the task in words, and the score and name of a predictor that ignores the objects."""
        raise NotImplementedError

    def _predicted(self, number: int, arrays: tuple[Any, ...]) -> tuple[Any, Int64]:
        """Return the predictions, and the column of the head's values to which each of them belongs."""
        raise NotImplementedError

    def _report(self, head: Any, target: Target) -> FitReport:
        score = head.metric
        task, baseline, name = self._baseline(target, score)
        warning = rare_class_warning(target.values, score) if target.classes is not None else None
        return FitReport(
            f"{len(target.values)} {self.things}, {task}",
            score.title if self._target_weights(target, None) is None else f"weighted {score.title}",
            head.validation,
            head.tried,
            head.chosen,
            head.score,
            score.greater_is_better,
            baseline,
            name,
            tuple(view.name for view in getattr(self, "_fitted_views", self._blocks.views)),
            (*self._blocks.left_out, *head.left_out),
            (warning,) if warning else (),
            time.perf_counter() - self._started,
        )

    # ------------------------------------------------------------------------------------------------- predicting

    def _batches(self, X: Any, extra: Any) -> Iterator[Objects]:
        """Yield objects in batches."""
        check_is_fitted(self)
        objects = self._objects(X, extra, self._directed)
        if (extra is not None) != self._takes_extra:
            fitted, given = ("with", "without") if self._takes_extra else ("without", "with")
            raise ValueError(f"extra must be as in fitting: the model was fitted {fitted} it, and is used {given} it")
        names = column_names(extra)
        if names is not None and self.extra_names_ is not None and names != self.extra_names_:
            raise ValueError(
                f"extra must have the columns of the fit, in their order: {', '.join(self.extra_names_)}; it has "
                f"{', '.join(names)}"
            )
        labeled = any(getattr(getattr(view, "kernel", None), "edge_labels", False) for view in self._blocks.views)
        if labeled and objects.graphs.edge_vocabulary is None and objects.graphs.n_edges:
            raise ValueError(f"the model was fitted on {self.things} with edge labels, and these have none")
        for start, stop in spans(len(objects), self._batch_size()):
            yield objects.take(np.arange(start, stop))

    def _batch_size(self) -> int:
        """Return the number of objects scored at a time: fewer if each is compared with many."""
        return max(1, min(BATCH, BATCH * MATRICES_UP_TO // self._n_learned)) if self._compares() else BATCH

    def _compares(self) -> bool:
        """Return whether predictions compare objects with the training objects; those of linear models do not."""
        return not any(isinstance(head, Linear) for head in self._heads)

    def _inputs(self, objects: Objects, numbers: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the inputs of the heads of some targets: features, or blocks with the training objects."""
        heads = [self._heads[number] for number in numbers]
        if heads and isinstance(heads[0], Linear):
            yield from [(self._blocks.features(objects),)] * len(heads)
        elif heads:
            yield from self._compared(self._blocks.represent(objects), heads)

    def _compared(self, represented: list[Any], heads: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield, for each head, the blocks between represented and training objects, and of each object with itself."""
        wanted = [head.rows for head in heads]
        rows = wanted[0] if len(heads) == 1 else np.unique(np.concatenate(wanted))
        blocks, own = self._blocks.matrices(represented, self._blocks.training(rows)), self._blocks.own(represented)
        for some in wanted:  # one after the other, because each may be a copy
            places = np.searchsorted(rows, some)
            yield blocks if len(some) == len(rows) else {name: of[:, places] for name, of in blocks.items()}, own

    def _factor(self, numbers: Sequence[int]) -> None:
        """Factor the covariances of regressors that were loaded from a file, for standard deviations."""
        for number in numbers:
            head = self._heads[number]
            if isinstance(head, ProcessRegressor) and not hasattr(head.process, "factor_"):
                rows = head.rows if head.process.sample_ is None else head.rows[head.process.sample_]
                blocks = self._blocks.matrices(self._blocks.training(rows))
                head.process.factor([blocks[name] for name in head.blocks])

    def _explainable(self, X: Any) -> Any:
        """Return the objects if they can be explained in bounded time; raise an error otherwise."""
        return X

    def _explained(self, batch: Objects, number: int) -> Iterator[NodeEffects]:
        """Yield the effects of the nodes of each object on its prediction."""
        head = self._heads[number]
        (arrays,) = self._inputs(batch, [number])
        predictions, columns = self._predicted(number, arrays)
        values = head.values(*arrays)
        linear = isinstance(head, Linear)
        for place, (prediction, column) in enumerate(zip(predictions, columns.tolist(), strict=True)):
            one, value = batch.take(np.array([place])), float(values[place, column])
            if linear:
                effects = self._blocks.node_features(one) @ head.directions[column]
            elif one.graphs.n_nodes:
                without = [view.without_nodes(one) for view in self._blocks.views]
                effects = value - head.values(*next(self._compared(without, [head])))[:, column]
            else:
                effects = np.zeros(0)
            molecule = None if one.molecules is None else one.molecules[0]
            given = one, head, column, value
            clusters, of_columns = partial(self._cluster_effects, *given), partial(self._column_effects, *given)
            yield NodeEffects(
                one.graphs[0], prediction, value, np.asarray(effects), linear, molecule, clusters, of_columns
            )

    def _column_effects(self, one: Objects, head: Any, column: int, value: float) -> list[ColumnEffect]:
        """Return the effects of single columns of vectors: the change of the prediction if one is set to its mean."""
        represented: list[Any] = []
        effects: list[ColumnEffect] = []
        for place, view in enumerate(() if isinstance(head, Linear) else self._blocks.views):
            names = getattr(view.scaler, "names_", None) if isinstance(view, VectorView) else None
            if names is None:
                continue
            represented = represented or self._blocks.represent(one)
            less = np.repeat(represented[place], len(names), axis=0)
            np.fill_diagonal(less, 0.0)
            without = self._values_with(represented, place, less, len(names), head, column)
            effects += [
                ColumnEffect(name, far, value - left)
                for name, far, left in zip(names, represented[place][0].tolist(), without, strict=True)
            ]
        return sorted(effects, key=lambda effect: -abs(effect.effect))

    def _cluster_effects(self, one: Objects, head: Any, column: int, value: float) -> list[ClusterEffect]:
        """Return the effects of the clusters of an object's nodes on a prediction, the strongest first."""
        represented, effects = self._blocks.represent(one), []
        # Views in reverse order, because relaxed kernels come last, and their trees are centers of clusters.
        for place, view in reversed(list(enumerate(() if isinstance(head, Linear) else self._blocks.views))):
            if not isinstance(view, CountView) or not view.has_clusters:
                continue
            clusters, less = view.without_clusters(one)
            without = self._values_with(represented, place, less, len(clusters), head, column)
            for cluster, left in zip(clusters, without, strict=True):
                if left != value:
                    tree, text = view.center(cluster, one.graphs)
                    effects.append(ClusterEffect(cluster.nodes, tree, cluster.depth, value - left, text))
        return merged_clusters(effects)

    def _values_with(
        self, represented: list[Any], place: int, changed: Any, n: int, head: Any, column: int
    ) -> list[float]:
        """Return a head's values of one object for each of ``n`` changed representations in one of the views."""
        same = np.zeros(n, np.int64)
        rows = [view.take(whole, same) for view, whole in zip(self._blocks.views, represented, strict=True)]
        rows[place] = changed
        values: list[float] = head.values(*next(self._compared(rows, [head])))[:, column].tolist()
        return values


def _rows(inputs: Any, rows: Int64, n_objects: int, is_last: bool) -> Any:
    """Return Gram matrices, or features, of some of the training objects; those of the last target may be changed."""
    if len(rows) == n_objects:
        return list(inputs) if isinstance(inputs, list) and not is_last else inputs
    if isinstance(inputs, list):
        return take_rows(inputs, rows)
    if not isinstance(inputs, dict):
        return inputs[rows]
    return {name: matrix[np.ix_(rows, rows)] for name, matrix in inputs.items()}

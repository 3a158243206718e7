"""GraphClassifier: classification of graphs with probabilities."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from relaxwl._validation import ParameterError
from relaxwl.costs import EditCost
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.learning.conformal import class_sets
from relaxwl.learning.heads import LinearClassifier, ProcessClassifier
from relaxwl.learning.scoring import Score, get_score
from relaxwl.predictors.base import GraphPredictor
from relaxwl.predictors.targets import Target, known_values


class GraphClassifier(ClassifierMixin, GraphPredictor):
    """Classify graphs with automatically selected kernels and calibrated probabilities.

    Exact and relaxed Weisfeiler-Lehman kernels (also with shortest paths if the graphs are small enough), kernels of
    vectors of nodes and a kernel of graph statistics are fitted once on all training graphs, without their classes. A
    Gaussian process learns their weights, which all classes share, and leave-one-out predictions calibrate the
    probabilities. Beyond 20,000 graphs the model is a linear SVM on explicit features, which ``report_`` states.

    Parameters
    ----------
    effort : {"quick", "balanced", "thorough"}, default="balanced"
        Number of kernels, partitions and depths. Linear models (beyond 20,000 graphs) use the kernels of "quick" also
        with "balanced".
    time_limit : float, optional
        Approximate limit of the fit in seconds. Fewer settings are tried, and ``report_`` lists those left out.
    class_weight : dict, "balanced" or None, default=None
        Weights > 0 of the classes, as in scikit-learn. With several targets, one value for all targets or a dict from
        target name to value.
    scoring : str, optional
        Score used in reports and by ``score``, and by linear models to select a penalty: "accuracy" (default),
        "balanced_accuracy", "roc_auc", "average_precision", "mcc" or "log_loss".
    calibration : {"cv", "split"}, default="cv"
        Calibration of :meth:`predict_set`: on out-of-fold predictions (CV+), or on a quarter of the objects that is
        held out from training.
    skip_targets : bool, default=False
        With several targets, predict targets that have a single class as constants instead of raising an error.
    cost : EditCost, optional
        Costs of relabeling, inserting and deleting in relaxed kernels. By default all costs are 1, and kernels of
        attributes use costs on the scale of the attributes.
    node_label, edge_label, node_attributes, edge_attributes : str or list of str, optional
        Names of the labels and attributes to read, as in :func:`relaxwl.as_collection`.
    symmetrize : bool, default=False
        Ignore the directions of directed graphs.
    directed : bool, optional
        Whether edges are arcs, if the graphs do not determine it; see :func:`relaxwl.as_collection`.
    missing : label, optional
        Label of nodes and edges without a label; by default partially labeled graphs raise an error.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int or None, default=None
        Seeds partitions and folds.
    verbose : int, default=0
        1 logs what is fitted and tried.

    Attributes
    ----------
    classes_ : array, or list of arrays
        The classes; with several targets, one array per target.
    target_names_ : list of str
        Names of the targets.
    kernel_weights_ : dict
        Weight of each block of kernels.
    report_ : FitReport
        Leave-one-out score, that of the majority class, and the weights of the kernels; print it.

    See Also
    --------
    GraphRegressor : Predict numbers instead of classes.
    relaxwl.molecules.MoleculeClassifier : The same for molecules.
    relaxwl.explanation.explain : Clusters of neighborhoods that separate classes.

    Examples
    --------
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(60, level=1, random_state=0)
    >>> model = GraphClassifier(effort="quick", random_state=0).fit(graphs[:40], y[:40])
    >>> model.predict(graphs[40:]).shape, model.predict_proba(graphs[40:]).shape
    ((20,), (20, 4))
    >>> model.report_.baseline_name
    'majority class'
    """

    def __init__(
        self,
        effort: str = "balanced",
        time_limit: float | None = None,
        class_weight: Any = None,
        scoring: str | None = None,
        calibration: str = "cv",
        skip_targets: bool = False,
        node_label: str | None = None,
        edge_label: str | None = None,
        node_attributes: str | Sequence[str] | None = None,
        edge_attributes: str | Sequence[str] | None = None,
        symmetrize: bool = False,
        directed: bool | None = None,
        missing: Any = None,
        cost: EditCost | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.effort = effort
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.scoring = scoring
        self.calibration = calibration
        self.skip_targets = skip_targets
        self.node_label = node_label
        self.edge_label = edge_label
        self.node_attributes = node_attributes
        self.edge_attributes = edge_attributes
        self.symmetrize = symmetrize
        self.directed = directed
        self.missing = missing
        self.cost = cost
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any, extra: Any = None) -> NDArray[Any]:
        """Return the most probable class of each object.

        Parameters
        ----------
        X : as in ``fit``
            The objects.
        extra : array-like (n_objects, n_columns), optional
            Additional features of the objects, as in ``fit``.

        Returns
        -------
        array (n_objects,) or (n_objects, n_targets)
            The classes.
        """
        tables = self._probabilities(X, extra)
        found = [self._classes[number][table.argmax(axis=1)] for number, table in enumerate(tables)]
        if not self._is_table:
            return np.asarray(found[0])
        kinds = {classes.dtype.kind for classes in self._classes}
        return np.column_stack(found if len(kinds) == 1 else [one.astype(object) for one in found])

    def predict_proba(self, X: Any, extra: Any = None) -> Any:
        """Return the probability of each class.

        Probabilities are calibrated on leave-one-out predictions. With n training examples no probability is below
        about 1 / (n + 2).

        Parameters
        ----------
        X : as in ``fit``
            The objects.
        extra : array-like (n_objects, n_columns), optional
            Additional features of the objects, as in ``fit``.

        Returns
        -------
        float64 array (n_objects, n_classes), or a list of such arrays
            The probabilities; with several targets, one array per target.
        """
        tables = self._probabilities(X, extra)
        return tables if self._is_table else tables[0]

    def decision_function(self, X: Any, extra: Any = None, target: Any = None) -> Float64:
        """Return the values of the decision function.

        Parameters
        ----------
        X : as in ``fit``
            The objects.
        extra : array-like (n_objects, n_columns), optional
            Additional features of the objects, as in ``fit``.
        target : str or int, optional
            Name or number of one of several targets.

        Returns
        -------
        float64 array (n_objects,) or (n_objects, n_classes)
            Logarithms of probabilities up to a constant: for two classes one value per object, positive for the second
            class; else a value per class.
        """
        number = self._target_number(target)
        inputs = (next(self._inputs(batch, [number])) for batch in self._batches(X, extra))
        parts = [self._heads[number].decisions(*arrays) for arrays in inputs]
        table = np.concatenate([np.zeros((0, len(self._classes[number]))), *parts])
        return table[:, 1] - table[:, 0] if len(self._classes[number]) == 2 else table

    def predict_set(
        self, X: Any, coverage: float = 0.9, conditional: str | None = None, target: Any = None, extra: Any = None
    ) -> NDArray[np.bool_]:
        """Return conformal prediction sets: sets of classes that contain the true class with probability ``coverage``.

        The sets are calibrated on out-of-fold predictions (CV+) or on held-out objects (``calibration="split"``);
        the user guide states the guarantees.

        Parameters
        ----------
        X : as in ``fit``
            The objects.
        coverage : float, default=0.9
            Probability between 0 and 1.
        conditional : {None, "class"}, default=None
            "class" keeps the coverage within each class, which is important for rare classes.
        target : str or int, optional
            One of several targets.
        extra : array-like, optional
            Additional features of the objects, as in ``fit``.

        Returns
        -------
        bool array (n_objects, n_classes)
            True for the classes in the set. A set is empty if no class is likely enough.
        """
        if conditional not in (None, "class"):
            raise ParameterError(f"conditional must be None or 'class', not {conditional!r}")
        number = self._target_number(target)
        parts = [np.zeros((0, len(self._classes[number])), bool)]
        for tables, of in self._calibrated(X, coverage, number, extra):
            parts.append(class_sets(tables, of.folds, of.scores, of.codes, coverage, conditional == "class"))
        return np.concatenate(parts)

    def score(self, X: Any, y: Any, sample_weight: Any = None, extra: Any = None) -> float:
        """Return the score selected by ``scoring``, by default the accuracy.

        Parameters
        ----------
        X : as in ``fit``
            The objects.
        y : as in ``fit``
            The true values; missing values are ignored.
        sample_weight : array-like (n_objects,), optional
            Weights of the objects.
        extra : array-like (n_objects, n_columns), optional
            Additional features of the objects, as in ``fit``.

        Returns
        -------
        float
            The score; with several targets, the mean over them.
        """
        score = get_score(self.scoring, self._task)
        tables = self._probabilities(X, extra)
        weights = self._object_weights(sample_weight, len(tables[0]))
        found = []
        for number, (known, values) in enumerate(known_values(y, len(tables[0]), self._is_table)):
            classes = self._classes[number].tolist()
            # A class that was not seen in fitting counts as wrong: its column is never predicted.
            names = {name: code for code, name in enumerate(classes)}
            codes = np.array([names.get(value, len(classes)) for value in values], np.int64)
            table = tables[number][known]
            if (codes == len(classes)).any():
                table = np.column_stack([table, np.zeros(len(table))])
            if len(codes):
                found.append(score(codes, table, None if weights is None else weights[known]))
        return float(np.nanmean(found))

    # ------------------------------------------------------------------------------------------------ inside

    _kernel_head: Any = ProcessClassifier
    _linear_head: Any = LinearClassifier
    _head_kinds = (ProcessClassifier, LinearClassifier)
    _task = "classification"

    @property
    def _classes(self) -> list[NDArray[Any]]:
        """The classes of each target."""
        return self.classes_ if self._is_table else [self.classes_]

    def _keep_targets(self, targets: list[Target]) -> None:
        super()._keep_targets(targets)
        classes = [np.asarray(target.classes) for target in targets]
        self.classes_: Any = classes if self._is_table else classes[0]

    def _target_weights(self, target: Target, weights: Float64 | None) -> Float64 | None:
        """Multiply weights of the objects by those of their classes."""
        by_class = self.class_weight
        if isinstance(by_class, dict) and self._is_table and target.name in by_class:
            by_class = by_class[target.name]
        if by_class is None:
            return super()._target_weights(target, weights)
        names = np.asarray(target.classes).tolist()
        if isinstance(by_class, dict):
            unknown = [name for name in by_class if name not in names]
            if unknown:
                raise ParameterError(
                    f"class_weight must name classes of y, not {unknown[0]!r}; the classes are {names}"
                )
            by_class = {code: by_class.get(name, 1.0) for code, name in enumerate(names)}
            if not all(isinstance(value, Real) and 0 < float(value) < np.inf for value in by_class.values()):
                raise ParameterError(f"class_weight must have finite numbers > 0, not {self.class_weight!r}")
        elif by_class != "balanced":
            raise ParameterError(f"class_weight must be a dict, 'balanced' or None, not {by_class!r}")
        weights = np.ones(self.n_objects_in_) if weights is None else weights.copy()
        weights[target.rows] *= compute_sample_weight(by_class, target.values)
        return super()._target_weights(target, weights)

    def _baseline(self, target: Target, score: Score) -> tuple[str, float, str]:
        weights, factors = self._target_weights(target, None), self._class_factors.get(target.name)
        if factors is not None:
            weights = factors[target.values] * (1.0 if weights is None else weights)
        shares = np.bincount(target.values, weights) / (len(target.values) if weights is None else weights.sum())
        constant = np.tile(shares, (len(target.values), 1))
        return f"{len(shares)} classes", score(target.values, constant, weights), "majority class"

    def _probabilities(self, X: Any, extra: Any) -> list[Float64]:
        """Return the probabilities of each target's classes."""
        check_is_fitted(self)
        numbers = [number for number, head in enumerate(self._heads) if head is not None]
        parts: list[list[Float64]] = [[np.zeros((0, len(classes)))] for classes in self._classes]
        for batch in self._batches(X, extra):
            inputs = self._inputs(batch, numbers)
            for number, head in enumerate(self._heads):
                if head is None:
                    parts[number].append(np.ones((len(batch), 1)))
                else:
                    table = np.maximum(head.outputs(*next(inputs))[:, 0], 1 / (head.n_examples + 2))
                    parts[number].append(table / table.sum(axis=1, keepdims=True))
        return [np.concatenate(tables) for tables in parts]

    def _predicted(self, number: int, arrays: tuple[Any, ...]) -> tuple[Any, Int64]:
        codes: Int64 = self._heads[number].outputs(*arrays)[:, 0].argmax(axis=1)
        return self._classes[number][codes], codes

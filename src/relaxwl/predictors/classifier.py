"""GraphClassifier: graphs in, classes and probabilities out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight

from relaxwl._validation import ParameterError, as_classes
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.learning.heads import KernelSVM, LinearClassifier, ProcessClassifier
from relaxwl.predictors.base import GraphPredictor


class GraphClassifier(ClassifierMixin, GraphPredictor):
    """A classifier of graphs that finds out by itself which kernels suit the data.

    It fits exact and relaxed Weisfeiler-Lehman kernels (along shortest paths too, where that is affordable) once on all
    training graphs, without their classes; averages them in a few ways; chooses among these averages and the penalties
    of a support vector machine by inner folds; and learns from decisions out of fold how sure it may be. Beyond
    5,000 graphs it is a linear model on explicit features, and ``report_`` says so.

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
        Seeds partitions and folds.
    verbose : int
        1 logs what is fitted and tried.

    Attributes
    ----------
    classes_ : array
        The classes.
    kernel_weights_ : dict
        How much each block of kernels counts.
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

    def predict(self, X: Any, extra: Any = None) -> NDArray[Any]:
        """Return the class of each object: the most probable one."""
        probabilities = self.predict_proba(X, extra)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def predict_proba(self, X: Any, extra: Any = None) -> Float64:
        """Return the probability of each class, calibrated on decisions out of fold: (n_objects, n_classes)."""
        decisions = self._decisions(X, extra)
        return np.asarray(self._head.probabilities(decisions))

    def decision_function(self, X: Any, extra: Any = None) -> Float64:
        """Return the decisions: (n_objects,) for two classes, positive for the second, else (n_objects, n_classes)."""
        table = self._decisions(X, extra)
        return table[:, 1] - table[:, 0] if len(self.classes_) == 2 else table

    def score(self, X: Any, y: Any, sample_weight: Any = None, extra: Any = None) -> float:
        """Return the share of objects whose class is predicted rightly."""
        right = np.asarray(self.predict(X, extra) == np.asarray(y))
        return float(np.average(right, weights=sample_weight))

    # ------------------------------------------------------------------------------------------------ inside

    _kernel_head: Any = KernelSVM
    _linear_head: Any = LinearClassifier
    _head_kinds = (KernelSVM, ProcessClassifier, LinearClassifier)

    def _targets(self, y: Any, n_objects: int) -> Int64:
        self.classes_, codes = as_classes(y, n_objects, self.things)
        self._class_weights()
        return codes

    def _class_weights(self) -> Any:
        weights, names = self.class_weight, self.classes_.tolist()
        if not isinstance(weights, dict):
            if weights is not None and weights != "balanced":
                raise ParameterError(f"class_weight must be a dict, 'balanced' or None, not {weights!r}")
            return weights
        unknown = [name for name in weights if name not in names]
        if unknown:
            raise ParameterError(f"class_weight must name classes of y, not {unknown[0]!r}; the classes are {names}")
        return {code: weights.get(name, 1.0) for code, name in enumerate(names)}

    def _baseline(self, targets: Int64) -> tuple[str, str, float, str]:
        weights = self._class_weights()
        sizes = np.bincount(targets, compute_sample_weight(weights, targets))
        metric = "accuracy" if weights is None else "weighted accuracy"
        return f"{len(self.classes_)} classes", metric, float(sizes.max() / sizes.sum()), "largest class"

    def _decisions(self, X: Any, extra: Any) -> Float64:
        """Return one column for each class."""
        parts = [self._head.decisions(*self._arrays(batch)) for batch in self._batches(X, extra)]
        return np.concatenate([np.zeros((0, len(self.classes_))), *parts])

    def _predicted(self, arrays: tuple[Any, ...]) -> tuple[Any, Int64]:
        codes: Int64 = self._head.probabilities(self._head.decisions(*arrays)).argmax(axis=1)
        return self.classes_[codes], codes

"""Transductive classifiers: kernels are fitted on all graphs, and classes are learned from some of them."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import Deadline
from relaxwl._validation import as_seed
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.learning.heads import KernelSVM
from relaxwl.predictors.blocks import KernelBlocks
from relaxwl.predictors.classifier import GraphClassifier
from relaxwl.predictors.targets import read_targets


class TransductiveClassifier:
    """A ``GraphClassifier`` with kernels that are fitted once on all graphs, without classes.

    Used by nested cross-validation under the transductive protocol: kernels are fitted once, and each fold selects,
    calibrates and learns on its training graphs alone. Predictions differ from those of ``GraphClassifier.fit`` on the
    training graphs only by the influence of unlabeled graphs on the kernels.

    Parameters
    ----------
    model : GraphClassifier
        The classifier; its parameters are used, and ``fit`` is not called.
    graphs : GraphCollection
        All graphs.

    Examples
    --------
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(48, level=1, random_state=0)
    >>> folds = TransductiveClassifier(GraphClassifier(effort="quick", random_state=0), graphs)
    >>> folds.learn(np.arange(40), y[:40]).predict_proba(np.arange(40, 48)).shape
    (8, 4)
    """

    def __init__(self, model: GraphClassifier, graphs: GraphCollection) -> None:
        started = time.perf_counter()
        self.model = model
        model._validate_parameters()
        model._seed = as_seed(model.random_state)
        model._deadline = Deadline(model.time_limit)
        objects = model._objects(graphs, None)
        model._blocks = KernelBlocks(*model._views(objects))
        self.blocks = model._fit_views(objects)
        self.kernel_seconds = time.perf_counter() - started

    @staticmethod
    def suits(model: Any, graphs: GraphCollection) -> bool:
        """Return whether the model is a support vector machine on Gram matrices, and these fit into memory."""
        if not isinstance(model, GraphClassifier) or model._kernel_head is not KernelSVM:
            return False
        return not model._is_large(len(graphs))

    def learn(self, train: Int64, y: Any) -> "TransductiveClassifier":
        """Learn from the classes ``y`` of the graphs at ``train``."""
        started = time.perf_counter()
        self._train = np.asarray(train)
        model = self.model
        (target,), model._is_table = read_targets(y, len(self._train), model.things, classification=True)
        model._keep_targets([target])
        blocks = {name: block[np.ix_(train, train)] for name, block in self.blocks.items()}
        options = model._options(Deadline(model.time_limit), blocks)  # a limit for each fit
        model._heads = [model._kernel_head(options).fit(blocks, target.values, model._target_weights(target, None))]
        self.seconds = time.perf_counter() - started
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes that were learned."""
        return np.asarray(self.model.classes_)

    @property
    def choice(self) -> dict[str, Any]:
        """The combination of kernels and the penalty that were chosen."""
        return {"combination": self.model._heads[0].chosen, "C": self.model._heads[0].penalty}

    def predict_proba(self, test: Int64) -> Float64:
        """Return the probability of each class for the graphs at ``test``; the largest is the prediction."""
        head = self.model._heads[0]
        places = np.ix_(test, self._train[head.rows])
        cross = {name: block[places] for name, block in self.blocks.items()}
        return np.asarray(head.probabilities(head.decisions(cross, {})))

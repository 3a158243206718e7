"""A fitted support vector machine as plain arrays: decisions of all pairs of classes, votes and margins."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from relaxwl._execution import spans

# Decisions of pairs of classes that are held at once.
PAIRS_AT_ONCE = 1 << 22
# Lead of a class with the most votes over a class with a larger margin, in units of the margins.
LEAD = 1e-6

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OneVsOneSVM:
    """A fitted one-vs-one SVM on a Gram matrix: its support vectors, and their weights for each pair of classes.

    Attributes
    ----------
    support : int64 array (s,)
        Examples with a weight.
    coefficients : float64 array (n_pairs, s)
        Their weights, for each pair of classes (0, 1), (0, 2), ... ; positive decisions are for the first of a pair.
    intercepts : float64 array (n_pairs,)
        Intercept of each decision.
    n_classes : int
        Number of classes.
    """

    support: Int64
    coefficients: Float64
    intercepts: Float64
    n_classes: int

    @classmethod
    def of(cls, model: Any) -> "OneVsOneSVM":
        """Return the weights of a fitted ``SVC``."""
        n_classes = len(model.classes_)
        support = np.asarray(model.support_, np.int64)
        dual = np.asarray(model.dual_coef_, np.float64)
        if n_classes == 2:  # scikit-learn reverses the sign for two classes: positive is the second
            return cls(support, -dual, -np.asarray(model.intercept_, np.float64), 2)
        begins = np.concatenate([[0], np.cumsum(model.n_support_)])
        pairs = list(itertools.combinations(range(n_classes), 2))
        coefficients = np.zeros((len(pairs), len(support)))
        for place, (a, b) in enumerate(pairs):
            of_a, of_b = slice(begins[a], begins[a + 1]), slice(begins[b], begins[b + 1])
            coefficients[place, of_a] = dual[b - 1, of_a]
            coefficients[place, of_b] = dual[a, of_b]
        return cls(support, coefficients, np.asarray(model.intercept_, np.float64), n_classes)

    def pair_decisions(self, values: Float64) -> Float64:
        """Return the decisions (m, n_pairs), given kernel values (m, s) with the support."""
        return np.asarray(values @ self.coefficients.T + self.intercepts)

    @property
    def _sides(self) -> csr_array:
        """1 for the first class of each pair, -1 for the second: (n_pairs, n_classes)."""
        pairs = np.stack(np.triu_indices(self.n_classes, 1), axis=1)
        signs = np.tile([1.0, -1.0], len(pairs))
        return csr_array((signs, pairs.ravel(), np.arange(0, 2 * len(pairs) + 1, 2)), (len(pairs), self.n_classes))

    def _in_spans(self, of_rows: Callable[[Float64], Any], values: Float64) -> Float64:
        """Apply a function to some rows at a time: of many classes there are many pairs."""
        rows_at_once = max(PAIRS_AT_ONCE // max(len(self.intercepts), 1), 1)
        found = [of_rows(values[start:stop]) for start, stop in spans(len(values), rows_at_once)]
        return np.concatenate([np.zeros((0, self.n_classes)), *found])

    def margins(self, values: Float64) -> Float64:
        """Return how clearly each class wins against the others: the mean decision of its pairs, (m, n_classes)."""
        sides = self._sides
        return self._in_spans(lambda rows: self.pair_decisions(rows) @ sides / (self.n_classes - 1), values)

    def decisions(self, values: Float64) -> Float64:
        """Return one column for each class: its votes, plus a fraction that breaks ties by the decisions.

        With two classes, the columns are plus and minus half the decision.
        """
        sides = self._sides
        first, second = sides.maximum(0), (-sides).maximum(0)

        def decide(rows: Float64) -> Any:
            pairs = self.pair_decisions(rows)
            sums = pairs @ sides
            if self.n_classes == 2:
                return sums / 2
            votes = (pairs > 0) @ first + (pairs <= 0) @ second
            # Sums are scaled to at most a third, so that they never outweigh a vote.
            return votes + sums / (3 * (np.abs(sums) + 1))

        return self._in_spans(decide, values)

    def confidences(self, values: Float64) -> Float64:
        """Return one column for each class: its margin, raised if the class has the most votes but not the largest one.

        Votes alone do not distinguish clear from doubtful cases. With two classes these are the decisions.
        """
        decisions = self.decisions(values)
        if self.n_classes == 2:
            return decisions
        margins, rows, chosen = self.margins(values), np.arange(len(values)), decisions.argmax(axis=1)
        others = margins.copy()
        others[rows, chosen] = -np.inf
        least = others.max(axis=1)
        margins[rows, chosen] = np.maximum(margins[rows, chosen], least + LEAD * (1 + np.abs(least)))
        return margins

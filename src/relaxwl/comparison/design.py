"""The sides of pooled graphs, strata and covariates, and permutations given these."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from relaxwl._memory import check_memory
from relaxwl._validation import ParameterError, as_floats
from relaxwl.graphs.arrays import Float64, Int64

# Penalty of the squared coefficients of standardized covariates, so that sides which they separate have finite odds.
RIDGE = 0.1
MAX_ROUNDS = 50


@dataclass(frozen=True, eq=False)
class Design:
    """The sides of pooled graphs, given strata and covariates.

    The probability of a graph to be on side Y is a logistic function of its covariates with an intercept for each
    stratum. Given the numbers of graphs of each side in each stratum, permutations follow the distribution that these
    probabilities imply, so that the sides differ in the covariates as they do in the data. Without covariates, all
    permutations within strata are equally likely.

    Attributes
    ----------
    is_y : bool array (n,)
        Whether a graph is on side Y.
    strata : int64 array (n,)
        The stratum of each graph.
    columns : float64 array (n, n_columns)
        Indicators of strata, and standardized covariates with their squares.
    expected : float64 array (n,)
        Probability of side Y.
    log_odds : float64 array (n,)
        The part of its logit that covariates explain.
    """

    is_y: NDArray[np.bool_]
    strata: Int64
    columns: Float64
    expected: Float64
    log_odds: Float64

    @classmethod
    def of(cls, is_y: NDArray[np.bool_], strata: Int64, covariates: Float64) -> "Design":
        """Fit the probabilities by Newton's method; ``covariates`` has a row for each graph, and perhaps no column."""
        indicators = np.eye(int(strata.max()) + 1)[strata]
        # A covariate that is constant explains nothing, and the square of one with two values repeats it.
        spread = covariates.std(axis=0)
        scaled = (covariates - covariates.mean(axis=0))[:, spread > 0] / spread[spread > 0]
        squares = scaled[:, [len(np.unique(column)) > 2 for column in scaled.T]] ** 2
        columns = np.column_stack([indicators, scaled, squares - squares.mean(axis=0)])
        n_strata = indicators.shape[1]
        penalty = np.where(np.arange(columns.shape[1]) < n_strata, 0.0, RIDGE)
        shares = (indicators.T @ is_y) / indicators.sum(axis=0)
        weights = np.concatenate([np.log(shares / (1 - shares)), np.zeros(columns.shape[1] - n_strata)])
        for _ in range(MAX_ROUNDS if columns.shape[1] > n_strata else 0):
            expected = expit(columns @ weights)
            slope = columns.T @ (is_y - expected) - penalty * weights
            curvature = (columns.T * (expected * (1 - expected))) @ columns + np.diag(penalty + 1e-9)
            # Long steps are shortened: far from the solution the curvature says little.
            step = np.linalg.solve(curvature, slope)
            weights += step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
            if np.abs(step).max() < 1e-9:
                break
        log_odds = columns[:, n_strata:] @ weights[n_strata:]
        return cls(is_y, strata, columns, expit(columns @ weights), log_odds)

    @property
    def weights(self) -> Float64:
        """Weights with which both sides have the same strata and covariates; their mean is 1.

        These are the overlap weights of Li, Morgan and Zaslavsky (2018). Without strata and covariates both sides weigh
        the same.
        """
        weights = np.maximum(np.abs(self.is_y - self.expected), 1e-6)
        return np.asarray(weights / weights.mean())

    def permuted(self, n_permutations: int, seed: int) -> Float64:
        """Return residuals (1 + n_permutations, n) of the side as it is, in the first row, and permuted.

        Residuals are 1 or 0, for side Y or X, minus the expected value. What the columns explain of each row is
        removed, as if the probabilities had been fitted to each permutation.
        """
        size = 24.0 * (n_permutations + 1) * len(self.is_y)
        check_memory(size, f"{n_permutations:,} permutations of {len(self.is_y):,} graphs", "permute less often")
        rng = np.random.default_rng(seed)
        drawn = np.empty((n_permutations + 1, len(self.is_y)))
        drawn[0] = self.is_y
        for stratum in range(int(self.strata.max()) + 1):
            places = np.flatnonzero(self.strata == stratum)
            own = self.is_y[places]
            # Without covariates all divisions are equally likely, and need no table of chances.
            if np.ptp(self.log_odds[places]) == 0:
                drawn[1:, places] = rng.permuted(np.tile(own, (n_permutations, 1)), axis=1)
            else:
                drawn[1:, places] = _with_odds(self.log_odds[places], int(own.sum()), n_permutations, rng)
        # One step of Newton's method from the fitted probabilities, for each row, in the metric of their variances.
        residuals = drawn - self.expected
        variance = self.expected * (1 - self.expected)
        information = (self.columns.T * variance) @ self.columns
        explained = np.linalg.lstsq(information, (residuals @ self.columns).T, rcond=None)[0]
        residuals -= explained.T @ (self.columns.T * variance)
        return residuals


def _with_odds(log_odds: Float64, n_chosen: int, n_draws: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw subsets of a size whose probability is proportional to the product of the odds of their members.

    ``total[i, k]`` is the logarithm of the sum of these products over all subsets of k of the items from i on, so that
    each item is decided in turn with its exact probability (conditional Bernoulli sampling; Chen and Liu, 1997).
    """
    n = len(log_odds)
    total = np.full((n + 1, n_chosen + 1), -np.inf)
    total[n, 0] = 0.0
    for item in range(n - 1, -1, -1):
        total[item] = total[item + 1]
        total[item, 1:] = np.logaddexp(total[item, 1:], log_odds[item] + total[item + 1, :-1])
    left, drawn = np.full(n_draws, n_chosen), np.zeros((n_draws, n), bool)
    # All draws decide about an item at once; what is left to choose differs between them.
    for item in range(n):
        fewer = np.maximum(left - 1, 0)
        chance = np.where(left > 0, np.exp(log_odds[item] + total[item + 1, fewer] - total[item, left]), 0.0)
        drawn[:, item] = rng.random(n_draws) < chance
        left -= drawn[:, item]
    return drawn


def read_strata(strata: Any, n_x: int, n_y: int) -> Int64:
    """Return the number of each graph's stratum, X first; raise an error if a stratum has graphs of one side only."""
    if strata is None:
        return np.zeros(n_x + n_y, np.int64)
    of_x, of_y = _pair("strata", strata, n_x, n_y)
    values = [str(value) for value in [*of_x.tolist(), *of_y.tolist()]]
    names, codes = np.unique(values, return_inverse=True)
    for number, name in enumerate(names.tolist()):
        alone = [side for side, part in (("X", codes[:n_x]), ("Y", codes[n_x:])) if number not in part]
        if alone:
            raise ParameterError(
                f"strata must have graphs of both sides, and stratum {name!r} has none of {alone[0]}; merge it with "
                "another stratum, or leave its graphs out"
            )
    return codes.astype(np.int64)


def read_covariates(covariates: Any, n_x: int, n_y: int) -> Float64:
    """Return a table of finite numbers, X first."""
    if covariates is None:
        return np.zeros((n_x + n_y, 0))
    parts = [part[:, None] if part.ndim == 1 else part for part in _pair("covariates", covariates, n_x, n_y)]
    if parts[0].ndim != 2 or parts[0].shape[1:] != parts[1].shape[1:]:
        raise ParameterError("covariates must be two tables with the same columns, one for X and one for Y")
    try:
        table = np.concatenate([as_floats(part.tolist()) for part in parts])
    except (TypeError, ValueError) as error:
        raise ParameterError(f"covariates must be numbers: {error}; give categories as strata") from None
    if not np.isfinite(table).all():
        raise ParameterError("covariates must be finite: fill in what is missing before")
    return table


def _pair(name: str, given: Any, n_x: int, n_y: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the arrays of both sides, one row for each graph."""
    parts = [np.asarray(part, object) for part in given] if isinstance(given, (tuple, list)) else []
    if len(parts) != 2 or any(part.ndim == 0 for part in parts) or [len(part) for part in parts] != [n_x, n_y]:
        raise ParameterError(
            f"{name} must be a pair (of X, of Y) with one entry for each of {n_x} and {n_y} graphs, such as (a, b)"
        )
    return parts[0], parts[1]

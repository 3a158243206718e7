"""Estimators on top of blocks of kernels, or of explicit features: their inputs are arrays, not graphs.

A head learns from the Gram matrices of named blocks between the training objects (or from a sparse matrix of features)
and predicts from those between new and training objects. In all heads, ``weights`` are the weights of the blocks,
``rows`` the training objects used in predictions, ``values`` the outputs that an explanation explains (one column for
each class, or one for the number), and ``tried`` and ``chosen`` the content of the report.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from relaxwl._execution import Deadline, TimeLimitReached, spans, time_limit
from relaxwl._progress import report
from relaxwl.learning.folds import Folds, plain_folds, stratified_folds
from relaxwl.learning.gaussian_process import GaussianProcess, Prediction
from relaxwl.learning.linear import FeatureRows, MemoryRows, Task, fit_models
from relaxwl.learning.scoring import Score, get_score

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Blocks = Mapping[str, Float64]

# Number of folds whose decisions calibrate the probabilities of a classifier.
CALIBRATION_FOLDS = 5
LINEAR_FOLDS = 3
# Number of examples on which the penalty of a linear model is chosen if there are at least twice as many; it is larger
# if a class would have fewer examples than the second number.
CHOICE_ROWS, LEAST_RARE = 25_000, 500
# Penalties of linear support vector machines; larger ones take much longer. And ridges, in descending order, so that
# ties go to the smoothest model. Both are for features of mean squared length 1.
PENALTIES = tuple(2.0**power for power in (-4, -2, 0, 2, 4))
RIDGES = tuple(2.0**power for power in (6, 4, 2, 0, -2, -4, -6, -8))
# Range of the logarithm of the slope by which decisions are converted to probabilities.
SLOPES = (-4.0, 5.0)
# Number of targets as which equal weights of kernels count in classification; see benchmarks/DECISIONS.md.
PRIOR_SIZE = 30.0
# Largest squared distance of equal examples, in units of the mean diagonal of each kernel; and the number of distinct
# examples from which on equal ones are joined.
SAME, LEAST_DISTINCT = 1e-9, 10
# Number of rows of Gram matrices that are compared at a time.
ROWS_AT_ONCE = 512
# Minimum share of a kernel in a covariance for it to be listed in reports.
LEAST_SHARE = 0.005


@dataclass(frozen=True)
class Trial:
    """A candidate of a choice and its cross-validated score."""

    name: str
    score: float
    detail: str = ""


@dataclass(frozen=True)
class Options:
    """Settings of a fit.

    Attributes
    ----------
    seed : int
        Seed of the folds.
    score : Score, optional
        Score that is reported, and by which linear models select a penalty; accuracy or RMSE by default.
    n_jobs, verbose
        Number of threads, and verbosity.
    done : float
        Share of the work that is done before the head begins.
    deadline : Deadline
        Time limit of the fit.
    groups : int64 array, optional
        Group of each example; folds do not split groups, such as copies of a molecule.
    n_factored : int, optional
        Maximum number of examples whose covariance a Gaussian process factors; see there.
    noise_share : float, optional
        Share of noise in the variance of a Gaussian process, whose blocks then have equal weights; learned by default.
    prior_size : float, default=0.0
        Number of targets as which equal weights of the blocks count.
    class_factors : float64 array (n_classes,), optional
        Factor by which the examples of each class count in the calibration of probabilities, because they are a sample.
    """

    score: Score | None = None
    seed: int = 0
    n_jobs: int | None = None
    verbose: int = 0
    done: float = 0.0
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    groups: Int64 | None = None
    n_factored: int | None = None
    noise_share: float | None = None
    prior_size: float = 0.0
    class_factors: Float64 | None = None

    def share(self, part: float) -> float:
        """Return the share of all work that is done when this part of the head's work is done."""
        return self.done + part * (1 - self.done)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Nonconformity scores of examples under models that did not see them, for conformal prediction.

    Attributes
    ----------
    folds : int64 array (n,)
        The fold of each example.
    scores : float64 array (n,)
        One minus the probability of its class, or its absolute error in units of its standard deviation.
    codes : int64 array (n,)
        Its class code; 0 for numbers.
    """

    folds: Int64
    scores: Float64
    codes: Int64


class Head:
    """Base class of heads; see the module.

    ``calibration`` contains out-of-fold nonconformity scores, and ``fold_outputs`` returns the outputs of the models of
    these folds for new objects: probabilities (n_objects, n_folds, n_classes), or means and standard deviations
    (n_objects, n_folds).
    """

    rows: Int64
    tried: tuple[Trial, ...]
    chosen: str
    calibration: Calibration
    n_examples: int
    metric: Score
    task = "classification"

    def __init__(self, options: Options | None = None) -> None:
        self.options = Options() if options is None else options
        self.metric = self.options.score or get_score(None, self.task)
        self.left_out: list[str] = []

    @property
    def validation(self) -> str:
        """Name of the procedure that gave the score."""
        return "cross-validated"

    @property
    def score(self) -> float:
        """The score of the chosen setting."""
        return next((one.score for one in self.tried if one.name == self.chosen), float("nan"))

    def outputs(self: Any, *inputs: Any) -> Any:
        """Return the outputs of the model itself, in the form of ``fold_outputs`` of one fold."""
        if self.task == "classification":
            return self.probabilities(self.decisions(*inputs))[:, None]
        found = self.predict(*inputs)
        return found.mean[:, None], np.sqrt(found.variance)[:, None]

    def to_state(self) -> dict[str, Any]:
        """Return the state that is needed for predictions."""
        return {
            name: value for name, value in vars(self).items() if name not in ("options", "metric", "left_out", "tried")
        }

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Restore a head from the result of :meth:`to_state`."""
        head = cls()
        vars(head).update(state)
        return head


class ProcessHead(Head):
    """Base class of heads with a Gaussian process on blocks, whose weights are learned: all columns share them."""

    process: GaussianProcess
    blocks: list[str]
    weights: dict[str, float]
    fold_duals: Float64
    fold_means: Float64

    @property
    def validation(self) -> str:
        """Name of the procedure that gave the score."""
        tuned = " after tuning" if self.options.noise_share is None else ""
        return f"{'leave-one-out' if self.process.sample_ is None else 'cross-validated'}{tuned}"

    def _fit(self, blocks: Blocks, targets: Float64, weights: Float64 | None) -> tuple[Prediction, Float64, Int64]:
        """Fit the process, and with the same weights of blocks to all folds but one, for each fold.

        Return the leave-one-out predictions, the out-of-fold means (n, n_columns), and the examples in the order of the
        folds.
        """
        # Examples that no kernel distinguishes are one observation, whose noise is that of a mean. As different points
        # of equal value they would have a high likelihood without any noise, and the model would be sure of everything.
        rows, member = distinct_examples(blocks)
        names, n = list(blocks), len(rows)
        matrices = [block if n == len(targets) else block[np.ix_(rows, rows)] for block in blocks.values()]
        sums: Float64 = np.bincount(member, weights).astype(np.float64)
        means_of_rows = np.column_stack([np.bincount(member, own) for own in _weighted(targets, weights).T])
        values = means_of_rows / sums[:, None]
        counts = None if not np.ptp(sums) else sums if weights is None else sums / sums.mean()
        groups = None if self.options.groups is None else _joined(self.options.groups, member)

        folds = plain_folds(n, self.options.seed + 1, CALIBRATION_FOLDS, groups) if n > 1 else []
        parts = [test for _, test in folds]
        process = self.process = fitted_process(matrices, values, self.options, counts, parts, self.left_out)

        # The models of the folds calibrate sets and intervals: each predicts the examples that it did not see.
        duals, means = process.without(parts)
        n_columns = targets.shape[1]
        self.fold_duals, self.fold_means = duals.reshape(-1, n, n_columns), means.reshape(-1, n_columns)
        out_of_fold = np.zeros((n, n_columns))
        for part, dual, mean in zip(parts, duals, means, strict=True):
            out_of_fold[part] = mean + process.covariances(matrices, part) @ dual
        if process.sample_ is not None:
            left_out = process.calibrate(matrices, out_of_fold)
        else:
            left_out = process.leave_one_out(groups)
        process.forget_parts()
        held_out = [(train, np.flatnonzero(np.isin(member, test))) for train, test in folds]
        self.calibration, in_order = _calibrated(held_out, np.zeros(len(targets), np.int64))

        # Blocks without weight are dropped, so that predictions need not compute them.
        self.weights = dict(zip(names, process.weights_.tolist(), strict=True))
        used = [place for place, name in enumerate(names) if self.weights[name] > 0] or list(range(len(names)))
        self.blocks = [names[place] for place in used]
        process.weights_ = process.weights_[used]
        self.rows, self.chosen = rows, "Gaussian process"
        return Prediction(left_out.mean[member], left_out.variance[member]), out_of_fold[member], in_order

    def _set_tried(self, score: float) -> None:
        self.tried = (Trial(self.chosen, score, weights_text(self.weights)),)

    def means(self, blocks: Blocks) -> Float64:
        """Return the means (n_objects, n_columns)."""
        return self.process.means([blocks[name] for name in self.blocks])

    def _means_by_folds(self, blocks: Blocks) -> Float64:
        """Return the means by the model of each fold: (n_objects, n_folds, n_columns)."""
        cross = sum(weight * blocks[name] for weight, name in zip(self.process.weights_, self.blocks, strict=True))
        return np.asarray(np.einsum("mn,fnc->mfc", cross, self.fold_duals, optimize=True) + self.fold_means)


def distinct_examples(blocks: Blocks) -> tuple[Int64, Int64]:
    """Return the first of the examples that no kernel distinguishes, and which of them each example is.

    If hardly any are distinct, all examples are returned: there would be too few for folds.

    >>> x = np.append(np.arange(11.0), [1.0, 2.0])
    >>> rows, member = distinct_examples({"linear": np.multiply.outer(x, x)})
    >>> rows.tolist(), member[-2:].tolist()
    ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 2])
    """
    units = {name: float(block.diagonal().mean()) or 1.0 for name, block in blocks.items()}
    n = len(next(iter(blocks.values())))
    own = np.sum([block.diagonal() / units[name] for name, block in blocks.items()], axis=0)
    pairs = []
    for start, stop in spans(n, ROWS_AT_ONCE):
        cross = np.sum([block[start:stop] / units[name] for name, block in blocks.items()], axis=0, dtype=np.float64)
        one, other = np.nonzero(own[start:stop, None] + own - 2 * cross <= SAME * len(units))
        pairs.append((one + start, other))
    ones, others = (np.concatenate(part) for part in zip(*pairs, strict=True))
    links = csr_array((np.ones(len(ones), bool), (ones, others)), shape=(n, n))
    _, rows, member = np.unique(connected_components(links, directed=False)[1], return_index=True, return_inverse=True)
    if len(rows) < min(n, LEAST_DISTINCT):
        return np.arange(n), np.arange(n)
    order = np.argsort(rows)
    return rows[order], np.argsort(order)[member]


def _weighted(targets: Float64, weights: Float64 | None) -> Float64:
    return targets if weights is None else targets * weights[:, None]


def _joined(groups: Int64, member: Int64) -> Int64:
    """Return a group for each distinct example, the same if two examples are members of equal groups."""
    groups = np.unique(groups, return_inverse=True)[1]
    n = int(member.max()) + 1
    links = csr_array((np.ones(len(member), bool), (member, n + groups)), shape=(n + int(groups.max()) + 1,) * 2)
    return np.asarray(connected_components(links, directed=False)[1][:n], np.int64)


def fitted_process(
    matrices: list[Float64],
    targets: Float64,
    options: Options,
    weights: Float64 | None,
    parts: Sequence[Int64],
    left_out: list[str],
) -> GaussianProcess:
    """Return a process fitted within the remaining time; when it ends, with the weights of fewer steps."""
    given: Any = {"verbose": options.verbose, "n_factored": options.n_factored, "prior_size": options.prior_size}
    if options.noise_share is not None:  # nothing to learn
        return GaussianProcess(noise_share=options.noise_share, **given).fit(matrices, targets, parts, weights)
    left = options.deadline.remaining()
    try:
        with time_limit(None if left is None else max(left, 1.0)):
            return GaussianProcess(**given).fit(matrices, targets, parts, weights)
    except TimeLimitReached:
        left_out.append("most steps of optimizing the weights: the time limit was reached")
        return GaussianProcess(1, 1, **given).fit(matrices, targets, parts, weights)


def weights_text(weights: Mapping[str, float]) -> str:
    """Return the shares of the kernels in a covariance, the largest first, as text for reports."""
    total = sum(weights.values()) or 1.0
    shares = {name: weight / total for name, weight in weights.items()}
    largest = sorted(shares, key=lambda name: -shares[name])
    counted = "; ".join(f"{name}: {shares[name]:.0%}" for name in largest if shares[name] >= LEAST_SHARE)
    return f"weights: {counted or 'all 0'}"


class ProcessRegressor(ProcessHead):
    """A Gaussian process with weights of blocks that maximize the marginal likelihood."""

    task = "regression"

    def fit(self, blocks: Blocks, y: Float64, weights: Float64 | None = None) -> Self:
        """Learn from Gram matrices, numbers, and weights of the examples."""
        left_out, means, held_out = self._fit(blocks, y[:, None], weights)
        self._set_tried(self.metric(y, left_out.mean[:, 0], weights))
        errors = np.abs(y[held_out] - means[held_out, 0])
        self.calibration.scores[:] = errors / np.sqrt(left_out.variance[held_out])
        return self

    def fold_outputs(self, blocks: Blocks, own: Blocks) -> tuple[Float64, Float64]:
        """Return means by the model of each fold, and standard deviations, which hardly depend on the fold."""
        means = self._means_by_folds(blocks)[:, :, 0]
        stds = np.sqrt(self.predict(blocks, own).variance)
        return means, np.broadcast_to(stds[:, None], means.shape)

    def predict(self, blocks: Blocks, own: Blocks) -> Prediction:
        """Return mean and variance of a new measurement of each object."""
        found = self.process.predict([blocks[name] for name in self.blocks], [own[name] for name in self.blocks])
        return Prediction(found.mean[:, 0], found.variance)

    def values(self, blocks: Blocks, own: Blocks) -> Float64:
        """Return the predictions as a column."""
        return self.means(blocks)


class ProcessClassifier(ProcessHead):
    """A Gaussian process on memberships of classes, 1 or -1; for two classes, of the second one only.

    All classes share the weights of the blocks. Leave-one-out scores, which have a closed form, calibrate the
    probabilities by a logistic regression. For more examples than ``Options.n_factored``, out-of-fold scores are used.
    """

    coefficients: Float64
    intercepts: Float64

    def fit(self, blocks: Blocks, codes: Int64, weights: Float64 | None = None) -> Self:
        """Learn from Gram matrices, class codes from 0 on, and weights of the examples."""
        n_classes = int(codes.max()) + 1
        members = codes[:, None] == (np.array([1]) if n_classes == 2 else np.arange(n_classes))
        self.options = replace(self.options, prior_size=PRIOR_SIZE)
        left_out, means, held_out = self._fit(blocks, np.where(members, 1.0, -1.0), weights)
        # Weights count in the calibration too, which would otherwise move the balance of the classes back. A sample of
        # examples with all of rare classes makes them less rare, but probabilities are to be those of all examples.
        if self.options.class_factors is not None:
            weights = self.options.class_factors[codes] * (1.0 if weights is None else weights)
            weights *= len(codes) / weights.sum()
        scores = left_out.mean
        calibrator = LogisticRegression(C=10.0, max_iter=1000).fit(scores, codes, weights)
        self.coefficients, self.intercepts = calibrator.coef_, calibrator.intercept_
        # Where kernels tell nothing, the mean without an example is a little lower for its own class. A model that
        # learned this would be wrong about every training example, so each class then has the probability of its share.
        own = np.diag(self.coefficients).mean() - (self.coefficients.mean() if n_classes > 2 else 0.0)
        if own <= 0:
            shares = np.bincount(codes, weights)
            self.coefficients = np.zeros_like(self.coefficients)
            self.intercepts = np.log(shares) if n_classes > 2 else np.log(shares[1:] / shares[0])
        self._set_tried(self.metric(codes, self.probabilities(self._calibrated(scores)), weights))
        self.calibration.codes[:] = codes[held_out]
        _score_classes(self.calibration, self.probabilities(self._calibrated(means[held_out])))
        return self

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return max(len(self.coefficients), 2)

    def fold_outputs(self, blocks: Blocks, own: Blocks) -> Float64:
        """Return class probabilities by the model of each fold."""
        means = self._means_by_folds(blocks)
        tables = [self.probabilities(self._calibrated(one)) for one in means.swapaxes(0, 1)]
        return np.stack(tables, axis=1) if tables else np.zeros((len(means), 0, self.n_classes))

    def decisions(self, blocks: Blocks, own: Blocks) -> Float64:
        """Return the logarithm of the probability of each class, up to a constant; the largest entry decides."""
        return self._calibrated(self.means(blocks))

    def _calibrated(self, scores: Float64) -> Float64:
        """Return one column for each class; for two classes, minus and plus half the logit of the second."""
        logits = scores @ self.coefficients.T + self.intercepts
        return decision_table(logits[:, 0]) if logits.shape[1] == 1 else np.asarray(logits)

    def probabilities(self, decisions: Float64) -> Float64:
        """Return the probability of each class."""
        return np.asarray(softmax(decisions, axis=1))

    def values(self, blocks: Blocks, own: Blocks) -> Float64:
        """Return the mean of the membership of each class."""
        means = self.means(blocks)
        return np.column_stack([-means, means]) if means.shape[1] == 1 else means


class Linear(Head):
    """A linear model of explicit features: ``coefficients`` (n_outputs, n_features) and ``intercepts``."""

    coefficients: Float64
    intercepts: Float64
    fold_coefficients: Float64
    fold_intercepts: Float64

    def _fit(
        self,
        rows: FeatureRows,
        task: Task,
        penalties: Mapping[str, float],
        folds: Folds,
        score: Callable[[Float64, Int64], float],
        n_rarest: int,
    ) -> Float64:
        """Choose the penalty by folds, then learn from all rows; return out-of-fold values in the order of the folds.

        ``penalties`` are named and begin with the smoothest model. They are for features of mean squared length 1.
        """
        n_rows, n_outputs = task.targets.shape
        held_out = np.concatenate([np.zeros(0, np.int64), *(test for _, test in folds)])
        for number, (_, test) in enumerate(folds):
            task.folds[test] = number
        unit = float(rows.squares(task.weights).sum() / task.weights.sum()) or 1.0
        costs = {name: penalty / unit for name, penalty in penalties.items()}
        if folds:
            models, values = self._choose(rows, task, costs, held_out, score, n_rarest)
        else:
            models, values = np.zeros((0, n_outputs, rows.n_features + 1)), np.zeros((n_rows, n_outputs))
            self.chosen = list(penalties)[len(penalties) // 2]
            self.tried = (Trial(self.chosen, float("nan")),)
        start: Any = models.mean(axis=0, keepdims=True) if folds else None
        late = "fit to all examples: the time limit was reached; the mean of the folds' models is used"
        left = self.options.deadline.remaining() if folds else None
        whole = self._in_time(left, late, fit_models, rows, task, costs[self.chosen], [-2], start)
        final, of_folds = rows.expand(start[0] if whole is None else whole[0]), rows.expand(models)
        self.coefficients, self.intercepts = final[:, :-1].copy(), final[:, -1].copy()
        self.fold_coefficients, self.fold_intercepts = of_folds[:, :, :-1].copy(), of_folds[:, :, -1].copy()
        return np.asarray(values[held_out])

    def _choose(
        self,
        rows: FeatureRows,
        task: Task,
        costs: Mapping[str, float],
        held_out: Int64,
        score: Callable[[Float64, Int64], float],
        n_rarest: int,
    ) -> tuple[Float64, Float64]:
        """Choose the penalty; return the model without each fold, and the values of all rows by that of their fold.

        Each fit starts from the previous penalty's solution; two consecutive scores below the best end the search. If
        there are many more examples than ``CHOICE_ROWS``, the penalty is chosen on a part of them, large enough for
        rare classes, and the models of all examples start from its models.
        """
        n_rows, n_folds = len(task.targets), int(task.folds.max()) + 1
        size = max(CHOICE_ROWS, round(n_rows * min(1, LEAST_RARE / max(n_rarest, 1))))
        some, part, path, detail = np.arange(n_rows), rows, task, ""
        if size < n_rows and n_rows >= 2 * CHOICE_ROWS:
            some = np.sort(np.random.default_rng(self.options.seed).permutation(n_rows)[:size])
            part, path, detail = rows[some], task.take(some), f"on {size:,} of {n_rows:,} examples"
        of_part = held_out[np.isin(held_out, some)]
        last_fits = 1 if part is rows else 2 * n_rows / size
        trials, scores, longest = dict[str, Trial](), list[float](), 0.0
        models = values = best_values = np.full(task.targets.shape, np.nan)
        start: Any = None
        for name, cost in costs.items():
            # The time of a fit is unknown until the first penalty is fitted; the final fits take about as long.
            left, started = self.options.deadline.remaining() if trials else None, time.perf_counter()
            left = None if left is None else left - last_fits * longest
            late = f"{name} and smaller penalties: the time limit was reached"
            found = self._in_time(left, late, _fit_folds, part, path, cost, n_folds, start)
            if found is None:
                break
            start, values[some] = found
            longest = max(longest, time.perf_counter() - started)
            trials[name] = Trial(name, score(values, of_part), detail)
            report(self.options.verbose, "%s: %s %.4g", name, self.metric.title, trials[name].score)
            scores.append(np.nan_to_num(self.metric.sign * trials[name].score, nan=-np.inf))
            if len(scores) - 1 == np.argmax(scores):
                self.chosen, models, best_values = name, start, values.copy()
            elif len(scores) - 3 >= np.argmax(scores):
                break
        if part is not rows:
            models, best_values = _fit_folds(rows, task, costs[self.chosen], n_folds, part.expand(models))
            trials[self.chosen] = Trial(self.chosen, score(best_values, held_out))
        self.tried = tuple(trials.values())
        return models, best_values

    def _in_time(self, seconds: float | None, late: str, fit: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a fit; if it does not end within ``seconds``, record ``late`` and return None."""
        own = Deadline(None if seconds is None else max(seconds, 1e-9))
        try:
            with time_limit(own.seconds):
                return fit(*arguments)
        except TimeLimitReached:
            if own.remaining() != 0:  # the time limit of the caller
                raise
            self.left_out.append(late)
            return None

    def _fold_values(self, features: csr_array) -> Float64:
        """Return the linear outputs of the model of each fold: (n_objects, n_folds, n_outputs)."""
        flat = self.fold_coefficients.reshape(-1, features.shape[1])
        values = np.asarray(features @ flat.T).reshape(features.shape[0], *self.fold_intercepts.shape)
        return np.asarray(values + self.fold_intercepts)

    def values(self, features: csr_array) -> Float64:
        """Return the linear outputs; for two classes, the negative and the positive of the single one."""
        return np.asarray(features @ self.directions.T + self.intercepts * self._signs)

    @property
    def directions(self) -> Float64:
        """The coefficients of each column of ``values``."""
        return np.asarray(self._signs[:, None] * self.coefficients)

    @property
    def _signs(self) -> Float64:
        return np.ones(len(self.coefficients))


def decision_table(decisions: Float64) -> Float64:
    """Return one column for each class, also for two classes; the largest entry of a row is the decision."""
    return decisions if decisions.ndim == 2 else np.column_stack([-decisions, decisions]) / 2


def fit_slope(decisions: Float64, y: Int64) -> float:
    """Return the slope a > 0 that maximizes the likelihood of the true classes under softmax(a·decisions).

    The same slope is used for all classes, so that no decision changes.
    """
    if not len(y):
        return 1.0

    def loss(log_slope: float) -> float:
        likelihood = log_softmax(np.exp(log_slope) * decisions, axis=1)
        return -float(likelihood[np.arange(len(y)), y].mean())

    return float(np.exp(minimize_scalar(loss, bounds=SLOPES, method="bounded").x))


class LinearClassifier(Linear):
    """One-vs-rest linear support vector machines (squared hinge); the penalty is chosen by inner folds."""

    slope: float

    def fit(
        self, features: csr_array | list[csr_array] | FeatureRows, codes: Int64, weights: Float64 | None = None
    ) -> Self:
        """Learn from features, class codes from 0 on, and weights of the examples."""
        folds = stratified_folds(codes, self.options.seed, LINEAR_FOLDS, self.options.groups)
        self.calibration, held_out = _calibrated(folds, codes)
        n_classes, y = int(codes.max()) + 1, codes[held_out]
        against = codes[:, None] == (np.array([1]) if n_classes == 2 else np.arange(n_classes))
        task = _task("hinge", np.where(against, 1.0, -1.0), weights)

        def table_of(values: Float64) -> Float64:
            return decision_table(values[:, 0] if n_classes == 2 else values)

        def score(values: Float64, places: Int64) -> float:
            table, y = table_of(values[places]), codes[places]
            if self.metric.name == "log_loss":
                table = softmax(fit_slope(table, y) * table, axis=1)
            return self.metric(y, table, None if weights is None else weights[places])

        penalties = {f"linear SVM, C = {C:g}": C for C in PENALTIES}
        rarest = int(np.bincount(codes).min())
        table = table_of(self._fit(_as_rows(features, self.options), task, penalties, folds, score, rarest))
        self.slope = fit_slope(table, y)
        _score_classes(self.calibration, self.probabilities(table))
        return self

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return max(len(self.coefficients), 2)

    def fold_outputs(self, features: csr_array) -> Float64:
        """Return class probabilities by the model of each fold."""
        values = self._fold_values(features)
        table = np.concatenate([-values, values], axis=2) / 2 if values.shape[2] == 1 else values
        return np.asarray(softmax(self.slope * table, axis=2))

    def decisions(self, features: csr_array) -> Float64:
        """Return one column for each class; the largest entry of a row decides."""
        values = self.values(features)
        return values / 2 if len(self.coefficients) == 1 else values

    def probabilities(self, decisions: Float64) -> Float64:
        """Return the probability of each class."""
        return np.asarray(softmax(self.slope * decisions, axis=1))

    @property
    def _signs(self) -> Float64:
        return np.array([-1.0, 1.0]) if len(self.coefficients) == 1 else np.ones(len(self.coefficients))


class LinearRegressor(Linear):
    """Ridge regression with a penalty chosen by inner folds; the deviation is that of out-of-fold predictions."""

    deviation: float
    task = "regression"

    def fit(
        self, features: csr_array | list[csr_array] | FeatureRows, y: Float64, weights: Float64 | None = None
    ) -> Self:
        """Learn from features, numbers, and weights of the examples."""
        folds = plain_folds(len(y), self.options.seed, LINEAR_FOLDS, self.options.groups)
        self.calibration, held_out = _calibrated(folds, np.zeros(len(y), np.int64))
        # Targets are standardized, so that steps and stopping do not depend on their scale.
        center, spread = float(y.mean()), float(y.std()) or 1.0

        def score(values: Float64, places: Int64) -> float:
            own = None if weights is None else weights[places]
            return self.metric(y[places], center + spread * values[places, 0], own)

        task = _task("square", (y[:, None] - center) / spread, weights)
        penalties = {f"ridge {ridge:g}": 0.5 / ridge for ridge in RIDGES}
        values = self._fit(_as_rows(features, self.options), task, penalties, folds, score, len(y))
        errors = np.abs(y[held_out] - center - spread * values[:, 0])
        for name in ("coefficients", "intercepts", "fold_coefficients", "fold_intercepts"):
            getattr(self, name)[:] *= spread
        self.intercepts += center
        self.fold_intercepts += center
        self.deviation = float(np.sqrt(np.mean(errors**2)))
        self.calibration.scores[:] = errors / (self.deviation or 1.0)
        return self

    def fold_outputs(self, features: csr_array) -> tuple[Float64, Float64]:
        """Return means by the model of each fold, and the one standard deviation."""
        means = self._fold_values(features)[:, :, 0]
        return means, np.full(means.shape, self.deviation or 1.0)

    def predict(self, features: csr_array) -> Prediction:
        """Return the predictions, and the same variance for all of them."""
        mean = self.values(features)[:, 0]
        return Prediction(mean, np.full(len(mean), self.deviation**2))


def _fit_folds(
    rows: FeatureRows, task: Task, cost: float, n_folds: int, start: Float64 | None
) -> tuple[Float64, Float64]:
    """Return the model without each fold, and the values (n_rows, n_outputs) of each row by the model of its fold."""
    models = fit_models(rows, task, cost, range(n_folds), start, is_rough=True)
    sums = rows.values(models.reshape(-1, rows.n_features + 1)).reshape(-1, *models.shape[:2])
    return models, np.take_along_axis(sums, np.maximum(task.folds, 0)[:, None, None], axis=1)[:, 0]


def _as_rows(features: csr_array | list[csr_array] | FeatureRows, options: Options) -> FeatureRows:
    return MemoryRows(features, options.n_jobs) if isinstance(features, (csr_array, list)) else features


def _task(loss: str, targets: Float64, weights: Float64 | None) -> Task:
    """Return the task; no row is in a fold yet."""
    n_rows = len(targets)
    return Task(loss, targets, np.ones(n_rows) if weights is None else weights, np.full(n_rows, -1, np.int64))


def _calibrated(folds: Folds, codes: Int64) -> tuple[Calibration, Int64]:
    """Return a calibration without scores yet, and its examples in the order of the folds."""
    held_out = np.concatenate([np.zeros(0, np.int64), *(test for _, test in folds)])
    numbers = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
    return Calibration(numbers, np.zeros(len(held_out)), codes[held_out].copy()), held_out


def _score_classes(calibration: Calibration, probabilities: Float64) -> None:
    """Fill in one minus the probability of each example's class."""
    calibration.scores[:] = 1 - probabilities[np.arange(len(probabilities)), calibration.codes]

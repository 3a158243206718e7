"""What a table shows of a kernel on a data set."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from relaxwl.evaluation.records import FoldRecord

# Scores of which less is better.
LOWER_IS_BETTER = frozenset({"rmse", "mae", "nlpd", "log_loss"})
# Decimals that tables show of scores other than accuracies.
DIGITS = 3


@dataclass(frozen=True)
class Cell:
    """A kernel on a data set: what a table shows.

    ``accuracies`` (or values of another ``metric``) has one entry for each complete repetition: the mean over its
    folds; where the folds were given, one for each fold. ``mean`` and ``std`` (the population's, as ``numpy.std`` gives
    it) are taken over them, NaN where there is none; with a single one ``has_spread`` is false, and the standard
    deviation of 0 says nothing. ``given_up`` says why some repetition had no end ("out of time" or "out of memory"),
    and is empty if none was given up.
    """

    dataset: str
    kernel: str
    title: str
    accuracies: tuple[float, ...]
    given_up: str
    records: tuple[FoldRecord, ...] = field(repr=False)
    metric: str = "accuracy"

    @property
    def mean(self) -> float:
        """Mean over the repetitions."""
        return float(np.mean(self.accuracies)) if self.accuracies else float("nan")

    @property
    def std(self) -> float:
        """Standard deviation over the repetitions."""
        return float(np.std(self.accuracies)) if self.accuracies else float("nan")

    @property
    def chance(self) -> float:
        """Share of the most frequent class among all test graphs: what answering without looking would reach."""
        counts = Counter(target for record in self.records for target in record.targets)
        return max(counts.values(), default=0) / max(counts.total(), 1)

    @property
    def percent(self) -> float:
        """Mean accuracy as tables show it."""
        return round(100 * self.mean, 2)

    @property
    def rank(self) -> float:
        """What tells better from worse (less is better): as tables show it, so that equal numbers are equally good."""
        if self.metric == "accuracy":
            return -self.percent
        return round(self.mean, DIGITS) if self.metric in LOWER_IS_BETTER else -round(self.mean, DIGITS)

    @property
    def has_spread(self) -> bool:
        """Whether there are repetitions enough for a standard deviation to mean anything."""
        return len(self.accuracies) > 1

    @property
    def finished(self) -> bool:
        """Whether there is an accuracy to show."""
        return bool(self.accuracies) and not self.given_up


def best_cells(cells: Iterable[Cell]) -> list[Cell]:
    """Return the finished cells with the best mean, as tables show it: several, if they are equal there."""
    finished = [cell for cell in cells if cell.finished]
    best = min((cell.rank for cell in finished), default=None)
    return [cell for cell in finished if cell.rank == best]

"""Whether one kernel is better than another: paired tests over folds, and mean ranks over data sets.

Folds of a cross-validation share most of their training graphs, so their scores are not independent and a plain t-test
finds differences where there are none. The corrected test of Nadeau and Bengio (2003) widens the variance by the share
of test to training graphs. Over data sets, ranks are compared as Demšar (2006) proposes: Friedman's test says whether
the kernels differ at all, Nemenyi's critical difference which of them do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from relaxwl.evaluation.records import Cell, best_cells
from relaxwl.evaluation.results import Results
from relaxwl.evaluation.tables import Column, Table, TableCell

# Below this probability a difference is called significant.
LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """Two kernels on one data set: the mean difference of their scores over shared folds, and its p-value."""

    dataset: str
    kernel: str
    other: str
    difference: float
    p_value: float
    n_folds: int


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of kernels over data sets, 1 is best.

    ``p_value`` is Friedman's (NaN where there are too few kernels or data sets), ``critical_difference`` Nemenyi's:
    kernels whose ranks differ by less are not told apart.
    """

    titles: tuple[str, ...]
    means: tuple[float, ...]
    n_datasets: int
    p_value: float
    critical_difference: float


def compare(results: Results, dataset: str, kernel: str, other: str, metric: str | None = None) -> Comparison:
    """Compare two kernels on a data set by the corrected paired t-test over the folds that both were tested on.

    A positive difference says that ``kernel`` has the higher score.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.evaluation import cross_validate
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 6)
    >>> kernels = {"a": WeisfeilerLehman(1), "b": WeisfeilerLehman(0)}
    >>> results = cross_validate(kernels, graphs, ["path", "triangle"] * 6, n_folds=3, n_repeats=2, dataset="toy")
    >>> compare(results, "toy", "a", "b").difference
    0.5
    """
    metric = metric or results.metric
    ours, theirs = (_scores(results.cell(dataset, name, metric), metric) for name in (kernel, other))
    shared = sorted(ours.keys() & theirs.keys())
    if len(shared) < 2:
        raise ValueError(f"{kernel} and {other} share {len(shared)} folds on {dataset}; a test needs two")
    differences = np.array([ours[fold][0] - theirs[fold][0] for fold in shared])
    shares = [n_test / n_train for _, n_test, n_train in (ours[fold] for fold in shared)]
    p_value = corrected_p_value(differences, float(np.mean(shares)))
    return Comparison(dataset, kernel, other, float(differences.mean()), p_value, len(shared))


def corrected_p_value(differences: Sequence[float] | np.ndarray, test_share: float) -> float:
    """Return the two-sided p-value of Nadeau and Bengio's corrected resampled t-test.

    ``test_share`` is the number of test graphs divided by that of training graphs in a fold.

    >>> round(corrected_p_value([0.1, 0.2, 0.15, 0.05], 1 / 9), 4)
    0.0485
    """
    values = np.asarray(differences, np.float64)
    variance = values.var(ddof=1) * (1 / len(values) + test_share)
    if variance == 0:
        return 1.0 if values.mean() == 0 else 0.0
    return float(2 * stats.t.sf(abs(values.mean()) / np.sqrt(variance), len(values) - 1))


def significance_table(results: Results, metric: str | None = None) -> Table:
    """Return, for each data set, how every kernel compares with the best: difference and p-value, Holm-corrected.

    The best is marked. It was chosen by the same scores, so the p-values are rather too small than too large.
    """
    results.require_one_run()
    metric = metric or results.metric
    rows: dict[str, list[TableCell]] = {}
    for dataset in results.datasets:
        cells = [cell for name in results.kernels if (cell := results.cell(dataset, name, metric)).finished]
        best = best_cells(cells)[:1]
        others = [cell.kernel for cell in cells if cell not in best]
        compared = {name: compare(results, dataset, name, best[0].kernel, metric) for name in others}
        corrected = dict(zip(others, holm([found.p_value for found in compared.values()]), strict=True))
        winners = [cell.kernel for cell in best]
        for kernel in results.kernels:
            row = rows.setdefault(kernel, [TableCell(results.title(kernel))])
            row.append(_cell(compared.get(kernel), corrected.get(kernel), kernel in winners, metric))
    columns = [Column(name, (f"{name} difference", f"{name} p")) for name in results.datasets]
    notes = (
        "Difference from the best (which is marked) and its p-value: corrected paired t-test over shared folds "
        "(Nadeau and Bengio), with Holm's correction for the number of kernels; the best was chosen by the same scores",
    )
    return Table("Significance", (Column("kernel"), *columns), tuple(map(tuple, rows.values())), notes)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's step-down method.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    corrected, highest = np.empty(len(order)), 0.0
    for step, place in enumerate(order):
        highest = max(highest, (len(order) - step) * p_values[place])
        corrected[place] = min(highest, 1.0)
    return [float(value) for value in corrected]


def mean_ranks(results: Results, metric: str | None = None) -> Ranks:
    """Return the mean ranks of the kernels over the data sets on which all of them finished.

    Raises
    ------
    ValueError
        If there is no such data set, or a single kernel.
    """
    results.require_one_run()
    metric = metric or results.metric
    kernels = results.kernels
    table = [[results.cell(name, kernel, metric) for kernel in kernels] for name in results.datasets]
    whole = [cells for cells in table if all(cell.finished for cell in cells)]
    if not whole or len(kernels) < 2:
        raise ValueError("ranks need two kernels, and a data set on which all of them finished")
    ranks = np.array([stats.rankdata([cell.rank for cell in cells]) for cells in whole])
    n, k = ranks.shape
    testable = n > 1 and k > 2 and not np.all(ranks == ranks[0, 0])
    p_value = float(stats.friedmanchisquare(*ranks.T).pvalue) if testable else float("nan")
    critical = float(stats.studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n)))
    titles = tuple(results.title(kernel) for kernel in kernels)
    return Ranks(titles, tuple(ranks.mean(axis=0).tolist()), n, p_value, critical)


def _scores(cell: Cell, metric: str) -> dict[tuple[int, int], tuple[float, int, int]]:
    """Return score, test size and training size of each fold, by repetition and number."""
    total = max((index + 1 for record in cell.records for index in record.test_indices), default=0)
    return {
        (record.repetition, record.fold): (record.score(metric), size, max(total - size, 1))
        for record in cell.records
        for size in [len(record.test_indices)]
    }


def _cell(comparison: Comparison | None, p_value: float | None, is_best: bool, metric: str) -> TableCell:
    if comparison is None or p_value is None:
        return TableCell("best" if is_best else "–", bold=is_best, values=(0.0 if is_best else "", ""))
    scale, digits = (100, 2) if metric == "accuracy" else (1, 3)
    difference = scale * comparison.difference
    return TableCell(f"{difference:+.{digits}f} (p {p_value:.3f})", values=(difference, p_value))

"""Tables of results, data sets and runtimes, as text, Markdown and CSV, and tests of significance.

Folds of a cross-validation share most of their training graphs, so their scores are not independent and a plain t-test
finds differences where there are none. The corrected test of Nadeau and Bengio (2003) widens the variance by the share
of test to training graphs. Over data sets, ranks are compared as Demšar (2006) proposes: Friedman's test says whether
the kernels differ at all, Nemenyi's critical difference which of them do.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from relaxwl._progress import duration, html_table
from relaxwl._validation import check_choice
from relaxwl.evaluation.records import DIGITS, Cell, DatasetRecord, best_cells

if TYPE_CHECKING:
    from relaxwl.evaluation.results import Results

# Titles of tables, and descriptions of their numbers.
METRICS = {
    "accuracy": ("Accuracy", "Accuracy in %"),
    "balanced_accuracy": ("Balanced accuracy", "Mean recall of the classes"),
    "mcc": ("MCC", "Matthews correlation coefficient"),
    "roc_auc": ("ROC AUC", "Area under the ROC curve"),
    "average_precision": ("Average precision", "Area under the precision-recall curve"),
    "log_loss": ("Log loss", "Mean negative log probability of the class (lower is better)"),
    "rmse": ("RMSE", "Root mean squared error (lower is better)"),
    "mae": ("MAE", "Mean absolute error (lower is better)"),
    "r2": ("R²", "Coefficient of determination"),
    "spearman": ("Spearman correlation", "Rank correlation of predictions and targets"),
    "nlpd": ("NLPD", "Mean negative log predictive density (lower is better)"),
    "coverage": ("Coverage", "Share of the targets within their 95 % prediction intervals"),
}
BASELINES = {"accuracy": "majority-class baseline", "rmse": "mean predictor"}
# Marks in place of missing accuracies.
MARKS = {"out of time": "–", "out of memory": "×"}
NOT_THERE = "–"
UNFINISHED = "…"
FORMS = ("text", "markdown", "csv")


@dataclass(frozen=True)
class TableCell:
    """Text of a cell; ``values`` are its values in CSV."""

    text: str
    bold: bool = False
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Column:
    """A column; ``names`` are its columns in CSV. All but the first are aligned to the right."""

    title: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table that can be written in several formats.

    Examples
    --------
    >>> table = Table("Sizes", (Column("what"), Column("n")), ((TableCell("graphs"), TableCell("12", bold=True)),), ())
    >>> print(table.to_markdown())
    **Sizes**
    <BLANKLINE>
    | what | n |
    |:--|--:|
    | graphs | **12** |
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        rows = [[cell.text + "*" * cell.bold for cell in row] for row in self.rows]
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p><b>{escape(self.title)}</b></p>{html_table([one.title for one in self.columns], rows)}{notes}"

    def to_text(self) -> str:
        """Return aligned plain text; bold cells are marked by a star."""
        texts = self._styled("{}*", {})
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        padded = [[text.rjust(w) if i else text.ljust(w) for i, (text, w) in enumerate(zip(line, widths, strict=True))]
                  for line in texts]  # fmt: skip
        head, *lines = ("  ".join(line).rstrip() for line in padded)
        return "\n".join([self.title, head, "  ".join("-" * width for width in widths), *lines, *self.notes])

    def _styled(self, bold: str, escapes: dict[int, Any]) -> list[list[str]]:
        """Return the texts of the head and of all rows, escaped, and marked if they are bold."""
        lines = [[TableCell(column.title) for column in self.columns], *self.rows]
        return [[(bold if c.bold else "{}").format(c.text.translate(escapes)) for c in line] for line in lines]

    def to_markdown(self) -> str:
        """Return a Markdown table with its title and notes."""
        styled = self._styled("**{}**", str.maketrans({"|": r"\|"}))
        head, *lines = (f"| {' | '.join(line)} |" for line in styled)
        bar = "|:--|" + "--:|" * (len(self.columns) - 1)
        notes = ["", *(f"{note}  " for note in self.notes)] if self.notes else []
        return "\n".join([f"**{self.title}**", "", head, bar, *lines, *notes]).rstrip()

    def to_csv(self) -> str:
        """Return comma-separated values: numbers without signs and marks, one in each column."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([name for column in self.columns for name in (column.names or (column.title,))])
        for row in self.rows:
            writer.writerow([value for cell in row for value in (cell.values or (cell.text,))])
        return out.getvalue()

    def render(self, form: str) -> str:
        """Return the table in one of the formats ``text``, ``markdown`` and ``csv``."""
        check_choice("form", form, FORMS)
        text: str = getattr(self, f"to_{form}")()
        return text


def results_table(
    results: Results,
    reference: Mapping[str, Mapping[str, tuple[float, float] | None]] | None = None,
    metric: str | None = None,
    mean: bool = False,
) -> Table:
    """Return the scores: one row per kernel, one column per data set.

    Parameters
    ----------
    results : Results
        Records of one run; use :meth:`Results.split` for several runs.
    reference : mapping, optional
        Published numbers in percent, ``reference[kernel][dataset] = (mean, std)``, shown in additional columns.
    metric : str, optional
        The score, by default the accuracy, or ``"rmse"`` for regression; see :meth:`Results.cell`.
    mean : bool, default=False
        Transpose the table and add the mean over the data sets, as for several targets.

    Returns
    -------
    Table
        The table; ``str()`` and ``render(form)`` write it.

    Raises
    ------
    ValueError
        If the records come from runs that differ in settings, data or version.

    See Also
    --------
    cross_validate : Evaluate kernels.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.evaluation import cross_validate
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 6)
    >>> kernels = {"a": WeisfeilerLehman(1), "b": WeisfeilerLehman(0)}
    >>> results = cross_validate(kernels, graphs, ["path", "triangle"] * 6, n_folds=3, n_repeats=2, dataset="toy")
    >>> print(results_table(results).render("csv"), end="")
    kernel,toy mean,toy std,toy repetitions
    a,100.0,0.0,2
    b,50.0,0.0,2
    """
    results.require_one_run()
    datasets, kernels = results.datasets, results.kernels
    metric = metric or results.metric
    cells = {(kernel, name): results.cell(name, kernel, metric) for kernel in kernels for name in datasets}
    notes = _accuracy_notes(results, cells.values(), metric)
    shown: dict[tuple[str, str], TableCell] = {}
    for name in datasets:
        best = best_cells(cells[kernel, name] for kernel in kernels)
        shown |= {(kernel, name): _accuracy_cell(cells[kernel, name], best) for kernel in kernels}

    def column(title: str) -> Column:
        return Column(title, (f"{title} mean", f"{title} std", f"{title} repetitions"))

    if mean:
        columns = [Column("target"), *(column(results.title(kernel)) for kernel in kernels)]
        rows = [[TableCell(name), *(shown[kernel, name] for kernel in kernels)] for name in datasets]
        scale, digits = (100, 2) if metric == "accuracy" else (1, DIGITS)
        means = [scale * float(np.mean([cells[kernel, name].mean for name in datasets])) for kernel in kernels]
        rows.append([TableCell("mean"), *(TableCell(f"{one:.{digits}f}", values=(one, "", "")) for one in means)])
        return Table(METRICS[metric][0], tuple(columns), tuple(map(tuple, rows)), notes)
    columns, rows = [Column("kernel")], [[TableCell(results.title(kernel))] for kernel in kernels]
    for name in datasets:
        published = [(reference or {}).get(kernel, {}).get(name) for kernel in kernels]
        columns.append(column(name))
        if any(published):
            columns.append(Column(f"{name} published", (f"{name} published mean", f"{name} published std")))
        for kernel, row, mean_std in zip(kernels, rows, published, strict=True):
            row.append(shown[kernel, name])
            if any(published):
                text = NOT_THERE if mean_std is None else f"{mean_std[0]:.2f} ± {mean_std[1]:.2f}"
                row.append(TableCell(text, values=mean_std or ("", "")))
    return Table(METRICS[metric][0], tuple(columns), tuple(map(tuple, rows)), notes)


def runtime_table(results: Results) -> Table:
    """Return the seconds for computing all Gram matrices once, for each kernel and data set.

    Parameters
    ----------
    results : Results
        Records of one run.

    Returns
    -------
    Table
        A row for each kernel, a column for each data set.

    Raises
    ------
    ValueError
        If the records come from runs that differ in settings, data or version.

    See Also
    --------
    cross_validate : Evaluate kernels.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.evaluation import cross_validate
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 6)
    >>> kernels = {"a": WeisfeilerLehman(1), "b": WeisfeilerLehman(0)}
    >>> results = cross_validate(kernels, graphs, ["path", "triangle"] * 6, n_folds=3, n_repeats=2, dataset="toy")
    >>> runtime_table(results).title
    'Runtime'
    """
    results.require_one_run()
    names = ("fit seconds", "gram seconds", "svm seconds", "peak memory MB")
    columns = [Column(data, tuple(f"{data} {name}" for name in names)) for data in results.datasets]
    rows = []
    for kernel in results.kernels:
        cells = [results.cell(name, kernel) for name in results.datasets]
        rows.append((TableCell(results.title(kernel)), *map(_runtime_cell, cells)))
    notes = (
        "Seconds to fit the kernel and compute its Gram matrices in all settings, once; "
        "after the plus sign, seconds to choose parameters and train in one fold",
        "Imports and compilation are not counted; times of single runs on shared machines are rough",
    )
    return Table("Runtime", (Column("kernel"), *columns), tuple(rows), notes)


def dataset_table(records: Iterable[DatasetRecord] | Results) -> Table:
    """Return a table that describes the data sets, one row each.

    ``records`` come from :func:`relaxwl.evaluation.describe_dataset`, or are those that results hold.

    Examples
    --------
    >>> from relaxwl.evaluation.statistics import describe_dataset
    >>> from relaxwl.graphs import GraphCollection
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])])
    >>> print(dataset_table([describe_dataset("two", graphs, [0, 1])]).to_csv())
    data set,graphs,classes,nodes,edges,density,degree,labels,trees 0,trees 1,trees 2,trees 3,trees 4
    two,2,2,3.0,2.5,0.8333333333333333,1.6666666666666667,0,1,2,3,3,3
    <BLANKLINE>
    """
    held = getattr(records, "dataset_records", None)
    described: list[DatasetRecord] = list(records) if held is None else list(held.values())  # type: ignore[arg-type]
    n_depths = max((len(record.distinct_trees) for record in described), default=0)
    titles = ("data set", "graphs", "classes", "nodes", "edges", "density", "degree", "labels")
    columns = [*map(Column, titles), *(Column(f"trees {depth}") for depth in range(n_depths))]
    rows = []
    for r in described:
        means = (r.mean_nodes, r.mean_edges, r.mean_density, r.mean_degree)
        exact = (r.n_graphs, len(r.class_sizes), *means, r.n_node_labels or 0, *r.distinct_trees)
        forms = (",d", "d", ",.1f", ",.1f", ".3f", ".2f", "d", *[",d"] * len(r.distinct_trees))
        cells = [TableCell(format(value, form), values=(value,)) for value, form in zip(exact, forms, strict=True)]
        missing = [TableCell("", values=("",))] * (n_depths - len(r.distinct_trees))
        rows.append((TableCell(r.name), *cells, *missing))
    notes = (
        "Nodes, edges, density and degree are means over the graphs (degree: over the nodes); "
        "trees i is the number of distinct unfolding trees of depth i",
    )
    return Table("Data sets", tuple(columns), tuple(rows), notes)


def _accuracy_cell(cell: Cell, best: Sequence[Cell]) -> TableCell:
    if not cell.finished:
        return TableCell(MARKS.get(cell.given_up, UNFINISHED), values=("", "", cell.given_up or 0))
    scale, digits = (100, 2) if cell.metric == "accuracy" else (1, DIGITS)
    text = f"{scale * cell.mean:.{digits}f}" + (f" ± {scale * cell.std:.{digits}f}" if cell.has_spread else "")
    std = scale * cell.std if cell.has_spread else ""
    return TableCell(text, bold=cell in best, values=(scale * cell.mean, std, len(cell.accuracies)))


def _accuracy_notes(results: Results, cells: Iterable[Cell], metric: str) -> tuple[str, ...]:
    shown = list(cells)
    finished = [cell for cell in shown if cell.finished]
    counts = sorted({len(cell.accuracies) for cell in finished})
    notes = []
    if results.folds:
        settings = results.folds[0].settings
        given = settings.get("splits")
        span = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0]) if counts else "0"
        what = "mean over" if counts == [1] else "mean ± standard deviation over"
        many = "s" if span != "1" else ""
        of = f"repetition{many} of {settings['n_folds']}-fold cross-validation ({settings['protocol']})"
        of = f"test part{many} ({given}; {settings['protocol']})" if given else of
        notes.append(f"{METRICS[metric][1]}, {what} {span} {of}; the best is marked")
        if given:
            notes.append(
                "The standard deviation is over test parts. It is several times larger than that over repetitions of "
                "cross-validation, in each of which all graphs are tested"
            )
    if metric in BASELINES and finished:
        shares = {cell.dataset: f"{cell.dataset} {cell.written(cell.chance)}" for cell in finished}
        notes.append(f"{BASELINES[metric].capitalize()}: {', '.join(shares.values())}")
    # Predictors are noted in the transductive protocol, where kernels are fitted on all graphs.
    by_itself = (record for record in results.folds if record.inner_accuracy is None and not record.parameters)
    alone = dict.fromkeys(record.title for record in by_itself)
    if alone and results.folds[0].settings["protocol"] == "transductive":
        notes.append(f"{', '.join(alone)}: fitted on the training graphs of each fold, as all predictors are")
    if 1 in counts and not (results.folds and given):
        notes.append("Numbers without ± are from a single repetition")
    notes += [f"{mark} {cause}" for cause, mark in MARKS.items() if any(cell.given_up == cause for cell in shown)]
    if any(not cell.finished and not cell.given_up for cell in shown):
        notes.append(f"{UNFINISHED} not finished")
    if len(counts) > 1:
        notes.append("Not all repetitions are finished: means are over different numbers of repetitions")
    unconverged = sum(record.n_unconverged for record in results.folds)
    if unconverged:
        total = sum(record.n_fits for record in results.folds)
        notes.append(f"{unconverged:,} of {total:,} SVM fits, most of them with large C, reached the iteration limit")
    return tuple(notes)


def _runtime_cell(cell: Cell) -> TableCell:
    if not cell.records:
        return TableCell(MARKS.get(cell.given_up, UNFINISHED), values=("", "", "", ""))
    fit = float(np.mean([record.fit_seconds + record.transform_seconds for record in cell.records]))
    gram = float(np.mean([record.gram_seconds for record in cell.records]))
    svm = float(np.mean([record.svm_seconds for record in cell.records]))
    peak = max((record.peak_memory_mb or 0.0 for record in cell.records), default=0.0)
    return TableCell(f"{duration(fit + gram)} + {duration(svm)}", values=(fit, gram, svm, peak or ""))


PAPER_DATASETS = ("IMDB-BINARY", "REDDIT-BINARY", "EGO-1", "EGO-2", "EGO-3", "EGO-4")
# One line per kernel, one column per data set; – did not finish.
TABLE = """
ve-hist        70.82±0.53 84.07±0.28 29.30±2.84 27.70±2.64 25.10±2.56 24.60±2.10
wl             72.68±1.20 76.08±0.66 54.50±0.94 58.60±1.29 57.70±2.08 57.00±1.77
gs             66.28±1.00 78.02±0.58 64.10±1.98 56.80±1.20 53.30±2.86 51.30±1.96
sp             49.32±0.62 49.86±1.96 67.00±1.46 58.20±1.04 56.60±2.90 54.30±3.49
odd-sth        56.52±1.86 –          32.80±5.84 37.90±2.19 34.80±2.80 34.40±6.40
wwl            72.94±0.59 –          58.20±1.60 64.60±1.08 58.10±2.38 56.30±1.92
pwl            72.58±0.80 78.82±0.31 56.95±2.15 56.85±2.48 50.35±2.60 48.70±1.55
rwl-star-paper 72.16±0.87 87.02±0.38 68.70±1.15 69.30±1.20 71.00±3.54 77.50±0.94
"""


def _accuracies(words: list[str]) -> dict[str, tuple[float, float] | None]:
    cells = (word.split("±") for word in words)
    found = (None if len(cell) < 2 else (float(cell[0]), float(cell[1])) for cell in cells)
    return dict(zip(PAPER_DATASETS, found, strict=True))


PAPER_ACCURACIES = {line.split()[0]: _accuracies(line.split()[1:]) for line in TABLE.strip().splitlines()}


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
    kernels whose ranks differ by less are not distinguished.
    """

    titles: tuple[str, ...]
    means: tuple[float, ...]
    n_datasets: int
    p_value: float
    critical_difference: float


def compare(results: Results, dataset: str, kernel: str, other: str, metric: str | None = None) -> Comparison:
    """Compare two kernels on a data set by the corrected paired t-test over shared folds.

    A positive difference means that ``kernel`` has the higher score.

    Parameters
    ----------
    results : Results
        Records of one run.
    dataset, kernel, other : str
        Names of the data set and of the two kernels.
    metric : str, optional
        The score, by default the accuracy, or ``"rmse"`` for regression; see :meth:`Results.cell`.

    Returns
    -------
    Comparison
        ``difference``, ``p_value`` and ``n_folds``.

    See Also
    --------
    significance_table : Compare all kernels with the best one.

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
    """Return difference and Holm-corrected p-value of each kernel against the best one of each data set.

    The best kernel is marked. It is selected by the same scores, so p-values tend to be too small.

    Parameters
    ----------
    results : Results
        Records of one run.
    metric : str, optional
        The score, by default the accuracy, or ``"rmse"`` for regression; see :meth:`Results.cell`.

    Returns
    -------
    Table
        A row for each kernel, a column for each data set.

    See Also
    --------
    compare : Two kernels on one data set.
    mean_ranks : Ranks over several data sets.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.evaluation import cross_validate
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 6)
    >>> kernels = {"a": WeisfeilerLehman(1), "b": WeisfeilerLehman(0)}
    >>> results = cross_validate(kernels, graphs, ["path", "triangle"] * 6, n_folds=3, n_repeats=2, dataset="toy")
    >>> significance_table(results).rows[1][1].text
    '-50.00 (p 0.000)'
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

    Parameters
    ----------
    results : Results
        Records of one run.
    metric : str, optional
        The score, by default the accuracy, or ``"rmse"`` for regression; see :meth:`Results.cell`.

    Returns
    -------
    Ranks
        ``titles``, ``means``, Friedman's ``p_value`` and Nemenyi's ``critical_difference``.

    Raises
    ------
    ValueError
        If there is no such data set, or a single kernel.

    See Also
    --------
    significance_table : Differences from the best kernel on each data set.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.evaluation import cross_validate
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 6)
    >>> kernels = {"a": WeisfeilerLehman(1), "b": WeisfeilerLehman(0)}
    >>> results = cross_validate(kernels, graphs, ["path", "triangle"] * 6, n_folds=3, n_repeats=2, dataset="toy")
    >>> mean_ranks(results).means
    (1.0, 2.0)
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

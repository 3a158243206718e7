"""Plots of results; each function returns a matplotlib figure (extra ``plot``).

Figures are drawn in one ink color without background, so that the same figure can be saved on white or included in a
page, where the ink becomes the text color of the page, light or dark. Series differ in color (of a palette for the
color-blind) and in marker.
"""

from __future__ import annotations

import functools
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from relaxwl._storage import atomic_write
from relaxwl.evaluation.results import Results
from relaxwl.evaluation.tables import BASELINES, METRICS, Ranks
from relaxwl.explanation import Explanation
from relaxwl.learning.scoring import get_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1e2a35"
# Based on the palette of Okabe and Ito, in an order in which neighbors differ clearly; without yellow, which is not
# visible on white, and with a blue that is visible on black.
COLORS = ("#1f83cc", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h", "<", ">", "p")
EMPHASIS, PLAIN = "#d55e00", "#1f83cc"
STYLE: dict[Any, Any] = {
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "grid.linewidth": 0.7,
    "font.size": 10,
    "legend.frameon": False,
    "svg.hashsalt": "relaxwl",
}
Arguments = ParamSpec("Arguments")
NO_MATPLOTLIB = "plots need matplotlib; install it with: pip install 'relaxwl[plot]'"


def _styled(draw: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Return a function that draws in the style of the package, or raises an error if matplotlib is missing."""

    @functools.wraps(draw)
    def drawn(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        try:
            from matplotlib import rc_context
        except ImportError:
            raise ImportError(NO_MATPLOTLIB) from None
        with rc_context(STYLE):
            return draw(*args, **kwargs)

    return drawn


@_styled
def accuracy_figure(results: Results, dataset: str, metric: str | None = None) -> Figure:
    """Draw the scores of the kernels on one data set, with error bars of one standard deviation, best at the top.

    A dotted line marks the majority-class baseline, or in regression the RMSE of the mean predictor. Relaxed kernels
    are highlighted. Kernels with a single repetition have no bar.

    Parameters
    ----------
    results : Results
        The results of :func:`relaxwl.evaluation.cross_validate`.
    dataset : str
        Name of the data set.
    metric : str, optional
        The score, by default the accuracy, or ``"rmse"`` for regression; see :meth:`relaxwl.evaluation.Results.cell`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    See Also
    --------
    runtime_figure : Runtime instead of scores.
    relaxwl.evaluation.results_table : The scores as a table.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.evaluation import cross_validate
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 6)
    >>> kernels = {"a": WeisfeilerLehman(1), "b": WeisfeilerLehman(0)}
    >>> results = cross_validate(kernels, graphs, ["path", "triangle"] * 6, n_folds=3, n_repeats=2, dataset="toy")
    >>> [label.get_text() for label in accuracy_figure(results, "toy").axes[0].get_yticklabels()]
    ['b', 'a']
    """
    cells = [results.cell(dataset, kernel, metric) for kernel in results.kernels]
    cells = sorted((cell for cell in cells if cell.finished), key=lambda cell: -cell.rank)
    _require(cells, f"no finished results on {dataset}")
    scale, title = (100, "accuracy, %") if cells[0].metric == "accuracy" else (1, METRICS[cells[0].metric][0])
    figure, axes = _figure(4.6, 0.9 + 0.33 * len(cells))
    for row, cell in enumerate(cells):
        color = EMPHASIS if is_relaxed(cell.kernel) else PLAIN
        marker = "D" if is_relaxed(cell.kernel) else "o"
        spread = scale * cell.std if cell.has_spread else None
        axes.errorbar(
            scale * cell.mean, row, xerr=spread, fmt=marker, color=color, markersize=6, capsize=3, linewidth=1.6
        )
        text = cell.written(cell.mean).removesuffix(" %")
        axes.annotate(text, (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    if cells[0].metric in BASELINES:
        axes.axvline(scale * cells[0].chance, color=INK, linewidth=1, linestyle=":", alpha=0.6)
    axes.set_yticks(range(len(cells)), [verbatim(cell.title) for cell in cells])
    axes.set_ylim(-0.6, len(cells) - 0.4)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_title(verbatim(dataset))
    axes.set_xlabel(title)
    return figure


@_styled
def runtime_figure(results: Results) -> Figure:
    """Draw the seconds for the Gram matrices of each kernel on each data set, on a logarithmic scale.

    Parameters
    ----------
    results : Results
        The results of :func:`relaxwl.evaluation.cross_validate`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    See Also
    --------
    accuracy_figure : Scores instead of runtime.
    relaxwl.evaluation.runtime_table : The seconds as a table.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.evaluation import cross_validate
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 6)
    >>> kernels = {"a": WeisfeilerLehman(1), "b": WeisfeilerLehman(0)}
    >>> results = cross_validate(kernels, graphs, ["path", "triangle"] * 6, n_folds=3, n_repeats=2, dataset="toy")
    >>> runtime_figure(results).axes[0].get_xscale()
    'log'
    """
    cells = {(k, d): results.cell(d, k) for k in results.kernels for d in results.datasets}
    timed = {place: cell for place, cell in cells.items() if cell.records}
    _require(timed, "no finished results")
    from matplotlib.ticker import LogLocator, NullLocator

    kernels = [kernel for kernel in results.kernels if any(place[0] == kernel for place in timed)]
    figure, axes = _figure(5.4, 1.5 + 0.36 * len(kernels) + 0.2 * ((len(results.datasets) - 1) // 3))
    for number, dataset in enumerate(results.datasets):
        points = [
            (float(np.mean([record.kernel_seconds for record in timed[k, dataset].records])), row)
            for row, k in enumerate(reversed(kernels))
            if (k, dataset) in timed
        ]
        color, marker = COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)]
        xs, ys = zip(*points, strict=True) if points else ((), ())
        axes.plot(
            xs, ys, linestyle="none", color=color, marker=marker, markersize=7, alpha=0.9, label=verbatim(dataset)
        )
    titles = {place[0]: cell.title for place, cell in timed.items()}
    axes.set_yticks(range(len(kernels)), [verbatim(titles[kernel]) for kernel in reversed(kernels)])
    axes.set_ylim(-0.6, len(kernels) - 0.4)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(visible=True)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("seconds for the Gram matrices of all settings, once")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, handletextpad=0.3, columnspacing=1.2, borderaxespad=0)
    return figure


@_styled
def ranks_figure(ranks: Ranks) -> Figure:
    """Draw mean ranks on a line, best at the left; bars join kernels closer than the critical difference.

    Parameters
    ----------
    ranks : Ranks
        The result of :func:`relaxwl.evaluation.mean_ranks`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    See Also
    --------
    accuracy_figure : Scores on one data set.
    relaxwl.evaluation.mean_ranks : The ranks.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.evaluation import cross_validate
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 6)
    >>> kernels = {"a": WeisfeilerLehman(1), "b": WeisfeilerLehman(0)}
    >>> results = cross_validate(kernels, graphs, ["path", "triangle"] * 6, n_folds=3, n_repeats=2, dataset="toy")
    >>> from relaxwl.evaluation import mean_ranks
    >>> [text.get_text() for text in ranks_figure(mean_ranks(results)).axes[0].texts]
    [' b  2.00', ' a  1.00']
    """
    order = sorted(range(len(ranks.means)), key=lambda i: ranks.means[i])
    means = [ranks.means[i] for i in order]
    figure, axes = _figure(7.0, 1.2 + 0.28 * len(order))
    # The best are labeled lowest, so that no line crosses the label of another.
    for height, (i, mean) in enumerate(zip(order[::-1], means[::-1], strict=True), 1):
        axes.plot([mean, mean], [0, -height], color=INK, linewidth=0.7)
        axes.plot(mean, 0, marker="o", color=EMPHASIS if ranks.titles[i].startswith("R-WL") else PLAIN)
        axes.text(mean, -height, f" {verbatim(ranks.titles[i])}  {mean:.2f}", va="center")
    ends = [max(k for k in range(len(means)) if means[k] - means[i] < ranks.critical_difference)
            for i in range(len(means))]  # fmt: skip
    bars = [(i, end) for i, end in enumerate(ends) if end > i and (i == 0 or end > ends[i - 1])]
    for height, (first, last) in enumerate(bars, 1):
        axes.plot([means[first] - 0.03, means[last] + 0.03], [0.35 * height] * 2, color=INK, linewidth=3)
    axes.set_xlim(0.8, len(order) + 1.2)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    apart = f"{ranks.critical_difference:.2f}"
    axes.set_xlabel(f"mean rank over {ranks.n_datasets} data sets; joined: less than {apart} apart")
    return figure


@_styled
def clusters_figure(explanation: Explanation, n_clusters: int = 10, confidence: float = 0.95) -> Figure:
    """Draw the highest-ranked clusters with their effect sizes and confidence intervals.

    Parameters
    ----------
    explanation : Explanation
        The result of :func:`relaxwl.explanation.explain`.
    n_clusters : int, default=10
        Number of clusters, from the top of the ranking.
    confidence : float, default=0.95
        Level of the confidence intervals.

    Returns
    -------
    matplotlib.figure.Figure
        One row per cluster: the difference of its mean counts between the class in which it is enriched and the other
        classes, or its correlation with a numeric target. Clusters that are not better than chance are hollow.

    See Also
    --------
    relaxwl.reports.write_explorer : Interactive page of the clusters.
    relaxwl.explanation.Explanation.to_pandas : The values as a table.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.explanation import explain
    >>> path, star = [(i, i + 1) for i in range(6)], [(0, i) for i in range(1, 7)]
    >>> graphs = GraphCollection.from_edges([(7, path), (7, star)] * 10)
    >>> figure = clusters_figure(explain(WeisfeilerLehman(1), graphs, ["path", "star"] * 10), n_clusters=3)
    >>> len(figure.axes[0].get_yticklabels())
    3
    """
    table = explanation.to_pandas(confidence).head(n_clusters)
    _require(explanation.clusters, "the explanation has no clusters")
    numeric = explanation.target.values is not None
    value = table["correlation" if numeric else "difference"]
    figure, axes = _figure(6.4, 0.9 + 0.36 * len(table))
    for place, row in table.iterrows():
        code = 0 if numeric else list(explanation.classes).index(row["enriched in"])
        color, height = COLORS[code % len(COLORS)], len(table) - 1 - place
        axes.plot([row["low"], row["high"]], [height, height], color=color, linewidth=1.6)
        filled = color if explanation.clusters[place].better_than_chance else "none"
        axes.plot(value[place], height, "o", color=color, markerfacecolor=filled, markersize=6)
    names = [f"{row['rank']}. {row['center']}" for _, row in table.iterrows()]
    shown = [verbatim(name if len(name) <= 40 else name[:37] + "…") for name in names]
    axes.set_yticks(range(len(table)), shown[::-1], fontsize=8)
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.axvline(0, color=INK, linewidth=1, linestyle=":", alpha=0.6)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("correlation with the target" if numeric else "difference of mean counts to the other classes")
    if not numeric:
        for code, name in enumerate(explanation.classes):
            axes.plot([], [], "o", color=COLORS[code % len(COLORS)], label=verbatim(f"enriched in {name}"))
        axes.legend(fontsize=8)
    return figure


@_styled
def curves_figure(y: Any, probabilities: Any, classes: Sequence[Any]) -> Figure:
    """Draw the ROC curve and the precision-recall curve of a classifier, one of each for every class.

    Parameters
    ----------
    y : sequence of n classes
        The true classes.
    probabilities : array-like (n, n_classes)
        The result of ``predict_proba`` for graphs that the model was not fitted on.
    classes : sequence
        The model's ``classes_``. Of two classes, the curves are those of the second.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    See Also
    --------
    observed_figure : Observed against predicted numbers.
    relaxwl.GraphClassifier.predict_proba : The probabilities.

    Examples
    --------
    >>> probabilities = [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]
    >>> figure = curves_figure(["path", "path", "star", "star"], probabilities, ["path", "star"])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['ROC', 'Precision and recall']
    """
    from matplotlib.figure import Figure
    from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

    truth, table = np.asarray(y), np.asarray(probabilities, np.float64)
    if table.shape != (len(truth), len(classes)):
        raise ValueError(f"probabilities must have shape {(len(truth), len(classes))}, not {table.shape}")
    codes = [1] if len(classes) == 2 else range(len(classes))
    shown = [code for code in codes if 0 < (truth == classes[code]).sum() < len(truth)]
    _require(shown, "y contains a single class, which has no curve")
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    ranks, precisions = figure.subplots(1, 2)
    for number, code in enumerate(shown):
        is_class, scores, color = truth == classes[code], table[:, code], COLORS[number % len(COLORS)]
        name = verbatim(str(classes[code]))
        false, true, _ = roc_curve(is_class, scores)
        ranks.plot(false, true, color=color, label=f"{name}: area {roc_auc_score(is_class, scores):.3f}")
        precision, recall, _ = precision_recall_curve(is_class, scores)
        area = average_precision_score(is_class, scores)
        precisions.step(recall, precision, where="post", color=color, label=f"{name}: average {area:.3f}")
        precisions.axhline(is_class.mean(), color=color, linewidth=1, linestyle=":", alpha=0.6)
    ranks.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle=":", alpha=0.6)
    ranks.set(title="ROC", xlabel="false positive rate", ylabel="true positive rate")
    precisions.set(title="Precision and recall", xlabel="recall", ylabel="precision", ylim=(0, 1.03))
    for axes in (ranks, precisions):
        axes.grid()
        axes.legend(fontsize=9)
    return figure


@_styled
def observed_figure(y: Any, predicted: Any, std: Any = None) -> Figure:
    """Draw observed against predicted numbers, with RMSE and R² in the title.

    Parameters
    ----------
    y : sequence of n numbers
        The measured values.
    predicted : sequence of n numbers
        The result of ``predict`` for graphs that the model was not fitted on.
    std : sequence of n numbers, optional
        Standard deviations of the predictions, drawn as bars.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    See Also
    --------
    curves_figure : ROC and precision-recall curves of a classifier.
    relaxwl.GraphRegressor.predict : The predictions.

    Examples
    --------
    >>> figure = observed_figure([1.0, 2.0, 3.0], [1.1, 1.9, 3.2], std=[0.2, 0.2, 0.3])
    >>> figure.axes[0].get_title(loc="left")
    'RMSE 0.141, R² 0.97'
    """
    observed, values = np.asarray(y, np.float64), np.asarray(predicted, np.float64)
    if observed.ndim != 1 or observed.shape != values.shape:
        raise ValueError(f"y and predicted must be of one length, not of shapes {observed.shape} and {values.shape}")
    known = np.isfinite(observed)
    _require(observed[known].tolist(), "no observed number")
    figure, axes = _figure(4.4, 4.2)
    bars = None if std is None else np.asarray(std, np.float64)[known]
    axes.errorbar(
        values[known], observed[known], xerr=bars, fmt="o", markersize=4, color=PLAIN, ecolor="#1f83cc55", alpha=0.8
    )
    ends = [min(observed[known].min(), values[known].min()), max(observed[known].max(), values[known].max())]
    axes.plot(ends, ends, color=INK, linewidth=1, linestyle=":", alpha=0.6)
    rmse = get_score("rmse", "regression")(observed[known], values[known])
    r2 = get_score("r2", "regression")(observed[known], values[known])
    axes.set(xlabel="predicted", ylabel="observed", title=f"RMSE {rmse:.3g}, R² {r2:.2f}")
    axes.grid()
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to an SVG, PNG or PDF file, on a white background.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : path
        The file; its extension determines the format.

    See Also
    --------
    accuracy_figure : Draw the scores of kernels.
    observed_figure : Draw observed against predicted numbers.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> figure = observed_figure([1.0, 2.0, 3.0], [1.1, 1.9, 3.2])
    >>> with TemporaryDirectory() as folder:
    ...     save_figure(figure, Path(folder, "observed.svg"))
    ...     Path(folder, "observed.svg").exists()
    True
    """
    from matplotlib import rc_context

    ending = Path(path).suffix.lower()
    metadata = {"Date": None} if ending == ".svg" else None
    with rc_context({**STYLE, "svg.fonttype": "path"}), atomic_write(path) as file:
        figure.savefig(
            file, format=ending[1:] or "png", facecolor="white", bbox_inches="tight", dpi=160, metadata=metadata
        )


def inline_svg(figure: Figure, name: str, description: str) -> str:
    """Return a figure as an SVG element in the page's colors and fonts, with a text for screen readers.

    ``name`` must be unique on the page; it distinguishes the identifiers of several figures.
    """
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({**STYLE, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", bbox_inches="tight", dpi=160, metadata={"Date": None})
    head, _, rest = buffer.getvalue().partition("<svg")[2].partition(">")
    width = re.search(r'width="([\d.]+)pt"', head)
    pixels = round(float(width.group(1)) * 4 / 3) if width else 600
    # Width and colors are those of the page.
    head = re.sub(r' (width|height)="[\d.]+pt"', "", head)
    svg = f'<svg{head} role="img" aria-label="{escape(description)}" style="max-width:{pixels}px">{rest}'
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg).replace(INK, "currentColor")


def verbatim(name: str) -> str:
    r"""Return a name escaped for matplotlib: no formulas, no invalid characters.

    >>> print(verbatim("a $5 set"), verbatim("\x00"))
    a \$5 set �
    """
    text = "".join(letter if letter.isprintable() else "�" for letter in name).replace("$", r"\$")
    return f"\N{HAIR SPACE}{text}" if text.startswith("_") else text  # legends omit labels that begin with "_"


def is_relaxed(kernel: str) -> bool:
    """Return whether a kernel's name is that of a relaxed kernel, which plots highlight."""
    return kernel.lower().startswith(("rwl", "relaxed", "r-wl"))


# ----------------------------------------------------------------------------------------- inside


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _require(what: Sequence[Any] | Mapping[Any, Any], reason: str) -> None:
    if not what:
        raise ValueError(f"there is nothing to draw: {reason}")

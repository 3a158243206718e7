"""A test of whether two collections of graphs come from one distribution."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammainc, gammaincc

from relaxwl._execution import cached_property
from relaxwl._progress import html_table, report
from relaxwl._validation import ParameterError, as_seed, check_integer
from relaxwl.comparison.design import Design, read_covariates, read_strata
from relaxwl.comparison.differences import Differences, find_differences
from relaxwl.comparison.separation import Separation, separate
from relaxwl.comparison.views import Pool, read_sides
from relaxwl.explanation import Explanation, explain
from relaxwl.graphs.arrays import Float64
from relaxwl.predictors.views import CountView

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# How many other views each of these outweighs: its p-value is divided by this number.
WEIGHTS = {"statistics": 3.0, "clustering": 3.0}
# Rows of permutations that are multiplied at a time.
ROWS_AT_ONCE = 512
# Relative size of rounding errors, within which statistics are equal.
TIED = 1e-9
# Deviation of a statistic that differs from all others, which are equal.
FAR = 1e3


@dataclass(frozen=True)
class ViewResult:
    """One view of two collections.

    Attributes
    ----------
    view : str
        Name of the view.
    mmd2 : float
        Squared maximum mean discrepancy (unbiased), in units of the variance of the pooled graphs.
    pvalue : float
        Its p-value as if it were the only view.
    adjusted : float
        Its p-value corrected for the number of views; the smallest is that of the test.
    distance : float
        Lower bound of the Jensen-Shannon distance from this view alone.
    auroc : float
        Area under the ROC curve from this view alone.
    """

    view: str
    mmd2: float
    pvalue: float
    adjusted: float
    distance: float
    auroc: float


@dataclass(frozen=True, eq=False)
class TwoSampleResult:
    """The comparison of two collections; returned by :func:`relaxwl.two_sample_test`.

    Parameters
    ----------
    pvalue : float
        Probability of views that differ at least as much if both collections come from one distribution.
    distance : float
        Lower bound of the Jensen-Shannon distance of the distributions, from 0 (equal, or not told apart) to 1.
    interval : tuple of float
        Its bootstrap interval (95 %).
    auroc : float
        Area under the ROC curve of predictions of the collection that a graph comes from.
    by_view : tuple of ViewResult
        The views, the most significant first.
    sizes : tuple of int
        Number of graphs of each collection.
    n_permutations : int
        Number of permutations.
    notes : tuple of str
        What was left out or sampled.
    names : tuple of str, default=("X", "Y")
        Names of the collections.
    pool : Pool
        The graphs of both collections, and the fitted views.
    design : Design
        The collection of each of these graphs, and how it is permuted.
    separation : Separation
        The predictions of the collections.
    seed : int
        Seed of the permutations.

    See Also
    --------
    relaxwl.reports.write_comparison : Write a result to an HTML page.

    Examples
    --------
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(24, level=1, n_nodes=20, random_state=0)
    >>> result = two_sample_test(graphs[y < 2], graphs[y >= 2], n_permutations=99, random_state=0)
    >>> result.sizes, [one.view for one in result.by_view if one.adjusted == result.pvalue] != []
    ((12, 12), True)
    """

    pvalue: float
    distance: float
    interval: tuple[float, float]
    auroc: float
    by_view: tuple[ViewResult, ...]
    sizes: tuple[int, int]
    n_permutations: int
    notes: tuple[str, ...]
    names: tuple[str, str] = ("X", "Y")
    pool: Pool = field(repr=False, kw_only=True)
    design: Design = field(repr=False, kw_only=True)
    separation: Separation = field(repr=False, kw_only=True)
    seed: int = field(repr=False, kw_only=True)

    @property
    def views(self) -> Any:
        """The views as a pandas DataFrame, one row for each."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("a table of views needs pandas: pip install pandas") from None
        return pd.DataFrame([vars(one) for one in self.by_view]).set_index("view")

    def explain(self) -> Differences:
        """Return the clusters of neighborhoods and the statistics that differ, and typical graphs.

        Returns
        -------
        Differences
            What differs, the most significant first.
        """
        return self._differences

    @cached_property
    def _differences(self) -> Differences:
        residuals = self.design.permuted(self.n_permutations, self.seed)
        return find_differences(
            self.pool, self.design, residuals, self.separation.probabilities, self.sizes, self.names
        )

    def explanation(self) -> Explanation:
        """Return the clusters of one kernel that separate the collections, for the explorer.

        Returns
        -------
        Explanation
            The input of :func:`relaxwl.reports.write_explorer`; its p-values ignore strata and covariates.
        """
        kernels = [view.kernel for view in self.pool.fitted.views if isinstance(view, CountView) and view.has_clusters]
        if not kernels:
            raise ValueError("the explorer shows clusters of trees; add 'trees' to views")
        # Relaxed kernels come last, and their trees are centers of clusters.
        labels = np.array(self.names)[self.design.is_y.astype(int)]
        return explain(kernels[-1], self.pool.graphs, labels, n_permutations=self.n_permutations)

    def __str__(self) -> str:
        low, high = self.interval
        said = "differ" if self.pvalue <= 0.05 else "do not differ significantly"
        lines = [
            f"{self.names[0]} ({self.sizes[0]:,} graphs) and {self.names[1]} ({self.sizes[1]:,} graphs) {said}: "
            f"p = {self.pvalue:.3g} ({self.n_permutations:,} permutations)",
            f"distance at least {self.distance:.2f} ({low:.2f} to {high:.2f}), AUROC {self.auroc:.2f}",
        ]
        width = max(len(one.view) for one in self.by_view)
        lines += [
            f"  {one.view:{width}}  p = {one.pvalue:.3g} (corrected {one.adjusted:.3g}), distance {one.distance:.2f}"
            for one in self.by_view
        ]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])

    def rows(self) -> list[tuple[str, ...]]:
        """Return the views as rows of text.

        Returns
        -------
        list of tuple of str
            View, p-value, corrected p-value, squared discrepancy, distance and AUROC.
        """
        return [
            (one.view, f"{one.pvalue:.3g}", f"{one.adjusted:.3g}", f"{one.mmd2:.3f}", f"{one.distance:.2f}",
             f"{one.auroc:.2f}")
            for one in self.by_view
        ]  # fmt: skip

    def _repr_html_(self) -> str:
        """Show the result in a notebook."""
        head = "<br>".join(escape(line) for line in str(self).split("\n")[:2])
        return f"<p>{head}</p>{html_table(COLUMNS, self.rows())}"

    def to_figure(self) -> "Figure":
        """Draw the distance of each view, and the probabilities of the graphs of each collection.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("figures need matplotlib; install it with: pip install 'relaxwl[plot]'") from None
        figure = Figure((8.0, 0.9 + 0.4 * max(len(self.by_view), 4)), layout="constrained")
        left, right = figure.subplots(1, 2)
        shown = [("together", self.distance, self.pvalue)]
        shown += [(one.view, one.distance, one.adjusted) for one in self.by_view]
        # Gray bars are views that do not differ significantly, however large their bound is.
        colors = ["#d55e00" if p <= 0.05 else "#7f7f7f" for _, _, p in shown]
        left.barh(range(len(shown)), [distance for _, distance, _ in shown], color=colors)
        left.set_yticks(range(len(shown)), [name for name, _, _ in shown])
        left.invert_yaxis()
        left.errorbar(self.distance, 0, xerr=[[max(self.distance - self.interval[0], 0)],
                      [max(self.interval[1] - self.distance, 0)]], color="#1e2a35", capsize=3)  # fmt: skip
        left.set(xlim=(0, 1), xlabel="Jensen-Shannon distance, at least (orange: significant)")
        bins = np.linspace(0, 1, 21)
        for side, name, color in zip(
            (~self.design.is_y, self.design.is_y), self.names, ("#1f83cc", "#d55e00"), strict=True
        ):
            right.hist(self.separation.probabilities[side], bins, alpha=0.6, label=name, color=color)
        right.set(xlabel=f"probability of {self.names[1]}, predicted without the graph", ylabel="graphs")
        right.legend(frameon=False)
        return figure


COLUMNS = ("view", "p-value", "corrected", "MMD²", "distance", "AUROC")


def two_sample_test(
    X: Any,
    Y: Any,
    *,
    strata: Any = None,
    covariates: Any = None,
    n_permutations: int = 999,
    views: str | Sequence[str] = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> TwoSampleResult:
    """Test whether two collections of graphs come from one distribution, and measure how far they are apart.

    Kernels are fitted to the graphs of both collections without knowing the sides. For each view the statistic is the
    squared maximum mean discrepancy of the collections. Its p-value is that of a Pearson type III distribution with the
    moments of the permutations, the test statistic is the smallest p-value over the views, each divided by a weight (3
    for statistics and clustering, else 1, times the share of pairs of graphs that differ in the view), and its own
    distribution is that of the same permutations. So the level is exact for every
    number of graphs.

    Parameters
    ----------
    X, Y : GraphCollection or anything that ``relaxwl.as_collection`` accepts
        The collections. For molecules, SMILES or RDKit's molecules, descriptors and fingerprints are views too.
    strata : pair of array-like, optional
        The stratum (site, batch) of each graph of X, and of Y. Graphs are permuted within strata, so that a difference
        between strata is no difference between the collections.
    covariates : pair of array-like, optional
        Numbers (age, head motion) of each graph of X, and of Y: one column or several. The probability of a side is
        modeled by a logistic regression on them and their squares, permutations are drawn with these probabilities
        [1]_ [2]_, and what the covariates explain is removed from each permutation. The level is then exact as far as
        the model is true. Distances and means weigh graphs so that the sides have the same covariates [3]_.
    n_permutations : int, default=999
        Number of permutations; the smallest possible p-value is 1 / (n_permutations + 1).
    views : "auto" or sequence of str, default="auto"
        The views to use: those of ``result.views``.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None, default=None
        Seeds clusters, permutations and the bootstrap.
    verbose : int, default=0
        1 logs progress.

    Returns
    -------
    TwoSampleResult
        p-value, distance, AUROC and views; ``explain()`` says what differs.

    See Also
    --------
    relaxwl.GraphDiscrepancy : Compare many collections with one reference.
    relaxwl.reports.write_comparison : Write a result to an HTML page.

    Notes
    -----
    The views are trees (Weisfeiler-Lehman kernels, exact and relaxed), nodes as vectors, statistics of whole graphs,
    histograms of local clustering, and cycles and cliques of up to four nodes. Of more than 5,000 graphs together, a
    random sample is compared.

    References
    ----------
    .. [1] Rosenbaum, Conditional permutation tests and the propensity score in observational studies, JASA 79, 1984.
    .. [2] Berrett, Wang, Barber and Samworth, The conditional permutation test for independence while controlling for
       confounders, JRSS B 82, 2020.
    .. [3] Li, Morgan and Zaslavsky, Balancing covariates via propensity score weighting, JASA 113, 2018.

    Examples
    --------
    >>> from relaxwl.datasets import make_block_graphs
    >>> graphs, y = make_block_graphs(40, n_noise_edges=0, random_state=0)
    >>> result = two_sample_test(graphs[:20], graphs[20:], n_permutations=99, random_state=0)
    >>> 0 < result.pvalue <= 1, 0 <= result.distance <= 1
    (True, True)
    """
    check_integer("n_permutations", n_permutations, least=19)
    sides = read_sides(X, Y)
    if sides[0] == sides[1]:
        raise ParameterError("X and Y are the same graphs; a test compares two samples without common graphs")
    n_x, n_y = (len(side) for side in sides)
    cells, table, seed = read_strata(strata, n_x, n_y), read_covariates(covariates, n_x, n_y), as_seed(random_state)
    pool = Pool.of(sides, views, seed, n_jobs, verbose, cells)
    report(verbose, "kernels fitted; permuting", share=0.7)
    # From here on graphs are in the random order of the pool, and only the design knows their sides.
    design = Design.of(pool.places >= n_x, cells[pool.places], table[pool.places])
    residuals = design.permuted(n_permutations, seed)

    names, values = list(pool.blocks), view_statistics(pool.blocks, residuals)
    combined = combined_scores(values, view_weights(pool.blocks))
    # The largest score of each permutation corrects for the choice among the views.
    largest = combined.max(axis=1)

    report(verbose, "permuted; predicting the sides", share=0.8)
    separation = separate(pool.blocks, design, seed)
    rows = []
    for place, name in enumerate(names):
        # A single view has no weights to learn, so its process has a given noise.
        alone = separation if len(names) == 1 else separate({name: pool.blocks[name]}, design, seed, learned=False)
        rows.append(ViewResult(
            name, mmd2(pool.blocks[name], design.is_y), share_reached(values[:, place], values[0, place]),
            share_reached(largest, combined[0, place]), alone.distance, alone.auroc,
        ))  # fmt: skip
    order = sorted(range(len(rows)), key=lambda place: (rows[place].adjusted, -combined[0, place]))
    return TwoSampleResult(
        share_reached(largest, largest[0]), separation.distance, separation.interval, separation.auroc,
        tuple(rows[place] for place in order), (n_x, n_y), n_permutations, tuple(pool.notes),
        pool=pool, design=design, separation=separation, seed=seed,
    )  # fmt: skip


def view_statistics(blocks: Mapping[str, Float64], residuals: Float64) -> Float64:
    """Return the statistic of each view (columns) for the sides as they are, in the first row, and permuted."""
    return np.column_stack([discrepancies(block, residuals) for block in blocks.values()])


def combined_scores(values: Float64, weights: Float64) -> Float64:
    """Return -log(p) of the statistics of each view, with its p-value divided by its weight."""
    return np.asarray(tail_scores(values) + np.log(weights))


def view_weights(blocks: Mapping[str, Float64]) -> Float64:
    """Return the weight of each view: less, the more pairs of graphs are equal in it.

    A view in which nearly all graphs are equal, as clustering of molecules, can hardly find a difference, but each view
    costs power. Weights know no sides, so the test stays exact.
    """
    weights = []
    for name, block in blocks.items():
        own = np.diag(block)
        differ = own[:, None] + own - 2 * block > 1e-9 * max(float(own.max()), 1e-300)
        weights.append(WEIGHTS.get(name, 1.0) * max(float(differ.mean()), 1 / len(block) ** 2))
    return np.array(weights)


def discrepancies(gram: Float64, residuals: Float64) -> Float64:
    """Return wᵀKw for each row w of residuals, without the diagonal of K.

    For residuals of two sides of sizes m and n this is (mn / (m + n))² times the squared discrepancy, up to a term that
    is the same for all permutations if every graph is equally similar to itself.
    """
    apart = gram - np.diag(np.diag(gram))
    # Parts of the rows, so that products of thousands of permutations do not fill the memory.
    found = np.empty(len(residuals))
    for start in range(0, len(residuals), ROWS_AT_ONCE):
        some = residuals[start : start + ROWS_AT_ONCE]
        found[start : start + ROWS_AT_ONCE] = np.einsum("bi,bi->b", some @ apart, some)
    # What differs by rounding only is equal: permutations that are the same division must tie.
    size = float(np.abs(apart).max(initial=0.0)) * gram.shape[0] or 1.0
    return np.asarray(np.round(found / size / TIED) * TIED * size)


def tail_scores(values: Float64) -> Float64:
    """Return -log(p) of each value given the others in its column (n_rows, n_columns).

    p is the upper tail of a Pearson type III (shifted gamma) distribution with the mean, variance and skewness of the
    other rows. All rows are treated alike, the first one, of the data, included, so that a test stays exact; and scores
    of different columns are comparable beyond the range of the permutations.
    """
    # Moments without each row follow from those of all; differences to the median keep them exact in spite of outliers.
    centered = values - np.median(values, axis=0)
    n_others = len(values) - 1
    mean, square, cube = ((np.sum(centered**k, axis=0) - centered**k) / n_others for k in (1, 2, 3))
    variance = square - mean**2
    varies = variance > 1e-12 * np.square(centered).max(axis=0)
    spread = np.sqrt(np.where(varies, variance, 1.0))
    z = np.where(varies, centered - mean, np.sign(np.round(centered - mean, 12)) * FAR) / spread
    skewness = (cube - 3 * mean * square + 2 * mean**3) / spread**3
    # A curve without skewness has an infinite shape; with very little it is as good as normal.
    skewness = np.where(np.abs(skewness) < 1e-3, 1e-3, skewness)
    shape = 4 / skewness**2
    place = np.maximum(shape + np.sign(skewness) * np.sqrt(shape) * z, 0.0)
    tails = np.where(skewness > 0, gammaincc(shape, place), gammainc(shape, place))
    # Beyond the smallest floating-point number scores grow with z.
    scores = np.where(tails > 1e-290, -np.log(np.maximum(tails, 1e-290)), 700.0 + z)
    return np.asarray(np.round(scores, 9))


def share_reached(values: Float64, least: float) -> float:
    """Return the p-value: the share of the values, that of the data included, that are at least as large."""
    return float((values >= least).mean())


def mmd2(gram: Float64, is_y: Any) -> float:
    """Return the unbiased squared maximum mean discrepancy."""
    means = []
    for side in (is_y, ~is_y):
        own = gram[np.ix_(side, side)]
        means.append((own.sum() - np.trace(own)) / (len(own) * (len(own) - 1)))
    return float(sum(means) - 2 * gram[np.ix_(is_y, ~is_y)].mean())

"""Which kernels a predictor averages: few fits, several views of each, by how much effort is wanted.

Many cheap partitions (random trees as centres, one exact assignment, no rounds of k-means) beat few good ones, as many
random trees beat one in a forest; and an average of kernels needs no choice, which small inner folds make badly.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from relaxwl._validation import check_choice
from relaxwl.costs import EditCost
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.kernels.base import SIMILARITIES, CountKernel
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.gram import gram

EFFORTS = ("quick", "balanced", "thorough")

# Multiples of √trees: many small groups, and few large ones. The largest numbers come first, so that no worker is left
# with a long one at the end.
FINE, COARSE = (4.0, 2.0), (1.0, 0.5)
PATH_GROUPS = (0.5, 0.25)
# Pairs of vertices, all graphs together, up to which shortest paths are worth their price.
MAX_PAIRS = 3e7
# The λ of exp(−λ·D), for distances D that lie between 0 and 1.
DECAYS = (1.0, 4.0)
# Vectors that attributes are quantised to.
N_CODES = 16


@dataclass(frozen=True)
class Size:
    """How much of everything an effort takes."""

    depth: int
    partitions: int
    path_partitions: int


SIZES = {"quick": Size(3, 8, 0), "balanced": Size(4, 24, 8), "thorough": Size(5, 64, 16)}


@dataclass(frozen=True)
class Family:
    """One kernel to fit, the block of kernels that it belongs to, and the views of it that are averaged.

    A view is a similarity of the kernel's counts, or the λ of a Laplacian kernel of its histograms.
    """

    block: str
    name: str
    kernel: CountKernel
    views: tuple[str | float, ...] = SIMILARITIES

    def matrices(self, x: list[Counts], y: list[Counts] | None = None) -> list[Float64]:
        """Return the Gram matrix of each view, between graphs that the kernel has prepared."""
        similarities = [{"similarity": view} for view in self.views if isinstance(view, str)]
        found = iter(self.kernel.compare(x, y, similarities))
        shared = None
        if len(similarities) < len(self.views):
            shared = _shared_histograms(x, y, self.kernel.n_jobs)
        return [next(found) if isinstance(view, str) else _laplacian(shared, view) for view in self.views]

    def own(self, x: list[Counts]) -> list[Float64]:
        """Return, for each view, the similarity of each graph with itself."""
        similarities = [{"similarity": view} for view in self.views if isinstance(view, str)]
        found = iter(self.kernel.compare_own(x, similarities))
        n_graphs = x[0].matrix.shape[0]
        return [next(found) if isinstance(view, str) else np.ones(n_graphs) for view in self.views]


def _shared_histograms(x: list[Counts], y: list[Counts] | None, n_jobs: int | None) -> Float64:
    """Return the share of two graphs' histograms that they have in common, on average over the depths."""
    total: Any = 0.0
    for depth, part in enumerate(x):
        other = None if y is None else _shares(y[depth])
        total = total + gram(_shares(part), other, minimum=True, n_jobs=n_jobs)
    shared: Float64 = total / len(x)
    if y is None:
        np.fill_diagonal(shared, 1.0)
    return shared


def _shares(counts: Counts) -> csr_array:
    """Return counts as parts of a graph's whole, to which what was not met in fitting belongs."""
    sums = np.asarray(counts.matrix.sum(axis=1) + counts.unknown_sums)
    matrix = counts.matrix.copy()
    matrix.data = matrix.data / np.repeat(np.where(sums > 0, sums, 1.0), np.diff(matrix.indptr))
    return matrix


def _laplacian(shared: Float64 | None, decay: float) -> Float64:
    """Return exp(−λ·D) of the Wasserstein distances D between Weisfeiler-Lehman histograms (WWL, in closed form)."""
    assert shared is not None
    return np.exp(-decay * (1.0 - shared))


@dataclass
class Portfolio:
    """The families for some graphs, the cheapest first, and in words what was left out and why."""

    families: list[Family]
    left_out: list[str] = field(default_factory=list)


def portfolio(
    graphs: GraphCollection, effort: str, random_state: int, n_jobs: int | None, verbose: int = 0
) -> Portfolio:
    """Return what to fit on these graphs; labels of edges and attributes of vertices are used where they are there."""
    check_choice("effort", effort, EFFORTS)
    size = SIZES[effort]
    made: list[Family] = []
    left_out: list[str] = []

    def exact(**options: Any) -> CountKernel:
        return WeisfeilerLehman(size.depth, normalize=True, n_jobs=n_jobs, **options)

    def relaxed(n_partitions: int, n_clusters: tuple[float, ...], **options: Any) -> CountKernel:
        settings = {"max_depth": size.depth, "normalize": "depth", "max_iter": 0, **options}
        return RelaxedWeisfeilerLehman(
            n_partitions=max(n_partitions, 1),
            n_clusters=n_clusters,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=max(verbose - 1, 0),
            **settings,
        )

    has_edges = graphs.edge_codes is not None
    made.append(Family("exact", "WL", exact(), (*SIMILARITIES, *DECAYS)))
    if has_edges:
        made.append(Family("exact", "WL with edge labels", exact(edge_labels=True)))
    made.append(Family("coarse", "R-WL* with few groups", relaxed(size.partitions // 2, COARSE)))
    if size.path_partitions:
        _add_paths(made, left_out, graphs, size, relaxed)
    made.append(Family("fine", "R-WL* with many groups", relaxed(size.partitions // 2, FINE)))
    if has_edges:
        with_edges = relaxed(size.partitions // 2, (*FINE, *COARSE), edge_labels=True)
        made.append(Family("fine", "R-WL* with edge labels", with_edges))
    for name, cost in _attribute_costs(graphs):
        of_attributes = relaxed(size.partitions // 2, (*FINE, *COARSE), cost=cost)
        made.append(Family("attributes", f"R-WL* of {name}", of_attributes))
    return Portfolio(made, left_out)


def _attribute_costs(graphs: GraphCollection) -> list[tuple[str, EditCost]]:
    """Return what to call attributes that are there, and costs in their scale."""
    found = []
    if graphs.node_attributes is not None and len(graphs.node_attributes):
        blank = _spread(graphs.node_attributes)
        found.append(("attributes", EditCost.from_attributes(blank=blank, n_codes=N_CODES), graphs.node_attributes))
    if graphs.edge_attributes is not None and len(graphs.edge_attributes):
        blank = _spread(graphs.edge_attributes)
        cost = EditCost.from_attributes(
            blank=blank, relabel=blank, edge_metric="euclidean", n_edge_codes=N_CODES, edge_relabel=blank
        )
        found.append(("edge attributes", cost, graphs.edge_attributes))
    return [
        (name, cost.with_missing(_spread(values)) if np.isnan(values).any() else cost) for name, cost, values in found
    ]


def _add_paths(
    made: list[Family],
    left_out: list[str],
    graphs: GraphCollection,
    size: Size,
    relaxed: Callable[..., CountKernel],
) -> None:
    pairs = float(np.square(graphs.node_counts.astype(np.float64)).sum())
    if pairs > MAX_PAIRS:
        left_out.append(f"shortest paths: {pairs:.2g} pairs of vertices are more than {MAX_PAIRS:.0e}")
        return
    options = {"max_depth": 2, "base": "shortest-path"}
    groups = relaxed(size.path_partitions, PATH_GROUPS, **options)
    made.append(Family("paths", "R-WL* along shortest paths", groups))
    trees = WeisfeilerLehman(1, base="shortest-path", normalize="depth", n_jobs=groups.n_jobs)
    made.append(Family("paths", "WL along shortest paths", trees))


def _spread(values: Float64) -> float:
    """Return the typical distance of attribute vectors from their mean: what inserting a vertex costs."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    means = filled.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    gaps = np.where(known, values - means, 0.0)
    spread = float(np.sqrt((np.square(gaps).sum(axis=0) / np.maximum(known.sum(axis=0), 1)).sum()))
    return spread if spread > 0 else 1.0

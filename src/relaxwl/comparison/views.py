"""Views of a comparison: those of graph predictors or of molecules, and statistics for tests alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import map_chunks, spans
from relaxwl._memory import check_memory
from relaxwl._validation import ParameterError, counted
from relaxwl.comparison import _compiled as compiled
from relaxwl.datasets.smiles import MoleculeCollection
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.graphs.labels import label_order
from relaxwl.inputs import as_collection
from relaxwl.kernels._compiled import CLUSTERING
from relaxwl.kernels.continuous import either_direction, structural_features
from relaxwl.kernels.statistics import (
    CHUNK_GRAPHS,
    QuantileRanks,
    canonical_order,
    evenly_spaced,
    feature_colors,
    manhattan_distances,
    significant,
)
from relaxwl.predictors.blocks import KernelBlocks
from relaxwl.predictors.portfolio import portfolio
from relaxwl.predictors.views import N_SAMPLED, CountView, Objects, VectorView, View

# Maximum number of graphs of both sides that are compared; of more, a sample is.
MAX_GRAPHS = 5000
# Bins of the histogram of local clustering coefficients.
N_BINS = 100
# Steps that counting cycles and cliques of a graph may take; of more, evenly spaced nodes are counted.
MAX_STEPS = 1e8
SUBGRAPHS = ("triangles", "4-cycles", "4-cliques")
QUANTILES = (0.25, 0.5, 0.75)
# Blocks of the predictors' views, and the block of a comparison that they become.
FAMILIES = {
    "exact": "trees", "coarse": "trees", "fine": "trees", "paths": "trees", "structure": "nodes", "vectors": "nodes",
    "attributes": "edge attributes",
    "statistics of labels and attributes": "statistics",
}  # fmt: skip


class ClusteringHistogram:
    """The shares of nodes by local clustering coefficient in 100 bins from 0 to 1, and cumulative shares.

    The Manhattan distance of the former is twice the total variation, that of the latter a Wasserstein distance.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit_transform(self, X: GraphCollection) -> Float64:
        """Return the histograms; there is nothing to learn."""
        return self.transform(X)

    def transform(self, X: GraphCollection) -> Float64:
        """Return the histograms."""
        clustering = structural_features(X, self.n_jobs)[:, CLUSTERING]
        # Fractions at the border of two bins must not depend on rounding.
        bins = np.minimum((clustering * N_BINS + 1e-6).astype(np.int64), N_BINS - 1)
        counts = np.bincount(X.graph_of_node * N_BINS + bins, minlength=len(X) * N_BINS).reshape(len(X), N_BINS)
        shares = np.asarray(counts / np.maximum(X.node_counts, 1)[:, None])
        return np.column_stack([shares, np.cumsum(shares, axis=1)])

    @property
    def kinds_(self) -> NDArray[np.str_]:
        """The kind of each column."""
        return np.repeat(["share", "cumulative share"], N_BINS)

    @property
    def names_(self) -> list[str]:
        """The names of the columns."""
        bounds = [f"{place / N_BINS:g}" for place in range(N_BINS + 1)]
        return [
            *(f"share of nodes of clustering {low} to {high}" for low, high in pairwise(bounds)),
            *(f"share of nodes of clustering below {high}" for high in bounds[1:]),
        ]


class ClusteringView(VectorView):
    """Laplacian kernels whose width is the median distance of graphs that are not equal.

    Often most graphs have equal histograms, those without triangles and cliques; their distances have no scale.
    """

    def fit(self, objects: Objects) -> Float64:
        """Fit the widths, and keep the table."""
        table = super().fit(objects)
        sample = table[evenly_spaced(np.arange(len(table)), N_SAMPLED)]
        scaled = []
        for one in self.similarities or ():
            distances = manhattan_distances(one.chosen(sample), one.chosen(sample))
            scaled.append(replace(one, unit=float(np.median(distances[distances > 0]) if distances.any() else 1.0)))
        self.similarities = scaled
        return table


class SubgraphStatistics:
    """The distribution over nodes of the numbers of triangles, 4-cycles and 4-cliques, as ranks among the graphs."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit_transform(self, X: GraphCollection) -> Float64:
        """Learn the ranks, and return their normal quantiles."""
        table = self.table(X)
        self.ranks = QuantileRanks.fit(table)
        return self.ranks.transform(table)

    def transform(self, X: GraphCollection) -> Float64:
        """Return the normal quantiles of the ranks."""
        return self.ranks.transform(self.table(X))

    def table(self, X: GraphCollection) -> Float64:
        """Return the statistics, a row for each graph.

        The number of steps for a node is at most Σ d(w)·(1 + min(d(v), d(w))) over its neighbors w. Where these are
        too many, evenly spaced nodes in canonical order are counted, and none that alone would take too many.
        """
        indptr, indices = either_direction(X)
        degrees = np.diff(indptr)
        around = degrees[indices] * (1.0 + np.minimum(np.repeat(degrees, degrees), degrees[indices]))
        steps = np.bincount(np.repeat(np.arange(len(degrees)), degrees), around, len(degrees))
        colors = feature_colors(structural_features(X, self.n_jobs))
        out = np.zeros((len(X), len(self.names_all)))

        def count(span: tuple[int, int]) -> None:
            for graph in range(*span):
                window = int(X.offsets[graph]), int(X.offsets[graph + 1])
                nodes, total = np.arange(*window), steps[window[0] : window[1]].sum()
                # The estimate depends on degrees alone, so the same nodes are counted whatever their order is.
                if total > MAX_STEPS:
                    most = max(int(len(nodes) * MAX_STEPS / total), 1)
                    nodes = window[0] + evenly_spaced(canonical_order(window, indptr, indices, colors), most)
                    nodes = nodes[steps[nodes] <= MAX_STEPS]
                counts = np.zeros((len(nodes), len(SUBGRAPHS)))
                compiled.small_subgraphs(nodes, window, indptr, indices, counts)
                if len(nodes):
                    out[graph] = _summary(counts)

        map_chunks(count, spans(len(X), CHUNK_GRAPHS), self.n_jobs)
        return significant(out)

    @property
    def names_all(self) -> list[str]:
        """The names of all columns."""
        said = ["mean", "deviation", "highest", *(f"{share:.0%} quantile" for share in QUANTILES)]
        names = [f"{what} of a node, {how}" for what in SUBGRAPHS for how in said]
        return names + [f"share of nodes in {what}" for what in SUBGRAPHS]

    @property
    def names_(self) -> list[str]:
        """The names of the columns that are not constant."""
        names = self.names_all
        return [names[place] for place in self.ranks.kept.tolist()]


def _summary(counts: Float64) -> Float64:
    """Return the statistics of the counts of one graph's nodes, in the order of their names."""
    found = [counts.mean(axis=0), counts.std(axis=0), counts.max(axis=0), *np.quantile(counts, QUANTILES, axis=0)]
    return np.concatenate([np.array(found).T.ravel(), (counts > 0).mean(axis=0)])


def read_sides(X: Any, Y: Any, names: tuple[str, str] = ("X", "Y")) -> tuple[GraphCollection, GraphCollection]:
    """Return two collections that can be compared; raise an error that says in what they differ, or what is missing."""
    sides = x, y = as_collection(X), as_collection(Y)
    for name, side in zip(names, sides, strict=True):
        if len(side) < 2:
            raise ParameterError(f"{name} must have at least two graphs, not {counted(len(side), 'graph')}")
        if isinstance(side, MoleculeCollection) and None in side.sources:
            raise ParameterError(f"molecule {side.sources.index(None)} of {name} could not be read; leave it out")
    if x.directed != y.directed:
        known = [
            f"{name} is {'directed' if side.directed else 'undirected'}"
            for name, side in zip(names, sides, strict=True)
        ]
        raise ParameterError(f"{known[0]} and {known[1]}; read both with directed=True or symmetrize=True")
    for kind, of_x, of_y in (
        ("node labels", x.node_vocabulary, y.node_vocabulary),
        ("edge labels", x.edge_vocabulary, y.edge_vocabulary),
        ("node attributes", x.node_attributes, y.node_attributes),
        ("edge attributes", x.edge_attributes, y.edge_attributes),
    ):
        missing = [name for name, of in zip(names, (of_x, of_y), strict=True) if of is None]
        n_carriers = [side.n_nodes if kind.startswith("node") else side.n_edges for side in sides]
        if len(missing) == 1 and all(n_carriers):
            raise ParameterError(
                f"{missing[0]} has no {kind}, and the other graphs have; give {kind} to both or neither"
            )
    for kind, own, others in (
        ("node labels", x.node_vocabulary or (), y.node_vocabulary or ()),
        ("edge labels", x.edge_vocabulary or (), y.edge_vocabulary or ()),
    ):
        # Numbers that were read as text on one side would match nothing, and make everything look different.
        if own and others and not {label_order(one)[0] for one in own} & {label_order(one)[0] for one in others}:
            shown = f"{own[0]!r} of {names[0]} and {others[0]!r} of {names[1]}"
            raise ParameterError(f"{kind} must have the same type in both collections, unlike {shown}; convert one")
    return sides


def views_of(graphs: GraphCollection, wanted: Any, seed: int, n_jobs: int | None) -> tuple[list[View], list[str]]:
    """Return the views to fit on the pooled graphs, and descriptions of omitted ones.

    Those of graph predictors are joined by views that help in tests and not in predictions: the histogram of local
    clustering, and subgraphs of four nodes. For molecules there are descriptors and fingerprints instead.
    """
    views: list[View] = []
    known, left_out = portfolio(graphs, "quick", seed, n_jobs)
    views += known
    if isinstance(graphs, MoleculeCollection):
        from relaxwl.molecules.descriptors import Descriptors
        from relaxwl.molecules.fingerprints import MorganFingerprints

        views.append(
            VectorView("descriptors", Descriptors(n_jobs=n_jobs), ((None, 1.0),), ("descriptors",), "molecules")
        )
        morgan = MorganFingerprints(2, n_jobs=n_jobs)
        views.append(CountView("Morgan counts", morgan, ({},), ("fingerprints",), "molecules"))
    else:
        kinds: tuple[tuple[str | None, float | None], ...] = (("share", 1.0), ("cumulative share", 1.0))
        shares, subgraphs = ClusteringHistogram(n_jobs), SubgraphStatistics(n_jobs)
        views.append(ClusteringView("clustering", shares, kinds, ("clustering",) * 2, "graphs", laplacian=True))
        views.append(VectorView("subgraphs", subgraphs, ((None, 1.0),), ("subgraphs",), "graphs", laplacian=True))
    # Similar blocks become one: each block is a further chance to reject, which costs power.
    for view in views:
        view.blocks = tuple(FAMILIES.get(block.partition(",")[0], block) for block in view.blocks)
    names = list(dict.fromkeys(block for view in views for block in view.blocks))
    if isinstance(wanted, str) and wanted == "auto":
        return views, left_out
    if isinstance(wanted, str) or not isinstance(wanted, Sequence) or not len(wanted) or not set(wanted) <= set(names):
        raise ParameterError(f"views must be 'auto' or a list of some of {', '.join(names)}, not {wanted!r}")
    return [view for view in views if not set(wanted).isdisjoint(view.blocks)], left_out


@dataclass(frozen=True, eq=False)
class Pool:
    """The graphs of both sides in random order, with fitted views and Gram matrices that know no sides.

    In random order, because a test is exact only if nothing depends on the side but the side itself, and samples of
    many graphs, for ranks and typical distances, are taken by position.

    Attributes
    ----------
    graphs : GraphCollection
        The graphs.
    places : int64 array (n,)
        Position of each graph in X, followed by Y.
    fitted : KernelBlocks
        The views.
    blocks : dict
        The Gram matrix of each block.
    notes : list of str
        What was left out.
    """

    graphs: GraphCollection
    places: Int64
    fitted: KernelBlocks
    blocks: dict[str, Float64]
    notes: list[str]

    @classmethod
    def of(
        cls,
        sides: tuple[GraphCollection, GraphCollection],
        views: Any,
        seed: int,
        n_jobs: int | None,
        verbose: int,
        strata: Int64 | None = None,
    ) -> "Pool":
        """Join the sides, at random if they are too many the same share of each side and stratum, and fit the views."""
        sizes, notes = [len(side) for side in sides], list[str]()
        # A stream of its own: permutations of the sides must not depend on this order.
        places = np.random.default_rng([seed, 1]).permutation(sum(sizes))
        if len(places) > MAX_GRAPHS:
            cell = np.repeat([0, 1], sizes) + 2 * (np.zeros(len(places), np.int64) if strata is None else strata)
            taken = np.sort(np.argsort(_shares_within(cell[places]), kind="stable")[:MAX_GRAPHS])
            places = places[taken]
            notes.append(f"{MAX_GRAPHS:,} of {sum(sizes):,} graphs were compared, drawn at random")
        joined = type(sides[0]).concatenate(sides)[places]
        found, left_out = views_of(joined, views, seed, n_jobs)
        check_memory(
            (2.0 * len({block for view in found for block in view.blocks}) + 4) * 8 * len(places) ** 2,
            f"the kernel matrices of {len(places):,} graphs",
            "compare fewer graphs, or with fewer views",
        )
        molecules = joined.molecules() if isinstance(joined, MoleculeCollection) else None
        fitted = KernelBlocks(found, left_out)
        blocks = fitted.fit(Objects(joined, molecules=molecules), verbose=verbose)
        # What is the same for all graphs tells nothing, and would only be a further chance to reject.
        varying = fitted.varying_names()
        notes += [f"{name}: the same for all graphs" for name in blocks if name not in varying]
        return cls(joined, places, fitted, {name: blocks[name] for name in varying}, [*notes, *fitted.left_out])


def _shares_within(cells: Int64) -> Float64:
    """Return, for each item, the share of the items of its cell that come before it."""
    order = np.argsort(cells, kind="stable")
    starts, sizes = np.unique(cells[order], return_index=True, return_counts=True)[1:]
    shares = np.empty(len(cells))
    shares[order] = (np.arange(len(cells)) - np.repeat(starts, sizes)) / np.repeat(sizes, sizes)
    return shares

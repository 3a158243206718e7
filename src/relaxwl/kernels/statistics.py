"""Statistics of whole graphs: a table with a row for each graph, and its columns as ranks.

Statistics do not depend on the order of nodes, on threads or on BLAS: sums of counts are exact, and all values are
rounded to nine significant digits, far above the errors of floating-point arithmetic.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.linalg.lapack import dsterf
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import map_chunks, spans
from relaxwl._validation import GraphEstimator
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64, first_of_runs, prefix_sums
from relaxwl.graphs.labels import check_same_kind, match_codes
from relaxwl.inputs import as_collection
from relaxwl.kernels import _compiled as compiled
from relaxwl.kernels.base import check_graphs
from relaxwl.kernels.continuous import either_direction, mixed, structural_features
from relaxwl.kernels.model_schema import labels, record, require, threads, vector, whole
from relaxwl.kernels.model_schema import of as of_type

# Significant digits of all statistics, and decimals of those that are small multiples of a known scale.
DIGITS = 9
# What counts as small among attributes, as a share of the largest: a million times above the errors of sums.
SMALL = 1e-4
# Nodes, without twins, up to which spectra are those of dense matrices; nodes up to which paths start from all nodes.
N_DENSE, N_PATHS = 200, 1024
# Nodes from which the spectra and the paths of larger graphs are estimated.
N_SPECTRUM_SAMPLE, N_PATH_SAMPLE = 32, 256
# Number of Chebyshev moments of an estimated spectrum, and of points of its density.
N_MOMENTS, N_POINTS = 64, 256
# Steps of the power method that bound an estimated spectrum.
N_POWER_STEPS = 12
# Rounds of refinement after which nodes of large graphs are ordered for sampling.
N_ROUNDS = 32
# Maximum number of node labels and of edge labels with columns of their own.
MAX_LABELS = 100
# Limit of attributes in files: each costs time in every prediction.
MAX_ATTRIBUTES = 100_000
# Degrees at which the bins of their histogram begin, and lengths of paths with bins of their own.
DEGREE_BINS = (0, 1, 2, 3, 4, 5, 7, 10, 15, 25, 50, 100)
N_LENGTHS = 10
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
# Times of the heat traces.
TIMES = (0.3, 1.0, 3.0, 10.0, 30.0)
# Graphs per task, and rows of a table per task of distances.
CHUNK_GRAPHS, CHUNK_ROWS = 32, 64
# Maximum number of evenly spaced rows of a fit whose ranks are kept, and of those whose median distance is computed.
N_RANKED, N_MEDIAN = 5000, 1000
# Normal quantiles are clipped at this value.
CLIP = 3.0

Columns = Iterator[tuple[str, NDArray[Any]]]


class GraphStatistics(TransformerMixin, GraphEstimator):
    """Statistics of graphs as a table: sizes, degrees, triangles, paths, spectra, labels and attributes.

    The columns are described in the :doc:`guide </guide/statistics>`. They are the same for all graphs of a fit: the
    labels and the numbers of attributes are those of the fitted graphs. Labels that were not seen in fitting are
    ignored. Statistics do not depend on the order of nodes.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Attributes
    ----------
    names_ : list of str
        The names of the columns.
    node_labels_, edge_labels_ : tuple or None
        The labels with columns of their own: of more than 100 those that occur in most of the fitted graphs.

    See Also
    --------
    ContinuousWeisfeilerLehman : Statistics of single nodes, and their neighbors.

    Notes
    -----
    Spectra of more than 200 nodes, of which nodes with the same neighbors count once, are estimated from 64 Chebyshev
    moments at 32 nodes, and shortest paths in graphs of more than 1,024 nodes start from 256 nodes. These nodes are
    evenly spaced in an order by degree and, for equal degrees, by the structure of their neighborhoods, so that the
    order of nodes matters only for nodes that color refinement cannot distinguish though no symmetry relates them.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(4, [(0, 1), (1, 2), (2, 3)]), (3, [(0, 1), (1, 2), (0, 2)])])
    >>> statistics = GraphStatistics().fit(graphs)
    >>> table = statistics.transform(graphs)
    >>> dict(zip(statistics.names_, table[1].tolist()))["clustering"]
    1.0
    """

    n_jobs: int | None = None

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the columns: labels, and numbers of attributes.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        graphs = as_collection(X)
        self.directed_ = graphs.directed
        self.node_labels_ = _common_labels(graphs.graph_of_node, graphs.node_codes, graphs.node_vocabulary)
        of_entry = np.repeat(graphs.graph_of_node, graphs.degrees)
        self.edge_labels_ = _common_labels(of_entry, graphs.edge_codes, graphs.edge_vocabulary)
        self.n_node_attributes_ = 0 if graphs.node_attributes is None else graphs.node_attributes.shape[1]
        self.n_edge_attributes_ = 0 if graphs.edge_attributes is None else graphs.edge_attributes.shape[1]
        return self

    def transform(self, X: Any) -> Float64:
        """Return the statistics of graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        float64 array (n_graphs, n_columns)
            The statistics, rounded to nine significant digits.
        """
        check_is_fitted(self)
        graphs = check_graphs(self, X)
        self._check_parts(graphs)
        columns = [values for _, values in self._columns(graphs)]
        return significant(np.column_stack(columns).astype(np.float64).reshape(graphs.n_graphs, len(columns)))

    @property
    def names_(self) -> list[str]:
        """The names of the columns."""
        check_is_fitted(self)
        nothing = GraphCollection.from_edges([], directed=self.directed_)
        return [name for name, _ in self._columns(nothing)]

    @property
    def kinds_(self) -> NDArray[np.str_]:
        """The kind of each column: "structure", or "contents" of labels and attributes."""
        n_columns = len(self.names_)
        n_structural = sum(1 for _ in self._structure_columns(GraphCollection.from_edges([], directed=self.directed_)))
        return np.where(np.arange(n_columns) < n_structural, "structure", "contents")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : ignored
            Not used; present for API consistency.

        Returns
        -------
        array (n_columns,) of str
            The names.
        """
        return np.array(self.names_, dtype=object)

    def _check_parts(self, graphs: GraphCollection) -> None:
        """Raise an error for graphs without labels, or with other numbers of attributes than the graphs of the fit."""
        for kind, count, fitted, vocabulary, found, expected in (
            ("nodes", graphs.n_nodes, self.node_labels_, graphs.node_vocabulary,
             graphs.node_attributes, self.n_node_attributes_),
            ("edges", graphs.n_edges, self.edge_labels_, graphs.edge_vocabulary,
             graphs.edge_attributes, self.n_edge_attributes_),
        ):  # fmt: skip
            if count and fitted is not None and vocabulary is None:
                raise ValueError(f"the statistics were fitted on graphs with labels of {kind}, and these have none")
            check_same_kind(vocabulary or (), fitted or (), f"labels of {kind}")
            n_found = 0 if found is None else found.shape[1]
            if count and n_found != expected:
                raise ValueError(
                    f"the statistics were fitted on {kind} with {expected} attributes, and these have {n_found}"
                )

    def _columns(self, graphs: GraphCollection) -> Columns:
        """Yield the name and the values of each column."""
        yield from self._structure_columns(graphs)
        yield from self._content_columns(graphs)

    def _structure_columns(self, graphs: GraphCollection) -> Columns:
        """Yield the columns that do not depend on labels and attributes."""
        indptr, indices = either_direction(graphs)
        nodes = _Groups(graphs.offsets)
        yield from _sizes_and_degrees(graphs, nodes, indptr, indices)
        features = structural_features(graphs, self.n_jobs)
        yield from _structure(nodes, indptr, features)
        # Features are computed from whole numbers, so that they are equal to the last bit for any order of nodes.
        colors = feature_colors(features)
        yield from _paths(nodes, indptr, indices, colors, self.n_jobs)
        yield from _spectra(nodes, indptr, indices, colors, self.n_jobs)
        if self.directed_:
            yield from _directions(graphs, nodes)

    def _content_columns(self, graphs: GraphCollection) -> Columns:
        """Yield the columns of labels and attributes."""
        indptr, indices = either_direction(graphs)
        nodes = _Groups(graphs.offsets)
        entries = _Groups(graphs.indptr[graphs.offsets])
        yield from _label_columns("", nodes, graphs.node_codes, graphs.node_vocabulary, self.node_labels_, 1)
        yield from _label_columns("edge ", entries, graphs.edge_codes, graphs.edge_vocabulary, self.edge_labels_,
                                  1 if graphs.directed else 2)  # fmt: skip
        # Of graphs without nodes or edges the attributes are missing, and every statistic of them is 0.
        given = graphs.node_attributes
        known = np.zeros((0, self.n_node_attributes_)) if given is None or not graphs.n_nodes else given
        yield from _attribute_columns("", nodes, known)
        yield from _neighbor_columns(nodes, known, indptr, indices)
        given = graphs.edge_attributes
        known = np.zeros((0, self.n_edge_attributes_)) if given is None or not graphs.n_edges else given
        yield from _attribute_columns("edge ", entries, known)
        yield from _strength_columns(graphs, nodes, known)


class _Groups:
    """Values in consecutive groups, those of one graph each."""

    def __init__(self, offsets: Int64) -> None:
        self.offsets, self.sizes = offsets, np.diff(offsets)
        self.of = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.known = np.maximum(self.sizes, 1)

    def sums(self, values: NDArray[Any]) -> Float64:
        """Return the sum of each group."""
        return np.bincount(self.of, values, len(self.sizes)).astype(np.float64)

    def means(self, values: NDArray[Any]) -> Float64:
        """Return the mean of each group, 0 for empty groups."""
        return np.asarray(self.sums(values) / self.known)

    def deviations(self, values: NDArray[Any]) -> Float64:
        """Return the standard deviation of each group."""
        return np.sqrt(self.means((values - self.means(values)[self.of]) ** 2))

    def extremes(self, values: NDArray[Any]) -> tuple[Float64, Float64]:
        """Return the smallest and largest value of each group that are not NaN, 0 if there are none."""
        filled, found = self.sizes > 0, []
        for extreme in (np.fmin, np.fmax):
            best = np.zeros(len(self.sizes))
            if filled.any():
                best[filled] = np.nan_to_num(extreme.reduceat(values, self.offsets[:-1][filled]))
            found.append(best)
        return found[0], found[1]

    def ascending(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values in ascending order within each group."""
        return values[np.lexsort((values, self.of))]

    def quantiles(self, ordered: NDArray[Any], share: float) -> Float64:
        """Return a quantile of each group of ascending values, with linear interpolation."""
        if not len(ordered):
            return np.zeros(len(self.sizes))
        place = share * (self.known - 1)
        below = np.floor(place).astype(np.int64)
        last = len(ordered) - 1
        low = ordered[np.minimum(self.offsets[:-1] + below, last)]
        high = ordered[np.minimum(self.offsets[:-1] + np.minimum(below + 1, self.known - 1), last)]
        return np.where(self.sizes > 0, low + (place - below) * (high - low), 0.0)


# ------------------------------------------------------------------------------------------------- structure


def _sizes_and_degrees(graphs: GraphCollection, nodes: _Groups, indptr: Int64, indices: Int32) -> Columns:
    n, degrees = graphs.n_graphs, np.diff(indptr)
    edges = nodes.sums(degrees) / 2
    yield "nodes", nodes.sizes
    yield "edges", graphs.edge_counts
    yield "density", edges / np.maximum(nodes.sizes * (nodes.sizes - 1.0) / 2, 1)
    adjacency = csr_array((np.ones(len(indices), bool), indices, indptr), shape=(graphs.n_nodes,) * 2)
    component = connected_components(adjacency, directed=False)[1] if graphs.n_nodes else np.empty(0, np.int64)
    _, firsts, sizes = np.unique(component, return_index=True, return_counts=True)
    yield "components", np.bincount(nodes.of[firsts], minlength=n)
    largest = np.zeros(n, np.int64)
    np.maximum.at(largest, nodes.of[firsts], sizes)
    yield "share of the largest component", largest / nodes.known

    mean, deviation = nodes.means(degrees), nodes.deviations(degrees)
    yield "degree, mean", mean
    yield "degree, deviation", deviation
    centered = (degrees - mean[nodes.of]) / np.where(deviation > 0, deviation, 1.0)[nodes.of]
    yield "degree, skewness", near(nodes.means(centered**3))
    yield "degree, kurtosis", near(nodes.means(centered**4))
    lowest, highest = nodes.extremes(degrees)
    yield "degree, lowest", lowest
    yield "degree, highest", highest
    ordered = nodes.ascending(degrees)
    for share in QUANTILES:
        yield f"degree, {share:.0%} quantile", nodes.quantiles(ordered, share)
    bins = np.searchsorted(DEGREE_BINS, degrees, side="right") - 1
    for place, least in enumerate(DEGREE_BINS):
        above = DEGREE_BINS[place + 1] - 1 if place + 1 < len(DEGREE_BINS) else None
        said = f"{least} or more" if above is None else str(least) if above == least else f"{least} to {above}"
        yield f"share of degree {said}", nodes.means(bins == place)

    # The correlation of the degrees at both ends of edges, from whole numbers, so that it is exactly 0 where it is 0.
    around = np.add.reduceat(np.append(degrees[indices], 0), indptr[:-1]) * (degrees > 0) if len(degrees) else degrees
    first, second, third, both = (nodes.sums(v) for v in (degrees, degrees**2, degrees**3, degrees * around))
    varied = first * third - second**2
    yield "degree assortativity", near(np.divide(first * both - second**2, varied, out=np.zeros(n), where=varied > 0))


def _structure(nodes: _Groups, indptr: Int64, features: Float64) -> Columns:
    degrees = np.diff(indptr)
    triangles, cores = (np.rint(np.expm1(features[:, place])) for place in (compiled.TRIANGLES, compiled.CORE))
    yield "triangles", nodes.sums(triangles) / 3
    yield "triangles of a node, mean", nodes.means(triangles)
    yield "triangles of a node, highest", nodes.extremes(triangles)[1]
    yield "share of nodes in triangles", nodes.means(triangles > 0)
    wedges = nodes.sums(degrees * (degrees - 1)) / 2
    yield "transitivity", nodes.sums(triangles) / np.maximum(wedges, 1)
    clustering = features[:, compiled.CLUSTERING]
    yield "clustering", near(nodes.means(clustering))
    yield "clustering, deviation", near(nodes.deviations(clustering))
    highest = nodes.extremes(cores)[1]
    yield "core number, mean", nodes.means(cores)
    yield "core number, highest", highest
    yield "core number, deviation", nodes.deviations(cores)
    yield "share of nodes in the highest core", nodes.means(cores == highest[nodes.of])
    yield "degree of neighbors, mean", nodes.means(np.expm1(features[:, compiled.NEIGHBOR_DEGREE]))
    for steps, place in enumerate((compiled.RETURN_2, compiled.RETURN_3, compiled.RETURN_4), 2):
        yield f"return in {steps} steps, mean", near(nodes.means(features[:, place]))
        yield f"return in {steps} steps, deviation", near(nodes.deviations(features[:, place]))


def _directions(graphs: GraphCollection, nodes: _Groups) -> Columns:
    """Yield statistics of arcs: degrees for each direction, sources and sinks, and arcs with an opposite."""
    outgoing = graphs.degrees
    incoming = np.bincount(graphs.indices, minlength=graphs.n_nodes)
    for name, degrees in (("out-degree", outgoing), ("in-degree", incoming)):
        ordered = nodes.ascending(degrees)
        yield f"{name}, deviation", nodes.deviations(degrees)
        yield f"{name}, highest", nodes.extremes(degrees)[1]
        for share in QUANTILES:
            yield f"{name}, {share:.0%} quantile", nodes.quantiles(ordered, share)
    yield "share of sources", nodes.means((incoming == 0) & (outgoing > 0))
    yield "share of sinks", nodes.means((outgoing == 0) & (incoming > 0))
    centered = (outgoing - nodes.means(outgoing)[nodes.of]) * (incoming - nodes.means(incoming)[nodes.of])
    spread = nodes.deviations(outgoing) * nodes.deviations(incoming)
    yield "correlation of in-degree and out-degree", near(nodes.means(centered) / np.where(spread > 0, spread, 1.0))
    # An arc and its opposite are one edge of the graph without directions.
    joined = np.diff(either_direction(graphs)[0][graphs.offsets]) / 2
    arcs = graphs.edge_counts
    yield "reciprocity", 2 * (arcs - joined) / np.maximum(arcs, 1)


def _paths(nodes: _Groups, indptr: Int64, indices: Int32, colors: NDArray[np.uint64], n_jobs: int | None) -> Columns:
    """Yield statistics of the lengths of shortest paths; 64 searches share the bits of a number."""
    n = len(nodes.sizes)
    found = np.zeros((n, N_LENGTHS + 5))

    def search(graph: int) -> None:
        start, stop = int(nodes.offsets[graph]), int(nodes.offsets[graph + 1])
        sources = np.arange(stop - start)
        if len(sources) > N_PATHS:
            sources = evenly_spaced(canonical_order((start, stop), indptr, indices, colors), N_PATH_SAMPLE)
        compiled.path_lengths((start, stop), indptr, indices, sources, found[graph])

    def search_span(span: tuple[int, int]) -> None:
        for graph in range(*span):
            search(graph)

    map_chunks(search_span, spans(n, CHUNK_GRAPHS), n_jobs)
    pairs, total, squares, longest, eccentricities = found[:, N_LENGTHS:].T
    sources = np.where(nodes.sizes > N_PATHS, N_PATH_SAMPLE, nodes.sizes)
    reached = np.maximum(pairs, 1)
    mean = total / reached
    yield "path length, mean", mean
    yield "path length, deviation", np.sqrt(np.maximum(squares * reached - total**2, 0)) / reached
    yield "diameter", longest
    yield "eccentricity, mean", eccentricities / np.maximum(sources, 1)
    yield "share of connected pairs", pairs / np.maximum(sources * (nodes.sizes - 1.0), 1)
    for length in range(1, N_LENGTHS + 1):
        said = f"{length} or more" if length == N_LENGTHS else f"{length}"
        yield f"share of paths of length {said}", found[:, length - 1] / reached


# --------------------------------------------------------------------------------------------------- spectra


def _spectra(nodes: _Groups, indptr: Int64, indices: Int32, colors: NDArray[np.uint64], n_jobs: int | None) -> Columns:
    """Yield statistics of the eigenvalues of the normalized Laplacian and of the adjacency matrix."""
    normalized, adjacency = spectra(nodes.offsets, indptr, indices, colors, n_jobs)
    laplacian = nodes.ascending(near(1.0 - normalized))
    yield from _spectrum_columns("Laplacian", nodes, laplacian)
    for time in TIMES:
        yield f"heat trace at {time:g}", near(nodes.means(np.exp(-time * laplacian)))
    ordered = nodes.ascending(near(adjacency))
    yield from _spectrum_columns("adjacency", nodes, ordered)
    yield "graph energy of a node", near(nodes.means(np.abs(ordered)))


def _spectrum_columns(name: str, nodes: _Groups, ordered: Float64) -> Columns:
    """Yield quantiles and the two smallest and largest of ascending eigenvalues."""
    for share in QUANTILES:
        yield f"{name} eigenvalues, {share:.0%} quantile", nodes.quantiles(ordered, share)
    second = np.minimum(1, nodes.known - 1)
    last = np.maximum(len(ordered) - 1, 0)
    values = ordered if len(ordered) else np.zeros(1)
    for said, place in (
        ("smallest", nodes.offsets[:-1]), ("second smallest", nodes.offsets[:-1] + second),
        ("second largest", nodes.offsets[1:] - 1 - second), ("largest", nodes.offsets[1:] - 1),
    ):  # fmt: skip
        if (name, said) != ("Laplacian", "smallest"):  # always 0
            yield f"{name} eigenvalues, {said}", np.where(nodes.sizes > 0, values[np.clip(place, 0, last)], 0.0)
    yield f"{name} eigenvalues, deviation", near(nodes.deviations(ordered))


def spectra(
    offsets: Int64, indptr: Int64, indices: Int32, colors: NDArray[np.uint64], n_jobs: int | None = None
) -> tuple[Float64, Float64]:
    """Return the eigenvalues of the normalized adjacency D^-½ A D^-½ and of A, as many as nodes of each graph.

    Isolated nodes have the eigenvalue 1 of the first, so that it is 1 minus that of the normalized Laplacian. Twins, m
    nodes with the same neighbors (with or without themselves), have m - 1 eigenvalues that follow from their degree;
    the others are those of a smaller matrix, in which one node represents the m. ``colors`` are hashes of nodes, by
    which those of a sample are chosen.
    """
    n_nodes, degrees = len(indptr) - 1, np.diff(indptr)
    of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    twin_of, are_linked = twins(of, indptr, indices)
    size = np.bincount(twin_of, minlength=n_nodes)
    kept = np.flatnonzero(twin_of == np.arange(n_nodes))
    others = np.flatnonzero(twin_of != np.arange(n_nodes))
    found = np.zeros((2, n_nodes))
    # m linked twins of degree d have the eigenvalue -1/d (and -1 of A) m - 1 times; others 0, or 1 if isolated.
    linked = are_linked[others]
    found[0, others] = np.where(linked, -1.0 / np.maximum(degrees[others], 1), degrees[others] == 0)
    found[1, others] = np.where(linked, -1.0, 0.0)

    sources = np.repeat(np.arange(n_nodes), degrees)
    used = (twin_of[sources] == sources) & (twin_of[indices] == indices)
    # The position of each representative among those of all graphs, where the graphs begin, and the entries of rows.
    position = np.cumsum(twin_of == np.arange(n_nodes)) - 1
    starts = prefix_sums(np.bincount(of[kept], minlength=len(offsets) - 1))
    rows, columns = position[sources[used]], position[indices[used]]
    bounds = np.searchsorted(rows, starts)
    links = np.sqrt(size[kept[rows]] * size[kept[columns]])
    scaled = links / np.sqrt(degrees[kept[rows]] * degrees[kept[columns]].astype(np.float64))
    inner = np.where(are_linked[kept], size[kept] - 1.0, 0.0)
    inner_scaled = np.where(degrees[kept] > 0, inner / np.maximum(degrees[kept], 1), 1.0)
    matrices = ((scaled, inner_scaled), (links, inner))

    def of_graph(graph: int) -> None:
        own, entries = slice(starts[graph], starts[graph + 1]), slice(bounds[graph], bounds[graph + 1])
        shape, nodes = (starts[graph + 1] - starts[graph],) * 2, kept[own]
        row, column = (np.append(part[entries] - starts[graph], np.arange(shape[0])) for part in (rows, columns))
        sample = np.empty(0, np.int64)
        if shape[0] > N_DENSE:
            window = int(offsets[graph]), int(offsets[graph + 1])
            rank = np.empty(window[1] - window[0], np.int64)
            rank[canonical_order(window, indptr, indices, colors)] = np.arange(len(rank))
            sample = evenly_spaced(np.argsort(rank[nodes - window[0]]), N_SPECTRUM_SAMPLE)
        for target, (values, diagonal), radius in zip(found, matrices, (1.0, np.inf), strict=True):
            entry = np.append(values[entries], diagonal[own])
            if shape[0] > N_DENSE:
                target[nodes] = estimated_spectrum(csr_array((entry, (row, column)), shape), sample, radius)
            elif shape[0]:
                dense = np.zeros(shape)
                dense[row, column] = entry
                target[nodes] = eigenvalues(dense)

    def of_span(span: tuple[int, int]) -> None:
        for graph in range(*span):
            of_graph(graph)

    map_chunks(of_span, spans(len(offsets) - 1, CHUNK_GRAPHS), n_jobs)
    return found[0], found[1]


def eigenvalues(matrix: Float64) -> Float64:
    """Return the eigenvalues of a symmetric matrix, which is overwritten.

    NumPy's ``eigvalsh`` starts the threads of BLAS from 64 rows on, and then takes ten times the processor time.
    """
    diagonal, beside = np.empty(len(matrix)), np.empty(max(len(matrix) - 1, 1))
    compiled.tridiagonalize(matrix, diagonal, beside)
    return np.asarray(dsterf(diagonal, beside[: len(matrix) - 1])[0]) if len(matrix) > 1 else diagonal


def twins(of: Int64, indptr: Int64, indices: Int32) -> tuple[Int64, NDArray[np.bool_]]:
    """Return the first twin of each node, itself if it has none, and whether a node has twins that are its neighbors.

    Twins are nodes of a graph (``of``) that have the same neighbors apart from each other, found by sums of hashes.
    """
    own = mixed(np.arange(len(of)).view(np.uint64) + np.uint64(1))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(own[indices], dtype=np.uint64)])
    # Isolated nodes of different graphs have the same neighbors, none, so the graph is part of the hash.
    around = sums[indptr[1:]] - sums[indptr[:-1]] + mixed(~of.view(np.uint64))
    first, linked = np.arange(len(of)), np.zeros(len(of), bool)
    for keys, are_linked in ((around, False), (around + own, True)):
        order = np.argsort(keys)
        starts = np.flatnonzero(first_of_runs(keys[order]))
        sizes = np.diff(np.append(starts, len(order)))
        # A node cannot have twins of both kinds.
        several = np.repeat(sizes > 1, sizes)
        if several.any():
            lowest = np.repeat(np.minimum.reduceat(order, starts), sizes)
            first[order[several]] = lowest[several]
            linked[order[several]] = are_linked
    return first, linked


def estimated_spectrum(matrix: csr_array, sample: Int64, radius: float) -> Float64:
    """Return eigenvalues at evenly spaced quantiles of the spectral density, as seen from a sample of nodes.

    The density is the expansion in Chebyshev polynomials, whose moments are the means over the sample of the diagonal
    of T_k(matrix / radius), with Jackson's damping. The matrix is symmetric with entries >= 0; no eigenvalue is larger
    than ``radius``.
    """
    # No eigenvalue is larger than the largest ratio of (matrix @ x)_i and x_i, for any x > 0 (Collatz and Wielandt).
    # Steps of the power method, with a shift against oscillation, bring it near the largest eigenvalue.
    x = np.ones(matrix.shape[0])
    for _ in range(N_POWER_STEPS):
        product = matrix @ x
        radius = min(radius, float((product / x).max()))
        x = product + radius / 2 * x
        x /= x.max()
    moments = np.empty(N_MOMENTS)
    compressed = compiled.Compressed(matrix.indptr, matrix.indices, matrix.data / radius)
    compiled.chebyshev_moments(compressed, sample, moments)
    k, turn = np.arange(N_MOMENTS), np.pi / (N_MOMENTS + 1)
    damping = ((N_MOMENTS + 1 - k) * np.cos(turn * k) + np.sin(turn * k) / np.tan(turn)) / (N_MOMENTS + 1)
    padded = np.zeros(N_POINTS)
    padded[:N_MOMENTS] = moments * damping
    weights = np.maximum(dct(padded, type=3)[::-1], 0) / N_POINTS
    edges = -np.cos(np.pi * np.arange(N_POINTS + 1) / N_POINTS)
    filled = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    n = matrix.shape[0]
    return np.asarray(radius * np.interp((np.arange(n) + 0.5) / n, filled, edges))


def feature_colors(features: Float64) -> NDArray[np.uint64]:
    """Return a hash of each row of numbers."""
    colors = np.zeros(len(features), np.uint64)
    for column in features.T:
        colors = mixed(colors ^ np.ascontiguousarray(column).view(np.uint64))
    return colors


def canonical_order(window: tuple[int, int], indptr: Int64, indices: Int32, colors: NDArray[np.uint64]) -> Int64:
    """Return the nodes of a graph by degree and hash of their neighborhood, in an order that no numbering changes."""
    refined = compiled.refined_colors(window, indptr, indices, colors, N_ROUNDS)
    return np.lexsort((refined, np.diff(indptr[window[0] : window[1] + 1])))


def evenly_spaced(items: Int64, most: int) -> Int64:
    """Return up to ``most`` evenly spaced items."""
    if len(items) <= most:
        return items
    return items[((np.arange(most) + 0.5) * len(items) / most).astype(np.int64)]


# ------------------------------------------------------------------------------------- labels and attributes


def _common_labels(of: Int64, codes: Any, vocabulary: Any) -> tuple[Any, ...] | None:
    """Return the labels that occur, in order; of more than ``MAX_LABELS``, those that most graphs have."""
    if not vocabulary:
        return None
    n_graphs = np.bincount(np.unique(of * len(vocabulary) + codes) % len(vocabulary), minlength=len(vocabulary))
    # Of labels that equally many graphs have, the first ones are kept.
    most = np.argsort(-n_graphs, kind="stable")[:MAX_LABELS]
    return tuple(vocabulary[code] for code in np.sort(most[n_graphs[most] > 0]).tolist())


def _label_columns(
    kind: str, groups: _Groups, codes: Any, vocabulary: Any, known: tuple[Any, ...] | None, per_edge: int
) -> Columns:
    """Yield the number and the share of each known label among the nodes or edges of each graph."""
    if known is None:
        return
    counts = np.zeros((len(groups.sizes), len(known)))
    if vocabulary is not None and codes is not None:
        matched = match_codes(vocabulary, known)[codes]
        seen = matched < len(known)
        flat = np.bincount(groups.of[seen] * len(known) + matched[seen], minlength=counts.size)
        counts = flat.reshape(counts.shape).astype(np.float64)
    for label, column in zip(known, counts.T, strict=True):
        yield f"number of {kind}label {label!r}", column / per_edge
    for label, column in zip(known, counts.T, strict=True):
        yield f"share of {kind}label {label!r}", column / groups.known


def _attribute_columns(kind: str, groups: _Groups, table: Float64) -> Columns:
    """Yield mean, deviation and extremes of each attribute; missing values (NaN) are left out."""
    for place, values in enumerate(table.T):
        known = ~np.isnan(values)
        lowest, highest = groups.extremes(values)
        n_known = np.maximum(groups.sums(known), 1)
        size = np.maximum(np.abs(lowest), np.abs(highest))
        mean = groups.sums(np.where(known, values, 0.0)) / n_known
        squares = groups.sums(np.where(known, values - mean[groups.of], 0.0) ** 2) / n_known
        yield f"{kind}attribute {place}, mean", near(mean, size * SMALL)
        yield f"{kind}attribute {place}, deviation", near(np.sqrt(squares), size * SMALL)
        yield f"{kind}attribute {place}, lowest", lowest
        yield f"{kind}attribute {place}, highest", highest


def _neighbor_columns(nodes: _Groups, table: Float64, indptr: Int64, indices: Int32) -> Columns:
    """Yield the covariance of each node attribute and its mean over the neighbors, among nodes with neighbors."""
    degrees = np.diff(indptr)
    linked = degrees > 0
    n_linked = np.maximum(nodes.sums(linked), 1)
    adjacency = csr_array((np.ones(len(indices)), indices, indptr), shape=(len(degrees),) * 2)
    for place, values in enumerate(table.T):
        # Centered values are small, and a missing one is the mean, so that it adds nothing.
        known = ~np.isnan(values)
        size = np.maximum(*np.abs(nodes.extremes(values)))
        total = nodes.sums(np.where(known & linked, values, 0.0))
        mean = total / np.maximum(nodes.sums(known & linked), 1)
        centered = np.where(known & linked, values - mean[nodes.of], 0.0)
        around = np.asarray(adjacency @ centered) / np.maximum(degrees, 1)
        covariance = nodes.sums(centered * around) / n_linked - (
            nodes.sums(centered) / n_linked * (nodes.sums(np.where(linked, around, 0.0)) / n_linked)
        )
        spread = np.maximum(nodes.deviations(centered), size * SMALL)
        yield f"attribute {place}, covariance with neighbors", near(covariance, spread**2)


def _strength_columns(graphs: GraphCollection, nodes: _Groups, table: Float64) -> Columns:
    """Yield the deviation and the largest of the nodes' sums of each attribute of their (outgoing) edges."""
    of_entry = np.repeat(np.arange(graphs.n_nodes), graphs.degrees) if len(table) else np.empty(0, np.int64)
    for place, values in enumerate(table.T):
        strengths = np.bincount(of_entry, np.nan_to_num(values), graphs.n_nodes)
        size = np.maximum(*np.abs(nodes.extremes(strengths)))
        yield f"edge attribute {place}, deviation of sums of nodes", near(nodes.deviations(strengths), size * SMALL)
        yield f"edge attribute {place}, largest sum of a node", near(nodes.extremes(strengths)[1], size * SMALL)


# -------------------------------------------------------------------------------------------------- rounding


def near(values: Float64, size: Any = 1.0) -> Float64:
    """Return values rounded to nine decimals of a size, so that what is 0 but for rounding errors is 0."""
    scale = np.where(np.asarray(size) > 0, size, 1.0)
    return np.asarray(_rounded(values / scale * 10.0**DIGITS) / 10.0**DIGITS * scale)


def _rounded(values: Float64) -> Float64:
    """Return whole numbers near the values.

    Values halfway between two are frequent, such as means over 32 nodes, and rounding errors decide where they go. So
    the limit is a little lower, where no simple fraction lies.
    """
    return np.asarray(np.copysign(np.floor(np.abs(values) + 0.5 + np.pi / 1000), values) + 0.0)


def significant(values: Float64) -> Float64:
    """Return values rounded to nine significant digits.

    >>> significant(np.array([0.1 + 0.2, 1234567891.0])).tolist()
    [0.3, 1234567890.0]
    """
    exponents = np.floor(np.log10(np.abs(values), out=np.zeros_like(values), where=values != 0))
    # Negative powers of ten are not exact, so values are multiplied or divided by positive ones.
    shift = DIGITS - 1 - exponents
    up, down = 10.0 ** np.clip(shift, 0, 300), 10.0 ** np.clip(-shift, 0, 300)
    return np.asarray(_rounded(values * up / down) * down / up)


# ----------------------------------------------------------------------------------------- ranks and distances


@dataclass(frozen=True, eq=False)
class QuantileRanks:
    """Columns of a table as normal quantiles of their ranks among the rows of a fit, clipped at 3.

    Equal values share the mean of their ranks, and a new value has a rank between those of its neighbors. Columns that
    are constant in the fitted rows are left out. Of more than 5,000 rows, 5,000 evenly spaced ones are ranked.

    Parameters
    ----------
    n_columns : int
        Number of columns of the table.
    kept : int64 array (n_kept,)
        The columns that are not constant.
    starts : int64 array (n_kept + 1,)
        Where the values of each kept column begin.
    values, ranks : float64 arrays
        The distinct values of each kept column, ascending, and their ranks, from 0 to 1.
    scales : float64 array (n_kept,)
        A robust standard deviation of each kept column.

    Examples
    --------
    >>> table = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    >>> QuantileRanks.fit(table).transform(np.array([[2.0, 5.0], [9.0, 0.0]])).round(2).tolist()
    [[0.0], [0.97]]
    """

    n_columns: int
    kept: Int64
    starts: Int64
    values: Float64
    ranks: Float64
    scales: Float64

    @classmethod
    def fit(cls, table: Float64) -> "QuantileRanks":
        """Rank the rows of a table.

        Parameters
        ----------
        table : float64 array (n_rows, n_columns)
            The rows.

        Returns
        -------
        QuantileRanks
            The ranks.
        """
        table = table[np.linspace(0, len(table) - 1, min(len(table), N_RANKED)).astype(np.int64)]
        values, ranks, kept, scales = [np.zeros(0)], [np.zeros(0)], list[int](), list[float]()
        for place, column in enumerate(table.T):
            own, counts = np.unique(column, return_counts=True)
            if len(own) > 1:
                low, high = np.quantile(column, (0.25, 0.75))
                # Half of the values lie within 1.35 standard deviations of a normal distribution.
                scales.append(float((high - low) / 1.349 or column.std()))
                values.append(own)
                ranks.append((np.cumsum(counts) - counts / 2) / len(column))
                kept.append(place)
        starts = prefix_sums(np.array([len(own) for own in values[1:]], np.int64))
        return cls(
            table.shape[1], np.array(kept, np.int64), starts, np.concatenate(values), np.concatenate(ranks),
            np.array(scales, np.float64),
        )  # fmt: skip

    def transform(self, table: Float64, *, extend: bool = False) -> Float64:
        """Return the normal quantiles of rows.

        Parameters
        ----------
        table : float64 array (n_rows, n_columns)
            The rows.
        extend : bool, default=False
            Whether values beyond those of the fit continue linearly, in robust standard deviations.

        Returns
        -------
        float64 array (n_rows, n_kept)
            The quantiles.
        """
        if table.shape[1] != self.n_columns:
            raise ValueError(f"the table must have {self.n_columns} columns, as that of the fit, not {table.shape[1]}")
        scores = np.empty((len(table), len(self.kept)))
        for place, column in enumerate(self.kept.tolist()):
            own = slice(self.starts[place], self.starts[place + 1])
            known, values = self.values[own], table[:, column]
            scores[:, place] = np.clip(ndtri(np.interp(values, known, self.ranks[own])), -CLIP, CLIP)
            if extend:
                scores[:, place] += (values - np.clip(values, known[0], known[-1])) / self.scales[place]
        return scores


def _check_statistics(found: GraphStatistics) -> None:
    for known in (found.node_labels_, found.edge_labels_):
        require(len(known or ()) <= MAX_LABELS, f"there must be columns of at most {MAX_LABELS} labels")


def _check_ranks(found: QuantileRanks) -> None:
    kept, starts = found.kept, found.starts
    within = kept.min(initial=0) >= 0 and kept.max(initial=-1) < found.n_columns and (np.diff(kept) > 0).all()
    require(within, f"kept must be ascending columns out of {found.n_columns}")
    bounds = len(starts) == len(kept) + 1 and starts[0] == 0 and starts[-1] == len(found.values)
    require(bounds and (np.diff(starts) > 1).all(), "starts must say where the values of each column begin")
    require(len(found.ranks) == len(found.values), "ranks must be as many as values")
    require(len(found.scales) == len(kept), "scales must be as many as columns")
    for start, stop in pairwise(starts.tolist()):
        ascend = [(np.diff(part[start:stop]) > 0).all() for part in (found.values, found.ranks)]
        require(all(ascend), "values and ranks must ascend in each column")


record(
    GraphStatistics, _check_statistics, n_jobs=threads, directed_=of_type(bool), node_labels_=labels,
    edge_labels_=labels, n_node_attributes_=whole(MAX_ATTRIBUTES), n_edge_attributes_=whole(MAX_ATTRIBUTES),
)  # fmt: skip
record(
    QuantileRanks, _check_ranks, n_columns=whole(), kept=vector(np.int64), starts=vector(np.int64),
    values=vector(np.float64), ranks=vector(np.float64, least=0, most=1), scales=vector(np.float64, least=1e-300),
)  # fmt: skip


def manhattan_distances(rows: Float64, others: Float64, n_jobs: int | None = None) -> NDArray[np.float32]:
    """Return the sums of absolute differences between all rows of two tables, in single precision.

    Parameters
    ----------
    rows, others : arrays (n_rows, n_columns), (n_others, n_columns)
        The tables.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    float32 array (n_rows, n_others)
        The distances.
    """
    left, right = rows.astype(np.float32), np.ascontiguousarray(others.T.astype(np.float32))
    out = np.zeros((len(rows), len(others)), np.float32)

    def compute(span: tuple[int, int]) -> None:
        compiled.add_differences(*span, left, right, out)

    map_chunks(compute, spans(len(rows), CHUNK_ROWS), n_jobs)
    return out


def median_distance(rows: Float64, n_jobs: int | None = None) -> float:
    """Return the median distance between different rows, of up to 1,000 evenly spaced ones; 1 if it is 0.

    Parameters
    ----------
    rows : float64 array (n_rows, n_columns)
        The rows.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    float
        The median.
    """
    sample = rows[evenly_spaced(np.arange(len(rows)), N_MEDIAN)]
    distances = manhattan_distances(sample, sample, n_jobs)[np.triu_indices(len(sample), 1)]
    return float(np.median(distances)) or 1.0 if len(distances) else 1.0

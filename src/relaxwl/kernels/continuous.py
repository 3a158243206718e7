"""Nodes as vectors of attributes, structure and labels, averaged over neighbors and counted in random partitions.

All sums are exact, so that results do not depend on the order of nodes, on threads or on shards: entries of vectors are
integer multiples of a unit, with so few digits that all products and sums of a distance are exact in float64.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from relaxwl._execution import map_chunks, spans
from relaxwl._progress import report
from relaxwl._validation import ParameterError, as_seed, check_choice, check_integer, warn_user
from relaxwl.clustering.kmeans import NumberOfClusters, cluster_rules, number_of_clusters
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64, counting_order
from relaxwl.graphs.building import DIRECTIONS
from relaxwl.graphs.labels import check_same_kind, match_codes
from relaxwl.kernels import _compiled as compiled
from relaxwl.kernels.clusters import Chain, ClusterKernel, LevelClusters
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.levels import Graphs
from relaxwl.kernels.model_schema import (
    MAX_DEPTH,
    check_levels,
    check_unary,
    fitted,
    labels,
    listed,
    require,
    texts,
    vector,
)
from relaxwl.kernels.model_schema import number as a_number

KINDS = ("attributes", "structure", "labels")
# Structural features by name, in the order of the compiled code, and the formats of their values.
STRUCTURE = {
    "degree": "degree {:.3g}",
    "triangles": "{:.3g} triangles",
    "core": "core {:.3g}",
    "clustering": "clustering {:.2g}",
    "neighbor_degree": "neighbors of degree {:.3g}",
    "degree_share": "linked to {:.2%} of the graph",
    "return_2": "back after 2 steps with {:.2g}",
    "return_3": "back after 3 steps with {:.2g}",
    "return_4": "back after 4 steps with {:.2g}",
}
LOGARITHMS = ("degree", "triangles", "core", "neighbor_degree")
# Weights of structural features if there are attributes, and of labels.
STRUCTURE_WEIGHT, LABEL_WEIGHT = 0.5, 1.5
# Number of labels below which "auto" uses them, and maximum number of labels.
FEW_LABELS, MAX_LABELS = 60, 1024
# Values are clipped at this many standard deviations, a power of two.
LARGEST = 64.0
# Maximum number of two-step walks in a graph; beyond it, the nodes of the highest degrees are left out.
MAX_WALKS = 2.0**31
# Maximum number of distinct vectors from which centers are drawn; of more, those with the lowest hashes.
SAMPLE = 1 << 16
# Number of steps into which the range of a column is divided, so that sums of values are exact.
STEPS = 1 << 31
# Nodes per task, maximum number of rows whose distances to the centers are in memory, and two-step walks per task.
CHUNK_NODES, CHUNK_ROWS, CHUNK_WALKS = 1 << 12, 1 << 9, 1 << 24
# Number of terms up to which BLAS computes a product in the calling thread, since chunks already run in parallel. A
# limit on the threads of BLAS would apply to the whole process, and concurrent fits could not set and restore it.
OWN_THREAD = 1 << 18

Features = str | Callable[[Any], Any]
# Columns of some graphs, their names, and codes of labels that occur.
Table = tuple[Float64, list[str], Int32]
fitted(
    "ContinuousWeisfeilerLehman", raw_features_=texts, label_values_=labels, means_=vector(np.float64),
    scales_=vector(np.float64, least=0), unit_=a_number(0), centers_=listed(vector(np.float32, 2), MAX_DEPTH + 1, 1),
    center_bounds_=listed(vector(np.int64), MAX_DEPTH + 1, 1),
)  # fmt: skip


class ColumnRanges(NamedTuple):
    """Columns of some graphs before scaling: names, extremes (NaN for none), codes of labels, and number of nodes."""

    names: list[str]
    lowest: Float64
    highest: Float64
    codes: Int32
    n_nodes: int

    @classmethod
    def join(cls, parts: "list[ColumnRanges]") -> "ColumnRanges":
        """Merge the ranges of parts of the graphs."""
        parts = [part for part in parts if part.n_nodes] or parts[:1]
        return cls(
            parts[0].names,
            np.fmin.reduce([part.lowest for part in parts]),
            np.fmax.reduce([part.highest for part in parts]),
            np.unique(np.concatenate([part.codes for part in parts])),
            sum(part.n_nodes for part in parts),
        )


class Vectors(NamedTuple):
    """Distinct vectors in the order of their hashes, and how many nodes have each."""

    rows: NDArray[np.float32]
    hashes: NDArray[np.uint64]
    counts: Int64

    @classmethod
    def join(cls, parts: "Sequence[Vectors]") -> "Vectors":
        """Merge samples of parts of the graphs into the sample of all graphs."""
        rows, counts = np.concatenate([part.rows for part in parts]), np.concatenate([part.counts for part in parts])
        return distinct(rows, counts)[0].sample()

    def sample(self) -> "Vectors":
        """Return the vectors with the lowest hashes, which do not depend on how the graphs are divided into parts."""
        return Vectors(self.rows[:SAMPLE], self.hashes[:SAMPLE], self.counts[:SAMPLE])


@dataclass(repr=False, eq=False)
class ContinuousWeisfeilerLehman(ClusterKernel):
    """Kernel that counts nodes with similar attributes, structure, labels and neighbors.

    A node is represented by a vector of its attributes, structural features such as its degree and number of
    triangles, and its label. At each depth, the vector of a node is replaced by the average of itself and the mean of
    its neighbors' vectors. Each depth has ``n_partitions`` random partitions, in which the vectors of random nodes are
    the centers and every node is assigned to the nearest one. A graph is represented by the histogram of these
    clusters.

    Attributes and structural features are standardized; structural features have weight ½ if there are attributes, and
    labels are one-hot encoded with 1.5 in place of 1.

    Parameters
    ----------
    features : str, callable, or sequence of these, default="auto"
        ``"attributes"``, ``"structure"``, ``"labels"``, the names of single structural features (``"degree"``,
        ``"triangles"``, ``"core"``, ``"clustering"``, ``"neighbor_degree"``, ``"degree_share"``, ``"return_2"``,
        ``"return_3"``, ``"return_4"``), a function that takes a graph and returns a row for each node, or several of
        these. ``"auto"`` uses structure, attributes if there are any, and labels if there are 2 to 59 different ones.
    max_depth : int, default=3
        Number of times that vectors are averaged.
    n_partitions : int, default=24
        Random partitions at each depth.
    n_clusters : int, float, str, callable, or sequence of these, default=(0.5, 1.0, 2.0, 4.0)
        Clusters of a partition: a number, a float f for f·√nodes, ``"sqrt"``, ``"log2"`` or a function of the number of
        nodes (at most 65,536); partitions cycle through the values of a sequence. There are never more clusters than
        distinct vectors.
    similarity : {"tanimoto", "intersection", "dot"}, default="tanimoto"
        Similarity of two graphs' counts in :meth:`kernel_matrix`.
    edge_weights : int, optional
        Column of the edge attributes that contains the weights (>= 0) of neighbors in averages.
    directions : {"both", "out", "in"}, default="both"
        Neighbors that are averaged in directed graphs: heads and tails of the arcs of a node, heads only, or tails
        only. Structural features ignore directions.
    depth_weights : sequence of float, optional
        Weight of each depth, all 1 by default.
    normalize : bool or "depth", default=False
        Scale so that every graph has similarity 1 with itself, in total or at each depth.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None, default=None
        Seeds the centers.
    verbose : int, default=0
        1 logs progress, and which columns were dropped.
    sparse_output : bool, default=True
        Whether :meth:`transform` returns a sparse array.

    Attributes
    ----------
    raw_features_ : list of str
        Names of the columns, without labels, before constant ones are dropped.
    dropped_features_ : list of str
        Names of the constant columns, which are not used.
    label_values_ : tuple or None
        Labels that are used.
    means_, scales_ : float arrays
        The mean that is subtracted from each column, and the factor of the result; 0 for dropped columns.
    centers_ : list of float32 arrays
        For each depth the centers of all partitions, as scaled vectors; ``center_bounds_`` contains the start of each
        partition.

    See Also
    --------
    RelaxedWeisfeilerLehman : Clusters of trees of labels.

    Notes
    -----
    Missing values (NaN) of attributes are 0 after scaling, that is, the mean. An unseen label is ignored. A node
    without neighbors keeps its vector. Values are clipped at 64 standard deviations and rounded to about six digits, so
    that distances are exact; ties go to the lowest number.

    In graphs with more than 2.1·10⁹ walks of two steps (Σ degree²), walks through the nodes of highest degree are
    omitted, and a warning states the number of these nodes: return probabilities of their neighbors are slightly too
    low, and triangles with two of them are not counted.

    References
    ----------
    Togninalli et al., Wasserstein Weisfeiler-Lehman graph kernels, NeurIPS 2019 (the averages). Neumann et al.,
    Propagation kernels, Machine Learning 102, 2016, and Morris et al., Faster kernels for graphs with continuous
    attributes via hashing, ICDM 2016 (counts in random partitions).

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(4, [(0, 1), (0, 2), (0, 3)]), (4, [(0, 1), (1, 2), (2, 3), (3, 0)])])
    >>> kernel = ContinuousWeisfeilerLehman("degree", 0, 1, n_clusters=9, similarity="dot", random_state=0)
    >>> kernel.fit(graphs).transform(graphs).toarray()
    array([[1., 3., 0.],
           [0., 0., 4.]])
    >>> kernel.get_feature_names_out().tolist()
    ['depth 0, partition 0: #0 degree 3', 'depth 0, partition 0: #1 degree 1', 'depth 0, partition 0: #2 degree 2']
    """

    features: Features | Sequence[Features] = "auto"
    max_depth: int = 3
    n_partitions: int = 24
    n_clusters: NumberOfClusters | Sequence[NumberOfClusters] = (0.5, 1.0, 2.0, 4.0)
    similarity: str = "tanimoto"
    edge_weights: int | None = None
    directions: str = "both"
    depth_weights: Sequence[float] | None = None
    normalize: bool | str = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    sparse_output: bool = True

    base = "subtree"
    takes_directed = True

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_integer("n_partitions", self.n_partitions, 1)
        check_levels(self)
        check_choice("directions", self.directions, DIRECTIONS)
        if self.edge_weights is not None:
            check_integer("edge_weights", self.edge_weights)
        cluster_rules(self.n_clusters)
        self._asked()

    def _asked(self) -> list[Features]:
        """Return the requested features as a list."""
        asked: list[Any] = list(self.features) if isinstance(self.features, (list, tuple)) else [self.features]
        known = (*KINDS, *STRUCTURE) if len(asked) > 1 else ("auto", *KINDS, *STRUCTURE)
        for feature in asked:
            if not callable(feature):
                check_choice("features", feature, known)
        if not asked:
            raise ParameterError(f"features is empty; give at least one of {', '.join(known)}")
        return asked

    def uses(self) -> frozenset[str]:
        """Return which labels and attributes of graphs are used.

        Returns
        -------
        frozenset of str
            Names of parts of graphs, such as "node_labels".
        """
        asked = self._asked()
        used = {kind: kind in asked or "auto" in asked for kind in ("attributes", "labels")}
        parts = {f"node_{kind}" for kind, counts in used.items() if counts}
        return frozenset(parts | (set() if self.edge_weights is None else {"edge_attributes"}))

    # ----------------------------------------------------------------------------------------------- fitting

    def fit_source(self, source: Graphs) -> list[Counts] | None:
        """Fit to graphs in memory, or to shards; see ``relaxwl.kernels.levels.SourceKernel``.

        Parameters
        ----------
        source : Graphs
            The graphs.

        Returns
        -------
        counts : list of Counts, or None
            Counts of the graphs at each depth, if they are in memory.
        """
        seed = as_seed(self.random_state)
        tables = source.each(table_of, self._without_seed())
        columns: ColumnRanges = source.joined(ColumnRanges.join, source.each(extremes_of, own=tables))
        sums = source.joined(join_sums, source.each(sums_of, columns, own=tables))
        self._scale(columns, sums, source.graphs.node_vocabulary)
        self.centers_: list[NDArray[np.float32]] = []
        self.center_bounds_: list[Int64] = []
        if not source.in_memory:
            found = source.each(samples_of, self._without_seed(), own=tables)
            for sample in source.joined(join_samples, found):
                self._draw(sample, columns.n_nodes, seed)
            return None

        # In memory the centers of a depth are drawn from all of its vectors, which then find their nearest centers.
        def levels() -> Chain:
            for depth, (vectors, of_node) in enumerate(self._vectors(source.graphs, tables[0])):
                self._draw(vectors.sample(), columns.n_nodes, seed)
                yield self._clusters(depth, vectors.rows, of_node)

        return self._counted(source.graphs, [levels()])

    def _without_seed(self) -> Self:
        """Return a copy without the random state, which may not be serializable."""
        light = copy(self)
        light.random_state = None
        return light

    def _table(self, graphs: GraphCollection) -> tuple[Float64, list[str]]:
        """Return attributes, results of functions and structural features as one table, and its column names."""
        asked, parts, names = self._asked(), [np.zeros((graphs.n_nodes, 0))], list[str]()
        auto, attributes = "auto" in asked, graphs.node_attributes
        if "attributes" in asked and attributes is None:
            raise ValueError(
                "the nodes of these graphs have no attributes; use features='structure', or give the graphs attributes"
            )
        if attributes is not None and (auto or "attributes" in asked):
            parts.append(attributes)
            names += [f"attribute {column}" for column in range(attributes.shape[1])]
        for function in filter(callable, asked):
            parts.append(_called(function, graphs))
            names += [f"{getattr(function, '__name__', 'feature')} {column}" for column in range(parts[-1].shape[1])]
        wanted = [name for name in STRUCTURE if name in asked or auto or "structure" in asked]
        if wanted:
            found = structural_features(graphs, self.n_jobs)
            parts.append(found[:, [list(STRUCTURE).index(name) for name in wanted]])
        return np.hstack(parts), names + wanted

    def _scale(self, columns: ColumnRanges, sums: list[list[int]], vocabulary: tuple[Any, ...] | None) -> None:
        """Learn the scales of columns, the columns to drop, and the labels to use."""
        if columns.n_nodes == 0:
            raise ValueError("the graphs have no nodes: there is nothing to fit")
        self.raw_features_ = columns.names
        asked, values = self._asked(), None
        if vocabulary is not None and ("labels" in asked or ("auto" in asked and 1 < len(columns.codes) < FEW_LABELS)):
            values = tuple(vocabulary[code] for code in columns.codes.tolist())
        elif "labels" in asked:
            raise ValueError("the nodes of these graphs have no labels; use features='structure', or label the nodes")
        if values is not None and len(values) > MAX_LABELS:
            raise ValueError(f"features='labels' takes up to {MAX_LABELS} different labels, not {len(values)}")
        self.label_values_ = values
        structural = np.array([name in STRUCTURE for name in self.raw_features_], bool)
        weights = np.where(structural & (not structural.all()), STRUCTURE_WEIGHT, 1.0)
        span = np.nan_to_num(columns.highest - columns.lowest)
        self.means_, deviations = np.zeros(len(span)), np.zeros(len(span))
        for column, (number, total, squares) in enumerate(sums):
            if span[column] > 0:
                self.means_[column] = columns.lowest[column] + span[column] * (total / (number * STEPS))
                deviations[column] = span[column] * math.sqrt((number * squares - total**2) / (number * STEPS) ** 2)
        # A value has at most 24 bits (float32), and the sum over the columns of products of two at most 51.
        n_columns = int((deviations > 0).sum()) + len(values or ())
        self.unit_ = 2.0 ** min(24, (51 - math.ceil(math.log2(n_columns + 1))) // 2) / LARGEST
        self.scales_ = np.divide(weights * self.unit_, deviations, out=np.zeros(len(span)), where=deviations > 0)
        if self.dropped_features_:
            report(self.verbose, "constant features dropped: %s", ", ".join(self.dropped_features_))

    @property
    def dropped_features_(self) -> list[str]:
        """Names of the columns that are constant in the fitted graphs and are not used."""
        return [name for name, scale in zip(self.raw_features_, self.scales_, strict=True) if scale == 0]

    def _vectors(self, graphs: GraphCollection, table: Float64) -> "Iterator[tuple[Vectors, Int32]]":
        """Yield, for each depth, the distinct vectors and which of them each node has."""
        kept = np.flatnonzero(self.scales_)
        n_labels = 0 if self.label_values_ is None else len(self.label_values_)
        vectors = np.zeros((graphs.n_nodes, len(kept) + n_labels), np.float32)
        for start, stop in spans(graphs.n_nodes, CHUNK_NODES):
            scaled = np.rint((table[start:stop, kept] - self.means_[kept]) * self.scales_[kept])
            most = LARGEST * self.unit_
            vectors[start:stop, : len(kept)] = np.clip(np.nan_to_num(scaled, nan=0.0), -most, most)
        if self.label_values_ is not None and graphs.node_vocabulary is not None:
            check_same_kind(graphs.node_vocabulary, self.label_values_)
            codes = match_codes(graphs.node_vocabulary, self.label_values_)[graphs.node_codes]
            known = np.flatnonzero(codes < n_labels)
            vectors[known, len(kept) + codes[known]] = LABEL_WEIGHT * self.unit_
        adjacency = self._averaging(graphs)
        for depth in range(self.max_depth + 1):
            vectors = averages(adjacency, vectors, self.n_jobs) if depth else vectors
            yield distinct(vectors)

    def _averaging(self, graphs: GraphCollection) -> tuple[Int64, Int32, Float64]:
        """Return the adjacency over which vectors are averaged, and its weights, if any."""
        seen = graphs.seen(self.directions) if graphs.directed else graphs
        if self.edge_weights is None:
            return seen.indptr, seen.indices, np.zeros(0)
        n_columns = 0 if seen.edge_attributes is None else seen.edge_attributes.shape[1]
        if seen.edge_attributes is None or self.edge_weights >= n_columns:
            if len(seen.indices) == 0:
                return seen.indptr, seen.indices, np.zeros(0)
            raise ValueError(f"edge_weights={self.edge_weights}, and the edges have {n_columns} attributes")
        weights = np.ascontiguousarray(seen.edge_attributes[:, self.edge_weights])
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError(f"edge_weights={self.edge_weights}: weights of edges must be finite numbers >= 0")
        return seen.indptr, seen.indices, weights

    def _draw(self, sample: Vectors, n_nodes: int, seed: int) -> None:
        """Draw the centers of all partitions of the next depth: nodes at random, each vector once."""
        depth, rules, drawn = len(self.centers_), cluster_rules(self.n_clusters), []
        for partition in range(self.n_partitions):
            size = number_of_clusters(rules[partition % len(rules)], min(n_nodes, SAMPLE))
            own_seed = np.random.SeedSequence([seed, partition, depth]).generate_state(1, np.uint64)[0]
            keys = drawing_keys(sample.hashes, sample.counts, own_seed)
            nearest = np.argpartition(keys, size - 1)[:size] if size < len(keys) else np.arange(len(keys))
            drawn.append(sample.rows[nearest[np.argsort(keys[nearest], kind="stable")]])
        self.centers_.append(np.concatenate(drawn))
        self.center_bounds_.append(np.cumsum([0, *map(len, drawn)]))
        report(self.verbose, "depth %d of %d: %d clusters in %d partitions", depth, self.max_depth,
               len(self.centers_[-1]), self.n_partitions, share=(depth + 1) / (self.max_depth + 1))  # fmt: skip

    # ----------------------------------------------------------------------------------------------- clusters

    def _chains(self, graphs: GraphCollection, n_partitions: int | None = None) -> list[Chain]:
        def levels() -> Chain:
            for depth, (vectors, of_node) in enumerate(self._vectors(graphs, self._fitted_table(graphs))):
                yield self._clusters(depth, vectors.rows, of_node)[:n_partitions]

        return [levels()]

    def _clusters(self, depth: int, rows: NDArray[np.float32], of_node: Int32) -> list[LevelClusters]:
        """Return the clusters of distinct vectors in each partition: the nearest center, or the lowest of several.

        In ½‖x − c‖² = ½‖x‖² + ½‖c‖² − x·c, the first term is the same for all centers. The others are one matrix
        product, all of whose sums are exact, so that the order of summation in BLAS does not matter.
        """
        centers, bounds = self.centers_[depth].astype(np.float64), self.center_bounds_[depth]
        sides = np.hstack([-centers, (centers**2).sum(axis=1, keepdims=True) / 2])
        products = [np.ascontiguousarray(sides[start:stop].T) for start, stop in pairwise(bounds)]
        found = np.empty((len(products), len(rows)), np.int32)
        n_rows = min(max(OWN_THREAD // max(product.size for product in products), 32), CHUNK_ROWS)

        def assign(span: tuple[int, int]) -> None:
            for start in range(*span, n_rows):
                stop = min(start + n_rows, span[1])
                block = np.hstack([rows[start:stop], np.ones((stop - start, 1))])
                for place, product in enumerate(products):
                    (block @ product).argmin(axis=1, out=found[place, start:stop])

        map_chunks(assign, spans(len(rows), CHUNK_NODES), self.n_jobs)

        def level(partition: int, own: NDArray[np.float32]) -> LevelClusters:
            labels = found[partition]
            return LevelClusters(
                depth,
                partition,
                len(own),
                of_node,
                labels,
                lambda cluster: self.describe(depth, own[cluster]),
                row_distances=lambda: np.asarray(np.linalg.norm(rows - own[labels], axis=1) / self.unit_),
                center_distances=lambda: np.asarray(cdist(own, own) / self.unit_),
                describe=lambda row: self.describe(depth, rows[row]),
            )

        spans_of = enumerate(pairwise(bounds.tolist()))
        return [level(partition, self.centers_[depth][start:stop]) for partition, (start, stop) in spans_of]

    def _fitted_table(self, graphs: GraphCollection) -> Float64:
        """Return the columns of graphs, in the order of the fit."""
        if graphs.n_nodes == 0:
            return np.zeros((0, len(self.raw_features_)))
        if self.label_values_ is not None and graphs.node_vocabulary is None:
            raise ValueError("the kernel was fitted on labeled graphs, and these graphs are unlabeled")
        table, names = self._table(graphs)
        if names != self.raw_features_:
            raise ValueError(
                f"the kernel was fitted on nodes with {len(self.raw_features_)} columns of features, and these have "
                f"{len(names)}: give graphs with the same attributes"
            )
        return table

    def describe(self, depth: int, vector: NDArray[np.float32]) -> str:
        """Describe a vector, such as a center, in the units of the data: "degree 12, 30 triangles, core 5".

        The description contains the three values farthest from the mean and, from depth 1 on, the most common label
        with its share. Averages of logarithms are transformed back.

        Parameters
        ----------
        depth : int
            Depth of the vector.
        vector : float32 array (n_features,)
            The vector, scaled as ``centers_`` are.

        Returns
        -------
        str
            The description.
        """
        kept = np.flatnonzero(self.scales_)
        row = vector.astype(np.float64)
        words = []
        for place in sorted(np.argsort(-np.abs(row[: len(kept)]), kind="stable")[:3].tolist()):
            name, scale = self.raw_features_[kept[place]], self.scales_[kept[place]]
            value = round(row[place] / scale + self.means_[kept[place]], math.floor(math.log10(scale)))
            value = math.expm1(min(value, 700.0)) if name in LOGARITHMS else value
            words.append(STRUCTURE.get(name, f"{name} = {{:.3g}}").format(value))
        shares = row[len(kept) :] / (LABEL_WEIGHT * self.unit_)
        if self.label_values_ is not None and shares.max() > 0:
            label = self.label_values_[int(shares.argmax())]
            words.append(f"label {label}" if depth == 0 else f"{shares.max():.0%} {label}")
        return ("about " if depth and words else "") + (", ".join(words) or "any node")

    def _column_names(self) -> list[str]:
        return [
            f"depth {depth}, partition {partition}: #{number} {self.describe(depth, center)}"
            for depth, bounds in enumerate(self.center_bounds_)
            for partition, (start, stop) in enumerate(pairwise(bounds.tolist()))
            for number, center in enumerate(self.centers_[depth][start:stop])
        ]

    def _check_loaded(self) -> None:
        """Validate the state from a file."""
        n_raw, n_depths = len(self.raw_features_), self.max_depth + 1
        require(len(self.means_) == len(self.scales_) == n_raw, "means_ and scales_ must be as many as raw_features_")
        require(math.frexp(self.unit_)[0] == 0.5 and self.unit_ <= 2**24, "unit_ must be a power of two")
        size = int((self.scales_ != 0).sum()) + len(self.label_values_ or ())
        require(
            len(self.centers_) == len(self.center_bounds_) == n_depths, f"there must be centers_ of {n_depths} depths"
        )
        for centers, bounds in zip(self.centers_, self.center_bounds_, strict=True):
            within = np.abs(centers).max(initial=0.0) <= LARGEST * self.unit_ and (centers == np.rint(centers)).all()
            require(centers.shape[1] == size and within, f"centers_ must be rows of {size} whole numbers")
            known = len(bounds) == self.n_partitions + 1 and bounds[0] == 0 and bounds[-1] == len(centers)
            require(known and (np.diff(bounds) > 0).all(), "center_bounds_ must say where each partition begins")
        check_unary(self, [len(centers) for centers in self.centers_])


# ------------------------------------------------------------------------------------------------- columns, vectors


def structural_features(graphs: GraphCollection, n_jobs: int | None = None) -> Float64:
    """Return the structural features of all nodes, a column for each of ``STRUCTURE``.

    Degrees, triangles, cores and mean degrees of neighbors are logarithms of 1 plus these. Directions of arcs are
    ignored.
    """
    indptr, indices = either_direction(graphs)
    steps = walk_shares(graphs.offsets, indptr, MAX_WALKS)
    if steps[2].any():
        warn_user(
            f"{int(steps[2].sum())} nodes of very many neighbors are left out of walks: return_4 and, where a triangle "
            "has two of them, triangles, clustering and return_3 are lower than they would be"
        )
    out = np.empty((graphs.n_nodes, len(STRUCTURE)))
    out[:, compiled.SHARE] = np.repeat(graphs.node_counts, graphs.node_counts)
    degrees = np.diff(indptr)
    work = np.arange(graphs.n_nodes + 1) + np.concatenate([[0], np.cumsum(degrees[indices])])[indptr]
    cuts = np.unique(np.searchsorted(work, np.arange(CHUNK_WALKS, work[-1], CHUNK_WALKS)))
    bounds = [0, *cuts[(cuts > 0) & (cuts < graphs.n_nodes)].tolist(), graphs.n_nodes]
    cores, (order, begin) = degrees.copy(), counting_order(degrees, int(degrees.max(initial=0)) + 1)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    compiled.peel_cores(indptr, indices, cores, order, begin, place)

    def compute(span: tuple[int, int]) -> None:
        first = np.searchsorted(graphs.offsets, span[0], side="right") - 1
        last = np.searchsorted(graphs.offsets, span[1], side="left")
        window = int(graphs.offsets[first]), int(graphs.offsets[last])
        compiled.structural_features(*span, window, (indptr, indices), steps, cores, out)

    if graphs.n_nodes:
        map_chunks(compute, list(pairwise(bounds)), n_jobs)
    return out


def either_direction(graphs: GraphCollection) -> tuple[Int64, Int32]:
    """Return the adjacency without directions: an arc and its opposite are one edge."""
    if not graphs.directed:
        return graphs.indptr, graphs.indices
    arcs = csr_array((np.ones(len(graphs.indices), bool), graphs.indices, graphs.indptr), shape=(graphs.n_nodes,) * 2)
    either = csr_array(arcs + arcs.T)
    either.sum_duplicates()
    return either.indptr.astype(np.int64), either.indices.astype(np.int32)


def walk_shares(offsets: Int64, indptr: Int64, most_work: float) -> tuple[Int64, Float64, NDArray[np.bool_]]:
    """Return share, unit and heaviness of each node: a step to a given neighbor has the probability ``share / unit``.

    The unit of each graph is a power of two for which sums of shares over the neighbors of a node, each counted at most
    twice, fit into int64. Heavy nodes are those with the highest degrees in a graph, chosen such that the squared
    degrees of the others sum to at most ``most_work``.
    """
    degrees, of_node = np.diff(indptr), np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    most, heavy = np.zeros(len(offsets) - 1, np.int64), np.zeros(len(degrees), bool)
    np.maximum.at(most, of_node, degrees)
    unit = (2.0 ** (61 - np.frexp(most)[1]))[of_node]
    share = np.rint(np.divide(unit, degrees, out=np.zeros(len(degrees)), where=degrees > 0)).astype(np.int64)
    for graph in np.flatnonzero(np.bincount(of_node, degrees**2.0, len(most)) > most_work).tolist():
        own = degrees[offsets[graph] : offsets[graph + 1]]
        work = np.cumsum(np.bincount(own) * np.arange(own.max() + 1.0) ** 2)
        heavy[offsets[graph] : offsets[graph + 1]] = own >= np.argmax(work > most_work)
    return share, unit, heavy


def table_of(graphs: GraphCollection, kernel: ContinuousWeisfeilerLehman) -> Table:
    """Return the columns of graphs, their names, and the codes of their labels."""
    return *kernel._table(graphs), np.unique(graphs.node_codes)


def extremes_of(graphs: GraphCollection, found: Table) -> ColumnRanges:
    """Return the ranges of the columns, which are needed for scaling."""
    table, names, codes = found
    lowest, highest = (best.reduce(table, axis=0, initial=np.nan) for best in (np.fmin, np.fmax))
    return ColumnRanges(names, lowest, highest, codes, len(table))


def sums_of(graphs: GraphCollection, found: Table, columns: ColumnRanges) -> list[list[int]]:
    """Return the sums of the columns of graphs."""
    return column_sums(found[0], columns) if len(found[0]) else [[0, 0, 0]] * len(columns.names)


def join_sums(parts: list[list[list[int]]]) -> list[list[int]]:
    """Add the sums of the same columns."""
    return [[sum(values) for values in zip(*column, strict=True)] for column in zip(*parts, strict=True)]


def samples_of(graphs: GraphCollection, found: Table, kernel: ContinuousWeisfeilerLehman) -> list[Vectors]:
    """Return, for each depth, a sample of vectors from which centers are drawn."""
    return [vectors.sample() for vectors, _ in kernel._vectors(graphs, found[0])]


def join_samples(parts: list[list[Vectors]]) -> list[Vectors]:
    """Merge samples of parts of the graphs, depth by depth."""
    return [Vectors.join(of) for of in zip(*parts, strict=True)]


def column_sums(table: Float64, columns: ColumnRanges) -> list[list[int]]:
    """Return, for each column, the number of values, their sum, and the sum of their squares.

    Values are converted to whole steps above the column's minimum, so that sums are exact: those of parts of the graphs
    add up to those of all graphs, in any order.
    """
    sums = []
    for values, low, high in zip(table.T, columns.lowest, columns.highest, strict=True):
        if max(-low, high) > 1e300:
            raise ValueError("features of nodes have values that are infinite, or too large to be scaled")
        known = values[~np.isnan(values)]
        steps = np.rint((known - low) / ((high - low) or 1.0) * STEPS).astype(np.int64)
        squares = steps * steps
        large, small = int((squares // STEPS).sum()), int((squares % STEPS).sum())
        sums.append([len(known), int(steps.sum()), large * STEPS + small])
    return sums


def distinct(vectors: NDArray[np.float32], counts: Int64 | None = None) -> tuple[Vectors, Int32]:
    """Return the distinct rows in the order of their hashes, with their counts, and which of them each row is."""
    hashes = row_hashes(vectors)
    order = np.argsort(hashes, kind="stable")
    first = np.ones(len(order), bool)
    first[1:] = (vectors[order[1:]] != vectors[order[:-1]]).any(axis=1)
    of_row = np.empty(len(vectors), np.int32)
    of_row[order] = np.cumsum(first) - 1
    kept = order[first]
    return Vectors(vectors[kept], hashes[kept], np.bincount(of_row, counts, len(kept)).astype(np.int64)), of_row


def row_hashes(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return a hash of the content of each row of whole numbers."""
    state = np.full(len(vectors), 0x243F6A8885A308D3, np.uint64)
    for column in vectors.T:
        state = mixed(state ^ column.astype(np.int64).view(np.uint64))
    return state


def mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return mixed hashes, in which each bit depends on all given bits."""
    state = (state + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(32))


def drawing_keys(hashes: NDArray[np.uint64], counts: Int64, seed: np.uint64) -> Float64:
    """Return random waiting times; the rows of the k shortest are a sample without replacement, weighted by count."""
    uniform = ((mixed(mixed(hashes ^ seed)) >> np.uint64(11)) + 0.5) * 2.0**-53
    return np.asarray(-np.log(uniform) / counts)


def averages(
    adjacency: tuple[Int64, Int32, Float64], vectors: NDArray[np.float32], n_jobs: int | None
) -> NDArray[np.float32]:
    """Return the rounded mean of each vector (whole numbers) and the mean of its neighbors' vectors.

    A node without neighbors, or only with edges of weight 0, keeps its vector. Without weights, sums are exact.
    """
    indptr, indices, weights = adjacency
    out = np.empty_like(vectors)
    if len(weights):
        task = partial(_weighted_averages, adjacency, vectors, out)
        map_chunks(task, spans(len(vectors), CHUNK_NODES), n_jobs)
        return out
    degrees = np.diff(indptr)
    summing = csr_array((np.ones(len(indices)), indices, indptr), shape=(len(vectors), len(vectors)))

    def average(column: int) -> None:
        own = vectors[:, column].astype(np.float64)
        out[:, column] = np.rint(
            (own + np.divide(np.asarray(summing @ own), degrees, out=own.copy(), where=degrees > 0)) / 2
        )

    map_chunks(average, range(vectors.shape[1]), n_jobs)
    return out


def _weighted_averages(adjacency: Any, vectors: Any, out: Any, span: tuple[int, int]) -> None:
    compiled.weighted_averages(*span, adjacency, vectors, out)


def _called(function: Any, graphs: GraphCollection) -> Float64:
    """Return the results of a user's function for the nodes of all graphs."""
    found = [np.asarray(function(graph), np.float64) for graph in graphs]
    for place, (rows, size) in enumerate(zip(found, graphs.node_counts, strict=True)):
        if rows.ndim != 2 or len(rows) != size or rows.shape[1] != found[0].shape[1]:
            raise ValueError(
                f"features: the function must return a row of numbers for each of the {size} nodes of graph "
                f"{place}, as many as for graph 0; it returned an array of shape {rows.shape}"
            )
    return np.concatenate(found) if found else np.zeros((0, 0))

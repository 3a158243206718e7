"""Views of the objects that predictors learn from: counts of a graph kernel, or vectors, each with several kernels.

A view *represents* objects in its own form, stores the representation of the training objects, and computes from two
representations one Gram matrix for each of its similarities. ``blocks`` is the name of the block of kernels of each
similarity; similarities of one block are averaged.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist

from relaxwl._validation import as_floats
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels.clusters import ClusterKernel, LevelClusters
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.gram import Products, by_rows
from relaxwl.kernels.statistics import (
    N_RANKED,
    GraphStatistics,
    QuantileRanks,
    evenly_spaced,
    manhattan_distances,
    median_distance,
)
from relaxwl.learning.relevance import column_weights
from relaxwl.unfolding.tree import UnfoldingTree

# Maximum number of vectors from which the typical distance is computed.
N_SAMPLED = 1000


@dataclass(frozen=True, eq=False)
class Objects:
    """Graphs, optionally with additional vectors and, for molecules, with RDKit's molecules."""

    graphs: GraphCollection
    extra: Float64 | None = None
    molecules: list[Any] | None = None
    clusters: dict[int, list[LevelClusters]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.graphs)

    def levels(self, kernel: ClusterKernel) -> list[LevelClusters]:
        """Return the clusters of the nodes; those of a single object are kept for all of its explanations."""
        if len(self) > 1:
            return kernel.levels(self.graphs)
        if id(kernel) not in self.clusters:
            self.clusters[id(kernel)] = kernel.levels(self.graphs)
        return self.clusters[id(kernel)]

    def take(self, places: Int64) -> "Objects":
        """Return some of the objects."""
        if len(self) == len(places) == 1:
            return self
        extra = None if self.extra is None else self.extra[places]
        molecules = None if self.molecules is None else [self.molecules[place] for place in places.tolist()]
        return Objects(self.graphs[places], extra, molecules)


class View(Protocol):
    """A description of objects with one or several similarities."""

    name: str
    blocks: tuple[str, ...]
    training: Any

    def fit(self, objects: Objects) -> Any:
        """Learn from training objects, and store and return their representation."""

    def represent(self, objects: Objects) -> Any:
        """Return the representation of objects for :meth:`matrices`."""

    def matrices(self, x: Any, y: Any = None) -> list[Float64]:
        """Return a Gram matrix for each similarity between representations; without ``y`` within ``x``."""

    def own(self, x: Any) -> list[Float64]:
        """Return, for each similarity, the similarity of each object with itself."""

    def select(self, places: Int64) -> None:
        """Forget all similarities but those at these places."""

    def take(self, x: Any, places: Int64) -> Any:
        """Return the representation of some of the objects."""

    def without_nodes(self, objects: Objects) -> Any:
        """Return the representations of one object without each of its nodes, one row per node."""

    def n_columns(self) -> list[int]:
        """Return the number of columns of each part of a representation."""

    def n_features(self) -> int:
        """Return the number of explicit features."""

    def n_training(self) -> int:
        """Return the number of training objects that are kept."""

    def features(self, x: Any) -> csr_array:
        """Return explicit features for linear models."""

    def node_features(self, objects: Objects) -> csr_array:
        """Return the features of one object divided among its nodes: rows sum to the features that nodes cause."""


# ------------------------------------------------------------------------------------------------------ counts


class NodeCluster(NamedTuple):
    """Nodes of a graph that are in the same cluster of a kernel at one depth of one partition."""

    depth: int
    nodes: tuple[int, ...]
    partition: int
    number: int
    level: LevelClusters


@dataclass(eq=False)
class CountView:
    """The counts of a graph kernel, compared in several ways.

    Parameters
    ----------
    name : str
        Name of the view.
    kernel : CountKernel
        The kernel.
    settings : sequence of dict
        For each similarity, settings of the kernel (``{"max_depth": 2}``), or ``{"decay": λ}`` for exp(−λ·D) of the
        Wasserstein distances D between Weisfeiler-Lehman histograms (WWL, in closed form).
    blocks : sequence of str
        The block of each similarity.
    source : {"graphs", "molecules"}, default="graphs"
        Objects in which the kernel counts.
    """

    name: str
    kernel: Any
    settings: tuple[dict[str, Any], ...]
    blocks: tuple[str, ...]
    source: str = "graphs"
    training: list[Counts] | None = None

    def fit(self, objects: Objects) -> list[Counts]:
        """Fit the kernel, and keep the counts of each depth."""
        counts: list[Counts] = self.kernel.fit_prepare(getattr(objects, self.source))
        self.training = counts
        return counts

    def represent(self, objects: Objects) -> list[Counts]:
        """Return the counts of each depth."""
        given = self._given(objects) if len(objects) == 1 else (getattr(objects, self.source),)
        counts: list[Counts] = self.kernel.prepare(*given)
        return counts

    def _given(self, objects: Objects) -> tuple[Any, ...]:
        """Return objects in the form that the kernel takes, and the clusters of their nodes if it has any."""
        if isinstance(self.kernel, ClusterKernel):
            return objects.graphs, objects.levels(self.kernel)
        return (getattr(objects, self.source),)

    def matrices(self, x: list[Counts], y: list[Counts] | None = None) -> list[Float64]:
        """Return the Gram matrix of each setting."""
        of_kernel = [setting for setting in self.settings if "decay" not in setting]
        decays = [setting["decay"] for setting in self.settings if "decay" in setting]
        found = iter(self.kernel.compare(x, y, of_kernel))
        decayed = iter(_decayed(x, y, decays, self.kernel.n_jobs) if decays else ())
        return [next(decayed if "decay" in setting else found) for setting in self.settings]

    def own(self, x: list[Counts]) -> list[Float64]:
        """Return the similarity of each object with itself, for each setting."""
        of_kernel = [setting for setting in self.settings if "decay" not in setting]
        found = iter(self.kernel.compare_own(x, of_kernel))
        n_objects = x[0].matrix.shape[0]
        return [next(found) if "decay" not in setting else np.ones(n_objects) for setting in self.settings]

    def select(self, places: Int64) -> None:
        """Forget all similarities but those at these places."""
        self.settings = tuple(self.settings[place] for place in places)
        self.blocks = tuple(self.blocks[place] for place in places)

    def take(self, x: list[Counts], places: Int64) -> list[Counts]:
        """Return the counts of some of the objects."""
        return [
            Counts(csr_array(part.matrix[places]), part.unknown_squares[places], part.unknown_sums[places])
            for part in x
        ]

    def without_nodes(self, objects: Objects) -> list[Counts]:
        """Return the counts of one object without those of each of its nodes."""
        counts: list[Counts] = self.kernel.counts_without_nodes(*self._given(objects))
        return counts

    def n_columns(self) -> list[int]:
        """Return how many columns the counts of each depth have."""
        return [len(starts) - 1 for starts, _ in self.kernel.unary_]

    def n_features(self) -> int:
        """Return the number of explicit features."""
        return sum(len(steps) for _, steps in self.kernel.unary_)

    def n_training(self) -> int:
        """Return the number of training objects."""
        return 0 if self.training is None else int(self.training[0].matrix.shape[0])

    def features(self, x: list[Counts]) -> csr_array:
        """Return the counts in a unary code, whose dot products are the normalized intersection kernel.

        If each depth has length 1, they are divided by the root of the number of depths, so that views weigh equally.
        """
        features: csr_array = self.kernel.unary_features(x)
        return csr_array(features / np.sqrt(len(x))) if self.kernel.normalize == "depth" else features

    def node_features(self, objects: Objects) -> csr_array:
        """Return node features in which each node of a cluster has an equal share of the cluster's features."""
        features, first = self.features(self.represent(objects)), sum(self.n_columns())
        node, cluster = self.kernel.node_columns(*self._given(objects))
        shares = 1.0 / np.bincount(cluster, minlength=first)[cluster]
        members = csr_array((shares, (node, cluster)), shape=(objects.graphs.n_nodes, first))
        owners = np.repeat(np.arange(first), np.concatenate([np.diff(starts) for starts, _ in self.kernel.unary_]))
        of_clusters = csr_array(
            (features.data, (owners[features.indices], features.indices)), shape=(first, features.shape[1])
        )
        return csr_array(members @ of_clusters)

    # ------------------------------------------------------------------------------------------------ clusters

    @property
    def has_clusters(self) -> bool:
        """Whether columns are clusters of nodes with trees or vectors as centers."""
        return isinstance(self.kernel, ClusterKernel) and self.kernel.base == "subtree"

    def without_clusters(self, objects: Objects) -> tuple[list[NodeCluster], list[Counts]]:
        """Return the clusters with nodes of one graph, and its counts without each of them, one row per cluster."""
        clusters, counts = self.kernel.counts_without_clusters(*self._given(objects))
        found = [
            NodeCluster(
                level.depth, tuple(np.flatnonzero(level.clusters == number).tolist()), level.partition, number, level
            )
            for level, number in clusters
        ]
        return found, counts

    def center(self, cluster: NodeCluster, graphs: GraphCollection) -> tuple[UnfoldingTree | None, str]:
        """Return the center of a cluster as a tree, or a vector in words."""
        center = cluster.level.center(cluster.number)
        return (None, center) if isinstance(center, str) else (center, "")


def _decayed(x: list[Counts], y: list[Counts] | None, decays: list[float], n_jobs: int | None) -> list[Float64]:
    """Return exp(−λ·D) for each λ; 1 − D is the share of histograms in common, on average over the depths."""
    products = [
        Products(_shares(part), None if y is None else _shares(y[depth]), minimum=True) for depth, part in enumerate(x)
    ]

    def blocks(start: int, stop: int) -> list[Float64]:
        distances = np.asarray(1.0 - sum(part.rows(start, stop) for part in products) / len(products))
        if y is None:
            np.fill_diagonal(distances, 0.0)
        return [np.exp(-decay * distances) for decay in decays]

    n_other = None if y is None else y[0].matrix.shape[0]
    return by_rows(blocks, len(decays), x[0].matrix.shape[0], n_other, n_jobs)


def _shares(counts: Counts) -> csr_array:
    """Return counts as shares of a graph's total, which includes features that were not seen in fitting."""
    sums = np.asarray(counts.matrix.sum(axis=1) + counts.unknown_sums)
    matrix = counts.matrix.copy()
    matrix.data = matrix.data / np.repeat(np.where(sums > 0, sums, 1.0), np.diff(matrix.indptr))
    return matrix


# ----------------------------------------------------------------------------------------------------- vectors


@dataclass(frozen=True, eq=False)
class Similarity:
    """A kernel on some columns: linear, Gaussian exp(-d²/2) or exponential exp(-d), for distances d in widths.

    The squared width is in units of the median squared distance; ``factors`` multiply the columns. The Laplacian kernel
    is exponential with the Manhattan distance, whose median is the unit.
    """

    columns: Int64
    width: float | None
    unit: float
    exponential: bool = False
    factors: Float64 | None = None
    laplacian: bool = False

    def matrix(self, x: Float64, y: Float64) -> Float64:
        """Return the kernel values between the rows of two tables."""
        x, y = self.chosen(x), self.chosen(y)
        if self.laplacian:
            return np.asarray(np.exp(manhattan_distances(x, y) / -self.unit), np.float64)
        products = x @ y.T
        if self.width is None:
            return np.asarray(products / max(len(self.columns), 1))
        squares = np.maximum((x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * products, 0)
        if self.exponential:
            return np.asarray(np.exp(-np.sqrt(squares / (self.unit * self.width))))
        return np.asarray(np.exp(squares / (-2 * self.unit) / self.width))

    def chosen(self, x: Float64) -> Float64:
        """Return the columns of the kernel, multiplied by their factors."""
        columns = x[:, self.columns]
        return columns if self.factors is None else np.asarray(columns * self.factors)

    def own(self, x: Float64) -> Float64:
        """Return the kernel value of each row with itself."""
        if self.width is not None:
            return np.ones(len(x))
        return np.asarray((self.chosen(x) ** 2).sum(axis=1) / max(len(self.columns), 1))


@dataclass(eq=False)
class VectorView:
    """Linear and Gaussian (or exponential) kernels on vectors of numbers, scaled equally.

    Parameters
    ----------
    name : str
        Name of the view.
    scaler : object with ``fit_transform`` and ``transform``
        Returns a table with columns of similar scale.
    kernels : sequence of (kind, width)
        The columns of each kernel, by the scaler's ``kinds_`` (None: all of them), and its squared width in units of
        the median squared distance (None: a linear kernel).
    blocks : sequence of str
        The block of each kernel.
    source : {"extra", "graphs", "molecules"}, default="extra"
        Input of the scaler.
    exponential : bool, default=False
        Whether kernels with a width are exponential instead of Gaussian.
    laplacian : bool, default=False
        Whether kernels are Laplacian, with the median distance as width.
    """

    name: str
    scaler: Any
    kernels: tuple[tuple[str | None, float | None], ...]
    blocks: tuple[str, ...]
    source: str = "extra"
    exponential: bool = False
    laplacian: bool = False
    training: Float64 | None = None
    similarities: list[Similarity] | None = None

    def fit(self, objects: Objects) -> Float64:
        """Fit the scale of the columns and the units of the widths, and keep the scaled table."""
        table: Float64 = self.scaler.fit_transform(getattr(objects, self.source))
        self.training, self.similarities, used = table, [], list[int]()
        for place, (kind, width) in enumerate(self.kernels):
            columns = np.arange(table.shape[1]) if kind is None else np.flatnonzero(self.scaler.kinds_ == kind)
            # Graphs without labels and attributes have no statistics of them; one kernel stays, even if it is constant.
            if len(columns) or kind is None or (place == len(self.kernels) - 1 and not used):
                some = table[:, columns]
                unit = median_distance(some) if self.laplacian else _typical(some)
                self.similarities.append(Similarity(columns, width, unit, self.exponential, laplacian=self.laplacian))
                used.append(place)
        self.kernels = tuple(self.kernels[place] for place in used)
        self.blocks = tuple(self.blocks[place] for place in used)
        return table

    def weigh_columns(self, rows: Int64, targets: Float64) -> None:
        """Weight the columns of exponential kernels by their relevance to targets of some training objects."""
        assert self.training is not None
        assert self.similarities is not None
        if self.exponential:
            factors, table = np.sqrt(column_weights(self.training[rows], targets)), self.training
            weighted = [replace(one, factors=factors[one.columns]) for one in self.similarities]
            self.similarities = [replace(one, unit=_typical(one.chosen(table))) for one in weighted]

    def represent(self, objects: Objects) -> Float64:
        """Return the scaled table."""
        table: Float64 = self.scaler.transform(getattr(objects, self.source))
        return table

    def matrices(self, x: Float64, y: Float64 | None = None) -> list[Float64]:
        """Return the kernel values of each kernel."""
        assert self.similarities is not None
        found = [one.matrix(x, x if y is None else y) for one in self.similarities]
        if y is None:
            for one, matrix in zip(self.similarities, found, strict=True):
                if one.width is not None:
                    np.fill_diagonal(matrix, 1)  # exactly 1 in spite of rounding
        return found

    def own(self, x: Float64) -> list[Float64]:
        """Return the kernel values of each object with itself."""
        assert self.similarities is not None
        return [one.own(x) for one in self.similarities]

    def select(self, places: Int64) -> None:
        """Forget all similarities but those at these places."""
        assert self.similarities is not None
        self.similarities = [self.similarities[place] for place in places]
        self.kernels = tuple(self.kernels[place] for place in places)
        self.blocks = tuple(self.blocks[place] for place in places)

    def take(self, x: Float64, places: Int64) -> Float64:
        """Return the vectors of some of the objects."""
        return x[places]

    def without_nodes(self, objects: Objects) -> Float64:
        """Return the vectors of the object without each node; additional vectors do not change."""
        if hasattr(self.scaler, "without_nodes"):
            table: Float64 = self.scaler.without_nodes(getattr(objects, self.source))
            return table
        return np.repeat(self.represent(objects), objects.graphs.n_nodes, axis=0)

    def n_columns(self) -> list[int]:
        """Return how many columns the scaled table has."""
        return [len(self.scaler.names_)]

    def n_features(self) -> int:
        """Return the number of explicit features."""
        return len(self.scaler.names_)

    def n_training(self) -> int:
        """Return the number of training objects."""
        return 0 if self.training is None else len(self.training)

    def features(self, x: Float64) -> csr_array:
        """Return the vectors, scaled to a mean squared length of 1."""
        return csr_array(x / np.sqrt(max(x.shape[1], 1)))

    def node_features(self, objects: Objects) -> csr_array:
        """Return zeros, because vectors do not depend on nodes."""
        return csr_array((objects.graphs.n_nodes, self.represent(objects).shape[1]))


class StatisticsScaler:
    """Statistics of graphs as normal quantiles of their ranks among the training graphs."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.statistics = GraphStatistics(n_jobs)

    def fit(self, X: Any) -> None:
        """Learn the columns and their ranks from graphs."""
        self.ranks = QuantileRanks.fit(self.statistics.fit(X).transform(X))

    def fit_transform(self, X: Any) -> Float64:
        """Learn from evenly spaced graphs, as on shards, and return the quantiles of all."""
        self.fit(X[evenly_spaced(np.arange(len(X)), N_RANKED)])
        return self.transform(X)

    def transform(self, X: Any) -> Float64:
        """Return the quantiles, which continue linearly beyond the training graphs: what is far away stays far."""
        return self.ranks.transform(self.statistics.transform(X), extend=True)

    @property
    def names_(self) -> list[str]:
        """The names of the columns that are not constant."""
        names = self.statistics.names_
        return [names[place] for place in self.ranks.kept.tolist()]

    @property
    def kinds_(self) -> NDArray[np.str_]:
        """The kind of each of these columns."""
        return self.statistics.kinds_[self.ranks.kept]

    def to_state(self) -> dict[str, Any]:
        """Return the state for a model file."""
        return {"statistics": self.statistics, "ranks": self.ranks}

    @classmethod
    def from_state(cls, statistics: GraphStatistics, ranks: QuantileRanks) -> "StatisticsScaler":
        """Restore a scaler from the result of :meth:`to_state`."""
        scaler = cls()
        scaler.statistics, scaler.ranks = statistics, ranks
        return scaler


def statistics_view(n_jobs: int | None = None) -> VectorView:
    """Return the view of statistics of whole graphs."""
    # Kernels of their own, because many columns of attributes would hide the structure.
    kernels, blocks = (("structure", 1.0), ("contents", 1.0)), ("statistics", "statistics of labels and attributes")
    return VectorView("statistics", StatisticsScaler(n_jobs), kernels, blocks, "graphs", laplacian=True)


def extra_view() -> VectorView:
    """Return the view of additional vectors."""
    return VectorView("extra", ColumnScaler(), ((None, None), (None, 0.5)), ("extra", "extra"))


class ColumnScaler:
    """Scales columns to mean 0 and deviation 1; constant columns are left out."""

    def fit_transform(self, X: Any) -> Float64:
        """Learn means and deviations, and return the scaled table."""
        table = as_table(X)
        deviation = table.std(axis=0)
        self.n_columns_ = table.shape[1]
        self.kept_: Int64 = np.flatnonzero(
            deviation > 1e-12 * np.maximum(np.abs(table).max(axis=0, initial=0.0), 1e-300)
        )
        self.mean_: Float64 = table.mean(axis=0)[self.kept_]
        self.deviation_: Float64 = deviation[self.kept_]
        return self.transform(table)

    def transform(self, X: Any) -> Float64:
        """Return the scaled table."""
        table = as_table(X)
        if table.shape[1] != self.n_columns_:
            raise ValueError(f"extra must have {self.n_columns_} columns, as in fitting, not {table.shape[1]}")
        return (table[:, self.kept_] - self.mean_) / self.deviation_

    @property
    def names_(self) -> list[str]:
        """The names of the columns that are not constant."""
        return [f"extra column {place}" for place in self.kept_.tolist()]


def column_names(table: Any) -> list[str] | None:
    """Return the names of the columns of a data frame; None for other tables, and if names are not texts."""
    names = list(getattr(table, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def as_table(vectors: Any, n_rows: int | None = None) -> Float64:
    """Return a table of finite numbers, one row per object; raise an error if it is invalid."""
    table = np.asarray(vectors)
    try:
        table = table if table.dtype == np.float64 else as_floats(table)
    except (TypeError, ValueError) as error:
        raise ValueError(f"extra must be a table of numbers: {error}") from None
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or (n_rows is not None and len(table) != n_rows):
        expected = "a table" if n_rows is None else f"a table with one row for each of {n_rows} graphs"
        raise ValueError(f"extra must be {expected}, not an array of shape {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError("extra must be finite: fill in what is missing before")
    return table


def _typical(table: Float64) -> float:
    """Return the median squared distance of rows, or their mean if most are equal."""
    some = table[np.linspace(0, len(table) - 1, min(N_SAMPLED, len(table))).astype(np.int64)]
    squares = pdist(some, "sqeuclidean") if len(some) > 1 else np.ones(1)
    return float(np.median(squares)) or float(squares.mean()) or 1.0

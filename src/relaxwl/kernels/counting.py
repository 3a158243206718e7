"""Base kernels on labeled graphs as counts: labels, labels on edges, labels at the ends of shortest paths.

Each counter converts a collection whose nodes have ids to one sparse count vector per graph. The columns are fixed when
the counter is fitted; items that were not seen in fitting have no column and are only summed up, because they
contribute to the graph's own norm.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from relaxwl._execution import map_chunks
from relaxwl._memory import check_memory
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64, first_of_runs, prefix_sums
from relaxwl.kernels import _compiled
from relaxwl.unfolding.rows import graph_spans

# Maximum length of a shortest path in a key; a graph with a longer one has 10^9 node pairs.
MAX_PATH_LENGTH = 1 << 16
# Number of nodes of the graphs in which a task counts paths; all their pairs are in memory at the same time.
PATH_CHUNK_NODES = 1 << 12


@dataclass(frozen=True)
class Counts:
    """Counts of n graphs in the known columns, and the contributions of unknown ones to the norms."""

    matrix: csr_array
    unknown_squares: Float64
    unknown_sums: Float64

    def to_state(self) -> dict[str, Any]:
        """Return the state for a model file."""
        names = ("indptr", "indices", "data")
        unknown = {"unknown_squares": self.unknown_squares, "unknown_sums": self.unknown_sums}
        return {name: getattr(self.matrix, name) for name in names} | {"n_columns": self.matrix.shape[1]} | unknown

    @classmethod
    def from_state(
        cls, indptr: Any, indices: Any, data: Any, n_columns: int, unknown_squares: Any, unknown_sums: Any
    ) -> "Counts":
        """Restore a counter from the result of :meth:`to_state`, after validation."""
        matrix = checked_rows(data, indices, indptr, n_columns)
        if not (len(unknown_squares) == len(unknown_sums) == matrix.shape[0] and matrix.has_sorted_indices):
            raise ValueError("counts must be in ascending columns, for each graph")
        return cls(matrix, unknown_squares, unknown_sums)


def checked_rows(data: Any, indices: Any, indptr: Any, n_columns: int) -> csr_array:
    """Return a matrix made of arrays from a file, which are checked before SciPy uses them.

    SciPy's own check accepts rows that end after the last entry if ``indptr`` states that there are no entries.
    """
    within = len(indptr) and indptr[0] == 0 and indptr[-1] == len(indices) == len(data) and (np.diff(indptr) >= 0).all()
    if not within:
        raise ValueError("indptr must ascend from 0 to the number of entries")
    if len(indices) and not (indices.min() >= 0 and indices.max() < n_columns):
        raise ValueError(f"indices must be from 0 to {n_columns - 1}")
    return csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_columns))


def join_counts(parts: list[Counts], scales: list[float]) -> Counts:
    """Concatenate blocks of counts, each scaled by a factor >= 0."""
    blocks = [part.matrix if scale == 1 else part.matrix * scale for part, scale in zip(parts, scales, strict=True)]
    weighted = list(zip(parts, scales, strict=True))
    return Counts(
        _with_short_indices(csr_array(hstack(blocks, format="csr"))),
        np.sum([part.unknown_squares * scale**2 for part, scale in weighted], axis=0),
        np.sum([part.unknown_sums * scale for part, scale in weighted], axis=0),
    )


def _with_short_indices(matrix: csr_array) -> csr_array:
    """Return the matrix with 32-bit indices if they suffice; many estimators of scikit-learn accept no others."""
    if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max:
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


class SubtreeCounter:
    """Counts how often each id occurs: the subtree kernel.

    As for all counters, the nodes of graphs have ids, of which those from ``n_known`` on were not seen in fitting.
    ``fit`` fixes the columns, ``count`` counts in them, and ``describe`` names a column. ``edges`` has an edge code for
    each adjacency entry, if edge labels are used.
    """

    def __init__(self, n_columns: int = 0) -> None:
        self.n_columns = n_columns

    def fit(
        self, graphs: GraphCollection, ids: Int32, n_known: int, n_jobs: int | None = None, edges: Int32 | None = None
    ) -> Counts:
        """Take one column for each known id."""
        self.n_columns = n_known
        return self.count(graphs, ids, n_jobs)

    def count(
        self, graphs: GraphCollection, ids: Int32, n_jobs: int | None = None, edges: Int32 | None = None
    ) -> Counts:
        """Count ids in each graph."""
        n_ids = max(self.n_columns, int(ids.max(initial=-1)) + 1)
        indptr, keys, counts = count_ids(graphs.offsets, ids, n_ids)
        return _in_columns(indptr, keys, counts, keys < self.n_columns, self.n_columns)

    def describe(self, column: int, name_of: list[str], edge_names: Sequence[object] | None = None) -> str:
        """Name the tree or cluster."""
        return name_of[column]


class _KeyCounter:
    """Counts integer keys; the columns are the sorted keys seen in fitting."""

    keys: Int64
    n_known: int

    @property
    def n_columns(self) -> int:
        return len(self.keys)

    def fit(
        self, graphs: GraphCollection, ids: Int32, n_known: int, n_jobs: int | None = None, edges: Int32 | None = None
    ) -> Counts:
        """Take one column for each key that occurs."""
        self.n_known = n_known
        indptr, keys, counts = self._runs(graphs, ids, n_jobs, edges)
        self.keys, columns = np.unique(keys, return_inverse=True)
        return _in_columns(indptr, columns.astype(np.int64), counts, np.ones(len(keys), bool), self.n_columns)

    def count(
        self, graphs: GraphCollection, ids: Int32, n_jobs: int | None = None, edges: Int32 | None = None
    ) -> Counts:
        """Count the keys of each graph."""
        indptr, keys, counts = self._runs(graphs, ids, n_jobs, edges)
        columns = np.searchsorted(self.keys, keys)
        known = columns < self.n_columns
        known[known] = self.keys[columns[known]] == keys[known]
        return _in_columns(indptr, columns, counts, known, self.n_columns)

    def _runs(
        self, graphs: GraphCollection, ids: Int32, n_jobs: int | None, edges: Int32 | None
    ) -> tuple[Int64, Int64, Int32]:
        raise NotImplementedError

    def _room(self, ids: Int32, factor: int) -> int:
        """Return the number of ids in use, after checking that two of them and ``factor`` fit into a key."""
        n_total = max(self.n_known, int(ids.max(initial=-1)) + 1)
        if n_total**2 * factor >= np.iinfo(np.int64).max:
            raise ValueError(
                f"{n_total} distinct labels make too many pairs to count; use a smaller max_depth or base='subtree'"
            )
        return n_total


class EdgeCounter(_KeyCounter):
    """Counts pairs of ids on edges, separately for each edge label if these are used: the edge kernel.

    The pairs are unordered; on arcs, the tail comes first.
    """

    directed: bool = False

    def _runs(
        self, graphs: GraphCollection, ids: Int32, n_jobs: int | None, edges: Int32 | None
    ) -> tuple[Int64, Int64, Int32]:
        sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
        self.directed = graphs.directed
        once = np.ones(len(sources), bool) if graphs.directed else sources < graphs.indices
        one, other = ids[sources[once]].astype(np.int64), ids[graphs.indices[once]].astype(np.int64)
        low, high = (one, other) if graphs.directed else (np.minimum(one, other), np.maximum(one, other))
        labels = np.zeros(len(low), np.int64) if edges is None else edges[once].astype(np.int64)
        n_total = self._room(ids, int(labels.max(initial=0)) + 1)
        keys = (labels * self.n_known + low) * self.n_known + high
        unknown = np.maximum(low, high) >= self.n_known
        keys[unknown] = -1 - ((labels[unknown] * n_total + low[unknown]) * n_total + high[unknown])
        return _runs_by_graph(np.repeat(np.arange(graphs.n_graphs), graphs.edge_counts), keys, graphs.n_graphs)

    def describe(self, column: int, name_of: list[str], edge_names: Sequence[object] | None = None) -> str:
        """Name the two ends, and the edge label if these are used."""
        rest, high = divmod(int(self.keys[column]), self.n_known)
        label, low = divmod(rest, self.n_known)
        return f"{name_of[low]}{'→' if self.directed else '–'}{name_of[high]}" + (
            f" by edge label {edge_names[label]}" if edge_names else ""
        )


class ShortestPathCounter(_KeyCounter):
    """Counts (id, id', length) over ordered pairs of connected nodes: the shortest-path kernel."""

    def _runs(
        self, graphs: GraphCollection, ids: Int32, n_jobs: int | None, edges: Int32 | None
    ) -> tuple[Int64, Int64, Int32]:
        n_total = self._room(ids, MAX_PATH_LENGTH)
        largest = int(graphs.node_counts.max(initial=0))
        check_memory(
            25.0 * largest**2,  # three int64 keys (as they are sorted and joined) and a Boolean per pair of nodes
            f"counting the shortest paths of a graph of {largest} nodes",
            "use another base than 'shortest-path', or smaller graphs",
        )
        task = partial(_path_runs, graphs, ids, self.n_known, n_total)
        parts = map_chunks(task, graph_spans(graphs, PATH_CHUNK_NODES), n_jobs)
        lengths = np.concatenate([np.diff(indptr) for indptr, _, _ in parts])
        return prefix_sums(lengths), np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])

    def describe(self, column: int, name_of: list[str], edge_names: Sequence[object] | None = None) -> str:
        """Name the two ends and the length."""
        pair, length = divmod(int(self.keys[column]), MAX_PATH_LENGTH)
        one, other = divmod(pair, self.n_known)
        return f"{name_of[one]}–{length}–{name_of[other]}"


def _path_runs(
    graphs: GraphCollection, ids: Int32, n_known: int, n_total: int, span: tuple[int, int]
) -> tuple[Int64, Int64, Int32]:
    """Count the path keys of a span of graphs: sorted one graph at a time, then counted at once."""
    bounds = graphs.offsets[span[0] : span[1] + 1].tolist()
    arguments = graphs.indptr, graphs.indices, ids, n_known, n_total, MAX_PATH_LENGTH
    parts = [np.sort(_compiled.shortest_path_keys(*nodes, *arguments)) for nodes in pairwise(bounds)]
    starts = prefix_sums(np.array([len(keys) for keys in parts], np.int64))
    keys = np.concatenate([np.empty(0, np.int64), *parts])
    is_first = first_of_runs(keys)
    is_first[starts[:-1][starts[:-1] < len(keys)]] = True
    firsts = np.flatnonzero(is_first)
    return np.searchsorted(firsts, starts), keys[firsts], np.diff(firsts, append=len(keys)).astype(np.int32)


def _runs_by_graph(graph_of_key: Int64, keys: Int64, n_graphs: int) -> tuple[Int64, Int64, Int32]:
    """Return (indptr, keys, counts): the distinct keys of each graph in ascending order."""
    order = np.lexsort((keys, graph_of_key))
    graph_of_key, keys = graph_of_key[order], keys[order]
    firsts = np.flatnonzero(first_of_runs(keys) | first_of_runs(graph_of_key))
    counts = np.diff(firsts, append=len(keys)).astype(np.int32)
    return prefix_sums(np.bincount(graph_of_key[firsts], minlength=n_graphs)), keys[firsts], counts


def _in_columns(indptr: Int64, columns: Int64, counts: Int32, known: NDArray[np.bool_], n_columns: int) -> Counts:
    """Return the count matrix of the known entries, and the sums of the others for each graph."""
    n_graphs = len(indptr) - 1
    values = counts.astype(np.float64)
    unknown_squares: Float64 = np.zeros(n_graphs)
    unknown_sums: Float64 = np.zeros(n_graphs)
    if not known.all():
        graph_of_entry = np.repeat(np.arange(n_graphs), np.diff(indptr))
        graph, value = graph_of_entry[~known], values[~known]
        unknown_squares = np.bincount(graph, value**2, minlength=n_graphs).astype(np.float64)
        unknown_sums = np.bincount(graph, value, minlength=n_graphs).astype(np.float64)
        indptr = prefix_sums(np.bincount(graph_of_entry[known], minlength=n_graphs))
        columns, values = columns[known], values[known]
    matrix = csr_array((values, columns.astype(np.int32), indptr), shape=(n_graphs, n_columns))
    matrix.has_sorted_indices = True
    return Counts(matrix, unknown_squares, unknown_sums)


def count_ids(offsets: Int64, ids: Int32, n_ids: int) -> tuple[Any, Any, Any]:
    """Return (indptr, ids, counts): the distinct ids of each graph in ascending order, and how often each occurs.

    Graph g has the nodes ``offsets[g]`` to ``offsets[g + 1] - 1``; all ids are < n_ids. A compiled loop would
    take about two thirds of the time for large graphs, but several times as long for many small ones.
    """
    starts = offsets.astype(np.int32 if len(ids) <= np.iinfo(np.int32).max else np.int64)
    entries: Any = np.ones(len(ids), np.int32), ids.copy(), starts
    counted = csr_array(entries, shape=(len(offsets) - 1, n_ids))
    counted.sum_duplicates()
    return counted.indptr, counted.indices, counted.data


Counter = SubtreeCounter | EdgeCounter | ShortestPathCounter
COUNTERS: dict[str, type[Counter]] = {
    "subtree": SubtreeCounter, "edge": EdgeCounter, "shortest-path": ShortestPathCounter,
}  # fmt: skip

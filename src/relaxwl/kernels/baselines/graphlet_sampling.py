"""GS: counts of small subgraphs, estimated from random samples."""

import itertools
import math
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from relaxwl._execution import map_chunks, spans
from relaxwl._validation import counted
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int64
from relaxwl.kernels.base import watched
from relaxwl.kernels.baselines import _compiled
from relaxwl.kernels.baselines.histograms import FlatFeatures
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.model_schema import MAX_SAMPLES, check_unary

# GraKeL's number of graphlet types for each largest size, from which the sample size is derived.
ASSUMED_TYPES = {3: 4, 4: 8, 5: 19}
# Number of graphs per task.
GRAPHS_PER_TASK = 16
# Number of graphs between two checks whether a progress message is due.
GRAPHS_PER_LOOK = 256


@dataclass(repr=False, eq=False)
class GraphletSampling(FlatFeatures):
    """The graphlet kernel on sampled subgraphs.

    For each graph, ``n_samples`` node subsets are drawn: a size uniform from 3 to ``max_size``, then that many
    distinct nodes, uniformly. A feature counts the samples whose induced subgraph, connected or not, is isomorphic
    to one of the 4, 15 or 49 graphs on 3 to 3, 4 or 5 nodes; k(G, G') is the dot product. Labels are ignored.
    Every sample of a graph with one or two nodes is the graph itself, and a graph without nodes has no samples.

    The samples of a graph depend only on the seed and the graph, so a graph has the same features in every collection,
    and unseen graphs are treated like fitted ones. The sampling distribution and the default number of samples,
    ⌈2·(a·log₁₀ 2 + log₁₀ 1/δ) / ε²⌉ with a assumed graphlet types, are those of GraKeL.

    Parameters
    ----------
    max_size : {3, 4, 5}, default=5
        Largest number of nodes of a graphlet.
    n_samples : int, optional
        Samples from each graph, at most 1,000,000; by default from ``epsilon`` and ``delta``.
    epsilon, delta : float, default=0.1
        With probability at least 1 − δ the sampled frequencies should be within ε of the true ones in L1.
    normalize : bool, default=False
        Scale features and Gram matrix so that every graph has similarity 1 with itself.
    random_state : int, RandomState or None, default=None
        The seed; None takes a new one at each fit.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : int, default=0
        1 logs progress.

    See Also
    --------
    relaxwl.WeisfeilerLehman : Counts of identical neighborhoods.

    References
    ----------
    Shervashidze et al., Efficient graphlet kernels for large graph comparison, AISTATS 2009.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (4, [(0, 1), (1, 2), (0, 2)])])
    >>> kernel = GraphletSampling(max_size=3, n_samples=100, random_state=0).fit(graphs)
    >>> kernel.get_feature_names_out().tolist()
    ['3 nodes, 1 edge: 0–1', '3 nodes, 2 edges: 0–1, 0–2', '3 nodes, 3 edges: 0–1, 0–2, 1–2']
    >>> kernel.transform(graphs[:1]).toarray()
    array([[  0., 100.,   0.]])
    """

    max_size: int = 5
    n_samples: int | None = None
    epsilon: float = 0.1
    delta: float = 0.1
    normalize: bool = False
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        if self.max_size not in ASSUMED_TYPES:
            raise ValueError(f"max_size must be 3, 4 or 5, not {self.max_size!r}")
        if self.n_samples is not None and not self.n_samples >= 1:
            raise ValueError(f"n_samples must be an integer >= 1 or None, not {self.n_samples!r}")
        for name in ("epsilon", "delta"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must lie between 0 and 1, not {getattr(self, name)!r}")
        if (size := self._sample_size()) > MAX_SAMPLES:
            raise ValueError(f"n_samples must be at most {MAX_SAMPLES}, not {size}; without it, raise epsilon")

    def _fit_counts(self, graphs: GraphCollection) -> list[Counts]:
        self.n_samples_ = self._sample_size()
        self.seed_ = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        counts = self._sampled(graphs)
        self.graphlets_ = np.flatnonzero(counts.any(axis=0))
        return [self._in_columns(counts)]

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        return [self._in_columns(self._sampled(graphs))]

    def _sample_size(self) -> int:
        if self.n_samples is not None:
            return int(self.n_samples)
        types = ASSUMED_TYPES[self.max_size]
        return math.ceil(2 * (types * math.log10(2) + math.log10(1 / self.delta)) / self.epsilon**2)

    def _sampled(self, graphs: GraphCollection) -> Int64:
        """Return the counts of all graphlet types, (n_graphs, n_types)."""
        counts = np.zeros((graphs.n_graphs, len(_catalog()[2])), np.int64)
        task = partial(self._sample_span, graphs, counts)
        for start, stop in watched(spans(graphs.n_graphs, GRAPHS_PER_LOOK), "graphlets", self.verbose):
            map_chunks(task, [(start + a, start + b) for a, b in spans(stop - start, GRAPHS_PER_TASK)], self.n_jobs)
        return counts

    def _sample_span(self, graphs, counts, span) -> None:  # type: ignore[no-untyped-def]
        """Write the counts of a span of graphs."""
        classes, class_starts, _ = _catalog()
        for graph in range(*span):
            _compiled.sample_graphlets(
                int(graphs.offsets[graph]), int(graphs.offsets[graph + 1]), (graphs.indptr, graphs.indices),
                np.uint64(self.seed_), self.n_samples_, int(self.max_size), (classes, class_starts), counts[graph],
            )  # fmt: skip

    def _in_columns(self, counts: Int64) -> Counts:
        """Keep the types seen in fitting as columns; the others count in the norm of the graph only."""
        unknown = np.delete(counts, self.graphlets_, axis=1).astype(np.float64)
        matrix = csr_array(counts[:, self.graphlets_].astype(np.float64))
        return Counts(matrix, (unknown**2).sum(axis=1), unknown.sum(axis=1))

    def _check_loaded(self) -> None:
        numbers, n_types = self.graphlets_, len(_catalog()[2])
        within = numbers.min(initial=0) >= 0 and numbers.max(initial=0) < n_types
        if not within or (numbers[1:] <= numbers[:-1]).any():
            raise ValueError(f"graphlets_ must be ascending numbers of types, below {n_types}")
        check_unary(self, [len(numbers)])

    def _column_names(self) -> list[str]:
        types = _catalog()[2]
        return [_graphlet_name(*types[number]) for number in self.graphlets_]


@cache
def _catalog() -> tuple[Int64, Int64, list[tuple[int, int]]]:
    """Return the type of each (size, mask), where each size begins, and (size, smallest mask) of each type."""
    largest = max(ASSUMED_TYPES)
    classes, starts = [], [0]
    types: list[tuple[int, int]] = []
    for size in range(largest + 1):
        smallest = _smallest_masks(size)
        representatives, numbers = np.unique(smallest, return_inverse=True)
        classes.append(numbers + len(types))
        starts.append(starts[-1] + len(smallest))
        types += [(size, int(mask)) for mask in representatives]
    return np.concatenate(classes), np.array(starts[:-1]), types


def _smallest_masks(size: int) -> Int64:
    """Return, for every graph on ``size`` nodes as a bit mask of its pairs, the smallest mask isomorphic to it."""
    bit = {(i, j): j * (j - 1) // 2 + i for j in range(size) for i in range(j)}
    masks: Int64 = np.arange(1 << len(bit))
    smallest = masks.copy()
    for order in itertools.permutations(range(size)):
        renamed = np.zeros_like(masks)
        for (i, j), place in bit.items():
            pair = (min(order[i], order[j]), max(order[i], order[j]))
            renamed |= ((masks >> place) & 1) << bit[pair]
        np.minimum(smallest, renamed, out=smallest)
    return smallest


def _graphlet_name(size: int, mask: int) -> str:
    pairs = [(i, j) for j in range(size) for i in range(j) if mask >> (j * (j - 1) // 2 + i) & 1]
    edges = ", ".join(f"{i}–{j}" for i, j in sorted(pairs))
    sizes = f"{counted(size, 'node')}, {counted(len(pairs), 'edge')}"
    return f"{sizes}: {edges}" if edges else sizes

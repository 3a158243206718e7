"""Exact nearest-centre search, pruned by bounds that never exceed the true distance."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import map_chunks, spans
from relaxwl.clustering import _compiled
from relaxwl.distances.batched import paired_distances
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.unfolding import Rows

# Rows of one task; fixed, so that results do not depend on the number of workers.
CHUNK_ROWS = 1024
# Pivots of the first bound: few, because that bound is computed for every centre.
N_PIVOTS = 12
# Pivots of the second bound, computed only for centres that the first could not rule out.
MAX_PIVOTS = 256
# Pairs of rows that pivots are judged by.
SAMPLE = 256


def lipschitz_functions(ground: NDArray[Any]) -> Float64:
    """Return, for every point q and many pivots p (⊥ among them), M[q, p] - M[⊥, p], without the row of ⊥.

    Each column is 1-Lipschitz in q by the triangle inequality and 0 at ⊥, so by Kantorovich duality
    ``|Σ (x - y) · column| <= W(x, y)`` for measures x and y of any mass.
    """
    pivots = np.unique(np.linspace(0, len(ground) - 1, min(len(ground), MAX_PIVOTS)).astype(np.int64))
    chosen = ground[:, pivots].astype(np.float64)
    return np.ascontiguousarray(chosen[:-1] - chosen[-1])


def choose_pivots(embeddings: Float64, n_pivots: int) -> Int64:
    """Return the pivots that together bound the distances within a sample best, chosen greedily.

    ``embeddings`` (n_sample, n_all_pivots) are the sample's values; pairs are consecutive halves of the sample.
    """
    half = len(embeddings) // 2
    gaps = np.abs(embeddings[:half] - embeddings[half : 2 * half])
    covered = np.zeros(half)
    chosen: list[int] = []
    for _ in range(min(n_pivots, embeddings.shape[1])):
        gains = np.maximum(gaps, covered[:, None]).sum(axis=0)
        gains[chosen] = -1
        chosen.append(int(np.argmax(gains)))
        covered = np.maximum(covered, gaps[:, chosen[-1]])
    return np.array(chosen, np.int64)


@dataclass
class Search:
    """Rows with everything that bounds their distances, ready to be searched against changing centres.

    Attributes
    ----------
    labels, distances : arrays (n_rows,)
        The nearest centre of each row and its distance; -1 where none was searched yet.
    others : float64 array (n_rows,)
        A lower bound on each row's distance to all other centres.
    counters : int64 array (3,)
        Exact solves that ended within the best distance so far, solves that passed it, rows searched.
    n_measured : int
        Exact solves by :meth:`measure`.
    """

    rows: Rows
    ground: NDArray[Any]
    root_cost: Float64
    n_jobs: int | None = None
    labels: Int32 = field(init=False)
    distances: Float64 = field(init=False)
    others: Float64 = field(init=False)
    counters: Int64 = field(init=False)
    n_measured: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        n_rows = len(self.rows)
        self.labels = np.full(n_rows, -1, np.int32)
        self.distances = np.full(n_rows, np.inf)
        self.others = np.zeros(n_rows)
        self.counters = np.zeros(3, np.int64)
        self.measures = self.rows.measures()
        self.masses = self.measures.counts
        self.tolerance = 1e-9 * float(self.ground.max(initial=0) + self.root_cost.max(initial=0))
        self.functions = lipschitz_functions(self.ground)
        # An even spread over the canonical order sees every kind of row; no random numbers, no dependence on n_jobs.
        sample = np.unique(np.linspace(0, n_rows - 1, min(n_rows, SAMPLE)).astype(np.int64))
        sample = np.concatenate([sample[0::2], sample[1::2]])
        self.pivots = choose_pivots(self._embed(self.rows.take(sample), self.functions), N_PIVOTS)
        self.embeddings = self._embed(self.rows, np.ascontiguousarray(self.functions[:, self.pivots]))

    def _embed(self, rows: "Rows", functions: Float64) -> Float64:
        out = np.empty((len(rows), functions.shape[1]))
        masses = rows.counts.astype(np.float64)
        task = partial(_embed_span, rows.indptr, rows.points, masses, functions, out)
        map_chunks(task, spans(len(rows), 16 * CHUNK_ROWS), self.n_jobs)
        return out

    def assign(self, centers: Rows, subset: Int64 | None = None, allowed: NDArray[np.bool_] | None = None) -> None:
        """Search the nearest centre of the rows ``subset`` among the ``allowed`` centres and their present ones."""
        subset = np.arange(len(self.rows)) if subset is None else subset
        allowed = np.ones(len(centers), bool) if allowed is None else allowed
        deep = self._embed(centers, self.functions)
        shallow = np.ascontiguousarray(deep[:, self.pivots].T)
        task = partial(_assign_span, self, centers, deep, shallow, subset, allowed)
        self.counters += np.sum(map_chunks(task, spans(len(subset), CHUNK_ROWS), self.n_jobs), axis=0, dtype=np.int64)

    def measure(self, centers: Rows, subset: Int64) -> Float64:
        """Return, for all rows, the distance to the own centre: computed for ``subset``, as known for the others."""
        self.n_measured += len(subset)
        out = self.distances.copy()
        pairs = np.column_stack([subset, self.labels[subset]])
        out[subset] = paired_distances(self.measures, centers, pairs, self.ground, self.root_cost, self.n_jobs)
        return out

    def shifts(self, old: Rows, new: Rows) -> Float64:
        """Return how far each centre moved."""
        each = np.arange(len(old))
        return paired_distances(old, new, np.column_stack([each, each]), self.ground, self.root_cost, self.n_jobs)


def _embed_span(
    indptr: Int64, points: Int32, masses: Float64, functions: Float64, out: Float64, span: tuple[int, int]
) -> None:
    start, stop = span
    _compiled.embed_rows(start, stop, indptr, points, masses, functions, out)


def _assign_span(
    search: Search,
    centers: Rows,
    deep: Float64,
    shallow: Float64,
    subset: Int64,
    allowed: NDArray[np.bool_],
    span: tuple[int, int],
) -> Int64:
    counters = np.zeros(3, np.int64)
    start, stop = span
    rows = search.rows
    _compiled.nearest_centers(
        start, stop, subset,
        rows.roots, rows.indptr, rows.points, search.masses, search.embeddings,
        centers.roots, centers.indptr, centers.points, centers.counts, shallow, deep,
        search.ground, search.functions, search.root_cost, allowed, search.tolerance,
        search.labels, search.distances, search.others, counters,
    )  # fmt: skip
    return counters

"""What single vertices do to a prediction: how it changes when their counts are taken out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relaxwl.graphs import Graph, GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels.counting import Counter, Counts, SubtreeCounter, join_counts


@dataclass(frozen=True)
class VertexEffects:
    """The effect of each vertex of a graph on what was predicted for it.

    Attributes
    ----------
    graph : Graph
        The graph.
    prediction : object
        The predicted class or number.
    value : float
        The decision for the predicted class (how clearly it wins against the others), or the number.
    effects : float64 array (n_vertices,)
        How much ``value`` falls when the vertex is not counted: neither its neighbourhoods nor, along shortest paths,
        the pairs with it at an end. Others' neighbourhoods, in which it occurs, stay as they are.
    adds_up : bool
        Whether effects add up to ``value`` less ``rest``. Those of linear models (of many graphs) do: a vertex's effect
        is its share of the sum, sizes of graphs unchanged. Kernels that are normalised or compare by minima are no
        sums over vertices, so there **the effects do not add up**.
    """

    graph: Graph = field(repr=False)
    prediction: Any
    value: float
    effects: Float64
    adds_up: bool = False

    @property
    def rest(self) -> float:
        """What is left of the value without all effects; where they add up, what graphs get without any vertex."""
        return self.value - float(self.effects.sum())

    def strongest(self, k: int = 5) -> Int64:
        """Return the vertices with the largest effects, in either direction, the strongest first."""
        return np.argsort(-np.abs(self.effects), kind="stable")[:k]


def counts_without_vertices(kernel: Any, graph: GraphCollection) -> list[Counts]:
    """Return the counts of one graph without those of its first, second, ... vertex: a row for each vertex.

    ``graph`` is a collection of one graph, ``kernel`` a fitted kernel with ``node_groups``.
    """
    groups = kernel.node_groups(graph)
    counters = kernel._counters if isinstance(kernel._counters[0], list) else [kernel._counters]
    copies = graph[np.zeros(graph.n_nodes, np.int64)]
    by_depth = []
    for depth in range(len(groups[0])):
        parts = [
            _without_vertices(of_partition[depth], graph, copies, ids[depth], kernel.n_jobs)
            for of_partition, ids in zip(counters, groups, strict=True)
        ]
        by_depth.append(join_counts(parts, [1.0] * len(parts)))
    return by_depth


def _without_vertices(
    counter: Counter, graph: GraphCollection, copies: GraphCollection, ids: Any, n_jobs: int | None
) -> Counts:
    """Count in copies of a graph, in each of which another vertex has an id that nobody knows."""
    n = graph.n_nodes
    renamed = np.tile(ids, n)
    known = counter.n_columns if isinstance(counter, SubtreeCounter) else counter.n_known  # type: ignore[attr-defined]
    renamed[np.arange(n) * (n + 1)] = max(known, int(ids.max(initial=-1)) + 1)
    counts = counter.count(copies, renamed, n_jobs)
    if isinstance(counter, SubtreeCounter):
        # The unknown id stands once in each copy, and is to be forgotten.
        return Counts(counts.matrix, counts.unknown_squares - 1, counts.unknown_sums - 1)
    # Of pairs, those that were not met in fitting stay as in the whole graph: what the vertex has of them is not known.
    whole = counter.count(graph, ids, n_jobs)
    ones = np.ones(n)
    return Counts(counts.matrix, whole.unknown_squares[0] * ones, whole.unknown_sums[0] * ones)


def vertex_effects(
    graphs: GraphCollection,
    prepare: Callable[[Any, GraphCollection], Any],
    values: Callable[[Any, int], Float64],
    predictions: Any,
) -> list[VertexEffects]:
    """Return the effects in each graph.

    ``prepare(count, graph)`` applies ``count(kernel, graph)`` with each kernel; ``values(prepared, place)`` are the
    values of what was predicted for the graph at ``place``.
    """
    found = []
    for place, prediction in enumerate(predictions):
        graph = graphs[[place]]
        whole = float(values(prepare(_counts, graph), place)[0])
        without = values(prepare(counts_without_vertices, graph), place) if graph.n_nodes else np.zeros(0)
        found.append(VertexEffects(graphs[place], prediction, whole, whole - without))
    return found


def _counts(kernel: Any, graph: GraphCollection) -> list[Counts]:
    counts: list[Counts] = kernel.prepare(graph)
    return counts

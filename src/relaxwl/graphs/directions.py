"""Directed graphs: their adjacency, and what a node sees when arcs are followed forwards, backwards or both ways."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from relaxwl.graphs.arrays import Int32, Int64, first_of_runs, prefix_sums
from relaxwl.graphs.labels import Label

DIRECTIONS = ("both", "out", "in")

# What a child's edge carries in the tree of a directed graph: whether the arc leaves the parent or enters it.
LEAVES, ENTERS = "→", "←"


def arc_adjacency(arcs: Int64, n_nodes: int, original: Int64) -> tuple[Int64, Int32, Int64]:
    """Return the adjacency of arcs: ascending heads of each tail, no self-loops, no repetitions.

    Takes and returns what ``_compiled.symmetric_adjacency`` does, except that an arc counts in one direction only and
    that ``listed`` is always there.
    """
    tails, heads = arcs[:, 0], arcs[:, 1]
    order = np.lexsort((heads, tails))  # stable, so the earliest of equal arcs comes first
    order = order[tails[order] != heads[order]]
    keys = tails[order] * n_nodes + heads[order]
    first = first_of_runs(keys)
    listed = order[first]
    if original.size:
        original[:] = np.arange(len(arcs))
        original[order] = np.repeat(listed, np.diff(np.append(np.flatnonzero(first), len(keys))))
    indptr = prefix_sums(np.bincount(tails[listed], minlength=n_nodes))
    return indptr, heads[listed].astype(np.int32), listed


def reversed_arcs(indptr: Int64, indices: Int32) -> tuple[Int64, Int32, Int64]:
    """Return the adjacency of the arcs turned round, and for each entry the one that it was."""
    n_nodes = len(indptr) - 1
    turned = csr_array((np.arange(len(indices)), indices, indptr), shape=(n_nodes, n_nodes)).tocsc()
    return turned.indptr.astype(np.int64), turned.indices.astype(np.int32), np.asarray(turned.data, np.int64)


def both_ways(indptr: Int64, indices: Int32) -> tuple[Int64, Int32, Int64, NDArray[np.bool_]]:
    """Return, for each node, the arcs that leave it and those that enter it: neighbors, arcs, and which enter."""
    back_indptr, back_indices, back_arcs = reversed_arcs(indptr, indices)
    n_nodes = len(indptr) - 1
    nodes = np.concatenate([np.repeat(np.arange(n_nodes), np.diff(starts)) for starts in (indptr, back_indptr)])
    order = np.argsort(nodes, kind="stable")
    entering = order >= len(indices)
    return (
        indptr + back_indptr,
        np.concatenate([indices, back_indices])[order],
        np.concatenate([np.arange(len(indices)), back_arcs])[order],
        entering,
    )


def directed_symbol(entering: bool, label: Label | None) -> Label:
    """Return what stands on the edge to a child: the direction, with the label of the arc where it counts.

    >>> directed_symbol(False, None), directed_symbol(True, "calls")
    ('→', ('←', 'calls'))
    """
    direction = ENTERS if entering else LEAVES
    return direction if label is None else (direction, label)


def symmetric(arcs: Int64, values: NDArray[Any] | None, n_nodes: int) -> bool:
    """Whether every arc has a counterpart of the same value in the other direction."""
    forward, backward = arcs[:, 0] * n_nodes + arcs[:, 1], arcs[:, 1] * n_nodes + arcs[:, 0]
    there, back = np.argsort(forward, kind="stable"), np.argsort(backward, kind="stable")
    same = np.array_equal(forward[there], backward[back])
    return same and (values is None or np.array_equal(values[there], values[back]))

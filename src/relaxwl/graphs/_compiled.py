"""Compiled construction of the adjacency."""

import numpy as np

from relaxwl._compiling import njit


@njit(nogil=True, cache=True)
def symmetric_adjacency(edges, n_nodes, original):
    """Return the adjacency of undirected edges: ascending neighbors, no self-loops, no repetitions.

    Two passes of a counting sort. The first puts each node into the buckets of its neighbors; the second walks the
    buckets in ascending order and puts their number back, so every bucket fills in ascending order, and a repetition
    meets its equal as the last of the bucket. Edges are taken as listed, so the earliest of equal edges is kept.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
    n_nodes : int
    original : int64 array, shape (m,) or (0,)
        Written unless empty: the earliest listed edge that joins the same two nodes.

    Returns
    -------
    indptr : int64 array, shape (n_nodes + 1,)
    neighbors : int32 array, shape (n_adjacent,)
    listed : int64 array, shape (n_adjacent,) or (0,)
        The listed edge behind each entry, if ``original`` is not empty.
    """
    traced = original.size > 0
    starts = np.zeros(n_nodes + 1, np.int64)
    for edge in range(edges.shape[0]):
        u, v = edges[edge, 0], edges[edge, 1]
        if u != v:
            starts[u + 1] += 1
            starts[v + 1] += 1
    for v in range(n_nodes):
        starts[v + 1] += starts[v]
    n_arcs = starts[n_nodes]
    arrived = np.empty(n_arcs, np.int32)
    arrived_by = np.empty(n_arcs if traced else 0, np.int64)
    ends = np.empty(n_nodes, np.int64)
    for v in range(n_nodes):
        ends[v] = starts[v]
    for edge in range(edges.shape[0]):
        u, v = edges[edge, 0], edges[edge, 1]
        if traced:
            original[edge] = edge
        if u == v:
            continue
        if traced:
            arrived_by[ends[u]] = edge
            arrived_by[ends[v]] = edge
        arrived[ends[u]] = v
        arrived[ends[v]] = u
        ends[u] += 1
        ends[v] += 1
    neighbors = np.empty(n_arcs, np.int32)
    listed = np.empty(arrived_by.size, np.int64)
    for v in range(n_nodes):
        ends[v] = starts[v]
    for v in range(n_nodes):
        for arc in range(starts[v], starts[v + 1]):
            u = arrived[arc]
            end = ends[u]
            if end > starts[u] and neighbors[end - 1] == v:
                if traced:
                    original[arrived_by[arc]] = listed[end - 1]
                continue
            neighbors[end] = v
            if traced:
                listed[end] = arrived_by[arc]
            ends[u] = end + 1
    return _close_gaps(starts, ends, neighbors, listed)


@njit(nogil=True, cache=True)
def _close_gaps(starts, ends, neighbors, listed):
    """Move the filled parts of all buckets together; ``neighbors`` and ``listed`` are written."""
    indptr = np.zeros(starts.size, np.int64)
    position = 0
    for v in range(ends.size):
        for arc in range(starts[v], ends[v]):
            neighbors[position] = neighbors[arc]
            if listed.size > 0:
                listed[position] = listed[arc]
            position += 1
        indptr[v + 1] = position
    return indptr, neighbors[:position], listed[: min(position, listed.size)]

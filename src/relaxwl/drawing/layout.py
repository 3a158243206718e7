"""Where the nodes of a graph are drawn, and which of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from relaxwl.drawing.trees import NODE_RADIUS

# Laying out a graph takes time and memory with the square of its nodes.
MAX_LAID_OUT_NODES = 1000


def spring_layout(n_nodes: int, edges: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return positions (n_nodes, 2) in which edges are short and nodes keep apart; the same each time.

    Connected parts are laid out one by one and set side by side, the largest first.
    """
    points = np.zeros((n_nodes, 2))
    corner, row_height, row_width = np.zeros(2), 0.0, 1.3 * np.sqrt(n_nodes)
    for part in _connected_parts(n_nodes, edges):
        place = {node: i for i, node in enumerate(part)}
        own = _spread(len(part), [(place[a], place[b]) for a, b in edges if a in place])
        own -= own.min(axis=0)
        # Room in proportion to the number of nodes, so that they are as dense everywhere.
        own *= np.sqrt(len(part)) / max(float(own.max()), 1e-9)
        if corner[0] > 0 and corner[0] + own[:, 0].max() > row_width:
            corner, row_height = np.array([0.0, corner[1] + row_height + 1.0]), 0.0
        points[part] = own + corner
        row_height = max(row_height, float(own[:, 1].max()))
        corner[0] += own[:, 0].max() + 1.0
    return points


def _connected_parts(n_nodes: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the nodes of each connected part, the largest part first."""
    adjacent = _adjacency(n_nodes, edges)
    seen = [False] * n_nodes
    parts = []
    for start in range(n_nodes):
        if seen[start]:
            continue
        seen[start] = True
        part = [start]
        for node in part:
            for other in adjacent[node]:
                if not seen[other]:
                    seen[other] = True
                    part.append(other)
        parts.append(sorted(part))
    return sorted(parts, key=lambda part: (-len(part), part[0]))


def _adjacency(n_nodes: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    adjacent: list[list[int]] = [[] for _ in range(n_nodes)]
    for a, b in edges:
        adjacent[a].append(b)
        adjacent[b].append(a)
    return adjacent


def _spread(n_nodes: int, edges: Sequence[tuple[int, int]], n_rounds: int = 150) -> NDArray[np.float64]:
    """Lay a connected graph out: edges pull their ends together, all nodes push each other away.

    Edges between nodes with many neighbors pull less, lest a dense graph shrink to a dot.
    """
    points = _starting_points(n_nodes, edges)
    if n_nodes < 2:
        return points
    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    degree = np.bincount(ends.ravel(), minlength=n_nodes)
    weight = 1.0 / np.sqrt(np.minimum(degree[ends[:, 0]], degree[ends[:, 1]]))
    ideal = 1.0 / np.sqrt(n_nodes)
    for step in 0.12 * np.linspace(1.0, 0.02, n_rounds):
        delta = points[:, None, :] - points[None, :, :]
        squared = np.maximum((delta**2).sum(axis=2), 1e-6)
        force = (delta * (ideal**2 / squared)[:, :, None]).sum(axis=1)
        along = points[ends[:, 0]] - points[ends[:, 1]]
        pull = along * (weight * np.linalg.norm(along, axis=1) / ideal)[:, None]
        np.add.at(force, ends[:, 0], -pull)
        np.add.at(force, ends[:, 1], pull)
        length = np.maximum(np.linalg.norm(force, axis=1), 1e-9)
        points = points + force * (np.minimum(length, step) / length)[:, None]
    return points


def _starting_points(n_nodes: int, edges: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the second and third eigenvector of the Laplacian, moved apart by a spiral where they coincide."""
    turn = np.arange(n_nodes) * (np.pi * (3 - np.sqrt(5)))
    spiral = np.sqrt((np.arange(n_nodes) + 0.5) / n_nodes)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    if n_nodes < 4:
        return np.asarray(0.5 * spiral)
    laplacian = np.zeros((n_nodes, n_nodes))
    for a, b in edges:
        laplacian[a, b] = laplacian[b, a] = -1.0
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    vectors = np.linalg.eigh(laplacian)[1][:, 1:3]
    # An eigenvector and its negative are equally good; fix the sign so that the picture is the same everywhere.
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.where(vectors[largest, [0, 1]] < 0, -1.0, 1.0)
    scale = np.maximum(np.abs(vectors).max(axis=0), 1e-12)
    return np.asarray(0.5 * vectors / scale + 0.15 * spiral)


def nodes_to_draw(n_nodes: int, edges: Sequence[tuple[int, int]], first: Sequence[int], limit: int) -> list[int]:
    """Return at most ``limit`` nodes: those named first, then their neighbors, then the rest by degree."""
    if n_nodes <= limit:
        return list(range(n_nodes))
    adjacent = _adjacency(n_nodes, edges)
    by_degree = iter(sorted(range(n_nodes), key=lambda node: -len(adjacent[node])))
    chosen = dict.fromkeys(first)
    queue = deque(chosen)
    # Breadth-first from what is chosen; where that ends, the node with most neighbors that is left starts anew.
    while len(chosen) < limit:
        found = adjacent[queue.popleft()] if queue else [next(by_degree)]
        for node in found:
            if node not in chosen:
                chosen[node] = None
                queue.append(node)
    return sorted(list(chosen)[:limit])


def simple_edges(n_nodes: int, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the edges once each, smaller end first, sorted, without loops."""
    pairs = sorted({(min(int(a), int(b)), max(int(a), int(b))) for a, b in edges if a != b})
    if pairs and (pairs[0][0] < 0 or max(b for _, b in pairs) >= n_nodes):
        raise ValueError(f"edges name a node outside of 0 … {n_nodes - 1}")
    return pairs


def fit(points: NDArray[np.float64], size: float) -> tuple[list[float], list[float], float, float]:
    """Scale positions to the width ``size``; return x, y, a radius that leaves gaps, and the height needed."""
    if len(points) == 0:
        return [], [], NODE_RADIUS, 2 * NODE_RADIUS
    low, high = points.min(axis=0), points.max(axis=0)
    margin = NODE_RADIUS + 3
    scale = (size - 2 * margin) / max(float((high - low).max()), 1e-9)
    placed = (points - low) * scale + margin
    placed[:, 0] += (size - 2 * margin - (high[0] - low[0]) * scale) / 2
    delta = placed[:, None, :] - placed[None, :, :]
    apart = np.sqrt((delta**2).sum(axis=2)) + np.where(np.eye(len(points), dtype=bool), np.inf, 0.0)
    # Half of the typical distance to the nearest node, and less: some are nearer than that.
    radius = float(np.clip(0.4 * np.median(apart.min(axis=1)), 3.0, NODE_RADIUS))
    return placed[:, 0].tolist(), placed[:, 1].tolist(), radius, float(placed[:, 1].max()) + margin

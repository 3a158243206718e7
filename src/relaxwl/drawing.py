"""Pictures of trees, of mappings between trees, and of graphs, as SVG text.

The functions take lists and numbers, never objects of this package. A picture is self-contained: it carries
its own style, follows a light or dark background, and says in words what it shows to those who cannot see it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import ArrayLike, NDArray

# More elements than this in one picture help nobody and make pages heavy.
MAX_DRAWN_NODES = 5000
# Laying out a graph takes time and memory with the square of its vertices.
MAX_LAID_OUT_NODES = 1000

FONT_SIZE = 13.0
SMALL = 11.0 / FONT_SIZE
NODE_RADIUS = 13.0
SIBLING_GAP = 12.0
LEVEL_HEIGHT = 58.0
MARGIN = 14.0
TREE_GAP = 60.0
MAX_LABEL_LENGTH = 18
# Trees of one picture get this much room if the caller names no size: with margins about 1,600 pixels.
TREE_ROOM = 1500.0

# What became of a vertex, as it is called in the style sheet and in the legend.
KEPT, RELABELLED, DELETED, INSERTED = "kept", "relabelled", "deleted", "inserted"

# Text beside vertices takes the colour of the page around the picture; vertices bring their own, with letters to
# match. `:root` applies only where the picture stands alone and there is no page to take a colour from.
STYLE = """\
svg.rwl:root{color:#1f2933}
.rwl{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.rwl text{fill:currentColor;font-size:13px;text-anchor:middle}
.rwl text.small{font-size:11px}.rwl text.start{text-anchor:start}.rwl text.end{text-anchor:end}
.rwl .faint{opacity:.7}
.rwl .edge{stroke:currentColor;stroke-width:1.3;fill:none;opacity:.5}
.rwl .link{stroke:currentColor;stroke-width:1;fill:none;opacity:.35}
.rwl .match{stroke:currentColor;stroke-width:1.1;stroke-dasharray:4 4;fill:none;opacity:.5}
.rwl .node{fill:#eef2f6;stroke:#52606d;stroke-width:1.4}
.rwl .note{fill:#eef2f6;stroke:#9aa5b1;stroke-dasharray:2 2}
.rwl .relabelled{fill:#ffd95e;stroke:#94690a}
.rwl .deleted{fill:#ff9c94;stroke:#b3261e}
.rwl .inserted{fill:#9accff;stroke:#0b57b0}
.rwl .lit{fill:#ff9f43;stroke:#b35900}
.rwl text.on,.rwl text.ink{fill:#1f2933}
.rwl text.changed{fill:#94690a;font-weight:700}
@media (prefers-color-scheme:dark){
svg.rwl:root{color:#e4e7eb}
.rwl .node,.rwl .note{fill:#323f4b;stroke:#9aa5b1}
.rwl text.on{fill:#f5f7fa}
.rwl .relabelled{fill:#ffd95e;stroke:#ffefb0}
.rwl .deleted{fill:#ff9c94;stroke:#ffd3cf}
.rwl .inserted{fill:#9accff;stroke:#d6eaff}
.rwl .lit{fill:#ff9f43;stroke:#ffe0bf}
.rwl text.changed{fill:#ffd95e}
}
"""


@dataclass(frozen=True)
class _Tree:
    """A tree with marks for what is left out as further vertices at its end, laid out."""

    labels: list[str]
    parents: list[int]
    edges: list[str]
    n_nodes: int
    x: list[float]
    y: list[float]
    half: list[float]
    width: float
    height: float


def tree_svg(
    labels: Sequence[str],
    parents: Sequence[int],
    *,
    edge_labels: Sequence[str] | None = None,
    counts: Sequence[int] | None = None,
    hidden: Sequence[int] | None = None,
    title: str = "Tree",
    embed_style: bool = True,
) -> str:
    """Draw a rooted tree.

    Parameters
    ----------
    labels : sequence of str
        The label of each vertex.
    parents : sequence of int
        The parent of each vertex, before it in the sequence; -1 for the first, which is the root.
    edge_labels : sequence of str, optional
        The label of the edge above each vertex; that of the root is not used.
    counts : sequence of int, optional
        How many equal siblings a vertex stands for; shown where it is more than one.
    hidden : sequence of int, optional
        How many vertices below each vertex are left out; a mark says so.
    title : str
        What a screen reader says.
    embed_style : bool, default=True
        Whether the picture carries its style sheet; a page with many pictures holds ``STYLE`` once instead.

    Examples
    --------
    >>> tree_svg(["a", "b", "c"], [-1, 0, 0]).count("<circle")
    3
    """
    tree = _layout_tree(labels, parents, edge_labels, hidden, counts)
    body = _tree_elements(tree, (MARGIN, MARGIN), [KEPT] * len(labels), counts=counts)
    return _document(tree.width + 2 * MARGIN, tree.height + 2 * MARGIN, title, body, embed_style)


def tree_width(
    labels: Sequence[str],
    parents: Sequence[int],
    *,
    edge_labels: Sequence[str] | None = None,
    counts: Sequence[int] | None = None,
    hidden: Sequence[int] | None = None,
) -> float:
    """Return how wide :func:`tree_svg` draws a tree, without margins."""
    return _layout_tree(labels, parents, edge_labels, hidden, counts).width


def mapping_svg(
    source: tuple[Sequence[str], Sequence[int]],
    target: tuple[Sequence[str], Sequence[int]],
    pairs: Iterable[tuple[int, int]],
    *,
    states: tuple[Sequence[str], Sequence[str]] | None = None,
    edge_labels: tuple[Sequence[str], Sequence[str]] | None = None,
    relabelled_edges: Iterable[tuple[int, int]] = (),
    hidden: tuple[Sequence[int], Sequence[int]] | None = None,
    title: str = "Mapping between two trees",
    captions: tuple[str, str] = ("", ""),
    embed_style: bool = True,
) -> str:
    """Draw two trees side by side and how the vertices of one are mapped to those of the other.

    Mapped vertices are joined by dashed lines, yellow where their labels differ; vertices without a partner are
    red in the first tree (deleted) and blue in the second (inserted).

    Parameters
    ----------
    source, target : (labels, parents)
        The two trees, each as in :func:`tree_svg`.
    pairs : iterable of (int, int)
        Mapped vertices, as indices into the two trees.
    states : pair of sequences of {"kept", "relabelled", "deleted", "inserted"}, optional
        What becomes of each vertex; by default it follows from ``pairs`` and the labels.
    edge_labels, hidden : pair of sequences, optional
        For the two trees, as in :func:`tree_svg`.
    relabelled_edges : iterable of (int, int)
        The pairs whose edges to their parents have different labels.
    title : str
        What a screen reader says.
    captions : (str, str)
        A line below each tree.
    embed_style : bool, default=True
        As in :func:`tree_svg`.
    """
    pairs = sorted(pairs)
    edges = edge_labels or (None, None)
    cut = hidden or (None, None)
    trees = [_layout_tree(*tree, edges[i], cut[i]) for i, tree in enumerate((source, target))]
    states = states or _states(source[0], target[0], pairs)
    offsets = [(MARGIN, MARGIN), (MARGIN + trees[0].width + TREE_GAP, MARGIN)]
    height = max(tree.height for tree in trees)
    body = _match_lines(trees, offsets, pairs)
    changed = list(relabelled_edges)
    for side in (0, 1):
        marked = {pair[side] for pair in changed}
        body += _tree_elements(trees[side], offsets[side], states[side], changed_edges=marked)
        middle = offsets[side][0] + trees[side].width / 2
        body.append(_text(middle, MARGIN + height + 20, captions[side], "small faint"))
    below = MARGIN + height + (42 if any(captions) else 22)
    legend, legend_width = _legend(below, {*states[0], *states[1]}, bool(pairs))
    width = max(trees[0].width + TREE_GAP + trees[1].width, legend_width) + 2 * MARGIN
    return _document(width, below + 8 + MARGIN, title, body + legend, embed_style)


def graph_svg(
    n_nodes: int,
    edges: Iterable[tuple[int, int]],
    *,
    labels: Sequence[str] | None = None,
    highlight: Iterable[int] | Mapping[int, float] = (),
    positions: ArrayLike | None = None,
    max_nodes: int = 300,
    size: float = 360.0,
    title: str | None = None,
    embed_style: bool = True,
) -> str:
    """Draw an undirected graph, some of its vertices highlighted.

    Parameters
    ----------
    n_nodes : int
        Number of vertices.
    edges : iterable of (int, int)
        The edges; loops and repeated ones are not drawn.
    labels : sequence of str, optional
        A label for each vertex.
    highlight : iterable of int, or mapping of int to float
        Vertices to highlight; a mapping says how strongly, from 0 to 1.
    positions : array-like of shape (n_nodes, 2), optional
        Where the vertices are; laid out by springs if not given, the same way each time.
    max_nodes : int, default=300
        Vertices that are drawn at most: highlighted ones, what is near to them, and a note on the rest.
    size : float, default=360
        Width and height of the picture in pixels.
    title : str, optional
        What a screen reader says.
    embed_style : bool, default=True
        As in :func:`tree_svg`.
    """
    strength = dict(highlight) if isinstance(highlight, Mapping) else dict.fromkeys(highlight, 1.0)
    pairs = _simple_edges(n_nodes, edges)
    for vertex in strength:
        if not 0 <= vertex < n_nodes:
            raise ValueError(f"highlight names vertex {vertex}, but the graph has {n_nodes}")
    if labels is not None and len(labels) != n_nodes:
        raise ValueError(f"labels has {len(labels)} entries for {n_nodes} vertices")
    kept = vertices_to_draw(n_nodes, pairs, sorted(strength), min(max_nodes, MAX_LAID_OUT_NODES))
    place = {vertex: i for i, vertex in enumerate(kept)}
    drawn = [(place[a], place[b]) for a, b in pairs if a in place and b in place]
    if positions is None:
        points = spring_layout(len(kept), drawn)
    else:
        points = np.asarray(positions, dtype=np.float64)[kept].reshape(len(kept), 2)
    x, y, radius, height = _fit(points, size)
    body = [_line(x[a], y[a], x[b], y[b], "link") for a, b in drawn]
    # Highlighted vertices come last, on top of all others.
    for vertex in sorted(kept, key=lambda vertex: (vertex in strength, vertex)):
        i, name = place[vertex], None if labels is None else labels[vertex]
        body.append(_graph_node(x[i], y[i], radius, name, strength.get(vertex), f"vertex {vertex}"))
    if len(kept) < n_nodes:
        body.append(_text(size / 2, height + 6, f"… +{n_nodes - len(kept):,} more vertices", "small faint"))
        height += 20
    words = title or f"Graph with {n_nodes:,} vertices and {len(pairs):,} edges, {len(strength):,} highlighted"
    return _document(size, height, words, body, embed_style)


def spring_layout(n_nodes: int, edges: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return positions (n_nodes, 2) in which edges are short and vertices keep apart; the same each time.

    Connected parts are laid out one by one and set side by side, the largest first.
    """
    points = np.zeros((n_nodes, 2))
    corner, row_height, row_width = np.zeros(2), 0.0, 1.3 * np.sqrt(n_nodes)
    for part in _connected_parts(n_nodes, edges):
        place = {vertex: i for i, vertex in enumerate(part)}
        own = _spread(len(part), [(place[a], place[b]) for a, b in edges if a in place])
        own -= own.min(axis=0)
        # Room in proportion to the number of vertices, so that they are as dense everywhere.
        own *= np.sqrt(len(part)) / max(float(own.max()), 1e-9)
        if corner[0] > 0 and corner[0] + own[:, 0].max() > row_width:
            corner, row_height = np.array([0.0, corner[1] + row_height + 1.0]), 0.0
        points[part] = own + corner
        row_height = max(row_height, float(own[:, 1].max()))
        corner[0] += own[:, 0].max() + 1.0
    return points


def _connected_parts(n_nodes: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the vertices of each connected part, the largest part first."""
    adjacent = _adjacency(n_nodes, edges)
    seen = [False] * n_nodes
    parts = []
    for start in range(n_nodes):
        if seen[start]:
            continue
        seen[start] = True
        part = [start]
        for vertex in part:
            for other in adjacent[vertex]:
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
    """Lay a connected graph out: edges pull their ends together, all vertices push each other away.

    Edges between vertices with many neighbours pull less, lest a dense graph shrink to a dot.
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


def vertices_to_draw(n_nodes: int, edges: Sequence[tuple[int, int]], first: Sequence[int], limit: int) -> list[int]:
    """Return at most ``limit`` vertices: those named first, then their neighbours, then the rest by degree."""
    if n_nodes <= limit:
        return list(range(n_nodes))
    adjacent = _adjacency(n_nodes, edges)
    by_degree = iter(sorted(range(n_nodes), key=lambda vertex: -len(adjacent[vertex])))
    chosen = dict.fromkeys(first)
    queue = deque(chosen)
    # Breadth-first from what is chosen; where that ends, the vertex with most neighbours that is left starts anew.
    while len(chosen) < limit:
        found = adjacent[queue.popleft()] if queue else [next(by_degree)]
        for vertex in found:
            if vertex not in chosen:
                chosen[vertex] = None
                queue.append(vertex)
    return sorted(list(chosen)[:limit])


def _simple_edges(n_nodes: int, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the edges once each, smaller end first, sorted, without loops."""
    pairs = sorted({(min(int(a), int(b)), max(int(a), int(b))) for a, b in edges if a != b})
    if pairs and (pairs[0][0] < 0 or max(b for _, b in pairs) >= n_nodes):
        raise ValueError(f"edges name a vertex outside of 0 … {n_nodes - 1}")
    return pairs


def _states(
    source: Sequence[str], target: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> tuple[list[str], list[str]]:
    """Return what becomes of every vertex of the two trees."""
    before, after = [DELETED] * len(source), [INSERTED] * len(target)
    for i, j in pairs:
        before[i] = after[j] = KEPT if source[i] == target[j] else RELABELLED
    return before, after


def _layout_tree(
    labels: Sequence[str],
    parents: Sequence[int],
    edge_labels: Sequence[str] | None,
    hidden: Sequence[int] | None,
    counts: Sequence[int] | None = None,
) -> _Tree:
    """Lay a tree out: parents over the middle of their children, subtrees as close as their outlines allow."""
    _check_tree(labels, parents)
    names = [_shortened(label) for label in labels]
    above = list(parents)
    edges = [""] * len(names) if edge_labels is None else ["", *(_shortened(edge) for edge in edge_labels[1:])]
    half = [max(NODE_RADIUS, _text_width(name) / 2 + 7) for name in names]
    # Half-way up, edges are half as far apart as the vertices: a label there needs twice the room.
    half = [max(h, _text_width(edge)) if edge else h for h, edge in zip(half, edges, strict=True)]
    if counts is not None:
        half = [h + (_text_width(f"×{n}") if n > 1 else 0) for h, n in zip(half, counts, strict=True)]
    for index, count in enumerate(hidden or ()):
        if count:
            names.append(f"… +{_amount(count)} more")
            above.append(index)
            edges.append("")
            half.append(SMALL * _text_width(names[-1]) / 2 + 4)
    x = _place_subtrees(above, half)
    depth = [0] * len(above)
    for index in range(1, len(above)):
        depth[index] = depth[above[index]] + 1
    y = [NODE_RADIUS + LEVEL_HEIGHT * level for level in depth]
    left = min(center - h for center, h in zip(x, half, strict=True))
    right = max(center + h for center, h in zip(x, half, strict=True))
    shifted = [center - left for center in x]
    return _Tree(names, above, edges, len(labels), shifted, y, half, right - left, max(y) + NODE_RADIUS)


def _place_subtrees(parents: Sequence[int], half: Sequence[float]) -> list[float]:
    """Return the horizontal centre of every vertex, children placed before their parents.

    Each subtree has an outline, its leftmost and rightmost reach on every level; a subtree moves right until its
    outline clears that of its left siblings by a gap.
    """
    below: list[list[int]] = [[] for _ in parents]
    for index in range(1, len(parents)):
        below[parents[index]].append(index)
    shift = [0.0] * len(parents)
    outlines: list[tuple[list[float], list[float]]] = [([], [])] * len(parents)
    for node in range(len(parents) - 1, -1, -1):
        left: list[float] = []
        right: list[float] = []
        for child in below[node]:
            child_left, child_right = outlines[child]
            outlines[child] = ([], [])
            move = max((r + SIBLING_GAP - c for r, c in zip(right, child_left, strict=False)), default=0.0)
            shift[child] = move
            left += [edge + move for edge in child_left[len(left) :]]
            right = [edge + move for edge in child_right] + right[len(child_right) :]
        if below[node]:
            middle = (shift[below[node][0]] + shift[below[node][-1]]) / 2
            for child in below[node]:
                shift[child] -= middle
            left = [edge - middle for edge in left]
            right = [edge - middle for edge in right]
        outlines[node] = ([-half[node], *left], [half[node], *right])
    for node in range(1, len(parents)):
        shift[node] += shift[parents[node]]
    return shift


def _tree_elements(
    tree: _Tree,
    offset: tuple[float, float],
    states: Sequence[str],
    *,
    counts: Sequence[int] | None = None,
    changed_edges: Iterable[int] = (),
) -> list[str]:
    """Return the edges of a tree and, over them, its vertices and marks."""
    x = [center + offset[0] for center in tree.x]
    y = [center + offset[1] for center in tree.y]
    changed = set(changed_edges)
    # From the foot of a vertex to the top of its child: so even a flat line passes above the child's siblings.
    elements = [
        _line(x[up], y[up] + NODE_RADIUS, x[node], y[node] - NODE_RADIUS, "edge")
        for node, up in enumerate(tree.parents)
        if node
    ]
    for node in range(1, tree.n_nodes):
        up = tree.parents[node]
        # A little over half of the way down, on the outer side of the edge.
        side = -1 if x[node] < x[up] - 1 else 1
        kind = ("end" if side < 0 else "start") + (" small changed" if node in changed else " small")
        beside = x[up] + 0.56 * (x[node] - x[up]) + side * 6
        elements.append(_text(beside, y[up] + 0.56 * (y[node] - y[up]) - 3, tree.edges[node], kind))
    for node in range(tree.n_nodes):
        half = max(NODE_RADIUS, _text_width(tree.labels[node]) / 2 + 7)
        elements.append(_vertex(x[node], y[node], half, tree.labels[node], states[node]))
        if counts is not None and counts[node] > 1:
            elements.append(_text(x[node] + half + 2, y[node] - NODE_RADIUS + 1, f"×{counts[node]}", "start small"))
    marks = range(tree.n_nodes, len(tree.parents))
    return elements + [_note(x[mark], y[mark], tree.labels[mark]) for mark in marks]


def _match_lines(
    trees: Sequence[_Tree], offsets: Sequence[tuple[float, float]], pairs: Sequence[tuple[int, int]]
) -> list[str]:
    """Return dashed arcs between mapped vertices, those of one level at different heights."""
    levels: dict[float, list[tuple[int, int]]] = {}
    for i, j in pairs:
        levels.setdefault(trees[0].y[i], []).append((i, j))
    lines = []
    for y, level in levels.items():
        level.sort(key=lambda pair: trees[0].x[pair[0]])
        for rank, (i, j) in enumerate(level):
            # From the shoulder of one vertex to the facing one of the other.
            start = offsets[0][0] + trees[0].x[i] + 0.7 * NODE_RADIUS
            end = offsets[1][0] + trees[1].x[j] - 0.7 * NODE_RADIUS
            top = offsets[0][1] + y - 0.7 * NODE_RADIUS
            # Nothing stands between the roots; elsewhere an arc keeps clear of the vertices on its level.
            rise = 4.0 if i == 0 else 16 + 26 * (len(level) - rank) / len(level)
            bend = min(70.0, (end - start) / 3)
            lines.append(
                f'<path class="match" d="M{start:.1f} {top:.1f}C{start + bend:.1f} {top - rise:.1f} '
                f'{end - bend:.1f} {top - rise:.1f} {end:.1f} {top:.1f}"/>'
            )
    return lines


def _legend(y: float, states: set[str], mapped: bool) -> tuple[list[str], float]:
    """Return a line that explains what occurs in the picture, and its width."""
    elements: list[str] = []
    x = MARGIN
    for state in (RELABELLED, DELETED, INSERTED):
        if state in states:
            elements.append(f'<circle class="node {state}" cx="{x + 6:.1f}" cy="{y:.1f}" r="6"/>')
            elements.append(_text(x + 17, y, state, "start small"))
            x += 17 + SMALL * _text_width(state) + 16
    if mapped:
        elements.append(f'<path class="match" d="M{x:.1f} {y:.1f}h22"/>')
        elements.append(_text(x + 27, y, "mapped", "start small"))
        x += 27 + SMALL * _text_width("mapped")
    return elements, x - MARGIN


def _note(x: float, y: float, text: str) -> str:
    """Return the mark for what is left out, clear of the edge that leads to it."""
    half = SMALL * _text_width(text) / 2 + 4
    box = f'<rect class="note" x="{x - half:.1f}" y="{y - 9:.1f}" width="{2 * half:.1f}" height="18" rx="9"/>'
    return box + _text(x, y, text, "small on")


def _vertex(x: float, y: float, half: float, label: str, state: str) -> str:
    """Return a circle, or a pill where the label is long, with the label on it."""
    kind = "node" if state == KEPT else f"node {state}"
    if half <= NODE_RADIUS:
        shape = f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{NODE_RADIUS:g}"/>'
    else:
        shape = (
            f'<rect class="{kind}" x="{x - half:.1f}" y="{y - NODE_RADIUS:.1f}" width="{2 * half:.1f}" '
            f'height="{2 * NODE_RADIUS:g}" rx="{NODE_RADIUS:g}"/>'
        )
    return shape + _text(x, y, label, "on" if state == KEPT else "ink")


def _graph_node(x: float, y: float, radius: float, label: str | None, strength: float | None, name: str) -> str:
    """Return a vertex of a graph; strength None is one that is not highlighted."""
    shape = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"'
    shown = "" if label is None else f": {label}"
    circle = f'<circle class="node" {shape}><title>{_escaped(name + shown)}</title></circle>'
    if strength is not None:
        # A second circle over the first: through a pale highlight no edge may shine.
        opacity = 0.25 + 0.75 * min(max(strength, 0.0), 1.0)
        circle += f'<circle class="node lit" fill-opacity="{opacity:.2f}" pointer-events="none" {shape}/>'
    # Letters that do not fit would only blot the picture; the full label shows when pointed at.
    if label is None or radius < 8 or _text_width(label) > 2 * radius:
        return circle
    return circle + _text(x, y, label, "small on" if strength is None else "small ink")


def _fit(points: NDArray[np.float64], size: float) -> tuple[list[float], list[float], float, float]:
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
    # Half of the typical distance to the nearest vertex, and less: some are nearer than that.
    radius = float(np.clip(0.4 * np.median(apart.min(axis=1)), 3.0, NODE_RADIUS))
    return placed[:, 0].tolist(), placed[:, 1].tolist(), radius, float(placed[:, 1].max()) + margin


def _check_tree(labels: Sequence[str], parents: Sequence[int]) -> None:
    """Raise unless the two sequences describe one tree, parents first, of a size that can be drawn."""
    if len(labels) != len(parents) or not labels:
        raise ValueError(f"a tree needs as many labels as parents, got {len(labels)} and {len(parents)}")
    if len(labels) > MAX_DRAWN_NODES:
        raise ValueError(f"{len(labels):,} vertices are too many for a picture: at most {MAX_DRAWN_NODES:,}")
    if parents[0] != -1 or any(not 0 <= parent < index for index, parent in enumerate(parents) if index):
        raise ValueError("parents must be -1 for the root, which is first, and an earlier vertex for all others")


def _shortened(label: str) -> str:
    return label if len(label) <= MAX_LABEL_LENGTH else label[: MAX_LABEL_LENGTH - 1] + "…"


def _amount(count: int) -> str:
    """Return a number of vertices; one that is too long to read is rounded (as a decimal: a float may not hold it)."""
    return f"{count:,}" if count < 10**9 else f"{Decimal(count):.1e}"


def _text_width(text: str) -> float:
    """Return about how wide a text is; characters of East Asian scripts are twice as wide."""
    return FONT_SIZE * sum(1.0 if east_asian_width(character) in "WF" else 0.56 for character in text)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    """Return a text whose letters are centred on a height; `dy` is understood where baselines are not."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" dy=".35em">{_escaped(text)}</text>' if text else ""


def _escaped(text: str) -> str:
    """Return text fit for XML: markup shown as it is written, characters that XML forbids replaced."""
    allowed = (c if c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff" else "\ufffd" for c in text)
    return escape("".join(allowed))


def _document(width: float, height: float, title: str, body: Iterable[str], embed_style: bool) -> str:
    """Return the elements as a complete SVG document."""
    style = f"<style>{STYLE}</style>\n" if embed_style else ""
    content = "\n".join(element for element in body if element)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rwl" role="img" viewBox="0 0 {width:.1f} {height:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}">\n<title>{_escaped(title)}</title>\n{style}{content}\n</svg>\n'
    )

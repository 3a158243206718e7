"""Pictures of graphs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from relaxwl.drawing.trees import NODE_RADIUS, document, escaped, line, text, text_width

# Maximum number of nodes of a layout, whose time and memory are quadratic in it.
MAX_LAID_OUT_NODES = 1000


def spring_layout(n_nodes: int, edges: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return positions (n_nodes, 2) of a deterministic force-directed layout.

    Connected components are laid out separately and placed side by side, the largest first.
    """
    points = np.zeros((n_nodes, 2))
    corner, row_height, row_width = np.zeros(2), 0.0, 1.3 * np.sqrt(n_nodes)
    _, part_of = connected_components(_adjacency(n_nodes, edges), directed=False)
    parts = [np.flatnonzero(part_of == number).tolist() for number in range(int(part_of.max(initial=-1)) + 1)]
    for part in sorted(parts, key=lambda part: (-len(part), part[0])):
        place = {node: i for i, node in enumerate(part)}
        own = _spread(len(part), [(place[a], place[b]) for a, b in edges if a in place])
        own -= own.min(axis=0)
        # Area proportional to the number of nodes, so that all components have the same density.
        own *= np.sqrt(len(part)) / max(float(own.max()), 1e-9)
        if corner[0] > 0 and corner[0] + own[:, 0].max() > row_width:
            corner, row_height = np.array([0.0, corner[1] + row_height + 1.0]), 0.0
        points[part] = own + corner
        row_height = max(row_height, float(own[:, 1].max()))
        corner[0] += own[:, 0].max() + 1.0
    return points


def _adjacency(n_nodes: int, edges: Sequence[tuple[int, int]]) -> csr_array:
    ends = np.asarray(edges, np.int64).reshape(-1, 2)
    ends = np.concatenate([ends, ends[:, ::-1]])
    return csr_array((np.ones(len(ends), bool), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))


def _spread(n_nodes: int, edges: Sequence[tuple[int, int]], n_rounds: int = 150) -> NDArray[np.float64]:
    """Compute a force-directed layout of a connected graph.

    Edges between nodes with many neighbors pull less, so that dense graphs do not collapse to a point.
    """
    points = _starting_points(n_nodes, edges)
    if n_nodes < 2:
        return points
    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    degree = np.bincount(ends.ravel(), minlength=n_nodes)
    weight = 1.0 / np.sqrt(np.minimum(degree[ends[:, 0]], degree[ends[:, 1]]))
    ideal = 1.0 / np.sqrt(n_nodes)
    for step in 0.12 * np.linspace(1.0, 0.02, n_rounds):
        # One matrix per coordinate, because sums over a last axis of length 2 take several times as long.
        x, y = points.T[:, :, None] - points.T[:, None, :]
        push = ideal**2 / np.maximum(x * x + y * y, 1e-6)
        force = np.column_stack([np.einsum("ij,ij->i", x, push), np.einsum("ij,ij->i", y, push)])
        along = points[ends[:, 0]] - points[ends[:, 1]]
        pull = along * (weight * np.linalg.norm(along, axis=1) / ideal)[:, None]
        np.add.at(force, ends[:, 0], -pull)
        np.add.at(force, ends[:, 1], pull)
        length = np.maximum(np.linalg.norm(force, axis=1), 1e-9)
        points = points + force * (np.minimum(length, step) / length)[:, None]
    return points


def _starting_points(n_nodes: int, edges: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the second and third eigenvector of the Laplacian, plus a spiral that separates equal points."""
    turn = np.arange(n_nodes) * (np.pi * (3 - np.sqrt(5)))
    spiral = np.sqrt((np.arange(n_nodes) + 0.5) / n_nodes)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    if n_nodes < 4:
        return np.asarray(0.5 * spiral)
    laplacian = np.zeros((n_nodes, n_nodes))
    for a, b in edges:
        laplacian[a, b] = laplacian[b, a] = -1.0
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    vectors = eigh(laplacian, subset_by_index=(1, 2))[1]
    # An eigenvector and its negative are equally good; fix the sign so that the picture is deterministic.
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.where(vectors[largest, [0, 1]] < 0, -1.0, 1.0)
    scale = np.maximum(np.abs(vectors).max(axis=0), 1e-12)
    return np.asarray(0.5 * vectors / scale + 0.15 * spiral)


def nodes_to_draw(n_nodes: int, edges: Sequence[tuple[int, int]], first: Sequence[int], limit: int) -> list[int]:
    """Return at most ``limit`` nodes: those in ``first``, then their neighbors, then the rest by degree."""
    if n_nodes <= limit:
        return list(range(n_nodes))
    adjacency = _adjacency(n_nodes, edges)
    adjacent = np.split(adjacency.indices, adjacency.indptr[1:-1])
    by_degree = iter(sorted(range(n_nodes), key=lambda node: -len(adjacent[node])))
    chosen = dict.fromkeys(first)
    queue = deque(chosen)
    # Breadth-first from the chosen nodes; when that ends, it restarts at the remaining node of highest degree.
    while len(chosen) < limit:
        found = adjacent[queue.popleft()].tolist() if queue else [next(by_degree)]
        for node in found:
            if node not in chosen:
                chosen[node] = None
                queue.append(node)
    return sorted(list(chosen)[:limit])


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
    # Less than half of the median distance to the nearest node, because some nodes are nearer.
    radius = float(np.clip(0.4 * np.median(apart.min(axis=1)), 3.0, NODE_RADIUS))
    return placed[:, 0].tolist(), placed[:, 1].tolist(), radius, float(placed[:, 1].max()) + margin


def graph_svg(
    n_nodes: int,
    edges: Iterable[tuple[int, int]],
    *,
    labels: Sequence[str] | None = None,
    highlight: Iterable[int] | Mapping[int, float] = (),
    max_nodes: int = 300,
    size: float = 360.0,
    title: str | None = None,
    embed_style: bool = True,
) -> str:
    """Draw an undirected graph, laid out by springs and the same way each time, some of its nodes highlighted.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    edges : iterable of (int, int)
        The edges; loops and repeated ones are not drawn.
    labels : sequence of str, optional
        A label for each node.
    highlight : iterable of int, or mapping of int to float, default=()
        Nodes to highlight; a mapping gives the strength from 0 to 1 or, in another color, from -1 to 0.
    max_nodes : int, default=300
        Maximum number of nodes that are drawn: highlighted ones and nodes near them, with a note on the others.
    size : float, default=360
        Width and height of the picture in pixels.
    title : str, optional
        Text for screen readers.
    embed_style : bool, default=True
        As in :func:`tree_svg`.
    """
    strength = dict(highlight) if isinstance(highlight, Mapping) else dict.fromkeys(highlight, 1.0)
    pairs = sorted({(min(a, b), max(a, b)) for a, b in edges if a != b})
    kept = nodes_to_draw(n_nodes, pairs, sorted(strength), min(max_nodes, MAX_LAID_OUT_NODES))
    place = {node: i for i, node in enumerate(kept)}
    drawn = [(place[a], place[b]) for a, b in pairs if a in place and b in place]
    x, y, radius, height = fit(spring_layout(len(kept), drawn), size)
    body = [line(x[a], y[a], x[b], y[b], "link") for a, b in drawn]
    # Highlighted nodes come last, on top of all others.
    for node in sorted(kept, key=lambda node: (node in strength, node)):
        i, name = place[node], None if labels is None else labels[node]
        body.append(_graph_node(x[i], y[i], radius, name, strength.get(node), f"node {node}"))
    if len(kept) < n_nodes:
        body.append(text(size / 2, height + 6, f"… +{n_nodes - len(kept):,} more nodes", "small faint"))
        height += 20
    words = title or f"Graph with {n_nodes:,} nodes and {len(pairs):,} edges, {len(strength):,} highlighted"
    return document(size, height, words, body, embed_style)


def _graph_node(x: float, y: float, radius: float, label: str | None, strength: float | None, name: str) -> str:
    """Return a node of a graph; without strength it is not highlighted."""
    shape = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"'
    shown = "" if label is None else f": {label}"
    circle = f'<circle class="node" {shape}><title>{escaped(name + shown)}</title></circle>'
    if strength is not None:
        # A second circle over the first, so that edges are not visible through a pale highlight.
        opacity = 0.25 + 0.75 * min(abs(strength), 1.0)
        kind = "lit" if strength >= 0 else "against"
        circle += f'<circle class="node {kind}" fill-opacity="{opacity:.2f}" pointer-events="none" {shape}/>'
    # Labels that do not fit are omitted; the full label is shown as a tooltip.
    if label is None or radius < 8 or text_width(label) > 2 * radius:
        return circle
    return circle + text(x, y, label, "small on" if strength is None else "small ink")


# Ends of the color scale, for atoms that lower and that raise the prediction; distinguishable by the color-blind.
LOWERS, RAISES = np.array([0.26, 0.46, 0.85]), np.array([0.93, 0.49, 0.19])
# Length of a bond in pixels.
BOND_LENGTH = 24


def molecule_svg(
    molecule: Any, effects: ArrayLike, width: int = 400, height: int = 300, strongest: float | None = None
) -> str:
    """Draw a molecule as SVG; the stronger an atom's effect, the stronger its color.

    Blue atoms lower the prediction, orange ones raise it.

    Parameters
    ----------
    molecule : rdkit.Chem.Mol
        The molecule.
    effects : array-like (n_atoms,)
        A number for each atom.
    width : int, default=400
        Width of the picture in pixels.
    height : int, default=300
        Height of the picture in pixels.
    strongest : float, optional
        The effect with the strongest color, so that several pictures have the same scale; by default the largest.

    Returns
    -------
    str
        The picture.

    Examples
    --------
    >>> from rdkit import Chem
    >>> picture = molecule_svg(Chem.MolFromSmiles("CCO"), [0.1, 0.2, -1.0])
    >>> picture.lstrip().startswith("<?xml") and picture.count("<ellipse") == 3
    True
    """
    from rdkit.Chem.Draw import rdMolDraw2D

    values = np.asarray(effects, np.float64)
    if values.shape != (molecule.GetNumAtoms(),):
        raise ValueError(f"effects must be {molecule.GetNumAtoms()} numbers, one for each atom, not {values.shape}")
    shares = np.clip(values / (strongest or float(np.abs(values).max(initial=0)) or 1.0), -1, 1)
    colors = {}
    for atom, share in enumerate(shares.tolist()):  # a mixture of white with one end of the scale
        colors[atom] = tuple((1 - abs(share) * (1 - (RAISES if share >= 0 else LOWERS))).tolist())
    drawer = rdMolDraw2D.MolDraw2DSVG(width, height)
    options: Any = drawer.drawOptions()
    options.highlightRadius = 0.4
    options.fixedBondLength = BOND_LENGTH  # the same scale for all pictures, except for large molecules
    options.useBWAtomPalette()  # colors are reserved for effects
    drawable = rdMolDraw2D.PrepareMolForDrawing(molecule)
    drawer.DrawMolecule(drawable, highlightAtoms=list(colors), highlightAtomColors=colors, highlightBonds=[])
    drawer.FinishDrawing()
    return str(drawer.GetDrawingText())

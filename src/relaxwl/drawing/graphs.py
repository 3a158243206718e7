"""Pictures of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from relaxwl.drawing.layout import MAX_LAID_OUT_NODES, fit, nodes_to_draw, simple_edges, spring_layout
from relaxwl.drawing.svg import document, escaped, line, text, text_width


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
    highlight : iterable of int, or mapping of int to float
        Nodes to highlight; a mapping says how strongly, from 0 to 1, or in another color from -1 to 0.
    max_nodes : int, default=300
        Nodes that are drawn at most: highlighted ones, what is near to them, and a note on the rest.
    size : float, default=360
        Width and height of the picture in pixels.
    title : str, optional
        What a screen reader says.
    embed_style : bool, default=True
        As in :func:`tree_svg`.
    """
    strength = dict(highlight) if isinstance(highlight, Mapping) else dict.fromkeys(highlight, 1.0)
    pairs = simple_edges(n_nodes, edges)
    for node in strength:
        if not 0 <= node < n_nodes:
            raise ValueError(f"highlight names node {node}, but the graph has {n_nodes}")
    if labels is not None and len(labels) != n_nodes:
        raise ValueError(f"labels has {len(labels)} entries for {n_nodes} nodes")
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
    """Return a node of a graph; strength None is one that is not highlighted."""
    shape = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"'
    shown = "" if label is None else f": {label}"
    circle = f'<circle class="node" {shape}><title>{escaped(name + shown)}</title></circle>'
    if strength is not None:
        # A second circle over the first: through a pale highlight no edge may shine.
        opacity = 0.25 + 0.75 * min(abs(strength), 1.0)
        kind = "lit" if strength >= 0 else "against"
        circle += f'<circle class="node {kind}" fill-opacity="{opacity:.2f}" pointer-events="none" {shape}/>'
    # Letters that do not fit would only blot the picture; the full label shows when pointed at.
    if label is None or radius < 8 or text_width(label) > 2 * radius:
        return circle
    return circle + text(x, y, label, "small on" if strength is None else "small ink")

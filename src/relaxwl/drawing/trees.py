"""Pictures of rooted trees, and of mappings between two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from pathlib import Path
from unicodedata import east_asian_width

FONT_SIZE = 13.0
SMALL = 11.0 / FONT_SIZE
MARGIN = 14.0
MAX_LABEL_LENGTH = 18
# Text beside nodes has the text color of the surrounding page; nodes have their own colors, with matching letters.
# `:root` applies only to stand-alone pictures, which have no surrounding page.
STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8")


def shortened(label: str) -> str:
    """Cut a label that is too long to be drawn."""
    return label if len(label) <= MAX_LABEL_LENGTH else label[: MAX_LABEL_LENGTH - 1] + "…"


def text_width(text: str) -> float:
    """Return the approximate width of a text; characters of East Asian scripts are twice as wide."""
    return FONT_SIZE * sum(1.0 if east_asian_width(character) in "WF" else 0.56 for character in text)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Draw a straight line."""
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def text(x: float, y: float, words: str, kind: str) -> str:
    """Return a text that is vertically centered by `dy`, which more viewers support than baselines."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" dy=".35em">{escaped(words)}</text>' if words else ""


def escaped(text: str) -> str:
    """Return a text for XML, with markup escaped and characters that XML forbids replaced."""
    allowed = (c if c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff" else "\ufffd" for c in text)
    return escape("".join(allowed))


def document(width: float, height: float, title: str, body: Iterable[str], embed_style: bool) -> str:
    """Return the elements as a complete SVG document."""
    style = f"<style>{STYLE}</style>\n" if embed_style else ""
    content = "\n".join(element for element in body if element)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rwl" role="img" viewBox="0 0 {width:.1f} {height:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}">\n<title>{escaped(title)}</title>\n{style}{content}\n</svg>\n'
    )


# Maximum number of nodes of a tree in a picture; more are not readable and make pages large.
MAX_DRAWN_NODES = 5000
NODE_RADIUS = 13.0
SIBLING_GAP = 12.0
LEVEL_HEIGHT = 58.0
TREE_GAP = 60.0
# Default width of all trees of a picture, in pixels; about 1,600 with margins.
TREE_ROOM = 1500.0
# States of nodes, as named in the style sheet and the legend.
KEPT, RELABELED, DELETED, INSERTED = "kept", "relabeled", "deleted", "inserted"


@dataclass(frozen=True)
class PlainTree:
    """A rooted tree as lists.

    Parameters
    ----------
    labels : sequence of str
        The label of each node.
    parents : sequence of int
        The parent of each node, before it in the sequence; -1 for the first, which is the root.
    edge_labels : sequence of str, optional
        The label of the edge above each node; that of the root is not used.
    counts : sequence of int, optional
        Number of equal siblings that a node represents; shown if it is more than one.
    hidden : sequence of int, optional
        Number of nodes below each node that are left out, which a mark shows.
    """

    labels: Sequence[str]
    parents: Sequence[int]
    edge_labels: Sequence[str] | None = None
    counts: Sequence[int] | None = None
    hidden: Sequence[int] | None = None


@dataclass(frozen=True)
class _LaidOut:
    """A tree with additional nodes that mark omitted parts, and the positions of all nodes."""

    labels: list[str]
    parents: list[int]
    edges: list[str]
    counts: list[int]  # of the nodes, without marks
    x: list[float]
    y: list[float]
    width: float
    height: float


def tree_svg(tree: PlainTree, *, title: str = "Tree", embed_style: bool = True) -> str:
    """Draw a rooted tree.

    Parameters
    ----------
    tree : PlainTree
        The tree.
    title : str, default="Tree"
        Text for screen readers.
    embed_style : bool, default=True
        Whether the picture contains its style sheet; a page with many pictures contains ``STYLE`` once instead.

    Examples
    --------
    >>> tree_svg(PlainTree(["a", "b", "c"], [-1, 0, 0])).count("<circle")
    3
    """
    drawn = _layout_tree(tree)
    body = _tree_elements(drawn, (MARGIN, MARGIN), [KEPT] * len(tree.labels))
    return document(drawn.width + 2 * MARGIN, drawn.height + 2 * MARGIN, title, body, embed_style)


def tree_width(tree: PlainTree) -> float:
    """Return how wide :func:`tree_svg` draws a tree, without margins."""
    return _layout_tree(tree).width


def mapping_svg(
    source: PlainTree,
    target: PlainTree,
    pairs: Iterable[tuple[int, int]],
    *,
    states: tuple[Sequence[str], Sequence[str]],
    relabeled_edges: Iterable[tuple[int, int]] = (),
    title: str = "Mapping between two trees",
    captions: tuple[str, str] = ("", ""),
    embed_style: bool = True,
) -> str:
    """Draw two trees side by side and how the nodes of one are mapped to those of the other.

    Mapped nodes are joined by dashed lines, yellow where their labels differ; nodes without a partner are
    red in the first tree (deleted) and blue in the second (inserted).

    Parameters
    ----------
    source, target : PlainTree
        The two trees.
    pairs : iterable of (int, int)
        Mapped nodes, as indices into the two trees.
    states : pair of sequences of {"kept", "relabeled", "deleted", "inserted"}
        The change of each node of the two trees.
    relabeled_edges : iterable of (int, int), default=()
        The pairs whose edges to their parents have different labels.
    title : str, default="Mapping between two trees"
        Text for screen readers.
    captions : (str, str), default=("", "")
        A line below each tree.
    embed_style : bool, default=True
        As in :func:`tree_svg`.
    """
    pairs = sorted(pairs)
    trees = [_layout_tree(source), _layout_tree(target)]
    offsets = [(MARGIN, MARGIN), (MARGIN + trees[0].width + TREE_GAP, MARGIN)]
    height = max(tree.height for tree in trees)
    body = _match_lines(trees, offsets, pairs)
    changed = list(relabeled_edges)
    for side in (0, 1):
        marked = {pair[side] for pair in changed}
        body += _tree_elements(trees[side], offsets[side], states[side], marked)
        middle = offsets[side][0] + trees[side].width / 2
        body.append(text(middle, MARGIN + height + 20, captions[side], "small faint"))
    below = MARGIN + height + (42 if any(captions) else 22)
    legend, legend_width = _legend(below, {*states[0], *states[1]}, bool(pairs))
    width = max(trees[0].width + TREE_GAP + trees[1].width, legend_width) + 2 * MARGIN
    return document(width, below + 8 + MARGIN, title, body + legend, embed_style)


def _layout_tree(tree: PlainTree) -> _LaidOut:
    """Compute the layout of a tree: parents are centered over their children, subtrees are as close as possible."""
    if len(tree.labels) > MAX_DRAWN_NODES:
        raise ValueError(f"{len(tree.labels):,} nodes are too many for a picture: at most {MAX_DRAWN_NODES:,}")
    names = [shortened(label) for label in tree.labels]
    above = list(tree.parents)
    edges = ["", *(shortened(edge) for edge in tree.edge_labels[1:])] if tree.edge_labels else [""] * len(names)
    counts = [1] * len(names) if tree.counts is None else list(tree.counts)
    half = [max(NODE_RADIUS, text_width(name) / 2 + 7) for name in names]
    # Half-way up, edges are half as far apart as the nodes, so a label there needs twice the space.
    half = [max(h, text_width(edge)) if edge else h for h, edge in zip(half, edges, strict=True)]
    half = [h + (text_width(f"×{n}") if n > 1 else 0) for h, n in zip(half, counts, strict=True)]
    for index, count in enumerate(tree.hidden or ()):
        if count:
            # Large numbers are rounded, as Decimal because they may exceed the range of floats.
            names.append(f"… +{count:,} more" if count < 10**9 else f"… +{Decimal(count):.1e} more")
            above.append(index)
            edges.append("")
            half.append(SMALL * text_width(names[-1]) / 2 + 4)
    x = _place_subtrees(above, half)
    depth = [0] * len(above)
    for index in range(1, len(above)):
        depth[index] = depth[above[index]] + 1
    y = [NODE_RADIUS + LEVEL_HEIGHT * level for level in depth]
    left = min(center - h for center, h in zip(x, half, strict=True))
    right = max(center + h for center, h in zip(x, half, strict=True))
    shifted = [center - left for center in x]
    return _LaidOut(names, above, edges, counts, shifted, y, right - left, max(y) + NODE_RADIUS)


def _place_subtrees(parents: Sequence[int], half: Sequence[float]) -> list[float]:
    """Return the horizontal center of every node, children placed before their parents.

    Each subtree has an outline, its leftmost and rightmost extent on every level; a subtree is moved to the right until
    there is a gap between its outline and that of its left siblings.
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
    tree: _LaidOut, offset: tuple[float, float], states: Sequence[str], changed_edges: Iterable[int] = ()
) -> list[str]:
    """Return the edges of a tree and, over them, its nodes and marks."""
    x = [center + offset[0] for center in tree.x]
    y = [center + offset[1] for center in tree.y]
    changed, n_nodes = set(changed_edges), len(tree.counts)
    # From the bottom of a node to the top of its child, so that even a flat line passes above the child's siblings.
    elements = [
        line(x[up], y[up] + NODE_RADIUS, x[node], y[node] - NODE_RADIUS, "edge")
        for node, up in enumerate(tree.parents)
        if node
    ]
    for node in range(1, n_nodes):
        up = tree.parents[node]
        # A little over half of the way down, on the outer side of the edge.
        side = -1 if x[node] < x[up] - 1 else 1
        kind = ("end" if side < 0 else "start") + (" small changed" if node in changed else " small")
        beside = x[up] + 0.56 * (x[node] - x[up]) + side * 6
        elements.append(text(beside, y[up] + 0.56 * (y[node] - y[up]) - 3, tree.edges[node], kind))
    for node in range(n_nodes):
        half = max(NODE_RADIUS, text_width(tree.labels[node]) / 2 + 7)
        elements.append(_node(x[node], y[node], half, tree.labels[node], states[node]))
        if tree.counts[node] > 1:
            elements.append(text(x[node] + half + 2, y[node] - NODE_RADIUS + 1, f"×{tree.counts[node]}", "start small"))
    for mark in range(n_nodes, len(tree.parents)):
        half = SMALL * text_width(tree.labels[mark]) / 2 + 4
        corner = f'x="{x[mark] - half:.1f}" y="{y[mark] - 9:.1f}"'
        elements.append(f'<rect class="note" {corner} width="{2 * half:.1f}" height="18" rx="9"/>')
        elements.append(text(x[mark], y[mark], tree.labels[mark], "small on"))
    return elements


def _match_lines(
    trees: Sequence[_LaidOut], offsets: Sequence[tuple[float, float]], pairs: Sequence[tuple[int, int]]
) -> list[str]:
    """Return dashed arcs between mapped nodes; arcs of the same level have different heights."""
    levels: dict[float, list[tuple[int, int]]] = {}
    for i, j in pairs:
        levels.setdefault(trees[0].y[i], []).append((i, j))
    lines = []
    for y, level in levels.items():
        level.sort(key=lambda pair: trees[0].x[pair[0]])
        for rank, (i, j) in enumerate(level):
            # From the upper right of one node to the upper left of the other.
            start = offsets[0][0] + trees[0].x[i] + 0.7 * NODE_RADIUS
            end = offsets[1][0] + trees[1].x[j] - 0.7 * NODE_RADIUS
            top = offsets[0][1] + y - 0.7 * NODE_RADIUS
            # There is nothing between the roots; on other levels, arcs pass above the nodes.
            rise = 4.0 if i == 0 else 16 + 26 * (len(level) - rank) / len(level)
            bend = min(70.0, (end - start) / 3)
            lines.append(
                f'<path class="match" d="M{start:.1f} {top:.1f}C{start + bend:.1f} {top - rise:.1f} '
                f'{end - bend:.1f} {top - rise:.1f} {end:.1f} {top:.1f}"/>'
            )
    return lines


def _legend(y: float, states: set[str], mapped: bool) -> tuple[list[str], float]:
    """Return a line that explains the elements that occur in the picture, and its width."""
    elements: list[str] = []
    x = MARGIN
    for state in (RELABELED, DELETED, INSERTED):
        if state in states:
            elements.append(f'<circle class="node {state}" cx="{x + 6:.1f}" cy="{y:.1f}" r="6"/>')
            elements.append(text(x + 17, y, state, "start small"))
            x += 17 + SMALL * text_width(state) + 16
    if mapped:
        elements.append(f'<path class="match" d="M{x:.1f} {y:.1f}h22"/>')
        elements.append(text(x + 27, y, "mapped", "start small"))
        x += 27 + SMALL * text_width("mapped")
    return elements, x - MARGIN


def _node(x: float, y: float, half: float, label: str, state: str) -> str:
    """Return a circle, or a pill if the label is long, with the label on it."""
    kind = "node" if state == KEPT else f"node {state}"
    if half <= NODE_RADIUS:
        shape = f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{NODE_RADIUS:g}"/>'
    else:
        shape = (
            f'<rect class="{kind}" x="{x - half:.1f}" y="{y - NODE_RADIUS:.1f}" width="{2 * half:.1f}" '
            f'height="{2 * NODE_RADIUS:g}" rx="{NODE_RADIUS:g}"/>'
        )
    return shape + text(x, y, label, "on" if state == KEPT else "ink")

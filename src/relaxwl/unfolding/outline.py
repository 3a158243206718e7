"""The upper part of a tree as plain lists: what is drawn of it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from relaxwl import drawing
from relaxwl.graphs.labels import Label

Path = tuple[int, ...]

# Nodes in a picture, if the caller does not say how many.
MAX_DRAWN_SIZE = 200


class Cut(NamedTuple):
    """How much of a tree is drawn: at most so many children of one node, and levels below the root."""

    children: int
    levels: int

    def first(self, path: Path, n_children: int) -> Sequence[int]:
        """Return the positions of the children that are drawn of a node, the first ones."""
        return range(min(self.children, n_children) if len(path) < self.levels else 0)


def cuts(depth: int) -> Iterator[Cut]:
    """Yield ever smaller cuts of a tree: fewer children of a node as long as there are two, then fewer levels."""
    yield from (Cut(children, depth) for children in (MAX_DRAWN_SIZE, 24, 16, 12, 9, 7, 6, 5, 4, 3, 2))
    levels = min(depth, MAX_DRAWN_SIZE)
    while levels > 1:
        levels -= max(1, levels // 6)  # one by one in the end, faster where there are many
        yield Cut(2, levels)


class Outline(NamedTuple):
    """The upper part of a tree as plain lists, parents before children, siblings in order."""

    labels: list[Label]
    parents: list[int]
    positions: list[int]
    edges: list[Label]
    counts: list[int]
    hidden: list[int]

    def path(self, index: int) -> Path:
        """Return the path of a node."""
        upwards = []
        while index:
            upwards.append(self.positions[index])
            index = self.parents[index]
        return tuple(reversed(upwards))

    def paths(self) -> list[Path]:
        """Return the path of every node."""
        return [self.path(index) for index in range(len(self.parents))]

    def drawn(self) -> drawing.PlainTree:
        """Return the outline as it is drawn."""
        labels = [str(label) for label in self.labels]
        edges = ["" if edge is None else str(edge) for edge in self.edges]
        return drawing.PlainTree(labels, self.parents, edges, self.counts, self.hidden)

    def width(self) -> float:
        """Return the width of a picture, without margins."""
        return drawing.tree_width(self.drawn())

"""Mappings between two trees: which node becomes which, in words, as a script and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from relaxwl import drawing
from relaxwl.costs import EditCost, cost_text
from relaxwl.distances.script import (
    Delete,
    EditScript,
    Insert,
    LabelCosts,
    Node,
    Operation,
    Relabel,
    RelabelEdge,
    node_labels,
)
from relaxwl.unfolding.outline import MAX_DRAWN_SIZE, Cut, Outline, Path, cuts
from relaxwl.unfolding.tree import UnfoldingTree

NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True)
class TreeMapping:
    """A structure and depth preserving mapping between two trees.

    Nodes are addressed by their paths, see :class:`relaxwl.UnfoldingTree`.

    Attributes
    ----------
    source, target : UnfoldingTree
        The two trees.
    edit_cost : EditCost
        The costs of single edits.
    cost : float
        The cost of the whole mapping.
    pairs : tuple of (path, path)
        Mapped nodes, of the source and the target.
    deleted : tuple of paths
        Nodes of the source without a partner.
    inserted : tuple of paths
        Nodes of the target without a partner.
    """

    source: UnfoldingTree
    target: UnfoldingTree
    edit_cost: EditCost
    cost: float
    pairs: tuple[tuple[Path, Path], ...]
    deleted: tuple[Path, ...]
    inserted: tuple[Path, ...]

    def validate(self) -> None:
        """Check the three conditions of the definition, and that the costs add up.

        Raises
        ------
        ValueError
            Naming the first node or pair that breaks a condition.
        """
        self._validate_definite()
        mapped = set(self.pairs)
        if ((), ()) not in mapped:
            raise ValueError("not root preserving: the root is not mapped to the root")
        for path, other in self.pairs:
            if path and (not other or (path[:-1], other[:-1]) not in mapped):
                raise ValueError(
                    f"not structure preserving: {path} is mapped to {other}, but the parents are not mapped"
                )
        total = self.script().cost
        if not math.isclose(total, self.cost, rel_tol=1e-9):
            raise ValueError(f"the operations cost {total}, but the mapping claims {self.cost}")

    def _validate_definite(self) -> None:
        """Check that every node of either tree occurs exactly once."""
        sides = (
            (self.source, [path for path, _ in self.pairs], self.deleted, "source"),
            (self.target, [path for _, path in self.pairs], self.inserted, "target"),
        )
        for tree, mapped, alone, name in sides:
            named = [*mapped, *alone]
            twice = _first_repeated(named)
            if twice is not None:
                raise ValueError(f"not definite: node {twice} of the {name} occurs more than once")
            missing = {path for path, _ in tree.walk()} ^ set(named)
            if missing:
                raise ValueError(
                    f"node {min(missing)} is either not in the {name} or neither mapped nor "
                    f"{'deleted' if name == 'source' else 'inserted'}"
                )

    def script(self) -> EditScript:
        """Return the edits as operations: relabel, then delete from the leaves up, then insert from the top down."""
        costs = LabelCosts(self.source, self.target, self.edit_cost)
        before, after = node_labels(self.source), node_labels(self.target)
        operations: list[Operation] = []
        for path, other in self.pairs:
            node = Node("source", path)
            (old, old_edge), (new, new_edge) = before[path], after[other]
            if old != new:
                operations.append(Relabel(node, old, new, costs.relabel(old, new)))
            if old_edge is not None and new_edge is not None and old_edge != new_edge:
                operations.append(RelabelEdge(node, old_edge, new_edge, costs.relabel_edge(old_edge, new_edge)))
        for path in sorted(self.deleted, reverse=True):
            label, edge = before[path]
            operations.append(Delete(Node("source", path), label, edge, costs.blank(label, edge)))
        origin = {other: Node("source", path) for path, other in self.pairs}
        for path in sorted(self.inserted):
            label, edge = after[path]
            node = origin[path] = Node("target", path)
            operations.append(Insert(node, origin[path[:-1]], label, edge, costs.blank(label, edge)))
        return EditScript(operations)

    def apply(self) -> UnfoldingTree:
        """Run the script on the source tree; what comes out equals the target."""
        return self.script().apply(self.source)

    def describe(self) -> str:
        """Say in words what the target has that the source has not.

        Examples
        --------
        >>> from relaxwl import tree_edit_mapping
        >>> tree_edit_mapping(UnfoldingTree.parse("0(0)"), UnfoldingTree.parse("0(0,0,0)")).describe()
        'two leaves more'
        """
        script = self.script()
        relabeled = [operation for operation in script if isinstance(operation, Relabel)]
        root = any(not operation.node.path for operation in relabeled)
        n_edges = sum(isinstance(operation, RelabelEdge) for operation in script)
        phrases = [
            *_branch_words(self.target, self.inserted, "more"),
            *_branch_words(self.source, self.deleted, "fewer"),
        ]
        if root:
            phrases.append("the root relabeled")
        if len(relabeled) > root:
            phrases.append(f"{_counted(len(relabeled) - root, 'node', 'nodes')} relabeled")
        if n_edges:
            phrases.append(f"{_counted(n_edges, 'edge', 'edges')} relabeled")
        return ", ".join(phrases) or "no difference"

    def to_svg(self, max_nodes: int | None = None, *, title: str | None = None, embed_style: bool = True) -> str:
        """Return a drawing of both trees and the mapping as SVG text.

        Mapped nodes are joined by dashed lines, deleted ones are red, inserted ones blue, relabeled ones yellow.

        Parameters
        ----------
        max_nodes : int, optional
            Nodes that are drawn at most of each tree; marks say how many more there are. By default as many children
            of a node, and as many levels, as keep the picture within about 1,600 pixels: first some of each kind
            of change, then what is equal in both trees.
        title : str, optional
            What a screen reader says; cost and difference by default.
        embed_style : bool, default=True
            Whether the picture carries its style sheet; a page with many pictures holds ``drawing.STYLE`` once.
        """
        if max_nodes is None:
            outlines = self._drawn()
        else:
            outlines = (self.source.outline(max_nodes), self.target.outline(max_nodes))
        index = [{path: i for i, path in enumerate(outline.paths())} for outline in outlines]
        drawn = [(index[0][p], index[1][q]) for p, q in self.pairs if p in index[0] and q in index[1]]
        return drawing.mapping_svg(
            outlines[0].drawn(),
            outlines[1].drawn(),
            drawn,
            states=self._states(index),
            relabeled_edges=[(i, j) for i, j in drawn if outlines[0].edges[i] != outlines[1].edges[j]],
            title=title or f"Mapping between two trees, cost {cost_text(self.cost)}: {self.describe()}",
            captions=(f"{self.source.size:,} nodes", f"{self.target.size:,} nodes, cost {cost_text(self.cost)}"),
            embed_style=embed_style,
        )

    def _drawn(self) -> tuple[Outline, Outline]:
        """Return what a picture of default size has room for, of both trees."""
        images = dict(self.pairs)
        origins = {other: path for path, other in self.pairs}
        for cut in cuts(max(self.source.depth, self.target.depth)):
            choice = _PairedChoice(self, images, origins, cut)
            outlines = (
                self.source.outline(MAX_DRAWN_SIZE // 2, choose=choice.of_source),
                self.target.outline(MAX_DRAWN_SIZE // 2, choose=choice.of_target),
            )
            if sum(outline.width() for outline in outlines) <= drawing.TREE_ROOM:
                break
        return outlines

    def _states(self, index: Sequence[dict[Path, int]]) -> tuple[list[str], list[str]]:
        """Return what becomes of each drawn node, whether or not its partner is drawn."""
        before = [drawing.DELETED] * len(index[0])
        after = [drawing.INSERTED] * len(index[1])
        old, new = node_labels(self.source), node_labels(self.target)
        for path, other in self.pairs:
            state = drawing.KEPT if old[path].label == new[other].label else drawing.RELABELED
            if path in index[0]:
                before[index[0][path]] = state
            if other in index[1]:
                after[index[1][other]] = state
        return before, after

    def _repr_svg_(self) -> str:
        """Draw the mapping in a notebook."""
        return self.to_svg()


@dataclass(frozen=True)
class _PairedChoice:
    """Which children are drawn of the two trees of a mapping, so that mapped nodes are drawn both or neither."""

    mapping: TreeMapping
    images: dict[Path, Path]
    origins: dict[Path, Path]
    cut: Cut

    def of_source(self, path: Path, n_children: int) -> Sequence[int]:
        """Return the positions of the children to draw of a node of the source."""
        if path not in self.images:
            return self.cut.first(path, n_children)
        return self._of_pair(path, self.images[path])[0]

    def of_target(self, path: Path, n_children: int) -> Sequence[int]:
        """Return the positions of the children to draw of a node of the target."""
        if path not in self.origins:
            return self.cut.first(path, n_children)
        return self._of_pair(self.origins[path], path)[1]

    def _of_pair(self, path: Path, other: Path) -> tuple[list[int], list[int]]:
        """Return the positions of the children to draw of two mapped nodes: of each kind of edit in turn."""
        if len(path) >= self.cut.levels:
            return [], []
        left, right = self.mapping.source.subtree(path), self.mapping.target.subtree(other)
        edges = left.edge_labels, right.edge_labels
        children = left.children, right.children
        pairs = [(i, self.images[*path, i][-1]) for i in range(len(children[0])) if (*path, i) in self.images]
        equal = [(i, j) for i, j in pairs if children[0][i] == children[1][j] and edges[0][i] == edges[1][j]]
        changed = sorted(set(pairs) - set(equal))
        deleted = [(i, None) for i in range(len(children[0])) if (*path, i) not in self.images]
        inserted = [(None, j) for j in range(len(children[1])) if (*other, j) not in self.origins]
        drawn: tuple[list[int], list[int]] = ([], [])
        for edit in chain.from_iterable(zip_longest(changed, deleted, inserted, equal, fillvalue=(None, None))):
            wanted = [(side, child) for side, child in zip(drawn, edit, strict=True) if child is not None]
            if all(len(side) < self.cut.children for side, _ in wanted):
                for side, child in wanted:
                    side.append(child)
        return sorted(drawn[0]), sorted(drawn[1])


def _first_repeated(paths: Iterable[Path]) -> Path | None:
    seen: set[Path] = set()
    for path in paths:
        if path in seen:
            return path
        seen.add(path)
    return None


def _branch_words(tree: UnfoldingTree, alone: Iterable[Path], word: str) -> list[str]:
    """Say how many leaves and larger branches occur in one of the trees only."""
    unmapped = set(alone)
    sizes = [tree.subtree(path).size for path in sorted(unmapped) if path[:-1] not in unmapped]
    phrases = []
    if leaves := sizes.count(1):
        phrases.append(f"{_counted(leaves, 'leaf', 'leaves')} {word}")
    if branches := [size for size in sizes if size > 1]:
        same = len(set(branches)) == 1
        amount = f"of {_number(branches[0])} nodes" if same else f"({_number(sum(branches))} nodes)"
        each = " each" if same and len(branches) > 1 else ""
        phrases.append(f"{_counted(len(branches), 'branch', 'branches')} {amount}{each} {word}")
    return phrases


def _counted(number: int, one: str, many: str) -> str:
    return f"{_number(number)} {one if number == 1 else many}"


def _number(number: int) -> str:
    return NUMBER_WORDS[number] if number < len(NUMBER_WORDS) else f"{number:,}"

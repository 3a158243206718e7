"""The tree edit distance SdTed of two trees, optimal mappings between them, and edit scripts.

A mapping keeps the root on the root and children under the images of their parents. Its cost is γ over the mapped
pairs, plus that of deleting and inserting all other nodes. The cheapest one is found from the leaves up: the
distance of two trees is γ of their roots plus the cheapest matching of their child trees, where a child tree may
also be matched to nothing and is then deleted or inserted as a whole.

This module works on trees given one by one; for all pairs of a collection use
:func:`relaxwl.tree_distances`, which never builds a tree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from relaxwl import drawing
from relaxwl.costs import EditCost
from relaxwl.costs.codebook import check_finite, cost_text
from relaxwl.costs.edit_cost import checked_cost
from relaxwl.distances import _compiled
from relaxwl.distances.pairwise import Discount, checked_discounts
from relaxwl.graphs.arrays import prefix_sums
from relaxwl.graphs.labels import Label, sort_labels
from relaxwl.unfolding.tree import MAX_DRAWN_SIZE, Branch, Cut, Outline, Path, UnfoldingTree, cuts, outline

# Bounds of the number of nodes of a mapping, and of the total length of their paths.
MAX_MAPPED_NODES = 200_000
MAX_PATH_ENTRIES = 20_000_000
# Maximum number of children that are matched one by one; of more, equal ones are matched together.
MANY_CHILDREN = 256
NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def tree_edit_distance(
    a: UnfoldingTree, b: UnfoldingTree, cost: EditCost | None = None, *, discount: Discount = 1.0
) -> float:
    """Return the structure and depth preserving tree edit distance of two rooted labeled trees.

    Every pair of distinct subtrees is solved once, so that trees with very many nodes can be compared. If all costs are
    integers the distance is an integer, exact up to 2**53.

    Parameters
    ----------
    a, b : UnfoldingTree
        The two trees; they may differ in depth. Edges have labels in both or in neither.
    cost : EditCost, optional
        The edit costs; by default all are 1.
    discount : float or sequence of floats, default=1.0
        Factor > 0 of the cost of everything below the children of a node, once more at each level; or a factor for each
        level of the deeper tree, that of the children of the root first.

    Returns
    -------
    float
        The distance.

    See Also
    --------
    tree_edit_mapping : An optimal mapping, with the same cost.
    tree_distances : Distances between the trees of many nodes.

    Examples
    --------
    >>> a = UnfoldingTree.parse("1(2(1,3),3(1))")
    >>> b = UnfoldingTree.parse("1(1(1,2,3))")
    >>> tree_edit_distance(a, b)
    4.0
    >>> tree_edit_distance(a, b, EditCost(relabel=0.5))
    3.5
    """
    return _SubtreeDistances(a, b, checked_cost(cost), discount).between(a, b)


def tree_edit_mapping(a: UnfoldingTree, b: UnfoldingTree, cost: EditCost | None = None) -> TreeMapping:
    """Return an optimal mapping between two trees: its cost is their tree edit distance.

    If several mappings are optimal, the choice is deterministic; equal child trees are mapped to each other.

    Parameters
    ----------
    a, b : UnfoldingTree
        The tree that is edited and the tree that it becomes.
    cost : EditCost, optional
        The edit costs; by default all are 1.

    Returns
    -------
    TreeMapping
        The mapping.

    Raises
    ------
    ValueError
        If the trees have too many nodes.

    See Also
    --------
    tree_edit_distance : The distance alone, for trees of any size.

    Examples
    --------
    >>> mapping = tree_edit_mapping(UnfoldingTree.parse("1(2(1,3),3(1))"), UnfoldingTree.parse("1(1(1,2,3))"))
    >>> mapping.describe()
    'one leaf inserted, one branch of two nodes deleted, one node relabeled'
    >>> print(mapping.script())
    relabel /0 from 2 to 1 (cost 1)
    delete /1/0, label 1 (cost 1)
    delete /1, label 3 (cost 1)
    insert +/0/1 below /0, label 2 (cost 1)
    >>> print(mapping.apply())
    1(1(1,2,3))
    """
    edit_cost = checked_cost(cost)
    distances = _SubtreeDistances(a, b, edit_cost)
    for name, tree in (("a", a), ("b", b)):
        if tree.size > MAX_MAPPED_NODES or tree.size * tree.depth > MAX_PATH_ENTRIES:
            raise ValueError(
                f"{name} has {tree.size:,} nodes at depth {tree.depth}, too many for a mapping that names each "
                f"(at most {MAX_MAPPED_NODES:,}, and {MAX_PATH_ENTRIES:,} nodes times depth); take a smaller "
                "depth, or tree_edit_distance, which needs no mapping"
            )
    total = distances.between(a, b)
    pairs: list[tuple[Path, Path]] = []
    deleted: list[Path] = []
    inserted: list[Path] = []
    stack: list[tuple[Path, UnfoldingTree, Path, UnfoldingTree]] = [((), a, (), b)]
    while stack:
        path, tree, other_path, other = stack.pop()
        pairs.append((path, other_path))
        children, other_children = tree.children, other.children
        matched = distances.matching(tree, other)
        stack.extend(((*path, i), children[i], (*other_path, j), other_children[j]) for i, j in reversed(matched))
        kept, other_kept = {i for i, _ in matched}, {j for _, j in matched}
        deleted += _all_below(path, [(i, child) for i, child in enumerate(children) if i not in kept])
        inserted += _all_below(other_path, [(j, c) for j, c in enumerate(other_children) if j not in other_kept])
    return TreeMapping(a, b, edit_cost, total, tuple(sorted(pairs)), tuple(sorted(deleted)), tuple(sorted(inserted)))


@dataclass(frozen=True)
class TreeMapping:
    """A structure and depth preserving mapping between two trees.

    Nodes are addressed by their paths, see :class:`relaxwl.UnfoldingTree`.

    Parameters
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

    See Also
    --------
    tree_edit_mapping : An optimal mapping between two trees.

    Examples
    --------
    >>> mapping = tree_edit_mapping(UnfoldingTree.parse("0(1)"), UnfoldingTree.parse("0(1,2)"))
    >>> mapping.cost, mapping.pairs, mapping.inserted
    (1.0, (((), ()), ((0,), (0,))), ((1,),))
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
            If a condition is violated; the message names the first node or pair.
        """
        sides = (
            (self.source, [path for path, _ in self.pairs], self.deleted, "source", "deleted"),
            (self.target, [path for _, path in self.pairs], self.inserted, "target", "inserted"),
        )
        for tree, paths, alone, name, edited in sides:
            listed = Counter([*paths, *alone])
            if max(listed.values()) > 1:
                twice = listed.most_common(1)[0][0]
                raise ValueError(f"not definite: node {twice} of the {name} occurs more than once")
            if missing := {path for path, _ in tree.walk()} ^ set(listed):
                raise ValueError(f"node {min(missing)} is either not in the {name} or neither mapped nor {edited}")
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

    def script(self) -> EditScript:
        """Return the edit script: relabel, then delete from the leaves up, then insert from the root down.

        Returns
        -------
        EditScript
            A tuple of edits with their total ``cost``; ``str`` gives one edit per line.
        """
        costs = _LabelTable(self.source, self.target, self.edit_cost)
        before, after = _node_labels(self.source), _node_labels(self.target)
        edits: list[Edit] = []
        for path, other in self.pairs:
            (old, old_edge), (new, new_edge) = before[path], after[other]
            if old != new:
                edits.append(Edit("relabel", _name(path), old, new, costs.relabel(old, new)))
            if old_edge is not None and new_edge is not None and old_edge != new_edge:
                cost = costs.relabel_edge(old_edge, new_edge)
                edits.append(Edit("relabel edge", _name(path), old_edge, new_edge, cost))
        for path in sorted(self.deleted, reverse=True):
            label, edge = before[path]
            edits.append(Edit("delete", _name(path), label, None, costs.blank(label, edge), edge))
        names = {other: _name(path) for path, other in self.pairs}
        for path in sorted(self.inserted):
            label, edge = after[path]
            names[path] = f"+{_name(path)}"
            edits.append(Edit("insert", names[path], None, label, costs.blank(label, edge), edge, names[path[:-1]]))
        return EditScript(edits)

    def apply(self) -> UnfoldingTree:
        """Apply the script to the source tree.

        Returns
        -------
        UnfoldingTree
            A tree that equals the target.
        """
        return self.script().apply(self.source)

    def describe(self) -> str:
        """Describe in words the edits that turn the source into the target.

        Returns
        -------
        str
            The description.

        Examples
        --------
        >>> tree_edit_mapping(UnfoldingTree.parse("0(0)"), UnfoldingTree.parse("0(0,0,0)")).describe()
        'two leaves inserted'
        """
        edits = self.script()
        root = any(edit.kind == "relabel" and edit.node == "/" for edit in edits)
        n_nodes = sum(edit.kind == "relabel" for edit in edits) - root
        n_edges = sum(edit.kind == "relabel edge" for edit in edits)
        phrases = [
            *_branch_words(self.target, self.inserted, "inserted"),
            *_branch_words(self.source, self.deleted, "deleted"),
        ]
        if root:
            phrases.append("the root relabeled")
        if n_nodes:
            phrases.append(f"{_counted(n_nodes, 'node', 'nodes')} relabeled")
        if n_edges:
            phrases.append(f"{_counted(n_edges, 'edge', 'edges')} relabeled")
        return ", ".join(phrases) or "no difference"

    def to_svg(self, max_nodes: int | None = None, *, title: str | None = None, embed_style: bool = True) -> str:
        """Return a drawing of both trees and the mapping as SVG text.

        Mapped nodes are joined by dashed lines, deleted ones are red, inserted ones blue, relabeled ones yellow.

        Parameters
        ----------
        max_nodes : int, optional
            Maximum number of nodes of each tree that are drawn; marks state how many are left out. By default the
            picture is limited to about 1,600 pixels, with preference for nodes that differ between the trees.
        title : str, optional
            Text for screen readers; cost and difference by default.
        embed_style : bool, default=True
            Whether the picture contains its style sheet; a page with many pictures contains ``drawing.STYLE`` once.

        Returns
        -------
        str
            The picture.
        """
        if max_nodes is None:
            outlines = self._drawn()
        else:
            outlines = (outline(self.source, max_nodes), outline(self.target, max_nodes))
        index = [{drawn.path(i): i for i in range(len(drawn.labels))} for drawn in outlines]
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
        """Return outlines of both trees for a picture of default size; mapped nodes are in both or in neither."""
        images, origins = dict(self.pairs), {other: path for path, other in self.pairs}

        def chosen(cut: Cut, side: int, path: Path, n_children: int) -> Sequence[int]:
            """Return the positions of the children of a node to draw, alternating between the kinds of edits."""
            known = origins if side else images
            if path not in known:
                return cut.first(path, n_children)
            if len(path) >= cut.levels:
                return []
            path, other = (known[path], path) if side else (path, known[path])
            left, right = self.source.subtree(path), self.target.subtree(other)
            edges, children = (left.edge_labels, right.edge_labels), (left.children, right.children)
            pairs = [(i, images[*path, i][-1]) for i in range(len(children[0])) if (*path, i) in images]
            equal = [(i, j) for i, j in pairs if children[0][i] == children[1][j] and edges[0][i] == edges[1][j]]
            changed = sorted(set(pairs) - set(equal))
            deleted = [(i, None) for i in range(len(children[0])) if (*path, i) not in images]
            inserted = [(None, j) for j in range(len(children[1])) if (*other, j) not in origins]
            drawn: tuple[list[int], list[int]] = ([], [])
            for edit in chain.from_iterable(zip_longest(changed, deleted, inserted, equal, fillvalue=(None, None))):
                wanted = [(places, child) for places, child in zip(drawn, edit, strict=True) if child is not None]
                if all(len(places) < cut.children for places, _ in wanted):
                    for places, child in wanted:
                        places.append(child)
            return sorted(drawn[side])

        for cut in cuts(max(self.source.depth, self.target.depth)):
            outlines = (
                outline(self.source, MAX_DRAWN_SIZE // 2, choose=partial(chosen, cut, 0)),
                outline(self.target, MAX_DRAWN_SIZE // 2, choose=partial(chosen, cut, 1)),
            )
            if sum(drawn.width() for drawn in outlines) <= drawing.TREE_ROOM:
                break
        return outlines

    def _states(self, index: Sequence[dict[Path, int]]) -> tuple[list[str], list[str]]:
        """Return whether each drawn node is kept, relabeled, deleted or inserted."""
        before, after = [drawing.DELETED] * len(index[0]), [drawing.INSERTED] * len(index[1])
        old, new = _node_labels(self.source), _node_labels(self.target)
        for path, other in self.pairs:
            state = drawing.KEPT if old[path].label == new[other].label else drawing.RELABELED
            for states, places, node in ((before, index[0], path), (after, index[1], other)):
                if node in places:
                    states[places[node]] = state
        return before, after

    def _repr_svg_(self) -> str:
        """Draw the mapping in a notebook."""
        return self.to_svg()


def _branch_words(tree: UnfoldingTree, alone: Iterable[Path], word: str) -> list[str]:
    """Return phrases that count the leaves and larger branches that occur in only one of the trees."""
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


@dataclass(frozen=True)
class Edit:
    """One edit of a tree.

    Parameters
    ----------
    kind : {"relabel", "relabel edge", "delete", "insert"}
        The operation. A deleted node is a leaf by then, and an inserted one is added as a leaf.
    node : str
        The node as the path of its child positions, such as ``/0/1``; ``/`` is the root. A plus stands before the path
        of an inserted node, which is its path in the target tree.
    before, after : label or None
        Label of the node (or of the edge above it) before and after the edit.
    cost : float
        Cost of the edit.
    edge : label, optional
        Label of the edge to the parent that is deleted or inserted with the node.
    parent : str, optional
        The node below which one is inserted.
    """

    kind: str
    node: str
    before: Label | None
    after: Label | None
    cost: float
    edge: Label | None = None
    parent: str | None = None

    def __str__(self) -> str:
        edge = "" if self.edge is None else f", edge {self.edge}"
        words = {
            "relabel": f"relabel {self.node} from {self.before} to {self.after}",
            "relabel edge": f"relabel the edge above {self.node} from {self.before} to {self.after}",
            "delete": f"delete {self.node}, label {self.before}{edge}",
            "insert": f"insert {self.node} below {self.parent}, label {self.after}{edge}",
        }
        return f"{words[self.kind]} (cost {cost_text(self.cost)})"


class EditScript(tuple[Edit, ...]):
    """Edits in an order in which each is valid; ``str`` gives one per line."""

    __slots__ = ()

    @property
    def cost(self) -> float:
        """Sum of the costs of all edits."""
        return math.fsum(edit.cost for edit in self)

    def apply(self, tree: UnfoldingTree) -> UnfoldingTree:
        """Apply the edits to a tree, one after the other.

        Parameters
        ----------
        tree : UnfoldingTree
            The tree.

        Returns
        -------
        UnfoldingTree
            The edited tree.

        Raises
        ------
        ValueError
            If an edit is not legal when it is applied: a node is missing, has another label, or is deleted while it
            has children.
        """
        labels = {_name(path): found for path, found in _node_labels(tree).items()}
        parents = {_name(path): _name(path[:-1]) for path in _node_labels(tree) if path}
        children: dict[str, set[str]] = {node: set() for node in labels}
        for node, parent in parents.items():
            children[parent].add(node)
        for edit in self:
            node, own = edit.node, labels.get(edit.node)
            if edit.kind == "insert":
                if edit.parent not in labels or own is not None:
                    raise ValueError(f"cannot {edit}: the parent must be there, and the node must not")
                labels[node], parents[node], children[node] = _NodeLabels(edit.after, edit.edge), edit.parent, set()
                children[edit.parent].add(node)
            elif own is None:
                raise ValueError(f"cannot {edit}: there is no such node")
            elif edit.kind == "delete":
                if children[node] or node not in parents:
                    raise ValueError(f"cannot {edit}: only a leaf that is not the root can be deleted")
                children[parents[node]].remove(node)
                del labels[node]
            elif edit.before != (own.edge if edit.kind == "relabel edge" else own.label):
                raise ValueError(f"cannot {edit}: the label is another one")
            else:
                changed = {"edge" if edit.kind == "relabel edge" else "label": edit.after}
                labels[node] = own._replace(**changed)
        order = ["/"]
        for node in order:
            order.extend(children[node])
        built: dict[str, UnfoldingTree] = {}
        for node in reversed(order):
            below = list(children[node])
            edges = [labels[child].edge for child in below]
            labeled = any(edge is not None for edge in edges)
            built[node] = UnfoldingTree(
                labels[node].label, [built.pop(child) for child in below], edges if labeled else None
            )
        return built["/"]

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else "nothing to do"


class _NodeLabels(NamedTuple):
    """The label of a node and that of the edge above it."""

    label: Label
    edge: Label | None


def _node_labels(tree: UnfoldingTree) -> dict[Path, _NodeLabels]:
    """Return the labels of all nodes and of the edges above them, by path, parents first."""
    found: dict[Path, _NodeLabels] = {(): _NodeLabels(tree.label, None)}
    for path, node in tree.walk():
        for position, (child, edge) in enumerate(zip(node.children, node.edge_labels, strict=True)):
            found[(*path, position)] = _NodeLabels(child.label, edge)
    return found


def _name(path: Path) -> str:
    return "/" + "/".join(map(str, path))


class _LabelTable:
    """Edit costs by label, for the labels of two trees."""

    def __init__(self, a: UnfoldingTree, b: UnfoldingTree, cost: EditCost) -> None:
        for name, tree in (("a", a), ("b", b)):
            if not isinstance(tree, UnfoldingTree):
                raise TypeError(f"{name} must be an UnfoldingTree, not {type(tree).__name__}")
        if {a.has_edge_labels, b.has_edge_labels} == {True, False}:
            raise ValueError("one tree has edge labels and the other has none: they cannot be compared")
        self.subtrees = {tree.digest: tree for root in (a, b) for tree in root.distinct_subtrees()}
        nodes = sort_labels(tree.label for tree in self.subtrees.values())
        branches = [branch for tree in self.subtrees.values() for branch in tree.branches]
        edges = sort_labels(branch.edge for branch in branches if branch.edge is not None)
        self._node_code = {label: code for code, label in enumerate(nodes)}
        self._edge_code = {label: code for code, label in enumerate(edges)}
        self._nodes: list[list[float]] = cost.node_matrix(nodes).tolist()
        self._edges: list[list[float]] = cost.edge_matrix(edges, nodes).tolist()

    def relabel(self, a: Label, b: Label) -> float:
        """Return the cost of replacing the label of a node."""
        return self._nodes[self._node_code[a]][self._node_code[b]]

    def relabel_edge(self, a: Label | None, b: Label | None) -> float:
        """Return the cost of replacing the label of an edge; trees without edge labels have none."""
        return 0.0 if a is None or b is None else self._edges[self._edge_code[a]][self._edge_code[b]]

    def blank(self, label: Label, edge: Label | None) -> float:
        """Return the cost of inserting or deleting a node and the edge to its parent."""
        return self._nodes[self._node_code[label]][-1] + self.edge_blank(edge)

    def edge_blank(self, edge: Label | None) -> float:
        """Return the cost of inserting or deleting an edge."""
        return 0.0 if edge is None else self._edges[self._edge_code[edge]][-1]


class _SubtreeDistances(_LabelTable):
    """Distances between the distinct subtrees of two trees, each computed once."""

    def __init__(self, a: UnfoldingTree, b: UnfoldingTree, cost: EditCost, discount: Discount = 1.0) -> None:
        super().__init__(a, b, cost)
        depth = max(a.depth, b.depth)
        # One factor for all levels makes the distance of two subtrees the same wherever they occur: all are at level 0.
        self._by_level = np.ndim(discount) > 0
        self._factors = checked_discounts(discount, depth if self._by_level else 1)
        self._known: dict[tuple[bytes, bytes, int], float] = {}
        # The cost of deleting each subtree without the edge above it, by level, children before parents.
        self._deletion: dict[tuple[bytes, int], float] = {}
        for level in range(depth if self._by_level else 0, -1, -1):
            for tree in self.subtrees.values():
                if tree.depth + level <= depth or not self._by_level:
                    below = [p.multiplicity * self._branch_deletion(p, self._next(level)) for p in tree.branches]
                    spent = self._factors[level] * sum(below) if below else 0.0
                    self._deletion[tree.digest, level] = self.blank(tree.label, None) + spent
        check_finite(self._deletion[a.digest, 0] + self._deletion[b.digest, 0], depth)

    def _next(self, level: int) -> int:
        return level + 1 if self._by_level else 0

    def _branch_deletion(self, branch: Branch, level: int = 0) -> float:
        return self._deletion[branch.tree.digest, level] + self.edge_blank(branch.edge)

    def between(self, a: UnfoldingTree, b: UnfoldingTree) -> float:
        """Return the distance of two subtrees, using a stack instead of recursion."""
        known = self._known
        stack = [(a, b, 0)]
        while stack:
            x, y, level = stack[-1]
            key, below = (x.digest, y.digest, level), self._next(level)
            if key in known:
                stack.pop()
            elif x == y:
                known[key] = 0.0
            else:
                left, right = _leftover(x, y)
                pairs = [(p.tree, q.tree, below) for p in left for q in right]
                waiting = [pair for pair in pairs if (pair[0].digest, pair[1].digest, below) not in known]
                if waiting:
                    stack.extend(waiting)
                else:
                    matched = self._cheapest_matching(left, right, below)[0]
                    spent = self._factors[level] * matched if left or right else 0.0
                    known[key] = self.relabel(x.label, y.label) + spent
        return known[a.digest, b.digest, 0]

    def matching(self, a: UnfoldingTree, b: UnfoldingTree) -> list[tuple[int, int]]:
        """Return the positions of children that are mapped to each other in an optimal mapping of a to b."""
        left, right = _leftover(a, b)
        _, units = self._cheapest_matching(left, right)
        rest, other_rest = _positions(a, left), _positions(b, right)
        matched = [(rest[i], other_rest[j]) for i, j in units]
        # Equal children are mapped to each other: they have the same order in both trees.
        taken, other_taken = set(rest), set(other_rest)
        equal = [i for i in range(len(a.children)) if i not in taken]
        other_equal = [j for j in range(len(b.children)) if j not in other_taken]
        return sorted(matched + list(zip(equal, other_equal, strict=True)))

    def _cheapest_matching(
        self, left: Sequence[Branch], right: Sequence[Branch], level: int = 0
    ) -> tuple[float, list[tuple[int, int]]]:
        """Return the cost of the cheapest matching of branches, and its pairs, counting repeated branches singly.

        Only the side with fewer children is padded with empty trees: by the triangle inequality deleting one child
        and inserting another is never cheaper than mapping them.
        """
        if not left or not right:
            return sum(b.multiplicity * self._branch_deletion(b, level) for b in (*left, *right)), []
        if max(sum(b.multiplicity for b in side) for side in (left, right)) > MANY_CHILDREN:
            return self._cheapest_transport(left, right, level)
        rows = np.repeat(np.arange(len(left)), [b.multiplicity for b in left])
        columns = np.repeat(np.arange(len(right)), [b.multiplicity for b in right])
        costs = np.array([[self._branch_distance(p, q, level) for q in right] for p in left])
        size = max(len(rows), len(columns))
        padded = np.empty((size, size))
        padded[: len(rows), : len(columns)] = costs[np.ix_(rows, columns)]
        padded[: len(rows), len(columns) :] = np.array([self._branch_deletion(b, level) for b in left])[rows, None]
        padded[len(rows) :, : len(columns)] = np.array([self._branch_deletion(b, level) for b in right])[columns]
        chosen = linear_sum_assignment(padded)
        pairs = [(i, j) for i, j in zip(*(side.tolist() for side in chosen), strict=True)]
        return float(padded[chosen].sum()), [(i, j) for i, j in pairs if i < len(rows) and j < len(columns)]

    def _cheapest_transport(
        self, left: Sequence[Branch], right: Sequence[Branch], level: int
    ) -> tuple[float, list[tuple[int, int]]]:
        """Return the same by solving a transport problem with multiplicities, which has an integral solution."""
        n_left, n_right = len(left), len(right)
        ground = np.zeros((n_left + n_right + 1, n_left + n_right + 1))
        ground[:n_left, n_left:-1] = [[self._branch_distance(p, q, level) for q in right] for p in left]
        ground[:n_left, -1] = [self._branch_deletion(b, level) for b in left]
        ground[-1, n_left:-1] = [self._branch_deletion(b, level) for b in right]
        points = np.arange(n_left + n_right, dtype=np.int32)
        masses = np.array([b.multiplicity for b in (*left, *right)], np.float64)
        cost, sources, sinks, amounts = _compiled.pair_plan(
            points[:n_left], masses[:n_left], points[n_left:], masses[n_left:], ground
        )
        # For each branch, the position of its first unmatched unit among those of its side.
        free = [*prefix_sums(masses[:n_left])[:-1].tolist(), *prefix_sums(masses[n_left:])[:-1].tolist()]
        pairs: list[tuple[int, int]] = []
        for source, sink, amount in zip(sources.tolist(), sinks.tolist(), amounts.tolist(), strict=True):
            if max(source, sink) == len(points):  # to or from ⊥
                continue
            pairs += zip(
                range(free[source], free[source] + round(amount)), range(free[sink], free[sink] + round(amount)),
                strict=True,
            )  # fmt: skip
            free[source] += round(amount)
            free[sink] += round(amount)
        return float(cost), pairs

    def _branch_distance(self, a: Branch, b: Branch, level: int) -> float:
        return self.relabel_edge(a.edge, b.edge) + self._known[a.tree.digest, b.tree.digest, level]


def _leftover(a: UnfoldingTree, b: UnfoldingTree) -> tuple[list[Branch], list[Branch]]:
    """Return the branches of each tree that remain after equal ones are canceled."""
    counts, others = ({(p.edge, p.tree): p.multiplicity for p in tree.branches} for tree in (a, b))
    sides = (
        [p._replace(multiplicity=p.multiplicity - taken.get((p.edge, p.tree), 0)) for p in tree.branches]
        for tree, taken in ((a, others), (b, counts))
    )
    left, right = ([branch for branch in side if branch.multiplicity > 0] for side in sides)
    return left, right


def _positions(tree: UnfoldingTree, left: Sequence[Branch]) -> list[int]:
    """Return the child positions of leftover branches; among equal children, these are the last ones."""
    wanted = {(branch.edge, branch.tree): branch.multiplicity for branch in left}
    positions: list[int] = []
    end = 0
    for branch in tree.branches:
        end += branch.multiplicity
        positions.extend(range(end - wanted.get((branch.edge, branch.tree), 0), end))
    return positions


def _all_below(path: Path, children: Iterable[tuple[int, UnfoldingTree]]) -> list[Path]:
    """Return the paths of all nodes of the given child trees."""
    return [(*path, position, *below) for position, child in children for below, _ in child.walk()]

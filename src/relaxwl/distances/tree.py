"""The tree edit distance SdTed of two trees, and an optimal mapping that shows how one becomes the other.

A mapping keeps the root on the root and children under the images of their parents. Its cost is γ over the mapped
pairs, plus that of deleting and inserting all other vertices. The cheapest one is found from the leaves up: the
distance of two trees is γ of their roots plus the cheapest matching of their child trees, where a child tree may
also be matched to nothing and is then deleted or inserted as a whole.

This module works on trees given one by one; for all pairs of a collection use
:func:`relaxwl.tree_distances`, which never builds a tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from relaxwl import drawing
from relaxwl.costs import EditCost, check_finite, checked_cost, cost_text
from relaxwl.distances import _compiled
from relaxwl.graphs.arrays import prefix_sums
from relaxwl.graphs.labels import Label, sort_labels
from relaxwl.unfolding.outline import MAX_DRAWN_SIZE, Cut, Outline, Path, cuts
from relaxwl.unfolding.tree import Branch, UnfoldingTree

# A mapping names every vertex by its path: this bounds their number, and the total length of the paths.
MAX_MAPPED_VERTICES = 200_000
MAX_PATH_ENTRIES = 20_000_000
# Up to this number of children they are matched one by one; beyond, equal ones are moved together.
MANY_CHILDREN = 256

NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def tree_edit_distance(a: UnfoldingTree, b: UnfoldingTree, cost: EditCost | None = None) -> float:
    """Return the structure and depth preserving tree edit distance of two rooted labelled trees.

    Every pair of distinct subtrees is solved once, so trees that would be huge when written out are fine. If all costs
    are whole numbers the distance is one, and exact up to 2**53.

    Parameters
    ----------
    a, b : UnfoldingTree
        The two trees; they may differ in depth. Edges have labels in both or in neither.
    cost : EditCost, optional
        The edit costs; 1 for everything by default.

    Examples
    --------
    >>> a = UnfoldingTree.parse("1(2(1,3),3(1))")
    >>> b = UnfoldingTree.parse("1(1(1,2,3))")
    >>> tree_edit_distance(a, b)
    4.0
    >>> tree_edit_distance(a, b, EditCost(relabel=0.5))
    3.5
    """
    return _SubtreeDistances(a, b, checked_cost(cost)).between(a, b)


def tree_edit_mapping(a: UnfoldingTree, b: UnfoldingTree, cost: EditCost | None = None) -> TreeMapping:
    """Return an optimal mapping between two trees: its cost is their tree edit distance.

    Where several mappings are optimal the same one is returned each time; equal child trees are mapped to each
    other.

    Parameters
    ----------
    a, b : UnfoldingTree
        The tree that is edited and the tree that it becomes.
    cost : EditCost, optional
        The edit costs; 1 for everything by default.

    Raises
    ------
    ValueError
        If the trees have so many vertices that writing them all down is out of the question.

    Examples
    --------
    >>> mapping = tree_edit_mapping(UnfoldingTree.parse("1(2(1,3),3(1))"), UnfoldingTree.parse("1(1(1,2,3))"))
    >>> mapping.describe()
    'one leaf more, one branch of two vertices fewer, one vertex relabelled'
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
    _refuse_large(a, b)
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


class Vertex(NamedTuple):
    """A vertex of the tree under edit: one that it had at first, or one that was inserted for the target."""

    tree: Literal["source", "target"]
    path: Path

    def __str__(self) -> str:
        name = "/" + "/".join(map(str, self.path))
        return name if self.tree == "source" else "+" + name


@dataclass(frozen=True)
class Relabel:
    """Replace the label of a vertex."""

    vertex: Vertex
    before: Label
    after: Label
    cost: float

    def __str__(self) -> str:
        return f"relabel {self.vertex} from {self.before} to {self.after} (cost {cost_text(self.cost)})"


@dataclass(frozen=True)
class RelabelEdge:
    """Replace the label of the edge between a vertex and its parent."""

    vertex: Vertex
    before: Label
    after: Label
    cost: float

    def __str__(self) -> str:
        return f"relabel the edge above {self.vertex} from {self.before} to {self.after} (cost {cost_text(self.cost)})"


@dataclass(frozen=True)
class Delete:
    """Remove a vertex that is a leaf by now, and the edge to its parent."""

    vertex: Vertex
    label: Label
    edge: Label | None
    cost: float

    def __str__(self) -> str:
        return f"delete {self.vertex}, label {self.label}{_edge_words(self.edge)} (cost {cost_text(self.cost)})"


@dataclass(frozen=True)
class Insert:
    """Add a leaf below a vertex that is there by now."""

    vertex: Vertex
    parent: Vertex
    label: Label
    edge: Label | None
    cost: float

    def __str__(self) -> str:
        words = f"insert {self.vertex} below {self.parent}, label {self.label}{_edge_words(self.edge)}"
        return f"{words} (cost {cost_text(self.cost)})"


Operation = Relabel | RelabelEdge | Delete | Insert


class EditScript(tuple[Operation, ...]):
    """Operations in an order in which each is legal; ``str`` gives one a line.

    Vertices are written as paths of child positions, ``/`` being the root; a plus stands before the path of an
    inserted vertex, which is its path in the target tree.
    """

    __slots__ = ()

    @property
    def cost(self) -> float:
        """Sum of the costs of all operations."""
        return math.fsum(operation.cost for operation in self)

    def apply(self, tree: UnfoldingTree) -> UnfoldingTree:
        """Run the operations on a tree, one after the other, and return what becomes of it.

        Raises
        ------
        ValueError
            If an operation is not legal where it stands: a vertex is missing, has another label than the
            operation says, or is deleted while it has children.
        """
        workbench = _Workbench(tree)
        for operation in self:
            workbench.run(operation)
        return workbench.tree()

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else "nothing to do"


@dataclass(frozen=True)
class TreeMapping:
    """A structure and depth preserving mapping between two trees.

    Vertices are addressed by their paths, see :class:`relaxwl.UnfoldingTree`.

    Attributes
    ----------
    source, target : UnfoldingTree
        The two trees.
    edit_cost : EditCost
        The costs of single edits.
    cost : float
        The cost of the whole mapping.
    pairs : tuple of (path, path)
        Mapped vertices, of the source and the target.
    deleted : tuple of paths
        Vertices of the source without a partner.
    inserted : tuple of paths
        Vertices of the target without a partner.
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
            Naming the first vertex or pair that breaks a condition.
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
        """Check that every vertex of either tree occurs exactly once."""
        sides = (
            (self.source, [path for path, _ in self.pairs], self.deleted, "source"),
            (self.target, [path for _, path in self.pairs], self.inserted, "target"),
        )
        for tree, mapped, alone, name in sides:
            named = [*mapped, *alone]
            twice = _first_repeated(named)
            if twice is not None:
                raise ValueError(f"not definite: vertex {twice} of the {name} occurs more than once")
            missing = {path for path, _ in tree.walk()} ^ set(named)
            if missing:
                raise ValueError(
                    f"vertex {min(missing)} is either not in the {name} or neither mapped nor "
                    f"{'deleted' if name == 'source' else 'inserted'}"
                )

    def script(self) -> EditScript:
        """Return the edits as operations: relabel, then delete from the leaves up, then insert from the top down."""
        costs = _LabelCosts(self.source, self.target, self.edit_cost)
        before, after = _vertices(self.source), _vertices(self.target)
        operations: list[Operation] = []
        for path, other in self.pairs:
            vertex = Vertex("source", path)
            (old, old_edge), (new, new_edge) = before[path], after[other]
            if old != new:
                operations.append(Relabel(vertex, old, new, costs.relabel(old, new)))
            if old_edge is not None and new_edge is not None and old_edge != new_edge:
                operations.append(RelabelEdge(vertex, old_edge, new_edge, costs.relabel_edge(old_edge, new_edge)))
        for path in sorted(self.deleted, reverse=True):
            label, edge = before[path]
            operations.append(Delete(Vertex("source", path), label, edge, costs.blank(label, edge)))
        origin = {other: Vertex("source", path) for path, other in self.pairs}
        for path in sorted(self.inserted):
            label, edge = after[path]
            vertex = origin[path] = Vertex("target", path)
            operations.append(Insert(vertex, origin[path[:-1]], label, edge, costs.blank(label, edge)))
        return EditScript(operations)

    def apply(self) -> UnfoldingTree:
        """Run the script on the source tree; what comes out equals the target."""
        return self.script().apply(self.source)

    def describe(self) -> str:
        """Say in words what the target has that the source has not.

        Examples
        --------
        >>> tree_edit_mapping(UnfoldingTree.parse("0(0)"), UnfoldingTree.parse("0(0,0,0)")).describe()
        'two leaves more'
        """
        script = self.script()
        relabelled = [operation for operation in script if isinstance(operation, Relabel)]
        root = any(not operation.vertex.path for operation in relabelled)
        n_edges = sum(isinstance(operation, RelabelEdge) for operation in script)
        phrases = [
            *_branch_words(self.target, self.inserted, "more"),
            *_branch_words(self.source, self.deleted, "fewer"),
        ]
        if root:
            phrases.append("the root relabelled")
        if len(relabelled) > root:
            phrases.append(f"{_counted(len(relabelled) - root, 'vertex', 'vertices')} relabelled")
        if n_edges:
            phrases.append(f"{_counted(n_edges, 'edge', 'edges')} relabelled")
        return ", ".join(phrases) or "no difference"

    def to_svg(self, max_nodes: int | None = None, *, title: str | None = None, embed_style: bool = True) -> str:
        """Return a drawing of both trees and the mapping as SVG text.

        Mapped vertices are joined by dashed lines, deleted ones are red, inserted ones blue, relabelled ones yellow.

        Parameters
        ----------
        max_nodes : int, optional
            Vertices that are drawn at most of each tree; marks say how many more there are. By default as many children
            of a vertex, and as many levels, as keep the picture within about 1,600 pixels: first some of each kind
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
            relabelled_edges=[(i, j) for i, j in drawn if outlines[0].edges[i] != outlines[1].edges[j]],
            title=title or f"Mapping between two trees, cost {cost_text(self.cost)}: {self.describe()}",
            captions=(f"{self.source.size:,} vertices", f"{self.target.size:,} vertices, cost {cost_text(self.cost)}"),
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
        """Return what becomes of each drawn vertex, whether or not its partner is drawn."""
        before = [drawing.DELETED] * len(index[0])
        after = [drawing.INSERTED] * len(index[1])
        old, new = _vertices(self.source), _vertices(self.target)
        for path, other in self.pairs:
            state = drawing.KEPT if old[path].label == new[other].label else drawing.RELABELLED
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
    """Which children are drawn of the two trees of a mapping, so that mapped vertices are drawn both or neither."""

    mapping: TreeMapping
    images: dict[Path, Path]
    origins: dict[Path, Path]
    cut: Cut

    def of_source(self, path: Path, n_children: int) -> Sequence[int]:
        """Return the positions of the children to draw of a vertex of the source."""
        if path not in self.images:
            return self.cut.first(path, n_children)
        return self._of_pair(path, self.images[path])[0]

    def of_target(self, path: Path, n_children: int) -> Sequence[int]:
        """Return the positions of the children to draw of a vertex of the target."""
        if path not in self.origins:
            return self.cut.first(path, n_children)
        return self._of_pair(self.origins[path], path)[1]

    def _of_pair(self, path: Path, other: Path) -> tuple[list[int], list[int]]:
        """Return the positions of the children to draw of two mapped vertices: of each kind of edit in turn."""
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


class _LabelCosts:
    """γ looked up by label, for the labels of two trees."""

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
        return self._nodes[self._node_code[a]][self._node_code[b]]

    def relabel_edge(self, a: Label | None, b: Label | None) -> float:
        return 0.0 if a is None or b is None else self._edges[self._edge_code[a]][self._edge_code[b]]

    def blank(self, label: Label, edge: Label | None) -> float:
        """Return the cost of inserting or deleting a vertex and the edge to its parent."""
        return self._nodes[self._node_code[label]][-1] + self.edge_blank(edge)

    def edge_blank(self, edge: Label | None) -> float:
        return 0.0 if edge is None else self._edges[self._edge_code[edge]][-1]


class _SubtreeDistances(_LabelCosts):
    """Distances between the distinct subtrees of two trees, each computed once."""

    def __init__(self, a: UnfoldingTree, b: UnfoldingTree, cost: EditCost) -> None:
        super().__init__(a, b, cost)
        self._known: dict[tuple[bytes, bytes], float] = {}
        # The cost of deleting each subtree, without the edge above it; children come before parents.
        self._deletion: dict[bytes, float] = {}
        for tree in self.subtrees.values():
            below = [branch.multiplicity * self._branch_deletion(branch) for branch in tree.branches]
            self._deletion[tree.digest] = self.blank(tree.label, None) + sum(below)
        check_finite(self._deletion[a.digest] + self._deletion[b.digest], max(a.depth, b.depth))

    def _branch_deletion(self, branch: Branch) -> float:
        return self._deletion[branch.tree.digest] + self.edge_blank(branch.edge)

    def between(self, a: UnfoldingTree, b: UnfoldingTree) -> float:
        """Return the distance of two subtrees; pairs that wait for others are on a stack, not in recursion."""
        known = self._known
        stack = [(a, b)]
        while stack:
            x, y = stack[-1]
            if (x.digest, y.digest) in known:
                stack.pop()
            elif x == y:
                known[x.digest, y.digest] = 0.0
            else:
                left, right = _leftover(x, y)
                waiting = [(p.tree, q.tree) for p in left for q in right if (p.tree.digest, q.tree.digest) not in known]
                if waiting:
                    stack.extend(waiting)
                else:
                    below = self._cheapest_matching(left, right)[0]
                    known[x.digest, y.digest] = self.relabel(x.label, y.label) + below
        return known[a.digest, b.digest]

    def matching(self, a: UnfoldingTree, b: UnfoldingTree) -> list[tuple[int, int]]:
        """Return the positions of children that are mapped to each other in an optimal mapping of a to b."""
        left, right = _leftover(a, b)
        _, units = self._cheapest_matching(left, right)
        rest, other_rest = _positions(a, left), _positions(b, right)
        matched = [(rest[i], other_rest[j]) for i, j in units]
        # Equal children cancelled in pairs: in both trees they are in the same order.
        taken, other_taken = set(rest), set(other_rest)
        equal = [i for i in range(len(a.children)) if i not in taken]
        other_equal = [j for j in range(len(b.children)) if j not in other_taken]
        return sorted(matched + list(zip(equal, other_equal, strict=True)))

    def _cheapest_matching(
        self, left: Sequence[Branch], right: Sequence[Branch]
    ) -> tuple[float, list[tuple[int, int]]]:
        """Return the cost of the cheapest matching of branches, and its pairs, counting repeated branches singly.

        Only the side with fewer children is padded with empty trees: by the triangle inequality deleting one child
        and inserting another is never cheaper than mapping them.
        """
        if not left or not right:
            return sum(b.multiplicity * self._branch_deletion(b) for b in (*left, *right)), []
        if max(sum(b.multiplicity for b in side) for side in (left, right)) > MANY_CHILDREN:
            return self._cheapest_transport(left, right)
        rows = np.repeat(np.arange(len(left)), [b.multiplicity for b in left])
        columns = np.repeat(np.arange(len(right)), [b.multiplicity for b in right])
        costs = np.array([[self._branch_distance(p, q) for q in right] for p in left])
        size = max(len(rows), len(columns))
        padded = np.empty((size, size))
        padded[: len(rows), : len(columns)] = costs[np.ix_(rows, columns)]
        padded[: len(rows), len(columns) :] = np.array([self._branch_deletion(b) for b in left])[rows, None]
        padded[len(rows) :, : len(columns)] = np.array([self._branch_deletion(b) for b in right])[columns]
        chosen = linear_sum_assignment(padded)
        pairs = [(i, j) for i, j in zip(*(side.tolist() for side in chosen), strict=True)]
        return float(padded[chosen].sum()), [(i, j) for i, j in pairs if i < len(rows) and j < len(columns)]

    def _cheapest_transport(
        self, left: Sequence[Branch], right: Sequence[Branch]
    ) -> tuple[float, list[tuple[int, int]]]:
        """Return the same, without writing repeated branches out: whole masses have a plan in whole numbers."""
        n_left, n_right = len(left), len(right)
        ground = np.zeros((n_left + n_right + 1, n_left + n_right + 1))
        ground[:n_left, n_left:-1] = [[self._branch_distance(p, q) for q in right] for p in left]
        ground[:n_left, -1] = [self._branch_deletion(b) for b in left]
        ground[-1, n_left:-1] = [self._branch_deletion(b) for b in right]
        points = np.arange(n_left + n_right, dtype=np.int32)
        masses = np.array([b.multiplicity for b in (*left, *right)], np.float64)
        cost, sources, sinks, amounts = _compiled.pair_plan(
            points[:n_left], masses[:n_left], points[n_left:], masses[n_left:], ground,
            *_compiled.make_scratch(n_left + n_right),
        )  # fmt: skip
        # The first unit of each branch that is not matched yet, among those of its side.
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

    def _branch_distance(self, a: Branch, b: Branch) -> float:
        return self.relabel_edge(a.edge, b.edge) + self._known[a.tree.digest, b.tree.digest]


class _VertexLabels(NamedTuple):
    """The label of a vertex and that of the edge above it."""

    label: Label
    edge: Label | None


@dataclass
class _Place:
    """A vertex of a tree that is being edited."""

    label: Label
    edge: Label | None
    parent: Vertex | None
    children: set[Vertex]


class _Workbench:
    """A tree that can be edited, one legal operation at a time."""

    def __init__(self, tree: UnfoldingTree) -> None:
        self._places: dict[Vertex, _Place] = {}
        for path, (label, edge) in _vertices(tree).items():
            parent = Vertex("source", path[:-1]) if path else None
            self._add(Vertex("source", path), _Place(label, edge, parent, set()))

    def _add(self, vertex: Vertex, place: _Place) -> None:
        self._places[vertex] = place
        if place.parent is not None:
            self._places[place.parent].children.add(vertex)

    def run(self, operation: Operation) -> None:
        """Change the tree, or raise if the operation is not legal now."""
        if isinstance(operation, Insert):
            if operation.parent not in self._places or operation.vertex in self._places:
                raise ValueError(f"cannot {operation}: the parent must be there, and the vertex must not")
            self._add(operation.vertex, _Place(operation.label, operation.edge, operation.parent, set()))
            return
        place = self._places.get(operation.vertex)
        if place is None:
            raise ValueError(f"cannot {operation}: there is no such vertex")
        if isinstance(operation, Delete):
            if place.children or place.parent is None:
                raise ValueError(f"cannot {operation}: only a leaf that is not the root can be deleted")
            self._places[place.parent].children.remove(operation.vertex)
            del self._places[operation.vertex]
        elif operation.before != (place.edge if isinstance(operation, RelabelEdge) else place.label):
            raise ValueError(f"cannot {operation}: the label is another one")
        elif isinstance(operation, RelabelEdge):
            place.edge = operation.after
        else:
            place.label = operation.after

    def tree(self) -> UnfoldingTree:
        """Return the tree as it is now."""
        order = [Vertex("source", ())]
        for vertex in order:
            order.extend(self._places[vertex].children)
        built: dict[Vertex, UnfoldingTree] = {}
        for vertex in reversed(order):
            place = self._places[vertex]
            children = list(place.children)
            edges = [self._places[child].edge for child in children]
            labelled = any(edge is not None for edge in edges)
            built[vertex] = UnfoldingTree(
                place.label, [built.pop(child) for child in children], edges if labelled else None
            )
        return built[order[0]]


def _leftover(a: UnfoldingTree, b: UnfoldingTree) -> tuple[list[Branch], list[Branch]]:
    """Return the branches of each tree that remain when equal ones have cancelled."""
    counts = {(branch.edge, branch.tree): branch.multiplicity for branch in a.branches}
    other = {(branch.edge, branch.tree): branch.multiplicity for branch in b.branches}
    return _less(a.branches, other), _less(b.branches, counts)


def _less(branches: Sequence[Branch], taken: dict[tuple[Label | None, UnfoldingTree], int]) -> list[Branch]:
    """Return the branches, each as often as it occurs more than in ``taken``."""
    rest = [b._replace(multiplicity=b.multiplicity - taken.get((b.edge, b.tree), 0)) for b in branches]
    return [branch for branch in rest if branch.multiplicity > 0]


def _positions(tree: UnfoldingTree, left: Sequence[Branch]) -> list[int]:
    """Return the child positions of leftover branches: of equal children the last ones are left over."""
    wanted = {(branch.edge, branch.tree): branch.multiplicity for branch in left}
    positions: list[int] = []
    end = 0
    for branch in tree.branches:
        end += branch.multiplicity
        positions.extend(range(end - wanted.get((branch.edge, branch.tree), 0), end))
    return positions


def _all_below(path: Path, children: Iterable[tuple[int, UnfoldingTree]]) -> list[Path]:
    """Return the paths of all vertices of the given child trees."""
    return [(*path, position, *below) for position, child in children for below, _ in child.walk()]


def _vertices(tree: UnfoldingTree) -> dict[Path, _VertexLabels]:
    """Return the labels of all vertices and of the edges above them, by path, parents first."""
    found: dict[Path, _VertexLabels] = {(): _VertexLabels(tree.label, None)}
    for path, node in tree.walk():
        for position, (child, edge) in enumerate(zip(node.children, node.edge_labels, strict=True)):
            found[(*path, position)] = _VertexLabels(child.label, edge)
    return found


def _refuse_large(a: UnfoldingTree, b: UnfoldingTree) -> None:
    """Raise if naming every vertex of the trees by its path takes too much memory."""
    for name, tree in (("a", a), ("b", b)):
        if tree.size > MAX_MAPPED_VERTICES or tree.size * tree.depth > MAX_PATH_ENTRIES:
            raise ValueError(
                f"{name} has {tree.size:,} vertices at depth {tree.depth}, too many for a mapping that names each "
                f"(at most {MAX_MAPPED_VERTICES:,}, and {MAX_PATH_ENTRIES:,} vertices times depth); take a smaller "
                "depth, or tree_edit_distance, which needs no mapping"
            )


def _first_repeated(paths: Iterable[Path]) -> Path | None:
    seen: set[Path] = set()
    for path in paths:
        if path in seen:
            return path
        seen.add(path)
    return None


def _edge_words(edge: Label | None) -> str:
    return "" if edge is None else f", edge {edge}"


def _branch_words(tree: UnfoldingTree, alone: Iterable[Path], word: str) -> list[str]:
    """Say how many leaves and larger branches occur in one of the trees only."""
    unmapped = set(alone)
    sizes = [tree.subtree(path).size for path in sorted(unmapped) if path[:-1] not in unmapped]
    phrases = []
    if leaves := sizes.count(1):
        phrases.append(f"{_counted(leaves, 'leaf', 'leaves')} {word}")
    if branches := [size for size in sizes if size > 1]:
        same = len(set(branches)) == 1
        amount = f"of {_number(branches[0])} vertices" if same else f"({_number(sum(branches))} vertices)"
        each = " each" if same and len(branches) > 1 else ""
        phrases.append(f"{_counted(len(branches), 'branch', 'branches')} {amount}{each} {word}")
    return phrases


def _counted(number: int, one: str, many: str) -> str:
    return f"{_number(number)} {one if number == 1 else many}"


def _number(number: int) -> str:
    return NUMBER_WORDS[number] if number < len(NUMBER_WORDS) else f"{number:,}"

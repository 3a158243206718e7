"""The tree edit distance SdTed of two trees, and an optimal mapping that shows how one becomes the other.

A mapping keeps the root on the root and children under the images of their parents. Its cost is γ over the mapped
pairs, plus that of deleting and inserting all other nodes. The cheapest one is found from the leaves up: the
distance of two trees is γ of their roots plus the cheapest matching of their child trees, where a child tree may
also be matched to nothing and is then deleted or inserted as a whole.

This module works on trees given one by one; for all pairs of a collection use
:func:`relaxwl.tree_distances`, which never builds a tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from relaxwl.costs import EditCost, check_finite, checked_cost
from relaxwl.distances import _compiled
from relaxwl.distances.mapping import TreeMapping
from relaxwl.distances.script import LabelCosts
from relaxwl.graphs.arrays import prefix_sums
from relaxwl.graphs.labels import Label
from relaxwl.unfolding.outline import Path
from relaxwl.unfolding.tree import Branch, UnfoldingTree

# A mapping names every node by its path: this bounds their number, and the total length of the paths.
MAX_MAPPED_NODES = 200_000
MAX_PATH_ENTRIES = 20_000_000
# Up to this number of children they are matched one by one; beyond, equal ones are moved together.
MANY_CHILDREN = 256


def tree_edit_distance(a: UnfoldingTree, b: UnfoldingTree, cost: EditCost | None = None) -> float:
    """Return the structure and depth preserving tree edit distance of two rooted labeled trees.

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
        If the trees have so many nodes that writing them all down is out of the question.

    Examples
    --------
    >>> mapping = tree_edit_mapping(UnfoldingTree.parse("1(2(1,3),3(1))"), UnfoldingTree.parse("1(1(1,2,3))"))
    >>> mapping.describe()
    'one leaf more, one branch of two nodes fewer, one node relabeled'
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


class _SubtreeDistances(LabelCosts):
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
        # Equal children canceled in pairs: in both trees they are in the same order.
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
            points[:n_left], masses[:n_left], points[n_left:], masses[n_left:], ground
        )
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


def _leftover(a: UnfoldingTree, b: UnfoldingTree) -> tuple[list[Branch], list[Branch]]:
    """Return the branches of each tree that remain when equal ones have canceled."""
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
    """Return the paths of all nodes of the given child trees."""
    return [(*path, position, *below) for position, child in children for below, _ in child.walk()]


def _refuse_large(a: UnfoldingTree, b: UnfoldingTree) -> None:
    """Raise if naming every node of the trees by its path takes too much memory."""
    for name, tree in (("a", a), ("b", b)):
        if tree.size > MAX_MAPPED_NODES or tree.size * tree.depth > MAX_PATH_ENTRIES:
            raise ValueError(
                f"{name} has {tree.size:,} nodes at depth {tree.depth}, too many for a mapping that names each "
                f"(at most {MAX_MAPPED_NODES:,}, and {MAX_PATH_ENTRIES:,} nodes times depth); take a smaller "
                "depth, or tree_edit_distance, which needs no mapping"
            )

"""Members of a cluster: the nearest and the farthest from its center, and what tells them from it."""

from dataclasses import dataclass

import numpy as np

from relaxwl.costs import EditCost
from relaxwl.distances.tree import EditScript, TreeMapping, tree_edit_mapping
from relaxwl.explanation.levels import ClusterLevel
from relaxwl.graphs.arrays import Int64
from relaxwl.unfolding.tree import UnfoldingTree

# Nobody reads an edit script of larger trees: those are compared in their upper levels.
MAX_COMPARED_SIZE = 400


@dataclass(frozen=True)
class Member:
    """One node of a cluster beside the cluster's center.

    Attributes
    ----------
    graph, node : int
        The node: index of its graph, and its index there.
    distance : float
        Distance of its tree to the center, as the kernel measures it. R-WL* measures between centers of the depth
        below, so ``mapping.cost``, which is between the real trees, may differ.
    n_alike : int
        Number of nodes in the cluster with, to the kernel, the same tree.
    mapping : TreeMapping
        The cheapest mapping of the node's unfolding tree to the center.
    compared_depth : int
        Depth to which the trees were compared.
    note : str
        Says so if that is less than their whole depth; else empty.
    """

    graph: int
    node: int
    distance: float
    n_alike: int
    mapping: TreeMapping
    compared_depth: int
    note: str

    @property
    def words(self) -> str:
        """What the center has that the member has not: "two leaves more, one node relabeled"."""
        return self.mapping.describe()

    @property
    def script(self) -> EditScript:
        """The edits that turn the member's tree into the center."""
        return self.mapping.script()


@dataclass(frozen=True)
class Members:
    """The members nearest to the center, nearest first, and the farthest of the others, farthest first."""

    nearest: tuple[Member, ...]
    farthest: tuple[Member, ...]


def find_members(level: ClusterLevel, cluster: int, cost: EditCost | None, n_nearest: int, n_farthest: int) -> Members:
    """Describe members of a cluster, of equal trees the first node only."""
    inside = np.flatnonzero(level.clusters == cluster)
    _, first, n_alike = np.unique(level.rows[inside], return_index=True, return_counts=True)
    nodes = inside[first]
    order = np.lexsort((nodes, level.distances[nodes]))
    nearest, others = order[:n_nearest], order[n_nearest:]
    farthest = others[len(others) - min(n_farthest, len(others)) :][::-1]
    center = level.center_tree(cluster)
    centers = [cut(center, depth) for depth in range(level.depth + 1)]
    return Members(
        *(
            tuple(_member(level, centers, int(nodes[i]), int(n_alike[i]), cost) for i in chosen)
            for chosen in (nearest, farthest)
        )
    )


def _member(
    level: ClusterLevel, centers: list[UnfoldingTree], position: int, n_alike: int, cost: EditCost | None
) -> Member:
    """Compare one node with the center, given at all depths, down to the depth where the trees get too large."""
    graph, node = level.trees.locate(position)
    depth = level.depth
    while depth > 1 and max(level.trees.sizes(depth)[position], centers[depth].size) > MAX_COMPARED_SIZE:
        depth -= 1
    note = ""
    if depth < level.depth:
        note = f"compared down to depth {depth} of {level.depth}: the whole trees are too large to be read"
    mapping = tree_edit_mapping(level.trees.tree(position, depth), centers[depth], cost)
    return Member(graph, node, float(level.distances[position]), n_alike, mapping, depth, note)


def cut(tree: UnfoldingTree, depth: int) -> UnfoldingTree:
    """Return the upper part of a tree, down to a depth.

    >>> print(cut(UnfoldingTree.parse("1(2(3,4),5)"), 1))
    1(2,5)
    """
    return _cut(tree, depth, {})


def _cut(tree: UnfoldingTree, depth: int, done: dict[tuple[UnfoldingTree, int], UnfoldingTree]) -> UnfoldingTree:
    """Cut a tree, each distinct subtree once."""
    if tree.depth <= depth:
        return tree
    if (tree, depth) not in done:
        pieces = [_cut(branch.tree, depth - 1, done) for branch in tree.branches if depth]
        branches = list(zip(pieces, tree.branches, strict=False))
        children = [piece for piece, branch in branches for _ in range(branch.multiplicity)]
        edges = [branch.edge for _, branch in branches for _ in range(branch.multiplicity)]
        done[tree, depth] = UnfoldingTree(tree.label, children, edges if tree.has_edge_labels and edges else None)
    return done[tree, depth]


def nodes_of(level: ClusterLevel, cluster: int, graph: int) -> Int64:
    """Return the nodes of one graph that fall into a cluster."""
    start, stop = level.trees.graphs.offsets[graph : graph + 2]
    return np.flatnonzero(level.clusters[start:stop] == cluster)

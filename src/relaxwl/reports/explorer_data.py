"""The data of the explorer page in compact form: trees share their subtrees in one table."""

from typing import Any

import numpy as np

from relaxwl import drawing
from relaxwl.datasets.smiles import MoleculeCollection
from relaxwl.distances.tree import TreeMapping
from relaxwl.explanation.explanation import ClusterEvidence, Explanation, GraphExplanation, plane
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.graphs.labels import Label
from relaxwl.unfolding.tree import Branch, Path, UnfoldingTree

# States of nodes of trees, as numbered in the script of the page.
KEPT, RELABELED, DELETED, INSERTED = range(4)
# Maximum number of nodes of a drawn graph; larger graphs are cut around the nodes with most evidence.
MAX_DRAWN_NODES = 300
# Number of nearest clusters that are listed for each cluster.
N_NEIGHBORS = 4


def explorer_data(
    explanation: Explanation, *, max_clusters: int, n_graphs: int, n_nearest: int, n_farthest: int
) -> dict[str, Any]:
    """Return the data of the explorer page as plain lists, numbers and strings."""
    shown = explanation.clusters[:max_clusters]
    place = {column: index for index, cluster in enumerate(shown) for column in cluster.columns}
    table = TreeTable(edge_labels=bool(explanation.kernel.edge_labels))
    clusters = _clusters(explanation, shown, table)
    clusters["members"] = [_members(explanation, cluster, table, n_nearest, n_farthest) for cluster in shown]
    maps, neighbors = _maps(explanation, shown, place)
    clusters["near"] = neighbors
    chosen = _typical_graphs(explanation, n_graphs)
    named = {*chosen, *(member[1] for members in clusters["members"] for member in members)}
    return {
        "meta": _meta(explanation, len(shown)),
        "clusters": clusters,
        "maps": maps,
        "graphs": [_graph(explanation, explanation.explain_graph(graph), place, table) for graph in chosen],
        "names": {str(graph): name for graph in sorted(named) if (name := _name(explanation.graphs, graph))},
        "levels": [[level.partition, level.depth] for level in explanation.levels],
        "trees": list(table.rows),
        "labels": list(table.labels),
        "edges": list(table.edges),
    }


class TreeTable:
    """All trees and tree mappings of a page as one table of distinct subtrees.

    A row is ``[state, label, ...]``, for a relabeled node ``[state, label, new label, ...]``, followed by child row
    and count of each branch, and its edge if edges have labels. Labels and edges are indices into their lists; an edge
    is a pair of strings, which differ if the edge was relabeled. A mapping is the overlay of its two trees: nodes that
    are mapped to each other are one node, and nodes that occur in only one tree are marked as deleted or inserted.
    """

    def __init__(self, edge_labels: bool) -> None:
        self.edge_labels = edge_labels
        # Numbers by content, in the order of first occurrence.
        self.rows: dict[tuple[int, ...], int] = {}
        self.labels: dict[str, int] = {}
        self.edges: dict[tuple[str, str], int] = {}
        self._tree_of: dict[tuple[UnfoldingTree, int], int] = {}

    def label(self, label: Label) -> int:
        """Return the number of a label."""
        return self.labels.setdefault(str(label), len(self.labels))

    def tree(self, tree: UnfoldingTree, state: int = KEPT) -> int:
        """Return the row of a tree whose nodes all have one state."""
        if (tree, state) not in self._tree_of:
            for part in tree.distinct_subtrees():  # children come first
                children = [(self._tree_of[b.tree, state], b.multiplicity, b.edge, b.edge) for b in part.branches]
                self._tree_of[part, state] = self._row([state, self.label(part.label)], children)
        return self._tree_of[tree, state]

    def mapping(self, mapping: TreeMapping) -> int:
        """Return the row of the overlay of two mapped trees."""
        return self._overlay(mapping.source, mapping.target, (), dict(mapping.pairs))

    def _overlay(self, source: UnfoldingTree, target: UnfoldingTree, path: Path, images: dict[Path, Path]) -> int:
        before, after = _single(source), _single(target)
        partners = [images.get((*path, position)) for position in range(len(before))]
        mapped = {image[-1] for image in partners if image is not None}
        children: list[tuple[int, int, Label, Label]] = []
        for position, image in enumerate(partners):
            branch = before[position]
            if image is None:
                children.append((self.tree(branch.tree, DELETED), 1, branch.edge, branch.edge))
            else:
                other = after[image[-1]]
                row = self._overlay(branch.tree, other.tree, (*path, position), images)
                children.append((row, 1, branch.edge, other.edge))
        alone = [branch for position, branch in enumerate(after) if position not in mapped]
        children += [(self.tree(branch.tree, INSERTED), 1, branch.edge, branch.edge) for branch in alone]
        labels = [self.label(source.label), self.label(target.label)]
        head = [KEPT, labels[0]] if labels[0] == labels[1] else [RELABELED, *labels]
        return self._row(head, children)

    def _row(self, head: list[int], children: list[tuple[int, int, Label, Label]]) -> int:
        """Return the number of a row, with equal children counted, in the order of their first occurrence."""
        counts: dict[tuple[int, ...], int] = {}
        for row, count, edge, new_edge in children:
            pair = (str(edge), str(new_edge))
            key = (row, self.edges.setdefault(pair, len(self.edges))) if self.edge_labels else (row,)
            counts[key] = counts.get(key, 0) + count
        content = (*head, *(number for key, count in counts.items() for number in (key[0], count, *key[1:])))
        return self.rows.setdefault(content, len(self.rows))


def _single(tree: UnfoldingTree) -> list[Branch]:
    """Return the children one by one, in the order of paths."""
    return [branch for branch in tree.branches for _ in range(branch.multiplicity)]


def _meta(explanation: Explanation, n_shown: int) -> dict[str, Any]:
    sizes = np.bincount(explanation.y, minlength=len(explanation.classes))
    cost = getattr(explanation.kernel, "cost", None)
    return {
        "classes": [str(name) for name in explanation.classes.tolist()],
        "class_sizes": sizes.tolist(),
        "intercept": _rounded(explanation.model.intercept),
        "left_out": len(explanation.clusters) - n_shown,
        "labeled": explanation.graphs.is_labeled or bool(getattr(cost, "uses_attributes", False)),
        "edge_labels": bool(explanation.kernel.edge_labels),
        "significance": explanation.significance,
        "n_permutations": explanation.n_permutations,
        "kernel": type(explanation.kernel).__name__,
        "has_centers": explanation.levels[0].describe is None and explanation.levels[0].row_distances() is not None,
    }


def _clusters(explanation: Explanation, shown: tuple[ClusterEvidence, ...], table: TreeTable) -> dict[str, Any]:
    """Return one list for each property of the clusters; those of classes are lists of lists."""
    return {
        "depth": [cluster.depth for cluster in shown],
        "partition": [cluster.partition for cluster in shown],
        "cluster": [cluster.number for cluster in shown],
        "tree": [table.tree(cluster.center) for cluster in shown],
        "nodes": [cluster.center.size for cluster in shown],
        "size": [cluster.size for cluster in shown],
        "in_graphs": [cluster.n_graphs for cluster in shown],
        "share": _rounded([cluster.share for cluster in shown]),
        "effect": _rounded([cluster.effect for cluster in shown]),
        "p": _rounded([cluster.p_value for cluster in shown]),
        "better": [int(cluster.better_than_chance) for cluster in shown],
        "typical": [cluster.typical_class for cluster in shown],
        "mean": [_rounded(cluster.mean_count) for cluster in shown],
        "presence": [_rounded(cluster.presence, 3) for cluster in shown],
        "weight": [_rounded(cluster.weights) for cluster in shown],
    }


def _members(
    explanation: Explanation, cluster: ClusterEvidence, table: TreeTable, n_nearest: int, n_farthest: int
) -> list[list[Any]]:
    """Return [far, graph, node, distance, alike, cost, compared depth, overlay, words] for each member."""
    found = explanation.members(cluster, n_nearest, n_farthest)
    return [
        [far, member.graph, member.node, _short(member.distance), member.n_alike, _short(member.mapping.cost),
         member.compared_depth, table.mapping(member.mapping), member.words]
        for far, members in enumerate((found.nearest, found.farthest))
        for member in members
    ]  # fmt: skip


def _maps(
    explanation: Explanation, shown: tuple[ClusterEvidence, ...], place: dict[int, int]
) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """Return a map for each level with centers, and the nearest clusters of each cluster."""
    maps: list[dict[str, Any]] = []
    neighbors: list[list[int]] = [[] for _ in shown]
    for level in explanation.levels:
        clusters = [g for g in range(level.n_clusters) if level.first_column + g in place]
        distances = explanation.center_distances(level.partition, level.depth)
        if distances is None or len(clusters) < 2:
            continue
        indices = [place[level.first_column + cluster] for cluster in clusters]
        maps.append({
            "partition": level.partition,
            "depth": level.depth,
            "clusters": indices,
            "xy": _unit_square(plane(distances)[clusters]),
        })  # fmt: skip
        for row, index in zip(distances[np.ix_(clusters, clusters)], indices, strict=True):
            order = [indices[other] for other in np.argsort(row, kind="stable") if indices[other] != index]
            neighbors[index] = order[:N_NEIGHBORS]
    return maps, neighbors


def _typical_graphs(explanation: Explanation, n_graphs: int) -> list[int]:
    """Return, for each class, the graphs whose score exceeds those of other classes by the largest margin."""
    scores = explanation.model.scores(explanation.features)
    everyone = np.arange(len(scores))
    own = scores[everyone, explanation.y]
    rest = scores.copy()
    rest[everyone, explanation.y] = -np.inf
    lead = own - rest.max(axis=1)
    each = max(1, n_graphs // len(explanation.classes))
    chosen: list[int] = []
    for code in range(len(explanation.classes)):
        members = np.flatnonzero((explanation.y == code) & (explanation.graphs.node_counts > 0))
        chosen += members[np.argsort(-lead[members], kind="stable")][:each].tolist()
    return chosen


def _graph(
    explanation: Explanation, found: GraphExplanation, place: dict[int, int], table: TreeTable
) -> dict[str, Any]:
    """Return a graph with positions, and for each level the cluster of every node (-1 for none on the page)."""
    graph = explanation.graphs[found.graph]
    all_edges = [(a, b) for a, b in graph.edges.tolist()]
    telling = np.argsort(-found.evidence[:, found.predicted], kind="stable")[: MAX_DRAWN_NODES // 3]
    kept = drawing.nodes_to_draw(graph.n_nodes, all_edges, sorted(telling.tolist()), MAX_DRAWN_NODES)
    new = {node: index for index, node in enumerate(kept)}
    edges = [(new[a], new[b]) for a, b in all_edges if a in new and b in new]
    start = int(explanation.graphs.offsets[found.graph])
    lookup = np.full(explanation.features.shape[1] + 1, -1)
    lookup[list(place)] = list(place.values())
    labels, graphs = graph.node_labels, explanation.graphs
    # Molecules are drawn with RDKit's coordinates.
    positions = graphs.positions(found.graph) if isinstance(graphs, MoleculeCollection) else None
    positions = drawing.spring_layout(len(kept), edges) if positions is None else positions[kept]
    return {
        "id": found.graph,
        "class": found.actual,
        "predicted": found.predicted,
        "scores": _rounded(found.scores),
        "n": graph.n_nodes,
        "m": graph.n_edges,
        "nodes": [] if len(kept) == graph.n_nodes else kept,
        "edges": [end for edge in edges for end in edge],
        "xy": _unit_square(positions),
        "labels": [] if labels is None else [table.label(labels[node]) for node in kept],
        "node_clusters": [
            lookup[level.column_of_node[start + np.array(kept)]].tolist() for level in explanation.levels
        ],
        "evidence": [_rounded(column, 3) for column in found.evidence[kept].T],
        "n_clusters": len(found.clusters),
        "clusters": [
            [place[item.cluster.columns[0]], len(item.nodes), *_rounded(item.contribution, 3)]
            for item in found.clusters
            if item.cluster.columns[0] in place
        ],
    }


def _name(graphs: GraphCollection, index: int) -> str:
    """Return the name of a graph, and the SMILES of a molecule that was read from one; nothing if it has neither."""
    source = graphs.sources[index] if isinstance(graphs, MoleculeCollection) else None
    known = [graphs.names[index] if graphs.names else "", source if isinstance(source, str) else ""]
    return ", ".join(dict.fromkeys(text for text in known if text))


def _unit_square(points: Float64) -> list[int]:
    """Return positions as whole numbers from 0 to 1000 along the longer side, with alternating x and y."""
    low = points.min(axis=0) if len(points) else np.zeros(2)
    span = float((points - low).max(initial=0.0))
    scaled = np.rint((points - low) * (1000 / span if span > 0 else 0.0)).astype(int)
    return [int(value) for value in scaled.reshape(-1)]


def _rounded(values: Float64 | list[float], digits: int = 4) -> list[float]:
    return [_short(float(value), digits) for value in values]


def _short(value: float, digits: int = 4) -> float:
    """Return a number rounded to a few digits, as an integer if it is one.

    >>> _short(3.0), _short(0.0123456)
    (3, 0.01235)
    """
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded

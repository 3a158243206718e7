"""The Weisfeiler-Lehman kernels, which match identical neighborhoods."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxwl._progress import report
from relaxwl.clustering.partitioners import known_or_new
from relaxwl.costs import EditCost
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int32
from relaxwl.graphs.labels import check_same_kind, match_codes
from relaxwl.kernels.chains import Trees, fit_chain
from relaxwl.kernels.clusters import Chain, ClusterKernel, LevelClusters
from relaxwl.kernels.counting import Counter, Counts
from relaxwl.kernels.levels import Encoded, Graphs
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.encoding import RootEncoding, check_edge_labels
from relaxwl.unfolding.tree import UNLABELED

# Maximum number of characters of a child, and of children, in the name of a feature.
LONGEST_CHILD = 40
NAMED_CHILDREN = 6


@dataclass(repr=False, eq=False)
class WeisfeilerLehman(ClusterKernel):
    """Weisfeiler-Lehman graph kernels as explicit sparse features.

    Parameters
    ----------
    max_depth : int, default=4
        Number of refinement steps; features count the unfolding trees of all depths from 0 to ``max_depth``.
    base : {"subtree", "edge", "shortest-path"}, default="subtree"
        Counted objects in the refined graphs: labels, label pairs on edges, or label pairs at the ends of shortest
        paths together with the length.
    similarity : {"dot", "intersection", "tanimoto"}, default="dot"
        Similarity of two graphs' weighted counts in :meth:`kernel_matrix`: Σ x·y, Σ min(x, y), or Σ min / Σ max.
        Tanimoto similarity is between 0 and 1, so ``normalize=True`` does not change it; with "depth" it is the
        weighted sum of the similarities of all depths. Features that do not occur in the fitted graphs add to Σ max.
    edge_labels : bool, default=False
        Whether edge labels are used in the refinement.
    directions : {"both", "out", "in"}, default="both"
        Which arcs of directed graphs lead from a node to its children in the tree: outgoing, incoming, or both
        (distinguished). Ignored for undirected graphs.
    depth_weights : sequence of float, optional
        A weight >= 0 for each depth; all 1 by default.
    normalize : bool or "depth", default=False
        Scale features and Gram matrix so that every graph has similarity 1 with itself; with "depth" this holds at each
        depth, so that all depths have the same weight.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : int, default=0
        1 logs progress.
    sparse_output : bool, default=True
        Whether :meth:`transform` returns a sparse array; False suits ``set_output(transform="pandas")``.

    Attributes
    ----------
    rows_ : list of TreeRows
        The distinct trees of each depth.

    See Also
    --------
    RelaxedWeisfeilerLehman : Matches similar neighborhoods.
    ContinuousWeisfeilerLehman : Nodes as vectors.

    References
    ----------
    Shervashidze et al., Weisfeiler-Lehman graph kernels, JMLR 2011.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])])
    >>> kernel = WeisfeilerLehman(max_depth=1)
    >>> kernel.fit_transform(graphs).toarray()
    array([[3., 2., 1.],
           [3., 0., 3.]])
    >>> kernel.kernel_matrix(graphs)
    array([[14., 12.],
           [12., 18.]])
    """

    max_depth: int = 4
    base: str = "subtree"
    similarity: str = "dot"
    edge_labels: bool = False
    depth_weights: Sequence[float] | None = None
    normalize: bool | str = False
    n_jobs: int | None = None
    verbose: int = 0
    sparse_output: bool = True
    directions: str = "both"

    takes_directed = True

    def fit_source(self, source: Graphs) -> list[Counts] | None:
        """Fit to graphs in memory, or to shards; see ``relaxwl.kernels.levels.SourceKernel``.

        Parameters
        ----------
        source : Graphs
            The graphs.

        Returns
        -------
        counts : list of Counts, or None
            Counts of the graphs at each depth, if they are in memory.
        """
        self.node_vocabulary_ = source.graphs.node_vocabulary
        seen = source.graphs.seen(self.directions, edge_labels=self.edge_labels)
        edges_count = self.edge_labels or (source.graphs.directed and self.directions == "both")
        self.edge_vocabulary_ = seen.edge_vocabulary if edges_count else None
        levels = source.levels(self._encoder, self.n_jobs)
        self.rows_: list[TreeRows] = []
        self._counters: list[Counter] = []
        counts: list[Any] = []
        # Without partitioners, the trees of a depth are the children of the next, and each tree is a cluster.
        chain = fit_chain(levels, [[]] * (self.max_depth + 1), use_clusters=False)
        for level, _ in chain:
            depth, share = level.depth, (level.depth + 1) / (self.max_depth + 1)
            report(self.verbose, "depth %d of %d: %d distinct trees", depth, self.max_depth, level.n_rows, share=share)
            counter, found = levels.fit_counter(self.base, level.ids, level.n_rows)
            self.rows_.append(level.take())
            self._counters.append(counter)
            counts.append(found)
            del level  # releases results on workers before the next depth
        return counts if source.in_memory else None

    def _counter(self, level: LevelClusters) -> Counter:
        return self._counters[level.depth]

    @property
    def _encoder(self) -> "WalkEncoder":
        """The encoder of graphs."""
        return WalkEncoder(self.directions, self.edge_labels, self.node_vocabulary_, self.edge_vocabulary_)

    def _chains(self, graphs: GraphCollection, n_partitions: int | None = None) -> list[Chain]:
        return [self._levels(self._encoder(graphs))]

    def _levels(self, encoded: Encoded) -> Chain:
        """Yield the tree of every node, depth by depth, among those of the fit; others have larger numbers."""
        ids, labels = np.empty(0, np.int32), self.node_vocabulary_
        trees: Trees | None = None
        roots = RootEncoding(EditCost(), labels, None, (UNLABELED,) if labels is None else labels)
        for depth, known in enumerate(self.rows_):
            rows, row_of_node = encoded.refined(depth, ids, len(self.rows_[depth - 1]), self.n_jobs)
            numbers = known_or_new(known.locate(rows), len(known))
            trees = Trees(known, roots, self.edge_vocabulary_, trees)
            ids, edges = numbers[row_of_node], encoded.counted[1]
            yield [LevelClusters(depth, 0, len(known), row_of_node, numbers, trees.tree, depth == 0, edges)]

    def _column_names(self) -> list[str]:
        names: list[str] = []
        trees: list[str] = []
        for depth, (rows, counter) in enumerate(zip(self.rows_, self._counters, strict=True)):
            trees = [self._tree_text(rows, tree, trees) for tree in range(len(rows))]
            numbered = [f"#{tree} {text}" for tree, text in enumerate(trees)]
            names += [
                f"depth {depth}: {counter.describe(column, numbered, self.edge_vocabulary_)}"
                for column in range(counter.n_columns)
            ]
        return names

    def _tree_text(self, rows: TreeRows, tree: int, below: list[str]) -> str:
        """Return the text of a tree, given the texts of its children; long texts are shortened."""
        root, points, counts = rows.row(tree)
        children = []
        for point, count in zip(points[:NAMED_CHILDREN], counts, strict=False):
            edge, child = divmod(int(point), max(rows.n_children, 1))
            name = below[child]
            if len(name) > LONGEST_CHILD:
                name = f"{name[:LONGEST_CHILD]}…"
            if self.edge_vocabulary_ is not None:
                name = f"{self.edge_vocabulary_[edge]}:{name}"
            children.append(f"{count}×{name}" if count > 1 else name)
        if len(points) > NAMED_CHILDREN:
            children.append("…")
        label = "·" if self.node_vocabulary_ is None else str(self.node_vocabulary_[root])
        return label + (f"({', '.join(children)})" if children else "")


@dataclass(frozen=True)
class WalkEncoder:
    """Encodes the labels of graphs, as they are traversed, by the fitted vocabularies; sent to the workers."""

    directions: str
    edge_labels: bool
    node_vocabulary: tuple[Any, ...] | None
    edge_vocabulary: tuple[Any, ...] | None

    def __call__(self, graphs: GraphCollection) -> Encoded:
        """Return the graphs with codes; those of unseen labels come last."""
        seen = graphs.seen(self.directions, edge_labels=self.edge_labels)
        edges_count = self.edge_labels or (graphs.directed and self.directions == "both")
        roots, edges = matched_codes(seen, self.node_vocabulary, self.edge_vocabulary, edges_count)
        arcs = None if edges is None else edges[graphs.entries_seen(self.directions)]
        n_edge_codes = 1 if self.edge_vocabulary is None else len(self.edge_vocabulary)
        return Encoded(seen, roots, edges, n_edge_codes, (graphs, arcs))


def matched_codes(
    graphs: GraphCollection,
    node_vocabulary: tuple[object, ...] | None,
    edge_vocabulary: tuple[object, ...] | None,
    edge_labels: bool,
) -> tuple[Int32, Int32 | None]:
    """Return the graphs' label codes in terms of the fitted vocabularies; unseen labels get codes after them."""
    if graphs.n_nodes > 0 and (node_vocabulary is None) != (graphs.node_vocabulary is None):
        fitted, given = ("unlabeled", "labeled") if node_vocabulary is None else ("labeled", "unlabeled")
        raise ValueError(f"the kernel was fitted on {fitted} graphs, and these graphs are {given}")
    check_edge_labels(graphs, edge_labels)
    roots, edges = graphs.node_codes, graphs.edge_codes if edge_labels else None
    if node_vocabulary is not None and graphs.node_vocabulary is not None:
        check_same_kind(graphs.node_vocabulary, node_vocabulary)
        roots = match_codes(graphs.node_vocabulary, node_vocabulary)[roots]
    if edge_vocabulary is not None and graphs.edge_vocabulary is not None and edges is not None:
        check_same_kind(graphs.edge_vocabulary, edge_vocabulary, "edge labels")
        edges = match_codes(graphs.edge_vocabulary, edge_vocabulary)[edges]
    return roots, edges

"""The Weisfeiler-Lehman kernels, which match identical neighborhoods."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from relaxwl._progress import report
from relaxwl.clustering.partitioners import known_or_new
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int32
from relaxwl.graphs.labels import check_same_kind, match_codes
from relaxwl.kernels.base import CountKernel, check_graphs
from relaxwl.kernels.counting import Counter, Counts
from relaxwl.kernels.levels import Encoded, Handle, Level, Parts, check_base, fit_counter, refined
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.encoding import check_edge_labels

# Maximum number of characters of a child, and of children, in the name of a feature.
LONGEST_CHILD = 40
NAMED_CHILDREN = 6


@dataclass(repr=False, eq=False)
class WeisfeilerLehman(CountKernel):
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

    def fit_parts(self, parts: Parts) -> list[Counts] | None:
        """Fit to graphs in parts; see ``relaxwl.kernels.levels.PartwiseKernel``.

        Parameters
        ----------
        parts : Parts
            The graphs in parts.

        Returns
        -------
        counts : list of Counts, or None
            Counts of the graphs at each depth, if they are in memory.
        """
        if not parts.in_memory:
            check_base(self.base)
        self.node_vocabulary_ = parts.kind.node_vocabulary
        seen = parts.kind.seen(self.directions, edge_labels=self.edge_labels)
        self.edge_vocabulary_ = seen.edge_vocabulary if self._edges_count else None
        encoder = WalkEncoder(self.directions, self.edge_labels, self._edges_count, self._n_edge_codes)
        self.rows_: list[TreeRows] = []
        self._counters: list[Counter] = []
        counts: list[Any] = []
        ids: list[Handle] = [None] * len(parts)
        for depth in range(self.max_depth + 1):
            n_below = len(self.rows_[-1]) if depth else 0
            level = Level(parts, parts.share(encoder), depth, ids, n_below, self.n_jobs)
            rows, ids = level.take(), level.node_ids()  # all trees, which are the features, are needed in this process
            del level  # release results on workers before the next depth
            share = (depth + 1) / (self.max_depth + 1)
            report(self.verbose, "depth %d of %d: %d distinct trees", depth, self.max_depth, len(rows), share=share)
            counter, found = fit_counter(parts, encoder, self.base, ids, len(rows), self.n_jobs)
            self.rows_.append(rows)
            self._counters.append(counter)
            counts.append(found)
        return counts if parts.in_memory else None

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        encoded = self._matched(graphs)
        found = zip(self._counters, self._node_trees(encoded), strict=True)
        return [counter.count(graphs, ids, self.n_jobs, encoded.counted[1]) for counter, ids in found]

    def counters(self) -> list[list[Counter]]:
        """Return the counters of trees of nodes, ``result[0][depth]``: there is one partition.

        Returns
        -------
        list of list of Counter
            The counters.
        """
        return [self._counters]

    def node_clusters(self, X: Any) -> list[list[Int32]]:
        """Return, as ``result[0][depth]``, the tree of every node, all graphs' nodes in order.

        Trees are numbered as in ``rows_``; larger numbers are trees that do not occur in the fitted graphs. The relaxed
        kernels have the same method, with one list for each partition.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        list of list of int32 arrays (n_nodes,)
            For each partition and depth.
        """
        check_is_fitted(self)
        return [list(self._node_trees(self._matched(check_graphs(self, X))))]

    @property
    def _edges_count(self) -> bool:
        """Whether edge labels or directions are used."""
        return self.edge_labels or (self.directed_ and self.directions == "both")

    @property
    def _n_edge_codes(self) -> int:
        return 1 if self.edge_vocabulary_ is None else len(self.edge_vocabulary_)

    def _matched(self, graphs: GraphCollection) -> Encoded:
        """Return the graphs as they are traversed, with codes of the fitted vocabularies."""
        seen = graphs.seen(self.directions, edge_labels=self.edge_labels)
        roots, edges = matched_codes(seen, self.node_vocabulary_, self.edge_vocabulary_, self._edges_count)
        arcs = None if edges is None else edges[graphs.entries_seen(self.directions)]
        return Encoded(seen, roots, edges, self._n_edge_codes, (graphs, arcs))

    def _node_trees(self, encoded: Encoded) -> Iterator[Int32]:
        """Yield the tree of every node, depth by depth."""
        ids = np.empty(0, np.int32)
        for depth, known in enumerate(self.rows_):
            rows, local = refined(encoded, depth, ids, len(self.rows_[depth - 1]), self.n_jobs)
            ids = known_or_new(known.locate(rows), len(known))[local]
            yield ids

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
        return self._label(root) + (f"({', '.join(children)})" if children else "")

    def _label(self, code: int) -> str:
        return str(self.node_vocabulary_[code]) if self.node_vocabulary_ is not None else "·"


@dataclass(frozen=True)
class WalkEncoder:
    """Encodes the labels of graphs, as they are traversed, in fitting; sent to the workers."""

    directions: str
    edge_labels: bool
    edges_count: bool
    n_edge_codes: int

    def __call__(self, graphs: GraphCollection) -> Encoded:
        """Return the graphs with codes."""
        check_edge_labels(graphs, self.edge_labels)
        seen = graphs.seen(self.directions, edge_labels=self.edge_labels)
        edges = seen.edge_codes if self.edges_count else None
        arcs = None if edges is None else edges[graphs.entries_seen(self.directions)]
        return Encoded(seen, graphs.node_codes, edges, self.n_edge_codes, (graphs, arcs))


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

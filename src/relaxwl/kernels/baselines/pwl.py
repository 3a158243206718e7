"""PWL: persistent Weisfeiler-Lehman features, labels weighted by how long their components last."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from relaxwl._execution import map_chunks
from relaxwl._progress import report
from relaxwl._validation import check_flag, check_number
from relaxwl.clustering.partitioners import known_or_new
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.kernels.baselines import _compiled
from relaxwl.kernels.baselines.histograms import DepthFeatures, label_names, node_codes_in
from relaxwl.kernels.counting import Counts, join_counts
from relaxwl.kernels.model_schema import check_unary
from relaxwl.unfolding import TreeRows, leaves, refine
from relaxwl.unfolding.rows import graph_spans

# Number of nodes per task.
CHUNK_NODES = 1 << 14
# Bounds of p and τ: weights are raised to the power p, and the results are multiplied.
MAX_POWER, MAX_OFFSET = 16.0, 1e6


@dataclass(repr=False, eq=False)
class PersistentWL(DepthFeatures):
    """Persistent Weisfeiler-Lehman features.

    At depth 0 an edge weighs [end labels differ] + τ; at depth i ≥ 1 it weighs [end labels of depth i − 1 differ] +
    ‖difference of the ends' neighbor-label counts of depth i − 1‖_p + τ. Edges are added by increasing weight. When an
    edge of weight w joins two components, one of them ends: w^p goes to the label (of depth i) of the node that
    represents it. The components left at the end get the largest weight of the graph, to the power p. A feature is the
    sum that a label of a depth has received. With ``cycles`` an edge that closes a cycle adds w^p to the labels of both
    its ends, in separate columns.

    With ``uniform`` every weight is 1, and without cycles the features are those of the Weisfeiler-Lehman subtree
    kernel.

    Parameters
    ----------
    max_depth : int, default=5
        Number of refinement steps; all depths from 0 on are used.
    power : float, default=1.0
        The exponent p of norm and persistence, at least 1.
    offset : float, default=1.0
        The minimal weight τ >= 0 of an edge; also the persistence of a node in a graph without edges.
    cycles : bool, default=False
        Whether to compute cycle features.
    uniform : bool, default=False
        Whether every edge weighs 1.
    normalize : bool, default=False
        Scale features and Gram matrix so that every graph has similarity 1 with itself.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : int, default=0
        1 logs progress every few seconds.

    Attributes
    ----------
    rows_ : list of TreeRows
        The distinct trees of each depth.

    See Also
    --------
    relaxwl.WeisfeilerLehman : Counts of identical neighborhoods.

    Notes
    -----
    All nodes are present from the beginning, so two components that merge always have the same age, and the rule that
    the younger one ends does not decide. The authors' code breaks ties by node number, so that its features change when
    nodes are renumbered. Here ties are broken by label: labels are ordered by their content (that of the distinct
    trees), a component is represented by its node with the lowest label, and of two components the younger one is that
    whose representative has the higher label. Edges of equal weight are added in the order of their end labels. Edges
    that are still tied contribute the same in either order, so the features depend neither on the numbering of the
    nodes nor on the other graphs of the fit.

    References
    ----------
    Rieck, Bock & Borgwardt, A persistent Weisfeiler-Lehman procedure for graph classification, ICML 2019.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(4, [(0, 1), (1, 2), (2, 3), (1, 3)], list("CCNN"))])
    >>> kernel = PersistentWL(max_depth=0, cycles=True).fit(graphs)
    >>> kernel.get_feature_names_out().tolist()
    ['depth 0: C', 'depth 0: N', 'depth 0: cycles at C', 'depth 0: cycles at N']
    >>> kernel.transform(graphs).toarray()
    array([[3., 3., 2., 2.]])
    """

    max_depth: int = 5
    power: float = 1.0
    offset: float = 1.0
    cycles: bool = False
    uniform: bool = False
    normalize: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        if check_number("power", self.power, most=MAX_POWER) < 1:
            raise ValueError(f"power must be a number from 1 to {MAX_POWER:g}, not {self.power!r}")
        check_number("offset", self.offset, zero=True, most=MAX_OFFSET)
        check_flag("cycles", self.cycles)
        check_flag("uniform", self.uniform)

    def _fit_counts(self, graphs: GraphCollection) -> list[Counts]:
        self.node_vocabulary_ = graphs.node_vocabulary
        self.rows_: list[TreeRows] = []
        counts = []
        previous = np.empty(0, np.int32)
        for depth in range(self.max_depth + 1):
            rows, ids = self._refined(graphs, graphs.node_codes, previous, self.rows_)
            counts.append(self._depth_counts(graphs, rows, previous if depth else ids, ids, ids, len(rows)))
            self.rows_.append(rows)
            previous = ids
        return counts

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        """Compute edge weights from the labels of these graphs, and sum them in the columns of the fitted labels."""
        roots = node_codes_in(graphs, self.node_vocabulary_)
        counts = []
        own_rows: list[TreeRows] = []
        previous = fitted = np.empty(0, np.int32)
        for depth, known in enumerate(self.rows_):
            rows, ids = self._refined(graphs, graphs.node_codes, previous, own_rows)
            matched, local = self._refined(graphs, roots, fitted, self.rows_[:depth])
            fitted = known_or_new(known.locate(matched), len(known))[local]
            counts.append(self._depth_counts(graphs, rows, previous if depth else ids, ids, fitted, len(known)))
            own_rows.append(rows)
            previous = ids
        return counts

    def _refined(
        self, graphs: GraphCollection, roots: Int32, previous: Int32, rows_below: list[TreeRows]
    ) -> tuple[TreeRows, Int32]:
        depth = len(rows_below)
        report(self.verbose, "persistence: depth %d of %d", depth, self.max_depth, share=depth / (self.max_depth + 1))
        if not rows_below:
            return leaves(roots)
        return refine(graphs, roots, previous, len(rows_below[-1]), n_jobs=self.n_jobs)

    def _depth_counts(
        self, graphs: GraphCollection, rows: TreeRows, previous: Int32, ids: Int32, columns: Int32, n_known: int
    ) -> Counts:
        """Return the weight of each label of one depth: ``ids`` order the labels, ``columns`` are their columns."""
        persistence, cycles = np.zeros(graphs.n_nodes), np.zeros(graphs.n_nodes)
        task = partial(self._span_persistence, graphs, rows, previous, ids, persistence, cycles)
        map_chunks(task, graph_spans(graphs, CHUNK_NODES), self.n_jobs)
        blocks = [_sums(graphs, columns, persistence, n_known)]
        if self.cycles:
            blocks.append(_sums(graphs, columns, cycles, n_known))
        return join_counts(blocks, [1.0] * len(blocks))

    def _span_persistence(self, graphs, rows, previous, ids, persistence, cycles, span) -> None:  # type: ignore[no-untyped-def]
        """Write, for each node of a span of graphs, the persistence of the component that it represents, and cycles."""
        start, stop = int(graphs.offsets[span[0]]), int(graphs.offsets[span[1]])
        degrees = graphs.degrees[start:stop]
        sources = np.repeat(np.arange(start, stop, dtype=np.int32), degrees)
        targets = graphs.indices[graphs.indptr[start] : graphs.indptr[stop]]
        once = sources < targets
        sources, targets = sources[once], targets[once]
        if self.uniform:
            weights = np.ones(len(sources))
        else:
            adjacency = graphs.indptr, graphs.indices
            weights = _compiled.edge_weights(
                start, stop, adjacency, previous, ids, rows.arrays, float(self.power), float(self.offset)
            )
        low, high = np.minimum(ids[sources], ids[targets]), np.maximum(ids[sources], ids[targets])
        graph = np.searchsorted(graphs.offsets, sources, side="right") - 1
        order = np.lexsort((high, low, weights, graph))
        bounds = np.searchsorted(graph[order], np.arange(span[0], span[1] + 1))
        lone = 1.0 if self.uniform else float(self.offset)
        out = persistence, cycles
        for number, begin, end in zip(range(*span), bounds[:-1], bounds[1:], strict=True):
            first, last = int(graphs.offsets[number]), int(graphs.offsets[number + 1])
            _compiled.add_persistence(
                first, last, (sources, targets, weights), order[begin:end], ids, lone, float(self.power), out
            )

    def _check_loaded(self) -> None:
        check_unary(self, [len(rows) * (2 if self.cycles else 1) for rows in self.rows_])

    def _column_names(self) -> list[str]:
        names = []
        labels = label_names(self.node_vocabulary_)
        for depth, rows in enumerate(self.rows_):
            trees = [labels[int(root)] + (f" #{tree}" if depth else "") for tree, root in enumerate(rows.roots)]
            names += [f"depth {depth}: {tree}" for tree in trees]
            if self.cycles:
                names += [f"depth {depth}: cycles at {tree}" for tree in trees]
        return names


def _sums(graphs: GraphCollection, columns: Int32, values: Float64, n_known: int) -> Counts:
    """Sum up the nodes' values by graph and column; columns from ``n_known`` on only count in the graph's norm."""
    n_columns = max(n_known, int(columns.max(initial=-1)) + 1)
    sums = csr_array((values, (graphs.graph_of_node, columns)), shape=(graphs.n_graphs, n_columns))
    sums.sum_duplicates()
    sums.eliminate_zeros()
    unknown = sums[:, n_known:]
    return Counts(
        csr_array(sums[:, :n_known]), np.asarray(unknown.power(2).sum(axis=1)), np.asarray(unknown.sum(axis=1))
    )

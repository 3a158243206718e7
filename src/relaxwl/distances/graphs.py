"""Distances between graphs: the cheapest way to turn the nodes of one into those of the other, with their trees.

A graph becomes a row whose points are the distinct trees of its nodes. Distances between trees are computed once for
all graphs, level by level. Those of the last levels are computed for blocks of graphs if they would not fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl._memory import check_memory
from relaxwl._validation import GraphEstimator, check_flag, check_integer
from relaxwl.costs import EditCost
from relaxwl.costs.codebook import attribute_rows
from relaxwl.costs.edit_cost import checked_cost
from relaxwl.distances import _compiled
from relaxwl.distances.batch import checked_pairs, nearest_rows
from relaxwl.distances.pairwise import (
    Discount,
    DistinctTrees,
    blank_distances,
    level_bytes,
    level_distances,
    occurring,
    paired_distances,
    row_distances,
    run_tasks,
    single_tasks,
    whole_dtype,
)
from relaxwl.distances.transport import GroundCost
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64, mirror, prefix_sums
from relaxwl.inputs import as_collection
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.encoding import attributes_of

# Number of bytes up to which the distances between all distinct trees of a depth are kept.
FULL_BYTES = 1 << 30
# Number of distinct attribute vectors whose distances are exact, and of those by which more are represented.
MAX_VECTORS, N_CODES = 4096, 1024
# Number of trees up to which distances are converted to floats, to have fewer compiled versions.
SMALL_GROUND = 2048
# Number of pairs of graphs per task; large graphs take milliseconds.
CHUNK_GRAPHS = 256

GraphCost = EditCost | Literal["euclidean"] | None


def graph_distances(  # noqa: PLR0913 - the costs, and which distances
    graphs: Any,
    Y: Any = None,
    *,
    depth: int = 3,
    cost: GraphCost = None,
    discount: Discount = 1.0,
    normalize: bool = False,
    edge_labels: bool = False,
    pairs: ArrayLike | None = None,
    return_plans: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Return the exact distances between graphs: the cost of turning the nodes of one into those of the other.

    The cost of turning a node into another is the tree edit distance of their unfolding trees. Each node is turned into
    one other node, and those that are left over in the larger graph are inserted or deleted with their trees.

    Parameters
    ----------
    graphs : GraphCollection, or anything that :func:`relaxwl.as_collection` takes
        The graphs.
    Y : as ``graphs``, optional
        Other graphs; by default ``graphs``, and each pair is computed once.
    depth : int, default=3
        Depth of the trees.
    cost : EditCost or "euclidean", optional
        Edit costs of nodes. With ``"euclidean"`` they are distances of vectors, those of attributes and labels (a label
        is a unit vector), and the cost of inserting or deleting a node is the length of its vector. By default
        ``"euclidean"`` if nodes have attributes and no labels, else costs of 1.
    discount : float or sequence of ``depth`` floats, default=1.0
        Factor > 0 of the cost of everything below the children of a node, once more at each level; or a factor for each
        level, that of the children of the root first.
    normalize : bool, default=False
        Whether each graph has a total mass of 1, so that the shares of nodes are compared instead of their numbers.
    edge_labels : bool, default=False
        Whether edge labels are used.
    pairs : int array (n_pairs, 2), optional
        Pairs (graph, graph of Y) to compute; by default all.
    return_plans : bool, default=False
        Return which node is turned into which as well; needs ``pairs``.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    distances : float64 array (n_graphs, n_graphs of Y), or (n_pairs,) with ``pairs``
        A pseudo-metric: graphs that the Weisfeiler-Lehman test does not tell apart in ``depth`` steps have distance 0.
    plans : list of sparse arrays, only with ``return_plans``
        For each pair, the mass moved from each node of the first graph (row) to each of the second (column); the last
        row and column stand for inserting and deleting.

    See Also
    --------
    tree_distances : Distances between the trees.
    GraphDistance : The same as a step of a pipeline.

    Notes
    -----
    With ``EditCost(relabel=2**0.5)`` or ``"euclidean"`` this is the tree mover's distance [1]_. ``"euclidean"`` is
    exact up to 4,096 different attribute vectors; more are represented by 1,024 centers of k-means. The distances
    between all distinct trees of a depth are kept if they need at most 1 GiB, and else computed for blocks of graphs.

    References
    ----------
    .. [1] Chuang and Jegelka, Tree mover's distance: bridging graph metrics and stability of graph neural networks,
       NeurIPS 2022.

    Examples
    --------
    A path of three nodes, a path of four and a triangle:

    >>> graphs = GraphCollection.from_edges(
    ...     [(3, [(0, 1), (1, 2)]), (4, [(0, 1), (1, 2), (2, 3)]), (3, [(0, 1), (1, 2), (0, 2)])]
    ... )
    >>> graph_distances(graphs, depth=1)
    array([[0., 3., 2.],
           [3., 0., 3.],
           [2., 3., 0.]])
    >>> distances, plans = graph_distances(graphs, depth=1, pairs=[(0, 2)], return_plans=True)
    >>> float(plans[0].toarray()[:3, :3].sum())
    3.0
    """
    x, joined = _joined(graphs, Y, edge_labels)
    first = 0 if Y is None else len(x)  # the number of the first graph of Y among all
    options = GraphDistance(depth, cost, discount, normalize, edge_labels, n_jobs)
    if pairs is None:
        if return_plans:
            raise ValueError("return_plans needs pairs, because all plans fill the memory; list those needed")
        check_memory(8.0 * len(x) * (len(joined) - first), "the distances of all pairs", "list the pairs (pairs)")
        return _Graphs.of(joined, options).all_distances(len(x), first)
    listed = checked_pairs(pairs, len(x), len(joined) - first)
    listed[:, 1] += first
    used, places = np.unique(listed, return_inverse=True)
    places = places.reshape(-1, 2)
    measured = _Graphs.of(joined[used], options)
    return measured.plans(places, joined[used]) if return_plans else measured.listed_distances(places)


def _joined(graphs: Any, others: Any, edge_labels: bool) -> tuple[GraphCollection, GraphCollection]:
    """Return the graphs, and all graphs: these, followed by the others if there are any.

    Labels of edges that only one of the collections has are left out unless they are asked for.
    """
    x = as_collection(graphs)
    if others is None:
        return x, x
    y = others if isinstance(others, GraphCollection) else as_collection(others, directed=x.directed)
    if x.n_nodes and y.n_nodes and x.is_labeled != y.is_labeled:
        raise ValueError("both collections of graphs must have node labels, or neither")
    if not edge_labels and (x.edge_codes is None) != (y.edge_codes is None):
        x, y = (part.with_parts(edge_codes=None, edge_vocabulary=None) for part in (x, y))
    return x, GraphCollection.concatenate([x, y])


@dataclass(frozen=True, eq=False)
class _Graphs:
    """Graphs as rows over the distinct trees of their nodes, and the distances of as many levels of trees as fit.

    Attributes
    ----------
    trees : DistinctTrees
        The trees.
    rows : TreeRows
        The graphs: masses of trees.
    n_full : int
        Number of levels whose distances are known.
    below : array
        The distances between all trees of the last of these levels, ⊥ last.
    """

    trees: DistinctTrees
    rows: TreeRows
    n_full: int
    below: NDArray[Any]
    n_jobs: int | None

    @classmethod
    def of(cls, graphs: GraphCollection, options: "GraphDistance") -> "_Graphs":
        """Find the trees of graphs and compute the distances between those of the first levels."""
        cost, n_jobs = options.cost, options.n_jobs
        if cost is None and graphs.node_attributes is not None and not graphs.is_labeled:
            cost = "euclidean"
        roots = None
        if cost == "euclidean":
            cost = EditCost(relabel=2**0.5)
            roots = None if graphs.node_attributes is None else _vector_costs(graphs)
        elif isinstance(cost, str):
            raise ValueError(f"cost must be an EditCost, 'euclidean' or None, not {cost!r}")
        discount, edge_labels = options.discount, check_flag("edge_labels", options.edge_labels)
        trees = DistinctTrees.of(graphs, options.depth, checked_cost(cost), edge_labels, discount, n_jobs, roots)
        n_trees = len(trees.levels[-1])
        owners = np.repeat(np.arange(len(graphs)), graphs.node_counts)
        found, counts = np.unique(owners * n_trees + trees.ids, return_counts=True)
        owners = found // max(n_trees, 1)
        masses = counts / (graphs.node_counts[owners] if check_flag("normalize", options.normalize) else 1.0)
        indptr = prefix_sums(np.bincount(owners, minlength=len(graphs)))
        points = (found % max(n_trees, 1)).astype(np.int32)
        rows = TreeRows(np.zeros(len(graphs), np.int32), indptr, points, masses, n_trees)
        n_full, below = 0, np.zeros((1, 1))
        for size in level_bytes(trees.levels, trees.node_costs, trees.edge_costs, trees.discounts):
            if size > FULL_BYTES:
                break
            below = level_distances(trees.levels[n_full], trees.ground(n_full, below), n_jobs, watched=True)
            n_full += 1
        if n_full == len(trees.levels) and len(below) <= SMALL_GROUND:
            below = below.astype(np.float64)
        return cls(trees, rows, n_full, below, n_jobs)

    @property
    def is_full(self) -> bool:
        """Whether the distances between all trees are known."""
        return self.n_full == len(self.trees.levels)

    def all_distances(self, n_rows: int, first: int) -> Float64:
        """Return the distances of the first ``n_rows`` graphs to those from ``first`` on, which are others or all."""
        rows, others = np.arange(n_rows), np.arange(first, len(self.rows))
        out: Float64 = np.zeros((len(rows), len(others)))
        for a, b, ground, measures in self._blocks(rows, others):
            x, y = measures.take(rows), measures.take(others)
            same = first == 0 and np.array_equal(a, b)
            costs = GroundCost(ground, np.zeros((1, 1)))
            run_tasks(single_tasks(x, a, y, b - first, costs, out, same, CHUNK_GRAPHS), self.n_jobs, watched=True)
        if first == 0:
            mirror(out.T)
        return out

    def listed_distances(self, pairs: Int64) -> Float64:
        """Return the distances of pairs of graphs."""
        out = np.zeros(len(pairs))
        everything = np.arange(len(self.rows))
        for a, b, ground, measures in self._blocks(everything, everything):
            # Pairs of different blocks come in both orders; the ground is that from the first to the second block.
            for flipped in (False, True) if not np.array_equal(a, b) else (False,):
                ordered = pairs[:, ::-1] if flipped else pairs
                here = np.flatnonzero(np.isin(ordered[:, 0], a) & np.isin(ordered[:, 1], b))
                costs = GroundCost(ground, np.zeros((1, 1)))
                out[here] = paired_distances(measures, measures, ordered[here], costs, self.n_jobs, watched=True)
        return out

    def plans(self, pairs: Int64, graphs: GraphCollection) -> tuple[Float64, list[scipy.sparse.csr_array]]:
        """Return distances and plans between the nodes of pairs of graphs."""
        distances, plans = np.zeros(len(pairs)), []
        for place, (i, j) in enumerate(pairs.tolist()):
            spans = [slice(int(graphs.offsets[graph]), int(graphs.offsets[graph + 1])) for graph in (i, j)]
            left, right = (self.trees.ids[span] for span in spans)
            used, numbers = np.unique(np.concatenate([left, right]), return_inverse=True)
            ground, wanted = self._ground(used, used)
            # Every node is a point of its own.
            points = np.searchsorted(wanted, used)[numbers]
            points = np.append(points, len(ground) - 1)
            n, m = len(left), len(right)
            masses = np.repeat(self.rows.masses[[i, j]] / np.maximum([n, m], 1), [n, m])
            numbers = np.arange(n + m, dtype=np.int32)
            distances[place], sources, sinks, amounts = _compiled.pair_plan(
                numbers[:n], masses[:n], numbers[n:], masses[n:], ground[np.ix_(points, points)].astype(np.float64)
            )
            cells = np.where(sources == n + m, n, sources), sinks - n
            plans.append(scipy.sparse.coo_array((amounts, cells), shape=(n + 1, m + 1)).tocsr())
        return distances, plans

    def _blocks(self, rows: Int64, others: Int64) -> Iterator[tuple[Int64, Int64, NDArray[Any], TreeRows]]:
        """Yield pairs of blocks of graphs, the distances between their trees, and all graphs over these trees.

        If both lists are the same, the second block is never after the first.
        """
        if self.is_full:
            yield rows, others, self.below, self.rows
            return
        first_blocks, blocks = self._cut(rows), self._cut(others)
        for number, a in enumerate(first_blocks):
            for b in blocks[: number + 1] if np.array_equal(rows, others) else blocks:
                ground, wanted = self._ground(*(np.unique(self.rows.take(block).points) for block in (a, b)))
                places = np.zeros(self.rows.n_children, np.int32)
                places[wanted] = np.arange(len(wanted))
                yield a, b, ground, replace(self.rows, points=places[self.rows.points], n_children=len(wanted))

    def _cut(self, graphs: Int64) -> list[Int64]:
        """Cut a list of graphs into blocks such that the distances between the trees of two blocks fit."""
        most = int((FULL_BYTES / 8) ** 0.5) // 2
        starts, seen = [0], set[int]()
        for place, graph in enumerate(graphs.tolist()):
            own = self.rows.row(graph)[1].tolist()
            if len(seen.union(own)) > most and seen:
                starts.append(place)
                seen = set()
            seen.update(own)
        return np.split(graphs, starts[1:])

    def _ground(self, a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the distances from trees to others, ⊥ last, and the trees that they are numbered by."""
        if self.is_full:
            return self.below, np.arange(self.rows.n_children)
        wanted = np.union1d(a, b)
        levels, lower = occurring(self.trees.levels[self.n_full :], wanted)
        lower = np.append(lower, len(self.below) - 1)
        distances = self.below[np.ix_(lower, lower)]
        for place, level in enumerate(levels[:-1]):
            distances = level_distances(level, self.trees.ground(self.n_full + place, distances), self.n_jobs)
        costs = self.trees.ground(len(self.trees.levels) - 1, distances)
        if len(a) == len(b) == len(wanted):
            return level_distances(levels[-1], costs, self.n_jobs), wanted
        # Only the distances that are read are computed: from the first trees to the second ones, and to ⊥.
        rows, columns = np.searchsorted(wanted, a), np.searchsorted(wanted, b)
        between = row_distances(levels[-1].take(rows), levels[-1].take(columns), costs, self.n_jobs)
        blank = blank_distances(levels[-1], costs)
        dtype = between.dtype
        if dtype.kind == "u":
            dtype = np.result_type(dtype, whole_dtype(float(blank.max(initial=0))))
        ground = np.zeros((len(wanted) + 1, len(wanted) + 1), dtype)
        ground[np.ix_(rows, columns)] = between
        ground[:-1, -1] = ground[-1, :-1] = blank
        return ground, wanted


def _vector_costs(graphs: GraphCollection) -> tuple[Int32, Float64]:
    """Return a code for each node, and the Euclidean distances between codes, with their lengths last.

    The vector of a node consists of its attributes and of the unit vector of its label.
    """
    values = attribute_rows(attributes_of(graphs))
    if len(np.unique(values, axis=0)) > MAX_VECTORS:
        book = EditCost.from_attributes(n_codes=N_CODES, scale=None).codebook(values, random_state=0)
        values = book.centers[book.codes_of(values)]
    labels = graphs.node_codes if graphs.is_labeled else np.zeros(graphs.n_nodes, np.int32)
    vectors, codes = np.unique(np.column_stack([labels, values]), axis=0, return_inverse=True)
    n = len(vectors)
    check_memory(24.0 * n**2, f"the distances between {n} different vectors with labels", "use fewer graphs")
    costs = np.zeros((n + 1, n + 1))
    costs[:n, :n] = cdist(vectors[:, 1:], vectors[:, 1:], "sqeuclidean") + 2.0 * (vectors[:, :1] != vectors[:, 0])
    costs[-1, :n] = costs[:n, -1] = (vectors[:, 1:] ** 2).sum(axis=1) + float(graphs.is_labeled)
    return codes.reshape(-1).astype(np.int32), np.sqrt(costs)


class GraphDistance(TransformerMixin, GraphEstimator):
    """Transformer that computes distances between graphs, for estimators with ``metric="precomputed"``.

    Parameters
    ----------
    depth : int, default=3
        Depth of the trees.
    cost : EditCost or "euclidean", optional
        Edit costs of nodes, as in :func:`graph_distances`.
    discount : float or sequence of ``depth`` floats, default=1.0
        Factor of the cost of deeper levels.
    normalize : bool, default=False
        Whether each graph has a total mass of 1.
    edge_labels : bool, default=False
        Whether edge labels are used.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Attributes
    ----------
    graphs_ : GraphCollection
        The fitted graphs, to which distances are computed.

    See Also
    --------
    graph_distances : The distances without a pipeline, and their definition.
    KernelDistance : Distances in the feature space of a kernel.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> graphs = GraphCollection.from_edges(
    ...     [(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)]), (4, [(0, 1), (1, 2), (2, 3)])]
    ... )
    >>> GraphDistance(depth=2).fit(graphs).transform(graphs[:2])
    array([[0., 8., 7.],
           [8., 0., 9.]])
    >>> model = make_pipeline(GraphDistance(), KNeighborsClassifier(1, metric="precomputed"))
    >>> model.fit(graphs, ["path", "ring", "path"]).predict(graphs)
    array(['path', 'ring', 'path'], dtype='<U4')
    """

    def __init__(
        self,
        depth: int = 3,
        cost: GraphCost = None,
        discount: Discount = 1.0,
        normalize: bool = False,
        edge_labels: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.depth = depth
        self.cost = cost
        self.discount = discount
        self.normalize = normalize
        self.edge_labels = edge_labels
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self.graphs_: GraphCollection = as_collection(X)
        return self

    def transform(self, X: Any) -> Float64:
        """Return the distances between graphs and the fitted graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        float64 array (n_graphs, n_fitted)
            The distances.
        """
        check_is_fitted(self)
        distances: Float64 = graph_distances(self._graphs(X), self.graphs_, **self.get_params())
        return distances

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Float64:
        """Keep the graphs and return the distances between them, each pair computed once.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : ignored
            Not used; present for API consistency.
        **fit_params : ignored
            Not used; present for API consistency.

        Returns
        -------
        float64 array (n_graphs, n_graphs)
            The distances.
        """
        distances: Float64 = graph_distances(self.fit(X).graphs_, **self.get_params())
        return distances

    def kneighbors(self, X: Any, n_neighbors: int = 5) -> tuple[Float64, Int64]:
        """Return the nearest fitted graphs of each graph, exactly, without computing all distances.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        n_neighbors : int, default=5
            Number of neighbors, at most the number of fitted graphs.

        Returns
        -------
        distances : float64 array (n_graphs, n_neighbors)
            The distances, ascending.
        indices : int64 array (n_graphs, n_neighbors)
            The neighbors; of equally near ones, the first.
        """
        check_is_fitted(self)
        n_neighbors = check_integer("n_neighbors", n_neighbors, least=1, most=len(self.graphs_))
        x, joined = _joined(self._graphs(X), self.graphs_, self.edge_labels)
        measured = _Graphs.of(joined, self)
        if measured.is_full:
            own, others = measured.rows.take(np.arange(len(x))), measured.rows.take(np.arange(len(x), len(joined)))
            return nearest_rows(own, others, measured.below, n_neighbors, self.n_jobs)
        distances = measured.all_distances(len(x), len(x))
        order = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
        return np.take_along_axis(distances, order, axis=1), order

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each fitted graph: ``graph0``, ``graph1``, ...

        Parameters
        ----------
        input_features : ignored
            Not used; present for API consistency.

        Returns
        -------
        array (n_fitted,) of str
            The names.
        """
        check_is_fitted(self)
        return np.array([f"graph{place}" for place in range(len(self.graphs_))], dtype=object)

    def _graphs(self, X: Any) -> GraphCollection:
        """Return graphs, which are directed as in the fit if their format does not determine it."""
        return X if isinstance(X, GraphCollection) else as_collection(X, directed=self.graphs_.directed)

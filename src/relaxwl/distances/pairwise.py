"""Exact distances between all unfolding trees of nodes, bottom-up over distinct trees, and between whole sets of rows.

Trees and centers are both :class:`relaxwl.unfolding.TreeRows`, with whole counts or real masses. Pairs of rows
with few units of mass are matched unit by unit, hundreds of pairs at a time (about a nanosecond each); all others are
solved one by one (about a microsecond each).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from relaxwl._execution import map_chunks, spans
from relaxwl._memory import check_memory
from relaxwl._progress import ProgressBar, is_watched
from relaxwl._validation import check_integer, check_number
from relaxwl.costs import EditCost
from relaxwl.costs.codebook import UniformCosts, check_finite
from relaxwl.costs.edit_cost import checked_cost
from relaxwl.distances import _compiled
from relaxwl.distances.transport import GroundCost, is_whole
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64, expand_spans, mirror
from relaxwl.inputs import as_collection
from relaxwl.unfolding import TreeRows, leaves, refine
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding

# Maximum number of units of a row that is matched by units, which takes 2**units steps.
MAX_UNITS = 9
# Number of pairs per chunk of the one-by-one solver: some ten milliseconds of work.
CHUNK_PAIRS = 1 << 14
# The same for lists of pairs; k-means needs a few thousand pairs at a time.
CHUNK_LISTED = 1 << 10
# Number of seconds after which progress is shown to whoever watches.
PATIENCE = 3.0

Task = Callable[[], None]
Discount = float | Sequence[float]


def tree_distances(
    graphs: Any,
    depth: int,
    nodes: ArrayLike | None = None,
    cost: EditCost | None = None,
    n_jobs: int | None = None,
    *,
    edge_labels: bool = False,
    discount: Discount = 1.0,
) -> Any:
    """Return the exact tree edit distances between unfolding trees of nodes.

    With ``nodes`` only the subtrees of these nodes are compared, which is fast for a few nodes of a large collection.

    Parameters
    ----------
    graphs : GraphCollection, or anything that :func:`relaxwl.as_collection` takes
        The graphs.
    depth : int
        Depth of the trees; depth 0 is the node alone.
    nodes : int array (n, 2), optional
        Pairs (index of the graph, index of the node in the graph). By default the distinct trees of all nodes are
        compared.
    cost : EditCost, optional
        Edit costs; by default all are 1.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    edge_labels : bool, default=False
        Whether edge labels are used.
    discount : float or sequence of ``depth`` floats, default=1.0
        Factor > 0 of the cost of everything below the children of a node, once more at each level; or a factor for each
        level, that of the children of the root first.

    Returns
    -------
    distances : float64 array (n, n), or array (n_trees, n_trees) without ``nodes``
        Symmetric. Integers if all costs are integers, exact up to 2**53. Distances between all distinct trees then have
        the smallest sufficient unsigned type (convert it before subtracting), otherwise float64.
    ids : int32 array (n_nodes,), only without ``nodes``
        The tree of each node, all graphs' nodes in order.

    See Also
    --------
    tree_edit_distance : The distance between two trees.

    Examples
    --------
    The end, the middle and the other end of a path of three nodes; and all distinct trees of a longer path:

    >>> path = GraphCollection.from_edges([(3, [(0, 1), (1, 2)])])
    >>> tree_distances(path, 2, [(0, 0), (0, 1), (0, 2)])
    array([[0., 3., 0.],
           [3., 0., 3.],
           [0., 3., 0.]])
    >>> distances, ids = tree_distances(GraphCollection.from_edges([(4, [(0, 1), (1, 2), (2, 3)])]), 2)
    >>> distances
    array([[0, 2],
           [2, 0]], dtype=uint8)
    >>> ids
    array([0, 1, 1, 0], dtype=int32)
    """
    collection = as_collection(graphs)
    trees = DistinctTrees.of(collection, depth, checked_cost(cost), edge_labels, discount, n_jobs)
    positions = np.empty(0, np.int64)
    if nodes is not None:
        wanted, positions = np.unique(trees.ids[_node_numbers(collection, nodes)], return_inverse=True)
        trees = replace(trees, levels=occurring(trees.levels, wanted)[0])
    sizes = [0.0, *level_bytes(trees.levels, trees.node_costs, trees.edge_costs, trees.discounts)]
    check_memory(
        max(before + after for before, after in pairwise(sizes)) + 8.0 * len(positions) ** 2,
        "the distances",
        "ask tree_distances for fewer nodes, choose a smaller depth, or cluster the trees on the way with "
        "RelaxedWeisfeilerLehman(approximate=True)",
    )
    distances: NDArray[Any] = np.zeros((1, 1), np.uint8)
    for level in range(len(trees.levels)):
        distances = level_distances(trees.levels[level], trees.ground(level, distances), n_jobs, watched=True)
    if nodes is None:
        return distances[:-1, :-1], trees.ids
    return distances[np.ix_(positions, positions)].astype(np.float64)


@dataclass(frozen=True, eq=False)
class DistinctTrees:
    """The distinct trees of all depths in some graphs, with the costs of edits.

    Attributes
    ----------
    levels : list of TreeRows
        The trees of depth 0, 1, ...
    ids : int32 array (n_nodes,)
        The tree of the largest depth of each node.
    node_costs, edge_costs : arrays or UniformCosts
        Costs between root codes and between edge codes, ⊥ last; no edge costs if edges are not used.
    discounts : list of float
        Factor of the distances below the root of a tree of depth 1, 2, ...
    """

    levels: list[TreeRows]
    ids: NDArray[np.int32]
    node_costs: Float64 | UniformCosts
    edge_costs: Float64 | None
    discounts: list[float]

    @classmethod
    def of(
        cls,
        graphs: GraphCollection,
        depth: int,
        cost: EditCost,
        edge_labels: bool,
        discount: Discount,
        n_jobs: int | None,
        roots: tuple[NDArray[np.int32], Float64] | None = None,
    ) -> "DistinctTrees":
        """Find the trees; codes of the roots and costs between them may be given instead of their edit costs."""
        depth = check_integer("depth", depth)
        discounts = checked_discounts(discount, depth)[::-1]
        graphs = graphs.seen("both", edge_labels=edge_labels)
        edge_labels = edge_labels or graphs.directed  # the direction of an arc is the label of its entry now
        codes, node_costs = RootEncoding.fit(graphs, cost).encode(graphs) if roots is None else roots
        edges = EdgeEncoding.fit(graphs, cost, edge_labels)
        edge_codes, edge_costs = edges.encode(graphs, node_costs)
        level, ids = leaves(codes)
        levels = [level]
        for _ in range(depth):
            level, ids = refine(
                graphs, codes, ids, len(level), edge_codes=edge_codes, n_edge_codes=edges.n_codes, n_jobs=n_jobs
            )
            levels.append(level)
        return cls(levels, ids, node_costs, edge_costs, discounts)

    def ground(self, level: int, children: NDArray[Any]) -> GroundCost:
        """Return the ground of the trees of a level from the distances between those below, ⊥ last."""
        factor = self.discounts[level - 1] if level else 1.0
        if factor == 1.0:
            return GroundCost(children, self.node_costs, self.edge_costs)
        edges = None if self.edge_costs is None else factor * self.edge_costs
        return GroundCost(factor * children.astype(np.float64), self.node_costs, edges)


def checked_discounts(discount: Discount, depth: int) -> list[float]:
    """Return the factor of each level below the root, as many as the depth.

    >>> checked_discounts(0.5, 2), checked_discounts([1, 2], 2)
    ([0.5, 0.5], [1.0, 2.0])
    """
    factors = [discount] * depth if np.ndim(discount) == 0 else list(np.asarray(discount).tolist())
    if len(factors) != depth:
        raise ValueError(f"discount must be a number, or one for each of {depth} levels below the root, not {discount}")
    return [check_number("discount", factor) for factor in factors]


def occurring(levels: list[TreeRows], wanted: NDArray[Any]) -> tuple[list[TreeRows], NDArray[Any]]:
    """Keep only the wanted trees of the last depth, and the trees of other depths that occur below them.

    Also return the trees that occur below those of the first depth, which are renumbered in this order.
    """
    kept: list[TreeRows] = []
    for level in reversed(levels):
        rows = level.take(wanted)
        edges, children = np.divmod(rows.points, max(1, rows.n_children))
        wanted, renamed = np.unique(children, return_inverse=True)
        points = (edges * len(wanted) + renamed).astype(np.int32)
        kept.append(replace(rows, points=points, n_children=len(wanted)))
    return kept[::-1], wanted


def level_bytes(
    rows: list[TreeRows],
    node_costs: Float64 | UniformCosts,
    edge_costs: Float64 | None,
    discounts: Sequence[float] | None = None,
) -> list[float]:
    """Return the memory in bytes of the distances between the distinct trees of each depth, before any is computed.

    The cost of deleting a tree bounds its distances, and so determines their type. ``discounts`` are the factors of the
    costs below the roots at depth 1, 2, ..., by default 1.
    """
    factors = np.ones(len(rows)) if discounts is None else np.array([1.0, *discounts])
    whole = is_whole(node_costs) and (edge_costs is None or is_whole(edge_costs)) and is_whole(factors)
    edge_blank = 0.0 if edge_costs is None else float(edge_costs[:-1, -1].max(initial=0))
    largest_edge = 0.0 if edge_costs is None else float(edge_costs.max(initial=0))
    sizes = []
    blank = np.zeros(1)
    for depth, level in enumerate(rows):
        with np.errstate(over="ignore"):
            deletion = factors[depth] * (blank[level.points % max(1, level.n_children)] + edge_blank)
            blank = node_costs[level.roots, -1] + level.sums(level.counts * deletion)
        largest = 2 * float(blank.max(initial=0)) + float(factors[depth]) * largest_edge
        check_finite(largest, depth)
        item = whole_dtype(largest).itemsize if whole else 8
        sizes.append(float(item) * (len(level) + 1) ** 2)
    return sizes


def _node_numbers(graphs: GraphCollection, nodes: ArrayLike) -> Int64:
    """Return the given (graph, node) pairs as node numbers in the whole collection."""
    pairs = np.asarray(nodes)
    if pairs.size == 0:
        return np.empty(0, np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"nodes must be whole numbers of shape (n, 2), pairs of graph and node index, "
            f"not of shape {pairs.shape} and dtype {pairs.dtype}"
        )
    graph, node = pairs.astype(np.int64).T
    known = (graph >= 0) & (graph < graphs.n_graphs)
    size = np.append(graphs.node_counts, 0)[np.where(known, graph, graphs.n_graphs)]
    wrong = np.flatnonzero((node < 0) | (node >= size))
    if len(wrong):
        row = int(wrong[0])
        there = f"graph {graph[row]} has {size[row]} nodes" if known[row] else f"there are {graphs.n_graphs} graphs"
        raise ValueError(f"nodes[{row}] = ({graph[row]}, {node[row]}) does not exist: {there}, counted from 0")
    return np.asarray(graphs.offsets[graph] + node, np.int64)


def row_distances(
    rows_a: TreeRows, rows_b: TreeRows, ground: GroundCost, n_jobs: int | None = None, watched: bool = False
) -> NDArray[Any]:
    """Return the exact distances of all rows of one set to all rows of another.

    Parameters
    ----------
    rows_a, rows_b : TreeRows
        Trees or centers over the same points.
    ground : GroundCost
        Pseudo-metrics over their points and roots. They are not checked here.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    watched : bool, default=False
        Whether progress is shown after a few seconds.

    Returns
    -------
    distances : array (n rows of a, n rows of b)
        Of the smallest type that holds them: unsigned integers if all costs and masses are whole, else float64. It may
        be a transposed view.
    """
    (rows_a, rows_b), ground = _listed_roots((rows_a, rows_b), ground)
    if len(rows_a) > len(rows_b):
        return row_distances(rows_b, rows_a, replace(ground, roots=np.asarray(ground.roots).T), n_jobs, watched).T
    masses = max(float(rows.masses.max(initial=0)) for rows in (rows_a, rows_b))
    whole = rows_a.counts.dtype.kind in "iu" and rows_b.counts.dtype.kind in "iu"
    dtype = distance_dtype(ground, masses) if whole else np.dtype(np.float64)
    out = np.empty((len(rows_a), len(rows_b)), dtype)
    ground = ground.in_type(dtype)
    few_a, many_a = _split_by_units(rows_a)
    few_b, many_b = _split_by_units(rows_b)
    tasks = _unit_tasks(rows_a, few_a, rows_b, few_b, ground, out)
    tasks += single_tasks(rows_a, many_a, rows_b, np.arange(len(rows_b)), ground, out)
    tasks += single_tasks(rows_a, few_a, rows_b, many_b, ground, out)
    run_tasks(tasks, n_jobs, watched)
    return out


def level_distances(
    rows: TreeRows, ground: GroundCost, n_jobs: int | None = None, watched: bool = False
) -> NDArray[Any]:
    """Return the distances between all rows of one set, and of each to the empty tree: the next ground.

    Parameters
    ----------
    rows : TreeRows
        Distinct trees of one depth.
    ground : GroundCost
        Distances between the trees of the depth below, and edit costs between root codes, the blank last in both.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    watched : bool, default=False
        Whether progress is shown after a few seconds.

    Returns
    -------
    distances : array (n_rows + 1, n_rows + 1)
        Symmetric, ⊥ last, of the smallest type that holds it (see :func:`row_distances`).

    Examples
    --------
    The trees 2(1,3), 3(1) and 1(1,2,3), all costs 1; labels have the codes 0, 1, 2.

    >>> roots, points = np.array([1, 2, 0], np.int32), np.array([0, 2, 0, 0, 1, 2], np.int32)
    >>> rows = TreeRows(roots, np.array([0, 2, 3, 6]), points, np.ones(6, np.int32), 3)
    >>> costs = 1.0 - np.eye(4)
    >>> level_distances(rows, GroundCost(costs, costs))
    array([[0, 2, 2, 3],
           [2, 0, 3, 2],
           [2, 3, 0, 4],
           [3, 2, 4, 0]], dtype=uint8)
    """
    to_blank = blank_distances(rows, ground)
    (rows,), ground = _listed_roots((rows,), ground)
    mass = float(rows.masses.max(initial=0))
    # Matching two units costs no more than deleting both, so no matching costs more than deleting both rows.
    dtype = distance_dtype(ground, mass, 2 * float(to_blank.max(initial=0)))
    out = np.empty((len(rows) + 1, len(rows) + 1), dtype)
    ground = ground.in_type(dtype)
    fill_symmetric(rows, ground, out[:-1, :-1], n_jobs, watched)
    out[-1, -1] = 0
    out[:-1, -1] = out[-1, :-1] = to_blank
    return out


def fill_symmetric(
    rows: TreeRows, ground: GroundCost, out: NDArray[Any], n_jobs: int | None = None, watched: bool = False
) -> None:
    """Write the distances between all rows of one set into a square array, each pair computed once."""
    few, many = _split_by_units(rows)
    tasks = _unit_tasks(rows, few, rows, few, ground, out)
    tasks += single_tasks(rows, many, rows, few, ground, out)
    tasks += single_tasks(rows, many, rows, many, ground, out, triangle=True)
    run_tasks(tasks, n_jobs, watched)
    out[np.ix_(few, many)] = out[np.ix_(many, few)].T
    # The last digit of sums of real costs depends on the order of terms, so only one triangle is used.
    mirror(out.T)
    np.fill_diagonal(out, 0)


def run_tasks(tasks: Sequence[Task], n_jobs: int | None, watched: bool) -> None:
    """Run tasks on threads; ``watched`` shows the progress in terminals if that takes more than a few seconds."""
    options: dict[str, Any] = {
        "verbose": int(watched and is_watched()),
        "every": PATIENCE,
        "leave": False,
        "delay": PATIENCE,
    }
    with ProgressBar("distances", len(tasks), **options) as progress:

        def run(task: Task) -> None:
            task()
            progress.add(1, "distances")

        map_chunks(run, tasks, n_jobs)


def paired_distances(
    rows_a: TreeRows,
    rows_b: TreeRows,
    pairs: NDArray[np.integer],
    ground: GroundCost,
    n_jobs: int | None = None,
    watched: bool = False,
) -> Float64:
    """Return the exact distance of each pair (row of a, row of b): `pairs` is (n, 2), the result float64 (n,)."""
    pairs = np.ascontiguousarray(pairs, np.int64)
    out = np.empty(len(pairs))
    work = partial(_compiled.paired_distances, rows_a.arrays, rows_b.arrays)
    tasks = [
        partial(work, pairs[start:stop], ground.costs, ground.root_costs, out[start:stop])
        for start, stop in spans(len(pairs), CHUNK_LISTED)
    ]
    run_tasks(tasks, n_jobs, watched)
    return out


def distance_dtype(ground: GroundCost, mass: float, limit: float = np.inf) -> np.dtype[Any]:
    """Return the smallest type for distances of rows of at most this mass, and for all intermediate sums.

    Matching by units also computes the cost of matchings that are not optimal. ``limit`` is an upper bound of these, if
    one is known.
    """
    if not ground.is_whole:
        return np.dtype(np.float64)
    return whole_dtype(min(float(ground.roots.max(initial=0)) + mass * ground.largest, limit))


def whole_dtype(largest: float) -> np.dtype[Any]:
    """Return the smallest unsigned type up to 32 bits that holds the whole number, else float64.

    >>> whole_dtype(255), whole_dtype(256), whole_dtype(1e10)
    (dtype('uint8'), dtype('uint16'), dtype('float64'))
    """
    for candidate in (np.uint8, np.uint16, np.uint32):
        if largest <= np.iinfo(candidate).max:
            return np.dtype(candidate)
    return np.dtype(np.float64)


def blank_distances(rows: TreeRows, ground: GroundCost) -> Float64:
    """Return the cost of deleting each row: its root, and all its children."""
    deletions = rows.counts * ground.to_blank[rows.points]
    return np.asarray(ground.roots[rows.roots, -1] + rows.sums(deletions))


def _listed_roots(sets: tuple[TreeRows, ...], ground: GroundCost) -> tuple[tuple[TreeRows, ...], GroundCost]:
    """Return rows and a ground with a matrix of root costs; uniform costs are written out for the codes in use."""
    if not isinstance(ground.roots, UniformCosts):
        return sets, ground
    used = np.unique(np.concatenate([rows.roots for rows in sets]))
    sets = tuple(replace(rows, roots=np.searchsorted(used, rows.roots).astype(np.int32)) for rows in sets)
    return sets, replace(ground, roots=np.asarray(replace(ground.roots, n_labels=len(used))))


def _split_by_units(rows: TreeRows) -> tuple[Int64, Int64]:
    """Return the rows with at most MAX_UNITS units of mass, sorted by number of units, and all others."""
    masses = rows.masses
    if rows.counts.dtype.kind not in "iu":
        return np.empty(0, np.int64), np.arange(len(masses))
    few = np.flatnonzero(masses <= MAX_UNITS)
    return few[np.argsort(masses[few], kind="stable")], np.flatnonzero(masses > MAX_UNITS)


def single_tasks(
    rows_a: TreeRows,
    list_a: Int64,
    rows_b: TreeRows,
    list_b: Int64,
    ground: GroundCost,
    out: NDArray[Any],
    triangle: bool = False,
    chunk: int = CHUNK_PAIRS,
) -> list[Task]:
    """Split the listed pairs (with ``triangle``, each row with rows before it) into tasks of the one-by-one solver."""

    def fill(start: int, stop: int) -> None:
        """Write the distances of some rows of a."""
        sizes = np.arange(start, stop) if triangle else np.full(stop - start, len(list_b))
        a, b = np.repeat(list_a[start:stop], sizes), list_b[expand_spans(np.zeros_like(sizes), sizes)]
        out[a, b] = paired_distances(rows_a, rows_b, np.column_stack([a, b]), ground)

    n_rows = len(list_a) if len(list_b) else 0
    return [partial(fill, start, stop) for start, stop in spans(n_rows, max(1, chunk // max(len(list_b), 1)))]


def _unit_tasks(
    rows_a: TreeRows, few_a: Int64, rows_b: TreeRows, few_b: Int64, ground: GroundCost, out: NDArray[Any]
) -> list[Task]:
    """Split the pairs of rows with few units into tasks, each with one block of rows of b and all rows of a."""
    if not (len(few_a) and len(few_b)):
        return []
    width = int(max(rows_a.masses[few_a].max(), rows_b.masses[few_b].max(), 1))
    units_a = _sorted_units(rows_a, few_a, width, ground.n_points)
    units_b, degrees_b = _units(rows_b, few_b, width, ground.n_points)
    root_costs = np.asarray(ground.roots)

    def fill(start: int, stop: int) -> None:
        """Write the distances of all rows of a to one block of rows of b."""
        padded = np.full((width, _compiled.LANES), ground.n_points, np.uint32)
        padded[:, : stop - start] = units_b[start:stop].T
        lanes = np.empty((len(units_a.used), width, _compiled.LANES), out.dtype)
        _compiled.gather_lanes(ground.costs, units_a.used, padded, lanes)
        rows, degree = few_b[start:stop], int(degrees_b[start:stop].max())
        _compiled.unit_block(units_a, lanes, degree, rows_b.roots[rows], rows, root_costs, out)

    return [partial(fill, start, stop) for start, stop in spans(len(few_b), _compiled.LANES)]


def _units(rows: TreeRows, selected: Int64, width: int, blank: int) -> tuple[NDArray[np.int32], Int64]:
    """Expand the selected rows into units, padded with ⊥ at the end; return them and their number without ⊥."""
    entries = expand_spans(rows.indptr[:-1][selected], np.diff(rows.indptr)[selected])
    degrees = rows.masses[selected]
    units = np.full((len(selected), width), blank, np.int32)
    starts = np.arange(len(selected)) * width
    units.ravel()[expand_spans(starts, degrees)] = np.repeat(rows.points[entries], rows.counts[entries])
    return units, degrees


def _sorted_units(rows: TreeRows, selected: Int64, width: int, blank: int) -> _compiled.UnitRows:
    """Expand rows into units in the order of the rows: in canonical order, neighbors begin with the same units."""
    selected = np.sort(selected)
    units, degrees = _units(rows, selected, width, blank)
    # ⊥ is moved to the front, so that the part shared by all rows of one size is computed once.
    units = np.take_along_axis(units, (np.arange(width) + degrees[:, None]) % width, axis=1)
    changes = np.zeros(len(selected), np.int64)
    differs = units[1:] != units[:-1]
    changes[1:] = np.where(differs.any(axis=1), differs.argmax(axis=1), width)
    used, positions = np.unique(units, return_inverse=True)
    slots = positions.reshape(units.shape).astype(np.int32)
    return _compiled.UnitRows(slots, degrees, changes, rows.roots[selected], selected, used)

"""The one loop behind both relaxed kernels: refine, group, and feed the next refinement.

R-WL feeds it the ids of the trees themselves, R-WL* the numbers of their groups. Everything else is the same: rows of
one depth over points of the depth below, distances between the points, groups of rows, distances between what is fed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import map_long
from relaxwl._memory import refuse_beyond_memory
from relaxwl.clustering.partitioners import IdentityPartitioner, Partitioner, known_or_new
from relaxwl.costs import UniformCosts, check_finite
from relaxwl.distances.batched import blank_distances, level_distances, paired_distances, row_distances, whole_dtype
from relaxwl.distances.ground import Ground, is_whole, leaf_costs, point_parts
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.kernels.partition import Assignment, Fed, Partition, Trees, drawn_centers, members_of
from relaxwl.unfolding import Rows, check_rows, leaves, refine
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding

Generators = Callable[[int, int], np.random.Generator]


@dataclass(frozen=True)
class Encoded:
    """Graphs with codes for their roots and edges, the costs between codes, ⊥ last, and what known codes stand for."""

    graphs: GraphCollection
    roots: Int32
    root_costs: Float64 | UniformCosts
    edges: Int32 | None
    edge_costs: Float64 | None
    symbols: RootEncoding
    edge_symbols: EdgeEncoding
    as_given: tuple[GraphCollection, Int32 | None] | None = None  # where other graphs are counted than walked through

    @property
    def n_edge_codes(self) -> int:
        """Number of known edge codes; 1 if edges do not count."""
        return self.edge_symbols.n_codes

    @property
    def counted(self) -> tuple[GraphCollection, Int32 | None]:
        """The graphs in which labels are counted, and the codes of their edges."""
        return (self.graphs, self.edges) if self.as_given is None else self.as_given


class Feeding(NamedTuple):
    """What feeds the next depth.

    Attributes
    ----------
    groups : bool
        The groups of the trees (then there is one partition a chain), or the trees themselves.
    roots : bool
        Whether what is fed also stands at the root of the vertex's next row, instead of its label: the groups of a
        depth then refine those of the depth below if the partitioner keeps different roots apart.
    """

    groups: bool
    roots: bool = False


class _Below(NamedTuple):
    """What the depth below has fed: an id for each vertex, how many of them fitting has met, distances and trees."""

    ids: Int32
    n_known: int
    distances: NDArray[Any] | UniformCosts | None
    trees: Trees | None = None


def _nothing() -> _Below:
    return _Below(np.empty(0, np.int32), 0, np.zeros((1, 1)))


def fit_chain(
    encoded: Encoded,
    max_depth: int,
    make_partitioners: Callable[[int], list[Partitioner]],
    generators: Generators,
    feeding: Feeding,
    n_jobs: int | None,
    first: int = 0,
) -> Iterator[list[tuple[Partition, Assignment]]]:
    """Yield, from depth 0 to ``max_depth``, the fitted partitions of a chain and where the graphs' vertices fall.

    ``make_partitioners(depth)`` returns fresh partitioners, ``generators(depth, i)`` the random numbers of the i-th;
    the partitions are numbered from ``first`` on.
    """
    below = _nothing()
    every = [make_partitioners(depth) for depth in range(max_depth + 1)]
    for depth, partitioners in enumerate(every):
        rows, row_of_node = refined(encoded, depth, below.ids, below.n_known, n_jobs, feeding.roots)
        ground = ground_of(below.distances, encoded, feeding if depth else None)
        _check_size(rows, ground, depth)
        fit = partial(_fitted, partitioners, rows, ground, generators, depth)
        fitted = map_long(fit, range(len(partitioners)), n_jobs)
        found = [Assignment(rows, row_of_node, labels, ground, solved) for labels, _, solved in fitted]
        centers = [centers for _, centers, _ in fitted]
        measure = feeding.roots or any(
            looks_at_distances(partitioner) for deeper in every[depth + 1 :] for partitioner in deeper
        )
        fed = None if depth == max_depth else _fed(rows, centers[0], ground, feeding, measure, n_jobs)
        symbols = None if depth and feeding.roots else encoded.symbols
        level = []
        for place, (partitioner, assignment) in enumerate(zip(partitioners, found, strict=True)):
            members = members_of(assignment, centers[place], encoded.graphs.offsets, n_jobs)
            drawn = drawn_centers(rows, centers[place], members)
            trees = Trees(drawn, symbols, encoded.edge_symbols.names, below.trees)
            level.append(Partition(depth, first + place, partitioner, centers[place], fed, trees, members))
        yield list(zip(level, found, strict=True))
        if fed is not None and feeding.groups:
            below = _Below(found[0].groups, len(fed.known), fed.distances, level[0].trees)
        elif fed is not None:
            trees = Trees(rows, symbols, encoded.edge_symbols.names, below.trees)
            below = _Below(row_of_node, len(fed.known), fed.distances, trees)


def _check_size(rows: Rows, ground: Ground, depth: int) -> None:
    """Refuse trees so large that their distances are not finite."""
    check_finite(largest_distance(rows, ground), depth)


def largest_distance(rows: Rows, ground: Ground) -> float:
    """Return a bound on all distances of trees, by deleting two of them; 0 where nobody looks at distances."""
    if ground.n_points != rows.n_points:
        return 0.0
    with np.errstate(over="ignore"):
        return float(2 * blank_distances(rows, ground).max(initial=0) + ground.largest + ground.roots.max())


def looks_at_distances(partitioner: Partitioner) -> bool:
    """Tell whether a partitioner looks at distances; a subclass of the one that does not may do so."""
    return type(partitioner) is not IdentityPartitioner


def _fed(rows: Rows, centers: Rows, ground: Ground, feeding: Feeding, measure: bool, n_jobs: int | None) -> Fed:
    if not feeding.groups:
        return Fed(rows, level_distances(rows, ground, n_jobs))
    return Fed(centers, group_distances(centers, ground, n_jobs) if measure else None)


def apply_chain(
    levels: list[list[Partition]], encoded: Encoded, feeding: Feeding, n_jobs: int | None, measured: bool = True
) -> Iterator[list[Assignment]]:
    """Yield, depth by depth, where graphs that may not have been in fitting fall; groups from k on are new.

    ``levels`` are the partitions of a chain, depth by depth. Distances that no partitioner looks at were not computed
    in fitting. With ``measured`` they are computed now, so that every ground covers the rows' points.
    """
    below = _nothing()
    known_distances = (
        _measured(levels, encoded, n_jobs) if measured else [_fed_of(level).distances for level in levels[:-1]]
    )
    for depth, level in enumerate(levels):
        rows, row_of_node = refined(encoded, depth, below.ids, below.n_known, n_jobs, feeding.roots)
        rows, ground = _covering(rows, below, encoded, feeding if depth else None)
        found = [
            Assignment(rows, row_of_node, labels, ground, solved)
            for labels, solved in (_predicted(partition, rows, ground) for partition in level)
        ]
        yield found
        if depth + 1 == len(levels):
            return
        known = _fed_of(level).known
        if feeding.groups:
            row_ids = _without_gaps(found[0].labels, len(known))
        else:
            row_ids = known_or_new(known.locate(rows), len(known))
        before = known_distances[depth]
        if feeding.groups:
            known = known.measures()
        distances = None if before is None else _extended(before, known, rows, row_ids, ground, n_jobs)
        below = _Below(row_ids[row_of_node], len(known), distances)


def _fed_of(level: list[Partition]) -> Fed:
    fed = level[0].fed
    assert fed is not None, "only the last depth feeds nothing"
    return fed


def _measured(levels: list[list[Partition]], encoded: Encoded, n_jobs: int | None) -> list[Any]:
    """Return the distances between what each level but the last feeds, computing what was left out in fitting."""
    found: list[Any] = [np.zeros((1, 1))]
    for level in levels[:-1]:
        fed = _fed_of(level)
        if fed.distances is None:
            found.append(group_distances(fed.known, ground_of(found[-1], encoded), n_jobs))
        else:
            found.append(fed.distances)
    return found[1:]


def refined(
    encoded: Encoded, depth: int, fed_ids: Int32, n_known: int, n_jobs: int | None, own_roots: bool = False
) -> tuple[Rows, Int32]:
    """Return the distinct rows of a depth and the row of each vertex, given what the depth below feeds.

    With ``own_roots`` what is fed also stands at the roots, instead of labels.
    """
    if depth == 0:
        return leaves(encoded.roots)
    return refine(
        encoded.graphs,
        fed_ids if own_roots else encoded.roots,
        fed_ids,
        n_known,
        edge_codes=encoded.edges,
        n_edge_codes=encoded.n_edge_codes,
        n_jobs=n_jobs,
    )


def _fitted(
    partitioners: list[Partitioner], rows: Rows, ground: Ground, generators: Generators, depth: int, index: int
) -> tuple[Int32, Rows, Float64 | None]:
    return fit_partitioner(partitioners[index], rows, ground, generators(depth, index))


def fit_partitioner(
    partitioner: Partitioner, rows: Rows, ground: Ground, rng: np.random.Generator
) -> tuple[Int32, Rows, Float64 | None]:
    """Fit a partitioner; return labels, centres and distances. Users write their own, so what it returns is checked."""
    labels, centers = partitioner.fit(rows, ground, rng)
    source = f"{type(partitioner).__name__}.fit"
    centers = check_rows(centers, rows.n_points, len(ground.roots) - 1, f"the centres that {source} returned")
    labels = _checked(labels, rows, len(centers), source)
    return labels, centers, _checked_distances(getattr(partitioner, "distances_", None), rows)


def _predicted(partition: Partition, rows: Rows, ground: Ground) -> tuple[Int32, Float64 | None]:
    """Ask a partitioner for the groups of rows, and for the distances to their centres if it tells them."""
    partitioner: Any = partition.partitioner
    name = type(partitioner).__name__
    if hasattr(partitioner, "predict_with_distances"):
        labels, distances = partitioner.predict_with_distances(rows, ground)
        return _checked(labels, rows, np.inf, f"{name}.predict_with_distances"), _checked_distances(distances, rows)
    if not hasattr(partitioner, "predict"):
        raise TypeError(f"{name} has no predict(rows, ground), so graphs that were not in fitting cannot be scored")
    return _checked(partitioner.predict(rows, ground), rows, np.inf, f"{name}.predict"), None


def _checked(labels: Any, rows: Rows, n_groups: float, source: str) -> Int32:
    """Return group numbers as int32, or say what is wrong with them."""
    labels = np.asarray(labels)
    if labels.shape != (len(rows),) or (len(rows) and labels.dtype.kind not in "iu"):
        raise ValueError(f"{source} must return one whole number for each of {len(rows)} rows")
    if len(rows) and not 0 <= labels.min() <= labels.max() < min(n_groups, 2**31):
        raise ValueError(
            f"{source} returned group numbers from {labels.min()} to {labels.max()}; they count the groups from 0"
        )
    return np.asarray(labels, np.int32)


def _checked_distances(distances: Any, rows: Rows) -> Float64 | None:
    """Return distances that were told for each row; None if they are not such."""
    if not (isinstance(distances, np.ndarray) and distances.shape == (len(rows),) and distances.dtype.kind == "f"):
        return None
    return distances


def _without_gaps(ids: Int32, n_known: int) -> Int32:
    """Renumber the ids of new groups, which a user's partitioner may number as it likes, from ``n_known`` on."""
    new = ids >= n_known
    dense = ids.copy()
    dense[new] = n_known + np.unique(ids[new], return_inverse=True)[1]
    return dense


# ------------------------------------------------------------------------------------------- distances between points


def ground_of(
    fed: NDArray[Any] | UniformCosts | None,
    encoded: Encoded,
    feeding: Feeding | None = None,
    n_known: int | None = None,
    new: Int32 | None = None,
) -> Ground:
    """Return the ground over all points of what is fed (and ``new`` ones); over ⊥ alone if its distances are not known.

    Of what is fed, the first ``n_known`` (by default all) were met in fitting; see :func:`point_parts`.
    """
    if fed is None:
        return Ground(np.zeros((1, 1)), encoded.root_costs)
    roots = encoded.root_costs
    if feeding is not None and feeding.roots:
        roots = fed if isinstance(fed, UniformCosts) else np.ascontiguousarray(fed, np.float64)
    if encoded.edge_costs is None:
        return Ground(fed, roots)
    return Ground(
        fed, roots, encoded.edge_costs, point_parts(encoded.edge_costs, fed, encoded.n_edge_codes, n_known, new)
    )


def _covering(rows: Rows, below: _Below, encoded: Encoded, feeding: Feeding | None = None) -> tuple[Rows, Ground]:
    """Return the rows and a ground that covers all their points, those unknown in fitting last.

    Unknown points (see ``unfolding.refine``) are numbered without gaps, so that the ground stays small.
    """
    n_points, fed = rows.n_points, below.distances
    is_new = rows.points >= n_points
    unknown, renamed = np.unique(rows.points[is_new], return_inverse=True)
    if len(unknown):
        points = rows.points.copy()
        points[is_new] = n_points + renamed
        rows = replace(rows, points=points, n_children=n_points + len(unknown), n_edge_codes=1)
    if fed is None:
        return rows, ground_of(None, encoded)
    new = np.stack(np.divmod(unknown - n_points, max(len(fed) - 1, 1)))
    ground = ground_of(fed, encoded, feeding, below.n_known, new)
    if encoded.edge_costs is None and len(unknown) + below.n_known + 1 < len(fed):
        kept = np.concatenate([np.arange(below.n_known), new[1], [len(fed) - 1]])
        shorter = replace(fed, n_labels=len(kept) - 1) if isinstance(fed, UniformCosts) else fed[np.ix_(kept, kept)]
        ground = replace(ground, children=shorter)
    return rows, ground


def group_distances(centers: Rows, ground: Ground, n_jobs: int | None) -> Float64 | UniformCosts:
    """Return the exact distances between centres, ⊥ last."""
    if (rule := leaf_costs(centers, ground)) is not None:
        return rule
    refuse_beyond_memory(
        16.0 * (len(centers) + 1) ** 2,
        f"the distances between {len(centers)} groups",
        "make fewer groups (a smaller n_clusters, a larger radius), or use fewer graphs",
    )
    out = np.zeros((len(centers) + 1, len(centers) + 1))
    measures = centers.measures()
    upper, lower = np.triu_indices(len(centers), 1)
    pairs = np.column_stack([upper, lower])
    out[upper, lower] = out[lower, upper] = paired_distances(measures, measures, pairs, ground, n_jobs)
    out[-1, :-1] = out[:-1, -1] = blank_distances(centers, ground)
    return out


def _extended(
    fed: NDArray[Any] | UniformCosts, known: Rows, rows: Rows, ids: Int32, ground: Ground, n_jobs: int | None
) -> NDArray[Any] | UniformCosts:
    """Return the distances between what was fed in fitting and the new ids, ⊥ last.

    New ids (from ``len(known)`` on, without gaps) stand for rows as they are (for the first row, where several share
    one); their distances are computed now.
    """
    n_known = len(known)
    used, first = np.unique(ids, return_index=True)
    first = first[used >= n_known]
    if not len(first):
        return fed
    new = rows.take(first)
    size = n_known + len(new)
    if leaf_costs(known, ground) and (rule := leaf_costs(new, ground)) is not None:
        return replace(rule, n_labels=size)
    fed = np.asarray(fed)
    to_known = row_distances(new, known, ground, n_jobs)
    among_new = row_distances(new, new, ground, n_jobs)
    to_blank = blank_distances(new, ground)
    blank_dtype = whole_dtype(float(to_blank.max())) if is_whole(to_blank) else np.dtype(np.float64)
    out = np.zeros((size + 1, size + 1), np.result_type(fed, to_known, among_new, blank_dtype))
    out[:n_known, :n_known] = fed[:-1, :-1]
    out[-1, :n_known] = out[:n_known, -1] = fed[-1, :-1]
    out[n_known:size, :n_known], out[:n_known, n_known:size] = to_known, to_known.T
    out[n_known:size, n_known:size] = among_new
    out[-1, n_known:size] = out[n_known:size, -1] = to_blank
    return out

"""The one loop behind both relaxed kernels: refine, group, and feed the next refinement.

R-WL feeds it the ids of the trees themselves, R-WL* the numbers of their groups. Everything else is the same: rows of
one depth over points of the depth below, distances between the points, groups of rows, distances between what is fed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import map_long
from relaxwl._memory import refuse_beyond_memory
from relaxwl.clustering.partitioners import IdentityPartitioner, Partitioner, known_or_new
from relaxwl.distances.batched import blank_distances, level_distances, row_distances, whole_dtype
from relaxwl.distances.ground import Ground, is_whole, point_parts
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.unfolding import Rows, check_rows, leaves, refine

Generators = Callable[[int, int], np.random.Generator]


@dataclass(frozen=True)
class Encoded:
    """Graphs with codes for their roots and edges, and the costs between codes, ⊥ last."""

    graphs: GraphCollection
    roots: Int32
    root_costs: Float64
    edges: Int32 | None
    edge_costs: Float64 | None
    n_edge_codes: int


@dataclass
class Level:
    """One depth of a fitted chain.

    Attributes
    ----------
    rows : Rows or None
        The distinct trees; kept where unseen trees must be told from known ones.
    partitioners : list of Partitioner
        The fitted partitioners, one a partition.
    centers : list of Rows
        The groups' centres, one set a partition.
    fed : array (n + 1, n + 1) or None
        Distances between what this depth feeds to the next (groups or trees), ⊥ last; None where no deeper
        partitioner looks at them.
    """

    rows: Rows | None
    partitioners: list[Partitioner]
    centers: list[Rows]
    fed: NDArray[Any] | None = None


@dataclass(frozen=True)
class Grouped:
    """The groups of one depth: the distinct rows, the row of each vertex, and the group of each row by partition.

    ``ground`` covers the rows' points, or nothing but ⊥ where nobody looks at distances.
    """

    rows: Rows
    row_of_node: Int32
    labels: list[Int32]
    ground: Ground


def fit_chain(
    encoded: Encoded,
    max_depth: int,
    make_partitioners: Callable[[int], list[Partitioner]],
    generators: Generators,
    feed_groups: bool,
    n_jobs: int | None,
) -> Iterator[tuple[Level, Grouped]]:
    """Yield the levels of a chain from depth 0 to ``max_depth``, each with the groups of the fitted graphs.

    ``make_partitioners(depth)`` returns fresh partitioners, ``generators(depth, i)`` the random numbers of the i-th.
    With ``feed_groups`` there is one partitioner a depth, and its groups feed the next depth; else the trees do.
    """
    fed_ids, n_fed = np.empty(0, np.int32), 0
    fed: NDArray[Any] | None = np.zeros((1, 1))
    every = [make_partitioners(depth) for depth in range(max_depth + 1)]
    for depth, partitioners in enumerate(every):
        rows, local = refined(encoded, depth, fed_ids, n_fed, n_jobs)
        ground = _ground(fed, encoded)
        fit = partial(_fitted, partitioners, rows, ground, generators, depth)
        fitted = map_long(fit, range(len(partitioners)), n_jobs)
        level = Level(rows, partitioners, [centers for _, centers in fitted])
        labels = [labels for labels, _ in fitted]
        if not feed_groups:
            fed_ids, n_fed = local, len(rows)
            fed = level_distances(rows, ground, n_jobs) if depth < max_depth else None
        else:
            fed_ids, n_fed = labels[0][local], len(level.centers[0])
            fed = group_distances(level.centers[0], ground, n_jobs) if _measure(every[depth + 1 :]) else None
        level.fed = fed
        if feed_groups and not isinstance(partitioners[0], IdentityPartitioner):
            level.rows = None
        yield level, Grouped(rows, local, labels, ground)


def _measure(deeper: list[list[Partitioner]]) -> bool:
    """Tell whether any partitioner looks at distances; a subclass of the one that does not may do so."""
    return any(type(partitioner) is not IdentityPartitioner for level in deeper for partitioner in level)


def apply_chain(
    levels: list[Level], encoded: Encoded, feed_groups: bool, n_jobs: int | None, measured: bool = True
) -> Iterator[Grouped]:
    """Yield the groups of graphs that may not have been in fitting; group numbers from k on are new groups.

    Distances that no partitioner looks at were not computed in fitting. With ``measured`` they are computed now, so
    that every ground covers the rows' points.
    """
    fed_ids, n_known = np.empty(0, np.int32), 0
    fed: NDArray[Any] | None = np.zeros((1, 1))
    known_fed = _measured(levels, encoded, n_jobs) if measured else [level.fed for level in levels]
    for depth, level in enumerate(levels):
        rows, local = refined(encoded, depth, fed_ids, n_known, n_jobs)
        rows, ground = _covering(rows, fed, n_known, encoded)
        labels = [_predicted(partitioner, rows, ground) for partitioner in level.partitioners]
        yield Grouped(rows, local, labels, ground)
        if depth + 1 == len(levels):
            return
        if feed_groups:
            known: Rows = level.centers[0]
            row_ids = _without_gaps(labels[0], len(known))
        else:
            known = level.rows  # type: ignore[assignment]
            row_ids = known_or_new(known.locate(rows), len(known))
        n_known = len(known)
        before = known_fed[depth]
        fed = None if before is None else _extended(before, known, rows, row_ids, ground, n_jobs)
        fed_ids = row_ids[local]


def _measured(levels: list[Level], encoded: Encoded, n_jobs: int | None) -> list[NDArray[Any] | None]:
    """Return what each level but the last feeds, computing what was left out in fitting."""
    fed: list[NDArray[Any] | None] = [np.zeros((1, 1))]
    for level in levels[:-1]:
        known = level.fed
        fed.append(group_distances(level.centers[0], _ground(fed[-1], encoded), n_jobs) if known is None else known)
    return fed[1:]


def refined(encoded: Encoded, depth: int, fed_ids: Int32, n_known: int, n_jobs: int | None) -> tuple[Rows, Int32]:
    """Return the distinct rows of a depth and the row of each vertex, given what the depth below feeds."""
    if depth == 0:
        return leaves(encoded.roots)
    return refine(
        encoded.graphs,
        encoded.roots,
        fed_ids,
        n_known,
        edge_codes=encoded.edges,
        n_edge_codes=encoded.n_edge_codes,
        n_jobs=n_jobs,
    )


def _fitted(
    partitioners: list[Partitioner], rows: Rows, ground: Ground, generators: Generators, depth: int, index: int
) -> tuple[Int32, Rows]:
    """Fit a partitioner; users write their own, so what it returns is checked."""
    partitioner = partitioners[index]
    labels, centers = partitioner.fit(rows, ground, generators(depth, index))
    source = f"{type(partitioner).__name__}.fit"
    centers = check_rows(centers, rows.n_points, len(ground.roots) - 1, f"the centres that {source} returned")
    return _checked(labels, rows, len(centers), source), centers.measures()


def _predicted(partitioner: Partitioner, rows: Rows, ground: Ground) -> Int32:
    """Ask a partitioner for the groups of rows."""
    name = type(partitioner).__name__
    if not hasattr(partitioner, "predict"):
        raise TypeError(f"{name} has no predict(rows, ground), so graphs that were not in fitting cannot be scored")
    return _checked(partitioner.predict(rows, ground), rows, np.inf, f"{name}.predict")


def _checked(labels: Any, rows: Rows, n_groups: float, source: str) -> Int32:
    """Return group numbers as int32, or say what is wrong with them."""
    labels = np.asarray(labels)
    if labels.shape != (len(rows),) or (len(rows) and labels.dtype.kind not in "iu"):
        raise ValueError(f"{source} must return one whole number for each of {len(rows)} rows")
    if len(rows) and not 0 <= labels.min() <= labels.max() < n_groups:
        raise ValueError(
            f"{source} returned group numbers from {labels.min()} to {labels.max()}; they count the groups from 0"
        )
    return np.asarray(labels, np.int32)


def _without_gaps(ids: Int32, n_known: int) -> Int32:
    """Renumber the ids of new groups, which a user's partitioner may number as it likes, from ``n_known`` on."""
    new = ids >= n_known
    dense = ids.copy()
    dense[new] = n_known + np.unique(ids[new], return_inverse=True)[1]
    return dense


# ------------------------------------------------------------------------------------------- distances between points


def _ground(fed: NDArray[Any] | None, encoded: Encoded, n_known: int | None = None, new: Int32 | None = None) -> Ground:
    """Return the ground over all points of what is fed (and ``new`` ones); over ⊥ alone if its distances are not known.

    Of what is fed, the first ``n_known`` (by default all) were met in fitting; see :func:`point_parts`.
    """
    if fed is None:
        return Ground(np.zeros((1, 1)), encoded.root_costs)
    if encoded.edge_costs is None:
        return Ground(fed, encoded.root_costs)
    parts = point_parts(encoded.edge_costs, fed, encoded.n_edge_codes, n_known, new)
    return Ground(fed, encoded.root_costs, encoded.edge_costs, parts)


def _covering(rows: Rows, fed: NDArray[Any] | None, n_known: int, encoded: Encoded) -> tuple[Rows, Ground]:
    """Return the rows and a ground that covers all their points, those unknown in fitting last.

    Unknown points (see ``unfolding.refine``) are numbered without gaps, so that the ground stays small.
    """
    n_points = rows.n_points
    is_new = rows.points >= n_points
    unknown, renamed = np.unique(rows.points[is_new], return_inverse=True)
    if len(unknown):
        points = rows.points.copy()
        points[is_new] = n_points + renamed
        rows = replace(rows, points=points, n_children=n_points + len(unknown), n_edge_codes=1)
    if fed is None:
        return rows, _ground(None, encoded)
    new = np.stack(np.divmod(unknown - n_points, max(len(fed) - 1, 1)))
    if encoded.edge_costs is None:
        kept = np.concatenate([np.arange(n_known), new[1], [len(fed) - 1]])
        fed = fed if len(kept) == len(fed) else fed[np.ix_(kept, kept)]
    return rows, _ground(fed, encoded, n_known, new)


def group_distances(centers: Rows, ground: Ground, n_jobs: int | None) -> Float64:
    """Return the exact distances between centres, ⊥ last."""
    refuse_beyond_memory(
        16.0 * (len(centers) + 1) ** 2,
        f"the distances between {len(centers)} groups",
        "make fewer groups (a smaller n_clusters, a larger radius), or use fewer graphs",
    )
    out = np.zeros((len(centers) + 1, len(centers) + 1))
    distances = row_distances(centers, centers, ground, n_jobs)
    # Both triangles are solved; their mean is exactly symmetric, also where masses are real numbers.
    np.add(distances, distances.T, out=out[:-1, :-1])
    out /= 2
    out[-1, :-1] = out[:-1, -1] = blank_distances(centers, ground)
    return out


def _extended(
    fed: NDArray[Any], known: Rows, rows: Rows, ids: Int32, ground: Ground, n_jobs: int | None
) -> NDArray[Any]:
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

"""The kernels that a predictor averages, by effort: few fits, several views of each.

Many cheap partitions (random trees as centers, one exact assignment, no rounds of k-means) perform better than few good
ones, as in a random forest; and an average of kernels needs no selection, which is unreliable on small inner folds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxwl.costs import EditCost
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.kernels import ContinuousWeisfeilerLehman, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.kernels.base import SIMILARITIES, CountKernel
from relaxwl.predictors.views import CountView, VectorView, statistics_view

EFFORTS = ("quick", "balanced", "thorough")

# Numbers of clusters as multiples of √trees: many small clusters, and few large ones. The largest come first, so that
# workers end at about the same time.
FINE, COARSE = (4.0, 2.0), (1.0, 0.5)
PATH_CLUSTERS = (0.5, 0.25)
# Maximum number of pairs of nodes of all graphs for which shortest paths are worth their cost.
MAX_PAIRS = 3e7
# Values of λ in exp(−λ·D), for distances D from 0 to 1.
DECAYS = (1.0, 4.0)
# Number of codes to which attributes of edges are quantized.
N_CODES = 16
# Number of times that vectors of nodes are averaged over neighbors, and numbers of their clusters (multiples).
VECTOR_DEPTH = 3
VECTOR_CLUSTERS = (0.5, 1.0, 2.0, 4.0)
# Numbers of nodes and of graphs from which on there are a third of the partitions of trees, but at least this many, and
# half as many for shortest paths; and half as many clusters if there are many nodes. This limits the time.
MANY_NODES, MANY_GRAPHS, FEW_PARTITIONS = 200_000, 2_000, 8
# Number of nodes from which on partitions are reduced if nodes are vectors too, which contain much of the information.
MANY_BESIDE_VECTORS = 20_000


@dataclass(frozen=True)
class Size:
    """Depth, partitions and other sizes of an effort."""

    depth: int
    partitions: int
    path_partitions: int


SIZES = {"quick": Size(3, 8, 0), "balanced": Size(4, 24, 8), "thorough": Size(5, 64, 16)}


def portfolio(
    graphs: GraphCollection,
    effort: str,
    random_state: int,
    n_jobs: int | None,
    verbose: int = 0,
    cost: EditCost | None = None,
    linear: bool = False,
) -> tuple[list[CountView | VectorView], list[str]]:
    """Return the views to fit on these graphs, the cheapest first, and descriptions of omitted views with the reasons.

    Labels and attributes of edges are used if there are any. Nodes without labels are also vectors of their structure,
    and nodes with attributes vectors of these, their structure and their labels. Relaxed kernels of trees use the
    ``cost``, except those of edge attributes. With ``linear``, the views are for linear models, which need explicit
    features; the graphs may then be an empty collection of the same kind as the graphs in shards.
    """
    size, n_nodes = SIZES[effort], graphs.n_nodes
    attributed = graphs.node_attributes is not None and graphs.node_attributes.shape[1] > 0
    as_vectors = (n_nodes > 0 or not len(graphs)) and (attributed or len(graphs.node_vocabulary or ()) < 2)
    n_vectors, fewer = size.partitions, 1.0
    views: list[CountView | VectorView] = []
    left_out: list[str] = []
    few = max(size.partitions // 3, FEW_PARTITIONS)
    if few < size.partitions and (n_nodes > MANY_NODES or len(graphs) > MANY_GRAPHS):
        many = f"{n_nodes:,} nodes" if n_nodes > MANY_NODES else f"{len(graphs):,} graphs"
        left_out.append(f"{size.partitions - few} of {size.partitions} partitions: {many} would take long")
    if n_nodes > MANY_NODES:
        n_vectors, fewer = few, 0.5
    if n_nodes > MANY_NODES or len(graphs) > MANY_GRAPHS or (as_vectors and n_nodes > MANY_BESIDE_VECTORS):
        size = Size(size.depth, few, (size.path_partitions + 1) // 2)

    def add(block: str, name: str, kernel: CountKernel, *decays: float) -> None:
        settings: list[dict[str, Any]] = [{"similarity": one} for one in SIMILARITIES]
        settings += [{"decay": decay} for decay in decays]
        views.append(CountView(name, kernel, tuple(settings), (block,) * len(settings)))

    def exact(**options: Any) -> CountKernel:
        return WeisfeilerLehman(size.depth, normalize=True, n_jobs=n_jobs, **options)

    def relaxed(n_partitions: int, n_clusters: tuple[float, ...], **options: Any) -> CountKernel:
        settings = {
            "max_depth": size.depth, "normalize": "depth", "max_iter": 0, "similarity": "dot", "cost": cost, **options,
        }  # fmt: skip
        return RelaxedWeisfeilerLehman(
            n_partitions=max(n_partitions, 1),
            n_clusters=tuple(fewer * number for number in n_clusters),
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=max(verbose - 1, 0),
            **settings,
        )

    has_edges = graphs.edge_codes is not None
    add("exact", "WL", exact(), *DECAYS)
    if has_edges:
        add("exact", "WL with edge labels", exact(edge_labels=True))
    if as_vectors:
        block, features = ("vectors", "auto") if attributed else ("structure", "structure")
        vectors = ContinuousWeisfeilerLehman(
            features,
            min(size.depth, VECTOR_DEPTH),
            n_vectors,
            tuple(fewer * number for number in VECTOR_CLUSTERS),
            normalize="depth" if linear else False,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=max(verbose - 1, 0),
        )
        name = f"nodes as vectors of {'attributes' if attributed else 'structure'}"
        # Averages over neighbors hide the vectors of single nodes, so these are used separately too.
        settings = ({"max_depth": 0}, {"max_depth": vectors.max_depth})
        views.append(CountView(name, vectors, settings, (f"{block}, depth 0", block)))
    views.append(statistics_view(n_jobs))
    add("coarse", "R-WL* with few clusters", relaxed(size.partitions // 2, COARSE))
    pairs = float(np.square(graphs.node_counts.astype(np.float64)).sum())
    if size.path_partitions and linear:
        left_out.append("shortest paths: not among the features of linear models")
    elif size.path_partitions and pairs > MAX_PAIRS:
        left_out.append(f"shortest paths: {pairs:.2g} pairs of nodes are more than {MAX_PAIRS:.0e}")
    elif size.path_partitions:
        paths = relaxed(size.path_partitions, PATH_CLUSTERS, max_depth=2, base="shortest-path")
        add("paths", "R-WL* along shortest paths", paths)
        trees = WeisfeilerLehman(1, base="shortest-path", normalize="depth", n_jobs=n_jobs)
        add("paths", "WL along shortest paths", trees)
    add("fine", "R-WL* with many clusters", relaxed(size.partitions // 2, FINE))
    if has_edges:
        with_edges = relaxed(size.partitions // 2, (*FINE, *COARSE), edge_labels=True)
        add("fine", "R-WL* with edge labels", with_edges)
    values = graphs.edge_attributes
    if values is not None and len(values) and linear:
        left_out.append("attributes of edges: not among the features of linear models")
    elif values is not None and len(values):
        blank = _spread(values)
        own = EditCost.from_attributes(
            blank=blank, scale=None, relabel=blank, edge_metric="euclidean", n_edge_codes=N_CODES, edge_relabel=blank
        )
        own = own.with_missing(blank) if np.isnan(values).any() else own
        attributes = relaxed(size.partitions // 2, (*FINE, *COARSE), cost=own)
        add("attributes", "R-WL* of edge attributes", attributes)
    return views, left_out


def _spread(values: Float64) -> float:
    """Return the typical distance of attribute vectors from their mean, used as the cost of inserting a node."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    means = filled.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    gaps = np.where(known, values - means, 0.0)
    spread = float(np.sqrt((np.square(gaps).sum(axis=0) / np.maximum(known.sum(axis=0), 1)).sum()))
    return spread if spread > 0 else 1.0

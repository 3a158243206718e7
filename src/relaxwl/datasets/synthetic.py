"""Generators of labeled benchmarks: ego networks with matched counts, and noisy copies of template graphs.

Ego networks are described in :func:`make_egonets`. Three of its four network models are *meeting processes*: each
pair of people meets at a random time, the sooner the higher the pair's rate, and the network at any time consists of
the pairs that have met. Observing the ego until it has ``n`` neighbors, and the neighbors until they share ``m``
edges, gives both counts exactly and does not change which pairs are likely. The fourth model grows node by node and
is cut to the same counts.

The parameters below were chosen in advance, from the literature on the models and from counts of nodes and edges
alone. No kernel was run to choose them; this must remain so, or the benchmark would be biased.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

from relaxwl._validation import RandomState, as_generator, check_integer, check_number
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64, prefix_sums
from relaxwl.graphs.building import assemble

EGONET_MODELS = ("triads", "communities", "geometry", "activity")
"""Names of the classes of :func:`make_egonets`, in the order of their numbers in ``y``."""

# Ranges of nodes and densities from which the counts of a level are drawn; level 1 is the published EGONETS-1.
_LEVELS = {
    1: ((130, 150), (0.03, 0.09)),
    2: ((170, 190), (0.07, 0.11)),
    3: ((210, 230), (0.11, 0.15)),
    4: ((250, 270), (0.15, 0.19)),
}

# Minimum number of nodes: below it, the lowest density would give less than one edge per node, and equal levels.
_FEWEST_NODES = 20

# Number of nodes of a meeting process per neighbor of the ego: large enough that the ego meets only a part.
_POPULATION = 6

# The first n random times are selected by argsort, not by argpartition, whose order differs between machines.

# Range of the exponents of the Pareto densities of activities, as reported for social networks.
_TAIL_EXPONENTS = (2.5, 3.5)


def make_egonets(
    n_graphs: int = 200,
    level: int = 1,
    *,
    n_nodes: int | tuple[int, int] | None = None,
    twins: bool = False,
    random_state: RandomState = None,
) -> tuple[GraphCollection, Int64]:
    """Make ego networks from four random network models, indistinguishable by their counts.

    An ego network is the subgraph induced by the *neighbors* of a node, the ego; the ego itself is left out. The task
    is to predict the model of the network that contains the graph. Each graph comes from a separate network, so no two
    graphs share nodes. Graphs are unlabeled, and no node is isolated.

    Parameters
    ----------
    n_graphs : int, default=200
        Number of graphs of all four classes together. Class sizes differ by at most one.
    level : {1, 2, 3, 4}, default=1
        Larger and denser graphs with each level. Counts are drawn uniformly from these ranges:

        ===== ========== ============ ============== ============== ===============
        level nodes      density      mean nodes     mean edges     average degree
        ===== ========== ============ ============== ============== ===============
        1     130 to 150 0.03 to 0.09 140            580            8.3
        2     170 to 190 0.07 to 0.11 180            1450           16.1
        3     210 to 230 0.11 to 0.15 220            3130           28.5
        4     250 to 270 0.15 to 0.19 260            5720           44.0
        ===== ========== ============ ============== ============== ===============

        Density is the share of all node pairs that are edges. Level 1 has the ranges of the published EGONETS-1.
    n_nodes : int or (int, int), optional
        Number of nodes, or its range (both ends included), instead of that of the level. The density is that of the
        level, with at least as many edges as nodes.
    twins : bool, default=False
        Whether every graph has twins in the other classes, with exactly its numbers of nodes and edges (the last
        graphs may have fewer if ``n_graphs`` is not a multiple of four). By default the counts of all classes have the
        same distribution, but are drawn independently for each graph.
    random_state : int, numpy Generator, RandomState, SeedSequence or None, default=None
        Seed; an integer gives reproducible graphs.

    Returns
    -------
    graphs : GraphCollection
        Unlabeled graphs in random order, with their nodes in random order.
    y : int array, shape (n_graphs,)
        The class of each graph: 0 ``triads``, 1 ``communities``, 2 ``geometry``, 3 ``activity``.

    See Also
    --------
    make_perturbed : Noisy copies of template graphs.
    make_block_graphs : Classes that differ in large-scale structure.

    Notes
    -----
    *Matched counts.* The numbers of nodes and edges of each graph are drawn first, then classes are
    assigned at random, and each network is reduced to exactly its counts. The assignment is repeated until the class
    means of nodes, edges and average degree differ by no more than those of random assignments do on average
    (rerandomization; Morgan and Rubin, 2012), so that small sets are balanced as well. The accuracy of a model that
    uses only the counts is at chance level, 25 %; with fewer than about 100 graphs random deviations may reach ten
    points. With ``twins`` the classes have exactly equal counts, which is useful for paired comparisons. It is not the
    default, because cross-validation then penalizes the use of counts: the twins of a held-out graph in the training
    part all belong to other classes, so that a nearest-neighbor classifier on the counts is always wrong.

    *The models.* They differ in the origin of triangles:

    0. ``triads``: growth with preferential attachment and triad formation (Holme and Kim, 2002). A new node links to
       a well-connected one and then, mostly, to neighbors of that one. The ego is a hub.
    1. ``communities``: overlapping affiliation (Newman, Watts and Strogatz, 2002; Yang and Leskovec, 2012). People
       belong to one or more of 24 communities of uneven popularity and meet in proportion to the number that they
       share, rarely outside. The ego belongs to three to six.
    2. ``geometry``: geometric inhomogeneous random graph (Bringmann, Keusch and Lengler, 2019; hyperbolic random
       graphs are a case of it). People live on a torus, and nearer people meet earlier.
    3. ``activity``: given expected degrees (Chung and Lu, 2002). Only activity matters; triangles occur by chance.

    In all models the activity of a person has a Pareto tail, so that low and high degrees are mixed: in model 0 the
    number of links of a new node is proportional to its activity, in the others two people meet at a rate proportional
    to the product of their activities. Tail, memberships, the decay with distance and the share of triad steps are
    drawn anew for each network, so that a class is a family of networks.

    *Reaching the counts.* Edges have times: the time of meeting in models 1 to 3, random in model 0, where it means
    that edges are thinned uniformly. Each node keeps its first edge, then the earliest ones are kept until the
    number is reached. The rule is the same for all classes.

    References
    ----------
    Morgan and Rubin: Rerandomization to improve covariate balance in experiments. Annals of
    Statistics, 2012.

    Holme and Kim: Growing scale-free networks with tunable clustering. Physical Review E, 2002.

    Newman, Watts and Strogatz: Random graph models of social networks. PNAS, 2002.

    Yang and Leskovec: Community-affiliation graph model for overlapping network community detection. ICDM, 2012.

    Bringmann, Keusch and Lengler: Geometric inhomogeneous random graphs. Theoretical Computer Science, 2019.

    Chung and Lu: Connected components in random graphs with given expected degree sequences. Annals of
    Combinatorics, 2002.

    Examples
    --------
    >>> graphs, y = make_egonets(8, level=1, random_state=0)
    >>> len(graphs), graphs.is_labeled
    (8, False)
    >>> [EGONET_MODELS[c] for c in sorted(y)][::2]
    ['triads', 'communities', 'geometry', 'activity']

    Each class with the same counts:

    >>> graphs, y = make_egonets(8, twins=True, random_state=0)
    >>> counts = [sorted((graph.n_nodes, graph.n_edges) for graph in graphs[y == c]) for c in range(4)]
    >>> counts[0] == counts[1] == counts[2] == counts[3]
    True

    Small and dense ones for a quick trial:

    >>> small, _ = make_egonets(8, level=4, n_nodes=(30, 40), random_state=0)
    >>> all(30 <= graph.n_nodes <= 40 for graph in small)
    True
    """
    check_integer("n_graphs", n_graphs, 1)
    check_integer("level", level, min(_LEVELS), max(_LEVELS))
    nodes: Any = _LEVELS[level][0]
    if n_nodes is not None:
        nodes = tuple(n_nodes) if isinstance(n_nodes, (tuple, list)) else (n_nodes, n_nodes)
        if len(nodes) != 2 or nodes[0] > nodes[1]:
            raise ValueError(f"n_nodes must be a number of nodes or a pair (lowest, highest), not {n_nodes!r}")
        for bound in nodes:
            check_integer("n_nodes", bound, _FEWEST_NODES)
    rng = as_generator(random_state)
    sizes = rng.integers(nodes[0], nodes[1] + 1, n_graphs)
    drawn = np.rint(rng.uniform(*_LEVELS[level][1], n_graphs) * sizes * (sizes - 1) / 2).astype(np.int64)
    edge_counts = np.maximum(drawn, sizes)  # with fewer edges than nodes, some nodes might be isolated
    if twins:
        draw, y = np.divmod(rng.permutation(n_graphs), len(_MODELS))
        sizes, edge_counts = sizes[draw], edge_counts[draw]
    else:
        y = _balanced_classes(np.column_stack([sizes, edge_counts, edge_counts / sizes]), len(_MODELS), rng)
    edges = [_MODELS[c](int(n), int(m), rng) for c, n, m in zip(y, sizes, edge_counts, strict=True)]
    return _collect(sizes, edges, rng), y


def make_perturbed(
    n_graphs: int = 100,
    n_classes: int = 2,
    *,
    n_nodes: int = 30,
    n_edges: int | None = None,
    rewired: float = 0.1,
    n_labels: int | None = None,
    random_state: RandomState = None,
) -> tuple[GraphCollection, Int64]:
    """Make noisy copies of template graphs, one template for each class.

    A template is a random graph with ``n_nodes`` nodes and ``n_edges`` edges, every such graph equally likely (Erdős
    and Rényi, 1959). A sample is its class's template with some edges moved elsewhere and the nodes in random order.
    All graphs have the same counts. Without noise the graphs of a class are isomorphic, and exact matching of
    neighborhoods suffices; with noise fewer neighborhoods stay *equal* while many stay *similar*.

    Parameters
    ----------
    n_graphs : int, default=100
        Number of graphs of all classes together. Class sizes differ by at most one.
    n_classes : int, default=2
        Number of templates.
    n_nodes : int, default=30
        Nodes of each graph.
    n_edges : int, optional
        Edges of each graph; by default ``2 * n_nodes``, an average degree of 4, or the largest possible number.
    rewired : float, default=0.1
        Fraction of the edges, from 0 to 1, that is moved: this number of random edges (rounded) is removed, and the
        same number of node pairs that are not edges of the template is added.
    n_labels : int, optional
        Number of node labels ``0, 1, ...``; without it the graphs are unlabeled. Each label has the same number of
        nodes in every graph (up to one), so counts of labels contain no information. Noise does not change labels.
    random_state : int, numpy Generator, RandomState, SeedSequence or None, default=None
        Seed; an integer gives reproducible graphs.

    Returns
    -------
    graphs : GraphCollection
        The graphs in random order.
    y : int array, shape (n_graphs,)
        The class of each graph, from 0 to ``n_classes - 1``.

    See Also
    --------
    make_egonets : Ego networks of four random network models.

    Examples
    --------
    >>> graphs, y = make_perturbed(6, n_classes=3, n_nodes=10, rewired=0.2, n_labels=4, random_state=0)
    >>> graphs
    GraphCollection(6 graphs, 60 nodes, 120 edges, 4 node labels)
    >>> np.bincount(y)
    array([2, 2, 2])
    """
    for name, value, least in (("n_graphs", n_graphs, 1), ("n_classes", n_classes, 1), ("n_nodes", n_nodes, 1)):
        check_integer(name, value, least)
    if n_labels is not None:
        check_integer("n_labels", n_labels, 1)
    n_pairs = n_nodes * (n_nodes - 1) // 2
    n_edges = min(2 * n_nodes, n_pairs) if n_edges is None else check_integer("n_edges", n_edges, 0)
    if n_edges > n_pairs:
        raise ValueError(f"n_edges is {n_edges}, but {n_nodes} nodes have only {n_pairs} pairs")
    n_moved = round(check_number("rewired", rewired, zero=True, most=1) * n_edges)
    if n_moved > n_pairs - n_edges:
        raise ValueError(
            f"rewired={rewired} moves {n_moved} of {n_edges} edges, but only {n_pairs - n_edges} node pairs "
            "are free; lower rewired or n_edges"
        )
    rng = as_generator(random_state)
    pairs = _all_pairs(n_nodes)
    templates = [rng.permutation(len(pairs)) for _ in range(n_classes)]
    labels = [rng.permutation(np.arange(n_nodes) % n_labels) for _ in range(n_classes)] if n_labels else None
    y = rng.permutation(n_graphs) % n_classes
    edges = []
    for c in y:  # the first pairs of a template are its edges, some of which are rewired
        kept = rng.permutation(n_edges)[n_moved:]
        added = n_edges + rng.choice(len(pairs) - n_edges, n_moved, replace=False)
        edges.append(pairs[templates[c][np.concatenate([kept, added])]])
    return _collect(np.full(n_graphs, n_nodes), edges, rng, None if labels is None else [labels[c] for c in y]), y


def make_block_graphs(
    n_graphs: int = 400,
    *,
    n_blocks: int = 16,
    block_size: int = 8,
    p: float = 0.5,
    n_noise_edges: int = 0,
    random_state: RandomState = None,
) -> tuple[GraphCollection, Int64]:
    """Make graphs of blocks of nodes in which the large-scale structure determines the class.

    A random tree joins the blocks; one further edge between blocks is added in one of two ways, which determine the
    class and give the blocks the same degrees. Two nodes are joined with probability ``p`` if they are in the same
    block or in joined blocks, and random noise edges are added. So the class is determined neither by degrees nor by
    small neighborhoods, but by the connections between blocks.

    Parameters
    ----------
    n_graphs : int, default=400
        Number of graphs of both classes together; class sizes differ by at most one.
    n_blocks : int, default=16
        Number of blocks, at least 5.
    block_size : int, default=8
        Nodes of a block.
    p : float, default=0.5
        Probability of an edge within a block and between joined blocks.
    n_noise_edges : int, default=0
        Number of edges added between random nodes that are not joined.
    random_state : int, numpy Generator, RandomState, SeedSequence or None, default=None
        Seed; an integer gives reproducible graphs.

    Returns
    -------
    graphs : GraphCollection
        Unlabeled graphs in random order, with their nodes in random order.
    y : int array, shape (n_graphs,)
        The class of each graph, 0 or 1.

    See Also
    --------
    make_egonets : Ego networks of four random network models.

    Examples
    --------
    >>> graphs, y = make_block_graphs(10, random_state=0)
    >>> graphs.node_counts.tolist() == [16 * 8] * 10, np.bincount(y).tolist()
    (True, [5, 5])
    """
    check_integer("n_graphs", n_graphs, 1)
    check_integer("n_blocks", n_blocks, 5)
    check_integer("block_size", block_size, 1)
    check_number("p", p, zero=True, most=1)
    check_integer("n_noise_edges", n_noise_edges, 0)
    rng = as_generator(random_state)
    plans = _block_plans(n_blocks, rng)
    y = rng.permutation(n_graphs) % 2
    pairs = _all_pairs(n_blocks * block_size)
    edges = []
    for plan in y:
        near = plans[plan][pairs[:, 0] // block_size, pairs[:, 1] // block_size]
        joined = near & (rng.random(len(pairs)) < p)
        free = np.flatnonzero(~joined)
        if n_noise_edges > len(free):
            raise ValueError(f"n_noise_edges is {n_noise_edges}, but only {len(free)} node pairs are free")
        joined[rng.choice(free, n_noise_edges, replace=False)] = True
        edges.append(pairs[joined])
    return _collect(np.full(n_graphs, n_blocks * block_size), edges, rng), y


def _block_plans(n_blocks: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which blocks are joined in either class: a random tree and one more edge, with equal degree multisets.

    The two edges close cycles of different lengths, so that the plans are not isomorphic.
    """
    while True:
        parents = [int(rng.integers(0, child)) for child in range(1, n_blocks)]
        tree = np.eye(n_blocks, dtype=bool)
        tree[np.arange(1, n_blocks), parents] = tree[parents, np.arange(1, n_blocks)] = True
        degrees, steps = tree.sum(axis=1), shortest_path(tree, unweighted=True)
        found: dict[tuple[int, ...], dict[int, Int64]] = {}
        for pair in rng.permutation(np.argwhere(np.triu(~tree))):
            ends = tuple(sorted(degrees[pair].tolist()))
            lengths = found.setdefault(ends, {})
            lengths.setdefault(int(steps[tuple(pair)]), pair)
            if len(lengths) == 2:
                plans = np.stack([tree, tree])
                for plan, (a, b) in zip(plans, lengths.values(), strict=True):
                    plan[a, b] = plan[b, a] = True
                return plans


# ----------------------------------------------------------------------------------------------- network models


def _triads(n: int, m: int, rng: np.random.Generator) -> Int64:
    """Cut an ego network from a growing network with triad formation."""
    triad_share = rng.uniform(0.6, 0.95)
    hub_degree = round(1.1 * n)
    # Mean number of links of a new node; by the factor, a tenth to a quarter of the edges is removed later.
    n_links = 1.9 * m / n
    while True:
        neighbors = _grow(_POPULATION // 2 * n, hub_degree, n_links, triad_share, rng)
        edges = _hub_edges(neighbors, n, hub_degree, rng)
        if len(edges) >= m:
            return _earliest_edges(edges, rng.random(len(edges)), n, m)
        n_links *= 1.2


def _communities(n: int, m: int, rng: np.random.Generator) -> Int64:
    """Cut an ego network from a meeting process in overlapping communities."""
    n_communities, outside = 24, 0.02
    activity = _activities(_POPULATION * n, rng)
    popularity = rng.gamma(2.0, size=n_communities)
    # Ranks of random keys: sampling without replacement in proportion to popularity, for all people at once.
    ranks = (rng.exponential(size=(len(activity), n_communities)) / popularity).argsort(axis=1).argsort(axis=1)
    member = (ranks < 1 + rng.poisson(1.0, len(activity))[:, None]).astype(np.float32)
    ego = rng.permutation(n_communities)[: rng.integers(3, 7)]
    chosen = np.argsort(rng.exponential(size=len(activity)) / (activity * (member[:, ego].sum(axis=1) + outside)))[:n]
    shared = member[chosen] @ member[chosen].T
    pairs = _all_pairs(n)
    rates = activity[chosen][pairs].prod(axis=1) * (shared[pairs[:, 0], pairs[:, 1]] + outside)
    return _earliest_edges(pairs, rng.exponential(size=len(pairs)) / rates, n, m)


def _geometry(n: int, m: int, rng: np.random.Generator) -> Int64:
    """Cut an ego network from a meeting process on a torus, where rates depend on distance."""
    activity = _activities(_POPULATION * n, rng)
    positions = rng.random((len(activity), 2))
    # The model's decay exponent: the larger, the sharper the border between near and far.
    noise = 1 / rng.uniform(2.0, 4.0)
    to_ego = _squared_distances(positions, np.full(2, 0.5))
    chosen = np.argsort(rng.exponential(size=len(activity)) ** noise * to_ego / activity)[:n]
    pairs = _all_pairs(n)
    apart = _squared_distances(positions[chosen[pairs[:, 0]]], positions[chosen[pairs[:, 1]]])
    times = rng.exponential(size=len(pairs)) ** noise * apart / activity[chosen][pairs].prod(axis=1)
    return _earliest_edges(pairs, times, n, m)


def _activity(n: int, m: int, rng: np.random.Generator) -> Int64:
    """Cut an ego network from a meeting process where rates depend only on activity."""
    activity = _activities(_POPULATION * n, rng)
    chosen = np.argsort(rng.exponential(size=len(activity)) / activity)[:n]
    pairs = _all_pairs(n)
    return _earliest_edges(pairs, rng.exponential(size=len(pairs)) / activity[chosen][pairs].prod(axis=1), n, m)


_MODELS: tuple[Callable[[int, int, np.random.Generator], Int64], ...] = (_triads, _communities, _geometry, _activity)


def _grow(
    n_nodes: int, hub_degree: int, n_links: float, triad_share: float, rng: np.random.Generator
) -> list[list[int]]:
    """Grow a network to ``n_nodes`` nodes and until some node has ``hub_degree``; return the neighbors."""
    # For single numbers, the generator of the standard library is several times faster than NumPy's.
    draw = random.Random(int(rng.integers(2**63))).random
    activity = _activities(n_nodes, rng)
    links = np.maximum(1, np.rint(activity * (n_links / activity.mean()))).astype(int).tolist()
    neighbors: list[list[int]] = [[1], [0]]
    # Each node occurs once for each of its links, so uniform draws are proportional to degree.
    urn = [0, 1]
    largest = 1
    while len(neighbors) < n_nodes or largest < hub_degree:
        newcomer = len(neighbors)
        wanted = min(links[newcomer % n_nodes], (newcomer + 1) // 2)
        anchor = urn[int(draw() * len(urn))]
        linked = {anchor: None}
        while len(linked) < wanted:
            if draw() < triad_share:
                around = neighbors[anchor]
                candidate = around[int(draw() * len(around))]
                if candidate not in linked:
                    linked[candidate] = None
                    continue
            anchor = urn[int(draw() * len(urn))]
            linked[anchor] = None
        for node in linked:
            neighbors[node].append(newcomer)
            urn.append(node)
            if len(neighbors[node]) > largest:
                largest = len(neighbors[node])
        neighbors.append(list(linked))
        urn.extend([newcomer] * len(linked))
    return neighbors


def _hub_edges(neighbors: list[list[int]], n: int, hub_degree: int, rng: np.random.Generator) -> Int64:
    """Return all edges among ``n`` neighbors of the smallest hub, none isolated; nothing if there are too few."""
    degrees = np.array([len(around) for around in neighbors])
    hubs = np.flatnonzero(degrees >= hub_degree)
    ego = int(hubs[degrees[hubs].argmin()])
    members = rng.permutation(neighbors[ego])
    number = np.full(len(neighbors), -1)
    number[members] = np.arange(len(members))
    targets = number[np.concatenate([neighbors[node] for node in members])]
    sources = np.repeat(np.arange(len(members)), degrees[members])
    linked = np.zeros((len(members), len(members)), bool)
    linked[sources[targets >= 0], targets[targets >= 0]] = True
    # The first n in random order, where nodes without a neighbor among them are replaced by later ones with one.
    first = np.flatnonzero(linked[:n, :n].any(axis=1))
    later = n + np.flatnonzero(linked[n:, first].any(axis=1))
    kept = np.concatenate([first, later])[:n]
    return np.argwhere(np.triu(linked[np.ix_(kept, kept)])) if len(kept) == n else np.empty((0, 2), np.int64)


def _earliest_edges(pairs: Int64, times: Float64, n: int, m: int) -> Int64:
    """Return ``m`` of the pairs: the first of each of the ``n`` nodes, then the earliest of all."""
    pairs = pairs[np.argsort(times)]
    first = np.full((2, n), len(pairs))
    backwards = np.arange(len(pairs))[::-1]
    for end in (0, 1):
        # Written from late to early, so that the earliest pair is written last and remains.
        first[end, pairs[::-1, end]] = backwards
    kept = np.zeros(len(pairs), bool)
    kept[first.min(axis=0)] = True
    kept[np.flatnonzero(~kept)[: m - int(kept.sum())]] = True
    return pairs[kept]


def _activities(size: int, rng: np.random.Generator) -> Float64:
    """Draw activities with a Pareto tail, whose exponent is drawn as well."""
    return 1 + rng.pareto(rng.uniform(*_TAIL_EXPONENTS) - 1, size)


def _all_pairs(n: int) -> Int64:
    """Return all pairs of ``n`` nodes, the smaller first."""
    return np.column_stack(np.triu_indices(n, 1))


def _squared_distances(a: Float64, b: Float64) -> Float64:
    """Return squared distances on the unit torus."""
    gaps = np.abs(a - b)
    return np.asarray((np.minimum(gaps, 1 - gaps) ** 2).sum(axis=-1))


# ------------------------------------------------------------------------------------------ counts and assembly


def _balanced_classes(values: Float64, n_classes: int, rng: np.random.Generator) -> Int64:
    """Assign classes at random until the class means of every column differ by no more than on average."""
    variance = values.var(axis=0, ddof=min(1, len(values) - 1))
    for _ in range(100):  # about three suffice, but tiny sets of uneven classes may have no such assignment
        y = rng.permutation(len(values)) % n_classes
        sizes = np.maximum(np.bincount(y, minlength=n_classes), 1)[:, None]
        sums = np.zeros((n_classes, values.shape[1]))
        np.add.at(sums, y, values - values.mean(axis=0))
        if ((sums**2 / sizes).sum(axis=0) <= (n_classes - 1) * variance).all():
            break
    return y


def _collect(
    sizes: Int64, edges: list[Int64], rng: np.random.Generator, labels: list[Int64] | None = None
) -> GraphCollection:
    """Return the graphs as a collection, the nodes of each numbered at random."""
    offsets = prefix_sums(sizes)
    numbers = [start + rng.permutation(int(size)) for start, size in zip(offsets, sizes, strict=False)]
    joined = np.concatenate([number[pairs] for number, pairs in zip(numbers, edges, strict=True)])
    node_labels = None
    if labels is not None:
        node_labels = np.empty(int(offsets[-1]), np.int64)
        node_labels[np.concatenate(numbers)] = np.concatenate(labels)
    return GraphCollection(**assemble(offsets, joined, node_labels=node_labels))

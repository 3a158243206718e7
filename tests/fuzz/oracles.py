"""What is fast against what is obvious: distances, transport, kernels."""

import random
from pathlib import Path

import numpy as np

import naive
import relaxwl
from small_graphs import BONDS, collection

LABELS = ("a", "b", "c")


def case(rng: random.Random, folder: Path) -> None:
    """Compare one thing with its definition."""
    rng.choice((_transport, _tree_distance, _distances_of_nodes, _wl, _unseen, _groups, _identity))(rng)


def _transport(rng: random.Random) -> None:
    size = rng.randrange(1, 6)
    points = np.array([[rng.randrange(9) for _ in range(2)] for _ in range(size + 1)], float)
    ground = np.abs(points[:, None] - points[None]).sum(axis=2) * rng.choice((1, 1, 0.37, 1e-9, 1e9))
    x, y = (np.array([rng.choice((0, 0, 1, 2, 5)) for _ in range(size)], float) for _ in range(2))
    expected = naive.padded_transport_by_units(x, y, ground)
    found = relaxwl.transport_distance(x, y, ground)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * ground.max())


def _tree(rng: random.Random, depth: int):
    n_children = rng.choice((0, 1, 2, 3)) if depth else 0
    return (rng.choice(LABELS), tuple((None, _tree(rng, depth - 1)) for _ in range(n_children)))


def _as_tree(tree):
    return relaxwl.UnfoldingTree(tree[0], [_as_tree(child) for _, child in tree[1]])


def _tree_distance(rng: random.Random) -> None:
    a, b = _tree(rng, rng.randrange(4)), _tree(rng, rng.randrange(4))
    one, other = _as_tree(a), _as_tree(b)
    expected = naive.recursive_tree_distance(a, b)
    assert relaxwl.tree_edit_distance(one, other) == expected
    mapping = relaxwl.tree_edit_mapping(one, other)
    mapping.validate()
    assert mapping.cost == expected


def _distances_of_nodes(rng: random.Random) -> None:
    """All pairs of nodes at once, by rows of distinct trees, against trees that are built one by one."""
    graphs, depth = _graphs(rng, bonds=rng.random() < 0.4), rng.randrange(4)
    nodes = [(g, v) for g, graph in enumerate(graphs) for v in range(graph[0])]
    if not nodes:
        return
    nodes = rng.sample(nodes, min(len(nodes), 5))
    bonded = graphs[0][3] is not None
    trees = [_tree_of(naive.refinements(graphs, depth, bonded)[depth][g][v]) for g, v in nodes]
    expected = [[naive.recursive_tree_distance(a, b, edge_cost=_bond_cost) for b in trees] for a in trees]
    found = relaxwl.tree_distances(collection(graphs), depth, nodes, edge_labels=bonded)
    assert found.tolist() == expected


def _tree_of(label):
    """Turn a label of a refinement into a tree of naive.py."""
    return (label[0], tuple((edge, _tree_of(child)) for edge, child in label[1])) if len(label) > 1 else (label[0], ())


def _bond_cost(a, b):
    """Edges cost where they are relabeled alone: what is deleted costs as a node."""
    return 0.0 if a is None or b is None or a == b else 1.0


def _graphs(rng: random.Random, bonds: bool = False):
    graphs = []
    for _ in range(rng.randrange(1, 5)):
        size = rng.randrange(0, 7)
        pairs = [(u, v) for u in range(size) for v in range(u + 1, size) if rng.random() < 0.4]
        names = [rng.choice(BONDS) for _ in pairs] if bonds else None
        graphs.append((size, pairs, [rng.choice(LABELS) for _ in range(size)], names))
    return graphs


def _wl(rng: random.Random) -> None:
    graphs, depth = _graphs(rng), rng.randrange(4)
    base = rng.choice(("subtree", "edge", "shortest-path"))
    similarity = rng.choice(("dot", "intersection"))
    normalize = rng.choice((False, True, "depth"))
    if not any(graph[0] for graph in graphs):
        return
    kernel = relaxwl.WeisfeilerLehman(depth, base=base, similarity=similarity, normalize=normalize)
    found = kernel.fit(collection(graphs)).kernel_matrix(collection(graphs))
    counts = naive.wl_counts(graphs, depth, base)
    options = {"minimum": similarity == "intersection", "normalize": normalize}
    expected = naive.count_kernel(counts, counts, **options)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def _unseen(rng: random.Random) -> None:
    """Graphs that were not in fitting, some of whose trees are new."""
    fitted, others, depth = _graphs(rng), _graphs(rng), rng.randrange(4)
    if not any(graph[0] for graph in fitted):
        return
    base = rng.choice(("subtree", "edge", "shortest-path"))
    minimum, normalize = rng.random() < 0.5, rng.choice((False, True, "depth"))
    kernel = relaxwl.WeisfeilerLehman(
        depth, base=base, similarity="intersection" if minimum else "dot", normalize=normalize
    ).fit(collection(fitted))
    counts = naive.wl_counts([*fitted, *others], depth, base)
    known, new = counts[: len(fitted)], counts[len(fitted) :]
    expected = naive.count_kernel(new, known, minimum=minimum, normalize=normalize)
    found = kernel.kernel_matrix(collection(others), collection(fitted))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    if base == "subtree" and not normalize and not minimum:
        features = kernel.transform(collection(others)).toarray()
        totals = [[graph[0]] * (depth + 1) for graph in others]
        assert (features.sum(axis=1) <= np.sum(totals, axis=1) + 1e-9).all(), "more counts than nodes"


def _groups(rng: random.Random) -> None:
    """Nodes join the nearest center: by bounds and compiled code, and by all distances."""
    fitted, depth, approximate = _graphs(rng), rng.randrange(4), rng.random() < 0.5
    if not any(graph[0] for graph in fitted):
        return
    kernel = relaxwl.RelaxedWeisfeilerLehman(
        depth, n_partitions=2, n_clusters=rng.choice((1, 2, 3, "sqrt")), approximate=approximate,
        random_state=rng.randrange(100),
    ).fit(collection(fitted))  # fmt: skip
    symbols = list(kernel.root_encoding_.symbols)
    # The naive R-WL numbers the trees of the graphs that it sees, so it must see those of fitting.
    others = [graph for graph in _graphs(rng) if set(graph[2]) <= set(symbols)] if approximate else fitted
    codes = [[symbols.index(label) for label in graph[2]] for graph in others]
    define = naive.relaxed_groups if approximate else naive.exact_groups
    for partition, groups in zip(kernel.partitions_, kernel.node_clusters(collection(others)), strict=True):
        expected = define(others, codes, [_centers(level) for level in partition], 1.0 - np.eye(len(symbols) + 1))
        assert [group.tolist() for group in groups] == expected


def _centers(partition):
    parts = [partition.centers.row(index) for index in range(len(partition))]
    return [(root, dict(zip(points.tolist(), masses.tolist(), strict=True))) for root, points, masses in parts]


def _identity(rng: random.Random) -> None:
    """With every tree in a group of its own, the relaxed kernel is the plain one."""
    graphs, depth = collection(_graphs(rng)), rng.randrange(4)
    if not graphs.n_nodes:
        return
    relaxed = relaxwl.RelaxedWeisfeilerLehman(
        depth, n_partitions=1, n_clusters=10**6, approximate=rng.random() < 0.5, random_state=rng.randrange(100)
    )
    plain = relaxwl.WeisfeilerLehman(depth)
    np.testing.assert_allclose(relaxed.fit(graphs).kernel_matrix(graphs), plain.fit(graphs).kernel_matrix(graphs))

"""What is fast against what is obvious: distances, transport, kernels."""

import random
from pathlib import Path

import numpy as np

import naive
import relaxwl
from small_graphs import collection

LABELS = ("a", "b", "c")


def case(rng: random.Random, folder: Path) -> None:
    """Compare one thing with its definition."""
    rng.choice((_transport, _tree_distance, _wl, _identity))(rng)


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


def _graphs(rng: random.Random):
    graphs = []
    for _ in range(rng.randrange(1, 5)):
        size = rng.randrange(0, 7)
        pairs = [(u, v) for u in range(size) for v in range(u + 1, size) if rng.random() < 0.4]
        graphs.append((size, pairs, [rng.choice(LABELS) for _ in range(size)], None))
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

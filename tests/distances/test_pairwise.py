"""All-pairs tree distances: golden files, definitions, and engines against each other."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from directed_graphs import directed_collection, random_digraphs
from relaxwl import _memory
from relaxwl.costs import EditCost
from relaxwl.datasets import load_tu
from relaxwl.distances import pairwise
from relaxwl.distances.pairwise import level_distances, paired_distances, row_distances, tree_distances
from relaxwl.distances.transport import GroundCost, check_ground
from relaxwl.distances.tree import tree_edit_distance
from relaxwl.graphs import GraphCollection
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.tree import unfolding_tree


@pytest.mark.shared
@pytest.mark.parametrize("name", ["MUTAG", "EGO-1"])
def test_golden_files(shared, name):
    golden = np.load(shared / "golden" / f"sdted_{name}.npz")
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    nodes = np.stack([golden["graph"], golden["node"]], axis=1)
    depths = [int(key.removeprefix("depth")) for key in golden.files if key.startswith("depth")]
    assert depths
    for depth in depths:
        np.testing.assert_array_equal(tree_distances(graphs, depth, nodes), golden[f"depth{depth}"])
        empty = [unfolding_tree(graphs[int(graph)], int(node), depth).size for graph, node in nodes]
        np.testing.assert_array_equal(empty, golden[f"empty{depth}"])


def test_worked_example():
    rows = TreeRows(
        np.array([1, 2, 0], np.int32),
        np.array([0, 2, 3, 6]),
        np.array([0, 2, 0, 0, 1, 2], np.int32),
        np.ones(6, np.int32),
        3,
    )
    children = level_distances(rows, GroundCost(1.0 - np.eye(4), 1.0 - np.eye(4)))
    np.testing.assert_array_equal(children, [[0, 2, 2, 3], [2, 0, 3, 2], [2, 3, 0, 4], [3, 2, 4, 0]])
    pair = TreeRows(np.zeros(2, np.int32), np.array([0, 2, 3]), np.array([0, 1, 2], np.int32), np.ones(3, np.int32), 3)
    assert level_distances(pair, GroundCost(children, 1.0 - np.eye(4)))[0, 1] == 4


@st.composite
def small_collections(draw, edge_labels=False):
    """Draw two or three graphs of up to five nodes with up to three labels."""
    graphs = []
    for _ in range(draw(st.integers(2, 3))):
        n = draw(st.integers(1, 5))
        pairs = [(i, j) for i in range(n) for j in range(i)]
        edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
        graphs.append((n, edges, draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))))
    return graphs


def neighbors_of(n, edges):
    neighbors = [[] for _ in range(n)]
    for i, j in edges:
        neighbors[i].append(j)
        neighbors[j].append(i)
    return neighbors


COSTS = {
    "uniform": (EditCost(), lambda a, b: float(a != b)),
    "real": (
        EditCost(relabel=0.7, insert_delete=0.45),
        lambda a, b: 0.0 if a == b else 0.45 if None in (a, b) else 0.7,
    ),
}


@settings(deadline=None, max_examples=40)
@given(small_collections(), st.integers(0, 3), st.sampled_from(sorted(COSTS)))
def test_equals_the_definition(graphs, depth, which):
    cost, function = COSTS[which]
    trees = [
        naive.sorted_tree(naive.unfolding_tree(neighbors_of(n, edges), labels, node, depth))
        for n, edges, labels in graphs
        for node in range(n)
    ]
    memo = {}
    expected = [[naive.recursive_tree_distance(a, b, function, memo=memo) for b in trees] for a in trees]
    nodes = [(graph, node) for graph, (n, _, _) in enumerate(graphs) for node in range(n)]
    collection = GraphCollection.from_edges(graphs)
    np.testing.assert_allclose(tree_distances(collection, depth, nodes, cost), expected, atol=1e-12)
    distances, ids = tree_distances(collection, depth, cost=cost)
    np.testing.assert_allclose(distances[np.ix_(ids, ids)], expected, atol=1e-12)
    assert len(distances) == len(set(trees))


def ring(n, labels):
    """Return edges of a ring with labels that go round."""
    return {(i, (i + 1) % n): labels[i % len(labels)] for i in range(n)}


def edge_labeled_collection():

    graphs = []
    for n, labels in ((5, "ab"), (6, "abc"), (4, "b")):
        graph = nx.Graph()
        graph.add_nodes_from((node, {"kind": "xy"[node % 2]}) for node in range(n))
        graph.add_edges_from((i, j, {"bond": bond}) for (i, j), bond in ring(n, labels).items())
        graphs.append(graph)
    return GraphCollection.from_networkx(graphs, node_label="kind", edge_label="bond")


@pytest.mark.parametrize("cost", [EditCost(), EditCost(edge_relabel=0.5, edge_blank=0.25)])
def test_edge_labels_count_where_asked(cost):
    graphs = edge_labeled_collection()
    nodes = [(graph, node) for graph in range(3) for node in range(graphs[graph].n_nodes)]
    trees = [unfolding_tree(graphs[graph], node, 3, edge_labels=True) for graph, node in nodes]
    expected = [[tree_edit_distance(a, b, cost) for b in trees] for a in trees]
    np.testing.assert_allclose(tree_distances(graphs, 3, nodes, cost, edge_labels=True), expected, atol=1e-12)
    assert (tree_distances(graphs, 3, nodes, cost) <= np.array(expected) + 1e-12).all()


def test_labels_that_do_not_occur_need_no_costs():
    graphs = GraphCollection.from_edges([(2, [(0, 1)], ["a", "b"]), (1, [], ["z"])])
    cost = EditCost.from_matrix(["a", "b"], [[0, 3, 2], [3, 0, 2], [2, 2, 0]])
    assert tree_distances(graphs[:1], 1, [(0, 0), (0, 1)], cost)[0, 1] == 6
    with pytest.raises(ValueError, match="z"):
        tree_distances(graphs, 1, [(0, 0)], cost)


def test_attribute_costs():

    graph = nx.path_graph(3)
    for node, value in enumerate([0.0, 0.5, 9.0]):
        graph.nodes[node]["place"] = value
    graphs = GraphCollection.from_networkx([graph], node_attributes="place")
    cost = EditCost.from_attributes(blank=1.0, scale=None)
    nodes = [(0, 0), (0, 1), (0, 2)]
    np.testing.assert_allclose(tree_distances(graphs, 0, nodes, cost)[0], [0, 0.5, 2])
    # By default attributes are in units of their standard deviation.
    unit = np.std([0.0, 0.5, 9.0])
    scaled = tree_distances(graphs, 0, nodes, EditCost.from_attributes(blank=1.0))[0]
    np.testing.assert_allclose(scaled, [0, 0.5 / unit, min(9 / unit, 2)])
    with pytest.raises(ValueError, match="attributes"):
        tree_distances(GraphCollection.from_edges([(2, [(0, 1)])]), 1, [(0, 0)], cost)


@pytest.mark.filterwarnings("ignore:.*dropped")
def test_too_large_a_request_is_refused(monkeypatch):
    monkeypatch.setattr(_memory, "physical_memory", lambda: 1000.0)
    rng = np.random.default_rng(0)
    graphs = GraphCollection.from_edges([(60, rng.integers(0, 60, (90, 2)).tolist())])
    with pytest.raises(ValueError, match=r"need about .* GiB .* smaller depth"):
        tree_distances(graphs, 3)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([(0, 5)], r"nodes\[0\] = \(0, 5\) does not exist: graph 0 has 2 nodes"),
        ([(0, 0), (3, 0)], r"nodes\[1\] = \(3, 0\) does not exist: there are 1 graphs"),
        ([(0, -1)], r"\(0, -1\) does not exist"),
        ([0, 1], "shape"),
        ([(0.5, 1)], "dtype"),
    ],
)
def test_bad_nodes_are_refused(nodes, message):
    graphs = GraphCollection.from_edges([(2, [(0, 1)])])
    with pytest.raises(ValueError, match=message):
        tree_distances(graphs, 1, nodes)


@pytest.mark.parametrize("depth", [-1, 1.5, "2", True])
def test_bad_depth_is_refused(depth):
    with pytest.raises(ValueError, match="depth must be an integer >= 0"):
        tree_distances(GraphCollection.from_edges([(2, [(0, 1)])]), depth)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cost", [None, EditCost(relabel=0.5)])
def test_depths_beyond_floating_point_are_refused(cost):
    graphs = GraphCollection.from_edges([(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)])])
    with pytest.raises(ValueError, match=r"depth \d+ makes distances larger than floating point holds; use a smaller"):
        tree_distances(graphs, 1100, [(0, 0), (0, 3)], cost)
    with pytest.raises(ValueError, match="makes distances larger than floating point holds"):
        tree_distances(graphs, 1100, cost=cost)
    assert np.isfinite(tree_distances(graphs, 600, [(0, 0), (0, 3)], cost)).all()


def test_graphs_without_edges_need_no_edge_labels():
    graphs = GraphCollection.from_edges([(2, [], ["a", "b"])])
    trees = [unfolding_tree(graphs[0], node, 2, edge_labels=True) for node in (0, 1)]
    assert tree_distances(graphs, 2, [(0, 0), (0, 1)], edge_labels=True)[0, 1] == tree_edit_distance(*trees) == 1


def test_no_nodes_and_no_edge_labels():
    graphs = GraphCollection.from_edges([(2, [(0, 1)])])
    assert tree_distances(graphs, 2, []).shape == (0, 0)
    with pytest.raises(ValueError, match="edge_labels=True, but the graphs have no edge labels"):
        tree_distances(graphs, 2, [(0, 0)], edge_labels=True)


def test_node_order_does_not_matter():
    rng = np.random.default_rng(4)
    edges = [(i, j) for i in range(9) for j in range(i) if rng.random() < 0.35]
    labels = rng.integers(0, 2, 9).tolist()
    order = rng.permutation(9)
    renamed = np.argsort(order)
    shuffled = GraphCollection.from_edges(
        [(9, [(renamed[i], renamed[j]) for i, j in edges], [labels[node] for node in order])]
    )
    original = tree_distances(GraphCollection.from_edges([(9, edges, labels)]), 3, [(0, int(v)) for v in order])
    np.testing.assert_array_equal(tree_distances(shuffled, 3, [(0, v) for v in range(9)]), original)


@pytest.mark.parametrize("edge_labels", [False, True])
def test_distances_of_directed_graphs_are_those_of_their_trees(edge_labels):
    graphs = directed_collection(random_digraphs(4, seed=3), arc_labels=True)
    nodes = [(g, v) for g, graph in enumerate(graphs) for v in range(graph.n_nodes)]
    matrix = tree_distances(graphs, 2, nodes, edge_labels=edge_labels)
    trees = [unfolding_tree(graphs[g], v, 2, edge_labels=edge_labels) for g, v in nodes]
    expected = [[tree_edit_distance(a, b) for b in trees] for a in trees]
    assert np.array_equal(matrix, expected)


def random_rows(rng, n_rows, n_points, most=14, n_roots=3):
    """Return rows of up to `most` units of mass, on either side of what the unit engine takes."""
    rows = [np.unique(rng.integers(0, n_points, rng.integers(0, most + 1)), return_counts=True) for _ in range(n_rows)]
    return TreeRows(
        rng.integers(0, n_roots, n_rows).astype(np.int32),
        np.concatenate([[0], np.cumsum([len(points) for points, _ in rows])]),
        np.concatenate([points for points, _ in rows]).astype(np.int32),
        np.concatenate([counts for _, counts in rows]).astype(np.int32),
        n_points,
    )


def random_ground(rng, n_points, factor):
    places = rng.random((n_points + 1, 2))
    ground = np.abs(places[:, None] - places[None]).sum(-1)
    return np.ceil(factor * ground) if factor else ground


def dense(rows):
    masses = np.zeros((len(rows), rows.n_points))
    for row in range(len(rows)):
        _, points, counts = rows.row(row)
        masses[row, points] = counts
    return masses


@pytest.mark.parametrize("factor", [3, 60, 9000, 0])
@pytest.mark.parametrize("max_units", [0, 4, 9])
def test_both_engines_agree_with_matching_units(monkeypatch, factor, max_units):
    monkeypatch.setattr(pairwise, "MAX_UNITS", max_units)
    rng = np.random.default_rng(8)
    rows = random_rows(rng, 60, 7)
    ground, roots = random_ground(rng, 7, factor), random_ground(rng, 3, 4)
    level = level_distances(rows, GroundCost(ground, roots))
    assert level.dtype == ({3: np.uint8, 60: np.uint16, 9000: np.uint32, 0: np.float64}[factor])
    masses = dense(rows)
    expected = np.array(
        [
            [
                roots[rows.roots[i], rows.roots[j]] + naive.padded_transport_by_units(masses[i], masses[j], ground)
                for j in range(60)
            ]
            for i in range(60)
        ]
    )
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(level[:-1, :-1], expected, rtol=1e-12 if factor == 0 else 0)
    np.testing.assert_allclose(level[-1, :-1], roots[rows.roots, -1] + masses @ ground[:-1, -1], rtol=1e-12)
    np.testing.assert_array_equal(level, level.T)


@pytest.mark.parametrize(("heavy", "dtype"), [(60, np.uint8), (70, np.uint16)])
def test_sums_on_the_way_fit_into_the_type_of_the_distances(heavy, dtype):
    """Points that are cheap to delete in rows of many units, dear ones in rows of few: 9 times the largest is 1,000."""
    rng = np.random.default_rng(0)
    blanks = np.array([7] * 6 + [heavy] * 6 + [0])
    ground = np.minimum(blanks[:, None] + blanks, rng.integers(4, 8, (13, 13)).cumsum(axis=1) // 8 + blanks[:, None])
    ground = np.maximum(np.minimum(ground, ground.T), abs(blanks[:, None] - blanks)) * (1 - np.eye(13, dtype=int))
    ground[:, -1] = ground[-1] = blanks
    for middle in range(13):
        ground = np.minimum(ground, ground[:, [middle]] + ground[middle])
    assert (ground[:, -1] == blanks).all()
    parts = [(0, np.sort(rng.choice(6, 5, replace=False)), np.array([2, 2, 2, 2, 1.0])) for _ in range(20)]
    parts += [(0, np.sort(rng.choice(np.arange(6, 12), 2, replace=False)), np.ones(2)) for _ in range(20)]
    rows = TreeRows.from_parts(parts, 12)
    rows = replace(rows, counts=rows.counts.astype(np.int32))
    level = level_distances(rows, GroundCost(ground.astype(float), np.zeros((2, 2))))
    assert level.dtype == dtype
    expected = [[naive.padded_transport_by_units(x, y, ground) for x in dense(rows)] for y in dense(rows)]
    np.testing.assert_array_equal(level[:-1, :-1], expected)


@pytest.mark.parametrize("n_rows", [1, 255, 256, 257, 600])
def test_blocks_of_any_size(n_rows):
    rng = np.random.default_rng(n_rows)
    rows = random_rows(rng, n_rows, 12, most=6)
    ground, roots = random_ground(rng, 12, 5), random_ground(rng, 3, 4)
    level = level_distances(rows, GroundCost(ground, roots))
    few = np.sort(rng.choice(n_rows, min(n_rows, 9), replace=False))
    across = row_distances(rows, rows.take(few), GroundCost(ground, roots))
    np.testing.assert_array_equal(across, level[:-1, :-1][:, few])
    np.testing.assert_array_equal(row_distances(rows.take(few), rows, GroundCost(ground, roots)), across.T)


def test_real_masses_and_mixed_rows():
    rng = np.random.default_rng(1)
    rows, ground = random_rows(rng, 20, 6), random_ground(rng, 6, 0)
    centers = random_rows(rng, 8, 6)
    centers = TreeRows(
        centers.roots, centers.indptr, centers.points, centers.counts * rng.random(len(centers.counts)), 6
    )
    roots = random_ground(rng, 3, 4)
    expected = [
        [
            roots[r, c] + naive.padded_transport_by_program(x, y, ground)
            for c, y in zip(centers.roots, dense(centers), strict=True)
        ]
        for r, x in zip(rows.roots, dense(rows), strict=True)
    ]
    np.testing.assert_allclose(row_distances(rows, centers, GroundCost(ground, roots)), expected, rtol=1e-9)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_given_pairs(monkeypatch, n_jobs):
    monkeypatch.setattr(pairwise, "CHUNK_PAIRS", 16)
    rng = np.random.default_rng(3)
    rows_a, rows_b = random_rows(rng, 40, 9), random_rows(rng, 30, 9)
    ground, roots = random_ground(rng, 9, 5), random_ground(rng, 3, 4)
    pairs = np.stack([rng.integers(0, 40, 100), rng.integers(0, 30, 100)], axis=1)
    expected = row_distances(rows_a, rows_b, GroundCost(ground, roots))[pairs[:, 0], pairs[:, 1]]
    np.testing.assert_array_equal(paired_distances(rows_a, rows_b, pairs, GroundCost(ground, roots), n_jobs), expected)


@pytest.mark.parametrize("factor", [3, 0])
def test_threads_change_nothing(factor):
    rng = np.random.default_rng(9)
    rows = random_rows(rng, 700, 15, most=11)
    ground, roots = random_ground(rng, 15, factor), random_ground(rng, 3, 4)
    alone = level_distances(rows, GroundCost(ground, roots), n_jobs=1)
    np.testing.assert_array_equal(level_distances(rows, GroundCost(ground, roots), n_jobs=3), alone)
    if factor:
        check_ground(alone)

"""Directed graphs in the kernels, held against trees written out as the definition says."""

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest

import naive
from relaxwl import (
    EditCost,
    GraphCollection,
    RelaxedWeisfeilerLehman,
    WeisfeilerLehman,
    as_collection,
    tree_distances,
    tree_edit_distance,
    unfolding_tree,
)
from relaxwl.clustering.partitioners import IdentityPartitioner
from relaxwl.costs.rules import DIRECTION_MARKS
from relaxwl.explanation import explain
from relaxwl.graphs.directions import ENTERS, LEAVES
from relaxwl.kernels import baselines


def random_graphs(number=12, seed=0):
    """Graphs as (n, arcs, vertex labels, arc labels)."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(number):
        n = int(rng.integers(1, 6))
        possible = [(u, v) for u in range(n) for v in range(n) if u != v]
        arcs = sorted(possible[i] for i in rng.permutation(len(possible))[: rng.integers(0, len(possible) + 1)])
        graphs.append((n, arcs, rng.integers(0, 2, n).tolist(), rng.integers(0, 2, len(arcs)).tolist()))
    return graphs


def collection(graphs, arc_labels=False):
    drawn = []
    for n, arcs, labels, names in graphs:
        graph = nx.DiGraph()
        graph.add_nodes_from((v, {"label": labels[v]}) for v in range(n))
        graph.add_edges_from(
            (u, v, {"label": name} if arc_labels else {}) for (u, v), name in zip(arcs, names, strict=True)
        )
        drawn.append(graph)
    return as_collection(drawn)


def naive_features(graphs, depth, base, directions, arc_labels):
    """Counters of what the kernel counts, a Counter for each graph."""
    counted = []
    for n, arcs, labels, names in graphs:
        found = Counter()
        for d in range(depth + 1):
            trees = [
                naive.directed_tree(n, arcs, labels, v, d, directions, names if arc_labels else None) for v in range(n)
            ]
            if base == "subtree":
                found.update((d, tree) for tree in trees)
            elif base == "edge":
                found.update(
                    (d, trees[u], trees[v], name if arc_labels else None)
                    for (u, v), name in zip(arcs, names, strict=True)
                )
            else:
                for u in range(n):
                    lengths = naive.directed_distances(n, arcs, u)
                    found.update((d, trees[u], trees[v], length) for v, length in lengths.items() if v != u)
        counted.append(found)
    return counted


def naive_gram(features):
    return np.array([[sum(a[key] * b[key] for key in a) for b in features] for a in features], float)


@pytest.mark.parametrize("base", ["subtree", "edge", "shortest-path"])
@pytest.mark.parametrize(("directions", "arc_labels"), list(itertools.product(["both", "out", "in"], [False, True])))
def test_wl_counts_the_trees_of_the_definition(base, directions, arc_labels):
    graphs = random_graphs()
    expected = naive_gram(naive_features(graphs, 2, base, directions, arc_labels))
    given = collection(graphs, arc_labels)
    kernel = WeisfeilerLehman(2, base, edge_labels=arc_labels, directions=directions)
    assert np.array_equal(kernel.fit(given).kernel_matrix(given), expected)
    assert np.array_equal(kernel.fit(given[:6]).kernel_matrix(given[6:], given[:6]), expected[6:, :6])
    relaxed = RelaxedWeisfeilerLehman(
        2, n_partitions=1, partitioner=IdentityPartitioner(), base=base, edge_labels=arc_labels, directions=directions
    )
    assert np.array_equal(relaxed.fit(given).kernel_matrix(given), expected)


@pytest.mark.parametrize("directions", ["both", "out", "in"])
def test_unfolding_trees(directions):
    n, arcs, labels, _ = max(random_graphs(), key=lambda graph: len(graph[1]))
    graph = collection([(n, arcs, labels, [0] * len(arcs))])[0]
    for node in range(n):
        expected = naive.directed_tree(n, arcs, labels, node, 2, directions)
        tree = unfolding_tree(graph, node, 2, directions=directions)
        assert _nested(tree) == (expected if directions == "both" else _untold(expected))


def _nested(tree):
    """The tree as the oracle writes it."""
    below = [(branch.edge, _nested(branch.tree)) for branch in tree.branches for _ in range(branch.multiplicity)]
    return tree.label, tuple(sorted(((edge, None), child) for edge, child in below))


def _untold(tree):
    """The same tree without directions: where only one of them is followed, edges need not say it."""
    return tree[0], tuple(sorted(((None, None), _untold(below)) for _, below in tree[1]))


def test_distances_are_those_of_the_trees():
    graphs = collection(random_graphs(4, seed=3), arc_labels=True)
    nodes = [(g, v) for g, graph in enumerate(graphs) for v in range(graph.n_nodes)]
    matrix = tree_distances(graphs, 2, nodes)
    trees = [unfolding_tree(graphs[g], v, 2, edge_labels=True) for g, v in nodes]
    expected = [[tree_edit_distance(a, b) for b in trees] for a in trees]
    assert np.array_equal(matrix, expected)


def test_direction_and_label_together_cost_the_larger():
    costs = EditCost().edge_matrix([(LEAVES, "a"), (ENTERS, "b"), (LEAVES, "b")])
    assert costs[0, 1] == costs[0, 2] == costs[1, 2] == 1
    weighted = EditCost.from_attributes(edge_metric="euclidean", edge_relabel=2)
    costs = weighted.edge_matrix([(LEAVES, (0.0,)), (ENTERS, (0.5,)), (ENTERS, (5.0,))])
    assert costs[:3, :3].tolist() == [[0, 2, 5], [2, 0, 4.5], [5, 4.5, 0]]
    assert (LEAVES, ENTERS) == DIRECTION_MARKS


def test_a_kernel_refuses_the_other_type():
    directed = GraphCollection.from_edges([(2, [(0, 1)])], directed=True)
    undirected = directed.to_undirected()
    for kernel in (WeisfeilerLehman(), RelaxedWeisfeilerLehman()):
        with pytest.raises(ValueError, match="fitted on directed graphs, and these graphs are undirected"):
            kernel.fit(directed).transform(undirected)
        with pytest.raises(ValueError, match="fitted on undirected graphs, and these graphs are directed"):
            kernel.fit(undirected).transform(directed)
    # A symmetric matrix does not tell; a DiGraph and a Graph do.
    kernel = WeisfeilerLehman().fit(directed)
    kernel.transform([np.array([[0, 1], [1, 0]])])
    with pytest.raises(ValueError, match="the graph is undirected"):
        kernel.transform([nx.path_graph(2)])


@pytest.mark.parametrize(
    "name", ["VertexEdgeHistogram", "GraphletSampling", "ShortestPath", "OddSth", "WassersteinWL", "PersistentWL"]
)
def test_baselines_without_meaning_say_so(name):
    graphs = GraphCollection.from_edges([(2, [(0, 1)])], directed=True)
    with pytest.raises(ValueError, match=f"{name} has no meaning on directed graphs; .*symmetrize=True"):
        getattr(baselines, name)().fit(graphs)


@pytest.mark.parametrize("directions", ["both", "in"])
def test_model_files_and_explanations(directions, tmp_path):
    graphs = collection(random_graphs(16, seed=5), arc_labels=True)
    y = np.arange(16) % 2
    for kernel in (
        WeisfeilerLehman(2, edge_labels=True, directions=directions),
        RelaxedWeisfeilerLehman(2, edge_labels=True, directions=directions, random_state=0),
    ):
        features = kernel.fit_transform(graphs)
        kernel.save(tmp_path / "model")
        loaded = type(kernel).load(tmp_path / "model")
        assert loaded.directed_
        assert loaded.directions == directions
        assert (loaded.transform(graphs) != features).nnz == 0
        explain(loaded, graphs, y)


def test_reversing_all_arcs_swaps_out_and_in():
    graphs = random_graphs()
    turned = [(n, [(v, u) for u, v in arcs], labels, names) for n, arcs, labels, names in graphs]
    out = WeisfeilerLehman(3, directions="out").fit_kernel_matrix(collection(graphs))
    into = WeisfeilerLehman(3, directions="in").fit_kernel_matrix(collection(turned))
    assert np.array_equal(out, into)


@pytest.mark.parametrize("base", ["subtree", "shortest-path"])
def test_grams_equal_grakels_along_arcs(base):
    """GraKeL follows arcs from their tails to their heads, and so does ``directions="out"``."""
    grakel = pytest.importorskip("grakel")
    graphs = [graph for graph in random_graphs(30, seed=2) if graph[1]]
    theirs = [(dict.fromkeys(arcs, 1), dict(enumerate(labels))) for n, arcs, labels, _ in graphs]
    inner = (grakel.VertexHistogram, {}) if base == "subtree" else (grakel.ShortestPath, {"with_labels": True})
    ours = WeisfeilerLehman(3, base, directions="out").fit(collection(graphs))
    for depth in (1, 2, 3):
        expected = grakel.WeisfeilerLehman(n_iter=depth, base_graph_kernel=inner).fit_transform(theirs)
        found = WeisfeilerLehman(depth, base, directions="out").fit_kernel_matrix(collection(graphs))
        assert np.array_equal(found, expected)
    assert np.array_equal(ours.kernel_matrix(collection(graphs)), found)

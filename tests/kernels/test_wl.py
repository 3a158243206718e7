import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from directed_graphs import directed_collection, random_digraphs
from relaxed_kernels import optimized
from relaxwl import ContinuousWeisfeilerLehman, GraphCollection, WeisfeilerLehman
from relaxwl.clustering.partitioners import IdentityPartitioner
from relaxwl.datasets import load_tu
from relaxwl.kernels.baselines import GraphletSampling
from small_graphs import collection, random_graphs, shuffled
from strategies import EDGES, plain_graphs

BASES = ("subtree", "edge", "shortest-path")
SIMILARITIES = ("dot", "intersection", "tanimoto")


# ------------------------------------------------------------------------------------------------ the definition


def wanted_kernel(counts, others, similarity, weights=None, normalize=False):
    if similarity == "tanimoto":
        return naive.tanimoto_kernel(counts, others, weights, by_depth=normalize == "depth")
    return naive.count_kernel(counts, others, weights, similarity == "intersection", normalize)


@settings(max_examples=40)
@given(
    st.lists(plain_graphs(edges=EDGES), min_size=1, max_size=4),
    st.sampled_from(BASES),
    st.sampled_from(SIMILARITIES),
    st.booleans(),
    st.sampled_from([None, [2.0, 0.0, 0.5]]),
    st.sampled_from([False, True, "depth"]),
)
def test_gram_is_that_of_the_definition(graphs, base, similarity, edge_labels, weights, normalize):
    together = collection(graphs)
    edge_labels = edge_labels and together.edge_codes is not None
    kernel = WeisfeilerLehman(2, base, similarity, edge_labels, weights, normalize)
    expected = naive.wl_counts(graphs, 2, base, edge_labels)
    wanted = wanted_kernel(expected, expected, similarity, weights, normalize)
    features = kernel.fit(together).weighted_counts(together)
    matrix = kernel.kernel_matrix(together)
    np.testing.assert_allclose(matrix, wanted, rtol=1e-12)
    if similarity == "dot":
        np.testing.assert_allclose((features @ features.T).toarray(), wanted, rtol=1e-12)
    np.testing.assert_array_equal(kernel.fit_kernel_matrix(together), matrix)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > -1e-8 * max(1.0, matrix.max())
    if similarity == "tanimoto" and normalize != "depth":
        assert matrix.min() >= 0
        assert matrix.max() <= 1


@settings(max_examples=40)
@given(
    st.lists(plain_graphs(edges=EDGES), min_size=1, max_size=3),
    st.lists(plain_graphs(edges=("y", "z")), min_size=1, max_size=3),
    st.sampled_from(BASES),
    st.sampled_from(SIMILARITIES),
    st.booleans(),
)
def test_unseen_graphs_and_their_norms(train, test, base, similarity, edge_labels):
    test = [(n, edges, [label + 1 for label in labels], names) for n, edges, labels, names in test]  # 4 is unseen
    fitted, new = collection(train), collection(test)
    edge_labels = edge_labels and fitted.edge_codes is not None and new.edge_codes is not None
    kernel = WeisfeilerLehman(2, base, similarity, edge_labels, normalize=True).fit(fitted)
    counts = naive.wl_counts([*train, *test], 2, base, edge_labels)
    left, right = counts[: len(train)], counts[len(train) :]
    wanted = wanted_kernel(right, left, similarity, normalize=True)
    np.testing.assert_allclose(kernel.kernel_matrix(new, fitted), wanted, rtol=1e-12)
    np.testing.assert_allclose(kernel.kernel_matrix(fitted, new), wanted.T, rtol=1e-12)
    if similarity == "dot":
        product = kernel.transform(new) @ kernel.transform(fitted).T
        np.testing.assert_allclose(product.toarray(), wanted, rtol=1e-12)


# ------------------------------------------------------------------------------------------------- invariances


def test_shortest_paths_tell_a_ring_from_two_triangles():
    ring, triangles = [(v, (v + 1) % 6) for v in range(6)], [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    graphs = GraphCollection.from_edges([(6, ring), (6, triangles)])
    for base in BASES:
        one, other = WeisfeilerLehman(3, base).fit_transform(graphs).toarray()
        assert np.array_equal(one, other) == (base != "shortest-path")


# ---------------------------------------------------------------------------------------- small and strange graphs


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("normalize", [False, True])
def test_empty_graphs_single_nodes_and_no_edges(base, normalize):
    graphs = GraphCollection.from_edges([(0, []), (1, []), (3, []), (2, [(0, 1)])])
    kernel = WeisfeilerLehman(2, base, normalize=normalize)
    matrix = kernel.fit_kernel_matrix(graphs)
    assert np.isfinite(matrix).all()
    assert not matrix[0].any()
    if base == "subtree" and not normalize:
        assert matrix.tolist() == [[0, 0, 0, 0], [0, 3, 9, 2], [0, 9, 27, 6], [0, 2, 6, 12]]
    assert kernel.transform(graphs[[0]]).nnz == 0
    assert kernel.transform(GraphCollection.from_edges([])).shape == (0, len(kernel.get_feature_names_out()))
    assert kernel.kernel_matrix(GraphCollection.from_edges([]), graphs).shape == (0, 4)


@pytest.mark.parametrize("base", BASES)
def test_a_fit_on_nothing_scores_zero(base):
    kernel = WeisfeilerLehman(1, base, normalize=True).fit(GraphCollection.from_edges([(0, [])]))
    graphs = GraphCollection.from_edges([(2, [(0, 1)])])
    assert kernel.transform(graphs).shape == (1, 0)
    assert kernel.kernel_matrix(graphs).tolist() == [[0.0]]


def test_edge_labels_first_met_after_a_fit_without_edges():
    kernel = WeisfeilerLehman(2, edge_labels=True, normalize=True).fit(collection([(1, [], ["C"], None)]))
    features = kernel.transform(collection([(2, [(0, 1)], ["C", "C"], ["single"])]))
    np.testing.assert_allclose(features.toarray(), [[2 / np.sqrt(12), 0.0, 0.0]])


def test_depth_weights_of_zero_give_zero_and_not_nan():
    graphs = collection(random_graphs(4))
    kernel = WeisfeilerLehman(1, depth_weights=[0, 0], normalize=True)
    assert kernel.fit_transform(graphs).sum() == 0
    assert not kernel.kernel_matrix(graphs).any()


def test_edge_labels_matter_only_if_asked_for():
    single, double = (collection([(2, [(0, 1)], ["C", "C"], [name])]) for name in ("single", "double"))
    both = GraphCollection.concatenate([single, double])
    assert WeisfeilerLehman(1).fit_kernel_matrix(both).tolist() == [[8, 8], [8, 8]]
    assert WeisfeilerLehman(1, edge_labels=True).fit_kernel_matrix(both).tolist() == [[8, 4], [4, 8]]
    with pytest.raises(ValueError, match="edge_labels=True, but the graphs have no edge labels"):
        WeisfeilerLehman(edge_labels=True).fit(collection(random_graphs(3)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": -1}, "max_depth must be an integer >= 0"),
        ({"max_depth": 1.5}, "max_depth must be an integer >= 0"),
        ({"max_depth": True}, "max_depth must be an integer >= 0"),
        ({"base": "walk"}, "base must be one of subtree, edge, shortest-path"),
        ({"similarity": "cosine"}, "similarity must be one of dot, intersection"),
        ({"depth_weights": [1.0]}, "depth_weights must be 5 finite numbers"),
        ({"depth_weights": [1, 1, 1, 1, -1]}, "depth_weights must be 5 finite numbers"),
        ({"depth_weights": [1, 1, 1, 1, np.nan]}, "depth_weights must be 5 finite numbers"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        WeisfeilerLehman(**parameters).fit(collection(random_graphs(3)))


def test_labeled_and_unlabeled_do_not_mix():
    labeled, plain = collection(random_graphs(3)), collection(random_graphs(3), labeled=False)
    with pytest.raises(ValueError, match="fitted on labeled graphs, and these graphs are unlabeled"):
        WeisfeilerLehman().fit(labeled).transform(plain)
    with pytest.raises(ValueError, match="fitted on unlabeled graphs, and these graphs are labeled"):
        WeisfeilerLehman().fit(plain).transform(labeled)


def test_feature_names_say_depth_and_tree():
    graphs = collection([(3, [(0, 1), (1, 2)], ["C", "C", "O"], ["single", "double"])])
    kernel = WeisfeilerLehman(2, edge_labels=True).fit(graphs)
    names = kernel.get_feature_names_out().tolist()
    assert names[:3] == ["depth 0: #0 C", "depth 0: #1 O", "depth 1: #0 C(single:C)"]
    assert "depth 1: #1 C(double:O, single:C)" in names
    assert len(set(names)) == len(names) == kernel.transform(graphs).shape[1]
    star = GraphCollection.from_edges([(9, [(0, i) for i in range(1, 9)], list(range(9)))])
    assert WeisfeilerLehman(1).fit(star).get_feature_names_out()[-9].endswith("0(1, 2, 3, 4, 5, 6, …)")
    plain = WeisfeilerLehman(1).fit(GraphCollection.from_edges([(3, [(0, 1), (1, 2)])]))
    assert plain.get_feature_names_out()[-1] == "depth 1: #1 ·(2×·)"


# -------------------------------------------------------------------------------------------------------- GraKeL


def grakel_graphs(graphs):
    result = []
    for graph in graphs:
        edges = {(int(a), int(b)): 1 for a, b in graph.edges}
        edges |= {(b, a): 1 for a, b in edges}
        labels = [0] * graph.n_nodes if graph.node_labels is None else graph.node_labels
        result.append((edges, dict(enumerate(labels))))
    return result


def grakel_grams(graphs, max_depth, base):
    grakel = pytest.importorskip("grakel")
    inputs = grakel_graphs(graphs)
    histogram = base == "subtree"
    plain = grakel.VertexHistogram() if histogram else grakel.ShortestPath(with_labels=True)
    yield 0, plain.fit_transform(inputs)
    for depth in range(1, max_depth + 1):
        inner = (grakel.VertexHistogram, {}) if histogram else (grakel.ShortestPath, {"with_labels": True})
        yield depth, grakel.WeisfeilerLehman(n_iter=depth, base_graph_kernel=inner).fit_transform(inputs)


def check_against_grakel(graphs, max_depth, base):
    kernel = WeisfeilerLehman(max_depth, base)
    ours = kernel.compare(kernel.fit_prepare(graphs), None, kernel.variations())
    for depth, theirs in grakel_grams(graphs, max_depth, base):
        np.testing.assert_array_equal(ours[depth], theirs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "step"), [("MUTAG", 1), ("IMDB-BINARY", 7), ("EGO-1", 4)], ids=lambda value: str(value)
)
def test_subtree_gram_equals_grakels(shared, name, step):
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    check_against_grakel(graphs[::step], 4, "subtree")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["NCI1", "IMDB-BINARY", "EGO-1"])
def test_whole_subtree_gram_equals_grakels(shared, name):
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    check_against_grakel(graphs, 4, "subtree")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "step"), [("MUTAG", 3), ("IMDB-BINARY", 50), ("NCI1", 400)])
def test_shortest_path_gram_equals_grakels(shared, name, step):
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    check_against_grakel(graphs[::step], 2, "shortest-path")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "step", "depth"), [("MUTAG", 1, 4), ("IMDB-BINARY", 1, 1), ("NCI1", 40, 2), ("EGO-1", 20, 2)]
)
def test_larger_shortest_path_gram_equals_grakels(shared, name, step, depth):
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    check_against_grakel(graphs[::step], depth, "shortest-path")


def test_real_blocks_and_permutations(shared):
    graphs, _ = load_tu(shared / "data" / "MUTAG.zip")
    rng = np.random.default_rng(0)
    plain = [(g.n_nodes, [(int(a), int(b)) for a, b in g.edges], g.node_labels, g.edge_labels) for g in graphs]
    for base, edge_labels in itertools.product(BASES, (False, True)):
        kernel = WeisfeilerLehman(4, base, edge_labels=edge_labels)
        features = kernel.fit_transform(graphs)
        moved = kernel.fit_transform(collection([shuffled(graph, rng) for graph in plain]))
        assert (features != moved).nnz == 0
        whole = kernel.kernel_matrix(graphs)
        kernel.fit(graphs[:100])
        np.testing.assert_array_equal(kernel.kernel_matrix(graphs[100:], graphs[:100]), whole[100:, :100])


def test_names_of_deep_trees_are_written_out():
    graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["a", "b", "a"])])
    assert list(WeisfeilerLehman(max_depth=2).fit(graphs).get_feature_names_out())[-2:] == [
        "depth 2: #0 a(b(2×a))",
        "depth 2: #1 b(2×a(b))",
    ]


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
def test_directed_graphs_count_the_trees_of_the_definition(base, directions, arc_labels):
    graphs = random_digraphs()
    expected = naive_gram(naive_features(graphs, 2, base, directions, arc_labels))
    given = directed_collection(graphs, arc_labels)
    kernel = WeisfeilerLehman(2, base, edge_labels=arc_labels, directions=directions)
    assert np.array_equal(kernel.fit(given).kernel_matrix(given), expected)
    assert np.array_equal(kernel.fit(given[:6]).kernel_matrix(given[6:], given[:6]), expected[6:, :6])
    relaxed = optimized(
        2, n_partitions=1, partitioner=IdentityPartitioner(), base=base, edge_labels=arc_labels, directions=directions
    )
    assert np.array_equal(relaxed.fit(given).kernel_matrix(given), expected)


def test_reversing_all_arcs_swaps_out_and_in():
    graphs = random_digraphs()
    turned = [(n, [(v, u) for u, v in arcs], labels, names) for n, arcs, labels, names in graphs]
    out = WeisfeilerLehman(3, directions="out").fit_kernel_matrix(directed_collection(graphs))
    into = WeisfeilerLehman(3, directions="in").fit_kernel_matrix(directed_collection(turned))
    assert np.array_equal(out, into)


@pytest.mark.parametrize("base", ["subtree", "shortest-path"])
def test_grams_equal_grakels_along_arcs(base):
    """GraKeL follows arcs from their tails to their heads, and so does ``directions="out"``."""
    grakel = pytest.importorskip("grakel")
    graphs = [graph for graph in random_digraphs(30, seed=2) if graph[1]]
    theirs = [(dict.fromkeys(arcs, 1), dict(enumerate(labels))) for n, arcs, labels, _ in graphs]
    inner = (grakel.VertexHistogram, {}) if base == "subtree" else (grakel.ShortestPath, {"with_labels": True})
    ours = WeisfeilerLehman(3, base, directions="out").fit(directed_collection(graphs))
    for depth in (1, 2, 3):
        expected = grakel.WeisfeilerLehman(n_iter=depth, base_graph_kernel=inner).fit_transform(theirs)
        found = WeisfeilerLehman(depth, base, directions="out").fit_kernel_matrix(directed_collection(graphs))
        assert np.array_equal(found, expected)
    assert np.array_equal(ours.kernel_matrix(directed_collection(graphs)), found)


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (WeisfeilerLehman(5), False),
        (WeisfeilerLehman(5, base="edge"), False),
        (optimized(2, random_state=0), False),
        (WeisfeilerLehman(2, base="shortest-path"), True),
        (optimized(2, base="shortest-path", random_state=0), True),
        (ContinuousWeisfeilerLehman(random_state=0), True),
        (GraphletSampling(random_state=0), True),
    ],
    ids=str,
)
def test_a_hexagon_and_two_triangles_have_the_same_trees(kernel, told):
    triangles = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    graphs = GraphCollection.from_edges([(6, [(i, (i + 1) % 6) for i in range(6)]), (6, triangles)])
    matrix = kernel.fit_kernel_matrix(graphs)
    assert np.allclose(matrix, matrix[0, 0]) != told

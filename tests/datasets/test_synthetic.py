"""Generators: matched counts, exact noise, seeds, and no giveaway that is not structure."""

import time
import zipfile
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from relaxwl.datasets import synthetic
from relaxwl.datasets.synthetic import EGONET_MODELS, make_block_graphs, make_egonets, make_perturbed
from relaxwl.graphs import GraphCollection

LEVELS = (1, 2, 3, 4)


@pytest.fixture(scope="module", params=LEVELS)
def egonets(request: pytest.FixtureRequest) -> tuple[int, GraphCollection, np.ndarray]:
    return request.param, *make_egonets(40, level=request.param, random_state=request.param)


def counts(graphs: GraphCollection) -> list[tuple[int, int]]:
    return sorted(zip(graphs.node_counts.tolist(), graphs.edge_counts.tolist(), strict=True))


def is_simple_and_symmetric(graphs: GraphCollection) -> bool:
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    arcs = set(zip(sources.tolist(), graphs.indices.tolist(), strict=True))
    inside = graphs.graph_of_node[sources] == graphs.graph_of_node[graphs.indices]
    return (
        len(arcs) == len(sources) and bool(inside.all()) and all(u != v for u, v in arcs)
        and all((v, u) in arcs for u, v in arcs)
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ make_egonets


@pytest.mark.parametrize("level", LEVELS)
def test_twins_have_exactly_the_same_counts(level):
    graphs, y = make_egonets(40, level, twins=True, n_nodes=(30, 60), random_state=level)
    assert np.bincount(y).tolist() == [10] * len(EGONET_MODELS)
    reference = counts(graphs[y == 0])
    assert all(counts(graphs[y == c]) == reference for c in range(1, len(EGONET_MODELS)))


@pytest.mark.parametrize("level", LEVELS)
def test_counts_of_all_classes_have_the_same_distribution(level):
    graphs, y = make_egonets(800, level, n_nodes=(25, 60), random_state=level)
    n, m = graphs.node_counts, graphs.edge_counts
    for values in (n, m, m / (n * (n - 1))):
        for c in range(len(EGONET_MODELS)):
            assert ks_2samp(values[y == c], values[y != c]).pvalue > 0.01


def test_counts_lie_in_the_ranges_of_the_level(egonets):
    level, graphs, _ = egonets
    low, high = {1: (130, 150), 2: (170, 190), 3: (210, 230), 4: (250, 270)}[level]
    sparse, dense = {1: (0.03, 0.09), 2: (0.07, 0.11), 3: (0.11, 0.15), 4: (0.15, 0.19)}[level]
    n, m = graphs.node_counts, graphs.edge_counts
    density = 2 * m / (n * (n - 1))
    assert ((n >= low) & (n <= high)).all()
    assert ((density > sparse - 0.001) & (density < dense + 0.001)).all()


def test_egonets_are_simple_unlabeled_and_without_isolated_nodes(egonets):
    _, graphs, _ = egonets
    assert is_simple_and_symmetric(graphs)
    assert not graphs.is_labeled
    assert graphs.degrees.min() >= 1


def test_levels_grow_in_size_degree_and_density():
    n, m = np.array(
        [(g.n_nodes, g.n_edges) for g in (make_egonets(16, level, random_state=0)[0] for level in LEVELS)]
    ).T
    assert (np.diff(n) > 0).all()
    assert (np.diff(m / n) > 0).all()
    assert (np.diff(m / n**2) > 0).all()


def test_level_one_resembles_the_published_set(shared):
    with zipfile.ZipFile(shared / "data" / "EGO-1.zip") as archive:
        indicator = np.array(archive.read("EGO-1/EGO-1_graph_indicator.txt").split(), int)
        n_edges = len(archive.read("EGO-1/EGO-1_A.txt").splitlines())
    n = np.bincount(indicator)[1:]
    graphs, _ = make_egonets(200, level=1, random_state=0)
    assert n.min() <= graphs.node_counts.min()
    assert graphs.node_counts.max() <= n.max()
    assert abs(graphs.node_counts.mean() - n.mean()) < 3
    assert abs(graphs.edge_counts.mean() / (n_edges / len(n)) - 1) < 0.1


COUNTERS = [KNeighborsClassifier(1), SVC(C=1.0), SVC(C=1000.0), SVC(kernel="linear", C=10.0)]


def accuracy_of_counting(graphs, y, model):
    X = np.column_stack([graphs.node_counts, graphs.edge_counts])
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    return cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=folds).mean()


@pytest.mark.parametrize("model", COUNTERS, ids=repr)
@pytest.mark.parametrize("level", LEVELS)
def test_counting_does_not_beat_chance_on_one_set(level, model):
    graphs, y = make_egonets(100, level, n_nodes=(25, 60), random_state=0)
    assert accuracy_of_counting(graphs, y, model) <= 0.35


@pytest.mark.slow
def test_counting_is_at_chance_on_average():
    """Not above one in four, nor far below, as it would be if held-out graphs had twins in other classes."""
    scores = [
        accuracy_of_counting(*make_egonets(100, n_nodes=(25, 60), random_state=s), COUNTERS[0]) for s in range(20)
    ]
    assert 0.17 < np.mean(scores) < 0.3


def test_neither_the_order_of_graphs_nor_of_nodes_tells_the_class(egonets):
    """Degrees do not depend on the node number, and classes are not in blocks."""
    _, graphs, y = egonets
    assert 20 < np.count_nonzero(np.diff(y)) < 39
    for c in range(len(EGONET_MODELS)):
        members = graphs[y == c]
        number = np.arange(members.n_nodes) - members.offsets[members.graph_of_node]
        assert abs(np.corrcoef(number, members.degrees)[0, 1]) < 4 / np.sqrt(members.n_nodes)


def test_only_the_activity_model_has_no_more_triangles_than_its_degrees_explain():
    """Shuffling edges while keeping all degrees destroys triangles of every model but the one without any mechanism."""
    graphs, y = make_egonets(24, level=1, random_state=3)
    ratio = np.empty(len(graphs))
    for i, graph in enumerate(graph.to_networkx() for graph in graphs):
        before = nx.transitivity(graph)
        nx.double_edge_swap(graph, nswap=3 * graph.number_of_edges(), max_tries=10**6, seed=i)
        ratio[i] = before / nx.transitivity(graph)
    mean = {name: ratio[y == c].mean() for c, name in enumerate(EGONET_MODELS)}
    assert 0.9 < mean["activity"] < 1.1
    assert min(mean["triads"], mean["communities"], mean["geometry"]) > 1.1


@pytest.mark.parametrize("n_graphs", [1, 2, 3, 5, 42])
def test_a_number_that_is_no_multiple_of_four(n_graphs):
    graphs, y = make_egonets(n_graphs, n_nodes=(30, 40), twins=True, random_state=0)
    sizes = np.bincount(y, minlength=4)
    assert len(graphs) == len(y) == n_graphs
    assert sizes.max() - sizes.min() <= 1
    largest = counts(graphs[y == sizes.argmax()])
    for c in range(4):
        assert not Counter(counts(graphs[y == c])) - Counter(largest)


@settings(max_examples=20, deadline=None)
@given(level=st.sampled_from(LEVELS), low=st.integers(20, 60), extra=st.integers(0, 20), seed=st.integers(0, 2**32))
def test_any_size_gives_simple_graphs_with_the_counts_drawn(level, low, extra, seed):
    graphs, y = make_egonets(8, level, n_nodes=(low, low + extra), twins=True, random_state=seed)
    assert is_simple_and_symmetric(graphs)
    assert graphs.degrees.min() >= 1
    assert (graphs.node_counts >= low).all()
    assert (graphs.node_counts <= low + extra).all()
    assert len({tuple(counts(graphs[y == c])) for c in range(4)}) == 1


@pytest.mark.slow
def test_the_largest_set_takes_seconds():
    start = time.perf_counter()
    make_egonets(200, level=4, random_state=0)
    assert time.perf_counter() - start < 30  # 2 s on an idle machine


# ---------------------------------------------------------------------------------------------- make_perturbed


@settings(max_examples=40, deadline=None)
@given(
    n_classes=st.integers(1, 4),
    n_nodes=st.integers(1, 15),
    rewired=st.floats(0, 0.5),
    n_labels=st.none() | st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_perturbed_graphs_have_equal_counts(n_classes, n_nodes, rewired, n_labels, seed):
    n_edges = n_nodes * (n_nodes - 1) // 4
    graphs, y = make_perturbed(
        9, n_classes, n_nodes=n_nodes, n_edges=n_edges, rewired=rewired, n_labels=n_labels, random_state=seed
    )
    assert is_simple_and_symmetric(graphs)
    assert (graphs.node_counts == n_nodes).all()
    assert (graphs.edge_counts == n_edges).all()
    sizes = np.bincount(y, minlength=n_classes)
    assert sizes.max() - sizes.min() <= 1
    assert graphs.is_labeled == (n_labels is not None)
    if n_labels is not None:
        assert len({tuple(sorted(graph.node_labels)) for graph in graphs}) == 1


def test_without_noise_a_class_is_one_graph_up_to_the_order_of_nodes():
    graphs, y = make_perturbed(12, 3, n_nodes=12, rewired=0.0, n_labels=3, random_state=1)
    drawn = [graph.to_networkx() for graph in graphs]
    for graph, labels in zip(drawn, (g.node_labels for g in graphs), strict=True):
        nx.set_node_attributes(graph, dict(enumerate(labels)), "kind")
    same_kind = nx.algorithms.isomorphism.categorical_node_match("kind", None)
    for i in range(12):
        for j in range(i):
            assert nx.is_isomorphic(drawn[i], drawn[j], node_match=same_kind) == (y[i] == y[j])
    assert len({graph.edges.tobytes() for graph in graphs}) == 12


@pytest.mark.parametrize(("rewired", "moved"), [(0.0, 0), (0.1, 2), (0.25, 5), (1.0, 20)])
def test_exactly_the_given_fraction_of_edges_is_moved(rewired, moved):
    """As many labels as nodes make nodes recognisable, so edges can be compared with the template's."""
    options = {"n_nodes": 10, "n_edges": 20, "n_labels": 10, "random_state": 5}

    def named_edges(graph):
        labels = graph.node_labels
        return {frozenset((labels[u], labels[v])) for u, v in graph.edges}

    template = named_edges(make_perturbed(1, 1, rewired=0.0, **options)[0][0])
    for graph in make_perturbed(5, 1, rewired=rewired, **options)[0]:
        assert len(named_edges(graph) - template) == moved


def test_more_edges_than_the_default_fit_into_a_tiny_graph():
    graphs, _ = make_perturbed(2, 1, n_nodes=3, rewired=0.0, random_state=0)
    assert graphs.edge_counts.tolist() == [3, 3]


# ------------------------------------------------------------------------------------------ seeds and arguments

GENERATORS = {
    "egonets": lambda seed: make_egonets(8, n_nodes=25, random_state=seed),
    "perturbed": lambda seed: make_perturbed(8, n_labels=2, random_state=seed),
}


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS.keys())
@pytest.mark.parametrize(
    "seed",
    [
        lambda: 7,
        lambda: np.int64(7),
        lambda: np.random.default_rng(7),
        lambda: np.random.SeedSequence(7),
        lambda: np.random.RandomState(7),
    ],
    ids=["int", "numpy int", "Generator", "SeedSequence", "RandomState"],
)
def test_same_seed_same_graphs(make, seed):
    graphs, y = make(seed())
    again, y_again = make(seed())
    assert graphs == again
    assert y.tolist() == y_again.tolist()


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS.keys())
def test_other_seeds_and_no_seed_give_other_graphs(make):
    drawn = [make(seed)[0] for seed in (0, 1, None, None)]
    assert len({graphs.fingerprint() for graphs in drawn}) == 4


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS.keys())
def test_a_generator_advances_and_the_global_state_does_not(make):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    rng = np.random.default_rng(0)
    assert make(rng)[0] != make(rng)[0]
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_graphs": 0}, ValueError, "n_graphs must be an integer >= 1"),
        ({"n_graphs": 2.5}, TypeError, "n_graphs must be an integer"),
        ({"level": 5}, ValueError, "level must be an integer from 1 to 4"),
        ({"level": 0}, ValueError, "level must be an integer from 1 to 4"),
        ({"level": "dense"}, TypeError, "level must be an integer from 1 to 4"),
        ({"n_nodes": 5}, ValueError, "n_nodes must be an integer >= 20"),
        ({"n_nodes": (50, 40)}, ValueError, r"pair \(lowest, highest\), not \(50, 40\)"),
        ({"n_nodes": (20, 30, 40)}, ValueError, "n_nodes must be a number of nodes or a pair"),
        ({"n_nodes": 30.0}, TypeError, "n_nodes must be an integer"),
        ({"random_state": -1}, ValueError, "random_state must be an integer >= 0"),
        ({"random_state": "x"}, ValueError, "random_state must be an integer >= 0"),
    ],
)
def test_bad_arguments_of_egonets_are_named(options, error, message):
    with pytest.raises(error, match=message):
        make_egonets(**options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_graphs": 0}, ValueError, "n_graphs must be an integer >= 1"),
        ({"n_classes": 0}, ValueError, "n_classes must be an integer >= 1"),
        ({"n_nodes": True}, TypeError, "n_nodes must be an integer"),
        ({"n_labels": 0}, ValueError, "n_labels must be an integer >= 1"),
        ({"n_edges": -1}, ValueError, "n_edges must be an integer >= 0"),
        ({"n_nodes": 5, "n_edges": 11}, ValueError, "5 nodes have only 10 pairs"),
        ({"rewired": 1.5}, ValueError, "rewired must be a finite number >= 0 and <= 1"),
        ({"rewired": float("nan")}, ValueError, "rewired must be a finite number >= 0 and <= 1"),
        ({"n_nodes": 5, "n_edges": 9, "rewired": 0.5}, ValueError, "only 1 node pairs are free"),
    ],
)
def test_bad_arguments_of_perturbed_are_named(options, error, message):
    with pytest.raises(error, match=message):
        make_perturbed(**options)


# ------------------------------------------------------------------------------------------------- block graphs


def test_block_graphs_have_equal_degrees_of_blocks_and_different_cycles():
    for seed in range(5):
        one, other = synthetic._block_plans(16, np.random.default_rng(seed))
        assert sorted(one.sum(axis=0)) == sorted(other.sum(axis=0))
        assert one.sum() == other.sum() == 16 + 2 * 16  # the diagonal, 15 edges of a tree and one more
        graphs = [nx.from_numpy_array(plan & ~np.eye(16, dtype=bool)) for plan in (one, other)]
        lengths = [len(nx.cycle_basis(graph)[0]) for graph in graphs]
        assert lengths[0] != lengths[1]


def test_block_graphs():
    graphs, y = make_block_graphs(20, p=1.0, n_noise_edges=7, random_state=3)
    assert np.bincount(y).tolist() == [10, 10]
    assert set(graphs.node_counts.tolist()) == {128}
    assert set(graphs.edge_counts.tolist()) == {16 * 28 + 16 * 64 + 7}
    again, _ = make_block_graphs(20, p=1.0, n_noise_edges=7, random_state=3)
    assert again == graphs
    with pytest.raises(ValueError, match="n_blocks must be an integer >= 5, not 4"):
        make_block_graphs(4, n_blocks=4)
    with pytest.raises(ValueError, match="only 5 node pairs are free"):
        make_block_graphs(4, n_blocks=5, block_size=1, p=1.0, n_noise_edges=100)

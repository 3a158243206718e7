"""The ranking finds what was planted, noise is not sold as insight, and numbers add up."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_selection import f_classif
from sklearn.svm import LinearSVC

from explanation.planted import contains, planted
from relaxed_kernels import optimized
from relaxwl import EditCost, GraphCollection, WeisfeilerLehman
from relaxwl.explanation import explain
from relaxwl.explanation.explain import check_chance
from relaxwl.explanation.weights import read_target


def with_pattern(pattern: list[tuple[int, int]], size: int, seed: int) -> tuple[GraphCollection, np.ndarray]:
    """Make random sparse graphs, as large in both classes; a part of those of class 1 is a pattern."""
    rng = np.random.default_rng(seed)
    y = np.arange(40) % 2
    graphs = []
    for wanted in y:
        n = int(rng.integers(20, 30)) + (0 if wanted else size)
        edges = {(i, i + 1) for i in range(n - 1)}
        edges |= {(int(a), int(a + rng.integers(2, 5))) for a in rng.choice(n - 5, n // 4, replace=False)}
        if wanted:
            edges |= {(n + a, n + b) for a, b in pattern} | {(0, n)}
        graphs.append((n + (size if wanted else 0), sorted(edges)))
    return GraphCollection.from_edges(graphs), y


PATTERNS = {
    "clique": ([(a, b) for b in range(6) for a in range(b)], 6),
    "bipartite": ([(a, b) for a in range(4) for b in range(4, 8)], 8),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PATTERNS)
def test_top_cluster_contains_the_planted_pattern(name, seed):
    pattern, size = PATTERNS[name]
    graphs, y = with_pattern(pattern, size, seed)
    kernel = optimized(max_depth=2, n_partitions=2, n_clusters=2.0, random_state=seed)
    top = explain(kernel, graphs, y, n_permutations=199).clusters[0]
    assert top.better_than_chance
    assert top.p_value == 1 / 200
    assert top.typical_class == 1
    # Elsewhere hardly any node has this many neighbors.
    degrees = np.bincount(np.array(pattern).reshape(-1))
    assert max(len(part.children) for part in top.center.distinct_subtrees()) >= degrees.max()
    assert top.frequency[0] < 0.25 * top.frequency[1]


def test_labeled_pattern_is_among_the_best(explanation):
    best = [cluster for cluster in explanation.clusters[:10] if cluster.typical_class == 1]
    assert any(contains(cluster.center, "X", {"A", "B", "C", "D"}) for cluster in best)


def test_exact_kernel_recovers_the_pattern_too():
    graphs, y = planted()
    top = explain(WeisfeilerLehman(max_depth=1), graphs, y, n_permutations=99).clusters[0]
    assert top.better_than_chance
    assert {"X", "A", "B", "C", "D"} & {top.center.label}


def test_deterministic(explanation):
    graphs, y = planted()
    kernel = optimized(max_depth=2, n_partitions=2, n_clusters=2.0, random_state=0, n_jobs=2)
    again = explain(kernel, graphs, y, n_permutations=199)
    assert again.summary() == explanation.summary()
    for one, other in zip(explanation.clusters, again.clusters, strict=True):
        assert (one.columns, one.p_value, one.share) == (other.columns, other.p_value, other.share)
        np.testing.assert_array_equal(one.weights, other.weights)


def test_noise_is_called_noise():
    graphs, y = planted()
    shuffled = np.random.default_rng(3).permutation(y)
    kernel = optimized(max_depth=2, n_partitions=1, random_state=0)
    found = explain(kernel, graphs, shuffled, n_permutations=199)
    assert not any(cluster.better_than_chance for cluster in found.clusters)
    assert "0 significantly associated with the classes" in found.summary()


def test_typical_class_has_the_largest_mean_count():
    # Graphs of class 1 are larger: each has more leaves than one of class 0, and a smaller share of leaves.
    star, caterpillar = [(0, i) for i in range(1, 5)], [(i, i + 1) for i in range(19)] + [(i, i + 20) for i in range(8)]
    graphs = GraphCollection.from_edges([(5, star), (28, caterpillar)] * 10)
    found = explain(WeisfeilerLehman(max_depth=1), graphs, [0, 1] * 10, n_permutations=99)
    (leaf,) = [cluster for cluster in found.clusters if str(cluster.center) == "0(0)"]
    assert leaf.frequency.argmax() == 0
    assert leaf.mean_count.tolist() == [4, 9]
    assert leaf.typical_class == 1
    assert all(cluster.typical_class == cluster.mean_count.argmax() for cluster in found.clusters)


def test_unseen_graphs_can_be_explained():
    graphs, y = planted(20)
    kernel = optimized(max_depth=2, n_partitions=1, random_state=0).fit(graphs[:10])
    strange = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["Q", "Q", "a"])])
    mixed = GraphCollection.concatenate([graphs[10:], strange])
    found = explain(kernel, mixed, [*y[10:], 0], n_permutations=9)
    evidence = found.explain_graph(10)
    np.testing.assert_allclose(evidence.evidence.sum(axis=0) + found.model.intercept, evidence.scores)


def test_attributes_and_edge_labels():
    rng = np.random.default_rng(0)
    graphs = GraphCollection.from_edges([(5, [(i, i + 1) for i in range(4)])] * 8)
    with_attributes = GraphCollection(
        graphs.offsets, graphs.indptr, graphs.indices, node_attributes=rng.normal(size=(graphs.n_nodes, 2)),
        edge_codes=np.zeros(len(graphs.indices), np.int32), edge_vocabulary=("single",),
    )  # fmt: skip
    y = np.arange(8) % 2
    cost = EditCost.from_attributes(blank=1.0, n_codes=3)
    kernel = optimized(max_depth=2, n_partitions=1, cost=cost, edge_labels=True, random_state=0)
    found = explain(kernel, with_attributes, y, n_permutations=9)
    for cluster in found.clusters:
        for member in found.members(cluster).nearest:
            assert member.mapping.apply() == member.mapping.target
            assert len(member.mapping.source.label) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0, 1]}, "y must contain one value for each"),
        ({"y": [0] * 12}, "at least two classes"),
        ({"kernel": WeisfeilerLehman(base="edge")}, "base='subtree'"),
        ({"n_permutations": -1}, "n_permutations"),
        ({"significance": 2.0}, "significance"),
        ({"model": LinearSVC()}, "coef_"),
    ],
)
def test_bad_input(change, message):
    graphs, y = planted(12)
    arguments = {"kernel": WeisfeilerLehman(max_depth=1), "graphs": graphs, "y": y, **change}
    with pytest.raises(ValueError, match=message):
        explain(**arguments)


# -------- the check against chance, against its definition


def slow_effect(column, y):
    """Share of the variance that class means explain."""
    mean = column.mean()
    between = sum((y == k).sum() * (column[y == k].mean() - mean) ** 2 for k in np.unique(y))
    return between / ((column - mean) ** 2).sum()


def of(y, task="classification"):
    return read_target(y, len(y), task)


def test_effect_and_p_value_are_as_defined():
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    features = rng.poisson(2.0, (24, 7)).astype(float)
    features[:, 0] += 3 * (y == 1)
    effects, p_values = check_chance(csr_array(features), of(y), 50, seed=5)
    expected = [slow_effect(column, y) for column in features.T]
    np.testing.assert_allclose(effects, expected)
    again = np.random.default_rng(5)
    largest = []
    for _ in range(50):
        shuffled = again.permutation(y)
        largest.append(max(slow_effect(column, shuffled) for column in features.T))
    for effect, p_value in zip(expected, p_values, strict=True):
        assert p_value == pytest.approx((1 + sum(value >= effect - 1e-12 for value in largest)) / 51)


def test_effect_orders_features_like_the_f_statistic():
    rng = np.random.default_rng(1)
    y = np.arange(30) % 2
    features = rng.normal(size=(30, 9))
    effects, p_values = check_chance(csr_array(features), of(y), 0, seed=0)
    np.testing.assert_array_equal(np.argsort(effects), np.argsort(f_classif(features, y)[0]))
    assert (p_values == 1).all()


def test_constant_features_have_no_effect():
    features = csr_array(np.column_stack([np.full(10, 0.1), np.arange(10.0)]))
    effects, p_values = check_chance(features, of(np.arange(10) % 2), 20, seed=0)
    assert effects[0] == 0
    assert p_values[0] == 1


def test_nothing_varies():
    _, p_values = check_chance(csr_array(np.ones((6, 2))), of(np.arange(6) % 2), 20, seed=0)
    assert (p_values == 1).all()


def test_few_are_significant_by_chance():
    rng = np.random.default_rng(2)
    y = np.arange(20) % 2
    hits = 0
    for seed in range(40):
        features = csr_array(rng.poisson(1.0, (20, 30)).astype(float))
        hits += check_chance(features, of(y), 99, seed)[1].min() <= 0.05
    # 2 of 40 are expected; 9 or more would happen once in ten thousand times.
    assert hits < 9


def test_numbers_are_compared_by_correlation():
    rng = np.random.default_rng(3)
    y = rng.normal(size=25)
    features = rng.normal(size=(25, 6))
    features[:, 0] += y
    effects, p_values = check_chance(csr_array(features), of(y, "regression"), 40, seed=1)
    expected = [np.corrcoef(column, y)[0, 1] ** 2 for column in features.T]
    np.testing.assert_allclose(effects, expected)
    again, largest = np.random.default_rng(1), []
    for _ in range(40):
        shuffled = y[again.permutation(25)]
        largest.append(max(np.corrcoef(column, shuffled)[0, 1] ** 2 for column in features.T))
    for effect, p_value in zip(expected, p_values, strict=True):
        assert p_value == pytest.approx((1 + sum(value >= effect - 1e-12 for value in largest)) / 41)

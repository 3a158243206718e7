"""The ranking finds what was planted, noise is not sold as insight, and numbers add up."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from relaxwl import EditCost, GraphCollection, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.explanation import explain
from relaxwl.explanation.weights import PENALTIES, fit_weights
from relaxwl.unfolding.tree import UnfoldingTree


def planted(n_graphs: int = 40, seed: int = 0) -> tuple[GraphCollection, np.ndarray]:
    """Make random labelled graphs; in class 1 a vertex X with the four neighbours A, B, C, D hangs on each."""
    rng = np.random.default_rng(seed)
    graphs = []
    y = np.arange(n_graphs) % 2
    for wanted in y:
        n = int(rng.integers(10, 16))
        edges = {(int(rng.integers(i)), i) for i in range(1, n)}
        edges |= {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(n // 2)}
        labels = list(rng.choice(["a", "b"], n))
        # Both classes get the same five labels; only in class 1 they are around one vertex.
        labels += ["X", "A", "B", "C", "D"]
        others = range(n + 1, n + 5)
        edges |= {(n, i) for i in others} if wanted else {(i, i + 1) for i in range(n, n + 4)}
        edges.add((0, n))
        graphs.append((n + 5, sorted(edges), labels))
    return GraphCollection.from_edges(graphs), y


def contains(tree: UnfoldingTree, root: str, children: set[str]) -> bool:
    return any(
        part.label == root and children <= {child.label for child in part.children} for part in tree.distinct_subtrees()
    )


@pytest.fixture(scope="module")
def explanation():
    graphs, y = planted()
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=2, n_clusters=2.0, random_state=0)
    return explain(kernel, graphs, y, n_permutations=199)


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
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=2, n_clusters=2.0, random_state=seed)
    top = explain(kernel, graphs, y, n_permutations=199).clusters[0]
    assert top.better_than_chance
    assert top.p_value == 1 / 200
    assert top.typical_class == 1
    # Elsewhere hardly any vertex has this many neighbours.
    degrees = np.bincount(np.array(pattern).reshape(-1))
    assert max(len(part.children) for part in top.center.distinct_subtrees()) >= degrees.max()
    assert top.frequency[0] < 0.25 * top.frequency[1]


def test_labelled_pattern_is_among_the_best(explanation):
    best = [cluster for cluster in explanation.clusters[:10] if cluster.typical_class == 1]
    assert any(contains(cluster.center, "X", {"A", "B", "C", "D"}) for cluster in best)


def test_exact_kernel_recovers_the_pattern_too():
    graphs, y = planted()
    top = explain(WeisfeilerLehman(max_depth=1), graphs, y, n_permutations=99).clusters[0]
    assert top.better_than_chance
    assert {"X", "A", "B", "C", "D"} & {top.center.label}


def test_deterministic(explanation):
    graphs, y = planted()
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=2, n_clusters=2.0, random_state=0, n_jobs=2)
    again = explain(kernel, graphs, y, n_permutations=199)
    assert again.summary() == explanation.summary()
    for one, other in zip(explanation.clusters, again.clusters, strict=True):
        assert (one.column, one.p_value, one.share) == (other.column, other.p_value, other.share)
        np.testing.assert_array_equal(one.weights, other.weights)


def test_noise_is_called_noise():
    graphs, y = planted()
    shuffled = np.random.default_rng(3).permutation(y)
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=1, random_state=0)
    found = explain(kernel, graphs, shuffled, n_permutations=199)
    assert not any(cluster.better_than_chance for cluster in found.clusters)
    assert "0 separate the classes better than chance" in found.summary()


def test_clusters_better_than_chance_come_first_and_shares_sum_to_one(explanation):
    verdicts = [cluster.better_than_chance for cluster in explanation.clusters]
    assert verdicts == sorted(verdicts, reverse=True)
    assert [cluster.rank for cluster in explanation.clusters] == list(range(1, len(verdicts) + 1))
    assert sum(cluster.share for cluster in explanation.clusters) == pytest.approx(1.0)


def test_frequencies_are_those_of_the_groups(explanation):
    groups = explanation.kernel.node_groups(explanation.graphs)
    owners = explanation.y[explanation.graphs.graph_of_node]
    for cluster in explanation.clusters[:20]:
        inside = groups[cluster.partition][cluster.depth] == cluster.group
        assert cluster.size == inside.sum()
        for k in (0, 1):
            assert cluster.frequency[k] == pytest.approx(inside[owners == k].mean())
            assert cluster.mean_count[k] == pytest.approx(inside[owners == k].sum() / (explanation.y == k).sum())
        with_it = np.unique(explanation.graphs.graph_of_node[inside])
        assert cluster.n_graphs == len(with_it)
        assert cluster.presence[1] == pytest.approx((explanation.y[with_it] == 1).sum() / (explanation.y == 1).sum())


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


def test_given_model():
    graphs, y = planted()
    kernel = RelaxedWeisfeilerLehman(max_depth=1, n_partitions=1, random_state=0).fit(graphs)
    features = kernel.transform(graphs)
    model = LogisticRegression(max_iter=5000).fit(features, y)
    found = explain(kernel, graphs, y, model, n_permutations=19)
    assert found.model.accuracy is None
    np.testing.assert_allclose(found.model.scores(features)[:, 1], model.decision_function(features))
    top = found.clusters[0]
    assert top.weights[1] == pytest.approx(model.coef_[0, top.column])


def linear_models():
    svm = LinearSVC(max_iter=20_000)
    return {
        "one against the rest": OneVsRestClassifier(LogisticRegression(max_iter=5000)),
        "sparse weights": OneVsRestClassifier(SVC(kernel="linear")),
        "search": GridSearchCV(svm, {"C": [0.1, 1.0]}, cv=2),
        "search in each class": OneVsRestClassifier(GridSearchCV(svm, {"C": [0.1, 1.0]}, cv=2)),
        "pipeline": GridSearchCV(Pipeline([("same", "passthrough"), ("svm", svm)]), {"svm__C": [0.1]}, cv=2),
    }


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", linear_models())
def test_models_around_linear_models_are_looked_into(name, n_classes):
    graphs, _ = planted(18)
    y = np.arange(18) % n_classes
    kernel = WeisfeilerLehman(max_depth=1, normalize=True).fit(graphs)
    features = kernel.transform(graphs)
    model = linear_models()[name].fit(features, y)
    found = explain(kernel, graphs, y, model, n_permutations=0)
    scores = found.model.scores(features)
    np.testing.assert_allclose(scores if n_classes > 2 else scores[:, 1], model.decision_function(features))


def test_pipeline_of_the_kernel_and_a_model():
    graphs, y = planted(12)
    kernel = WeisfeilerLehman(max_depth=1, normalize=True)
    pipeline = make_pipeline(kernel, LinearSVC()).fit(graphs, y)
    found = explain(kernel, graphs, y, pipeline, n_permutations=0)
    np.testing.assert_allclose(found.model.scores(found.features)[:, 1], pipeline.decision_function(graphs))


def test_own_model_predicts(explanation):
    scores = explanation.model.scores(explanation.features)
    assert (scores.argmax(axis=1) == explanation.y).mean() > 0.9
    assert explanation.model.accuracy is not None
    assert explanation.model.accuracy > 0.8


def test_weights_are_those_of_the_machine():
    graphs, y = planted(30)
    y = np.arange(30) % 3
    kernel = RelaxedWeisfeilerLehman(max_depth=1, n_partitions=1, random_state=0).fit(graphs)
    found = explain(kernel, graphs, y, n_permutations=9)
    features = kernel.transform(graphs).toarray()
    scaled = features / np.sqrt((features**2).sum(axis=1).mean())
    for k in range(3):
        machine = SVC(kernel="linear", C=found.model.penalty).fit(scaled, y == k)
        np.testing.assert_allclose(
            found.model.scores(kernel.transform(graphs))[:, k], machine.decision_function(scaled), atol=0.02
        )


def test_accuracy_is_that_of_nested_cross_validation(monkeypatch):
    monkeypatch.setattr("relaxwl.explanation.weights.N_FOLDS", 3)
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    features = rng.normal(size=(30, 6)) + 0.4 * np.eye(6)[y]
    gram = features @ features.T / (features**2).sum(axis=1).mean()
    machine = OneVsRestClassifier(SVC(kernel="precomputed"))

    def search(graphs, folds):
        place = {graph: i for i, graph in enumerate(graphs)}
        tests = [[place[graph] for graph in fold] for fold in folds]
        splits = [(np.setdiff1d(range(len(graphs)), test), test) for test in tests]
        return GridSearchCV(machine, {"estimator__C": PENALTIES}, cv=splits).fit(
            gram[np.ix_(graphs, graphs)], y[graphs]
        )

    folds = [test for _, test in StratifiedKFold(3, shuffle=True, random_state=0).split(gram, y)]
    accuracies = []
    for held_out in folds:
        others = [fold for fold in folds if fold is not held_out]
        train = np.concatenate(others)
        accuracies.append(search(train, others).score(gram[np.ix_(held_out, train)], y[held_out]))
    best = search(np.arange(30), folds)
    fitted = fit_weights(csr_array(features), y, 3, 0)
    assert fitted.penalty == best.best_params_["estimator__C"]
    assert fitted.accuracy == pytest.approx(np.mean(accuracies))
    assert fitted.accuracy != pytest.approx(best.best_score_)


def test_no_accuracy_where_classes_are_too_small_to_hold_out_graphs():
    graphs, _ = planted(8)
    for small in (1, 2):
        found = explain(WeisfeilerLehman(max_depth=1), graphs, [1] * small + [0] * (8 - small), n_permutations=0)
        assert found.model.accuracy is None
        assert "held-out" not in found.summary()


def test_graph_can_be_drawn_with_its_most_telling_vertices(explanation):
    found = explanation.explain_graph(3)
    telling = found.clusters[:2]
    lit = set(np.concatenate([item.nodes for item in telling]).tolist())
    svg = found.to_svg(n_clusters=2, title="a < b")
    root = ElementTree.fromstring(svg)
    circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert sum(e.get("class") == "node" for e in circles) == explanation.graphs[3].n_nodes
    assert sum(e.get("class") == "node lit" for e in circles) == len(lit)
    assert root.find("{http://www.w3.org/2000/svg}title").text == "a < b"
    assert ": X" in svg
    assert "lit" not in found.to_svg(n_clusters=0, embed_style=False)
    assert all(str(item.cluster.rank) in found._repr_svg_() for item in found.clusters[:3])
    with pytest.raises(ValueError, match="n_clusters"):
        found.to_svg(-1)


def test_drawing_does_not_sell_noise(explanation):
    found = explanation.explain_graph(3)
    better = [item for item in found.clusters if item.cluster.better_than_chance]
    lit = set(np.concatenate([item.nodes for item in better]).tolist())
    assert len(better) < len(found.clusters)
    assert (
        found.to_svg(n_clusters=1000, embed_style=False).count("node lit") == len(lit) < explanation.graphs[3].n_nodes
    )
    noise = replace(found, clusters=tuple(item for item in found.clusters if item not in better))
    assert "not better than chance" in noise.to_svg()
    assert "not better than chance" not in found.to_svg()


def test_graph_evidence_sums_up_to_the_scores(explanation):
    found = explanation.explain_graph(3)
    np.testing.assert_allclose(found.evidence.sum(axis=0) + explanation.model.intercept, found.scores)
    assert (found.actual, found.predicted) == (1, 1)
    ranks = [item.cluster.rank for item in found.clusters]
    assert ranks == sorted(ranks)
    groups = explanation.kernel.node_groups(explanation.graphs[[3]])
    for item in found.clusters:
        inside = np.flatnonzero(groups[item.cluster.partition][item.cluster.depth] == item.cluster.group)
        np.testing.assert_array_equal(item.nodes, inside)


@pytest.mark.parametrize("similarity", ["dot", "intersection", "tanimoto"])
@pytest.mark.parametrize("normalize", [False, True, "depth"])
@pytest.mark.parametrize("depth_weights", [None, [0.5, 2.0, 0.0]])
def test_pair_values_sum_up_to_the_kernel_value(similarity, normalize, depth_weights):
    graphs, y = planted(12)
    kernel = RelaxedWeisfeilerLehman(
        max_depth=2, n_partitions=2, similarity=similarity, normalize=normalize, depth_weights=depth_weights,
        random_state=0,
    ).fit(graphs)  # fmt: skip
    found = explain(kernel, graphs, y, n_permutations=0)
    pair = found.explain_pair(1, 2)
    expected = kernel.kernel_matrix(graphs)[1, 2]
    assert pair.value == pytest.approx(expected)
    total = sum(part.value for part in pair.shared)
    whole = not normalize and depth_weights is None and similarity != "tanimoto"
    assert total == (pair.value if whole else pytest.approx(pair.value))
    assert sum(part.share for part in pair.shared) == pytest.approx(1.0)
    values = [part.value for part in pair.shared]
    assert values == sorted(values, reverse=True)
    if normalize == "depth" or (not normalize and similarity != "tanimoto"):
        prefixes = [matrix[1, 2] for matrix in kernel.compare(kernel.prepare(graphs), None, kernel.variations())]
        for depth, added in enumerate(np.diff(prefixes, prepend=0.0)):
            of_depth = sum(part.value for part in pair.shared if part.cluster.depth == depth)
            assert of_depth == pytest.approx(added, abs=1e-12)
    if depth_weights is None and not normalize and similarity == "dot":
        assert all(part.value == part.counts[0] * part.counts[1] for part in pair.shared)
    evidence = found.explain_graph(0)
    np.testing.assert_allclose(evidence.evidence.sum(axis=0) + found.model.intercept, evidence.scores)


@pytest.mark.parametrize("similarity", ["dot", "intersection", "tanimoto"])
@pytest.mark.parametrize("normalize", [True, "depth"])
def test_pairs_of_unseen_graphs_count_what_was_not_met_in_fitting(similarity, normalize):
    graphs, y = planted(20)
    options = {"max_depth": 2, "similarity": similarity, "normalize": normalize}
    for kernel in (WeisfeilerLehman(**options), RelaxedWeisfeilerLehman(n_partitions=2, random_state=0, **options)):
        found = explain(kernel.fit(graphs[:4]), graphs, y, n_permutations=0)
        pair = found.explain_pair(10, 11)
        assert pair.value == pytest.approx(kernel.kernel_matrix(graphs)[10, 11])
        assert sum(part.value for part in pair.shared) == pytest.approx(pair.value)
    nothing = GraphCollection.concatenate([graphs[:4], GraphCollection.from_edges([(0, [], [])])])
    assert explain(kernel, nothing, [0, 1, 0, 1, 0], n_permutations=0).explain_pair(0, 4).shared == ()


def test_wl_pairs_and_graphs():
    graphs, y = planted(12)
    found = explain(WeisfeilerLehman(max_depth=2), graphs, y, n_permutations=9)
    assert sum(part.value for part in found.explain_pair(0, 1).shared) == found.explain_pair(0, 1).value
    evidence = found.explain_graph(0)
    np.testing.assert_allclose(evidence.evidence.sum(axis=0) + found.model.intercept, evidence.scores)
    assert found.map(0, 1) is None
    assert found.members(found.clusters[0]).nearest[0].words == "no difference"


def test_unseen_graphs_can_be_explained():
    graphs, y = planted(20)
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=1, random_state=0).fit(graphs[:10])
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
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=1, cost=cost, edge_labels=True, random_state=0)
    found = explain(kernel, with_attributes, y, n_permutations=9)
    for cluster in found.clusters:
        for member in found.members(cluster).nearest:
            assert member.mapping.apply() == member.mapping.target
            assert len(member.mapping.source.label) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0, 1]}, "y must have one class for each"),
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


def test_models_that_do_not_fit():
    graphs, y = planted(12)
    kernel = WeisfeilerLehman(max_depth=1).fit(graphs)
    features = kernel.transform(graphs)
    with pytest.raises(ValueError, match="features"):
        explain(kernel, graphs, y, LogisticRegression().fit(features[:, :5], y))
    with pytest.raises(ValueError, match="classes"):
        explain(kernel, graphs, y, LogisticRegression(max_iter=1000).fit(features, y + 1))
    three = np.arange(12) % 3
    with pytest.raises(ValueError, match="pair of classes"):
        explain(kernel, graphs, three, SVC(kernel="linear").fit(features.toarray(), three))
    with pytest.raises(ValueError, match="pair of classes"):
        explain(kernel, graphs, three, NuSVC(kernel="linear", nu=0.1).fit(features.toarray(), three))
    scaled = make_pipeline(StandardScaler(with_mean=False), LinearSVC()).fit(features, y)
    with pytest.raises(ValueError, match=r"step 'standardscaler' \(StandardScaler\) may change the features"):
        explain(kernel, graphs, y, scaled)
    search = GridSearchCV(LinearSVC(), {"C": [1.0]}, cv=2, refit=False).fit(features, y)
    with pytest.raises(ValueError, match="refit=True"):
        explain(kernel, graphs, y, search)
    with pytest.raises(ValueError, match="SVC has none"):
        explain(kernel, graphs, y, OneVsRestClassifier(SVC(kernel="rbf")).fit(features, y))
    with pytest.raises(TypeError, match="kernel must be"):
        explain(LogisticRegression().fit(features, y), graphs, y)


def test_indices_are_checked(explanation):
    with pytest.raises(IndexError, match="graph 40"):
        explanation.explain_graph(40)
    with pytest.raises(ValueError, match="partition 7"):
        explanation.grouping(7, 0)
    assert explanation.explain_graph(-1).graph == 39

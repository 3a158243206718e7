import logging
import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import naive
from directed_graphs import directed_collection, random_digraphs
from kernels.variants import ATTRIBUTES, TEST, TRAIN, VARIANTS, as_nested, kernel_of, nested
from relaxed_kernels import optimized
from relaxwl import EditCost, GraphCollection, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.clustering.partitioners import IdentityPartitioner
from relaxwl.costs.codebook import UniformCosts
from relaxwl.datasets import load_tu, make_egonets
from small_graphs import ATOMS, BONDS, collection, random_graphs, with_attributes
from user_partitioners import KMedoidsPartitioner, RadiusPartitioner

BASES = ("subtree", "edge", "shortest-path")
SIMILARITIES = ("dot", "intersection", "tanimoto")
variants = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
EXPLICIT = {name: variant for name, variant in VARIANTS.items() if variant.get("similarity") != "tanimoto"}
variants_with_features = pytest.mark.parametrize("variant", EXPLICIT.values(), ids=EXPLICIT.keys())


def assert_same(a, b, exact=True):
    assert a.shape == b.shape
    if exact:
        np.testing.assert_array_equal(a.toarray(), b.toarray())
    else:
        np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-9)


# ----------------------------------------------------------------------------------- Weisfeiler-Lehman as a limit


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("edge_labels", [False, True])
@pytest.mark.parametrize("approximate", [True, False])
@pytest.mark.parametrize(
    "parameters", [{"partitioner": IdentityPartitioner()}, {"n_clusters": "all"}, {"n_clusters": 10**6}]
)
def test_every_tree_in_its_own_group_is_weisfeiler_lehman(base, edge_labels, approximate, parameters):
    train, test = collection(TRAIN), collection(TEST)
    plain = WeisfeilerLehman(3, base, edge_labels=edge_labels)
    relaxed = optimized(3, 1, approximate=approximate, base=base, edge_labels=edge_labels, random_state=0, **parameters)
    assert_same(relaxed.fit_transform(train), plain.fit_transform(train))
    np.testing.assert_array_equal(relaxed.kernel_matrix(train), plain.kernel_matrix(train))
    if parameters != {"n_clusters": 10**6}:  # k-means sends unseen trees to the nearest group instead
        assert_same(relaxed.transform(test), plain.transform(test))
        relaxed.normalize = plain.normalize = True
        np.testing.assert_allclose(relaxed.kernel_matrix(test, train), plain.kernel_matrix(test, train), rtol=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("normalize", [False, True, "depth"])
@pytest.mark.parametrize("directions", ["both", "out", "in"])
def test_all_trees_as_clusters_are_weisfeiler_lehman_on_arcs_with_labels(similarity, normalize, directions):
    train, test = (directed_collection(random_digraphs(12, seed), arc_labels=True) for seed in (0, 1))
    options = {"similarity": similarity, "normalize": normalize, "directions": directions, "edge_labels": True}
    plain = WeisfeilerLehman(3, **options).fit(train)
    relaxed = RelaxedWeisfeilerLehman(3, 1, "all", **options).fit(train)
    np.testing.assert_array_equal(relaxed.kernel_matrix(train), plain.kernel_matrix(train))
    np.testing.assert_allclose(relaxed.kernel_matrix(test, train), plain.kernel_matrix(test, train), rtol=1e-12)
    np.testing.assert_allclose(relaxed.kernel_diagonal(test), plain.kernel_diagonal(test), rtol=1e-12)
    assert all(level.lower is None or level.lower.distances is None for level in relaxed.partitions_[0])


def test_granularities_are_counted_side_by_side():
    """The Tanimoto similarity of all partitions is that of their sums of minima, to which each adds equally much."""
    train, test = collection(TRAIN), collection(TEST)
    kernel = RelaxedWeisfeilerLehman(2, random_state=3).fit(train)
    plain = WeisfeilerLehman(2).fit(train)
    sizes = [len(partition[2]) for partition in kernel.partitions_]
    assert sizes[0] == len(plain.rows_[2]) > sizes[1] > sizes[2] > sizes[3]
    minima = 0.0
    for levels in zip(*(kernel.node_clusters(graphs) for graphs in (test, train)), strict=True):
        for clusters in zip(*levels, strict=True):
            parts = [np.split(ids, graphs.offsets[1:-1]) for ids, graphs in zip(clusters, (test, train), strict=True)]
            known = [[Counter(ids.tolist()) for ids in part] for part in parts]
            minima = minima + np.array([[(a & b).total() for b in known[1]] for a in known[0]])
    sums = [3.0 * kernel.n_partitions * graphs.node_counts for graphs in (test, train)]
    expected = minima / (sums[0][:, None] + sums[1] - minima)
    np.testing.assert_allclose(kernel.kernel_matrix(test, train), expected, rtol=1e-12)


def test_partitions_of_identity_add_up():
    graphs = collection(TRAIN)
    three = optimized(2, 3, partitioner=IdentityPartitioner()).fit_kernel_matrix(graphs)
    np.testing.assert_array_equal(three, 3 * WeisfeilerLehman(2).fit_kernel_matrix(graphs))


# ---------------------------------------------------------------------------------- the definitions, with given centers


def plain_centers(partition):
    parts = [partition.centers.row(index) for index in range(len(partition))]
    return [(root, dict(zip(points.tolist(), masses.tolist(), strict=True))) for root, points, masses in parts]


@pytest.mark.parametrize(
    "parameters", [{}, {"center": "mean"}, {"n_clusters": 3}, {"partitioner": KMedoidsPartitioner(3)}]
)
# The naive R-WL numbers the trees of the graphs it sees, so it must see those of fitting.
@pytest.mark.parametrize(("approximate", "new"), [(True, False), (True, True), (False, False)])
def test_groups_are_those_of_the_definition_given_the_centers(approximate, parameters, new):
    graphs = random_graphs(8, 6, seed=2)
    kernel = kernel_of(parameters, approximate=approximate).fit(collection(graphs))
    if new:
        graphs = random_graphs(5, 6, seed=3)
    roots = [[ATOMS.index(label) for label in graph[2]] for graph in graphs]
    define = naive.relaxed_groups if approximate else naive.exact_groups
    for partition, groups in zip(kernel.partitions_, kernel.node_clusters(collection(graphs)), strict=True):
        expected = define(graphs, roots, [plain_centers(level) for level in partition], 1 - np.eye(4))
        assert [group.tolist() for group in groups] == expected


def test_exact_groups_of_unseen_graphs_are_those_of_the_definition():
    train, test = random_graphs(8, 6, seed=2), random_graphs(5, 6, seed=3)
    kernel = kernel_of({"approximate": False}).fit(collection(train))
    for depth in (1, 2):
        trees = [tree for graph in naive.refinements(test, depth)[depth] for tree in graph]
        for partition, groups in zip(kernel.partitions_, kernel.node_clusters(collection(test)), strict=True):
            centers = [as_nested(partition[depth].center_tree(c)) for c in range(len(partition[depth]))]
            for node, tree in enumerate(trees):
                distances = [naive.recursive_tree_distance(nested(tree), center) for center in centers]
                assert groups[depth][node] == int(np.argmin(distances))


# ------------------------------------------------------------------------------------------------------ invariances


def test_without_a_seed_every_fit_has_other_partitions():
    kernel = optimized(1, 4, n_clusters=3, max_iter=0)
    one, two = (kernel.fit_transform(collection(TRAIN)) for _ in range(2))
    assert one.shape != two.shape or (one != two).nnz


def test_seeds_decide():
    train = collection(TRAIN)
    features = [kernel_of({}, random_state=seed).fit_transform(train).toarray() for seed in (0, 0, 1)]
    np.testing.assert_array_equal(features[0], features[1])
    assert features[0].shape != features[2].shape or (features[0] != features[2]).any()
    generator = kernel_of({}, random_state=np.random.default_rng(3)).fit_transform(train)
    assert_same(generator, kernel_of({}, random_state=np.random.default_rng(3)).fit_transform(train))
    kernel_of({}, random_state=np.random.RandomState(3)).fit(train)
    kernel_of({}, random_state=None).fit(train)


def test_independent_chains_differ_and_do_not_depend_on_their_number():
    train = collection(TRAIN)
    two, three = (kernel_of({}, n_partitions=number).fit(train) for number in (2, 3))
    for p in range(2):
        np.testing.assert_array_equal(two.partitions_[p][2].sizes, three.partitions_[p][2].sizes)
    assert two.partitions_[0][2].sizes.tolist() != two.partitions_[1][2].sizes.tolist()


@pytest.mark.parametrize("approximate", [True, False])
def test_partitions_take_the_numbers_of_clusters_in_turn(approximate):
    train = collection(TRAIN)
    mixed = kernel_of({"approximate": approximate}, n_clusters=(1, 3), n_partitions=3).fit(train)
    assert [len(partition[2]) for partition in mixed.partitions_] == [1, 3, 1]
    alone = kernel_of({"approximate": approximate}, n_clusters=1, n_partitions=1).fit(train)
    np.testing.assert_array_equal(mixed.node_clusters(train)[0], alone.node_clusters(train)[0])


@pytest.mark.parametrize(("given", "message"), [([], "empty"), ((1.0, -2.0), "-2.0"), ([[1]], "n_clusters must be")])
def test_wrong_numbers_of_clusters_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        kernel_of({}, n_clusters=given).fit(collection(TRAIN))


def test_memory_does_not_grow_with_the_square_of_the_number_of_labels():
    n_labels = 2100
    path = (n_labels, [(node, node + 1) for node in range(n_labels - 1)], list(range(n_labels)))
    graphs = GraphCollection.from_edges([path, (3, [(0, 1), (1, 2)], [0, 1, 2])])
    kernel = optimized(2, 1, n_clusters=4, max_iter=0, random_state=0)
    kernel.fit(graphs).transform(graphs)  # compiles
    tracemalloc.start()
    kernel.fit(graphs).transform(graphs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n_labels**2 / 4


@pytest.mark.parametrize("normalize", ["sum", 1, None])
def test_wrong_normalization_is_named(normalize):
    with pytest.raises(ValueError, match="normalize must be True, False or 'depth'"):
        kernel_of({}, normalize=normalize).fit(collection(TRAIN))


# ------------------------------------------------------------------------------------------------- unseen labels


def renamed(graphs, old, new):
    return [
        (n, edges, [new if label == old else label for label in labels], names) for n, edges, labels, names in graphs
    ]


@pytest.mark.parametrize(
    "parameters", [{}, {"edge_labels": True}, {"approximate": False}, {"partitioner": RadiusPartitioner(2.0)}]
)
def test_costs_of_many_labels_are_a_rule_with_the_same_result(monkeypatch, tmp_path, parameters):
    labels = [f"label {number}" for number in range(30)]
    train = collection(random_graphs(20, seed=1, labels=labels[:20], bonds=BONDS))
    test = collection(random_graphs(20, seed=2, labels=labels, bonds=BONDS))
    cost = EditCost(1.5, 1.0, 0.25, 0.5)
    expected = optimized(3, 2, cost=cost, random_state=0, **parameters)
    features = expected.fit_transform(train), expected.transform(test)
    monkeypatch.setattr("relaxwl.costs.edit_cost.MANY_LABELS", 10)
    kernel = optimized(3, 2, cost=cost, random_state=0, **parameters)
    assert_same(kernel.fit_transform(train), features[0])
    assert_same(kernel.transform(test), features[1])
    assert isinstance(kernel.partitions_[0][0].lower.distances, UniformCosts) == kernel.approximate
    if kernel.approximate and kernel.partitioner is None:
        kernel.save(tmp_path / "model.rwl")
        assert_same(RelaxedWeisfeilerLehman.load(tmp_path / "model.rwl").transform(test), features[1])
    # Fitted with few labels, applied to many.
    assert_same(expected.transform(test), features[1])


@pytest.mark.parametrize("max_iter", [0, None])
def test_costs_only_scale_the_distances_of_unlabeled_graphs(max_iter):
    graphs = collection(random_graphs(20, 12), labeled=False)
    kernel = optimized(3, 2, max_iter=max_iter, random_state=0).fit(graphs)
    twice = optimized(3, 2, max_iter=max_iter, cost=EditCost(insert_delete=2), random_state=0).fit(graphs)
    assert_same(twice.transform(graphs), kernel.transform(graphs))
    for one, other in zip(kernel.partitions_[0], twice.partitions_[0], strict=True):
        np.testing.assert_array_equal(other.radius, 2 * one.radius)


@pytest.mark.parametrize("approximate", [True, False])
def test_unseen_labels_are_new_labels(approximate):
    kernel = kernel_of({"approximate": approximate}).fit(collection(TRAIN))
    strange = collection(renamed(TEST, "O", "Xe"))
    features = kernel.transform(strange)
    assert np.isfinite(features.data).all()
    groups = kernel.node_clusters(strange)
    labels = [label for graph in renamed(TEST, "O", "Xe") for label in graph[2]]
    for partition, levels in zip(kernel.partitions_, groups, strict=True):
        assert [group >= 3 for group in levels[0]] == [label == "Xe" for label in labels]
        for depth in (1, 2):  # structure decides: deeper trees join a known group
            assert levels[depth].max() < len(partition[depth])
    alone = [kernel.transform(strange[[index]]).toarray()[0] for index in range(len(strange))]
    np.testing.assert_array_equal(alone, features.toarray())


def test_unseen_labels_count_in_the_norm():
    kernel = kernel_of({}, normalize=True).fit(collection(TRAIN))
    new = collection(renamed(TEST, "O", "Xe"))
    np.testing.assert_allclose(np.diag(kernel.kernel_matrix(new, new)) <= 1 + 1e-12, True)
    lonely = collection([(1, [], ["Xe"], None)])
    value = kernel.transform(lonely).power(2).sum()
    assert value == pytest.approx(2 / 3)  # of depths 0, 1 and 2 the first falls into no column


def test_unseen_labels_refused():
    strange = collection(renamed(TEST, "O", "Xe"))
    with pytest.raises(ValueError, match=r"unseen='error'.*'Xe'"):
        kernel_of({"unseen": "error"}).fit(collection(TRAIN)).transform(strange)
    cost = EditCost.from_matrix(ATOMS, 1 - np.eye(4))
    with pytest.raises(ValueError, match="Xe"):
        kernel_of({"cost": cost}).fit(collection(TRAIN)).transform(strange)
    wider = EditCost.from_matrix([*ATOMS, "Xe"], 1 - np.eye(5))
    expected = kernel_of({}).fit(collection(TRAIN)).transform(strange)
    assert_same(kernel_of({"cost": wider}).fit(collection(TRAIN)).transform(strange), expected)


@pytest.mark.parametrize("approximate", [True, False])
def test_unseen_edge_labels(approximate):
    kernel = kernel_of({"edge_labels": True, "approximate": approximate}).fit(collection(TRAIN))
    strange = [
        (n, edges, labels, ["triple" if name == "double" else name for name in names])
        for n, edges, labels, names in TEST
    ]
    together = kernel.transform(collection(strange)).toarray()
    alone = [kernel.transform(collection([graph])).toarray()[0] for graph in strange]
    np.testing.assert_array_equal(alone, together)
    with pytest.raises(ValueError, match="edge labels do not occur in the fitted graphs"):
        kernel_of({"edge_labels": True, "unseen": "error"}).fit(collection(TRAIN)).transform(collection(strange))


@pytest.mark.parametrize("approximate", [True, False])
def test_edge_labels_first_met_after_a_fit_without_edges(approximate):
    kernel = kernel_of({"edge_labels": True, "approximate": approximate}).fit(collection([(2, [], ["C", "O"], None)]))
    features = kernel.transform(collection(TEST))
    assert features.sum() == pytest.approx(sum(2 * 3 * n - 2 * labels.count("N") for n, _, labels, _ in TEST))


# ----------------------------------------------------------------------------------------------------- attributes


@pytest.mark.parametrize("labeled", [False, True])
@pytest.mark.parametrize("approximate", [True, False])
def test_attributes_alone_and_with_labels(labeled, approximate):
    train, test = with_attributes(TRAIN, 0, labeled), with_attributes(TEST, 1, labeled)
    kernel = kernel_of({"cost": ATTRIBUTES, "approximate": approximate})
    features = kernel.fit_transform(train)
    assert_same(kernel.transform(train), features)
    together = kernel.transform(test).toarray()
    alone = [kernel.transform(test[[index]]).toarray()[0] for index in range(len(test))]
    np.testing.assert_allclose(alone, together, atol=1e-9)
    partition = kernel.partitions_[0][0]
    assert 1 < len(partition) < partition.n_trees.sum()  # then, and only then, depth 0 is grouped
    assert partition.center_tree(0).size == 1
    assert np.linalg.eigvalsh(kernel.kernel_matrix(train)).min() > -1e-9


def test_attributes_do_not_depend_on_the_order_of_graphs():
    train = with_attributes(TRAIN)
    order = np.random.default_rng(0).permutation(len(TRAIN))
    one = kernel_of({"cost": ATTRIBUTES}).fit_kernel_matrix(train)
    other = kernel_of({"cost": ATTRIBUTES}).fit_kernel_matrix(train[order])
    np.testing.assert_allclose(other, one[np.ix_(order, order)])


def test_attributes_must_be_there():
    with pytest.raises(ValueError, match="these graphs have none"):
        kernel_of({"cost": ATTRIBUTES}).fit(collection(TRAIN))


# --------------------------------------------------------------------------------------------- users' partitioners


class ByDegree:
    """Groups trees by the number of their children, up to 2."""

    def fit(self, rows, ground, rng):
        labels = self.predict(rows, ground)
        self.labels = np.unique(labels)
        first = np.array([np.flatnonzero(labels == label)[0] for label in self.labels])
        return np.searchsorted(self.labels, labels), rows.take(first).measures()

    def predict(self, rows, ground):
        return np.minimum(rows.degrees, 2)


class FitOnly:
    def fit(self, rows, ground, rng):
        return np.zeros(len(rows), np.int64), rows.take(np.array([0])).measures()


class Returning:
    def __init__(self, labels, centers=lambda rows: rows.take(np.array([0]))):
        self.labels, self.centers = labels, centers

    def fit(self, rows, ground, rng):
        return self.labels(rows), self.centers(rows)


def zeros(rows):
    return np.zeros(len(rows), int)


@pytest.mark.parametrize("approximate", [True, False])
def test_a_users_partitioner(approximate):
    graphs = collection([(4, [(0, 1), (1, 2), (2, 3)], list("CCOC"), None), (3, [], list("COC"), None)])
    kernel = kernel_of({"partitioner": ByDegree(), "approximate": approximate}, n_partitions=1)
    features = kernel.fit_transform(graphs)
    assert features.toarray().tolist() == [[3, 1, 0, 2, 2, 0, 2, 2], [2, 1, 3, 0, 0, 3, 0, 0]]
    assert_same(kernel.transform(graphs), features)


class WithGaps(ByDegree):
    """The same groups, the new ones numbered 40, 50, ..."""

    def predict(self, rows, ground):
        labels = super().predict(rows, ground)
        return np.where(labels < len(getattr(self, "labels", range(9))), labels, 20 + 10 * labels)


@pytest.mark.parametrize("edge_labels", [False, True])
def test_new_groups_of_a_users_partitioner_may_be_shared_and_numbered_with_gaps(edge_labels):
    train = collection([(2, [(0, 1)], list("CC"), ["single"]), (1, [], ["O"], None)])
    bonds = ["single", "double", "single", "single"]
    test = collection(
        [(4, [(0, 1), (1, 2), (2, 3), (0, 3)], list("CXCY"), bonds), (2, [(0, 1)], list("XO"), ["double"])]
    )
    dense, gaps = (
        kernel_of({"partitioner": partitioner, "edge_labels": edge_labels}, n_partitions=1, normalize=True).fit(train)
        for partitioner in (ByDegree(), WithGaps())
    )
    assert [groups.tolist() for groups in dense.node_clusters(test)[0][1:]] == [[2, 2, 2, 2, 1, 1]] * 2
    assert [groups.tolist() for groups in gaps.node_clusters(test)[0][1:]] == [[40, 40, 40, 40, 1, 1]] * 2
    assert_same(gaps.transform(test), dense.transform(test))
    np.testing.assert_array_equal(gaps.kernel_matrix(test, train), dense.kernel_matrix(test, train))


def test_a_partitioner_without_predict_can_be_fitted_but_not_applied():
    kernel = kernel_of({"partitioner": FitOnly()})
    assert kernel.fit_transform(collection(TRAIN)).shape == (25, 10)
    with pytest.raises(TypeError, match=r"FitOnly has no predict\(rows, ground\), so new graphs cannot be"):
        kernel.transform(collection(TEST))


@pytest.mark.parametrize(
    ("partitioner", "error", "message"),
    [
        (Returning(lambda rows: np.zeros(1, int)), ValueError, "Returning.fit must return one whole number for each"),
        (Returning(lambda rows: np.zeros(len(rows))), ValueError, "Returning.fit must return one whole number"),
        (Returning(lambda rows: np.full(len(rows), 4)), ValueError, "fit returned cluster numbers from 4 to 4"),
        (Returning(lambda rows: np.full(len(rows), -1)), ValueError, "cluster numbers from -1"),
        (
            Returning(zeros, lambda rows: "centers"),
            TypeError,
            "the centers that Returning.fit returned must be relaxwl.unfolding.TreeRows",
        ),
        (
            Returning(zeros, lambda rows: replace(rows, points=rows.points + 2 * 10**9)),
            ValueError,
            "points must be from",
        ),
        (Returning(zeros, lambda rows: replace(rows, roots=rows.roots - 99)), ValueError, "roots must be from 0"),
        (
            Returning(zeros, lambda rows: replace(rows, roots=rows.roots + 1)),
            ValueError,
            "roots must be from 0 to 2, not 3",
        ),
        (KMedoidsPartitioner, TypeError, "partitioner must be an object with fit"),
        ("k-medoids", TypeError, "partitioner must be an object with fit"),
    ],
)
def test_what_partitioners_get_wrong_is_said(partitioner, error, message):
    with pytest.raises(error, match=message):
        kernel_of({"partitioner": partitioner}).fit(collection(TRAIN))


def test_the_given_partitioner_is_not_touched():
    partitioner = KMedoidsPartitioner()
    kernel_of({"partitioner": partitioner}).fit(collection(TRAIN))
    assert vars(partitioner) == vars(KMedoidsPartitioner())


# -------------------------------------------------------------------------------------------- strange input, errors


@pytest.mark.parametrize("approximate", [True, False])
@pytest.mark.parametrize("base", BASES)
def test_empty_graphs_single_nodes_and_no_edges(approximate, base):
    graphs = GraphCollection.from_edges([(0, []), (1, []), (3, []), (2, [(0, 1)])])
    kernel = kernel_of({"approximate": approximate, "base": base}, normalize=True)
    matrix = kernel.fit_kernel_matrix(graphs)
    assert np.isfinite(matrix).all()
    assert not matrix[0].any()
    assert kernel.transform(GraphCollection.from_edges([])).shape[0] == 0
    assert kernel.transform(graphs[[0]]).nnz == 0
    only_nodes = kernel_of({"approximate": approximate, "base": base}).fit(graphs[1:3])
    assert np.isfinite(only_nodes.kernel_matrix(graphs)).all()


def test_a_graph_without_nodes_is_neither_labeled_nor_unseen():
    empty = GraphCollection.from_edges([(0, [])])
    for parameters in ({"unseen": "error"}, {"cost": EditCost.from_matrix(ATOMS, 1 - np.eye(4))}):
        assert kernel_of(parameters).fit(collection(TRAIN)).transform(empty).nnz == 0


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_partitions": 0}, ValueError, "n_partitions must be an integer >= 1"),
        ({"n_partitions": 1.0}, ValueError, "n_partitions must be an integer"),
        ({"n_clusters": 0}, ValueError, "n_clusters must be at least 1"),
        ({"n_clusters": "cube"}, ValueError, "n_clusters must be an integer"),
        ({"center": "mode"}, ValueError, "center must be one of"),
        ({"max_iter": -1}, ValueError, "max_iter must be an integer"),
        ({"unseen": "ignore"}, ValueError, "unseen must be one of relabel, error"),
        ({"cost": 1.0}, TypeError, "cost must be a relaxwl.EditCost, not float"),
        ({"random_state": -1}, ValueError, "random_state must be an integer >= 0"),
        ({"random_state": "seed"}, ValueError, "random_state must be an integer >= 0"),
        ({"max_depth": -1}, ValueError, "max_depth must be an integer >= 0"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        kernel_of(parameters).fit(collection(TRAIN))


def test_nothing_to_fit():
    with pytest.raises(ValueError, match="the graphs have no nodes"):
        kernel_of({}).fit(GraphCollection.from_edges([(0, [])]))


def test_exact_distances_beyond_memory_are_refused_with_figures(monkeypatch):
    monkeypatch.setattr("relaxwl._memory.physical_memory", lambda: 2000.0)
    with pytest.raises(
        ValueError, match=r"between up to \d+ distinct trees .* GiB and the limit is .* approximate=True"
    ):
        kernel_of({"approximate": False}).fit(collection(TRAIN))
    kernel_of({}).fit(collection(TRAIN))


def test_all_pairs_of_groups_or_trees_beyond_memory_are_refused(monkeypatch):
    monkeypatch.setattr("relaxwl._memory.physical_memory", lambda: 2000.0)
    with pytest.raises(ValueError, match=r"distances between \d+ clusters would need .* larger radius"):
        kernel_of({"partitioner": RadiusPartitioner(0.0)}).fit(collection(TRAIN))
    kernel_of({"partitioner": IdentityPartitioner()}).fit(collection(TRAIN)).transform(collection(TEST))


def test_parameters_changed_after_fit_act_at_the_next_fit():
    train = collection(TRAIN)
    kernel = kernel_of({}).fit(train)
    expected = kernel.transform(train)
    kernel.set_params(max_depth=4, n_partitions=7)
    assert_same(kernel.transform(train), expected)
    assert len(kernel.get_feature_names_out()) == expected.shape[1]
    assert len(kernel.node_clusters(train)) == 2


@pytest.mark.parametrize("value", ["no", None, 1])
def test_approximate_is_yes_or_no(value):
    with pytest.raises(ValueError, match=f"approximate must be True or False, not {value!r}"):
        kernel_of({"approximate": value}).fit(collection(TRAIN))


@pytest.mark.parametrize("kind", [RelaxedWeisfeilerLehman, WeisfeilerLehman])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"edge_labels": "x"}, "edge_labels must be True or False, not 'x'"),
        ({"edge_labels": 1}, "edge_labels must be True or False, not 1"),
        ({"verbose": "a"}, "verbose must be an integer, 0 for silence, not 'a'"),
        ({"verbose": None}, "verbose must be an integer"),
    ],
)
def test_flags_are_checked(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        kind(max_depth=1, **parameters).fit(collection(TRAIN))


def test_exact_kernel_says_what_is_to_come_before_it_computes_all_pairs(caplog):
    with caplog.at_level(logging.INFO, "relaxwl"):
        kernel = kernel_of({"approximate": False}, verbose=np.int64(1)).fit(collection(TRAIN))
    n_trees = [len(level.lower.known) for level in kernel.partitions_[0][:-1]]
    lines = [record.getMessage() for record in caplog.records]
    for depth in (0, 1):
        pairs = n_trees[depth] * (n_trees[depth] - 1) // 2
        assert lines[depth] == f"exact distances at depth {depth}: {n_trees[depth]} distinct trees, {pairs} pairs"
    assert "MB" in lines[2]
    assert not any("exact distances at depth 2" in line for line in lines)


def test_verbose_logs_depth_rows_clusters_and_rounds(caplog):
    with caplog.at_level(logging.INFO, "relaxwl"):
        kernel_of({}, verbose=2).fit(collection(TRAIN))
    assert "partition 1, depth 2:" in caplog.text
    assert "s left" in caplog.text
    assert "round 1: objective" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, "relaxwl"):
        kernel_of({}).fit(collection(TRAIN))
    assert not caplog.text


# ---------------------------------------------------------------------------------------------------- real graphs


def test_groups_tell_network_models_apart():
    graphs, y = make_egonets(n_graphs=40, random_state=0)
    matrix = optimized(2, random_state=0, normalize=True).fit_kernel_matrix(graphs)
    same = y[:, None] == y[None, :]
    assert matrix[same].mean() > matrix[~same].mean()


@pytest.mark.slow
@pytest.mark.parametrize("approximate", [True, False])
def test_real_data_in_training_and_test_parts(shared, approximate):
    graphs, _ = load_tu(shared / "data" / "MUTAG.zip")
    kernel = optimized(3, approximate=approximate, random_state=0)
    train, test = graphs[:140], graphs[140:]
    features = kernel.fit_transform(train)
    assert_same(kernel.transform(train), features)
    together = kernel.transform(graphs).toarray()
    np.testing.assert_array_equal(together[:140], features.toarray())
    np.testing.assert_array_equal(together[140:], kernel.transform(test).toarray())
    for n_jobs in (1, 2):
        again = optimized(3, approximate=approximate, random_state=0, n_jobs=n_jobs).fit(train)
        assert_same(again.transform(test), kernel.transform(test))

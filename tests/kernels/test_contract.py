"""What every kernel promises, whatever it compares."""

import pickle
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from kernels.baselines.graph_forms import is_psd
from kernels.variants import TEST, TRAIN, VARIANTS, kernel_of
from relaxwl import ContinuousWeisfeilerLehman, GraphCollection, UnfoldingTree, WeisfeilerLehman
from relaxwl._execution import TimeLimitReached, time_limit
from relaxwl.kernels import baselines
from relaxwl.kernels.base import BASES, CountKernel, GraphKernel
from relaxwl.kernels.baselines import GradualWL, GraphletSampling, OddSth, VertexEdgeHistogram, WassersteinWL
from relaxwl.kernels.baselines.wwl import DistanceKernel
from relaxwl.kernels.clusters import ClusterKernel
from relaxwl.kernels.registry import ENTRIES, load_kernel
from small_graphs import BONDS, collection, random_graphs, shuffled

# Every kernel of the registry, smaller than there, and others of the same classes.
SMALL = {"max_depth": 2, "n_partitions": 2, "height": 2, "n_samples": 50, "n_clusters": 2}
KERNELS = {entry.name: entry.make(random_state=0) for entry in ENTRIES if entry.name.partition("-")[0] != "stats"}
KERNELS = {
    name: kernel.set_params(**{key: SMALL[key] for key in SMALL.keys() & kernel.get_params().keys()})
    for name, kernel in KERNELS.items()
}
KERNELS |= {f"R-WL*, {name}": kernel_of(variant) for name, variant in VARIANTS.items()}
KERNELS |= {f"WL, {base}": WeisfeilerLehman(2, base, edge_labels=True) for base in BASES}
KERNELS |= {
    "WL, weights": WeisfeilerLehman(2, depth_weights=[1, 0.5, 0.25], normalize=True),
    "WL, equal depths": WeisfeilerLehman(2, "edge", similarity="intersection", normalize="depth"),
    "WL, no weights": WeisfeilerLehman(1, depth_weights=[0, 0], normalize=True),
    "CWL, dot": ContinuousWeisfeilerLehman(max_depth=2, n_partitions=2, similarity="dot", random_state=0),
    "CWL, labels": ContinuousWeisfeilerLehman(
        "labels", 2, 2, similarity="intersection", normalize=True, random_state=0
    ),
    "PWL, cycles": baselines.PersistentWL(2, cycles=True),
    "histogram, Gaussian": VertexEdgeHistogram(gamma=0.1),
    "WWL, continuous": WassersteinWL(1, scheme="continuous"),
}
# Children with equal labels come in the order of their numbers, as in GraKeL; samples are drawn by numbers.
NUMBERS_MATTER = (GraphletSampling, OddSth)


def continuous(kernel):
    """Say whether a kernel is that of transport distances of vectors or trees, which is not positive semidefinite."""
    return isinstance(kernel, DistanceKernel) and getattr(kernel, "scheme", "continuous") == "continuous"


@pytest.fixture(scope="module", params=KERNELS)
def case(request):
    """Return an unfitted kernel, the same fitted, graphs of the fit and others, and the Gram matrix of the fit."""
    kernel, train, test = KERNELS[request.param], collection(TRAIN), collection(TEST)
    before, fitted = train.fingerprint(), clone(kernel)
    matrix = fitted.fit_kernel_matrix(train)
    assert train.fingerprint() == before
    return SimpleNamespace(kernel=kernel, fitted=fitted, train=train, test=test, matrix=matrix)


def same_features(one, other, graphs):
    """Say that two kernels have the same features, whatever their similarity."""
    assert (one.weighted_counts(graphs) != other.weighted_counts(graphs)).nnz == 0


def test_fits_are_those_of_estimators(case):
    again = clone(case.kernel)
    with pytest.raises(NotFittedError):
        again.kernel_matrix(case.test)
    assert again.fit(case.train, y=np.zeros(len(case.train))) is again
    check_is_fitted(again)
    new = vars(again).keys() - case.kernel.get_params().keys()
    assert all(name.endswith("_") or name.startswith("_") for name in new)
    assert not [name for name in vars(case.kernel) if name.endswith("_")]
    assert {name: repr(value) for name, value in again.get_params().items()} == {
        name: repr(value) for name, value in case.kernel.get_params().items()
    }
    np.testing.assert_array_equal(again.kernel_matrix(case.train), case.matrix)
    np.testing.assert_array_equal(again.fit(case.train).kernel_matrix(case.train), case.matrix)


def test_matrices_are_similarities(case):
    np.testing.assert_array_equal(case.matrix, case.matrix.T)
    assert np.isfinite(case.matrix).all()
    assert continuous(case.kernel) or is_psd(case.matrix)
    block = case.fitted.kernel_matrix(case.test, case.train)
    assert block.shape == (len(case.test), len(case.train))
    np.testing.assert_allclose(case.fitted.kernel_matrix(case.train[3:5], case.train), case.matrix[3:5], atol=1e-9)
    np.testing.assert_allclose(case.fitted.kernel_matrix(case.test[[4]], case.train)[0], block[4], atol=1e-9)


def test_steps_give_the_matrix(case):
    """The steps prepare, compare and compare_own give the same as kernel_matrix, for graphs of the fit and others."""
    kernel = case.fitted
    known, new = kernel.prepare(case.train), kernel.prepare(case.test)
    np.testing.assert_allclose(kernel.compare(known)[0], case.matrix, rtol=1e-12, atol=1e-12)
    block = kernel.kernel_matrix(case.test, case.train)
    np.testing.assert_array_equal(kernel.compare(new, known)[0], block)
    np.testing.assert_allclose(kernel.compare_own(known)[0], case.matrix.diagonal(), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(kernel.kernel_diagonal(case.test), kernel.compare_own(new)[0])
    refused = {"verbose": "verbose cannot change after the fit"}
    if isinstance(kernel, ClusterKernel):
        refused |= {
            "max_depth": "the kernel was fitted to depth .; 9 needs another fit",
            "similarity": "must be one of",
        }
    for name, message in refused.items():
        with pytest.raises(ValueError, match=message):
            kernel.compare(known, None, [{name: 9}])


def test_one_fit_covers_all_variations(case):
    settings = case.fitted.variations()
    known, new = case.fitted.prepare(case.train), case.fitted.prepare(case.test)
    found = case.fitted.compare(known, None, settings)
    blocks, own = case.fitted.compare(new, known, settings), case.fitted.compare_own(new, settings)
    for setting, matrix, block, diagonal in zip(settings, found, blocks, own, strict=True):
        # Depths that are left out have no weights.
        weights = getattr(case.kernel, "depth_weights", None)
        cut = {} if weights is None else {"depth_weights": weights[: setting["max_depth"] + 1]}
        alone = clone(case.kernel).set_params(**setting, **cut).fit(case.train)
        np.testing.assert_allclose(matrix, alone.kernel_matrix(case.train), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(block, alone.kernel_matrix(case.test, case.train), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(diagonal, alone.kernel_diagonal(case.test), rtol=1e-9, atol=1e-12)


def test_features_are_explicit(case):
    kernel = clone(case.kernel)
    if not isinstance(kernel, CountKernel):
        return
    features, new = kernel.fit_transform(case.train), case.fitted.transform(case.test)
    assert (features.format, features.dtype) == ("csr", np.float64)
    assert (features != case.fitted.transform(case.train)).nnz == 0
    names = kernel.get_feature_names_out().tolist()
    assert len(names) == len(set(names)) == features.shape[1] == new.shape[1]
    if getattr(kernel, "gamma", None) is None and kernel.similarity != "tanimoto":
        np.testing.assert_allclose((features @ features.T).toarray(), case.matrix, rtol=1e-9, atol=1e-12)
        block = case.fitted.kernel_matrix(case.test, case.train)
        np.testing.assert_allclose((new @ features.T).toarray(), block, rtol=1e-9, atol=1e-12)
    alone = [case.fitted.transform(case.test[[graph]]).toarray()[0] for graph in range(len(case.test))]
    np.testing.assert_allclose(alone, new.toarray(), atol=1e-12)


def test_normalized_graphs_are_like_themselves(case):
    if isinstance(case.kernel, CountKernel) and case.kernel.depth_weights is None:
        diagonal = clone(case.kernel).set_params(normalize=True).fit_kernel_matrix(case.train).diagonal()
        np.testing.assert_allclose(diagonal[diagonal > 0], 1)


def test_order_of_nodes_and_graphs_does_not_matter(case):
    if isinstance(case.kernel, NUMBERS_MATTER):
        return
    rng = np.random.default_rng(0)
    order = rng.permutation(len(TRAIN))
    moved = collection([shuffled(TRAIN[place], rng) for place in order])
    again = clone(case.kernel)
    np.testing.assert_allclose(again.fit_kernel_matrix(moved), case.matrix[np.ix_(order, order)], atol=1e-9)
    if isinstance(case.kernel, CountKernel):
        # With centers that are trees no bit changes; others are sums in another order.
        atol = 1e-9 if getattr(case.kernel, "center", "median") == "mean" else 0
        features = case.fitted.weighted_counts(case.train).toarray()[order]
        np.testing.assert_allclose(again.weighted_counts(moved).toarray(), features, rtol=0, atol=atol)
        assert again.get_feature_names_out().tolist() == case.fitted.get_feature_names_out().tolist()


def test_threads_change_nothing(case):
    two = clone(case.kernel).set_params(n_jobs=2).fit(case.train)
    np.testing.assert_array_equal(two.kernel_matrix(case.train), case.matrix)
    block = case.fitted.kernel_matrix(case.test, case.train)
    np.testing.assert_array_equal(two.kernel_matrix(case.test, case.train), block)
    if isinstance(case.kernel, CountKernel):
        same_features(two, case.fitted, case.test)


def test_copies_are_the_same(case, tmp_path):
    joblib.dump(case.fitted, tmp_path / "kernel")
    copies = [pickle.loads(pickle.dumps(case.fitted)), joblib.load(tmp_path / "kernel")]
    if (
        isinstance(case.kernel, CountKernel)
        and "medoids" not in repr(case.kernel).lower()
        and "Radius" not in repr(case.kernel)
    ):
        case.fitted.save(tmp_path / "model.rwl")
        copies += [load_kernel(tmp_path / "model.rwl"), type(case.kernel).load(tmp_path / "model.rwl")]
    block = case.fitted.kernel_matrix(case.test, case.train)
    for copy in copies:
        np.testing.assert_array_equal(copy.kernel_matrix(case.test, case.train), block)
        assert repr(copy.get_params()) == repr(case.fitted.get_params())


def test_levels_are_what_is_counted(case):
    """The clusters of nodes add up to the features, and each has a center that can be shown."""
    kernel = case.fitted
    if not isinstance(kernel, ClusterKernel):
        assert not hasattr(kernel, "levels")
        return
    for graphs in (case.train, case.test):
        levels = kernel.levels(graphs)
        assert [(one.depth, one.partition) for one in levels] == sorted((one.depth, one.partition) for one in levels)
        clusters = kernel.node_clusters(graphs)
        columns = []
        for level in levels:
            np.testing.assert_array_equal(level.clusters, clusters[level.partition][level.depth])
            counts = np.zeros((len(graphs), max(level.n_clusters, level.clusters.max() + 1)))
            np.add.at(counts, (graphs.graph_of_node, level.clusters), 1)
            columns.append(counts[:, : level.n_clusters])
        prepared = kernel.prepare(graphs, levels)
        for one, other in zip(prepared, kernel.prepare(graphs), strict=True):
            assert (one.matrix != other.matrix).nnz == 0
            np.testing.assert_array_equal(one.unknown_squares, other.unknown_squares)
        if kernel.base == "subtree":
            np.testing.assert_array_equal(np.hstack([one.matrix.toarray() for one in prepared]), np.hstack(columns))
            nodes, of_node = kernel.node_columns(graphs)
            assert len(nodes) == sum((level.clusters < level.n_clusters).sum() for level in levels)
            assert of_node.max() < np.hstack(columns).shape[1]
    for level in levels:
        assert isinstance(level.center(0), (UnfoldingTree, str))
        if isinstance(level.center(0), UnfoldingTree):
            assert level.center(level.n_clusters - 1).depth <= level.depth
        assert level.describe is None or isinstance(level.describe(0), str)
        distances, between = level.row_distances(), level.center_distances()
        assert between is None or distances is not None
        if distances is not None:
            assert distances.shape == level.labels.shape
            assert distances.min() >= 0
            # Only single trees are centers that are not compared.
            assert between is not None or distances.max() == 0
        if between is not None:
            np.testing.assert_array_equal(between, between.T)
            assert between.shape == (level.n_clusters, level.n_clusters)
    first = [level for level in levels if level.partition == 0]
    for one, other in zip(kernel.levels(case.test, 1), first, strict=True):
        np.testing.assert_array_equal(one.clusters, other.clusters)


def test_counts_without_nodes_and_clusters_are_less(case):
    kernel, graph = case.fitted, case.test[[3]]
    if not isinstance(kernel, ClusterKernel):
        return
    whole, n_nodes = kernel.prepare(graph), graph.n_nodes
    for counts, without in zip(whole, kernel.counts_without_nodes(graph), strict=True):
        assert without.matrix.shape == (n_nodes, counts.matrix.shape[1])
        assert ((counts.matrix[np.zeros(n_nodes, int)] - without.matrix).toarray() >= 0).all()
    if kernel.base != "subtree":
        return
    clusters, less = kernel.counts_without_clusters(graph)
    assert {level.depth for level, _ in clusters} == {
        level.depth for level in kernel.levels(graph) if not level.are_labels
    }
    for row, (level, number) in enumerate(clusters):
        taken = [
            np.asarray(counts.matrix.sum() - without.matrix[[row]].sum())
            for counts, without in zip(whole, less, strict=True)
        ]
        assert taken[level.depth] == (level.clusters == number).sum() > 0
        assert sum(taken) == taken[level.depth]


@pytest.mark.parametrize("labeled", [True, False])
def test_small_and_edgeless_graphs(case, labeled):
    if not labeled and getattr(case.kernel, "features", None) == "labels":
        return
    parts = [(n, [], ["x"] * n) if labeled else (n, []) for n in (1, 2, 3)]
    graphs = GraphCollection.from_edges(parts)
    fitted = clone(case.kernel).fit(graphs)
    assert np.isfinite(fitted.kernel_matrix(graphs)).all()
    unseen = GraphCollection.from_edges([(2, [], ["y", "x"]) if labeled else (2, [])])
    assert fitted.kernel_matrix(unseen, graphs).shape == (1, 3)
    if not isinstance(case.kernel, DistanceKernel):
        assert fitted.kernel_matrix(GraphCollection.from_edges([]), graphs).shape == (0, 3)


def test_labels_must_be_there_where_they_were_fitted(case):
    if "node_labels" in case.kernel.uses() and not isinstance(case.kernel, (GraphletSampling, DistanceKernel)):
        with pytest.raises(ValueError, match="fitted on labeled graphs, and these graphs are unlabeled"):
            case.fitted.kernel_matrix(collection(random_graphs(3, bonds=BONDS), labeled=False), case.train)


def test_graphs_without_nodes(case):
    if continuous(case.kernel):
        return
    nothing = (0, [], [], [])
    graphs = collection([nothing, (3, [(0, 1), (1, 2)], ["C", "N", "C"], ["single", "double"]), nothing])
    matrix = clone(case.kernel).fit_kernel_matrix(graphs)
    assert np.isfinite(matrix).all()
    assert is_psd(matrix)
    is_gaussian = getattr(case.kernel, "gamma", None) is not None
    assert matrix[0].any() == (is_gaussian or isinstance(case.kernel, DistanceKernel))


def test_time_limit(case):
    with time_limit(1e-9), pytest.raises(TimeLimitReached, match="1e-09 seconds"):
        clone(case.kernel).fit_kernel_matrix(case.train)


def test_inputs_of_other_libraries(case):
    networkx = pytest.importorskip("networkx")
    if case.kernel.get_params().get("edge_labels") and not isinstance(case.kernel, VertexEdgeHistogram):
        return
    if isinstance(case.kernel, ContinuousWeisfeilerLehman) and case.kernel.features == "labels":
        return
    plain = collection(random_graphs(8), labeled=False)
    others = []
    for n_nodes, edges, *_ in random_graphs(8):
        other = networkx.Graph()
        other.add_nodes_from(range(n_nodes))
        other.add_edges_from(edges)
        others.append(other)
    np.testing.assert_allclose(
        clone(case.kernel).fit_kernel_matrix(others), clone(case.kernel).fit_kernel_matrix(plain), rtol=1e-12
    )


def test_directed_graphs_are_taken_or_refused(case):
    graphs = GraphCollection.from_edges([(3, [(0, 1), (2, 1)], list("CNC")), (2, [(0, 1)], list("CC"))], directed=True)
    kernel = clone(case.kernel)
    if not kernel.takes_directed:
        message = f"{type(kernel).__name__} is not defined for directed graphs; .*symmetrize=True"
        with pytest.raises(ValueError, match=message):
            kernel.fit(graphs)
    elif not (kernel.get_params().get("edge_labels") or kernel.get_params().get("cost")):
        assert np.isfinite(kernel.fit_kernel_matrix(graphs)).all()
        with pytest.raises(ValueError, match="fitted on directed graphs"):
            kernel.kernel_matrix(case.test)


def test_all_kernels_of_the_package_are_here():
    classes = {type(kernel) for kernel in KERNELS.values()}
    ours = {kind for kind in vars(baselines).values() if isinstance(kind, type) and issubclass(kind, GraphKernel)}
    assert ours <= classes
    assert {GradualWL, WeisfeilerLehman, ContinuousWeisfeilerLehman} <= classes

"""The kernels as scikit-learn estimators, used as scikit-learn's own users use them."""

import joblib
import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC

from relaxed_kernels import optimized
from relaxwl import ContinuousWeisfeilerLehman, WassersteinKMeans, WeisfeilerLehman
from relaxwl.clustering.partitioners import KMeansPartitioner
from relaxwl.kernels import gram
from relaxwl.kernels.base import SIMILARITIES
from sklearn_checks import each_check, run_check
from small_graphs import collection, random_graphs

KERNELS = [
    WeisfeilerLehman(max_depth=1),
    optimized(max_depth=1, n_partitions=1, n_clusters=3.0, random_state=0),
    ContinuousWeisfeilerLehman(max_depth=1, n_partitions=2, similarity="dot", random_state=0),
]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)

# What the checks that need tables of numbers look at beyond these is checked below with graphs: check_dict_unchanged,
# check_dont_overwrite_parameters, check_estimators_fit_returns_self, check_estimators_overwrite_params,
# check_estimators_pickle, check_fit_check_is_fitted, check_fit_idempotent, check_fit_score_takes_y,
# check_methods_sample_order_invariance, check_methods_subset_invariance, check_pipeline_consistency,
# check_transformer_data_not_an_array, check_transformer_general.


def cycles_and_paths(n_graphs=24):
    """Return labeled rings and chains of several lengths, and which is which."""
    graphs = []
    for number in range(n_graphs):
        size = 4 + number // 2 % 5
        edges = [(v, v + 1) for v in range(size - 1)] + ([(0, size - 1)] if number % 2 else [])
        graphs.append((size, edges, ["CN"[v % 2] for v in range(size)], None))
    return graphs, np.arange(n_graphs) % 2


@pytest.mark.filterwarnings("ignore")
@each_check
@pytest.mark.parametrize(
    "estimator", [*KERNELS, WassersteinKMeans(), KMeansPartitioner()], ids=lambda estimator: type(estimator).__name__
)
def test_scikit_learns_own_checks(estimator, check):
    if check == "check_estimators_unfitted" and isinstance(estimator, KMeansPartitioner):
        pytest.skip("a partitioner's predict takes rows and their ground, which scikit-learn does not know")
    run_check(check, estimator)


@kernels
def test_transform_changes_nothing_and_fit_is_idempotent(kernel):
    graphs = collection(cycles_and_paths()[0])
    fitted = clone(kernel).fit(graphs)
    before = joblib.hash({name: value for name, value in vars(fitted).items() if name != "partitions_"})
    features = fitted.transform(graphs)
    fitted.kernel_matrix(graphs)
    assert joblib.hash({name: value for name, value in vars(fitted).items() if name != "partitions_"}) == before
    assert (fitted.fit(graphs).transform(graphs) != features).nnz == 0


def test_nested_parameters_of_a_partitioner():
    kernel = optimized(partitioner=KMeansPartitioner(WassersteinKMeans(3)))
    kernel.set_params(partitioner__kmeans__n_clusters=5)
    assert clone(kernel).partitioner.kmeans.n_clusters == 5


@kernels
def test_pipeline(kernel):
    graphs, y = cycles_and_paths()
    train = collection(graphs)
    pipeline = Pipeline([("kernel", clone(kernel)), ("scale", MaxAbsScaler()), ("svm", LinearSVC(random_state=0))])
    assert pipeline.fit(train, y).score(train, y) == 1.0
    assert pipeline.predict(train[[3, 4]]).tolist() == [1, 0]
    assert len(pipeline[:-1].get_feature_names_out()) == pipeline["kernel"].transform(train).shape[1]
    scores = cross_val_score(pipeline, train, y, cv=StratifiedKFold(3))
    assert scores.mean() > 0.9


def networkx_graphs(graphs):
    result = []
    for n_nodes, edges, labels, _ in graphs:
        graph = nx.Graph()
        graph.add_nodes_from((v, {"label": labels[v]}) for v in range(n_nodes))
        graph.add_edges_from(edges)
        result.append(graph)
    return result


@kernels
@pytest.mark.parametrize("kind", ["collection", "networkx", "tuples"])
def test_grid_search_over_the_depth(kernel, kind):
    graphs, y = cycles_and_paths()
    X = {
        "collection": collection(graphs),
        "networkx": networkx_graphs(graphs),
        "tuples": [(n_nodes, edges, labels) for n_nodes, edges, labels, _ in graphs],
    }[kind]
    pipeline = make_pipeline(clone(kernel), LinearSVC(C=100.0, random_state=0, max_iter=100_000))
    name = pipeline.steps[0][0]
    search = GridSearchCV(pipeline, {f"{name}__max_depth": [0, 1, 2]}, cv=StratifiedKFold(3), error_score="raise")
    search.fit(X, y)
    assert search.best_score_ == 1.0
    told_at = 0 if isinstance(kernel, ContinuousWeisfeilerLehman) else 1  # structure is seen at depth 0
    assert search.best_params_[f"{name}__max_depth"] == told_at
    assert search.predict(X[:2]).tolist() == [0, 1]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search_in_processes_and_threads(n_jobs):
    graphs, y = cycles_and_paths()
    pipeline = make_pipeline(WeisfeilerLehman(n_jobs=2), LinearSVC(random_state=0, max_iter=100_000))
    search = GridSearchCV(pipeline, {"weisfeilerlehman__max_depth": [1, 2]}, cv=3, n_jobs=n_jobs, error_score="raise")
    with joblib.parallel_config("threading"):
        assert search.fit(collection(graphs), y).best_score_ == 1.0


@kernels
@pytest.mark.parametrize("similarity", ["dot", "intersection", "tanimoto"])
def test_precomputed_support_vector_machine(kernel, similarity):
    graphs, y = cycles_and_paths()
    X = collection(graphs)
    kernel = clone(kernel).set_params(similarity=similarity, normalize=True)
    scores = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        gram = kernel.fit_kernel_matrix(X[train])
        model = SVC(kernel="precomputed", C=100.0).fit(gram, y[train])
        scores.append(model.score(kernel.kernel_matrix(X[test], X[train]), y[test]))
    assert np.mean(scores) > 0.9
    whole = kernel.fit_kernel_matrix(X)
    assert cross_val_score(SVC(kernel="precomputed", C=100.0), whole, y, cv=4).mean() > 0.9


@kernels
def test_default_output_is_sparse_and_can_be_set_to_default(kernel):
    graphs = collection(cycles_and_paths()[0])
    features = clone(kernel).set_output(transform="default").fit_transform(graphs)
    assert features.format == "csr"
    assert features.dtype == np.float64


@kernels
def test_features_of_tanimoto_similarity_are_scaled_intersections(kernel):
    graphs = collection(cycles_and_paths()[0])
    features = clone(kernel).set_params(similarity="tanimoto").fit_transform(graphs)
    kernel = clone(kernel).set_params(similarity="intersection", normalize=True).fit(graphs)
    assert (features != kernel.transform(graphs)).nnz == 0
    kernel.set_params(similarity="tanimoto", normalize=False)
    names = kernel.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == features.shape[1]
    # Where two graphs have equal sums of counts, the Tanimoto similarity follows from the product of their features.
    products, similarities = (features @ features.T).toarray(), kernel.kernel_matrix(graphs)
    sums = kernel.weighted_counts(graphs).sum(axis=1)
    equal = sums[:, None] == sums
    assert equal.sum() > len(graphs)
    np.testing.assert_allclose(similarities[equal], (products / (2 - products))[equal], rtol=1e-12)
    counts = kernel.weighted_counts(graphs)
    assert (counts != kernel.set_params(similarity="dot").transform(graphs)).nnz == 0
    assert (counts != kernel.set_params(similarity="intersection").weighted_counts(graphs)).nnz == 0


@kernels
def test_tanimoto_similarities_follow_from_sums_and_distances_of_counts(kernel):
    graphs = collection(cycles_and_paths()[0])
    counts = clone(kernel).fit_transform(graphs).toarray()
    distances, sums = np.abs(counts[:, None] - counts).sum(axis=2), counts.sum(axis=1)
    sums = sums[:, None] + sums
    found = clone(kernel).set_params(similarity="tanimoto").fit_kernel_matrix(graphs)
    np.testing.assert_allclose(found, (sums - distances) / (sums + distances), rtol=1e-12)


@kernels
def test_dense_features_and_tables(kernel):
    pandas = pytest.importorskip("pandas")
    graphs = collection(cycles_and_paths()[0])
    sparse = clone(kernel).fit_transform(graphs)
    dense = clone(kernel).set_params(sparse_output=False)
    np.testing.assert_array_equal(dense.fit_transform(graphs), sparse.toarray())
    table = dense.set_output(transform="pandas").fit_transform(graphs)
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == list(dense.get_feature_names_out())
    with pytest.raises(ValueError, match="sparse_output must be True or False"):
        clone(kernel).set_params(sparse_output="no").fit(graphs)


@pytest.mark.parametrize("normalize", [False, True, "depth"])
def test_similarities_of_minima_share_them(monkeypatch, normalize):
    graphs = collection(random_graphs(8))
    kernel = WeisfeilerLehman(2, normalize=normalize)
    counts = kernel.fit_prepare(graphs)
    settings = [{"similarity": similarity} for similarity in SIMILARITIES]
    alone = [kernel.compare(counts, None, [setting])[0] for setting in settings]
    calls, products = [], gram.Products
    monkeypatch.setattr(gram, "Products", lambda *arguments: calls.append(arguments[2]) or products(*arguments))
    for one, other in zip(kernel.compare(counts, None, settings), alone, strict=True):
        np.testing.assert_array_equal(one, other)
    assert calls == ([False] * 3 + [True] * 3 if normalize == "depth" else [False, True])

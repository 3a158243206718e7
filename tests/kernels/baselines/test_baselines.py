"""What every baseline promises."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from kernels.baselines.graph_forms import is_psd, plain_graphs, random_graphs, renumbered
from relaxwl._execution import TimeLimitReached, time_limit
from relaxwl.graphs import GraphCollection
from relaxwl.kernels import baselines
from relaxwl.kernels.base import CountKernel
from relaxwl.kernels.baselines import (
    GradualWL,
    GraphletSampling,
    OddSth,
    PersistentWL,
    ShortestPath,
    VertexEdgeHistogram,
    WassersteinWL,
    WLOptimalAssignment,
)

OURS = [
    VertexEdgeHistogram(),
    VertexEdgeHistogram(gamma=0.1),
    GraphletSampling(n_samples=50, random_state=0),
    ShortestPath(),
    WassersteinWL(max_depth=2),
    WassersteinWL(max_depth=1, scheme="continuous"),
    PersistentWL(max_depth=2, cycles=True),
    WLOptimalAssignment(max_depth=2),
    OddSth(height=2),
    GradualWL(max_depth=2, n_clusters=2, random_state=0),
]
FIXED_COLUMNS = [kernel for kernel in OURS if isinstance(kernel, CountKernel)]
# Its children with equal labels come in the order of their numbers, as in GraKeL.
NUMBERS_MATTER = (GraphletSampling, OddSth)


def named(kernels):
    """Parametrise by kernels."""
    return pytest.mark.parametrize("kernel", kernels, ids=str)


@named(OURS)
@pytest.mark.parametrize("n_labels", [0, 3])
def test_unseen_graphs(kernel, n_labels):
    graphs = random_graphs(1, n_graphs=12, n_labels=n_labels)
    kernel = clone(kernel)
    whole = kernel.fit_kernel_matrix(graphs)
    assert whole.shape == (12, 12)
    assert np.allclose(whole, whole.T)
    assert np.allclose(kernel.kernel_matrix(graphs), whole)
    assert np.allclose(kernel.kernel_matrix(graphs[3:5], graphs), whole[3:5])
    if not (isinstance(kernel, WassersteinWL) and kernel.scheme == "continuous"):
        assert is_psd(whole)


@named(OURS)
def test_scikit_learn_habits(kernel):
    graphs = random_graphs(2)
    with pytest.raises(NotFittedError):
        clone(kernel).kernel_matrix(graphs)
    fitted = clone(kernel).fit(graphs, y=np.zeros(len(graphs)))
    assert fitted.get_params() == kernel.get_params()
    assert not [name for name in vars(kernel) if name.endswith("_")]
    restored = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(restored.kernel_matrix(graphs), fitted.kernel_matrix(graphs))


@named([kernel for kernel in OURS if isinstance(kernel, CountKernel)])
def test_features(kernel, tmp_path):
    graphs = random_graphs(3)
    kernel = clone(kernel)
    features = kernel.fit_transform(graphs)
    assert np.array_equal(features.toarray(), kernel.transform(graphs).toarray())
    assert features.shape == (len(graphs), len(kernel.get_feature_names_out()))
    if getattr(kernel, "gamma", None) is None:
        assert np.allclose((features @ features.T).toarray(), kernel.kernel_matrix(graphs))
    kernel.save(tmp_path / "kernel")
    loaded = type(kernel).load(tmp_path / "kernel")
    assert np.array_equal(loaded.kernel_matrix(graphs), kernel.kernel_matrix(graphs))


@named(FIXED_COLUMNS)
def test_normalized(kernel):
    graphs = random_graphs(4)
    diagonal = clone(kernel).set_params(normalize=True).fit_kernel_matrix(graphs).diagonal()
    assert np.allclose(diagonal[diagonal > 0], 1)


@named(OURS)
def test_one_fit_covers_all_variations(kernel):
    graphs = random_graphs(5)
    kernel = clone(kernel)
    settings = kernel.variations()
    prepared = kernel.fit_prepare(graphs)
    first = kernel.compare(prepared, None, settings)
    later = kernel.compare(kernel.prepare(graphs), prepared, settings)
    for setting, one, other in zip(settings, first, later, strict=True):
        assert np.allclose(one, other)
        assert np.allclose(one, clone(kernel).set_params(**setting).fit_kernel_matrix(graphs))
    with pytest.raises(ValueError, match="verbose cannot change after the fit"):
        kernel.compare(prepared, None, [{"verbose": 1}])


@named([kernel for kernel in OURS if not isinstance(kernel, NUMBERS_MATTER)])
def test_renumbering_changes_nothing(kernel):
    graphs = random_graphs(6, n_labels=2)
    kernel = clone(kernel).fit(graphs)
    assert np.allclose(kernel.kernel_matrix(renumbered(graphs, 0), graphs), kernel.kernel_matrix(graphs))


@named(OURS)
def test_threads_change_nothing(kernel):
    graphs = random_graphs(7, n_graphs=40)
    one = clone(kernel).fit_kernel_matrix(graphs)
    assert np.array_equal(clone(kernel).set_params(n_jobs=3).fit_kernel_matrix(graphs), one)


@named(OURS)
@pytest.mark.parametrize("labeled", [True, False])
def test_small_and_edgeless_graphs(kernel, labeled):
    sizes = [1, 2, 3]
    parts = [(n, [], ["x"] * n) if labeled else (n, []) for n in sizes]
    graphs = GraphCollection.from_edges(parts)
    matrix = clone(kernel).fit_kernel_matrix(graphs)
    assert np.isfinite(matrix).all()
    unseen = GraphCollection.from_edges([(2, [(0, 1)], ["y", "x"]) if labeled else (2, [(0, 1)])])
    assert clone(kernel).fit(graphs).kernel_matrix(unseen, graphs).shape == (1, 3)


@named([kernel for kernel in OURS if getattr(kernel, "scheme", "") != "continuous"])
def test_graphs_without_nodes(kernel):
    graphs = GraphCollection.from_edges([(0, []), (3, [(0, 1), (1, 2)]), (0, [])])
    matrix = clone(kernel).fit_kernel_matrix(graphs)
    assert np.isfinite(matrix).all()
    assert is_psd(matrix)
    is_gaussian = getattr(kernel, "gamma", None) is not None
    assert matrix[0].any() == (is_gaussian or isinstance(kernel, WassersteinWL))


@named(OURS)
def test_time_limit(kernel):
    with time_limit(1e-9), pytest.raises(TimeLimitReached, match="1e-09 seconds"):
        clone(kernel).fit_kernel_matrix(random_graphs(8))


@named(FIXED_COLUMNS)
def test_labels_must_be_there_where_they_were_fitted(kernel):
    if isinstance(kernel, GraphletSampling):
        return
    with pytest.raises(ValueError, match="fitted on labeled graphs"):
        clone(kernel).fit(random_graphs(1)).transform(random_graphs(1, n_labels=0))


def test_inputs_of_other_libraries():
    networkx = pytest.importorskip("networkx")
    graphs = random_graphs(9, n_labels=0)
    others = []
    for n_nodes, edges, _, _ in plain_graphs(graphs):
        other = networkx.Graph()
        other.add_nodes_from(range(n_nodes))
        other.add_edges_from(edges)
        others.append(other)
    for kernel in OURS:
        assert np.allclose(clone(kernel).fit_kernel_matrix(others), clone(kernel).fit_kernel_matrix(graphs))


@pytest.mark.parametrize(
    "name", ["VertexEdgeHistogram", "GraphletSampling", "ShortestPath", "OddSth", "WassersteinWL", "PersistentWL"]
)
def test_baselines_without_meaning_say_so(name):
    graphs = GraphCollection.from_edges([(2, [(0, 1)])], directed=True)
    with pytest.raises(ValueError, match=f"{name} is not defined for directed graphs; .*symmetrize=True"):
        getattr(baselines, name)().fit(graphs)

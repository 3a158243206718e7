import numpy as np
import pytest

from predictors.small_data import TEST, TRAIN
from relaxwl import GraphCollection
from relaxwl._execution import TimeLimitReached, time_limit
from relaxwl._memory import MemoryRefusal
from relaxwl.molecules import from_smiles
from relaxwl.predictors import AveragedKernel
from relaxwl.predictors.blocks import COMBINATIONS, COMBINED, KernelBlocks, averages
from relaxwl.predictors.portfolio import portfolio
from relaxwl.predictors.views import Objects


@pytest.fixture(scope="module")
def fitted():
    kernel = AveragedKernel(random_state=0)
    return kernel, kernel.fit_prepare(TRAIN)


def test_blocks_are_means_of_views_of_variance_one(fitted):
    kernel, prepared = fitted
    assert kernel.blocks_ == ["exact", "coarse", "paths", "fine"]
    for matrix in kernel._blocks.matrices(prepared).values():
        assert matrix.diagonal().mean() - matrix.mean() == pytest.approx(1.0)
        assert np.linalg.eigvalsh(matrix).min() > -1e-9


def test_combinations_are_means_of_blocks_and_what_was_fitted_can_be_prepared_again(fitted):
    kernel, prepared = fitted
    blocks, again = kernel._blocks.matrices(prepared), kernel._blocks.matrices(kernel.prepare(TRAIN))
    assert list(averages(blocks)) == ["all", "relaxed", "coarse", "broad", "exact"]
    settings = kernel.variations()
    for setting, matrix in zip(settings, kernel.compare(prepared, None, settings), strict=True):
        name = "all" if setting["combination"].startswith("vectors") else setting["combination"]  # there are none
        kinds = [[again[block] for block in kind if block in blocks] for kind in COMBINATIONS[name]]
        means = [np.mean(kind, axis=0) for kind in kinds if kind]
        np.testing.assert_allclose(matrix, np.mean(means, axis=0), atol=1e-9)
    np.testing.assert_allclose(kernel.kernel_matrix(TRAIN), kernel.compare(prepared)[0], atol=1e-9)
    np.testing.assert_allclose(kernel.kernel_diagonal(TRAIN), kernel.compare(prepared)[0].diagonal(), atol=1e-9)
    cross = kernel.kernel_matrix(TEST, TRAIN)
    np.testing.assert_allclose(kernel.kernel_matrix(TEST[[2]], TRAIN)[0], cross[2], atol=1e-9)


def test_molecules_are_graphs_too():
    pytest.importorskip("rdkit")
    graphs = from_smiles(["CCO", "CCN", "c1ccccc1", "CC(C)C", "CO", "CCCCO"])
    kernel = AveragedKernel(effort="quick", random_state=0).fit(graphs)
    plain = AveragedKernel(effort="quick", random_state=0).fit(GraphCollection.concatenate([graphs]))
    np.testing.assert_array_equal(kernel.kernel_matrix(graphs), plain.kernel_matrix(graphs))


def test_pairs_are_arcs_where_the_fit_was_on_arcs():
    arcs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (2, 1)])], directed=True)
    kernel = AveragedKernel(effort="quick", random_state=0).fit(arcs)
    np.testing.assert_array_equal(kernel.kernel_matrix([(3, [(0, 1), (2, 1)])]), kernel.kernel_matrix(arcs[1:]))


def test_out_of_time_less_is_fitted_and_said():
    kernel = AveragedKernel(time_limit=1e-9, random_state=0).fit(TRAIN)
    assert [view.name for view in kernel.views_] == ["WL"]
    assert "R-WL* with few clusters: the time limit for kernels of 1e-09 s was reached" in kernel.left_out_
    assert averages(kernel.blocks_) == {"all": {"exact": 1}}
    assert kernel.kernel_matrix(TEST, TRAIN).shape == (6, 14)


@pytest.mark.parametrize("own", [None, 1e-9])
def test_the_limit_of_the_caller_ends_the_fit(own):
    with pytest.raises(TimeLimitReached), time_limit(1e-9):
        AveragedKernel(time_limit=own, random_state=0).fit(TRAIN)


def test_graphs_that_are_all_the_same_have_no_variance():
    same = TRAIN[[0, 0, 0]]
    np.testing.assert_array_equal(AveragedKernel(effort="quick", random_state=0).fit_kernel_matrix(same), 0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"effort": "much"}, "effort must be one of quick, balanced, thorough"),
        ({"combination": "best"}, "combination must be one of all"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        AveragedKernel(**parameters).fit(TRAIN)
    with pytest.raises(ValueError, match="no graphs"):
        AveragedKernel().fit(TRAIN[:0])


class Refusing:
    """A view that does not fit into memory."""

    name, blocks, training = "large", ("large",), None

    def fit(self, objects):
        """Refuse."""
        raise MemoryRefusal("the labels would need about 28 GiB and the limit is 4 GiB; use fewer labels")

    matrices = features = fit


@pytest.mark.parametrize("features", [False, True])
def test_what_does_not_fit_into_memory_is_left_out_and_said(features):
    views, _ = portfolio(TRAIN, "quick", 0, None)
    blocks = KernelBlocks([Refusing(), *views[:1]])
    found = blocks.fit_features(Objects(TRAIN))[0] if features else blocks.fit(Objects(TRAIN))["exact"]
    assert found.shape[0] == len(TRAIN)
    assert [view.name for view in blocks.views] == ["WL"]
    assert blocks.left_out == ["large: the labels would need about 28 GiB and the limit is 4 GiB; use fewer labels"]
    nothing = KernelBlocks([Refusing(), Refusing()])
    with pytest.raises(MemoryRefusal, match="28 GiB"):
        nothing.fit_features(Objects(TRAIN)) if features else nothing.fit(Objects(TRAIN))


def test_a_combination_of_blocks_is_their_weighted_sum():
    views, left_out = portfolio(TRAIN, "quick", 0, None)
    blocks = KernelBlocks(views, left_out)
    blocks.fit_sampled(Objects(TRAIN), 20, np.zeros((len(TRAIN), 1)))
    rows = np.arange(len(TRAIN))
    before = blocks.matrices(blocks.training(rows))
    weights = {name: place % 3 for place, name in enumerate(before)}
    blocks.combine(weights)
    assert blocks.names == [COMBINED]
    assert all(np.all(scales) for scales in blocks.scales)
    expected = sum(weight * before[name] for name, weight in weights.items())
    np.testing.assert_allclose(blocks.gram(), expected, rtol=1e-6)


def test_similarities_are_scaled_on_a_sample():
    views, left_out = portfolio(TRAIN, "quick", 0, None)
    sampled, whole = KernelBlocks(views, left_out), KernelBlocks(portfolio(TRAIN, "quick", 0, None)[0])
    sampled.fit_sampled(Objects(TRAIN), len(TRAIN), np.zeros((len(TRAIN), 1)))
    whole.fit(Objects(TRAIN))
    for found, expected in zip(sampled.scales, whole.scales, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)

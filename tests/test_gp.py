"""GraphKernel inside scikit-learn's Gaussian processes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel

from relaxed_kernels import optimized
from relaxwl import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.datasets import make_egonets
from relaxwl.gp import GraphKernel


@pytest.fixture(scope="module")
def sample():
    graphs, _ = make_egonets(40, level=1, n_nodes=(24, 36), random_state=0)
    return graphs, graphs.edge_counts / graphs.node_counts


def _relaxed(**options):
    return optimized(2, 2, similarity="tanimoto", random_state=0, **options)


def test_values_are_the_weighted_mean_of_the_cut_kernels(sample):
    graphs, _ = sample
    kernel = GraphKernel(WeisfeilerLehman(2, normalize=True), amplitude=3.0, depth_weights=[1.0, 2.0, 5.0])
    found = kernel(graphs)
    expected = sum(
        3 * weight / 8 * WeisfeilerLehman(depth, normalize=True).fit_kernel_matrix(graphs)
        for depth, weight in enumerate([1, 2, 5])
    )
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(kernel.diag(graphs), np.diag(expected))
    np.testing.assert_allclose(kernel(graphs[:3], graphs), expected[:3])


def test_gradient_is_that_of_the_values(sample):
    graphs, _ = sample
    kernel = GraphKernel(_relaxed(), amplitude=2.0, depth_weights=[1.0, 2.0, 0.5])
    _, gradient = kernel(graphs, eval_gradient=True)
    assert gradient.shape == (40, 40, 4)
    for place in range(4):
        up, down = kernel.theta.copy(), kernel.theta.copy()
        up[place] += 1e-5
        down[place] -= 1e-5
        numeric = (kernel.clone_with_theta(up)(graphs) - kernel.clone_with_theta(down)(graphs)) / 2e-5
        np.testing.assert_allclose(gradient[..., place], numeric, atol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of bounds that were reached
@pytest.mark.parametrize("bounds", ["fixed", (1e-3, 1e3)])
def test_regressor_fits_predicts_and_counts_training_graphs_once(sample, bounds, monkeypatch):
    graphs, y = sample
    kernel = GraphKernel(_relaxed(), depth_weights_bounds=bounds) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(graphs[:30], y[:30])
    counted = []
    original = RelaxedWeisfeilerLehman.prepare
    monkeypatch.setattr(RelaxedWeisfeilerLehman, "prepare", lambda self, X: counted.append(len(X)) or original(self, X))
    mean, deviation = model.predict(list(graphs[30:]), return_std=True)
    assert set(counted) == {10}
    assert np.corrcoef(mean, y[30:])[0, 1] > 0.5
    assert (deviation > 0).all()
    assert "depth_weights" in repr(model.kernel_)


def test_a_clone_is_fitted_anew(sample):
    graphs, _ = sample
    kernel = GraphKernel(WeisfeilerLehman(1))
    kernel(graphs[:5])
    assert not hasattr(clone(kernel), "_fitted")


@pytest.mark.parametrize("weights", [0.0, [1.0, -1.0], [np.nan, 1.0]])
def test_wrong_weights_are_refused(sample, weights):
    graphs, _ = sample
    with pytest.raises(ValueError, match="depth_weights must be"):
        GraphKernel(WeisfeilerLehman(1), depth_weights=weights)(graphs)


def test_gradient_between_two_sets_is_refused(sample):
    graphs, _ = sample
    with pytest.raises(ValueError, match="Y is None"):
        GraphKernel()(graphs, graphs, eval_gradient=True)

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from relaxwl import GraphRegressor
from relaxwl.datasets import make_egonets
from relaxwl.learning.heads import LinearRegressor
from sklearn_checks import each_check, run_check

QUICK = GraphRegressor(effort="quick", random_state=0)
GRAPHS, _ = make_egonets(48, level=1, n_nodes=(24, 36), random_state=1)
Y = GRAPHS.edge_counts / GRAPHS.node_counts + 5.0
TRAIN, TEST = np.arange(36), np.arange(36, 48)


@pytest.mark.filterwarnings("ignore")
@each_check
def test_scikit_learns_own_checks(check):
    run_check(check, GraphRegressor())


@pytest.fixture(scope="module")
def fitted():
    return clone(QUICK).fit(GRAPHS[TRAIN], Y[TRAIN])


def test_means_and_deviations(fitted):
    mean, deviation = fitted.predict(GRAPHS[TEST], return_std=True)
    np.testing.assert_array_equal(fitted.predict(GRAPHS[TEST]), mean)
    assert fitted.score(GRAPHS[TEST], Y[TEST]) > 0.8
    assert (deviation > 0).all()
    assert np.mean(np.abs(mean - Y[TEST]) < 2 * deviation) > 0.7
    np.testing.assert_allclose(fitted.predict(GRAPHS[TEST][[4]]), mean[[4]])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(GRAPHS[TEST]), mean)


def test_threads_change_nothing(fitted):
    again = clone(QUICK).set_params(n_jobs=2).fit(GRAPHS[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(again.predict(GRAPHS[TEST]), fitted.predict(GRAPHS[TEST]))


def test_report_and_weights(fitted):
    report = fitted.report_
    assert report.score < 0.5 * report.baseline
    assert "RMSE" in str(report)
    assert "mean predictor" in str(report)
    assert set(fitted.kernel_weights_) == {"exact", "coarse", "fine", "structure, depth 0", "structure", "statistics"}
    assert set(fitted._blocks.names) == {block for block, weight in fitted.kernel_weights_.items() if weight > 0}
    assert fitted.novelty(GRAPHS[TEST]).shape == (12,)


def test_vectors_beside_the_graphs_join():
    extra = np.random.default_rng(0).normal(size=(48, 2))
    y = 3 * extra[:, 0]
    model = clone(QUICK).fit(GRAPHS[TRAIN], y[TRAIN], extra=extra[TRAIN])
    assert model.kernel_weights_["extra"] > 0
    assert model.score(GRAPHS[TEST], y[TEST], extra=extra[TEST]) > 0.9
    mean, deviation = model.predict(GRAPHS[TEST], return_std=True, extra=extra[TEST])
    assert mean.shape == deviation.shape == (12,)


def test_many_graphs_get_linear_regression(monkeypatch):
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 30)
    model = clone(QUICK).fit(GRAPHS[TRAIN], Y[TRAIN])
    assert isinstance(model._heads[0], LinearRegressor)
    assert "linear model on features" in str(model.report_)
    mean, deviation = model.predict(GRAPHS[TEST], return_std=True)
    assert model.score(GRAPHS[TEST], Y[TEST]) > 0.3
    assert (deviation == deviation[0]).all()
    assert mean.shape == (12,)


def test_out_of_time():
    model = clone(QUICK).set_params(time_limit=1e-6).fit(GRAPHS[TRAIN], Y[TRAIN])
    assert any("time limit" in reason for reason in model.report_.left_out)


def test_constant_targets():
    model = clone(QUICK).fit(GRAPHS[TRAIN], np.full(36, 2.0))
    np.testing.assert_allclose(model.predict(GRAPHS[TEST]), 2.0)


@pytest.mark.parametrize(
    ("y", "message"), [(Y[:5], "one value for each of 48"), (np.where(Y > 6, np.nan, Y), "y must be finite")]
)
def test_bad_input_is_named(y, message):
    with pytest.raises(ValueError, match=message):
        GraphRegressor().fit(GRAPHS, y)
    with pytest.raises(NotFittedError):
        GraphRegressor().predict(GRAPHS)


def test_intervals_of_too_few_graphs_are_infinite():
    model = clone(QUICK).fit(GRAPHS[:6], Y[:6])
    assert np.isinf(model.predict_interval(GRAPHS[TEST], coverage=0.9)).all()
    assert np.isfinite(model.predict_interval(GRAPHS[TEST], coverage=0.8)).all()


def test_noise_beside_a_target_that_needs_few_kernels():
    """A process that finds nothing has all weights at 0, and keeps blocks that the others do without."""
    graphs = GRAPHS[:12]
    noise = np.random.default_rng(0).permuted(np.tile([0.5, 1.5, 2.25, 7.0], (6, 3)), axis=1).T
    table = np.column_stack([graphs.edge_counts, noise])
    model = clone(QUICK).fit(graphs, table)
    assert len({tuple(head.blocks) for head in model._heads}) > 1
    assert np.isfinite(model.predict(graphs)).all()


def test_weights_of_examples_count():
    heavy = np.where(np.arange(48) < 24, 100.0, 1.0)
    y = GRAPHS.edge_counts + np.where(heavy > 1, 5.0, -5.0)
    plain, weighted = clone(QUICK).fit(GRAPHS, y), clone(QUICK).fit(GRAPHS, y, sample_weight=heavy)
    errors = [np.abs(model.predict(GRAPHS) - y)[heavy > 1].mean() for model in (plain, weighted)]
    assert errors[1] < errors[0]

"""Linear machines on explicit features: what vertices add up to."""

import numpy as np
import pytest

from predictors.small_data import GRAPHS, TEST
from relaxwl import GraphClassifier, GraphRegressor


@pytest.mark.parametrize("n_classes", [2, 3])
def test_effects_of_linear_machines_add_up(monkeypatch, n_classes):
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 5)
    y, extra = np.arange(20) % n_classes, np.random.default_rng(0).normal(size=(20, 2))
    model = GraphClassifier(effort="quick", random_state=0).fit(GRAPHS, y, extra=extra)
    codes = model.predict(TEST, extra=extra[:6])
    for place, found in enumerate(model.explain(TEST, extra=extra[:6])):
        assert found.adds_up
        assert found.prediction == codes[place]
        assert found.effects.shape == (TEST[place].n_nodes,)
        machine = model.kernel_.machine_
        weights, intercept = machine.coef_, machine.intercept_
        sign, row = (1.0 if found.prediction else -1.0, 0) if n_classes == 2 else (1.0, found.prediction)
        own = weights[row][-2:] @ (model.kernel_.scaler_.transform(extra[[place]])[0] / np.sqrt(2))
        assert found.rest == pytest.approx(sign * (intercept[row] + own))


def test_effects_of_linear_regressions_add_up(monkeypatch):
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 5)
    model = GraphRegressor(effort="quick", random_state=0).fit(GRAPHS, GRAPHS.edge_counts.astype(float))
    for found, value in zip(model.explain(TEST), model.predict(TEST), strict=True):
        assert found.value == pytest.approx(value)
        assert found.rest == pytest.approx(model.kernel_.model_.intercept_)

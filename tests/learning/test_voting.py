import numpy as np
import pytest
from sklearn.svm import SVC

from relaxwl.learning.voting import OneVsOneSVM


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_decisions_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(80, 3))
    y = np.repeat(np.arange(n_classes), 80 // n_classes + 1)[:80]
    points[:, 0] += y
    gram = points @ points.T
    fitted = SVC(kernel="precomputed", C=0.5).fit(gram[:60, :60], y[rng.permutation(80)[:60]])
    machine = OneVsOneSVM.of(fitted)
    values = gram[60:, :60]
    decisions = machine.decisions(values[:, machine.support])
    expected = fitted.decision_function(values)
    if n_classes == 2:
        np.testing.assert_allclose(decisions[:, 1] - decisions[:, 0], expected, atol=1e-9)
    else:
        np.testing.assert_allclose(decisions, expected, atol=1e-9)
    margins = machine.margins(values[:, machine.support])
    np.testing.assert_allclose(margins.sum(axis=1), 0, atol=1e-9)

"""Linear models on features: fitted here, or given."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC, NuSVC

from explanation.planted import planted
from relaxed_kernels import optimized
from relaxwl import WeisfeilerLehman
from relaxwl.explanation import explain
from relaxwl.explanation.weights import PENALTIES, fit_regression, fit_weights, read_target
from relaxwl.learning.heads import RIDGES
from relaxwl.reports import render_explorer


def test_given_model():
    graphs, y = planted()
    kernel = optimized(max_depth=1, n_partitions=1, random_state=0).fit(graphs)
    features = kernel.transform(graphs)
    model = LogisticRegression(max_iter=5000).fit(features, y)
    found = explain(kernel, graphs, y, model, n_permutations=19)
    assert found.model.accuracy is None
    np.testing.assert_allclose(found.model.scores(features)[:, 1], model.decision_function(features))
    top = found.clusters[0]
    assert top.weights[1] == pytest.approx(model.coef_[0, list(top.columns)].sum())


def linear_models():
    return {
        "one against the rest": OneVsRestClassifier(LogisticRegression(max_iter=5000)),
        "sparse weights": OneVsRestClassifier(SVC(kernel="linear")),
        "each class": LinearSVC(max_iter=20_000),
    }


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", linear_models())
def test_weights_are_those_of_the_given_model(name, n_classes):
    graphs, _ = planted(18)
    y = np.arange(18) % n_classes
    kernel = WeisfeilerLehman(max_depth=1, normalize=True).fit(graphs)
    features = kernel.transform(graphs)
    model = linear_models()[name].fit(features, y)
    found = explain(kernel, graphs, y, model, n_permutations=0)
    scores = found.model.scores(features)
    np.testing.assert_allclose(scores if n_classes > 2 else scores[:, 1], model.decision_function(features))


def test_weights_are_those_of_the_machine():
    graphs, y = planted(30)
    y = np.arange(30) % 3
    kernel = optimized(max_depth=1, n_partitions=1, random_state=0).fit(graphs)
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
    search = GridSearchCV(LinearSVC(), {"C": [1.0]}, cv=2).fit(features, y)
    with pytest.raises(ValueError, match="best_estimator_"):
        explain(kernel, graphs, y, search)
    with pytest.raises(ValueError, match="SVC has none"):
        explain(kernel, graphs, y, OneVsRestClassifier(SVC(kernel="rbf")).fit(features, y))
    with pytest.raises(TypeError, match="kernel must be"):
        explain(LogisticRegression().fit(features, y), graphs, y)


def test_the_regression_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    features, y = rng.poisson(2.0, (30, 50)).astype(float), rng.normal(5, 1, 30)
    fitted = fit_regression(csr_array(features), y, 2.0, 0)
    scale = (features**2).sum(axis=1).mean()
    ridge = Ridge(alpha=fitted.penalty * scale).fit(features, y)
    np.testing.assert_allclose(fitted.coef[1], ridge.coef_, atol=1e-9)
    assert fitted.intercept[1] == pytest.approx(ridge.intercept_ - 2)
    assert fitted.penalty in RIDGES


def test_a_given_regression():
    graphs, y = planted()
    kernel = optimized(max_depth=1, n_partitions=1, random_state=0).fit(graphs)
    values = y + np.linspace(0, 0.1, 40)
    model = Ridge().fit(kernel.transform(graphs), values)
    found = explain(kernel, graphs, values, model, n_permutations=9)
    predicted = found.model.scores(found.features)[:, 1] + found.target.middle
    np.testing.assert_allclose(predicted, model.predict(kernel.transform(graphs)))
    with pytest.raises(ValueError, match="must be a regression on"):
        explain(kernel, graphs, values, Ridge().fit(np.eye(40), values), n_permutations=0)


# -------- numbers are explained as numbers, not as a class for each of them


@pytest.fixture(scope="module")
def explanation():
    graphs, y = planted()
    noise = np.random.default_rng(0).normal(scale=0.3, size=len(y))
    kernel = optimized(max_depth=2, n_partitions=1, n_clusters=2.0, random_state=0)
    return explain(kernel, graphs, 10 + 4 * y + noise, n_permutations=99)


def test_numbers_are_recognized_and_told(explanation):
    assert "40 graphs and targets from" in repr(explanation)
    assert len(explanation.classes) == 2
    assert explanation.model.accuracy is None
    assert explanation.model.r2 > 0.5
    assert "significantly associated with the target" in explanation.summary()
    assert "(the mean predictor explains 0 %)" in explanation.summary()
    page = render_explorer(explanation)
    assert "are shown as two classes" in page
    assert "the mean predictor explains 0 %" in page


def test_what_was_planted_goes_with_large_numbers(explanation):
    top = explanation.clusters[0]
    assert top.better_than_chance
    assert explanation.classes[top.typical_class].endswith("and above") == (top.weights[1] > 0)
    assert sum(cluster.share for cluster in explanation.clusters) == pytest.approx(1)


def test_scores_are_predictions_less_the_middle_and_add_up(explanation):
    middle = explanation.target.middle
    predicted = explanation.model.scores(explanation.features)[:, 1] + middle
    assert np.corrcoef(predicted, explanation.target.values)[0, 1] > 0.9
    found = explanation.explain_graph(3)
    assert found.evidence[:, 1].sum() + explanation.model.intercept[1] == pytest.approx(found.scores[1])


def test_what_is_taken_for_numbers():
    assert read_target(np.arange(20) % 3, 20).values is None
    assert read_target(np.arange(20) % 3, 20, "regression").values is not None
    assert read_target(np.linspace(0, 1, 20), 20).values is not None
    assert read_target(np.linspace(0, 1, 20), 20, "classification").values is None
    assert read_target([1.0, 1.0, 1.0, 2.0, 3.0], 5, "regression").codes.tolist() == [0, 0, 0, 1, 1]
    with pytest.raises(ValueError, match="finite numbers for regression"):
        read_target(["a", "b"], 2, "regression")
    with pytest.raises(ValueError, match="at least two classes"):
        read_target([1.0, 1.0], 2)

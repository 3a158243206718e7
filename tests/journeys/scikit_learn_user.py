"""A scikit-learn user: pipelines, searches, tables with names, cloning, cross-validation and saving."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

import relaxwl
from journeys.steps import walk


def journey(folder):
    """Walk the journey."""
    graphs, y = relaxwl.datasets.make_perturbed(60, n_classes=2, n_nodes=12, rewired=0.1, n_labels=3, random_state=0)
    train, test = train_test_split(np.arange(60), random_state=0, stratify=y)

    pipeline = make_pipeline(relaxwl.WeisfeilerLehman(2, normalize=True), LogisticRegression(max_iter=1000))
    search = GridSearchCV(pipeline, {"weisfeilerlehman__max_depth": [1, 2]}, cv=3).fit(graphs[train], y[train])
    assert search.score(graphs[test], y[test]) > 0.7
    assert cross_val_score(clone(pipeline), graphs, y, cv=3).mean() > 0.7

    kernel = relaxwl.WeisfeilerLehman(1).set_output(transform="pandas")
    with pytest.raises(ValueError, match="sparse_output=False"):
        kernel.fit_transform(graphs)
    table = kernel.set_params(sparse_output=False).fit_transform(graphs)
    assert isinstance(table, pd.DataFrame)
    assert table.columns[0].startswith("depth 0")

    model = relaxwl.GraphClassifier(effort="quick", scoring="roc_auc", random_state=0)
    targets = pd.Series(np.where(y == 1, "yes", "no"))
    model.fit(graphs[train], targets[train])
    assert model.classes_.tolist() == ["no", "yes"]
    assert "ROC AUC" in str(model.report_)
    assert 0.7 < model.score(graphs[test], targets[test]) <= 1
    assert clone(model).get_params() == model.get_params()
    sets = model.predict_set(graphs[test], coverage=0.9)
    assert sets.shape == (15, 2)
    model.save(folder / "model.rwl")
    loaded = relaxwl.GraphClassifier.load(folder / "model.rwl")
    np.testing.assert_array_equal(loaded.predict_proba(graphs[test]), model.predict_proba(graphs[test]))
    assert model.explain(graphs[test[:1]])[0].to_html().startswith("<div")


if __name__ == "__main__":
    walk(journey)

"""
Inspecting a predictor with scikit-learn
========================================

Predictors of graphs are scikit-learn estimators. The example draws a learning curve, the importance of additional
numbers beside the graphs, a calibration curve, and ROC and precision-recall curves.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.inspection import permutation_importance
from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay
from sklearn.model_selection import LearningCurveDisplay

import relaxwl

# %%
# **Data.** 160 labeled graphs of two classes, a third of whose edges are rewired.

graphs, y = relaxwl.datasets.make_perturbed(160, n_classes=2, n_nodes=16, rewired=0.35, n_labels=3, random_state=1)
model = relaxwl.GraphClassifier(effort="quick", random_state=0)

# %%
# **Learning curve.** The display fits clones of the model to growing parts of a collection.

figure, axes = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
LearningCurveDisplay.from_estimator(model, graphs, y, train_sizes=[0.3, 1.0], cv=2, ax=axes)
plt.show()

# %%
# **Calibration.** Among predictions of equal probability, the share of the second class should equal the probability.

model.fit(graphs[:100], y[:100])
figure, axes = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
CalibrationDisplay.from_estimator(model, graphs[100:], y[100:], n_bins=4, strategy="quantile", ax=axes)
plt.show()

# %%
# **ROC and precision-recall curves** on the same graphs. ``relaxwl.reports.plots.curves_figure`` draws them for
# any number of classes, ``observed_figure`` observed against predicted numbers.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
RocCurveDisplay.from_estimator(model, graphs[100:], y[100:], ax=left)
PrecisionRecallDisplay.from_estimator(model, graphs[100:], y[100:], ax=right)
plt.show()

# %%
# **Permutation importance** of additional features, which are passed as ``extra``. Only the first of the three
# columns is informative. The scoring function keeps the graphs fixed while the columns are permuted.

rng = np.random.default_rng(0)
extra = np.column_stack([y + rng.normal(0, 0.8, len(y)), rng.normal(size=(len(y), 2))])
beside = relaxwl.GraphClassifier(effort="quick", random_state=0).fit(graphs[:100], y[:100], extra=extra[:100])


def score(estimator, columns, classes):
    """Return the accuracy with these columns beside the graphs."""
    return estimator.score(graphs[100:], classes, extra=columns)


importance = permutation_importance(beside, extra[100:], y[100:], scoring=score, n_repeats=5, random_state=0)
for name, drops in zip(("signal", "noise 1", "noise 2"), importance.importances, strict=True):
    print(f"{name:8} {drops.mean():.3f} ± {drops.std():.3f}")

# %%
# **Summary.** Functions of scikit-learn that take an estimator and data accept a predictor of graphs. Permuting the
# informative column lowers the accuracy most.

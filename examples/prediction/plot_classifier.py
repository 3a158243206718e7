"""
A workflow for networks: classifier, calibration, novelty
=========================================================

:class:`~relaxwl.GraphClassifier` takes a list of networks and their classes. The example trains it on ego networks of
four kinds, checks its accuracy and probabilities on new networks, detects networks that are unlike the training data,
and shows the nodes behind a prediction.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import relaxwl

# %%
# **Data.** 240 ego networks of 60 people from four models of how friendships arise, as networkx graphs.

collection, y = relaxwl.datasets.make_egonets(240, level=3, n_nodes=60, random_state=0)
networks = collection.to_networkx()
train, test = networks[:160], networks[160:]

# %%
# **Fit.** The report lists the combinations of kernels that were tried, with cross-validated accuracies.

model = relaxwl.GraphClassifier(effort="quick", random_state=0).fit(train, y[:160])
print(model.report_)
print(f"accuracy on new networks: {model.score(test, y[160:]):.2f} (majority-class baseline 0.25)")

# %%
# **Calibration.** Among predictions of similar confidence, the share of correct ones should equal the confidence.

probabilities = model.predict_proba(test)
confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == y[160:]
bins = np.quantile(confidence, [0, 0.25, 0.5, 0.75, 1])
bins[-1] += 1e-9
places = np.digitize(confidence, bins) - 1
figure, axes = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
axes.plot([0.25, 1], [0.25, 1], color="0.6")
axes.plot(
    [confidence[places == k].mean() for k in range(4)], [correct[places == k].mean() for k in range(4)], marker="o"
)
axes.set(xlabel="mean confidence", ylabel="share of correct predictions", xlim=(0.25, 1), ylim=(0, 1.03))
plt.show()
print(f"mean confidence {confidence.mean():.2f}, share of correct predictions {correct.mean():.2f}")

# %%
# In the four groups of predictions the share of correct ones grows with the confidence, and is within a few points of
# the mean confidence.

# %%
# **Novelty.** Values above 1 mark networks that are unlike the training data, here random regular graphs.

others = [nx.random_regular_graph(14, 60, seed=seed) for seed in range(20)]
print(f"novelty below 0.05: {np.mean(model.novelty(test) < 0.05):.0%} of the new networks,", end=" ")
print(f"{np.mean(model.novelty(others) < 0.05):.0%} of the regular graphs")

# %%
# **Explanation.** Effects of nodes on the predicted class; ``write_effects`` writes a self-contained HTML page.

effects = model.explain(test[:3])
print("nodes with the largest effect:", effects[0].strongest())
relaxwl.reports.write_effects(effects, "effects.html", report=model.report_)
Path("effects.html").unlink()

# %%
# **Summary.** One model gives classes, probabilities, a measure of novelty and the nodes behind a prediction. On these
# networks the combination with structural features of nodes (``all + structure``) is chosen; in cross-validation it is
# far more accurate than exact neighborhoods.

"""Remake the plots of the page on choosing parameters: accuracy and time, one parameter at a time, on real sets.

::

    python docs/images/parameters.py ../shared/data          # all of them
    python docs/images/parameters.py ../shared/data iterations   # only these

Accuracies are means of 3 repetitions of 5-fold cross-validation with C = 100 and everything else at the defaults
below; kernels are fitted on all graphs without their classes. They show the effect of one parameter.
"""

import json
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.svm import SVC

from relaxwl import EditCost, RelaxedWeisfeilerLehman
from relaxwl.datasets import load_tu

SETS = ("MUTAG", "EGO-1", "IMDB-BINARY")
DEFAULTS = {
    "max_depth": 2, "n_partitions": 10, "n_clusters": 1.0, "max_iter": 0, "similarity": "dot", "normalize": True,
    "n_jobs": 2, "random_state": 0,
}  # fmt: skip
TRIED = {
    "depth": ("max_depth", [0, 1, 2, 3, 4]),
    "clusters": ("n_clusters", [0.25, 0.5, 1.0, 2.0, 4.0]),
    "partitions": ("n_partitions", [1, 3, 10, 30]),
    "iterations": ("max_iter", [0, 1, 4, 8, None]),
    "similarity": ("similarity", ["dot", "intersection", "tanimoto"]),
    "normalization": ("normalize", [False, True, "depth"]),
    "base": ("base", ["subtree", "edge", "shortest-path"]),
    "cost": ("cost", [0.5, 1.0, 2.0]),
}


def measure(graphs, y, name, value):
    """Return accuracy in percent and seconds of one setting."""
    value = EditCost(insert_delete=value) if name == "cost" else value
    kernel = RelaxedWeisfeilerLehman(**{**DEFAULTS, name: value})
    start = time.perf_counter()
    matrix = kernel.fit_kernel_matrix(graphs)
    seconds = time.perf_counter() - start
    matrix /= np.trace(matrix) / len(matrix)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
    return 100 * cross_val_score(SVC(kernel="precomputed", C=100), matrix, y, cv=folds).mean(), seconds


def draw(title, name, measured, folder):
    """Draw accuracy and time against one parameter."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.6, 2.9), layout="constrained")
    for dataset, points in measured.items():
        labels = [str(value) for value, _, _ in points]
        left.plot(labels, [accuracy for _, accuracy, _ in points], marker="o", label=dataset)
        right.plot(labels, [seconds for _, _, seconds in points], marker="o")
    left.set(xlabel=name, ylabel="accuracy, %")
    right.set(xlabel=name, ylabel="seconds", yscale="log")
    figure.legend(loc="outside upper center", ncols=len(measured), frameon=False)
    figure.savefig(folder / f"{title}.svg", metadata={"Date": None})
    plt.close(figure)


def main(data: Path, titles: list[str]) -> None:
    """Measure and draw everything, or what is named; figures are kept beside the plots."""
    folder = Path(__file__).with_suffix("")
    plt.rcParams["svg.hashsalt"] = "relaxwl"
    sets = {name: load_tu(data / f"{name}.zip") for name in SETS}
    graphs, y = sets["MUTAG"]
    tried = {title: TRIED[title] for title in titles or TRIED}
    for name, values in tried.values():  # compiled before the clock starts
        measure(graphs[:20], y[:20], name, values[-1])
    kept = json.loads((folder / "figures.json").read_text(encoding="utf-8")) if titles else {}
    for title, (name, values) in tried.items():
        measured = {key: [(value, *measure(*given, name, value)) for value in values] for key, given in sets.items()}
        draw(title, name, measured, folder)
        kept[title] = measured
        print(title, measured, flush=True)
    (folder / "figures.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

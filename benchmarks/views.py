"""What each view contributes to the predictors, drawn from the records of graph_sets.py and moleculeace.py.

    python benchmarks/views.py docs/images/views.svg

Measure first: ``graph_sets.py FOLDER --folds nested --methods auto "auto without WL" ...`` and ``moleculeace.py``.
Left: accuracy of ``GraphClassifier`` minus that without a kind of views, on each set, first repetition. Right: RMSE
of ``MoleculeRegressor`` without some views minus its own, a dot for each set of MoleculeACE and a bar at the mean.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from graph_sets import DROPPED, SETS
from harness import RECORDS, Records

MOLECULES = ("without R-WL*", "without graph kernels", "graph kernels alone")


def of_graphs(axes):
    """Draw, for each graph set, what the accuracy loses without a kind of views; print the means."""
    cells = Records(RECORDS / "graph_sets.jsonl").cells

    def accuracy(name, method):
        return cells.get((name, method, "nested", 0), {}).get("measures", {}).get("accuracy")

    shown = [name for name in SETS if any(accuracy(name, method) is not None for method in DROPPED)]
    for method, marker in zip(DROPPED, "osD^", strict=True):
        places = [place for place, name in enumerate(shown) if accuracy(name, method) is not None]
        losses = [accuracy(shown[place], "auto") - accuracy(shown[place], method) for place in places]
        axes.plot(losses, places, marker, label=method.removeprefix("auto "), alpha=0.8, markersize=5)
        print(f"{method}: {np.mean(losses):+.2f} points on average over {len(losses)} sets")
    axes.axvline(0, color="gray", linewidth=0.8)
    axes.set_yticks(range(len(shown)), shown)
    axes.invert_yaxis()
    axes.set_xscale("symlog", linthresh=3)  # some views carry some sets alone
    axes.set_xticks([-2, -1, 0, 1, 2, 5, 10, 40], ["−2", "−1", "0", "1", "2", "5", "10", "40"])
    axes.set_xlabel("points of accuracy lost (linear up to 3)")
    axes.set_title("GraphClassifier")
    axes.legend(fontsize=8, loc="lower right")


def of_molecules(axes):
    """Draw what the error gains without some views, set by set; print the means."""
    errors = Records(RECORDS / "moleculeace.jsonl").values("rmse")
    for place, method in enumerate(MOLECULES):
        gains = [errors[method][name] - errors["default"][name] for name in errors[method]]
        axes.plot(gains, np.full(len(gains), place), "o", alpha=0.4, markersize=5)
        axes.plot([np.mean(gains)] * 2, [place - 0.25, place + 0.25], color="black")
        print(f"molecules, {method}: {np.mean(gains):+.4f} of RMSE on average over {len(gains)} sets")
    axes.axvline(0, color="gray", linewidth=0.8)
    axes.set_yticks(range(len(MOLECULES)), MOLECULES)
    axes.invert_yaxis()
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("RMSE gained")
    axes.set_title("MoleculeRegressor, 20 sets of MoleculeACE")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", type=Path)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    of_graphs(left)
    of_molecules(right)
    figure.savefig(parser.parse_args().image, metadata={"Date": None})


if __name__ == "__main__":
    main()

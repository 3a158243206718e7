"""What each view contributes to the predictors, drawn from the records of graph_sets.py and moleculeace.py.

    python benchmarks/views.py docs/images/views.svg

Measure first: ``graph_sets.py FOLDER --folds nested --methods auto "auto without WL" ...`` and ``moleculeace.py``.
Left: accuracy of ``GraphClassifier`` minus that without a kind of views, on each set, first repetition. Right: RMSE
of ``MoleculeRegressor`` without some views minus its own, on each set of MoleculeACE. Both print the means.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from graph_sets import DROPPED, SETS
from harness import RECORDS, Records

MOLECULES = {
    "without R-WL*": "without\nR-WL*",
    "without graph kernels": "without\ngraph kernels",
    "graph kernels alone": "without descriptors\nand fingerprints",
}


def draw(axes, losses, rows, columns, limit, digits):
    """Draw losses with their numbers; colors are saturated at the limit, and "–" stands for no number."""
    axes.imshow(losses, cmap="PuOr_r", vmin=-limit, vmax=limit, aspect="auto")
    for (row, column), loss in np.ndenumerate(losses):
        rounded = round(loss, digits)
        text = "–" if np.isnan(loss) else f"{rounded:+.{digits}f}".replace("-", "−") if rounded else "0"
        strong = abs(loss) > 0.7 * limit
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color="white" if strong else "black")
    axes.set_xticks(range(len(columns)), columns, fontsize=8)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)


def of_graphs(axes):
    """Draw, for each graph set, what the accuracy loses without a kind of views; print the means."""
    cells = Records(RECORDS / "graph_sets.jsonl").cells

    def accuracy(name, method):
        return cells.get((name, method, "nested", 0), {}).get("measures", {}).get("accuracy", np.nan)

    # Vectors are not among the views of all sets; the other kinds are.
    kinds = [method for method in DROPPED if method != "auto without vectors"]
    shown = [name for name in SETS if np.isfinite([accuracy(name, method) for method in kinds]).all()]
    losses = np.array([[accuracy(name, "auto") - accuracy(name, method) for method in DROPPED] for name in shown])
    draw(axes, losses, shown, [method.removeprefix("auto ").replace(" ", "\n", 1) for method in DROPPED], 5, 1)
    axes.set_title("GraphClassifier: loss of accuracy in points", fontsize=10)
    for method, mean in zip(DROPPED, np.nanmean(losses, axis=0), strict=True):
        print(f"{method}: {mean:+.2f} points on average")


def of_molecules(axes):
    """Draw, for each set of molecules, what the error gains without some views; print the means."""
    errors = Records(RECORDS / "moleculeace.jsonl").values("rmse")
    shown = sorted(errors["default"], key=errors["default"].get)
    gains = np.array([[errors[method][name] - errors["default"][name] for method in MOLECULES] for name in shown])
    rows = [f"{name} ({errors['default'][name]:.2f})" for name in shown]
    draw(axes, 1000 * gains, rows, list(MOLECULES.values()), 25, 0)
    axes.set_title("MoleculeRegressor: increase of RMSE in thousandths", fontsize=10)
    for method, mean in zip(MOLECULES, gains.mean(axis=0), strict=True):
        print(f"molecules, {method}: {mean:+.4f} of RMSE on average over {len(shown)} sets")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", type=Path)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
    of_graphs(left)
    of_molecules(right)
    figure.savefig(parser.parse_args().image, metadata={"Date": None})


if __name__ == "__main__":
    main()

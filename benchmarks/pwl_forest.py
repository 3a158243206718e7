"""Persistent WL with the classifier of its authors' script instead of ours: a random forest on scaled features.

Run ``python benchmarks/pwl_forest.py [NAME ...]``. The paper's numbers for PWL look like this setting (10 repetitions
of 10-fold cross-validation without inner selection) rather than like a support vector machine.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from relaxwl.datasets import load_tu
from relaxwl.evaluation.tables import PAPER_ACCURACIES
from relaxwl.kernels.baselines import PersistentWL

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["EGO-1", "IMDB-BINARY"])
    parser.add_argument("--repeats", type=int, default=10)
    arguments = parser.parse_args()
    for name in arguments.names:
        graphs, y = load_tu(DATA / f"{name}.zip")
        features = PersistentWL(max_depth=5).fit_transform(graphs)
        means = []
        for seed in range(arguments.repeats):
            model = make_pipeline(MaxAbsScaler(), RandomForestClassifier(50, random_state=seed))
            folds = StratifiedKFold(10, shuffle=True, random_state=seed)
            means.append(100 * cross_val_score(model, features, y, cv=folds, n_jobs=2).mean())
        paper = PAPER_ACCURACIES["pwl"].get(name)
        beside = "" if paper is None else f"; the paper says {paper[0]} ± {paper[1]}"
        print(f"{name}: {np.mean(means):.2f} ± {np.std(means):.2f} with a random forest{beside}", flush=True)


if __name__ == "__main__":
    main()

"""Linear SVMs on counts and on unary features beside the SVM on intersection Gram matrices: accuracy and time.

Five folds; C is chosen within each training part by three inner folds. Times are those of features or Gram matrix and
of all fits, the choice of C included.

    python benchmarks/unary_features.py NCI1 Mutagenicity
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC

from relaxwl import WeisfeilerLehman
from relaxwl.datasets import load_tu

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PENALTIES = [0.1, 0.3, 1.0, 3.0, 10.0]


def evaluate(features, y, machine, gram=False):
    """Return the accuracy of each of five folds, and the seconds that all fits took."""
    started = time.perf_counter()
    scores = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        search = GridSearchCV(machine, {"C": PENALTIES}, cv=StratifiedKFold(3, shuffle=True, random_state=0))
        known, new = (features[np.ix_(train, train)], features[np.ix_(test, train)]) if gram else (
            features[train], features[test])  # fmt: skip
        scores.append(search.fit(known, y[train]).score(new, y[test]))
    return 100 * np.array(scores), time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["NCI1", "Mutagenicity"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in arguments.sets:
        graphs, y = load_tu(DATA / f"{name}.zip")
        WeisfeilerLehman(4, similarity="intersection").fit_transform(graphs[:20])  # compiles
        kernel = WeisfeilerLehman(4, similarity="intersection", normalize=True)
        started = time.perf_counter()
        counts = kernel.fit_prepare(graphs)
        fitted = time.perf_counter() - started
        print(f"{name}: {len(graphs)} graphs, WL to depth 4 in {fitted:.2f} s")
        ways = {
            "counts": (lambda: kernel._weighted_counts(counts), LinearSVC(random_state=0)),  # noqa: B023
            "unary features": (lambda: kernel.unary_features(counts), LinearSVC(random_state=0)),  # noqa: B023
            "intersection Gram": (lambda: kernel.compare(counts)[0], SVC(kernel="precomputed")),  # noqa: B023
        }
        for way, (make, machine) in ways.items():
            started = time.perf_counter()
            features = make()
            made = time.perf_counter() - started
            scores, seconds = evaluate(features, y, machine, way == "intersection Gram")
            size = f"{features.shape[1]} columns"
            print(
                f"  {way}: {scores.mean():.2f} ± {scores.std():.2f} %, {size}, {made:.2f} s + {seconds:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()

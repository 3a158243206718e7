"""Compare our path of support vector machines with scikit-learn's SVC: the fits that choose C in one inner fold.

Run ``python benchmarks/svm_paths.py [NAME ...]``. Both fit the same two thirds of the graphs with each of the ten
default C values on the same scaled Gram matrix (WL, depth 3), and predict the rest. One thread.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from relaxwl import WeisfeilerLehman
from relaxwl.datasets import load_tu
from relaxwl.evaluation.folds import DEFAULT_C
from relaxwl.learning.svm import MAX_ITERATIONS, TOLERANCE, score_path, submatrix, training_scale

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("EGO-1", "IMDB-BINARY", "PROTEINS", "REDDIT-BINARY", "NCI1")


def sklearn_correct(training: np.ndarray, unseen: np.ndarray, y: np.ndarray, targets: np.ndarray) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machines = (SVC(kernel="precomputed", C=C, tol=TOLERANCE, max_iter=MAX_ITERATIONS) for C in DEFAULT_C)
        return [int(np.sum(machine.fit(training, y).predict(unseen) == targets)) for machine in machines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    print(f"{'data set':<15}{'SVC':>10}{'ours':>10}{'faster':>9}   correct of, at each C: SVC / ours")
    for name in arguments.names:
        graphs, labels = load_tu(DATA / f"{name}.zip")
        y = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        gram = WeisfeilerLehman(max_depth=3).fit_kernel_matrix(graphs)
        fit, held_out = next(StratifiedKFold(3, shuffle=True, random_state=0).split(gram, y))
        scale = training_scale(gram.diagonal()[fit])
        score_path(gram, y, fit[:60], held_out[:10], scale, DEFAULT_C)  # compile
        start = time.perf_counter()
        ours = score_path(gram, y, fit, held_out, scale, DEFAULT_C).correct
        middle = time.perf_counter()
        theirs = sklearn_correct(
            submatrix(gram, fit, fit, scale), submatrix(gram, held_out, fit, scale), y[fit], y[held_out]
        )
        end = time.perf_counter()
        ratio = (end - middle) / (middle - start)
        print(
            f"{name:<15}{end - middle:>8.2f} s{middle - start:>8.3f} s{ratio:>8.1f}×   {theirs} / {ours.tolist()}",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""A command-line user: pipes, JSON, files that are there or not, and results that go on where they stopped."""

import json

import numpy as np
from scipy.sparse import load_npz

import relaxwl as package
from journeys.steps import relaxwl, walk


def journey(folder):
    """Walk the journey."""
    graphs, y = package.datasets.make_perturbed(40, n_classes=2, n_nodes=10, rewired=0.1, n_labels=3, random_state=0)
    package.datasets.write_tu(folder / "SMALL.zip", graphs, y)

    said, _ = relaxwl(folder, "--help")
    assert "neighbors" in said
    said, notes = relaxwl(folder, "datasets", "stats", "SMALL.zip", "--json")
    assert json.loads(said)[0]["n_graphs"] == 40
    nowhere = relaxwl(folder, "features", "LARGE.zip", "-o", "X.npz", code=2)[1]
    assert nowhere == "relaxwl: LARGE.zip: there is no such file or folder\n"

    relaxwl(folder, "features", "SMALL.zip", "-o", "X.npz", "--kernel", "wl", "--depth", "1", "--model", "wl.rwl")
    assert load_npz(folder / "X.npz").shape[0] == 40
    relaxwl(folder, "kernel", "SMALL.zip", "-o", "K.npz", "--apply", "wl.rwl", "--jobs", "-2")
    assert np.load(folder / "K.npz")["K"].shape == (40, 40)

    run = ("benchmark", "SMALL.zip", "--kernels", "ve-hist", "wl", "--folds", "3", "--repeats", "1", "--out", "results")
    first = json.loads(relaxwl(folder, *run, "--json")[0])
    second, notes = relaxwl(folder, *run, "--json")
    assert json.loads(second) == first
    assert "those with these settings are not computed again" in notes
    markdown = relaxwl(folder, *run, "--format", "markdown", "--scoring", "balanced_accuracy")[0]
    assert markdown.startswith("**Balanced accuracy**")
    said, _ = relaxwl(folder, "report", "results", "-o", "report.html")
    assert said == "report written to report.html\n"

    fitted = json.loads(relaxwl(folder, "fit", "SMALL.zip", "--effort", "quick", "-o", "m.rwl", "--json")[0])
    assert fitted["score"] > 0.7
    same = relaxwl(folder, "predict", "m.rwl", "SMALL.zip", "-o", "m.rwl", code=2)[1]
    assert "is an input and would be overwritten" in same
    told = json.loads(relaxwl(folder, "predict", "m.rwl", "SMALL.zip", "-o", "p.csv", "--json")[0])
    assert told["accuracy"] > 0.8
    assert len((folder / "p.csv").read_text().splitlines()) == 41


if __name__ == "__main__":
    walk(journey)

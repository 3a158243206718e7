"""A toxicologist: several assays with gaps and rare classes, in one model and in one benchmark."""

import csv
import json

from journeys.steps import relaxwl, walk

SMILES = ["C" * n + head for head in ("", "O", "N", "Cl", "C=O") for n in range(1, 8)]


def journey(folder):
    """Walk the journey."""
    rows = []
    for place, smiles in enumerate(SMILES):
        assays = [int("O" in smiles), int("Cl" in smiles), int(len(smiles) > 5)]
        gaps = ["" if (place + number) % 6 == 0 else value for number, value in enumerate(assays)]
        rows.append(f"T{place},{smiles},{gaps[0]},{gaps[1]},{gaps[2]},")
    (folder / "assays.csv").write_text("\n".join(["mol_id,smiles,oxygen,chlorine,long,never", *rows, ""]))

    empty = relaxwl(folder, "fit", "assays.csv", "--target", "all", "-o", "model.rwl", code=2)[1]
    assert empty.splitlines()[-1] == "relaxwl: the target 'never' has no values; leave it out, or use --skip-targets"
    assert not (folder / "model.rwl").exists()

    fit = ("fit", "assays.csv", "--target", "all", "--skip-targets", "--scoring", "roc_auc", "-o", "model.rwl")
    said, notes = relaxwl(folder, *fit)
    assert "--target all: oxygen, chlorine, long, never" in notes
    assert "the target 'never' has no values and is left out" in notes
    lines = said.splitlines()
    assert "ROC AUC" in lines[0]
    assert [line.split()[0] for line in lines[1:5]] == ["oxygen", "chlorine", "long", "mean"]

    said, _ = relaxwl(folder, "predict", "model.rwl", "assays.csv", "-o", "out.csv", "--coverage", "0.9", "--json")
    assert json.loads(said)["accuracy"] > 0.8  # of columns that the model remembers
    table = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    assert len(table) == len(SMILES)
    assert {"oxygen: prediction", "chlorine: probability of 1", "long: set", "novelty"} <= set(table[0])
    assert table[1]["mol_id"] == "T1"

    run = ("benchmark", "assays.csv", "--target", "oxygen", "chlorine", "--kernels", "wl", "--folds", "2")
    said, _ = relaxwl(folder, *run, "--inner-folds", "2", "--repeats", "1", "--out", "results", "--format", "csv")
    assert [line.split(",")[0] for line in said.splitlines()[:4]] == [
        "target", "assays: oxygen", "assays: chlorine", "mean",
    ]  # fmt: skip


if __name__ == "__main__":
    walk(journey)

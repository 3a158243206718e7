"""A chemist: a table of measured molecules, a model, honest estimates, new molecules, and why."""

import csv

from journeys.steps import relaxwl, walk

# Alkanes, alcohols, amines and acids; soluble through the head, less so with every carbon.
HEADS = {"": 0.1, "O": 3.0, "N": 2.0, "C(=O)O": 2.5}
ROWS = [
    (f"{head or 'alkane'} {n}", "C" * n + head, shift - 0.5 * n) for head, shift in HEADS.items() for n in range(1, 8)
]


def journey(folder):
    """Walk the journey."""
    lines = [f"{name},{smiles},{value}" for name, smiles, value in ROWS]
    lines += ["salt of acid 3,CCCC(=O)[O-].[Na+],1.2", "copy of ethanol,OCC,2.25"]
    (folder / "measured.csv").write_text("\n".join(["Name,Smiles,logS", *lines, ""]))

    wrong = relaxwl(folder, "fit", "measured.csv", "--target", "logs", "-o", "model.rwl", code=2)[1]
    assert "has no column 'logs'; its columns are Name, Smiles, logS" in wrong

    fit = ("fit", "measured.csv", "--target", "logS", "--standardize", "--validate", "random", "-o", "model.rwl")
    said, _ = relaxwl(folder, *fit)
    assert "RMSE, leave-one-out after tuning" in said
    assert "2 molecules occur more than once, whose targets differ by" in said  # ethanol, and the acid of the salt
    assert "held out: RMSE" in said
    assert "model saved to model.rwl" in said

    (folder / "new.csv").write_text("id,SMILES\npentanol-2,CCCC(C)O\nsalt,CCCCC(=O)[O-].[K+]\nbad,C(C\n")
    refused = relaxwl(folder, "predict", "model.rwl", "new.csv", "-o", "out.csv", code=2)[1]
    assert "new.csv, line 4" in refused
    assert "not a valid SMILES string" in refused
    assert not (folder / "out.csv").exists()

    ask = (
        "predict",
        "model.rwl",
        "new.csv",
        "-o",
        "out.csv",
        "--errors",
        "skip",
        "--coverage",
        "0.8",
        "--page",
        "why.html",
    )
    said, notes = relaxwl(folder, *ask)
    assert "2 predictions written to out.csv" in said
    assert "1 of 3 molecules could not be read" in notes
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    assert [row["id"] for row in rows] == ["pentanol-2", "salt"]
    for row in rows:
        assert float(row["lower"]) < float(row["prediction"]) < float(row["upper"])
        assert float(row["std"]) > 0
    assert -1 < float(rows[0]["prediction"]) < 2.5  # pentanol: 0.5

    page = (folder / "why.html").read_text()
    assert page.count("<section>") == 2
    assert "pentanol-2 (CCCC(C)O): predicted" in page
    assert "Nearest training molecules" in page
    assert "class " not in page.split("<section>")[1].split("</h2>")[0]  # a number has no class

    said, _ = relaxwl(folder, "neighbors", "model.rwl", "new.csv", "--errors", "skip", "-k", "2")
    assert said.splitlines()[0] == "pentanol-2 CCCC(C)O"
    assert len(said.splitlines()) == 6


if __name__ == "__main__":
    walk(journey)

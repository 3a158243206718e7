"""Models fitted and asked on the command line."""

import csv
import json

import numpy as np
import pytest

from molecules.small_molecules import ROWS
from relaxwl._validation import infer_task
from relaxwl.cli import main
from relaxwl.datasets import load_tu, make_egonets, write_parquet
from relaxwl.distances.graphs import GraphDistance
from relaxwl.explanation.weights import read_target


@pytest.fixture(scope="module")
def model(table):
    path = table.parent / "model.rwl"
    assert main(["fit", str(table), "--smiles", "structure", "--target", "measured", "-o", str(path), "--quiet"]) == 0
    return path


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_fitted_table_predicts_with_deviations(table, model, tmp_path, capsys):
    output = tmp_path / "predictions.csv"
    columns = ["--smiles", "structure", "--target", "measured"]
    page = tmp_path / "why.html"
    pictures = ["--page", str(page), "--page-graphs", "2"]
    assert main(["predict", str(model), str(table), *columns, "-o", str(output), "--json", *pictures]) == 0
    assert page.read_text().count("<section>") == page.read_text().count("Nearest training molecules") == 2
    assert "<figcaption>Descriptors" in page.read_text()
    rows = read(output)
    assert [row["structure"] for row in rows] == [smiles for smiles, _ in ROWS]
    assert rows[0]["name"] == "name 0"
    assert [int(row["line"]) for row in rows] == list(range(2, len(ROWS) + 2))
    np.testing.assert_allclose([float(row["prediction"]) for row in rows], [y for _, y in ROWS], atol=0.5)
    assert all(float(row["std"]) > 0 for row in rows)
    assert json.loads(capsys.readouterr().out)["rmse"] < 0.5


@pytest.mark.filterwarnings("default")  # the command line turns them into notes
def test_large_molecules_on_the_page_are_refused_before(model, tmp_path, capsys, monkeypatch):
    table, output, page = tmp_path / "large.csv", tmp_path / "predictions.csv", tmp_path / "why.html"
    table.write_text(f"smiles\nCCO\nC(\n{'C' * 201}\n")
    command = ["predict", str(model), str(table), "-o", str(output), "--errors", "nan", "--quiet", "--page", str(page)]
    with monkeypatch.context() as patched:
        patched.setattr("relaxwl.commands.predict._answers", None)
        assert main(command) == 2
    message = "large, line 4: 201 atoms, and molecules with at most 200 are explained; leave out --page, or use a"
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [table]
    assert main([*command, "--page-graphs", "1"]) == 0
    assert page.exists()


@pytest.mark.filterwarnings("default")  # the command line turns them into notes
def test_rows_that_cannot_be_read_keep_the_others_in_line(model, tmp_path, capsys):
    table, output = tmp_path / "bad.csv", tmp_path / "predictions.csv"
    table.write_text('id,smiles\na,CCO\nb,C(C\nc\n"d\nd",CCC\n')
    assert main(["predict", str(model), str(table), "-o", str(output)]) == 2
    assert "bad.csv, line 4: 1 fields, but the header has 2" in capsys.readouterr().err
    assert main(["predict", str(model), str(table), "-o", str(output), "--errors", "nan"]) == 0
    assert "line 3, 'C(C': not a valid SMILES string" in capsys.readouterr().err
    assert [(row["line"], bool(row["prediction"])) for row in read(output)] == [
        ("2", True), ("3", False), ("4", False), ("6", True),
    ]  # fmt: skip
    kept = read(output)
    assert main(["predict", str(model), str(table), "-o", str(output), "--errors", "skip", "--quiet"]) == 0
    assert read(output) == [row for row in kept if row["prediction"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit"], "--target COLUMN selects the column"),
        (["fit", "--target", "color"], "no column 'color'; its columns are name, structure, measured"),
        (["fit", "--target", "name", "--task", "regression"], "are not numbers; use --task classification"),
        (["fit", "--target", "measured", "--effort", "balanced"], "--effort does not apply to molecules"),
        (["fit", "--target", "measured", "--time-limit", "5"], "--time-limit does not apply to molecules"),
        (["benchmark", "--target", "measured", "--task", "classification"], "not classes; try --task regression"),
    ],
)
def test_what_is_wrong_with_columns_is_said(table, tmp_path, capsys, arguments, message):
    command, *options = arguments
    where = ["-o", str(tmp_path / "m.rwl")] if command == "fit" else ["--out", str(tmp_path / "results")]
    assert main([command, str(table), "--smiles", "structure", *options, *where]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "task", "note"),
    [
        (range(25), "regression", "25 different whole numbers are numbers, unless --task classification"),
        ([1, 2, 3, 4], "classification", "4 different whole numbers are classes, unless --task regression"),
        ([1.5, 2.5], "regression", ""),
    ],
)
def test_all_commands_read_targets_by_one_rule(tmp_path, capsys, monkeypatch, values, task, note):
    """In Python too: all of them ask infer_task."""
    from relaxwl.commands import benchmark, explain, predict

    graphs, _ = make_egonets(50, n_nodes=20, random_state=0)
    y = np.resize(list(values), 50)
    assert infer_task(y) == task
    path, asked = tmp_path / "graphs.parquet", []
    write_parquet(path, graphs, y)

    def ask(*_, task=None, **__):
        asked.append(task)
        raise ValueError("asked")

    monkeypatch.setattr(explain, "explain", ask)
    monkeypatch.setattr(benchmark, "cross_validate", ask)
    monkeypatch.setattr(predict, "get_score", lambda _, task: ask(task=task))
    for command in (
        ["explain", path, "-o", "x.html"],
        ["fit", path, "-o", "m.rwl"],
        ["benchmark", path, "--out", tmp_path / "r"],
    ):
        assert main(list(map(str, command))) == 2
        said = capsys.readouterr().err
        assert said.endswith("relaxwl: asked\n")
        assert note in said
    assert asked == [task] * 3
    assert (read_target(y, 50).values is not None) == (task == "regression")


def test_classes_of_a_table_are_told_from_numbers(tmp_path, capsys):
    table, model, output = (tmp_path / name for name in ("toxic.csv", "model.rwl", "predictions.csv"))
    table.write_text("smiles,toxic\n" + "".join(f"{smiles},{int('O' in smiles)}\n" for smiles, _ in ROWS))
    assert main(["fit", str(table), "--target", "toxic", "-o", str(model)]) == 0
    assert "2 classes" in capsys.readouterr().out
    assert main(["predict", str(model), str(table), "--target", "toxic", "-o", str(output)]) == 0
    assert "accuracy 100.0 %" in capsys.readouterr().out
    columns = ["line", "smiles", "toxic", "prediction", "probability of 0", "probability of 1", "novelty"]
    assert list(read(output)[0]) == columns


@pytest.fixture(scope="module")
def assays(tmp_path_factory):
    """Write molecules with two assays that have gaps, and fit a model of both."""
    pytest.importorskip("rdkit.Chem")
    folder = tmp_path_factory.mktemp("assays")
    rows = [
        f"m{place},{smiles},{'' if place % 7 == 0 else int('O' in smiles)},"
        f"{'' if place % 5 == 0 else 'NO'['O' in smiles]}"
        for place, (smiles, _) in enumerate(ROWS)
    ]
    (folder / "assays.csv").write_text("\n".join(["id,Smiles,hydroxyl,letter", *rows, ""]))
    options = ["--target", "all", "--scoring", "roc_auc", "--quiet"]
    assert main(["fit", str(folder / "assays.csv"), *options, "-o", str(folder / "model.rwl")]) == 0
    return folder


def test_several_targets_with_gaps_have_columns_each(assays, tmp_path, capsys):
    output = tmp_path / "predictions.csv"
    arguments = [str(assays / "model.rwl"), str(assays / "assays.csv")]
    assert main(["predict", *arguments, "-o", str(output), "--coverage", "0.8"]) == 0
    assert "(mean of 2 targets)" in capsys.readouterr().out
    rows = read(output)
    own = ["hydroxyl: prediction", "hydroxyl: probability of 0", "hydroxyl: probability of 1", "hydroxyl: set"]
    assert [title for title in rows[0] if title.startswith("hydroxyl:")] == own
    assert {row["letter: prediction"] for row in rows} == {"N", "O"}
    assert {row["letter: set"] for row in rows} <= {"{N}", "{O}", "{N, O}", "{}"}
    right = [int(row["hydroxyl: prediction"]) == int("O" in row["Smiles"]) for row in rows]
    assert np.mean(right) > 0.8


def test_neighbors_are_named_with_their_smiles(assays, tmp_path, capsys):
    query = tmp_path / "query.smi"
    query.write_text("CCO asked\n")
    assert main(["neighbors", str(assays / "model.rwl"), str(query), "-k", "18", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["graph"] == "asked CCO"
    distances = {one["name"]: one["distance"] for one in found["neighbors"]}
    assert len(distances) == len(ROWS)
    assert distances["m7 CCO"] == pytest.approx(0, abs=1e-6) == min(distances.values())
    assert main(["neighbors", str(assays / "model.rwl"), str(query), "-k", "1", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("  0.0000  m")


@pytest.mark.parametrize("query", ["CCO", "C[C@H](O)N"])
def test_smiles_as_arguments_are_not_looked_up(model, capsys, monkeypatch, query):
    """The server of data sets must not learn of molecules."""
    monkeypatch.setattr("relaxwl.commands.sources.download_tu", lambda *_: pytest.fail("a name was looked up"))
    assert main(["neighbors", str(model), query]) == 2
    assert f"there is no file or folder {query}; SMILES are read from a .smi file" in capsys.readouterr().err


def test_intervals_and_remembered_columns(table, model, tmp_path):
    output = tmp_path / "predictions.csv"
    assert main(["predict", str(model), str(table), "-o", str(output), "--coverage", "0.8", "--quiet"]) == 0
    rows = read(output)
    assert all(float(row["lower"]) <= float(row["prediction"]) <= float(row["upper"]) for row in rows)


def test_columns_are_checked_before_the_model_is_loaded(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("relaxwl.commands.predict.load_predictor", None)
    table = tmp_path / "new.csv"
    table.write_text("id,formula\na,C2H6O\n")
    assert main(["predict", str(model), str(table), "-o", str(tmp_path / "out.csv")]) == 2
    assert "new.csv has no column 'structure'; its columns are id, formula" in capsys.readouterr().err
    assert main(["neighbors", str(model), str(table), "--smiles", "text"]) == 2
    assert "has no column 'text'" in capsys.readouterr().err
    monkeypatch.undo()
    table.write_text('"name of\na molecule",smiles\na,CCO\n')
    assert main(["predict", str(model), str(table), "-o", str(tmp_path / "out.csv"), "--quiet"]) == 0


def test_stereochemistry_counts_when_asked_for(tmp_path, capsys):
    pytest.importorskip("rdkit.Chem")
    rows = [f"C[C@{'@' * side}H](N){'C' * n},{'RS'[side]}" for side in (0, 1) for n in range(2, 9)]
    table, model, output = (tmp_path / name for name in ("hands.csv", "model.rwl", "predictions.csv"))
    table.write_text("\n".join(["smiles,hand", *rows, ""]))
    for options, accuracy in ((["--stereo"], 1.0), ([], 0.5)):
        assert main(["fit", str(table), "--target", "hand", "-o", str(model), "--quiet", *options]) == 0
        capsys.readouterr()
        assert main(["predict", str(model), str(table), "-o", str(output), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["accuracy"] == accuracy
    assert main(["kernel", str(table), "-o", str(tmp_path / "K.npz"), "--kernel", "wl", "--stereo", "--quiet"]) == 0
    gram = np.load(tmp_path / "K.npz")["K"]
    assert (gram[0, 7], gram[0, 0]) != (gram[0, 0], gram[0, 0])


@pytest.mark.parametrize("how", [pytest.param("random", marks=pytest.mark.slow), "scaffold"])
def test_validation_never_splits_copies(how, tmp_path, capsys):
    pytest.importorskip("rdkit.Chem")
    noise = np.random.default_rng(0).normal(size=40)
    smiles = ["C" * n + head for n in range(1, 11) for head in ("", "O", "N", "Cl")]
    rows = [f"{text},{value}" for text, value in zip(smiles, noise, strict=True)]
    (tmp_path / "noise.csv").write_text("\n".join(["smiles,y", *rows, *rows, ""]))
    command = ["fit", str(tmp_path / "noise.csv"), "--target", "y", "-o", str(tmp_path / "model.rwl"), "--json"]
    assert main([*command, "--validate", how]) == 0
    assert json.loads(capsys.readouterr().out)["held_out"] > 0.5 * noise.std()


def test_options_that_say_nothing_of_shards_are_refused(tmp_path, capsys):
    assert main(["shard", "egonets-1", "-o", str(tmp_path / "s"), "--quiet"]) == 0
    assert main(["fit", str(tmp_path / "s"), "-o", str(tmp_path / "m.rwl"), "--labels", "classes.csv"]) == 2
    assert "--labels does not apply to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "toxic", "empty"], "the target 'empty' has no values"),
        (["--target", "empty"], "the column 'empty' has no values"),
        (["--target", "toxic", "rare"], "target 'rare': the class 'once' occurs once"),
        (["--target", "rare"], "the class 'once' occurs once"),
        (["--target", "toxic", "mixed"], "line 3, column 'mixed': 'high' is not a finite number"),
        (["--target", "toxic", "color"], "has no column 'color'"),
        (["--target", "toxic", "toxic"], "'toxic' is named twice"),
        (["--target", "one", "toxic"], "target 'one': all values are '1'"),
        (["--target", "measured", "rare"], "'measured' holds measured numbers and 'rare' classes"),
        (["--target", "toxic", "--scoring", "rmse"], "scoring must be one of accuracy"),
        (["--target", "toxic", "--task", "regression", "--scoring", "mcc"], "scoring must be one of rmse"),
    ],
)
def test_targets_that_cannot_be_learned_are_refused_in_one_line(tmp_path, capsys, options, message):
    pytest.importorskip("rdkit.Chem")
    rows = [
        f"{smiles},{int('O' in smiles)},,{'once' if place == 3 else 'ab'[place % 2]},"
        f"{'high' if place == 1 else place},1,{place / 7}"
        for place, (smiles, _) in enumerate(ROWS)
    ]
    path, output = tmp_path / "bad.csv", tmp_path / "model.rwl"
    path.write_text("\n".join(["smiles,toxic,empty,rare,mixed,one,measured", *rows, ""]))
    assert main(["fit", str(path), *options, "-o", str(output)]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert message in said[-1]
    assert not output.exists()


def test_a_held_out_estimate_stands_beside_the_quick_one(tmp_path, capsys):
    pytest.importorskip("rdkit.Chem")
    path = tmp_path / "numbers.csv"
    path.write_text("smiles,y\n" + "".join(f"{smiles},{y}\n" for smiles, y in ROWS))
    command = ["fit", str(path), "--target", "y", "-o", str(tmp_path / "model.rwl"), "--quiet", "--validate"]
    assert main([*command, "random"]) == 0
    said = capsys.readouterr().out
    assert "held out: RMSE" in said
    assert "the estimate above, leave-one-out after tuning" in said


@pytest.mark.slow
def test_a_predictor_of_graphs_is_fitted_and_asked(tmp_path, capsys):
    model, table = str(tmp_path / "model.rwl"), str(tmp_path / "predictions.csv")
    assert main(["fit", "egonets-1", "-o", model, "--effort", "quick", "--quiet"]) == 0
    assert "majority class" in capsys.readouterr().out
    page = str(tmp_path / "effects.html")
    assert main(["predict", model, "egonets-1", "-o", table, "--page", page, "--page-graphs", "2", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "200 predictions written" in said
    assert "on the predictions of 2 graphs" in said
    assert (tmp_path / "effects.html").read_text().count("<section>") == 2
    assert "<title>Effects of nodes on predictions: egonets-1" in (tmp_path / "effects.html").read_text()
    lines = (tmp_path / "predictions.csv").read_text().splitlines()
    assert len(lines) == 201
    assert lines[0].startswith("graph,prediction,probability of ")
    assert lines[0].endswith(",novelty")
    assert main(["predict", model, "nowhere.zip", "-o", table]) == 2


def test_shards_are_fitted_one_at_a_time(tmp_path, capsys):
    shards, path, output = tmp_path / "s.shards", tmp_path / "model.rwl", tmp_path / "predictions.csv"
    graphs, data = make_egonets(40, n_nodes=24, random_state=0), str(tmp_path / "data.parquet")
    write_parquet(data, *graphs)
    assert main(["shard", data, "-o", str(shards), "--graphs-per-shard", "15", "--quiet"]) == 0
    assert main(["fit", str(shards), "-o", str(path), "--effort", "quick", "--quiet"]) == 0
    assert "Gram matrices: shards are read one at a time; a linear model on features" in capsys.readouterr().out
    for command in (["predict", str(path), str(shards), "-o", str(output)], ["datasets", "stats", str(shards)]):
        assert main(command) == 2
        assert "s.shards is a folder of shards, which only 'relaxwl fit' and" in capsys.readouterr().err
    assert main(["predict", str(path), data, "-o", str(output), "--quiet"]) == 0
    assert len(read(output)) == 40
    assert main(["fit", str(shards), "-o", str(tmp_path / "no.rwl"), "--validate", "random"]) == 2
    assert "is a folder of shards: --validate needs a table" in capsys.readouterr().err


def test_neighbors_by_distance_need_no_model(dataset, capsys):
    graphs, _ = load_tu(dataset)
    assert main(["neighbors", str(dataset), str(dataset), "--distance", "-k", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    distances, places = GraphDistance().fit(graphs).kneighbors(graphs, 2)
    assert [[one["distance"] for one in each["neighbors"]] for each in found] == distances.tolist()
    assert found[3]["neighbors"][1]["name"] == f"graph {places[3, 1]}"

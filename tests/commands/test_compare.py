"""Comparisons on the command line."""

import json

import pytest

from relaxwl.cli import main
from relaxwl.commands import compare

FEW = ["--permutations", "39"]


def test_two_data_sets_are_compared(tmp_path, capsys):
    pytest.importorskip("rdkit.Chem")
    paths = [tmp_path / "alkanes.smi", tmp_path / "alcohols.smi"]
    for path, head in zip(paths, ("", "O"), strict=True):
        path.write_text("".join(f"{'C' * n}{head}\n" for n in range(1, 12)))
    page, explorer = tmp_path / "page.html", tmp_path / "explorer.html"
    names = [str(path) for path in paths]
    assert main(["compare", *names, *FEW, "-o", str(page), "--explorer", str(explorer)]) == 0
    assert "differ: p = 0.025" in capsys.readouterr().out
    assert str(explorer) in page.read_text(encoding="utf-8")
    assert explorer.exists()


def test_the_classes_of_one_data_set_are_compared(dataset, tmp_path, capsys):
    assert compare.run is not None
    table = tmp_path / "graphs.csv"
    assert main(["compare", str(dataset), *FEW]) == 2
    assert "TINY has 4 classes; compare takes two, or two data sets" in capsys.readouterr().err
    assert not table.exists()


def test_one_table_has_a_column_of_groups(tmp_path, capsys):
    pytest.importorskip("rdkit.Chem")
    table = tmp_path / "groups.csv"
    rows = [f"{'C' * n}{head},{group}" for n in range(1, 10) for head, group in (("", "real"), ("O", "made"))]
    table.write_text("\n".join(["smiles,group", *rows]) + "\n")
    assert main(["compare", str(table), "--target", "group", *FEW, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pvalue"] == 0.025
    assert found["views"].keys() >= {"trees", "descriptors"}


def test_three_data_sets_are_refused(dataset, capsys):
    assert main(["compare", str(dataset), str(dataset), str(dataset)]) == 2
    assert "compare takes one data set with two classes, or two data sets, not 3" in capsys.readouterr().err

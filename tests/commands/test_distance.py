"""Distances of neighborhoods on the command line."""

import json
import re

from relaxwl.cli import main


def test_distance_prints_the_script_and_draws_it(dataset, tmp_path, capsys):
    picture = tmp_path / "mapping.svg"
    assert main(["distance", str(dataset), "--depth", "1", "--nodes", "0:0", "1:3", "--svg", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"tree edit distance at depth 1: \d+", printed)
    assert picture.read_text().startswith("<svg")


def test_distance_as_json_agrees_with_the_library(dataset, capsys):
    import relaxwl

    assert main(["distance", str(dataset), "--depth", "2", "--nodes", "0:0", "1:3", "--json"]) == 0
    graphs, _ = relaxwl.datasets.load_tu(dataset)
    expected = relaxwl.tree_distances(graphs, 2, [(0, 0), (1, 3)])[0, 1]
    assert json.loads(capsys.readouterr().out)["distance"] == expected


def test_distance_prints_all_digits(dataset, capsys):
    arguments = ["distance", str(dataset), "--depth", "16", "--nodes", "0:0", "1:3"]
    assert main([*arguments, "--json"]) == 0
    distance = json.loads(capsys.readouterr().out)["distance"]
    assert distance > 1e6
    assert main(arguments) == 0
    assert f"tree edit distance at depth 16: {int(distance)}\n" in capsys.readouterr().out


def test_depths_beyond_floating_point_are_refused_before_trees_are_built(capsys, monkeypatch):
    monkeypatch.setattr("relaxwl.commands.distance.unfolding_tree", None)
    assert main(["distance", "egonets-1", "--depth", "1000", "--nodes", "0:0", "1:3", "--quiet"]) == 2
    expected = "relaxwl: depth 1000 makes distances larger than floating point holds; use a smaller depth\n"
    assert capsys.readouterr().err == expected

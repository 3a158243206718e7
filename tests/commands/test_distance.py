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


def test_distances_between_files_of_graphs(dataset, tmp_path, capsys):
    import numpy as np

    import relaxwl

    graphs, _ = relaxwl.datasets.load_tu(dataset)
    expected = relaxwl.graph_distances(graphs, depth=1, discount=0.5)
    arguments = ["distance", str(dataset), str(dataset), "--depth", "1", "--discount", "0.5"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["distance"] for one in found] == expected.ravel().tolist()
    assert (found[1]["graph"], found[1]["other"]) == ("0", "1")
    path = tmp_path / "D.npz"
    assert main([*arguments, "-o", str(path)]) == 0
    np.testing.assert_array_equal(np.load(path)["D"], expected)


def test_one_pair_of_nodes_or_two_files(dataset, tmp_path, capsys, monkeypatch):
    for more in ([], [str(dataset), "--nodes", "0:0", "1:3"]):
        assert main(["distance", str(dataset), *more]) == 2
        assert "give a second data set, or --nodes" in capsys.readouterr().err
    for option in ("--output", "--svg"):
        more = ["--nodes", "0:0", "1:3"] if option == "--output" else [str(dataset)]
        assert main(["distance", str(dataset), *more, option, str(tmp_path / "x")]) == 2
        assert "second data set" in capsys.readouterr().err
    assert main(["distance", str(dataset), "--nodes", "0:0", "1:3", "--discount", "0.5"]) == 0
    assert "without --discount" in capsys.readouterr().out
    monkeypatch.setattr("relaxwl.commands.distance.MAX_PRINTED", 3)
    assert main(["distance", str(dataset), str(dataset)]) == 2
    assert "too many to print" in capsys.readouterr().err

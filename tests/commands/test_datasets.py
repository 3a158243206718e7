"""Data sets on the command line: listed, described and converted."""

import itertools

import numpy as np
import pytest

from inputs.one_graph_of_each_kind import EXPECTED
from relaxwl.cli import main
from relaxwl.datasets import read_parquet, read_tu, write_parquet


def test_datasets_stats_and_list(dataset, capsys):
    assert main(["datasets", "stats", str(dataset), "--format", "csv"]) == 0
    assert "TINY,24,4" in capsys.readouterr().out
    assert main(["datasets", "list"]) == 0
    assert "egonets-1" in capsys.readouterr().out


def test_datasets_are_converted_there_and_back(dataset, tmp_path, capsys):
    targets = [tmp_path / name for name in ("TINY.Parquet", "TINY.ZIP")]
    for source, target in itertools.pairwise([dataset, *targets]):
        assert main(["datasets", "convert", str(source), str(target)]) == 0
    first, last = read_tu(dataset), read_tu(targets[-1])
    assert last.graphs == first.graphs
    assert last.y.tolist() == first.y.tolist()
    assert main(["datasets", "convert", str(dataset), str(tmp_path / "arcs.parquet"), "--directed"]) == 0
    assert read_parquet(tmp_path / "arcs.parquet")[0].directed
    capsys.readouterr()
    assert main(["datasets", "convert", str(dataset), str(tmp_path / "TINY.csv")]) == 2
    assert "must end in .parquet or .zip" in capsys.readouterr().err


def test_convert_finds_out_before_the_work(tmp_path, capsys, monkeypatch):
    path = tmp_path / "a.parquet"
    write_parquet(path, EXPECTED)
    monkeypatch.setattr("relaxwl.commands.datasets.open_source", lambda *_: pytest.fail("the work has begun"))
    assert main(["datasets", "convert", str(path), str(tmp_path / "." / "a.parquet")]) == 2
    assert "is an input and would be overwritten" in capsys.readouterr().err
    assert main(["datasets", "convert", str(path), str(tmp_path / "nowhere" / "b.parquet")]) == 2
    assert "does not exist" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")  # the command tells it, as a note
def test_convert_on_the_command_line(tmp_path, capsys):
    write_parquet(tmp_path / "a.parquet", EXPECTED, [0, 1, 0])
    assert main(["datasets", "convert", str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]) == 0
    again, y = read_parquet(tmp_path / "b.parquet")
    assert again == EXPECTED
    assert np.array_equal(y, [0, 1, 0])
    assert main(["datasets", "convert", str(tmp_path / "a.parquet"), str(tmp_path / "b.zip")]) == 0
    assert "the node labels are not all integers" in capsys.readouterr().err

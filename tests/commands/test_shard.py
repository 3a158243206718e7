"""The command ``relaxwl shard``."""

import json

import numpy as np
import pytest

from relaxwl.cli import main
from relaxwl.datasets import make_egonets, write_parquet
from relaxwl.distributed import ShardedCollection, ShardWriter


def shard(*arguments):
    return main(["shard", *map(str, arguments), "--quiet"])


@pytest.mark.slow
def test_data_sets_one_behind_the_other(tmp_path, capsys):
    assert shard("egonets-1", "egonets-2", "-o", tmp_path / "s", "--graphs-per-shard", 150, "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_shards"] == 3
    shards = ShardedCollection.open(tmp_path / "s")
    assert [len(part) for part in shards] == [150, 150, 100]
    assert shards.to_collection()[:200] == make_egonets(200, level=1, random_state=0)[0]
    assert len(set(shards.y.tolist())) == 4


def test_a_stopped_run_goes_on(tmp_path, capsys):
    graphs, _ = make_egonets(200, level=1, random_state=0)
    shard("egonets-1", "-o", tmp_path / "whole", "--graphs-per-shard", 60)
    whole = ShardedCollection.open(tmp_path / "whole")
    ShardWriter(tmp_path / "s", graphs_per_shard=60).add(graphs[:130], whole.y[:130])
    assert shard("egonets-1", "-o", tmp_path / "s", "--graphs-per-shard", 60) == 0
    assert ShardedCollection.open(tmp_path / "s").to_collection() == graphs


def test_a_stopped_run_of_numbers_with_gaps_goes_on(tmp_path):
    graphs, _ = make_egonets(12, random_state=0)
    y = np.where(np.arange(12) % 3, np.arange(12.0), np.nan)
    write_parquet(tmp_path / "a.parquet", graphs, y)
    ShardWriter(tmp_path / "s", graphs_per_shard=2).add(graphs[:7], y[:7])
    assert shard(tmp_path / "a.parquet", "-o", tmp_path / "s", "--graphs-per-shard", 2) == 0
    shards = ShardedCollection.open(tmp_path / "s")
    assert shards.to_collection() == graphs
    np.testing.assert_array_equal(shards.y, y)


@pytest.mark.parametrize("change", ["graphs", "classes"])
def test_a_run_of_other_data_does_not_go_on(tmp_path, capsys, change):
    graphs, y = make_egonets(200, level=1, random_state=int(change == "graphs"))
    ShardWriter(tmp_path / "s", graphs_per_shard=60).add(graphs[:130], y[:130] + (change == "classes"))
    assert shard("egonets-1", "-o", tmp_path / "s") == 2
    assert "has other graphs of an interrupted run than egonets-1: name the same ones" in capsys.readouterr().err


def test_what_cannot_be_done_is_said(tmp_path, capsys):
    shard("egonets-1", "-o", tmp_path / "s")
    assert shard("egonets-1", "-o", tmp_path / "s") == 2
    assert "finished shards already" in capsys.readouterr().err
    assert shard("nowhere/else.zip", "-o", tmp_path / "t") == 2
    assert not (tmp_path / "t").exists()

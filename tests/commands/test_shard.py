"""The command ``relaxwl shard``."""

import itertools
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from places import SOURCE
from platforms import posix
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


def test_a_finished_run_of_the_same_data_is_recognized(tmp_path, capsys):
    arguments = ("egonets-1", "-o", tmp_path / "s", "--graphs-per-shard", 60)
    shard(*arguments)
    (tmp_path / "s" / "manifest.unfinished.json").write_text("left by a run that was killed at its end")
    assert main(["shard", *map(str, arguments)]) == 0
    assert "was finished before, with the same graphs" in capsys.readouterr().err
    assert not (tmp_path / "s" / "manifest.unfinished.json").exists()
    for others, message in (("egonets-2", "has other graphs of a finished run than egonets-2"),
                            ("egonets-1 egonets-1", "has other graphs of a finished run than egonets-1")):  # fmt: skip
        assert shard(*others.split(), "-o", tmp_path / "s") == 2
        assert message in capsys.readouterr().err
    assert len(ShardedCollection.open(tmp_path / "s").to_collection()) == 200


def test_what_cannot_be_read_makes_no_folder(tmp_path):
    assert shard("nowhere/else.zip", "-o", tmp_path / "t") == 2
    assert not (tmp_path / "t").exists()


KILLED = """
import itertools, os, pathlib, signal, sys
from relaxwl.cli import main

calls = itertools.count()

def dying(usual):
    def call(*arguments, **options):
        if next(calls) == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)
        return usual(*arguments, **options)
    return call

for name in ("replace", "unlink"):
    setattr(pathlib.Path, name, dying(getattr(pathlib.Path, name)))
sys.exit(main(["shard", *sys.argv[2:], "--quiet"]))
"""


@posix
@pytest.mark.slow
def test_a_kill_before_any_rename_or_removal_is_resumed_from(tmp_path):
    graphs, y = make_egonets(6, random_state=0)
    write_parquet(tmp_path / "a.parquet", graphs, y)
    for number in itertools.count():
        folder = tmp_path / str(number)
        arguments = (tmp_path / "a.parquet", "-o", folder, "--graphs-per-shard", 3)
        command = [sys.executable, "-c", KILLED, str(number), *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
        killed = subprocess.run(command, env=environment, timeout=240, check=False).returncode
        assert shard(*arguments) == 0
        shards = ShardedCollection.open(folder)
        assert shards.to_collection() == graphs
        assert sorted(path.name for path in folder.iterdir()) == [
            "manifest.json", "part-000000.npz", "part-000001.npz",
        ]  # fmt: skip
        if killed == 0:
            break
        assert killed == -signal.SIGKILL
    assert number > 8

"""Everything is compiled once: each kernel, edge labels, predictors."""

import json

from relaxwl._registry import estimator_names
from relaxwl.cli import main
from relaxwl.commands import warm_up


def test_every_kernel_has_its_turn(monkeypatch, capsys):
    done = []
    monkeypatch.setattr(warm_up, "warm_up", lambda entry, _, n_jobs, unseen: done.append((entry.name, n_jobs)))
    monkeypatch.setattr(warm_up, "_edge_labels", lambda n_jobs: done.append(("edge labels", n_jobs)))
    monkeypatch.setattr(warm_up, "_predictors", lambda n_jobs: done.append(("predictors", n_jobs)))
    assert main(["warm-up", "--jobs", "2", "--json"]) == 0
    assert done == [(name, 2) for name in (*estimator_names(), "edge labels", "predictors")]
    assert list(json.loads(capsys.readouterr().out)) == [name for name, _ in done]


def test_graphs_are_labeled_and_large_enough():
    graphs = warm_up.small_graphs(20, seed=1)
    assert len(graphs) == 20
    assert graphs.node_counts.min() >= 10
    assert graphs.edge_counts.min() > 0
    assert graphs.node_vocabulary == (0, 1, 2)
    assert graphs == warm_up.small_graphs(20, seed=1)
    assert graphs != warm_up.small_graphs(20, seed=2)

"""Which kernels are combined."""

import numpy as np
import pytest

from predictors.small_data import PLAIN, TRAIN
from relaxwl.predictors import portfolio as module
from relaxwl.predictors.portfolio import MAX_PAIRS, portfolio
from small_graphs import BONDS, collection, random_graphs, with_attributes

UNLABELED = TRAIN.with_parts(node_codes=np.zeros(TRAIN.n_nodes, np.int32), node_vocabulary=None)


def names(graphs, effort="balanced"):
    return [view.name for view in portfolio(graphs, effort, 0, None)[0]]


def test_edge_labels_are_used_where_they_are_there():
    bonds = names(collection(random_graphs(5, bonds=BONDS)))
    assert set(bonds) - set(names(TRAIN)) == {"WL with edge labels", "R-WL* with edge labels"}


def test_nodes_are_vectors_where_they_have_no_labels_or_have_attributes():
    assert not any("vectors" in name for name in names(TRAIN))
    assert set(names(UNLABELED)) - set(names(TRAIN)) == {"nodes as vectors of structure"}
    attributed = with_attributes(PLAIN)
    assert set(names(attributed)) - set(names(TRAIN)) == {"nodes as vectors of attributes"}
    views = portfolio(attributed, "quick", 0, None)[0]
    assert [view.blocks[0] for view in views] == ["exact", "vectors, depth 0", "statistics", "coarse", "fine"]
    views = portfolio(UNLABELED, "quick", 0, None)[0]
    assert [view.blocks[0] for view in views] == ["exact", "structure, depth 0", "statistics", "coarse", "fine"]


def test_linear_models_take_vectors_but_no_paths():
    attributed = with_attributes(PLAIN)
    for graphs, features in ((attributed, "auto"), (UNLABELED, "structure"), (UNLABELED[:0], "structure")):
        views, left_out = portfolio(graphs, "thorough", 0, None, linear=True)
        kernel = next(view.kernel for view in views if "vectors" in view.name)
        assert (kernel.features, kernel.normalize) == (features, "depth")
        assert not any("paths" in view.blocks for view in views)
        assert left_out == ["shortest paths: not among the features of linear models"]


def test_shortest_paths_have_a_bound(monkeypatch):
    monkeypatch.setattr("relaxwl.predictors.portfolio.MAX_PAIRS", 10)
    views, left_out = portfolio(TRAIN, "balanced", 0, None)
    assert "pairs of nodes" in left_out[0]
    assert all("paths" not in view.blocks for view in views)
    assert MAX_PAIRS > 1e6


@pytest.mark.parametrize(
    ("bound", "trees", "vectors", "said"),
    [("MANY_NODES", 4, 8, "16 of 24 partitions: "), ("MANY_GRAPHS", 4, 24, "16 of 24 partitions: 14 graphs"),
     ("MANY_BESIDE_VECTORS", 4, 24, None), (None, 12, 24, None)],
)  # fmt: skip
def test_partitions_are_bounded_and_that_is_said(monkeypatch, bound, trees, vectors, said):
    if bound:
        monkeypatch.setattr(module, bound, 10)
    views, left_out = portfolio(UNLABELED, "balanced", 0, None)
    kernels = {view.name: view.kernel for view in views if hasattr(view, "kernel")}
    assert kernels["R-WL* with many clusters"].n_partitions == trees
    assert kernels["R-WL* along shortest paths"].n_partitions == (8 if bound is None else 4)
    assert kernels["nodes as vectors of structure"].n_partitions == vectors
    assert max(kernels["R-WL* with many clusters"].n_clusters) == (2.0 if bound == "MANY_NODES" else 4.0)
    assert [line.startswith(said) for line in left_out] == [True] if said else not left_out
    quick, nothing = portfolio(UNLABELED, "quick", 0, None)
    assert quick[-1].kernel.n_partitions == 4
    assert not nothing


@pytest.mark.parametrize(
    ("effort", "partitions", "depth", "paths"), [("quick", 8, 3, 0), ("balanced", 24, 4, 8), ("thorough", 64, 5, 16)]
)
def test_efforts_are_partitions_and_depths(effort, partitions, depth, paths):
    kernels = {view.name: view.kernel for view in portfolio(TRAIN, effort, 0, None)[0] if hasattr(view, "kernel")}
    trees = [kernels[f"R-WL* with {number} clusters"] for number in ("many", "few")]
    assert sum(kernel.n_partitions for kernel in trees) == partitions
    assert {kernel.max_depth for kernel in (*trees, kernels["WL"])} == {depth}
    along = {name: kernels[name] for name in kernels if "shortest paths" in name}
    assert {name: kernel.max_depth for name, kernel in along.items()} == (
        {"R-WL* along shortest paths": 2, "WL along shortest paths": 1} if paths else {}
    )
    assert not paths or along["R-WL* along shortest paths"].n_partitions == paths

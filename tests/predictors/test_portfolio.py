"""Which kernels are averaged."""

from predictors.small_data import PLAIN, TRAIN
from relaxwl.predictors import AveragedKernel
from relaxwl.predictors.blocks import averages
from relaxwl.predictors.portfolio import MAX_PAIRS, portfolio
from small_graphs import BONDS, collection, random_graphs, with_attributes


def test_edge_labels_and_attributes_are_used_where_they_are_there():
    plain = [view.name for view in portfolio(TRAIN, "balanced", 0, None)[0]]
    bonds = [view.name for view in portfolio(collection(random_graphs(5, bonds=BONDS)), "balanced", 0, None)[0]]
    assert set(bonds) - set(plain) == {"WL with edge labels", "R-WL* with edge labels"}
    attributed = with_attributes(PLAIN)
    kernel = AveragedKernel(effort="quick", random_state=0).fit(attributed)
    assert "attributes" in kernel.blocks_
    assert list(averages(kernel.blocks_))[-1] == "attributes"


def test_shortest_paths_have_a_bound(monkeypatch):
    monkeypatch.setattr("relaxwl.predictors.portfolio.MAX_PAIRS", 10)
    views, left_out = portfolio(TRAIN, "balanced", 0, None)
    assert "pairs of nodes" in left_out[0]
    assert all("paths" not in view.blocks for view in views)
    assert MAX_PAIRS > 1e6

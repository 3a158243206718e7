"""Which kernels are averaged, and the similarity of their histograms."""

import numpy as np
import pytest

import naive
from predictors.small_data import PLAIN, TRAIN
from relaxwl.kernels.counting import Counts
from relaxwl.predictors import AveragedKernel
from relaxwl.predictors.portfolio import MAX_PAIRS, _shared_histograms, portfolio
from small_graphs import BONDS, collection, random_graphs, with_attributes


def test_shared_histograms_follow_the_definition():
    labels = naive.wl_counts(PLAIN, 2, "subtree", False)
    family = portfolio(TRAIN, "quick", 0, None).families[0]
    counts = family.kernel.set_params(max_depth=2).fit_prepare(TRAIN)
    assert all(isinstance(part, Counts) for part in counts)
    shared = _shared_histograms(counts, None, None)
    for i, j in [(0, 1), (3, 3), (5, 9)]:
        expected = np.mean([
            sum(min(a[key] / a.total(), b[key] / b.total()) for key in {*a, *b})
            for a, b in zip(labels[i], labels[j], strict=True)
        ])  # fmt: skip
        assert shared[i, j] == pytest.approx(expected)


def test_edge_labels_and_attributes_are_used_where_they_are_there():
    plain = [family.name for family in portfolio(TRAIN, "balanced", 0, None).families]
    bonds = [
        family.name for family in portfolio(collection(random_graphs(5, bonds=BONDS)), "balanced", 0, None).families
    ]
    assert set(bonds) - set(plain) == {"WL with edge labels", "R-WL* with edge labels"}
    attributed = with_attributes(PLAIN)
    kernel = AveragedKernel(effort="quick", random_state=0).fit(attributed)
    assert "attributes" in kernel.blocks_
    assert kernel.combinations()[-1] == "attributes"


def test_shortest_paths_have_a_bound(monkeypatch):
    monkeypatch.setattr("relaxwl.predictors.portfolio.MAX_PAIRS", 10)
    plan = portfolio(TRAIN, "balanced", 0, None)
    assert "pairs of vertices" in plan.left_out[0]
    assert all(family.block != "paths" for family in plan.families)
    assert MAX_PAIRS > 1e6

"""Numbers that describe data sets."""

import numpy as np
import pytest

from evaluation.small_data import random_graphs
from relaxwl.evaluation.statistics import densities, describe_dataset
from relaxwl.graphs import GraphCollection
from relaxwl.kernels import WeisfeilerLehman


def test_numbers_by_hand():
    graphs = GraphCollection.from_edges([(2, [(0, 1)], list("ab")), (4, [(0, 1), (1, 2), (2, 3)], list("abab"))])
    record = describe_dataset("hand", graphs, ["x", "y"], tree_depth=1)
    assert record.class_sizes == {"x": 1, "y": 1}
    assert (record.n_nodes, record.n_edges, record.n_node_labels) == (6, 4, 2)
    assert record.mean_density == pytest.approx((1 + 0.5) / 2)
    assert record.mean_degree == pytest.approx(8 / 6)
    # a(b), a(b,b), b(a), b(a,a)
    assert record.distinct_trees == [2, 4]


def test_graphs_without_pairs_have_density_zero():
    graphs = GraphCollection.from_edges([(0, []), (1, []), (2, [(0, 1)])])
    assert densities(graphs).tolist() == [0, 0, 1]


def test_distinct_trees_are_what_the_wl_kernel_counts():
    graphs, y = random_graphs(20)
    kernel = WeisfeilerLehman(max_depth=4).fit(graphs)
    assert describe_dataset("random", graphs, y).distinct_trees == [len(rows) for rows in kernel.rows_]


def test_no_graphs_at_all():
    record = describe_dataset("empty", GraphCollection.from_edges([]), np.array([]))
    assert (record.n_graphs, record.mean_nodes, record.mean_degree, record.mean_density) == (0, 0, 0, 0)

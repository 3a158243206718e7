"""Where vertices fall, for relaxed and plain kernels alike."""

import numpy as np
import pytest

from explanation.planted import planted
from relaxwl import RelaxedWeisfeilerLehman, WeisfeilerLehman, unfolding_tree
from relaxwl.explanation.groupings import Unfolder, count_groups, groupings


def test_frequencies_are_those_of_the_groups(explanation):
    groups = explanation.kernel.node_groups(explanation.graphs)
    owners = explanation.y[explanation.graphs.graph_of_node]
    for cluster in explanation.clusters[:20]:
        inside = groups[cluster.partition][cluster.depth] == cluster.group
        assert cluster.size == inside.sum()
        for k in (0, 1):
            assert cluster.frequency[k] == pytest.approx(inside[owners == k].mean())
            assert cluster.mean_count[k] == pytest.approx(inside[owners == k].sum() / (explanation.y == k).sum())
        with_it = np.unique(explanation.graphs.graph_of_node[inside])
        assert cluster.n_graphs == len(with_it)
        assert cluster.presence[1] == pytest.approx((explanation.y[with_it] == 1).sum() / (explanation.y == 1).sum())


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(2), RelaxedWeisfeilerLehman(2, 2, random_state=0)], ids=repr)
def test_groups_count_up_to_the_features_also_of_unseen_graphs(kernel):
    graphs, _ = planted(20)
    unseen, _ = planted(10, seed=1)
    kernel.fit(graphs)
    for given in (graphs, unseen):
        counted = count_groups(groupings(kernel, given), len(kernel.get_feature_names_out()))
        np.testing.assert_array_equal(counted.toarray(), kernel.transform(given).toarray())


def test_trees_and_their_sizes_are_those_of_the_vertices():
    graphs, _ = planted(4)
    trees = Unfolder(WeisfeilerLehman(2).fit(graphs), graphs)
    assert trees.sizes(0).tolist() == [1] * graphs.n_nodes
    for vertex in (0, graphs.offsets[1], graphs.n_nodes - 1):
        graph, node = trees.locate(int(vertex))
        assert int(vertex) == graphs.offsets[graph] + node
        tree = trees.tree(int(vertex), 2)
        assert tree == unfolding_tree(graphs[graph], node, 2)
        assert trees.sizes(2)[vertex] == tree.size

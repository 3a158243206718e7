"""Groups as they were fitted: their members, radius, examples, and centers as trees."""

import numpy as np
import pytest

import naive
from kernels.variants import TRAIN, VARIANTS, as_nested, kernel_of, nested
from relaxwl import GraphCollection, RelaxedWeisfeilerLehman, UnfoldingTree
from small_graphs import collection, random_graphs


@pytest.mark.parametrize("variant", ["R-WL*", "R-WL", "edge labels", "exact edge labels", "real centers", "radius"])
def test_partitions_show_what_was_found(variant):
    train = collection(TRAIN)
    kernel = kernel_of(VARIANTS[variant]).fit(train)
    groups = kernel.node_clusters(train)
    assert len(kernel.partitions_) == 2
    for p, levels in enumerate(kernel.partitions_):
        assert [level.depth for level in levels] == [0, 1, 2]
        for depth, level in enumerate(levels):
            assert level.index == p
            assert level.sizes.sum() == train.n_nodes
            np.testing.assert_array_equal(level.sizes, np.bincount(groups[p][depth], minlength=len(level)))
            assert (level.radius >= 0).all()
            assert repr(level) == f"Partition(depth {depth}: {level.n_trees.sum()} trees in {len(level)} clusters)"
            for center in range(len(level)):
                tree = level.center_tree(center)
                assert tree.depth <= depth
                assert str(UnfoldingTree.parse(str(tree))) == str(tree)
                members = level.members(center)
                assert len(members) == min(5, level.n_trees[center])
                for graph, node in members:
                    assert groups[p][depth][train.offsets[graph] + node] == center
    for level, found in kernel.assignments(train):
        rows, distances = found.row_of_node, found.distances(level.centers, None)
        for center in range(len(level)):
            nodes = [train.offsets[graph] + node for graph, node in level.members(center)]
            assert all(rows[node] not in rows[:node] for node in nodes)  # the first node with its tree
            nearest = np.sort(distances[found.labels == center])[: len(nodes)]
            np.testing.assert_allclose(distances[rows[nodes]], nearest, atol=1e-9)
    with pytest.raises(IndexError, match="center 99 is out of range"):
        kernel.partitions_[0][0].center_tree(99)


def test_radius_is_the_largest_distance_to_the_center():
    graphs = random_graphs(10, 6, seed=5)
    kernel = kernel_of({"approximate": False}).fit(collection(graphs))
    flat = [tree for graph in naive.refinements(graphs, 1)[1] for tree in graph]
    level, groups = kernel.partitions_[0][1], kernel.node_clusters(collection(graphs))[0][1]
    for center in range(len(level)):
        tree = as_nested(level.center_tree(center))
        distances = [
            naive.recursive_tree_distance(nested(own), tree)
            for own, group in zip(flat, groups, strict=True)
            if group == center
        ]
        assert level.radius[center] == max(distances)


def test_centers_that_are_not_whole_are_drawn_as_their_nearest_members():
    graphs = GraphCollection.from_edges([(n + 1, [(0, i) for i in range(1, n + 1)]) for n in (6, 6, 6, 7, 7)])
    kernel = RelaxedWeisfeilerLehman(2, 1, n_clusters=1, center="mean", random_state=0).fit(graphs)
    for level in kernel.partitions_[0]:
        for center in range(len(level)):
            assert level.center_tree(center).size >= 1

"""The kernel of the tree mover's distance."""

import numpy as np
import pytest

import naive
from relaxwl import EditCost
from relaxwl.kernels.baselines.tmd import TreeMover
from small_graphs import ATOMS, collection, random_graphs, with_attributes


def test_the_definition():
    graphs = random_graphs(5, max_nodes=4, seed=1)
    unit = dict(zip(ATOMS, np.eye(3), strict=True))
    kernel = TreeMover(2, decay=0.3, discount=0.5).fit(collection(graphs))
    found = kernel.kernel_matrix(collection(graphs[:2]), collection(graphs))

    def cost(a, b):
        return naive.euclidean_cost(unit.get(a), unit.get(b)) if a != b else 0.0

    for i in range(2):
        for j in range(5):
            distance = naive.graph_distance(graphs[i], graphs[j], 2, cost, [0.5, 0.5])
            assert found[i, j] == pytest.approx(np.exp(-0.3 * distance))
    both = kernel.compare(collection(graphs), None, [{}, {"decay": 0.6}])
    np.testing.assert_allclose(both[0] ** 2, both[1])
    assert [setting["decay"] for setting in kernel.variations()][-1] == 10


def test_attributes_are_used_on_request():
    graphs = with_attributes(random_graphs(4, seed=2), labeled=True)
    assert "node_attributes" in TreeMover(cost="euclidean").uses()
    assert "node_attributes" not in TreeMover(cost=EditCost()).uses()
    apart = TreeMover(1, cost="euclidean").fit(graphs).distance_matrix(graphs)
    with pytest.warns(UserWarning, match="TreeMover ignores"):
        alone = TreeMover(1).fit(graphs)
    assert (apart > alone.distance_matrix(graphs)).any()


@pytest.mark.parametrize(("name", "value"), [("decay", 0), ("max_depth", -1), ("discount", [1.0])])
def test_parameters_are_checked(name, value):
    with pytest.raises(ValueError, match=name):
        TreeMover(**{name: value}).fit(collection(random_graphs(3)))

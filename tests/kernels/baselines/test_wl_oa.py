"""WL-OA against the best assignment and against GraKeL."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import naive
from kernels.baselines.graph_forms import grakel_graphs, plain_graphs, random_graphs
from relaxwl.kernels.baselines import WLOptimalAssignment


def best_assignment(graph, other, depth):
    equal = (depth + 1) * (1 - naive.wl_label_costs(graph, other, depth))
    return equal[linear_sum_assignment(-equal)].sum()


@pytest.mark.parametrize("n_labels", [0, 3])
def test_equals_the_best_assignment(n_labels):
    graphs = random_graphs(1, n_graphs=10, n_labels=n_labels)
    plain = plain_graphs(graphs)
    expected = [[best_assignment(one, other, 3) for other in plain] for one in plain]
    assert np.allclose(WLOptimalAssignment(max_depth=3).fit_kernel_matrix(graphs), expected)


@pytest.mark.shared
@pytest.mark.parametrize(("name", "step"), [("MUTAG", 1), ("PTC_MR", 2), ("IMDB-BINARY", 10), ("EGO-1", 20)])
def test_equals_grakel(load, name, step):
    kernels = pytest.importorskip("grakel.kernels")
    graphs = load(name)[::step]
    theirs = kernels.WeisfeilerLehmanOptimalAssignment(n_iter=3).fit_transform(grakel_graphs(graphs))
    assert np.array_equal(WLOptimalAssignment(max_depth=3).fit_kernel_matrix(graphs), theirs)

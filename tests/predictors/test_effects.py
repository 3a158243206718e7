import numpy as np
import pytest

from predictors.small_data import GRAPHS, TEST
from relaxwl import GraphClassifier, GraphRegressor, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.predictors.effects import counts_without_vertices
from small_graphs import collection


@pytest.mark.parametrize("graphs", [GRAPHS, TEST], ids=["fitted", "new"])
@pytest.mark.parametrize(
    "kernel", [WeisfeilerLehman(2), RelaxedWeisfeilerLehman(2, 2, random_state=0)], ids=lambda k: type(k).__name__
)
def test_counts_of_vertices_add_up_to_those_of_the_graph(kernel, graphs):
    kernel.fit(GRAPHS)
    graph = graphs[[3]]
    whole, without = kernel.prepare(graph), counts_without_vertices(kernel, graph)
    for all_counts, counts in zip(whole, without, strict=True):
        taken = all_counts.matrix.toarray() - counts.matrix.toarray()
        np.testing.assert_array_equal(taken.sum(axis=0), all_counts.matrix.toarray()[0])
        assert (
            taken.sum(axis=1) + all_counts.unknown_sums - counts.unknown_sums == len(kernel.node_groups(graph))
        ).all()
        assert counts.unknown_squares.min() >= 0


def test_pairs_with_a_vertex_at_an_end_are_taken_out():
    kernel = WeisfeilerLehman(0, base="shortest-path").fit(GRAPHS)
    graph = GRAPHS[[5]]
    whole, without = kernel.prepare(graph)[0].matrix, counts_without_vertices(kernel, graph)[0].matrix
    taken = np.asarray(whole.sum() - without.sum(axis=1))
    # Every ordered pair is taken out with either of its ends.
    assert taken.sum() == 2 * whole.sum()


def test_dot_products_add_up():
    kernel = WeisfeilerLehman(2).fit(GRAPHS)
    graph, weights = GRAPHS[[2]], np.random.default_rng(0).normal(size=len(GRAPHS))
    values = kernel.compare(kernel.prepare(graph), kernel.prepare(GRAPHS))[0] @ weights
    without = kernel.compare(counts_without_vertices(kernel, graph), kernel.prepare(GRAPHS))[0] @ weights
    assert (values[0] - without).sum() == pytest.approx(values[0])


def test_what_makes_the_difference_has_the_largest_effect():
    plain = [(6, [(v, v + 1) for v in range(5)], list("CCCCCC"), None) for _ in range(12)]
    marked = [(6, [(v, v + 1) for v in range(5)], list("CCCCCN"), None) for _ in range(12)]
    graphs = collection(plain + marked)
    y = np.repeat(["plain", "marked"], 12)
    model = GraphClassifier(random_state=0).fit(graphs, y)
    found = model.explain(graphs[[20]])[0]
    assert found.prediction == "marked"
    assert found.value > 0
    assert found.strongest(1)[0] == 5
    assert found.effects.shape == (6,)
    regressor = GraphRegressor(effort="quick", random_state=0).fit(graphs, np.repeat([0.0, 1.0], 12))
    found = regressor.explain(graphs[[20]])[0]
    assert found.value == pytest.approx(regressor.predict(graphs[[20]])[0])
    assert found.effects[5] == found.effects.max() > 0


def test_vectors_stay_as_they_are():
    extra = np.random.default_rng(0).normal(size=(20, 2))
    y = np.arange(20) % 2
    model = GraphClassifier(effort="quick", random_state=0).fit(GRAPHS, y, extra=extra)
    found = model.explain(GRAPHS[:2], extra=extra[:2])
    decision = model.decision_function(GRAPHS[:2], extra=extra[:2])
    assert [one.value for one in found] == pytest.approx(np.abs(decision))

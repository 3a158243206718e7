"""PWL: worked by hand, against components as sets, and the same for every numbering."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from kernels.baselines.graph_forms import plain_graphs, random_graphs, renumbered
from relaxwl.graphs import GraphCollection
from relaxwl.kernels import WeisfeilerLehman
from relaxwl.kernels.baselines import PersistentWL

# Two labels; the edges 0–1 and 2–3 join equal labels, 1–2 and 1–3 different ones.
#   depth 0: 0–1 and 2–3 weigh 1 (τ alone), 1–2 and 1–3 weigh 2.
#   0–1 ends one C at 1, 2–3 ends one N at 1, 1–2 ends the component of N (the higher label) at 2, 1–3 closes a cycle
#   with weight 2, and the last component, a C, gets the largest weight 2: C has 1 + 2, N has 1 + 2, cycles C 2, N 2.
# depth 1: neighbor labels are 0: {C}, 1: {C, N, N}, 2: {C, N}, 3: {C, N}.
#   0–1 weighs 0 + 2 + 1, 1–2 and 1–3 weigh 1 + 1 + 1, 2–3 weighs 1. Labels by content: C(C) < C(CNN) < N(CN).
#   2–3 ends an N(CN) at 1. The others weigh 3; by labels 0–1 comes first and ends C(CNN) at 3, then one of the edges
#   C(CNN)–N(CN) ends N(CN) at 3, the other closes a cycle with 3. The last component, C(C), gets 3.
BY_HAND = [3, 3, 2, 2, 3, 3, 1 + 3, 0, 3, 3]


def test_worked_by_hand():
    graphs = GraphCollection.from_edges([(4, [(0, 1), (1, 2), (2, 3), (1, 3)], list("CCNN"))])
    kernel = PersistentWL(max_depth=1, cycles=True)
    assert kernel.fit_transform(graphs).toarray().tolist() == [BY_HAND]


def by_label(graphs, depth, **parameters):
    """Return the sorted positive features of each graph by the definition: persistence and cycles of all depths."""
    rows = []
    for graph in plain_graphs(graphs):
        values = Counter()
        for level in range(depth + 1):
            persistence, cycles = naive.persistence_features(graph, level, **parameters)
            values.update({("persistence", level, word): value for word, value in persistence.items()})
            values.update({("cycles", level, word): value for word, value in cycles.items()})
        rows.append(values)
    return rows


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_labels=st.sampled_from([0, 1, 2, 3]),
    power=st.sampled_from([1.0, 2.0, 1.5]),
    offset=st.sampled_from([0.0, 1.0, 0.25]),
    uniform=st.booleans(),
)
def test_equals_the_definition(seed, n_labels, power, offset, uniform):
    graphs = random_graphs(seed, n_graphs=4, n_labels=n_labels, max_nodes=8)
    parameters = {"power": power, "offset": offset, "uniform": uniform}
    rows = by_label(graphs, 2, **parameters)
    expected = [[naive.count_product(one, other) for other in rows] for one in rows]
    found = PersistentWL(max_depth=2, cycles=True, **parameters).fit_kernel_matrix(graphs)
    assert np.allclose(found, expected, rtol=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n_labels=st.sampled_from([0, 1, 2]))
def test_renumbering_changes_nothing(seed, n_labels):
    graphs = random_graphs(seed, n_graphs=3, n_labels=n_labels)
    kernel = PersistentWL(cycles=True)
    features = kernel.fit_transform(graphs).toarray()
    assert np.array_equal(kernel.transform(renumbered(graphs, seed)).toarray(), features)


@pytest.mark.parametrize("n_labels", [0, 3])
def test_uniform_without_cycles_is_weisfeiler_lehman(n_labels):
    graphs = random_graphs(8, n_graphs=20, n_labels=n_labels)
    uniform, plain = PersistentWL(max_depth=3, uniform=True), WeisfeilerLehman(max_depth=3)
    assert np.array_equal(uniform.fit_transform(graphs).toarray(), plain.fit_transform(graphs).toarray())


def test_features_do_not_depend_on_what_else_was_fitted():
    """Unseen labels stand where their value puts them, not behind the known ones."""
    graphs = random_graphs(9, n_graphs=12, n_labels=4)
    few = PersistentWL(max_depth=2, cycles=True).fit(graphs[:2])
    all_of_them = PersistentWL(max_depth=2, cycles=True).fit(graphs)
    rows = by_label(graphs, 2)
    assert np.allclose(
        few.kernel_matrix(graphs, graphs[:2]), [[naive.count_product(one, other) for other in rows[:2]] for one in rows]
    )
    assert np.allclose(all_of_them.kernel_matrix(graphs)[:, :2], few.kernel_matrix(graphs, graphs[:2]))
    normalized = PersistentWL(max_depth=2, normalize=True)
    assert np.allclose(
        normalized.fit(graphs[:2]).kernel_matrix(graphs, graphs[:2]),
        normalized.fit(graphs).kernel_matrix(graphs)[:, :2],
    )


@pytest.mark.parametrize(("parameters", "message"), [({"power": 0.5}, "power"), ({"offset": -1}, "offset")])
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        PersistentWL(**parameters).fit(random_graphs(1))

"""Statistics of graphs: against oracles, and the same for every order of nodes and every number of threads."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.base import clone

import naive
from relaxwl import GraphCollection, GraphStatistics
from relaxwl.kernels import _compiled, statistics
from relaxwl.kernels.model_schema import RECORDS, check_fields
from relaxwl.kernels.persistence import _ModelReader, _Writer
from relaxwl.kernels.statistics import QuantileRanks, manhattan_distances, median_distance, significant
from small_graphs import collection, random_graphs, with_attributes
from strategies import plain_graphs


def named(graphs, **settings):
    """Return, for each graph, its statistics by name."""
    fitted = GraphStatistics(**settings).fit(graphs)
    table = fitted.transform(graphs)
    assert table.shape == (len(graphs), len(fitted.names_))
    assert np.isfinite(table).all()
    assert len(set(fitted.names_)) == len(fitted.names_)
    return [dict(zip(fitted.names_, row.tolist(), strict=True)) for row in table]


# ------------------------------------------------------------------------------------------------- against oracles


@given(st.lists(plain_graphs(max_nodes=7), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_statistics_are_what_their_names_say(graphs):
    graphs = [graph for graph in graphs if graph[0]]
    if graphs:
        for graph, found in zip(graphs, named(collection(graphs)), strict=True):
            expected = naive.graph_statistics(graph)
            assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    "graph",
    [nx.star_graph(9), nx.complete_graph(7), nx.barbell_graph(6, 2), nx.complete_bipartite_graph(3, 5),
     nx.karate_club_graph(), nx.disjoint_union(nx.empty_graph(4), nx.cycle_graph(4)), nx.gnp_random_graph(40, 0.2, 1)],
)  # fmt: skip
def test_spectra_do_not_depend_on_leaving_out_twins(graph):
    graphs = GraphCollection.from_networkx([graph])
    normalized, adjacency = statistics.spectra(
        graphs.offsets, graphs.indptr, graphs.indices, np.zeros(len(graph), np.uint64)
    )
    laplacian = nx.normalized_laplacian_matrix(graph, weight=None).toarray()
    np.testing.assert_allclose(np.sort(1 - normalized), np.linalg.eigvalsh(laplacian), atol=1e-12)
    expected = np.linalg.eigvalsh(nx.to_numpy_array(graph, weight=None))
    np.testing.assert_allclose(np.sort(adjacency), expected, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 30, 130])
def test_eigenvalues(size):
    matrix = np.random.default_rng(size).normal(size=(size, size))
    matrix += matrix.T
    np.testing.assert_allclose(statistics.eigenvalues(matrix.copy()), np.linalg.eigvalsh(matrix), atol=1e-11)
    diagonal = np.diag(np.arange(size, dtype=float))
    np.testing.assert_array_equal(statistics.eigenvalues(diagonal), np.arange(size))


def test_moments_are_those_of_chebyshev_polynomials():
    matrix = nx.to_numpy_array(nx.path_graph(12)) / 2
    values, vectors = np.linalg.eigh(matrix)
    sample, moments = np.array([0, 5]), np.empty(10)
    sparse = csr_array(matrix)
    _compiled.chebyshev_moments(_compiled.Compressed(sparse.indptr, sparse.indices, sparse.data), sample, moments)
    expected = [(vectors[sample] ** 2 @ np.cos(k * np.arccos(values))).mean() for k in range(10)]
    np.testing.assert_allclose(moments, expected, atol=1e-12)


def test_attributes_of_nodes():
    graphs = random_graphs(12, seed=3)
    made = with_attributes(graphs)
    for index, (graph, found) in enumerate(zip(graphs, named(made), strict=True)):
        for place in range(2):
            values = made[index].node_attributes[:, place].tolist()
            for name, value in naive.attribute_statistics(graph, values).items():
                assert found[f"attribute {place}, {name}"] == pytest.approx(value, abs=1e-8)


def test_missing_attributes_are_left_out():
    path = GraphCollection(
        [0, 3], [0, 1, 3, 4], [1, 0, 2, 1], node_attributes=[[1.0], [np.nan], [5.0]],
        edge_attributes=[[2.0], [2.0], [4.0], [4.0]],
    )  # fmt: skip
    (found,) = named(path)
    names = ("mean", "deviation", "lowest", "highest")
    assert [found[f"attribute 0, {name}"] for name in names] == [3.0, 2.0, 1.0, 5.0]
    assert [found[f"edge attribute 0, {name}"] for name in names] == [3.0, 1.0, 2.0, 4.0]
    assert found["edge attribute 0, largest sum of a node"] == 6.0


def test_arcs():
    (found,) = named(GraphCollection.from_edges([(4, [(0, 1), (1, 0), (1, 2), (1, 3)])], directed=True))
    expected = {"edges": 4, "reciprocity": 0.5, "share of sinks": 0.5, "share of sources": 0, "out-degree, highest": 3,
                "in-degree, highest": 1, "degree, mean": 1.5, "diameter": 2}  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_edge_labels():
    (found,) = named(collection([(3, [(0, 1), (1, 2)], ["x"] * 3, ["a", "b"])]))
    assert found["number of edge label 'a'"] == 1.0
    assert found["share of edge label 'b'"] == 0.5


# -------------------------------------------------------------------------------------------------- invariance


def large_graphs(sizes):
    """Return sparse graphs that are neither regular nor small."""
    return GraphCollection.from_networkx([nx.barabasi_albert_graph(size, 2, seed=size) for size in sizes])


def renumbered(graphs, seed):
    """Return the graphs with their nodes, labels and attributes in another order."""
    rng, moved = np.random.default_rng(seed), []
    for graph in graphs.to_networkx():
        other = nx.Graph()
        other.add_nodes_from((node, graph.nodes[node]) for node in rng.permutation(len(graph)).tolist())
        other.add_edges_from(graph.edges)
        moved.append(other)
    if graphs.node_attributes is None:
        return GraphCollection.from_networkx(moved)
    return GraphCollection.from_networkx(moved, "label", node_attributes="attributes")


def test_statistics_depend_on_neither_the_order_of_nodes_nor_on_threads(monkeypatch):
    monkeypatch.setattr(statistics, "N_PATHS", 300)
    monkeypatch.setattr(statistics, "N_PATH_SAMPLE", 70)
    rng = np.random.default_rng(0)
    small = with_attributes(random_graphs(70, max_nodes=20, seed=2), labeled=True)
    small = small.with_parts(node_attributes=rng.normal(size=small.node_attributes.shape) + 1e3)
    for graphs in (small, large_graphs([200, 210, 320])):
        fitted = GraphStatistics().fit(graphs)
        table = fitted.transform(graphs)
        np.testing.assert_array_equal(fitted.transform(renumbered(graphs, 0)), table)
        np.testing.assert_array_equal(fitted.set_params(n_jobs=2).transform(graphs), table)


def test_estimates_are_close_to_exact_statistics(monkeypatch):
    graphs = large_graphs([300])
    (estimated,) = named(graphs)
    monkeypatch.setattr(statistics, "N_DENSE", 1000)
    (exact,) = named(graphs)
    assert estimated != exact
    for name, value in exact.items():
        assert estimated[name] == pytest.approx(value, abs=0.06 if "Laplacian" in name else 0.6), name
    monkeypatch.setattr(statistics, "N_PATHS", 200)
    (sampled,) = named(graphs)
    assert sampled["path length, mean"] == pytest.approx(exact["path length, mean"], rel=0.05)
    assert 0 <= exact["diameter"] - sampled["diameter"] <= 1


def test_significant_digits():
    # Halves are far enough from the limit that errors do not matter.
    halves = np.array([1 / 1024, np.nextafter(1 / 1024, 0), np.nextafter(1 / 1024, 1)])
    assert len(set(statistics.near(halves).tolist())) == len(set(significant(halves + 8).tolist())) == 1
    assert significant(np.array([1 / 3, -2e-7 / 3, 0.0, 12345678949.0])).tolist() == [
        0.333333333, -6.66666667e-8, 0.0, 12345678900.0,
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------- other graphs


def test_graphs_without_nodes_or_edges():
    graphs = GraphCollection.from_edges([(0, []), (1, []), (2, []), (3, [(0, 1)])])
    nothing, one, two, _ = named(graphs)
    assert set(nothing.values()) == {0.0}
    assert (one["nodes"], one["components"], two["components"], two["heat trace at 1"]) == (1, 1, 2, 1)
    fitted = GraphStatistics().fit(graphs)
    assert fitted.transform(graphs[:0]).shape == (0, len(fitted.names_))
    assert GraphStatistics().fit_transform(graphs[:1]).shape == (1, len(fitted.names_))


def test_unseen_labels_are_ignored_and_other_graphs_refused():
    fitted = GraphStatistics().fit(GraphCollection.from_edges([(2, [(0, 1)], ["a", "b"])]))
    assert fitted.get_feature_names_out()[-1] == "share of label 'b'"
    assert fitted.transform(GraphCollection.from_edges([(2, [(0, 1)], ["a", "c"])]))[0, -4:].tolist() == [1, 0, 0.5, 0]
    with pytest.raises(ValueError, match="fitted on graphs with labels of nodes, and these have none"):
        fitted.transform(GraphCollection.from_edges([(2, [(0, 1)])]))
    with pytest.raises(ValueError, match="labels of nodes that are text"):
        fitted.transform(GraphCollection.from_edges([(2, [(0, 1)], [1, 2])]))
    with pytest.raises(ValueError, match="fitted on nodes with 0 attributes, and these have 2"):
        fitted.transform(with_attributes(random_graphs(2), labeled=True))


def test_labels_of_most_graphs_have_columns(monkeypatch):
    monkeypatch.setattr(statistics, "MAX_LABELS", 2)
    graphs = GraphCollection.from_edges([(3, [], ["d", "c", "a"]), (3, [], ["b", "b", "b"]), (2, [], ["c", "d"])])
    assert GraphStatistics().fit(graphs).node_labels_ == ("c", "d")


# ---------------------------------------------------------------------------------------------- ranks, distances


def test_ranks():
    table = np.array([[3.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 5.0], [2.0, 1.0, 0.0]])
    ranks = QuantileRanks.fit(table)
    assert ranks.kept.tolist() == [0, 2]
    np.testing.assert_allclose(norm.cdf(ranks.transform(table)[:, 0]), [0.875, 0.25, 0.25, 0.625])
    new = np.array([[1.5, 7.0, -1.0], [9.0, 7.0, 0.0]])
    np.testing.assert_allclose(norm.cdf(ranks.transform(new)[:, 0]), [0.4375, 0.875])
    beyond = ranks.transform(new, extend=True) - ranks.transform(new)
    assert (beyond > 0).tolist() == [[False, False], [True, False]]
    assert beyond[1, 0] == pytest.approx(6 / ranks.scales[0])
    with pytest.raises(ValueError, match="must have 3 columns, as that of the fit, not 2"):
        ranks.transform(table[:, :2])
    assert np.abs(QuantileRanks.fit(np.arange(5000.0)[:, None]).transform(np.array([[0.0], [1e9]]))).max() == 3
    assert QuantileRanks.fit(np.ones((3, 2))).transform(np.ones((2, 2))).shape == (2, 0)


def test_distances():
    rng = np.random.default_rng(0)
    rows, others = rng.normal(size=(150, 7)), rng.normal(size=(600, 7))
    found = manhattan_distances(rows, others)
    np.testing.assert_allclose(found, cdist(rows, others, "cityblock"), rtol=1e-5)
    np.testing.assert_array_equal(manhattan_distances(rows, others, n_jobs=2), found)
    np.testing.assert_array_equal(manhattan_distances(others, rows), found.T)
    apart = cdist(rows, rows, "cityblock")[np.triu_indices(150, 1)]
    assert median_distance(rows) == pytest.approx(np.median(apart), rel=1e-5)
    assert median_distance(rows[:1]) == median_distance(np.zeros((3, 2))) == 1.0


# -------------------------------------------------------------------------------------------------------- files


def restored(item):
    """Return an object written to and read from the plain values of a model file."""
    writer = _Writer()
    plain = writer.plain(item, "item")
    return _ModelReader(writer.arrays, {})._value(plain)


def test_state_in_files():
    graphs = with_attributes(random_graphs(9, seed=1), labeled=True)
    fitted = GraphStatistics().fit(graphs)
    table = fitted.transform(graphs)
    again = restored(fitted)
    assert again.names_ == fitted.names_
    np.testing.assert_array_equal(again.transform(graphs), table)
    ranks = QuantileRanks.fit(table)
    np.testing.assert_array_equal(restored(ranks).transform(table), ranks.transform(table))
    assert clone(fitted).get_params() == {"n_jobs": None}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("starts", np.array([0, 1]), "starts must say"), ("kept", np.array([3]), "ascending columns out of 2"),
     ("ranks", np.zeros(1), "as many as values"), ("values", np.array([2.0, 1.0]), "must ascend"),
     ("scales", np.ones(2), "as many as columns")],
)  # fmt: skip
def test_files_are_checked(field, value, message):
    ranks = QuantileRanks.fit(np.array([[1.0, 0.0], [2.0, 0.0]]))
    state = {**vars(ranks), field: value}
    _, known, fits = RECORDS["QuantileRanks"]
    check_fields(state, known, "QuantileRanks")
    with pytest.raises(ValueError, match=message):
        fits(QuantileRanks(**state))

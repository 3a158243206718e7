"""Vectors of nodes: their features against oracles, exact assignment, and what a user may ask for."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

import naive
from kernels.baselines.graph_forms import is_psd
from relaxwl import ContinuousWeisfeilerLehman, NodeClusters, as_collection
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.building import CollectionBuilder
from relaxwl.kernels import continuous, load_kernel
from relaxwl.kernels.continuous import STRUCTURE, Vectors, structural_features
from small_graphs import collection, random_graphs

SMALL = {"max_depth": 2, "n_partitions": 3, "n_clusters": (2, 5, 40), "similarity": "dot", "random_state": 0}


def built(builder):
    """Return the graphs, without a note of what they were given with: no kernel warns of what it leaves aside."""
    return GraphCollection(**{**builder.build(), "given": ()})


def attributed(graphs, seed=0, **builder):
    """Return the graphs of tuples with two random attributes at each node, and labels."""
    rng = np.random.default_rng(seed)
    made = CollectionBuilder(**builder)
    for n_nodes, edges, labels, _ in graphs:
        vectors = rng.normal(size=(n_nodes, 2)) * [1.0, 1000.0] + [0.0, 5e4]
        weights = rng.integers(0, 4, (len(edges), 1)) / 4
        made.add(n_nodes, edges, node_labels=labels, node_attributes=vectors, edge_attributes=weights)
    return built(made)


def permuted(graphs, seed=1):
    """Return the graphs with nodes in another order, and where each node went."""
    rng = np.random.default_rng(seed)
    made, places = CollectionBuilder(directed=graphs.directed), []
    for graph in graphs.to_networkx():
        place = rng.permutation(len(graph))
        old = np.argsort(place)
        nodes = [graph.nodes[v] for v in old.tolist()]
        edges = [(int(place[a]), int(place[b])) for a, b in graph.edges]
        made.add(
            len(graph), edges, node_labels=[node["label"] for node in nodes],
            node_attributes=np.array([node["attributes"] for node in nodes]).reshape(len(graph), -1),
            edge_attributes=np.array([d["attributes"] for *_, d in graph.edges(data=True)]).reshape(len(edges), 1),
        )  # fmt: skip
        places.append(place)
    starts = np.concatenate([[0], np.cumsum([len(place) for place in places])[:-1]])
    return built(made), np.concatenate([p + s for p, s in zip(places, starts, strict=True)])


# ------------------------------------------------------------------------------------------------- against oracles


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), density=st.floats(0.05, 1.0))
def test_structural_features_are_what_their_names_say(seed, density):
    graphs = random_graphs(6, 9, seed, density=density)
    expected = np.concatenate([naive.structural_features(graph) for graph in graphs])
    np.testing.assert_allclose(structural_features(collection(graphs)), expected, rtol=1e-12, atol=1e-12)


def test_directions_do_not_change_structure():
    arcs = [(4, [(0, 1), (1, 0), (1, 2), (2, 0)], list("aaaa"), None)]
    plain = [(4, [(0, 1), (1, 2), (0, 2)], list("aaaa"), None)]
    made = CollectionBuilder(directed=True)
    made.add(4, arcs[0][1], node_labels=arcs[0][2])
    directed = built(made)
    np.testing.assert_array_equal(structural_features(directed), structural_features(collection(plain)))


def test_structure_does_not_depend_on_threads_and_chunks(monkeypatch):
    graphs = collection(random_graphs(60, 30, density=0.3))
    expected = structural_features(graphs)
    monkeypatch.setattr(continuous, "CHUNK_WALKS", 64)
    np.testing.assert_array_equal(structural_features(graphs, 3), expected)


def test_what_is_left_out_of_walks_is_told(monkeypatch):
    """Triangles with one node of many neighbors are counted all the same."""
    graphs = [(12, [(0, v) for v in range(1, 12)] + [(1, 2), (3, 4), (4, 5), (3, 5)], ["a"] * 12, None)]
    exact = structural_features(collection(graphs))
    monkeypatch.setattr(continuous, "MAX_WALKS", 80.0)
    with pytest.warns(UserWarning, match="1 nodes of very many neighbors are left out of walks"):
        found = structural_features(collection(graphs))
    names = list(STRUCTURE)
    np.testing.assert_allclose(found[:, :8], exact[:, :8], rtol=1e-12)
    assert (found[1:, names.index("return_4")] < exact[1:, names.index("return_4")]).all()


def check_against_oracles(kernel, graphs, neighbors, weights):
    """Compare vectors and clusters of a fitted kernel with what the definition says, from its scales and centers on."""
    clusters = kernel.node_clusters(graphs)
    table, _ = kernel._table(graphs)
    kept = np.flatnonzero(kernel.scales_)
    rows = np.rint((np.nan_to_num(table - kernel.means_) * kernel.scales_)[:, kept])
    if kernel.label_values_ is not None:
        names = [graphs.node_vocabulary[code] for code in graphs.node_codes]
        marks = [[1.5 * kernel.unit_ * (name == value) for value in kernel.label_values_] for name in names]
        rows = np.hstack([rows, marks])
    for depth in range(kernel.max_depth + 1):
        if depth:
            rows = naive.averaged_rows(neighbors, weights, rows)
        bounds = kernel.center_bounds_[depth]
        for partition in range(kernel.n_partitions):
            centers = kernel.centers_[depth][bounds[partition] : bounds[partition + 1]]
            assert clusters[partition][depth].tolist() == naive.nearest_rows(rows, centers)


@pytest.mark.parametrize("features", ["auto", "attributes", "structure", ("labels", "degree", "core")])
def test_vectors_and_clusters_are_those_of_the_oracle(features):
    graphs = attributed(random_graphs(12, 8))
    kernel = ContinuousWeisfeilerLehman(features, **SMALL).fit(graphs)
    neighbors = [graphs.indices[graphs.indptr[v] : graphs.indptr[v + 1]].tolist() for v in range(graphs.n_nodes)]
    check_against_oracles(kernel, graphs, neighbors, [[1] * len(near) for near in neighbors])


@pytest.mark.parametrize("directions", ["both", "out", "in"])
def test_weights_and_arcs_count_in_averages_if_asked_for(directions):
    graphs = attributed(random_graphs(10, 8), directed=True)
    kernel = ContinuousWeisfeilerLehman("auto", **SMALL, edge_weights=0, directions=directions).fit(graphs)
    neighbors, weights = ([[] for _ in range(graphs.n_nodes)] for _ in range(2))
    for tail in range(graphs.n_nodes):
        for entry in range(graphs.indptr[tail], graphs.indptr[tail + 1]):
            head, weight = graphs.indices[entry], float(graphs.edge_attributes[entry, 0])
            for one, other, way in ((tail, head, "out"), (head, tail, "in")):
                if directions in ("both", way):
                    neighbors[one].append(other)
                    weights[one].append(weight)
    check_against_oracles(kernel, graphs, neighbors, weights)
    plain = ContinuousWeisfeilerLehman("auto", **SMALL, directions=directions).fit(graphs)
    assert (plain.weighted_counts(graphs) != kernel.weighted_counts(graphs)).nnz


def test_scales_are_learned_from_the_nodes_of_the_fit():
    graphs = attributed(random_graphs(30, 8))
    kernel = ContinuousWeisfeilerLehman(**SMALL).fit(graphs[:20])
    table = np.hstack([graphs[:20].node_attributes, structural_features(graphs[:20])])
    np.testing.assert_allclose(kernel.means_, table.mean(axis=0), rtol=1e-8, atol=1e-9)
    weights = np.array([1.0] * 2 + [0.5] * 9)
    np.testing.assert_allclose(kernel.scales_ * table.std(axis=0), weights * kernel.unit_, rtol=1e-8)
    alone = ContinuousWeisfeilerLehman("structure", **SMALL).fit(graphs[:20])
    np.testing.assert_allclose(alone.scales_ * table.std(axis=0)[2:], alone.unit_, rtol=1e-8)


def test_counts_are_of_clusters_and_all_similarities_follow():
    graphs = attributed(random_graphs(15, 8))
    kernel = ContinuousWeisfeilerLehman(**SMALL).fit(graphs[:10])
    clusters = kernel.node_clusters(graphs)
    columns, owners = [], graphs.graph_of_node
    for depth in range(3):
        for partition in range(3):
            found = np.zeros((len(graphs), int(np.diff(kernel.center_bounds_[depth])[partition])))
            np.add.at(found, (owners, clusters[partition][depth]), 1)
            columns.append(found)
    counts = np.hstack(columns)
    np.testing.assert_array_equal(kernel.weighted_counts(graphs).toarray(), counts)
    assert len(kernel.get_feature_names_out()) == counts.shape[1]
    minima = np.minimum(counts[:, None], counts[None]).sum(axis=2)
    unions = np.maximum(counts[:, None], counts[None]).sum(axis=2)
    for similarity, expected in {"dot": counts @ counts.T, "intersection": minima, "tanimoto": minima / unions}.items():
        matrix = kernel.set_params(similarity=similarity).kernel_matrix(graphs)
        np.testing.assert_allclose(matrix, expected, rtol=1e-12)
        assert is_psd(matrix)
    assert counts[:, : counts.shape[1]].sum() == graphs.n_nodes * 9
    assert (counts[:10].sum(axis=0) > 0).all()  # a center is a node, so no cluster is empty


# ----------------------------------------------------------------------------------------------- bit for bit alike


@pytest.mark.parametrize("weighted", [False, True])
def test_permuted_nodes_and_threads_change_no_bit(weighted):
    graphs = attributed(random_graphs(40, 12, density=0.3))
    other, place = permuted(graphs)
    given_weights = {"edge_weights": 0} if weighted else {}
    kernel = ContinuousWeisfeilerLehman(**SMALL, **given_weights).fit(graphs)
    again = ContinuousWeisfeilerLehman(**SMALL, **given_weights, n_jobs=2).fit(other)
    np.testing.assert_array_equal(again.means_, kernel.means_)
    np.testing.assert_array_equal(again.scales_, kernel.scales_)
    for one, two in zip(kernel.centers_, again.centers_, strict=True):
        np.testing.assert_array_equal(one, two)
    assert (kernel.weighted_counts(graphs) != again.weighted_counts(other)).nnz == 0
    for one, two in zip(kernel.node_clusters(graphs), again.node_clusters(other), strict=True):
        for clusters, moved in zip(one, two, strict=True):
            np.testing.assert_array_equal(moved[place], clusters)
    reverse = ContinuousWeisfeilerLehman(**SMALL, **given_weights).fit(graphs[::-1])
    np.testing.assert_array_equal(reverse.centers_[1], kernel.centers_[1])


def test_parts_of_the_graphs_are_put_together_exactly(monkeypatch):
    """As on shards, where tests of the whole fit are: samples of parts are those of all."""
    monkeypatch.setattr(continuous, "SAMPLE", 50)
    graphs = attributed(random_graphs(40, 12, density=0.3))
    kernel = ContinuousWeisfeilerLehman(**SMALL).fit(graphs)
    parts = [graphs[:7], graphs[7:8], graphs[8:]]
    tables = [kernel._table(part)[0] for part in parts]
    levels = [[vectors.sample() for vectors, _ in kernel._vectors(*pair)] for pair in zip(parts, tables, strict=True)]
    for found, (vectors, _) in zip(
        zip(*levels, strict=True), kernel._vectors(graphs, kernel._table(graphs)[0]), strict=True
    ):
        assert len(vectors.rows) > 50
        for one, two in zip(Vectors.join(found), vectors.sample(), strict=True):
            np.testing.assert_array_equal(one, two)


def test_seeds_and_files(tmp_path):
    graphs = attributed(random_graphs(20, 8))
    kernel = ContinuousWeisfeilerLehman(**SMALL).fit(graphs[:12])
    other = ContinuousWeisfeilerLehman(**{**SMALL, "random_state": 1}).fit(graphs[:12])
    assert (kernel.weighted_counts(graphs[:12]) != other.weighted_counts(graphs[:12])).nnz
    kernel.save(tmp_path / "model.rwl")
    loaded = load_kernel(tmp_path / "model.rwl")
    np.testing.assert_array_equal(loaded.kernel_matrix(graphs), kernel.kernel_matrix(graphs))
    assert loaded.get_feature_names_out().tolist() == kernel.get_feature_names_out().tolist()
    with_code = ContinuousWeisfeilerLehman(lambda graph: np.ones((graph.n_nodes, 1)), **SMALL).fit(graphs)
    with pytest.raises(TypeError, match="features holds a function, which a model file cannot keep"):
        with_code.save(tmp_path / "code.rwl")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda k: k.centers_[0].fill(0.5), "whole numbers"),
        (lambda k: k.centers_.pop(), "centers_ of 3 depths"),
        (lambda k: setattr(k, "unit_", 3.0), "power of two"),
        (lambda k: setattr(k, "means_", k.means_[1:]), "as many as"),
        (lambda k: k.center_bounds_[1].__setitem__(1, 0), "where each partition begins"),
        (lambda k: k.center_bounds_[1].__setitem__(-1, 999), "where each partition begins"),
    ],
)
def test_damaged_models_are_refused(damage, message, tmp_path):
    kernel = ContinuousWeisfeilerLehman(**SMALL).fit(attributed(random_graphs(8)))
    damage(kernel)
    kernel.save(tmp_path / "model.rwl")
    with pytest.raises(ValueError, match=message):
        load_kernel(tmp_path / "model.rwl")


# -------------------------------------------------------------------------------------------------------- special cases


def test_auto_takes_what_there_is():
    plain = random_graphs(6)
    names = list(STRUCTURE)
    fit = ContinuousWeisfeilerLehman(**SMALL).fit
    assert fit(collection(plain, labeled=False)).raw_features_ == names
    assert fit(collection(plain)).label_values_ == ("C", "N", "O")
    assert fit(attributed(plain)).raw_features_ == ["attribute 0", "attribute 1", *names]
    many = [(70, [(0, 1)], [f"{v:02}" for v in range(70)], None)]
    assert fit(collection(many)).label_values_ is None
    assert len(ContinuousWeisfeilerLehman("labels", **SMALL).fit(collection(many)).label_values_) == 70


def test_constant_columns_are_dropped_and_named(caplog):
    graphs = collection([(4, [(0, 1), (1, 2), (2, 3)], list("aaaa"), None)], labeled=False)
    with caplog.at_level("INFO", "relaxwl"):
        kernel = ContinuousWeisfeilerLehman(**SMALL, verbose=1).fit(graphs)
    assert kernel.dropped_features_ == ["triangles", "core", "clustering", "return_3"]
    assert "constant features dropped: triangles, core, clustering, return_3" in caplog.text
    ring = collection([(4, [(0, 1), (1, 2), (2, 3), (3, 0)], list("aaaa"), None)], labeled=False)
    kernel.fit(ring)
    assert len(kernel.dropped_features_) == 9
    assert kernel.weighted_counts(ring).toarray().tolist() == [[4.0] * 9]
    assert kernel.get_feature_names_out()[0] == "depth 0, partition 0: #0 any node"


def test_missing_values_are_the_mean_and_unseen_labels_no_label():
    fitted = as_collection([(3, [(0, 1)], ["a", "a", "b"])])
    unseen = as_collection([(2, [(0, 1)], ["a", "z"])])
    kernel = ContinuousWeisfeilerLehman("labels", **SMALL).fit(fitted)
    (vectors, of_node), *_ = kernel._vectors(unseen, kernel._fitted_table(unseen))
    assert (vectors.rows[of_node] / kernel.unit_).tolist() == [[1.5, 0.0], [0.0, 0.0]]
    made = CollectionBuilder(missing="any")
    made.add(3, [(0, 1)], node_attributes=[[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    gaps = built(made)
    kernel = ContinuousWeisfeilerLehman("attributes", **SMALL).fit(gaps)
    assert kernel.dropped_features_ == ["attribute 1"]
    (vectors, of_node), *_ = kernel._vectors(gaps, kernel._fitted_table(gaps))
    assert (vectors.rows[of_node] / kernel.unit_).tolist() == [[-1.0], [1.0], [0.0]]


def test_isolated_nodes_keep_their_vectors_and_large_values_are_cut():
    made = CollectionBuilder()
    made.add(3, [], node_attributes=[[0.0], [1.0], [5.0]])
    graphs = built(made)
    kernel = ContinuousWeisfeilerLehman("attributes", **SMALL).fit(graphs)
    levels = [vectors.rows[of_node] for vectors, of_node in kernel._vectors(graphs, kernel._fitted_table(graphs))]
    np.testing.assert_array_equal(levels[2], levels[0])
    assert np.diff(kernel.center_bounds_[0]).tolist() == [2, 3, 3]  # no more than there are distinct vectors
    made = CollectionBuilder()
    made.add(1, [], node_attributes=[[1e9]])
    far = built(made)
    (vectors, _), *_ = kernel._vectors(far, kernel._fitted_table(far))
    assert vectors.rows.tolist() == [[64 * kernel.unit_]]


def test_functions_give_features():
    graphs = collection(random_graphs(8))

    def position(graph):
        return np.arange(graph.n_nodes)[:, None] ** [1, 2]

    kernel = ContinuousWeisfeilerLehman([position, "degree"], **SMALL).fit(graphs)
    assert kernel.raw_features_ == ["position 0", "position 1", "degree"]
    with pytest.raises(ValueError, match=r"a row of numbers for each of the \d+ nodes of graph 0"):
        ContinuousWeisfeilerLehman(lambda graph: [1.0], **SMALL).fit(graphs)


def test_names_are_in_the_units_of_the_data():
    clique = [(a, b) for a in range(6) for b in range(a)]
    graphs = collection([(6, clique, list("aaaaaa"), None), (6, [(0, v) for v in range(1, 6)], list("bbbbbb"), None)])
    kernel = ContinuousWeisfeilerLehman(["degree", "triangles", "core", "labels"], **SMALL).fit(graphs)
    names = kernel.get_feature_names_out()
    assert any(name.endswith("degree 5, 10 triangles, core 5, label a") for name in names[:10])
    assert any("depth 2" in name and "about degree" in name and "100% b" in name for name in names)


def test_node_clusters_are_columns_of_a_transformer():
    graphs = attributed(random_graphs(10))
    roles = NodeClusters(ContinuousWeisfeilerLehman(**SMALL)).fit_transform(graphs)
    assert roles.shape[0] == graphs.n_nodes
    assert (roles.sum(axis=1) == 9).all()


def test_empty_collections_and_graphs():
    graphs = collection([(0, [], [], None), (2, [(0, 1)], ["a", "b"], None)])
    kernel = ContinuousWeisfeilerLehman(**SMALL).fit(graphs)
    kernel.similarity = "tanimoto"
    assert kernel.kernel_matrix(graphs).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert kernel.kernel_matrix(graphs[:0], graphs).shape == (0, 2)
    with pytest.raises(ValueError, match="no nodes"):
        ContinuousWeisfeilerLehman(**SMALL).fit(graphs[:1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"features": "attributes"}, "no attributes; use features='structure'"),
        ({"features": "degrees"}, "features must be one of auto, attributes, structure, labels, degree"),
        ({"features": ["auto", "degree"]}, "features must be one of attributes"),
        ({"features": []}, "features is empty"),
        ({"n_clusters": []}, "n_clusters is empty"),
        ({"n_clusters": 0}, "n_clusters must be at least 1"),
        ({"n_partitions": 0}, "n_partitions must be an integer >= 1"),
        ({"directions": "up"}, "directions must be one of both, out, in"),
        ({"edge_weights": 0}, "edge_weights=0, and the edges have 0 attributes"),
        ({"edge_weights": -1}, "edge_weights must be an integer >= 0"),
    ],
)
def test_wrong_arguments_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        ContinuousWeisfeilerLehman(**parameters).fit(collection(random_graphs(4)))


def test_other_graphs_than_those_of_the_fit_are_refused():
    plain, rich = collection(random_graphs(4), labeled=False), attributed(random_graphs(4))
    with pytest.raises(ValueError, match="fitted on labeled graphs"):
        ContinuousWeisfeilerLehman(**SMALL).fit(collection(random_graphs(4))).transform(plain)
    with pytest.raises(ValueError, match="11 columns of features, and these have 9"):
        ContinuousWeisfeilerLehman(**SMALL).fit(rich).transform(collection(random_graphs(4)))
    made = CollectionBuilder()
    made.add(2, [(0, 1)], edge_attributes=[[-1.0]])
    with pytest.raises(ValueError, match="weights of edges must be finite numbers >= 0"):
        ContinuousWeisfeilerLehman("structure", edge_weights=0).fit(built(made))
    with pytest.raises(ValueError, match="no labels; use features='structure'"):
        ContinuousWeisfeilerLehman("labels").fit(plain)
    with pytest.raises(ValueError, match="too large"):
        ContinuousWeisfeilerLehman(lambda _: np.array([[-1e308], [1e308]])).fit(as_collection([(2, [(0, 1)])]))


def test_fits_in_several_threads_leave_the_threads_of_blas_alone():
    graphs = collection(random_graphs(30, seed=4))

    def fit(_):
        kernel = ContinuousWeisfeilerLehman(max_depth=1, n_partitions=4, similarity="dot", random_state=0)
        return kernel.fit_transform(graphs)

    def threads():
        return [pool["num_threads"] for pool in threadpool_info()]

    before, expected = threads(), fit(0)
    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(fit, range(12)))
    assert all((features != expected).nnz == 0 for features in found)
    assert threads() == before
    assert "threadpoolctl" not in Path(continuous.__file__).read_text(encoding="utf-8")


# -------- hashes, draws and shares, on the cases that graphs seldom are


def test_hashes_know_the_order_of_columns_and_no_negative_zero():
    rows = np.array([[1, 2], [2, 1], [0, 0], [-0.0, 0]], np.float32)
    hashes = continuous.row_hashes(rows)
    assert len(set(hashes.tolist())) == 3
    assert hashes[2] == hashes[3]


def test_rows_are_drawn_by_their_counts():
    hashes = continuous.row_hashes(np.arange(2000, dtype=np.float32)[:, None])
    counts = np.where(np.arange(2000) % 2, 9, 1)
    drawn = [np.argsort(continuous.drawing_keys(hashes, counts, np.uint64(seed)))[0] for seed in range(400)]
    assert 0.85 < np.mean(np.array(drawn) % 2) < 0.95
    assert len(set(drawn)) > 300


def test_shares_of_a_large_hub_do_not_overflow():
    n_leaves = 200_000
    indptr = np.concatenate([[0, n_leaves], n_leaves + 1 + np.arange(n_leaves)])
    share, unit, heavy = continuous.walk_shares(np.array([0, n_leaves + 1]), indptr, 1e12)
    assert 2 * n_leaves * float(share.max()) < 2.0**63
    assert share[1] == unit[1]
    assert not heavy.any()
    assert continuous.walk_shares(np.array([0, n_leaves + 1]), indptr, 1e9)[2].nonzero()[0].tolist() == [0]

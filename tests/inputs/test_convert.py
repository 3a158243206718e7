"""as_collection: every kind of graph it knows, and a clear error for what it does not."""

import zipfile

import igraph
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from inputs.one_graph_of_each_kind import (
    BARE,
    EXPECTED,
    PATH,
    FakeData,
    grakel_graphs,
    known_to_some,
    labeled_igraph,
    labeled_networkx,
)
from relaxed_kernels import optimized
from relaxwl import EditCost
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.inputs import as_collection

# ----------------------------------------------------------------------------------- all kinds, one answer


@pytest.mark.parametrize(
    ("graphs", "expected"),
    [
        (list(EXPECTED), EXPECTED),
        (labeled_networkx(), EXPECTED),
        (labeled_igraph(), EXPECTED),
        ([nx.path_graph(3), nx.empty_graph(1), nx.Graph()], BARE),
        ([igraph.Graph(3, [(0, 1), (1, 2)]), igraph.Graph(1), igraph.Graph()], BARE),
        ([FakeData([[0, 1, 1, 2], [1, 0, 2, 1]], 3), FakeData(np.empty((2, 0)), 1), FakeData([[], []], 0)], BARE),
        ([np.array(PATH), np.zeros((1, 1)), np.zeros((0, 0))], BARE),
        ([sparse.csr_matrix(PATH), sparse.coo_array((1, 1)), np.zeros((0, 0), bool)], BARE),
        ([(3, [(0, 1), (1, 2)], ["C", "O", "C"]), (1, [], ["N"]), (0, [])], EXPECTED),
        ([(3, np.array([[0, 1], [2, 1]])), (1, set()), (np.int64(0), [])], BARE),
        ([([(0, 1), (1, 2)], ["C", "O", "C"]), ([], ["N"]), ([], [])], EXPECTED),
        ([([(0, 1), (1, 2)], {0: "C", 1: "O", 2: "C"}), ([], {7: "N"}), ([], {})], EXPECTED),
        ([[np.array([[0, 1], [1, 2]]), np.array(["C", "O", "C"])], ([], ["N"]), ({},)], EXPECTED),
        ([[PATH, {0: "C", 1: "O", 2: "C"}], [[[0]], {0: "N"}], [{}]], EXPECTED),
        ([[np.array(PATH), ["C", "O", "C"]], [np.zeros((1, 1)), ("N",)], [np.zeros((0, 0))]], EXPECTED),
        ([[sparse.csr_array(PATH), ["C", "O", "C"], {}], [[[0]], {0: "N"}, None], [set()]], EXPECTED),
        ([[{"a": ["b"], "b": ["a", "c"], "c": ["b"]}], [{"x": []}], [{}]], BARE),
        ([[{(0, 1): 1, (1, 2): 1.0}, {0: "C", 1: "O", 2: "C"}], [{}, {5: "N"}], [{}, {}, {}]], EXPECTED),
        (
            [[{2: {1: 1.0}, 1: {2: 1.0, 0: 1}, 0: {1: 1}}, {0: "C", 1: "O", 2: "C"}], [{4: {}}, {4: "N"}], [{}]],
            EXPECTED,
        ),
        ([[{(0, 1, 1), (1, 2, 1.0)}], [{3: []}], [()]], BARE),
    ],
)
def test_kinds(graphs, expected):
    for given_as in (graphs, tuple(graphs), iter(graphs), (graph for graph in graphs)):
        assert as_collection(given_as) == expected


def test_arrays_of_objects_and_stacks_of_matrices():
    objects = np.empty(3, object)
    objects[:] = labeled_networkx()
    assert as_collection(objects) == EXPECTED
    stack = np.array([PATH, np.zeros((3, 3))])
    assert as_collection(stack) == GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [])])


def test_collections_are_returned_as_they_are():
    assert as_collection(EXPECTED) is EXPECTED


@pytest.mark.parametrize("nothing", [[], (), iter([]), np.empty(0), np.empty((0, 2, 2))])
def test_nothing_is_an_empty_collection(nothing):
    assert len(as_collection(nothing)) == 0


# ------------------------------------------------------------------------------------------- what is refused


DIRECTED = [
    nx.DiGraph([(0, 1), (1, 2)]),
    igraph.Graph(3, [(0, 1), (1, 2)], directed=True),
    FakeData([[0, 1], [1, 2]], 3),
    *grakel_graphs({(0, 1), (1, 2)}),
    np.triu(PATH),
    sparse.csr_array(np.triu(PATH)),
    [{0: [1], 1: [2]}],
    [np.triu(PATH)],
]


@pytest.mark.parametrize("graph", DIRECTED, ids=lambda graph: type(graph).__name__)
def test_directed_graphs_make_a_directed_collection(graph):
    found = as_collection([graph])
    assert found == GraphCollection.from_edges([(3, [(0, 1), (1, 2)])], directed=True)
    assert found == as_collection([graph], directed=True)
    assert as_collection([graph], symmetrize=True) == as_collection(found, symmetrize=True) == BARE[:1]
    with pytest.raises(GraphError, match=r"^graph 0: the graph is directed.*symmetrize=True"):
        as_collection([graph], directed=False)


@pytest.mark.parametrize(
    "graph",
    [
        EXPECTED[0],
        nx.path_graph(3),
        igraph.Graph(3),
        FakeData([[0], [1]], 2),
        *grakel_graphs({(0, 1)}),
        np.array(PATH),
        sparse.csr_array(PATH),
        PATH,
        (3, [(0, 1)]),
        (3, [(0, 1)], ["a", "b", "c"]),
        ([(0, 1), (1, 2)], ["a", "b", "c"]),
        [{(0, 1), (1, 2)}, {0: "a"}],
        [{0: [1], 1: [0]}, {0: "a"}],
        [np.array(PATH), {0: "a"}],
        [np.array(PATH), ["a", "b", "c"]],
        [sparse.csr_array(PATH), np.array(["a", "b", "c"])],
        [(0, 1), (1, 2)],
    ],
    ids=lambda graph: type(graph).__name__,
)
def test_a_single_graph_is_not_a_list(graph):
    with pytest.raises(TypeError, match=r"graphs must be a list, not .* put .* in a list, \[graph\]"):
        as_collection(graph)


@pytest.mark.parametrize("nonsense", [None, 5, {0: [1]}, {(0, 1)}, object()])
def test_what_is_no_list_at_all(nonsense):
    with pytest.raises(TypeError, match="graphs must be a list of graphs, not"):
        as_collection(nonsense)


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (None, "is None"),
        ("MUTAG", "is a SMILES string, but graph 0 is a networkx graph"),
        (object(), "is of type object"),
        (EXPECTED, "is a whole GraphCollection"),
        (igraph.Graph(2), "is an igraph graph, but graph 0 is a networkx graph"),
        ((2, [(0, 1)]), "is a tuple of edges, but graph 0 is a networkx graph"),
        (np.eye(2), "is an adjacency matrix, but graph 0 is a networkx graph"),
    ],
)
def test_items_that_do_not_belong(item, problem):
    with pytest.raises(GraphError, match=f"^graph 2: {problem}"):
        as_collection([nx.path_graph(2), nx.path_graph(2), item])


def test_graphs_with_their_classes():
    with pytest.raises(GraphError, match="graph 0: is a whole GraphCollection; pass it alone"):
        as_collection((EXPECTED, np.array([0, 1, 0])))


def test_mixed_labeled_and_unlabeled():
    with pytest.raises(GraphError, match=r"^graph 1: it has no node labels, but graph 0 has some"):
        as_collection([(1, [], ["a"]), (1, [])])
    with pytest.raises(GraphError, match=r"^graph 1: it has node labels, but graph 0 has none"):
        as_collection([[{(0, 1)}], [{(0, 1)}, {0: "a", 1: "b"}]])


# --------------------------------------------------------------------------------------------------- paths


def write_tu(folder):
    folder.mkdir()
    (folder / "TINY_A.txt").write_text("1, 2\n2, 1\n2, 3\n3, 2\n")
    (folder / "TINY_graph_indicator.txt").write_text("1\n1\n1\n2\n")
    (folder / "TINY_graph_labels.txt").write_text("1\n-1\n")
    return folder


def test_paths(tmp_path):
    folder = write_tu(tmp_path / "TINY")
    assert as_collection(folder) == as_collection(str(folder)) == BARE[:2]
    archive = tmp_path / "TINY.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for file in sorted(folder.iterdir()):
            target.write(file, f"TINY/{file.name}")
    assert as_collection(archive) == BARE[:2]


def test_paths_of_graphs_without_classes(tmp_path):
    folder = write_tu(tmp_path / "TINY")
    (folder / "TINY_graph_labels.txt").unlink()
    assert as_collection(folder) == BARE[:2]


def test_a_string_that_is_no_path():
    with pytest.raises(FileNotFoundError, match="there is no file or folder 'no such set' to read as a data set"):
        as_collection("no such set")


def test_real_data(shared):
    graphs = as_collection(shared / "data" / "MUTAG.zip")
    assert len(graphs) == 188
    assert list(as_collection(graphs[:20].to_networkx())) == list(graphs[:20])


def test_missing_values_count_in_kernels():
    graphs = as_collection(known_to_some("networkx"), node_attributes="size", edge_attributes="length", missing="?")
    cost = EditCost.from_attributes("euclidean", edge_metric="euclidean")
    kernel = optimized(1, n_clusters=9, cost=cost.with_missing(0.25), random_state=0)
    assert kernel.fit_transform(graphs).shape[0] == 2
    with pytest.raises(ValueError, match="with_missing"):
        kernel.set_params(cost=cost).fit(graphs)

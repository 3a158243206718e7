"""as_collection: every kind of graph it knows, and a clear error for what it does not."""

import itertools
import zipfile

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from relaxwl import EditCost, RelaxedWeisfeilerLehman
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.inputs import as_collection

try:
    import grakel
except ImportError:  # there are no wheels for the latest versions of Python
    grakel = None
needs_grakel = pytest.mark.skipif(grakel is None, reason="GraKeL is not available here")

# A labelled path, an isolated vertex, and a graph without vertices.
EXPECTED = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["C", "O", "C"]), (1, [], ["N"]), (0, [], [])])
BARE = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (1, []), (0, [])])
PATH = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def grakel_graphs(pairs):
    """Return a list of one graph of GraKeL, or of none where it is not available."""
    return [] if grakel is None else [grakel.Graph(pairs)]


class FakeTensor:
    """As much of a tensor as ``as_collection`` needs."""

    def __init__(self, values, requires_grad=True):
        self.values, self.requires_grad = np.asarray(values), requires_grad

    def __len__(self):
        return len(self.values)

    def detach(self):
        return FakeTensor(self.values, requires_grad=False)

    def cpu(self):
        return self

    def numpy(self):
        assert not self.requires_grad
        return self.values


class FakeData:
    """A graph in the manner of PyTorch Geometric: absent tensors are None, iteration is over the tensors."""

    def __init__(self, edge_index, num_nodes=None, **tensors):
        self.edge_index, self.num_nodes = FakeTensor(edge_index), num_nodes
        self.x = self.edge_attr = None
        for name, values in tensors.items():
            setattr(self, name, FakeTensor(values))

    def __iter__(self):
        return iter(vars(self).items())


def labelled_networkx():
    graphs = EXPECTED.to_networkx()
    assert graphs[0].nodes[1]["label"] == "O"
    return graphs


def labelled_igraph():
    path, single, empty = igraph.Graph(3, [(0, 1), (1, 2)]), igraph.Graph(1), igraph.Graph()
    path.vs["label"], single.vs["label"] = ["C", "O", "C"], ["N"]
    return [path, single, empty]


# ----------------------------------------------------------------------------------- all kinds, one answer


@pytest.mark.parametrize(
    ("graphs", "expected"),
    [
        (list(EXPECTED), EXPECTED),
        (labelled_networkx(), EXPECTED),
        (labelled_igraph(), EXPECTED),
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
    objects[:] = labelled_networkx()
    assert as_collection(objects) == EXPECTED
    stack = np.array([PATH, np.zeros((3, 3))])
    assert as_collection(stack) == GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [])])


def test_collections_are_returned_as_they_are():
    assert as_collection(EXPECTED) is EXPECTED


@pytest.mark.parametrize("nothing", [[], (), iter([]), np.empty(0), np.empty((0, 2, 2))])
def test_nothing_is_an_empty_collection(nothing):
    assert len(as_collection(nothing)) == 0


# ------------------------------------------------------------------------------------------------ our own


def test_views_keep_order_repetitions_and_sources():
    other = GraphCollection.from_edges([(2, [(0, 1)], ["A", "Z"]), (0, [])])
    views = [other[0], EXPECTED[1], EXPECTED[0], other[1], EXPECTED[1]]
    joined = as_collection(views)
    assert list(joined) == views
    assert joined.node_vocabulary == ("A", "C", "N", "O", "Z")
    assert as_collection([EXPECTED[2], EXPECTED[2]]) == EXPECTED[[2, 2]]


def test_views_must_agree():
    with pytest.raises(GraphError, match=r"^graph 2: of graphs 1 and 2 only one has node labels"):
        as_collection([EXPECTED[2], EXPECTED[0], BARE[0]])
    weighted = GraphCollection.from_adjacency([np.array([[0, 2], [2, 0]])])
    with pytest.raises(GraphError, match=r"^graph 1: the edge attributes have not the same length"):
        as_collection([BARE[0], weighted[0]])


# ------------------------------------------------------------------------------------- networkx and igraph


@given(st.data())
def test_networkx_round_trip_needs_no_names(data):
    sizes = data.draw(st.lists(st.integers(0, 4), max_size=3))
    graphs = GraphCollection.from_edges(
        (size, [(u, v) for u in range(size) for v in range(u) if data.draw(st.booleans())], [*range(size)])
        for size in sizes
    )
    assert list(as_collection(graphs.to_networkx())) == list(graphs) or not graphs.n_nodes


def test_round_trip_with_everything():
    graph = igraph.Graph(3, [(0, 1), (2, 1)])
    graph.vs["label"], graph.es["label"] = [3, "b", 1.5], ["-", "="]
    graph.vs["attributes"], graph.es["attributes"] = [[1, 2], [3, 4], [5, 6]], [7, 8]
    found = as_collection([graph])
    assert repr(found).endswith("3 node labels, 2 edge labels, 2 node attributes, 1 edge attributes)")
    assert found[0].edge_labels == ["-", "="]
    assert found[0].edge_attributes.tolist() == [[7], [8]]
    assert as_collection(found.to_networkx()) == found


def test_names_given_by_the_user():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "C", 1: "N"}, "element")
    nx.set_node_attributes(graph, 0.5, "charge")
    nx.set_edge_attributes(graph, 2, "order")
    names = {"node_label": "element", "edge_label": "order", "node_attributes": "charge", "edge_attributes": ["order"]}
    for kind in (graph, igraph.Graph.from_networkx(graph)):
        found = as_collection([kind], **names)
        assert found[0].node_labels == ["C", "N"]
        assert found[0].edge_labels == [2]
        assert found[0].node_attributes.tolist() == [[0.5], [0.5]]
        assert found[0].edge_attributes.tolist() == [[2]]
        with pytest.warns(
            UserWarning, match="vertex attributes 'charge', 'element' and the edge attributes 'order' are not"
        ):
            assert as_collection([kind]) == GraphCollection.from_edges([(2, [(0, 1)])])
        with pytest.warns(UserWarning, match="the vertex attributes 'charge' are not read"):
            as_collection([kind], node_label="element", edge_label="order")
        # No warning: the user has said so.
        assert not as_collection([kind], node_attributes=[], edge_attributes=[]).is_labelled


@pytest.mark.parametrize("empty", [(), (nx.Graph(),)])
def test_a_partial_convention_is_no_silent_guess(empty):
    half = nx.path_graph(2)
    half.nodes[0]["label"] = "a"
    with pytest.raises(GraphError, match=f"^graph {len(empty)}: 1 of its 2 vertices have no attribute 'label'"):
        as_collection([*empty, half])
    with pytest.raises(GraphError, match=f"^graph {len(empty)}: 1 of its 2 vertices have no attribute 'label'"):
        as_collection([*(igraph.Graph(0) for _ in empty), igraph.Graph.from_networkx(half)])
    labelled, bare = nx.path_graph(2), nx.path_graph(3)
    labelled.edges[0, 1]["label"] = 1
    with pytest.raises(GraphError, match=r"^graph 1: 2 of its 2 edges have no attribute 'label'"):
        as_collection([labelled, bare])


def test_an_empty_list_of_names_reads_nothing():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, "not a number", "attributes")
    with pytest.raises(GraphError, match="graph 0: the attributes are not numbers"):
        as_collection([graph])
    assert as_collection([graph], node_attributes=[]).node_attributes is None


def test_missing_names():
    with pytest.raises(GraphError, match=r"^graph 1: has no attribute 'kind'"):
        as_collection([igraph.Graph(0), igraph.Graph(1)], node_label="kind")
    with pytest.raises(GraphError, match=r"^graph 1: node 0 has no attribute 'kind'"):
        as_collection([nx.Graph(), nx.path_graph(1)], node_label="kind")


# --------------------------------------------------------------------------------------- PyTorch Geometric


def test_pyg_features_are_attributes_unless_they_are_the_labels():
    one_hot = [[1.0, 0], [0, 1], [1, 0]]
    graph = FakeData([[0, 1, 1, 2], [1, 0, 2, 1]], x=one_hot, edge_attr=[5, 5, 6, 6], z=[[6], [8], [6]])
    found = as_collection([graph])
    assert found.node_attributes.tolist() == one_hot
    assert found[0].edge_attributes.tolist() == [[5], [6]]
    assert not found.is_labelled
    labelled = as_collection([graph], node_label="x", edge_label="edge_attr")
    assert labelled[0].node_labels == [(1, 0), (0, 1), (1, 0)]
    assert labelled[0].edge_labels == [5, 6]
    assert labelled.node_attributes is None
    assert labelled.edge_attributes is None
    both = as_collection([graph], node_label="z", node_attributes=["z", "x"])
    assert both[0].node_labels == [6, 8, 6]
    assert both.node_attributes.shape == (3, 3)


def test_pyg_batches_and_data_sets():
    data = [FakeData([[0, 1], [1, 0]], 2), FakeData([[], []], 1)]

    class Batch:
        edge_index = FakeTensor([[0, 1], [1, 0]])

        def to_data_list(self):
            return data

    class Dataset:
        edge_index = FakeTensor([[0, 1], [1, 0]])

        def __iter__(self):
            return iter(data)

    assert as_collection(Batch()) == as_collection(Dataset()) == as_collection(data)


@pytest.mark.parametrize(
    ("graph", "names", "problem"),
    [
        (FakeData([[0, 2], [2, 0]], 2), {}, r"edge \(0, 2\) names a vertex outside"),
        (FakeData([[0], [-1]], 2), {}, r"edge \(0, -1\) names a vertex outside"),
        (FakeData([[0, 1]], 2), {}, r"edge_index must have shape \(2, n_edges\), not \(1, 2\)"),
        (FakeData([[0, 1], [1, 0]]), {}, "neither num_nodes nor x"),
        (FakeData([[], []], x=[[np.nan]]), {}, "contain NaN"),
        (FakeData([[], []], 2, x=[[1.0]]), {}, r"attributes of shape \(1, 1\) for 2 vertices"),
        (FakeData([[], []], 2), {"node_label": "z"}, "has no 'z'"),
        (FakeData([[], []], 2, x=[1, 2], z=[1]), {"node_attributes": ["x", "z"]}, "do not fit together"),
        (FakeData([[0, 0, 1], [1, 1, 0]], 2, edge_attr=[1, 2, 1]), {}, "listed twice with different attributes"),
        (FakeData([[0, 1], [1, 2]], 3), {"directed": False}, "the graph is directed"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*dropped")
def test_pyg_errors(graph, names, problem):
    empty = FakeData([[], []], 0, x=np.empty((0, 1)), z=[])
    with pytest.raises(GraphError, match=f"^graph 1: .*{problem}"):
        as_collection([empty, graph], **names)


# -------------------------------------------------------------------------------------------------- GraKeL


@needs_grakel
@pytest.mark.parametrize("graph_format", ["auto", "dictionary", "adjacency", "all"])
@pytest.mark.parametrize("start", [PATH, {(0, 1), (1, 0), (1, 2), (2, 1)}], ids=["matrix", "pairs"])
def test_grakel_graphs(start, graph_format):
    labels, edge_labels = {0: "C", 1: "O", 2: "C"}, {(0, 1): "-", (1, 0): "-", (1, 2): "=", (2, 1): "="}
    graph = grakel.Graph(start, labels, edge_labels, graph_format=graph_format)
    before = (graph._format, repr(graph.edge_dictionary), repr(graph.adjacency_matrix))
    found = as_collection([graph])
    assert found[0].node_labels == ["C", "O", "C"]
    assert found[0].edges.tolist() == [[0, 1], [1, 2]]
    assert found[0].edge_labels == ["-", "="]
    assert found.edge_attributes is None
    assert (graph._format, repr(graph.edge_dictionary), repr(graph.adjacency_matrix)) == before


@needs_grakel
@pytest.mark.parametrize("as_graph", [True, False])
def test_what_grakel_itself_produces(as_graph):
    graphs = labelled_networkx()[:2]
    made = list(grakel.graph_from_networkx(graphs, node_labels_tag="label", as_Graph=as_graph))
    assert as_collection(made) == EXPECTED[:2]
    bare = list(grakel.graph_from_networkx([nx.path_graph(3)], as_Graph=as_graph))
    assert as_collection(bare) == BARE[:1]


def test_weights_are_an_edge_attribute():
    graphs = [
        [{(0, 1, 2.5), (1, 2, 0.5)}, {0: "a", 1: "b", 2: "c"}],
        [{0: {1: 1.0}, 1: {0: 1.0}}, {0: "a", 1: "b"}],
        [{(0, 1): 3}, {0: "a", 1: "b"}],
        [np.array([[0, 4], [4, 1]]), {0: "a", 1: "b"}],
    ]
    found = as_collection(graphs)
    assert [graph.edge_attributes.ravel().tolist() for graph in found] == [[2.5, 0.5], [1], [3], [4]]


@needs_grakel
def test_weights_of_one_are_none():
    graph = grakel.Graph({0: {1: 1.0}, 1: {0: 1.0}}, {0: "a", 1: "b"})
    assert as_collection([graph]).edge_attributes is None


def test_edge_labels_of_tuples():
    labels = {0: "a", 1: "b", 2: "c"}
    for edge_labels in ({(1, 0): "x", (1, 2): "y"}, {(0, 1): "x", (1, 0): "x", (2, 1): "y"}, ["x", "y"]):
        for graph in ([[(0, 1), (1, 2)], labels, edge_labels], (3, [(0, 1), (1, 2)], labels, edge_labels)):
            assert as_collection([graph])[0].edge_labels == ["x", "y"]
    with_loop = as_collection([[{(0, 1), (1, 1)}, labels, {(0, 1): "x"}]])
    assert with_loop[0].edge_labels == ["x"]
    assert with_loop[0].n_nodes == 3


def test_two_by_two():
    edges = [[0, 1], [1, 2]]
    expected = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["a", "b", "c"])])
    assert as_collection([[edges, ["a", "b", "c"]]]) == expected
    assert as_collection([[np.array(edges), {0: "a", 1: "b", 2: "c"}]]) == expected
    assert as_collection([(3, edges, ["a", "b", "c"])]) == expected
    diagonal = [[1, 0], [0, 1]]
    for matrix in (diagonal, np.array(diagonal)):
        assert as_collection([[matrix, ["a", "b"]]]).n_edges == 0
    assert as_collection([[np.array(diagonal)]]).n_edges == 0
    with pytest.raises(GraphError, match="graph 0: two lists of two numbers can be two edges or a matrix"):
        as_collection([[diagonal]])


def test_inputs_are_not_changed():
    structure, labels = {0: {1: 1.0}, 1: {0: 1.0}}, {0: "a", 1: "b"}
    as_collection([[structure, labels]])
    assert structure == {0: {1: 1.0}, 1: {0: 1.0}}
    matrix = np.array(PATH)
    as_collection([matrix])
    assert matrix.tolist() == PATH
    assert matrix.flags.writeable


@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        ((2, [(0, 2)]), r"edge \(0, 2\) names a vertex outside 0\.\.1"),
        (([(0, 2)], ["a", "b"]), r"edge \(0, 2\) names a vertex outside 0\.\.1"),
        (([("x", "y")], ["a", "b"]), "pairs of vertex numbers"),
        (([(0, 1)], {0: "a"}), "vertex 1 has no label"),
        (([("x", "y")], {"x": "a", "y": None}), "vertex 'y' has no label"),
        ((np.array(PATH), {0: "a", 1: "b"}), "vertices: number 2 has no label"),
        ((2, [(0, 1)], ["a", None]), "number 1 has no label"),
        (([(0, 1)], ["a", "b"], {(5, 6): "x"}), r"edge \(0, 1\) has no label"),
        (([(0, 1)], ["a", "b"], {(0, 1): "x", (1, 0): "y"}), r"edge \(0, 1\) has the labels 'x' and 'y'"),
        (({(0, 1)}, ["a", "b"], ["x"]), "edge labels must be a dictionary"),
        (([(0, 1, 2, 3)], ["a", "b"]), "an edge must be a pair"),
        (([0, 1], ["a", "b"]), "an edge must be a pair"),
        (({0: 1},), "an edge must be a pair"),
        (([(0, 1)], "ab"), "labels must be a sequence or a dictionary, not str"),
        (([(0, 1)], 5), "labels must be a sequence or a dictionary, not int"),
        (([(frozenset({1}), 1)],), "vertices must be named by numbers, strings"),
        (({0: [{1}]},), "vertices must be named by numbers, strings"),
        (("x", "y"), "expected"),
        ((3,), "expected"),
        ((3, 4), "expected"),
        ((object(), ["a"]), "the edges must be pairs of vertices, not object"),
        ((2, [(0, 1, "heavy")]), "not numbers"),
        ((2, [(0, 1, np.nan)]), "NaN or infinity"),
        ((1, [], ["a"], [], []), "is a tuple of 5 members"),
        ((), "is a tuple of 0 members"),
    ],
)
def test_tuple_errors_name_the_graph(graph, problem):
    with pytest.raises(GraphError, match=f"^graph 1: .*{problem}"):
        as_collection([(0, []), graph])


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
        ("MUTAG", "is the text 'MUTAG'; a path stands for a whole data set"),
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


def test_mixed_labelled_and_unlabelled():
    with pytest.raises(GraphError, match=r"^graph 1: it has no node labels, but graph 0 has some"):
        as_collection([(1, [], ["a"]), (1, [])])
    with pytest.raises(GraphError, match=r"^graph 1: it has node labels, but graph 0 has none"):
        as_collection([[{(0, 1)}], [{(0, 1)}, {0: "a", 1: "b"}]])


@pytest.mark.parametrize(
    "graphs",
    [EXPECTED, list(EXPECTED), [np.eye(2)], [(1, [])], grakel_graphs({(0, 1)}) or [np.eye(2)], "somewhere"],
    ids=lambda graphs: type(graphs).__name__,
)
def test_names_that_cannot_be_looked_up_are_refused(graphs):
    with pytest.raises(ValueError, match=r"node_label names an attribute, but .* has no attributes"):
        as_collection(graphs, node_label="label")


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


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_lists_of_sparse_blocks(form, kind):
    """Matrices of any format, among them those that ``block_diag`` joins and an index takes out again."""
    make = getattr(sparse, f"{form}_{kind}")
    blocks = [np.array(PATH), np.zeros((2, 2), int), 1 - np.eye(4, dtype=int)]
    expected = as_collection(blocks)
    assert as_collection([make(block) for block in blocks]) == expected
    assert as_collection(make(block) for block in blocks) == expected
    joined = sparse.block_diag([sparse.coo_array(block) for block in blocks], format="csr")
    ends = np.cumsum([0, *(len(block) for block in blocks)])
    assert as_collection([make(joined[a:b, a:b]) for a, b in itertools.pairwise(ends)]) == expected
    arcs = as_collection([make(np.triu(block) * 2.5) for block in blocks])
    assert arcs.directed
    assert set(arcs.edge_attributes.ravel()) == {2.5}
    with pytest.raises(TypeError, match="put a single graph in a list"):
        as_collection(make(blocks[0]))


def known_to_some(library):
    """Two graphs of which the second lacks everything, and the first has some of it."""
    graphs = [nx.path_graph(3), nx.path_graph(2)]
    graphs[0].nodes[0].update(element="C", place=[1.0, 2.0], size=3.0)
    graphs[0].nodes[2].update(element="O")
    graphs[0].edges[0, 1].update(bond="single", length=0.5)
    return graphs if library == "networkx" else [igraph.Graph.from_networkx(graph) for graph in graphs]


@pytest.mark.parametrize("library", ["networkx", "igraph"])
def test_what_some_vertices_and_edges_lack(library):
    names = {"node_label": "element", "edge_label": "bond", "node_attributes": ["place", "size"]}
    found = as_collection(known_to_some(library), **names, edge_attributes="length", missing="?")
    assert [graph.node_labels for graph in found] == [["C", "?", "O"], ["?", "?"]]
    assert [graph.edge_labels for graph in found] == [["single", "?"], ["?"]]
    expected = np.full((5, 3), np.nan)
    expected[0] = 1, 2, 3
    np.testing.assert_array_equal(found.node_attributes, expected)
    np.testing.assert_array_equal(found[0].edge_attributes, [[0.5], [np.nan]])
    several = as_collection(
        known_to_some(library), node_label=["element", "size"], node_attributes=[], edge_attributes=[], missing="?"
    )
    assert several[0].node_labels == [("C", 3.0), ("?", "?"), ("O", "?")]
    with pytest.raises(ValueError, match=r"no graph has the attribute 'elment'; there is .*'element'"):
        as_collection(known_to_some(library), node_label="elment", node_attributes=[], edge_attributes=[], missing="?")
    alone = as_collection(known_to_some(library)[1:], **names, edge_attributes="length", missing="?")
    assert alone[0].node_labels == ["?", "?"]


def test_missing_values_count_in_kernels():
    graphs = as_collection(known_to_some("networkx"), node_attributes="size", edge_attributes="length", missing="?")
    cost = EditCost.from_attributes("euclidean", edge_metric="euclidean")
    kernel = RelaxedWeisfeilerLehman(1, n_clusters=9, cost=cost.with_missing(0.25), random_state=0)
    assert kernel.fit_transform(graphs).shape[0] == 2
    with pytest.raises(ValueError, match="with_missing"):
        kernel.set_params(cost=cost).fit(graphs)

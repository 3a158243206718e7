"""GraphCollection and Graph: indexing, joining, comparing, pickling, networkx, scikit-learn."""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import _safe_indexing

from relaxwl import as_collection
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.graphs.building import CollectionBuilder

NODE_LABELS = st.one_of(st.integers(-2, 12), st.sampled_from(["a", "b", "10", 0.5, (1, "x")]))
NUMBERS = st.sampled_from([0.0, -1.5, 2.0])


@st.composite
def collections(draw, min_graphs=0, carries=None):
    """Draw collections, labeled and attributed or not, with empty, single-node and edgeless graphs."""
    node_labels, edge_labels, node_attributes, edge_attributes = carries or draw(st.tuples(*[st.booleans()] * 4))

    def column(carried, values, length):
        return draw(st.lists(values, min_size=length, max_size=length)) if carried else None

    builder = CollectionBuilder()
    for _ in range(draw(st.integers(min_graphs, 4))):
        size = draw(st.integers(0, 5))
        node = st.integers(0, size - 1)
        edges = st.tuples(node, node).map(sorted).map(tuple).filter(lambda edge: edge[0] != edge[1])
        listed = draw(st.lists(edges, unique=True, max_size=6)) if size > 1 else []
        vectors = st.tuples(NUMBERS, NUMBERS)
        builder.add(
            size,
            listed,
            node_labels=column(node_labels, NODE_LABELS, size),
            edge_labels=column(edge_labels, st.sampled_from(["-", "=", 3]), len(listed)),
            node_attributes=column(node_attributes, vectors, size),
            edge_attributes=column(edge_attributes, vectors, len(listed)),
        )
    return GraphCollection(**builder.build())


def same_content(graph, other):
    """Compare two graphs through their public views only."""
    for name in ("n_nodes", "n_edges", "node_labels", "edge_labels"):
        assert getattr(graph, name) == getattr(other, name)
    assert graph.edges.tolist() == other.edges.tolist()
    for name in ("node_attributes", "edge_attributes"):
        a, b = getattr(graph, name), getattr(other, name)
        assert (a is None) == (b is None)
        assert a is None or a.tolist() == b.tolist()


def example():
    return GraphCollection.from_edges(
        [(3, [(0, 1), (1, 2)], ["C", "N", "C"]), (0, [], []), (1, [], ["O"]), (4, [(0, 3)], ["C", "C", "O", "N"])]
    )


# ------------------------------------------------------------------------------------------------- views


def test_sizes_and_repr():
    graphs = example()
    assert (len(graphs), graphs.n_graphs, graphs.n_nodes, graphs.n_edges, graphs.shape) == (4, 4, 8, 3, (4,))
    assert graphs.node_counts.tolist() == [3, 0, 1, 4]
    assert graphs.edge_counts.tolist() == [2, 0, 0, 1]
    assert graphs.degrees.tolist() == [1, 2, 1, 0, 1, 0, 0, 1]
    assert graphs.graph_of_node.tolist() == [0, 0, 0, 2, 3, 3, 3, 3]
    assert repr(graphs) == "GraphCollection(4 graphs, 8 nodes, 3 edges, 3 node labels)"
    assert repr(graphs[0]) == "Graph(3 nodes, 2 edges)"


def test_notebooks_show_the_first_graphs():
    graphs = GraphCollection.from_edges([(2, [(0, 1)], ["a<b", "c"])] * 10).with_names([f"g{i}" for i in range(10)])
    page = graphs._repr_html_()
    assert page.count("<tr>") == 9
    assert '<tr><th scope="row">g0</th><td>2</td><td>1</td><td>a&lt;b, c</td></tr>' in page
    assert "2 more graphs" in page
    assert "node labels</th>" not in GraphCollection.from_edges([(1, [])])._repr_html_()


def test_repr_names_all_that_is_carried():
    builder = CollectionBuilder()
    columns = {
        "node_labels": [1, 2],
        "edge_labels": ["x"],
        "node_attributes": np.ones((2, 3)),
        "edge_attributes": [4.0],
    }
    builder.add(2, [(0, 1)], **columns)
    text = repr(GraphCollection(**builder.build()))
    assert text.endswith("2 node labels, 1 edge label, 3 node attributes, 1 edge attribute)")


def test_graph_view():
    graph = example()[3]
    assert graph.index == 3
    assert graph.neighbors(3).tolist() == [0]
    assert graph.neighbors(1).tolist() == []
    assert [graph.node_label(node) for node in range(4)] == ["C", "C", "O", "N"]
    assert graph.edge_labels is None
    assert graph.edge_labels_of(0) is None
    for node in (-1, 4):
        with pytest.raises(IndexError, match=f"node {node} is out of range: graph 3 has 4 nodes"):
            graph.neighbors(node)
        with pytest.raises(IndexError, match="out of range"):
            graph.node_label(node)


def test_unlabeled_graphs_have_one_common_code():
    graphs = GraphCollection.from_edges([(2, [(0, 1)])])
    assert not graphs.is_labeled
    assert graphs.node_codes.tolist() == [0, 0]
    assert graphs[0].node_labels is None
    assert graphs[0].node_label(0) is None


# ---------------------------------------------------------------------------------------------- indexing


@given(collections(min_graphs=1), st.data())
def test_every_way_of_indexing_takes_the_same_graphs(graphs, data):
    chosen = data.draw(st.lists(st.integers(-len(graphs), len(graphs) - 1), max_size=6))
    expected = [graphs[index] for index in chosen]
    for key in (chosen, np.array(chosen, int), (chosen, ...)):
        taken = graphs[key]
        assert isinstance(taken, GraphCollection)
        assert len(taken) == len(expected)
        for graph, other in zip(taken, expected, strict=True):
            same_content(graph, other)


@given(collections(), st.slices(6))
def test_slices_and_masks(graphs, key):
    positions = list(range(len(graphs)))[key]
    assert graphs[key] == graphs[positions]
    mask = np.isin(np.arange(len(graphs)), positions)
    assert graphs[mask] == graphs[sorted(positions)]
    assert graphs[mask.tolist()] == graphs[mask] or not len(graphs)


@pytest.mark.parametrize("key", [4, -5, [4], [-5], [True, False], "a", [0.5], [[0, 1]], (0, 1), True, None])
def test_bad_indices(key):
    with pytest.raises(IndexError):
        example()[key]


def test_sequence_behavior():
    graphs = example()
    assert [graph.index for graph in graphs] == [0, 1, 2, 3]
    assert [graph.index for graph in reversed(graphs)] == [3, 2, 1, 0]
    assert graphs[np.int64(2)] in graphs
    assert graphs.index(graphs[2]) == 2
    assert graphs[-1] == graphs[3]
    assert graphs[0] != graphs[2]
    assert graphs[0] != "graph"
    assert graphs != "graphs"


# ------------------------------------------------------------------------------------- joining, comparing


@given(collections(), st.data())
def test_slicing_undoes_concatenation(graphs, data):
    cut = data.draw(st.integers(0, len(graphs)))
    parts = [graphs[:cut], graphs[cut:]]
    joined = GraphCollection.concatenate(iter(parts))
    assert joined == graphs
    assert joined.fingerprint() == graphs.fingerprint()
    assert joined[:cut] == parts[0]
    assert joined[cut:] == parts[1]


@given(collections(carries=(True, True, False, False)), collections(carries=(True, True, False, False)))
def test_joining_matches_labels_by_value(first, second):
    joined = GraphCollection.concatenate([first, second])
    for graph, other in zip(joined, [*first, *second], strict=True):
        same_content(graph, other)


@given(collections(), st.randoms(use_true_random=False))
def test_order_of_graphs_changes_nothing_but_the_order(graphs, random):
    order = list(range(len(graphs)))
    random.shuffle(order)
    shuffled = graphs[order]
    assert shuffled[np.argsort(order)] == graphs
    assert GraphCollection.concatenate([shuffled]) == shuffled
    assert shuffled.node_vocabulary == graphs.node_vocabulary


def test_names_go_with_their_graphs():
    graphs = example()[:3].with_names(["one", "two", 3])
    assert graphs.names == ("one", "two", "3")
    assert graphs[[2, 0]].names == ("3", "one")
    assert graphs[graphs.node_counts > 99].names == ()
    assert [graph.name for graph in graphs] == ["one", "two", "3"]
    assert graphs[1].as_collection().names == ("two",)
    assert (graphs + graphs).names == graphs.names * 2
    assert GraphCollection.concatenate([GraphCollection.concatenate([]), graphs]).names == graphs.names
    assert (graphs + example()[:3]).names is None
    assert graphs == example()[:3]
    assert graphs.fingerprint() == example()[:3].fingerprint()
    assert pickle.loads(pickle.dumps(graphs)).names == graphs.names
    assert as_collection(list(graphs)[::-1]).names == ("3", "two", "one")
    assert graphs.with_names(None).names is None
    assert example()[:3][0].name is None


def test_names_of_networkx_graphs():
    drawn = example()[:3].with_names(["one", "two", "three"]).to_networkx()
    assert GraphCollection.from_networkx(drawn).names == ("one", "two", "three")
    del drawn[1].graph["name"]
    assert GraphCollection.from_networkx(drawn).names is None


def test_bad_names_are_refused():
    with pytest.raises(ValueError, match="a name for each of 3 graphs, not 2"):
        example()[:3].with_names(["one", "two"])
    with pytest.raises(GraphError, match="graph 1: a name must be a text or an integer, not NoneType None"):
        example()[:3].with_names(["one", None, "three"])


def test_nothing_joined_is_an_empty_collection():
    empty = GraphCollection.concatenate([])
    assert len(empty) == 0
    assert repr(empty) == "GraphCollection(0 graphs, 0 nodes, 0 edges)"
    assert empty == GraphCollection.from_edges([]) == GraphCollection.from_networkx([])
    assert len(example()[:0]) == 0
    assert GraphCollection.concatenate([example(), empty]) == example()
    assert GraphCollection.concatenate([empty, example()]) == example()


def test_parts_must_agree():
    bare = GraphCollection.from_edges([(2, [(0, 1)])])
    with pytest.raises(ValueError, match="some collections have node labels and some have none"):
        GraphCollection.concatenate([example(), bare])
    weighted = GraphCollection.from_adjacency([np.array([[0, 2], [2, 0]])])
    with pytest.raises(ValueError, match="some collections have edge attributes and some have none"):
        GraphCollection.concatenate([weighted, bare])
    one, two = (GraphCollection([0, 1], [0, 0], [], node_attributes=np.ones((1, length))) for length in (1, 2))
    with pytest.raises(ValueError, match=r"node attributes have different lengths \[1, 2\]"):
        GraphCollection.concatenate([one, two])


def test_equality_and_fingerprint_are_by_label_value():
    graphs = example()
    part = graphs[[2, 0]]
    rebuilt = GraphCollection.from_edges([(1, [], ["O"]), (3, [(0, 1), (1, 2)], ["C", "N", "C"])])
    assert part == rebuilt
    for labels, vocabulary in ((["C"], ("C",)), (["C"], ("A", "C")), (["O"], ("C", "O"))):
        one = GraphCollection([0, 1], [0, 0], [], node_codes=[len(vocabulary) - 1], node_vocabulary=vocabulary)
        other = GraphCollection.from_edges([(1, [], labels)])
        assert one == other
        assert one.fingerprint() == other.fingerprint()
    assert GraphCollection.from_edges([(1, [], ["C"])]) != GraphCollection.from_edges([(1, [], ["O"])])
    assert GraphCollection.from_edges([(1, [], [1])]) != GraphCollection.from_edges([(1, [], ["1"])])
    assert GraphCollection.from_edges([(1, [], ["C"])]) != GraphCollection.from_edges([(1, [])])


def test_equal_numbers_have_equal_fingerprints():
    prints = {GraphCollection.from_edges([(1, [], [label])]).fingerprint() for label in (True, 1, 1.0, np.int8(1))}
    assert len(prints) == 1
    zeros = {GraphCollection([0, 1], [0, 0], [], node_attributes=[[zero]]).fingerprint() for zero in (0.0, -0.0)}
    assert len(zeros) == 1


def test_fingerprints_tell_contents_apart():
    builder = CollectionBuilder()
    builder.add(2, [(0, 1)], node_attributes=[1.0, 2.0])
    different = [
        example(),
        example()[:3],
        example()[::-1],
        GraphCollection.from_edges([(2, [(0, 1)])]),
        GraphCollection.from_edges([(2, [])]),
        GraphCollection.from_edges([(1, []), (1, [])]),
        GraphCollection.from_edges([(2, [(0, 1)], [0, 0])]),
        GraphCollection.from_edges([(2, [(0, 1)], ["0", "0"])]),
        GraphCollection(**builder.build()),
    ]
    assert len({graphs.fingerprint() for graphs in different}) == len(different)


# ------------------------------------------------------------------------------------ immutable, picklable


def test_nothing_can_be_changed():
    graphs = example()
    for name in ("offsets", "indptr", "indices", "node_codes"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(graphs, name)[0] = 1
        with pytest.raises(AttributeError, match="immutable"):
            setattr(graphs, name, None)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(graphs, name)
    with pytest.raises(AttributeError):
        graphs.something_new = 1
    with pytest.raises(AttributeError):
        graphs[0].n_nodes = 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(graphs)


def test_the_callers_arrays_keep_their_flags():
    attributes = np.ones((1, 2))
    GraphCollection([0, 1], [0, 0], [], node_attributes=attributes)
    assert attributes.flags.writeable


@given(collections())
def test_pickle_and_copy(graphs):
    for other in (pickle.loads(pickle.dumps(graphs)), copy.copy(graphs), copy.deepcopy(graphs)):
        assert other == graphs
        assert not other.indices.flags.writeable
    for graph in graphs:
        other = pickle.loads(pickle.dumps(graph))
        same_content(other, graph)
        assert other == graph


def test_a_pickled_graph_carries_itself_alone():
    many = GraphCollection.from_edges([(50, [(node, node + 1) for node in range(49)])] * 200)
    assert len(pickle.dumps(many[0])) < len(pickle.dumps(many)) / 50
    assert len(pickle.loads(pickle.dumps(many[7])).collection) == 1


# ------------------------------------------------------------------------------------------------ networkx


@given(collections())
def test_networkx_round_trip(graphs):
    carried = {
        "node_label": "label" if graphs.node_vocabulary is not None else None,
        "edge_label": "label" if graphs.edge_vocabulary is not None else None,
        "node_attributes": "attributes" if graphs.node_attributes is not None else None,
        "edge_attributes": "attributes" if graphs.edge_attributes is not None else None,
    }
    back = GraphCollection.from_networkx((graph for graph in graphs.to_networkx()), **carried)
    assert len(back) == len(graphs)
    for graph, other in zip(back, graphs, strict=True):
        if graphs.n_nodes and graphs.n_edges:
            same_content(graph, other)
        assert graph.edges.tolist() == other.edges.tolist()


def test_networkx_attributes_are_joined_in_order():
    graph = nx.Graph([("x", "y")])
    nx.set_node_attributes(graph, {"x": 1.0, "y": 2.0}, "mass")
    nx.set_node_attributes(graph, {"x": [3, 4], "y": [5, 6]}, "place")
    nx.set_edge_attributes(graph, 7, "length")
    found = GraphCollection.from_networkx([graph], node_attributes=["place", "mass"], edge_attributes="length")
    assert found.node_attributes.tolist() == [[3, 4, 1], [5, 6, 2]]
    assert found[0].edge_attributes.tolist() == [[7]]
    assert not found.is_labeled


def test_networkx_multigraphs_loops_and_directions():
    multi = nx.MultiGraph([(0, 1), (0, 1), (1, 1)])
    with pytest.warns(UserWarning, match="1 self-loop and 1 parallel edge dropped"):
        assert GraphCollection.from_networkx([multi]) == GraphCollection.from_edges([(2, [(0, 1)])])
    directed = nx.DiGraph([(0, 1), (1, 2)])
    with pytest.raises(GraphError, match=r"graph 0: the graph is undirected, but graph 1 is directed"):
        GraphCollection.from_networkx([nx.Graph(), directed])
    assert GraphCollection.from_networkx([directed], symmetrize=True).n_edges == 2


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ({"node_label": "kind"}, "node 1 has no attribute 'kind'"),
        ({"edge_label": "kind"}, r"edge \(1, 2\) has no attribute 'kind'"),
        ({"node_attributes": "mass"}, "node 0 has no attribute 'mass'"),
        ({"node_attributes": "word"}, "not numbers"),
        ({"node_attributes": "hole"}, "NaN or infinity"),
        ({"node_label": "nothing"}, "nodes: number 0 has no label"),
    ],
)
def test_networkx_errors_name_the_graph(names, problem):
    graph = nx.Graph()
    graph.add_node(0, kind="a", word="w", hole=np.nan, nothing=None)
    graph.add_nodes_from([1, 2], word="w", hole=1.0, nothing=None)
    graph.add_edge(0, 1, kind="-")
    graph.add_edge(1, 2)
    with pytest.raises(GraphError, match=f"^graph 1: .*{problem}"):
        GraphCollection.from_networkx([nx.Graph(), graph], **names)


def test_networkx_wants_a_list_of_networkx_graphs():
    with pytest.raises(TypeError, match=r"single Graph: put it in a list"):
        GraphCollection.from_networkx(nx.path_graph(2))
    with pytest.raises(GraphError, match="graph 1: must be a networkx graph, not int"):
        GraphCollection.from_networkx([nx.Graph(), 5])


# --------------------------------------------------------------------------------------------- scikit-learn


def test_scikit_learn_indexes_a_collection_as_a_whole():
    graphs, y = example(), np.array([0, 1, 0, 1])
    taken = _safe_indexing(graphs, np.array([2, 0]))
    assert isinstance(taken, GraphCollection)
    assert taken == graphs[[2, 0]]
    assert _safe_indexing(graphs, np.array([True, False, False, True])) == graphs[[0, 3]]
    train, test, y_train, y_test = train_test_split(graphs, y, test_size=0.5, random_state=0, stratify=y)
    assert isinstance(train, GraphCollection)
    assert isinstance(test, GraphCollection)
    assert sorted([*y_train, *y_test]) == [0, 0, 1, 1]
    assert sum(train.node_counts) + sum(test.node_counts) == graphs.n_nodes
    for fold, rest in KFold(2).split(graphs, y):
        assert GraphCollection.concatenate([graphs[fold], graphs[rest]]).n_nodes == graphs.n_nodes


# -------------------------------------------------------------------------------------------------- speed


def test_a_graph_is_taken_without_looking_at_the_others():
    """Views of one graph must not read the whole collection: indptr of the others is poisoned here."""
    graphs, poisoned = example(), example()
    poison = np.full(len(graphs.indptr) - 4, -(10**9))
    object.__setattr__(poisoned, "indptr", np.concatenate([graphs.indptr[:4], poison]))
    same_content(poisoned[0], graphs[0])
    same_content(poisoned[[0]][0], graphs[0])

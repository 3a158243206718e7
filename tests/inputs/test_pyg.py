"""Graphs in the manner of PyTorch Geometric, and rows of tables."""

import warnings
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from inputs.one_graph_of_each_kind import FakeData, FakeTensor
from relaxwl import GraphCollection, WeisfeilerLehman, as_collection
from relaxwl.graphs import GraphError

ARCS = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
PATH = GraphCollection.from_edges([(3, [(0, 1), (1, 2)])])


class Batch:
    """Several graphs as one, which can be taken apart."""

    def __init__(self, graphs):
        self.graphs, self.edge_index, self.num_nodes = graphs, np.empty((2, 0), int), 0

    def to_data_list(self):
        return self.graphs


def data(**tensors):
    return SimpleNamespace(**{"edge_index": ARCS, "num_nodes": 3, **tensors})


def test_batches_are_taken_apart_wherever_they_come_from():
    batches = [Batch([data()] * 3), Batch([data()] * 2)]
    for given in (batches, iter(batches), (batch for batch in batches)):
        assert as_collection(given) == as_collection([data()] * 5)


@pytest.mark.parametrize("weight", [1, 2.5])
def test_a_transposed_adjacency_is_read_with_its_direction(weight):
    arcs = sparse.coo_array(([weight, weight], ([1, 2], [0, 1])), shape=(3, 3))  # entry [1, 0] is an arc from 0 to 1
    found = as_collection([data(edge_index=None, adj_t=arcs)])
    assert found.directed
    assert found[0].edges.tolist() == [[0, 1], [1, 2]]
    assert (found.edge_attributes is None) == (weight == 1)


def test_attributes_are_not_ignored_silently():
    graphs = [data(x=np.eye(3)), data(x=np.eye(3))]
    with pytest.warns(UserWarning, match=r"WeisfeilerLehman ignores .*node attributes .*from_attributes") as caught:
        WeisfeilerLehman().fit(graphs)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="the node attributes 'pos' are not read"):
        as_collection([data(pos=np.zeros((3, 2)), y=np.array([1]), name="path")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WeisfeilerLehman().fit(as_collection(graphs, node_label="x"))
        as_collection([data(pos=np.zeros((3, 2)))], node_attributes=[])


def test_weights_count_as_attributes_and_can_make_a_graph_directed():
    assert as_collection([data(edge_weight=[1.0, 1.0, 2.0, 2.0])])[0].edge_attributes.tolist() == [[1.0], [2.0]]
    assert as_collection([data(edge_weight=[1.0, 3.0, 2.0, 2.0])]).directed


def test_several_columns_and_names_make_tuples():
    graph = data(kind=np.array(["C", "N", "C"]), charge=np.array([[0], [1], [0]]))
    found = as_collection([graph], node_label=["kind", "charge"])
    assert found[0].node_labels == [("C", 0), ("N", 1), ("C", 0)]
    with pytest.raises(ValueError, match=r"has no 'chage'; there is 'edge_index', 'num_nodes', 'kind', 'charge'"):
        as_collection([graph], node_label="chage")


# ------------------------------------------------------------------------------------------------ the real library


@pytest.fixture(scope="module")
def pyg():
    pytest.importorskip("torch")
    return pytest.importorskip("torch_geometric")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
class TestRealLibrary:
    """Skipped where torch and torch_geometric are not installed: they are too heavy for every run of the tests."""

    def graphs(self, number=60, **more):
        import torch
        from torch_geometric.data import Data

        return [
            Data(
                x=torch.full((3, 2), float(i)),
                edge_index=torch.from_numpy(ARCS),
                num_nodes=3,
                y=torch.tensor([i]),
                **more,
            )
            for i in range(number)
        ]

    def test_loaders_and_batches(self, pyg):
        from torch_geometric.data import Batch
        from torch_geometric.loader import DataLoader

        graphs = self.graphs()
        expected = as_collection(graphs)
        assert len(expected) == 60
        assert as_collection(DataLoader(graphs, batch_size=16)) == expected
        assert as_collection(Batch.from_data_list(graphs)) == expected
        assert as_collection([Batch.from_data_list(graphs[:7]), Batch.from_data_list(graphs[7:])]) == expected

    def test_sparse_adjacency(self, pyg):
        import torch
        from torch_geometric.data import Data
        from torch_geometric.transforms import ToSparseTensor

        graph = ToSparseTensor(layout=torch.sparse_csr)(self.graphs(1)[0])
        assert graph.edge_index is None
        assert as_collection([graph], node_attributes=[]) == PATH
        one_way = torch.sparse_coo_tensor([[1, 2], [0, 1]], [1.0, 1.0], (3, 3))
        assert as_collection([Data(adj_t=one_way, num_nodes=3)])[0].edges.tolist() == [[0, 1], [1, 2]]

    @pytest.mark.parametrize("kind", ["bfloat16", "float16", "float64", "int8", "bool"])
    def test_types_of_tensors(self, pyg, kind):
        import torch
        from torch_geometric.data import Data

        values = (
            torch.tensor([[0], [1], [1]])
            .to(getattr(torch, kind))
            .requires_grad_(kind.startswith(("b", "f")) and kind != "bool")
        )
        graph = Data(x=values, edge_index=torch.from_numpy(ARCS))
        assert as_collection([graph])[0].node_attributes.tolist() == [[0], [1], [1]]
        assert as_collection([graph], node_label="x", node_attributes=[])[0].node_labels == [0, 1, 1]

    def test_data_sets(self, pyg, tmp_path):
        from torch_geometric.data import InMemoryDataset

        graphs = self.graphs(5)

        class Five(InMemoryDataset):
            def __init__(self):
                super().__init__(str(tmp_path))
                self.data, self.slices = self.collate(graphs)

        assert as_collection(Five()) == as_collection(graphs)
        assert as_collection(Five()[:2]) == as_collection(graphs[:2])

    def test_directions(self, pyg):
        import torch
        from torch_geometric.data import Data

        arc = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
        assert as_collection([arc]).directed
        assert not as_collection([arc], symmetrize=True).directed


def test_pyg_features_are_attributes_unless_they_are_the_labels():
    one_hot = [[1.0, 0], [0, 1], [1, 0]]
    graph = FakeData([[0, 1, 1, 2], [1, 0, 2, 1]], x=one_hot, edge_attr=[5, 5, 6, 6], z=[[6], [8], [6]])
    found = as_collection([graph])
    assert found.node_attributes.tolist() == one_hot
    assert found[0].edge_attributes.tolist() == [[5], [6]]
    assert not found.is_labeled
    labeled = as_collection([graph], node_label="x", edge_label="edge_attr")
    assert labeled[0].node_labels == [(1, 0), (0, 1), (1, 0)]
    assert labeled[0].edge_labels == [5, 6]
    assert labeled.node_attributes is None
    assert labeled.edge_attributes is None
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
        (FakeData([[0, 2], [2, 0]], 2), {}, r"edge \(0, 2\) names a node outside"),
        (FakeData([[0], [-1]], 2), {}, r"edge \(0, -1\) names a node outside"),
        (FakeData([[0, 1]], 2), {}, r"edge_index must have shape \(2, n_edges\), not \(1, 2\)"),
        (FakeData([[0, 1], [1, 0]]), {}, "neither num_nodes nor x"),
        (FakeData([[], []], x=[[np.nan]]), {}, "contain NaN"),
        (FakeData([[], []], 2, x=[[1.0]]), {}, r"attributes of shape \(1, 1\) for 2 nodes"),
        (FakeData([[], []], 2), {"node_label": "z"}, "has no 'z'"),
        (FakeData([[], []], 2, x=[1, 2], z=[1]), {"node_attributes": ["x", "z"]}, "do not fit together"),
        (FakeData([[0, 0, 1], [1, 1, 0]], 2, edge_attr=[1, 2, 1]), {}, "listed twice with different attributes"),
        (FakeData([[0, 1], [1, 2]], 3), {"directed": False}, "the graph is directed"),
        (SimpleNamespace(edge_index=[[], []], x=[[1], [2, 3]]), {}, "cannot be read: .*inhomogeneous"),
        (SimpleNamespace(edge_index=[[], []], x=[["1_0"], ["2"]]), {}, "'1_0' is not a number"),
        (SimpleNamespace(edge_index=[[], []], x=[1j]), {}, "complex128 is not a type of real numbers"),
        (SimpleNamespace(edge_index=[[], []], x=np.array(["2020-01-01"], "M8[D]")), {}, "not a type of real numbers"),
        (SimpleNamespace(edge_index=[[], []], x=[10**400]), {}, "beyond all floating-point numbers"),
        (SimpleNamespace(edge_index=[[0], [0]], num_nodes=1, edge_attr=[10**400]), {}, "beyond all floating-point"),
        (SimpleNamespace(edge_index=[[], []], num_nodes=1, z=5), {"node_label": "z"}, "cannot be read"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*dropped")
def test_pyg_errors(graph, names, problem):
    empty = FakeData([[], []], 0, x=np.empty((0, 1)), z=[])
    with pytest.raises(GraphError, match=f"^graph 1: .*{problem}"):
        as_collection([empty, graph], **names)


ROWS = [
    {"edge_index": [[0, 1, 1, 2], [1, 0, 2, 1]], "edge_attr": [[1], [1], [2], [2]], "node_feat": [[6], [7], [6]],
     "num_nodes": 3, "y": [1]},
    {"edge_index": [[], []], "edge_attr": [], "node_feat": [[8]], "num_nodes": 1, "y": [0]},
]  # fmt: skip


@pytest.mark.parametrize("make", [list, pd.DataFrame, pa.Table.from_pylist], ids=["dicts", "pandas", "arrow"])
def test_rows_of_a_hub(make):
    found = as_collection(make(ROWS))
    assert [graph.n_nodes for graph in found] == [3, 1]
    assert found[0].edges.tolist() == [[0, 1], [1, 2]]
    assert found[0].edge_attributes.tolist() == [[1], [2]]
    assert found[1].node_attributes.tolist() == [[8]]
    labeled = as_collection(make(ROWS), node_label="node_feat", edge_label="edge_attr")
    assert labeled[0].node_labels == [6, 7, 6]
    assert labeled[0].edge_labels == [1, 2]


def test_a_parquet_round_trip_through_pandas(tmp_path):
    pd.DataFrame(ROWS).to_parquet(tmp_path / "rows.parquet")
    assert as_collection(pd.read_parquet(tmp_path / "rows.parquet")) == as_collection(ROWS)


def test_a_column_of_graphs():
    table = pd.DataFrame({"graph": [nx.path_graph(2), nx.path_graph(3)], "size": [2, 3]})
    expected = GraphCollection.from_edges([(2, [(0, 1)]), (3, [(0, 1), (1, 2)])])
    assert as_collection(table[["graph"]]) == as_collection(table["graph"]) == expected
    with pytest.raises(TypeError, match=r"the table has the columns 'graph', 'size'; choose the one that holds"):
        as_collection(table)


def test_rows_are_named_by_their_columns():
    named = [{**row, "id": number} for number, row in enumerate(ROWS, 7)]
    assert as_collection(named).names == ("7", "8")
    assert as_collection(pd.DataFrame([{**row, "name": f"row {row['id']}"} for row in named])).names == (
        "row 7",
        "row 8",
    )
    assert as_collection(ROWS).names is None


@pytest.mark.parametrize("make", [list, pd.DataFrame, pa.Table.from_pylist], ids=["dicts", "pandas", "arrow"])
def test_what_rows_lack_is_missing_and_tells_no_direction(make):
    rows = [{"edge_index": ARCS.tolist(), "num_nodes": 3, "kind": ["a", None, "b"], "charge": [0, 1, None],
             "bond": ["-", "-", None, None], "edge_attr": [1.5, 1.5, None, None]}]  # fmt: skip
    found = as_collection(make(rows), node_label=["kind", "charge"], edge_label="bond", missing="?")
    assert not found.directed
    assert found[0].node_labels == [("a", 0), ("?", 1), ("b", "?")]
    assert found[0].edge_labels == ["-", "?"]
    np.testing.assert_array_equal(found[0].edge_attributes, [[1.5], [np.nan]])
    with pytest.raises(GraphError, match=r"^graph 0: nodes: number 1 has no label; .* or pass missing="):
        as_collection(make(rows), node_label="kind", node_attributes=[], edge_attributes=[])


def test_numbers_beside_texts_stay_numbers_as_labels():
    labels = [("a", 1), ("1", 2), (1, "1")]
    assert as_collection([data(kind=labels)], node_label="kind")[0].node_labels == labels
    assert as_collection([data(kind=["1", 1, 2.5])], node_label="kind")[0].node_labels == ["1", 1, 2.5]


@pytest.mark.parametrize("number", [3.5, [1, 2], [], "2", 1e30, 2**70, np.inf, True, 2j, {"a": 1}])
def test_num_nodes_must_be_an_integer(number):
    with pytest.raises(GraphError, match="num_nodes must be an integer"):
        as_collection([{"edge_index": np.empty((2, 0), int), "num_nodes": number}])


def test_num_nodes_may_be_a_list_of_one():
    assert as_collection([{"edge_index": np.empty((2, 0), int), "num_nodes": [4]}]).n_nodes == 4

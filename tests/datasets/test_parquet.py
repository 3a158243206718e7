import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relaxwl import GraphCollection, as_collection
from relaxwl.datasets import read_parquet, write_parquet
from relaxwl.graphs.building import CollectionBuilder


def random_collection(seed, directed=False, labels="text", attributes=True, number=20):
    rng = np.random.default_rng(seed)
    names = {"text": ["a", "b"], "numbers": [1, 7], "tuples": [("a", 1), ("b", 2.5)], "mixed": ["a", 3]}
    builder = CollectionBuilder(directed=directed)
    for _ in range(number):
        n = int(rng.integers(0, 7))
        pairs = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
        edges = [pairs[i] for i in rng.permutation(len(pairs))[: rng.integers(0, len(pairs) + 1)]]
        columns = {}
        if labels:
            columns["node_labels"] = [names[labels][i] for i in rng.integers(0, 2, n)]
            columns["edge_labels"] = [names[labels][i] for i in rng.integers(0, 2, len(edges))]
        if attributes:
            columns["node_attributes"] = rng.normal(size=(n, 2))
            columns["edge_attributes"] = rng.normal(size=(len(edges), 1))
        builder.add(n, edges, **columns)
    return GraphCollection(**builder.build())


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10**6), st.booleans(), st.sampled_from([None, "text", "numbers", "tuples", "mixed"]), st.booleans()
)
def test_round_trip(tmp_path, seed, directed, labels, attributes):
    graphs = random_collection(seed, directed, labels, attributes)
    y = np.arange(len(graphs)) % 3
    write_parquet(tmp_path / "graphs.parquet", graphs, y)
    again, values = read_parquet(tmp_path / "graphs.parquet")
    assert again == graphs
    assert np.array_equal(values, y)


def test_batches_stream_both_ways(tmp_path):
    graphs = random_collection(0, number=50)
    write_parquet(tmp_path / "a", ((graphs[i : i + 10], np.arange(i, i + 10) / 2) for i in range(0, 50, 10)))
    batches = list(read_parquet(tmp_path / "a", batch_size=16))
    assert [len(part) for part, _ in batches] == [16, 16, 16, 2]
    assert GraphCollection.concatenate(part for part, _ in batches) == graphs
    assert np.array_equal(np.concatenate([y for _, y in batches]), np.arange(50) / 2)


def test_files_of_hubs(tmp_path):
    rows = [
        {"edge_index": [[0, 1], [1, 0]], "edge_attr": [[2], [2]], "node_feat": [[6], [8]], "y": [1], "num_nodes": 2},
        {"edge_index": [[], []], "edge_attr": [], "node_feat": [[7]], "y": [0], "num_nodes": 1},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "hub.parquet")
    graphs, y = read_parquet(tmp_path / "hub.parquet")
    assert y.tolist() == [1, 0]
    assert not graphs.directed
    assert graphs[0].node_attributes.tolist() == [[6], [8]]
    graphs, _ = read_parquet(tmp_path / "hub.parquet", node_label="node_feat", edge_attributes=[])
    assert graphs[0].node_labels == [6, 8]
    assert graphs.node_attributes is None
    assert graphs.edge_attributes is None


def test_pairs_and_two_lists_are_told_apart(tmp_path):
    path = tmp_path / "graphs.parquet"
    square, wedge = [[0, 1], [1, 2], [2, 3], [3, 0]], [[0, 1], [0, 2]]
    expected = GraphCollection.from_edges([(4, square), (3, wedge)])

    def write(*edges):
        rows = [{"edge_index": one, "num_nodes": n} for one, n in zip(edges, (4, 3), strict=False)]
        pq.write_table(pa.Table.from_pylist(rows), path)

    write(square, wedge)
    assert read_parquet(path, directed=False)[0] == expected
    write(np.array(square).T.tolist(), np.array(wedge).T.tolist())
    assert read_parquet(path, directed=False)[0] == expected
    assert [len(part) for part, _ in read_parquet(path, directed=False, batch_size=1)] == [1, 1]
    write(square, [[0, 0, 1], [1, 2, 2]])
    with pytest.raises(ValueError, match="graph 1: edge_index holds two lists here and pairs elsewhere"):
        read_parquet(path)
    write(wedge)
    assert read_parquet(path, directed=False, edge_form="pairs")[0][0].edges.tolist() == wedge
    with pytest.warns(UserWarning, match="1 self-loop"):
        assert read_parquet(path, directed=False, edge_form="lists")[0][0].edges.tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="edge_form must be one of lists, pairs"):
        read_parquet(path, edge_form="columns")


@pytest.mark.filterwarnings("ignore:1 parallel edge dropped")
@pytest.mark.parametrize(
    ("carried", "directed"),
    [
        ({}, False),
        ({"edge_index": [[0, 1, 1, 2, 0], [1, 0, 2, 1, 1]]}, False),
        ({"edge_attr": [1.5, 2.5, 2.5, 1.5]}, True),
        ({"edge_attr": [1.5, 1.5, None, None]}, False),
        ({"edge_label": ["-", "=", "=", "-"]}, True),
        ({"edge_label": ["-", "-", None, None]}, False),
    ],
    ids=str,
)
def test_directions_are_told_as_in_rows(tmp_path, carried, directed):
    row = {"edge_index": [[0, 1, 1, 2], [1, 0, 2, 1]], "num_nodes": 3, **carried}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    found, _ = read_parquet(tmp_path / "a.parquet", missing="?")
    assert found.directed == directed
    edge_label = "edge_label" if "edge_label" in carried else None
    assert as_collection([row], edge_label=edge_label, missing="?") == found


def test_missing_attributes_and_names_come_back(tmp_path):
    builder = CollectionBuilder(missing="?")
    for size in (2, 3):
        builder.add(size, [(0, 1)], node_attributes=[[np.nan, 1.0]] * size, edge_attributes=[[np.nan]])
    graphs = GraphCollection(**builder.build(), names=["one", "two"])
    write_parquet(tmp_path / "gaps.parquet", ((graphs[[i]], None) for i in range(2)))
    again, _ = read_parquet(tmp_path / "gaps.parquet")
    assert again == graphs
    assert again.names == ("one", "two")
    row = {"edge_index": [[0], [1]], "num_nodes": 2, "node_feat": [1.0, None], "node_label": ["a", None]}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "foreign.parquet")
    foreign, _ = read_parquet(tmp_path / "foreign.parquet", missing="none")
    assert foreign[0].node_labels == ["a", "none"]
    several, _ = read_parquet(tmp_path / "foreign.parquet", node_label=["node_label", "node_feat"], missing="none")
    assert several[0].node_labels == [("a", 1), ("none", "none")]
    assert np.isnan(foreign.node_attributes[1, 0])


@pytest.mark.parametrize(
    ("y", "kind"), [([True, False], "b"), (["a", "b"], "U"), ([1.5, None], "f"), ([[1, 2], [3, 4]], "f")]
)
def test_targets_of_every_kind_come_back(tmp_path, y, kind):
    graphs = GraphCollection.from_edges([(1, []), (2, [(0, 1)])])
    rows = [{"edge_index": [[], []], "num_nodes": 1, "y": value} for value in y]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "hub")
    assert read_parquet(tmp_path / "hub")[1].dtype.kind == kind
    if None not in y:
        write_parquet(tmp_path / "own", graphs, y)
        assert read_parquet(tmp_path / "own")[1].tolist() == y


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_parquet(tmp_path / "absent")
    pq.write_table(pa.table({"smiles": ["C"]}), tmp_path / "other")
    with pytest.raises(ValueError, match="has no column edge_index; there is 'smiles'"):
        read_parquet(tmp_path / "other")
    graphs = random_collection(0)
    with pytest.raises(ValueError, match="y must contain one value for each of 20 graphs"):
        write_parquet(tmp_path / "new", graphs, [1])
    assert not (tmp_path / "new").exists()
    write_parquet(tmp_path / "new", graphs)
    with pytest.raises(ValueError, match="has no column 'color'; there is 'edge_index'"):
        read_parquet(tmp_path / "new", node_label="color")
    with pytest.raises(TypeError, match="unexpected keyword argument 'color'"):
        read_parquet(tmp_path / "new", color=1)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("node_feat", [[1.0], [2.0], [3.0], [4.0]]),
        ("node_feat", [1.0, 2.0, 3.0, 4.0]),
        ("node_feat", []),
        ("edge_attr", [[1.0], [2.0]]),
        ("node_feat", [[[1.0, 2.0]], [[3.0, 4.0]]]),
    ],
)
def test_attributes_are_not_cut_anew(tmp_path, name, values):
    """Two nodes with four numbers have two each only where the file says so."""
    row = {"edge_index": [[0], [1]], "num_nodes": 2, name: values}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "x.parquet")
    with pytest.raises(
        ValueError, match=r"x\.parquet .*graph 0: attributes of shape \(\d, ?[\d, ]*\) where \d nodes or edges have one"
    ):
        read_parquet(tmp_path / "x.parquet")


def test_what_is_no_graph_is_refused_by_the_name_of_the_file(tmp_path):
    path = tmp_path / "crafted.parquet"
    edge = {"edge_index": [[0], [1]], "num_nodes": 2}
    for row, noted, message in (
        ({**edge, "num_nodes": 10**8}, {}, "num_nodes of this"),
        ({**edge, "num_nodes": -1}, {}, "must be an integer >= 0"),
        ({**edge, "num_nodes": None, "edge_index": [[0, 10**18, 0], [1, 2, 1]]}, {}, "num_nodes of this"),
        ({**edge, "edge_index": "x"}, {}, "edge_index must contain integers, in lists of lists, not string"),
        ({**edge, "edge_index": [["0"], ["1"]]}, {}, "edge_index must contain integers"),
        ({**edge, "edge_index": [[0.0], [1.9]]}, {}, "edge_index must contain integers"),
        ({**edge, "edge_index": [[0.0], [1.9]]}, {b"relaxwl": b"{}"}, "edge_index must contain integers"),
        ({**edge, "edge_index": [0, 1, 1, 0]}, {}, "must contain integers, in lists of lists"),
        ({**edge, "edge_index": [[0, 1], [1]]}, {}, "two lists of node numbers of one length"),
        ({**edge, "edge_index": [[0], [1], [1]]}, {}, "two lists of node numbers of one length"),
        ({**edge, "edge_index": [[0], [1], [1]]}, {b"relaxwl": b"{}"}, "two lists of node numbers of one length"),
        ({**edge, "edge_index": [[0, 1], [0, 2]], "num_nodes": 3}, {}, "two lists or two pairs"),
        ({**edge, "edge_index": [[0], [None]]}, {}, "lacks a node number"),
        ({**edge, "num_nodes": 2.7}, {}, "num_nodes must contain integers"),
        ({**edge, "num_nodes": "2"}, {}, "num_nodes must contain integers"),
        ({**edge, "num_nodes": [1, 2]}, {}, "graph 0: num_nodes must be one integer, not a list of 2"),
        ({**edge, "num_nodes": []}, {}, "num_nodes must be one integer, not a list of 0"),
        ({**edge, "edge_index": [[0, None], [1, 0]]}, {}, "graph 0: edge_index lacks a node number"),
        ({**edge, "node_label": "ab"}, {}, "graph 0: node_label must be a list .* node \\(2\\), not 'ab'"),
        ({**edge, "node_label": 1}, {}, "graph 0: node_label must be a list .* not 1"),
        ({**edge, "node_label": ["a"]}, {}, "graph 0: node_label must be a list .* not a list of 1"),
        ({**edge, "edge_label": "a"}, {}, "graph 0: edge_label must be a list .* edge \\(1\\), not 'a'"),
        ({**edge, "node_feat": [1.0, None]}, {}, "with missing=… values may be missing"),
        (edge, {b"relaxwl": b'{"directed": "x"}'}, "metadata is damaged"),
        (edge, {b"relaxwl": b'{"json": 1}'}, "metadata is damaged"),
        (edge, {b"relaxwl": b"[]"}, "metadata is damaged"),
        (edge, {b"relaxwl": b'{"json": [[1]]}'}, "metadata is damaged"),
        (edge, {b"relaxwl": b"{"}, "metadata is damaged; write it anew"),
    ):
        pq.write_table(pa.Table.from_pylist([row]).replace_schema_metadata(noted), path)
        with pytest.raises(ValueError, match=rf"crafted\.parquet .*{message}"):
            read_parquet(path)
        with pytest.raises(ValueError, match=rf"crafted\.parquet .*{message}"):
            list(read_parquet(path, batch_size=1))
    path.write_bytes(b"PAR1" + 100 * b"x" + b"PAR1")
    with pytest.raises(ValueError, match=r"crafted\.parquet cannot be read"):
        read_parquet(path)


def test_graphs_that_do_not_fit_are_named(tmp_path):
    path, edge = tmp_path / "crafted.parquet", {"edge_index": [[], []], "num_nodes": 1}
    pq.write_table(pa.Table.from_pylist([{**edge, "y": y} for y in ([1, 2], [1, 2], [1])]), path)
    with pytest.raises(ValueError, match=r"crafted\.parquet .*graph 2: its target is not a list of the same length"):
        read_parquet(path)
    numbers = pa.array([[[0], [2**63]]], pa.list_(pa.list_(pa.uint64())))
    pq.write_table(pa.table({"edge_index": numbers}), path)
    with pytest.raises(ValueError, match=r"crafted\.parquet .*graph 0: edge_index contains numbers of nodes beyond"):
        read_parquet(path)


@pytest.mark.parametrize("names", [["a", None], [1.5, 2.5]])
def test_names_that_are_not_read_are_reported(tmp_path, names):
    rows = [{"edge_index": [[], []], "num_nodes": 1, "name": name} for name in names]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "named.parquet")
    with pytest.warns(UserWarning, match="the graphs have no names: the column 'name'"):
        assert read_parquet(tmp_path / "named.parquet")[0].names is None


@pytest.mark.parametrize("name", ["edge_index", "y"])
def test_columns_of_one_name_are_refused(tmp_path, name):
    table = pa.Table.from_pylist([{"edge_index": [[0], [1]], "y": 1}])
    pq.write_table(table.append_column(name, table[name]), tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match=rf"twice\.parquet .*more than one column '{name}'"):
        read_parquet(tmp_path / "twice.parquet")


def test_a_few_bytes_that_stand_for_much_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.parquet"
    ends = pa.array(np.zeros(400_000, np.int64))
    column = pa.ListArray.from_arrays(pa.array([0, 400_000]), ends)
    edges = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), pa.concat_arrays([column, column]))
    pq.write_table(pa.table({"edge_index": edges, "num_nodes": [1]}), path)
    assert path.stat().st_size < 10**5
    monkeypatch.setattr("relaxwl._memory.available_memory", lambda: 1e7)
    with pytest.raises(ValueError, match=r"bomb\.parquet .*800001 values would need"):
        read_parquet(path)


@pytest.mark.parametrize("column", ["node_label", "y", "name"])
def test_texts_that_a_dictionary_repeats_are_refused_before_they_become_rows(tmp_path, monkeypatch, column):
    path, text = tmp_path / "repeated.parquet", "x" * 10**5
    row = {"edge_index": [[], []], "num_nodes": 1, column: [text] if column == "node_label" else text}
    pq.write_table(pa.Table.from_pylist([row] * 100), path, compression="zstd")
    assert path.stat().st_size < 10**5
    monkeypatch.setattr("relaxwl._memory.available_memory", lambda: 1e8)
    with pytest.raises(ValueError, match=r"repeated\.parquet .*100 of its rows would need"):
        read_parquet(path)


def test_a_long_class_among_many_is_refused(tmp_path):
    """As an array they would take 480 MB."""
    path, number = tmp_path / "classes.parquet", 12_000
    y = ["a"] * number + ["b" * 9999]
    table = pa.table({"edge_index": [[[], []]] * len(y), "num_nodes": [0] * len(y), "y": y})
    pq.write_table(table, path, use_dictionary=["edge_index", "num_nodes"], compression="zstd")
    assert path.stat().st_size < 10_000
    with pytest.raises(ValueError, match=r"classes\.parquet .*y\[12000\] is a text of 9999 characters"):
        read_parquet(path)


@pytest.mark.parametrize("text", ["1_0", "10", "nan", "\u0661"])
@pytest.mark.parametrize("column", ["node_feat", "edge_attr", "y"])
def test_texts_are_not_read_as_numbers(tmp_path, column, text):
    row = {"edge_index": [[0], [1]], "num_nodes": 2, column: [text] if column == "edge_attr" else [text, text]}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "texts.parquet")
    with pytest.raises(ValueError, match=rf"texts\.parquet .*'{text}' is not a number"):
        read_parquet(tmp_path / "texts.parquet")


def test_empty_names_keep_those_of_others(tmp_path):
    graphs = GraphCollection.from_edges([(1, []), (2, [(0, 1)])]).with_parts(names=["", "b"])
    write_parquet(tmp_path / "named.parquet", graphs)
    assert read_parquet(tmp_path / "named.parquet")[0].names == ("", "b")

"""Rows of tables: dictionaries, pandas, Arrow."""

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from relaxwl import GraphCollection, as_collection
from relaxwl.graphs import GraphError

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
    labelled = as_collection(make(ROWS), node_label="node_feat", edge_label="edge_attr")
    assert labelled[0].node_labels == [6, 7, 6]
    assert labelled[0].edge_labels == [1, 2]


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


@pytest.mark.parametrize("number", [3.5, [1, 2], []])
def test_num_nodes_must_be_an_integer(number):
    with pytest.raises(GraphError, match="num_nodes must be an integer"):
        as_collection([{"edge_index": np.empty((2, 0), int), "num_nodes": number}])


def test_num_nodes_may_be_a_list_of_one():
    assert as_collection([{"edge_index": np.empty((2, 0), int), "num_nodes": [4]}]).n_nodes == 4

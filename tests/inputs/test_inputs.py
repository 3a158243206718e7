"""Every cell of the table in docs/guide/inputs.md, and thousands of random graphs converted there and back."""

import re
from pathlib import Path
from types import SimpleNamespace

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from relaxwl import GraphCollection, as_collection
from relaxwl.datasets import read_parquet, read_tu, write_parquet
from relaxwl.graphs.building import CollectionBuilder

COLUMNS = ("labels", "attributes", "weights", "direction", "isolated nodes", "graph names")
NAMES = {"node_label": "label", "edge_label": "label", "node_attributes": "attributes", "edge_attributes": "attributes"}


def random_graphs(number, seed, directed, carry):
    """Graphs with labels, attributes of nodes and weights of edges, as far as they can be carried."""
    rng = np.random.default_rng(seed)
    builder = CollectionBuilder(directed=directed)
    for index in range(number):
        n = int(rng.integers(1, 7))
        pairs = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
        edges = [pairs[i] for i in rng.permutation(len(pairs))[: rng.integers(0, len(pairs) + 1)]]
        if index == 0:  # without symmetry, so that the direction is told
            n, edges = 3, [(0, 1)]
        columns = {}
        if "labels" in carry:
            columns |= {
                "node_labels": rng.integers(0, 3, n).tolist(),
                "edge_labels": rng.integers(0, 2, len(edges)).tolist(),
            }
        if "attributes" in carry:
            columns["node_attributes"] = rng.normal(size=(n, 2))
        if "weights" in carry:
            columns["edge_attributes"] = rng.uniform(1.5, 2, (len(edges), 1))
        builder.add(n, edges, **columns)
    names = [f"graph {index:05}" for index in range(number)] if "graph names" in carry else None
    return GraphCollection(**builder.build(), names=names)


def arcs_of(graph):
    """All adjacency entries of a graph as (tail, head), with labels and weights: undirected edges both ways."""
    ends = [graph.edges] if graph.directed else [graph.edges, graph.edges[:, ::-1]]
    repeat = 1 if graph.directed else 2
    labels = None if graph.edge_labels is None else graph.edge_labels * repeat
    weights = None if graph.edge_attributes is None else np.concatenate([graph.edge_attributes] * repeat)
    return np.concatenate(ends).astype(int), labels, weights


def tensors(graph):
    arcs, labels, weights = arcs_of(graph)
    found = {"edge_index": arcs.T, "num_nodes": graph.n_nodes}
    optional = {"kind": graph.node_labels, "x": graph.node_attributes, "bond": labels, "edge_attr": weights}
    found |= {} if graph.name is None else {"name": graph.name}
    return found | {name: np.asarray(values) for name, values in optional.items() if values is not None}


def tensor_names(graphs):
    return {
        "node_label": "kind" if graphs.is_labeled else None,
        "edge_label": "bond" if graphs.edge_vocabulary is not None else None,
    }


def from_networkx(graphs, _):
    return as_collection(graphs.to_networkx())


def from_igraph(graphs, _):
    made = []
    for graph in graphs:
        other = igraph.Graph(graph.n_nodes, graph.edges.tolist(), directed=graph.directed)
        if graph.name is not None:
            other["name"] = graph.name
        for name, nodes, edges in (
            ("label", graph.node_labels, graph.edge_labels),
            ("attributes", graph.node_attributes, graph.edge_attributes),
        ):
            if nodes is not None:
                other.vs[name] = list(nodes)
            if edges is not None:
                other.es[name] = list(edges)
        made.append(other)
    return as_collection(made)


def from_graphml(graphs, folder):
    """GraphML holds numbers and texts, so that a vector is several attributes."""
    nodes = [] if graphs.node_attributes is None else [f"x{i}" for i in range(graphs.node_attributes.shape[1])]
    for number, graph in enumerate(graphs.to_networkx()):
        for *_, data in [*graph.nodes(data=True), *graph.edges(data=True)]:
            data.update({f"x{i}": float(value) for i, value in enumerate(data.pop("attributes", []))})
        nx.write_graphml(graph, folder / f"{graph.graph.get('name', f'{number:05}')}.graphml")
    weights = [] if graphs.edge_attributes is None else ["x0"]
    return as_collection(folder, node_attributes=nodes or None, edge_attributes=weights or None)


def from_pyg(graphs, _):
    return as_collection([SimpleNamespace(**tensors(graph)) for graph in graphs], **tensor_names(graphs))


def rows_of(graphs):
    return [{name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in tensors(g).items()} for g in graphs]


def from_rows(graphs, _):
    return as_collection(rows_of(graphs), **tensor_names(graphs))


def from_pandas(graphs, _):
    return as_collection(pd.DataFrame(rows_of(graphs)), **tensor_names(graphs))


def from_arrow(graphs, _):
    return as_collection(pa.Table.from_pylist(rows_of(graphs)), **tensor_names(graphs))


def from_parquet(graphs, folder):
    write_parquet(folder / "graphs.parquet", graphs)
    return read_parquet(folder / "graphs.parquet")[0]


def from_scipy(graphs, _):
    made = []
    for graph in graphs:
        arcs, _, weights = arcs_of(graph)
        values = np.ones(len(arcs)) if weights is None else weights[:, 0]
        made.append(sparse.csr_array((values, (arcs[:, 0], arcs[:, 1])), shape=(graph.n_nodes, graph.n_nodes)))
    return as_collection(made)


def from_tuples(graphs, _):
    made = []
    for graph in graphs:
        weights = graph.edge_attributes
        edges = [(*edge, *([] if weights is None else weights[i])) for i, edge in enumerate(graph.edges.tolist())]
        made.append((graph.n_nodes, edges, graph.node_labels, graph.edge_labels))
    return as_collection(made, directed=graphs.directed)


def from_tu(graphs, folder):
    """TU files number all nodes from 1, and list an undirected edge once each way."""
    starts = graphs.offsets[:-1]
    listed = [arcs_of(graph) for graph in graphs]
    files = {
        "A": np.concatenate([arcs + start + 1 for (arcs, _, _), start in zip(listed, starts, strict=True)]),
        "graph_indicator": graphs.graph_of_node[:, None] + 1,
        "node_labels": None if not graphs.is_labeled else np.array([x for g in graphs for x in g.node_labels])[:, None],
        "edge_labels": None
        if graphs.edge_vocabulary is None
        else np.array([x for _, labels, _ in listed for x in labels])[:, None],
        "node_attributes": graphs.node_attributes,
        "edge_attributes": None
        if graphs.edge_attributes is None
        else np.concatenate([weights for _, _, weights in listed]),
    }
    for kind, rows in files.items():
        if rows is not None:
            lines = [", ".join(repr(value) for value in row) for row in rows.tolist()]
            (folder / f"T_{kind}.txt").write_text("\n".join(lines) + "\n")
    return read_tu(folder, directed=graphs.directed).graphs


# The table: which source keeps what. A source that keeps weights keeps them as an edge attribute.
ALL = set(COLUMNS)
TABLE = {
    "networkx": (from_networkx, ALL),
    "igraph": (from_igraph, ALL),
    "GraphML folders": (from_graphml, ALL),
    "PyTorch Geometric": (from_pyg, ALL),
    "dictionaries": (from_rows, ALL),
    "pandas": (from_pandas, ALL),
    "Arrow": (from_arrow, ALL),
    "Parquet": (from_parquet, ALL),
    "TU files": (from_tu, ALL - {"graph names"}),
    "tuples": (from_tuples, ALL - {"attributes", "graph names"}),
    "SciPy and NumPy matrices": (from_scipy, ALL - {"labels", "attributes", "graph names"}),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("source", TABLE)
def test_every_cell(source, column, tmp_path):
    convert, kept = TABLE[source]
    if column not in kept:
        return  # there is no place for it in such objects
    graphs = random_graphs(8, 0, column == "direction", {column})
    found = convert(graphs, tmp_path)
    assert found == graphs
    assert column != "graph names" or found.names == graphs.names


def test_nodes_are_numbered_in_the_order_of_the_source():
    graph = nx.Graph([("z", "a"), ("a", "m")])
    assert as_collection([graph])[0].edges.tolist() == [[0, 1], [1, 2]]
    named = igraph.Graph.TupleList([("z", "a"), ("a", "m")])
    assert as_collection([named], node_attributes=[])[0].edges.tolist() == [[0, 1], [1, 2]]
    # GraKeL's input names nodes in sets and dictionaries, which are sorted.
    assert as_collection([([("z", "a"), ("a", "m")], {"z": 1, "a": 2, "m": 3})])[0].node_labels == [2, 3, 1]


def test_the_page_shows_this_table():
    page = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "inputs.md").read_text(encoding="utf-8")
    for source, (_, kept) in TABLE.items():
        row = re.search(rf"^\| {re.escape(source)} \|(.*)\|$", page, re.MULTILINE)
        assert row, f"docs/guide/inputs.md has no row {source}"
        cells = [cell.strip() for cell in row[1].split("|")]
        assert [cell != "–" for cell in cells[: len(COLUMNS)]] == [column in kept for column in COLUMNS]


@pytest.mark.slow
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("source", TABLE)
def test_thousands_of_graphs_there_and_back(source, directed, tmp_path):
    convert, kept = TABLE[source]
    graphs = random_graphs(5000, 1, directed, kept)
    found = convert(graphs, tmp_path)
    assert found == graphs
    assert "graph names" not in kept or found.names == graphs.names

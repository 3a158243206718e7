"""Sources of graphs: every input format and kind of graph, a few small graphs each; a new one is a line of SOURCES."""

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.sparse import csr_array

from relaxwl import GraphCollection, as_collection
from relaxwl.datasets import load_tu, read_parquet, write_parquet, write_tu
from relaxwl.datasets.smiles import from_rdkit, from_smiles
from relaxwl.distributed import ShardedCollection, ShardWriter
from relaxwl.graphs.building import CollectionBuilder

N_GRAPHS = 12
SMILES = ["CCO", "CCN", "c1ccccc1O", "c1ccccc1N", "CC(C)O", "CC(C)N", "CCCO", "CCCN", "OCC=O", "NCC=O", "COC", "CNC"]


@dataclass(frozen=True)
class Source:
    """How graphs are made, and what is special about them; ``traits`` are reasons for which consumers may refuse."""

    make: Callable[[Any], Any]
    traits: frozenset[str]


def drawn(*carried: str, directed: bool = False, labels: Any = ("a", "b"), seed: int = 0) -> GraphCollection:
    """Draw connected graphs, rings and paths with chords in turn, that carry what is named."""
    rng = np.random.default_rng(seed)
    builder = CollectionBuilder(directed=directed, gaps=True)
    for number in range(N_GRAPHS):
        n = 4 + number % 4
        edges = [(i, i + 1) for i in range(n - 1)] + ([(n - 1, 0)] if number % 2 else [(0, 2)])
        columns = {
            "node_labels": [labels[i] for i in rng.integers(len(labels), size=n)],
            "edge_labels": [f"e{i}" for i in rng.integers(2, size=len(edges))],
            "node_attributes": rng.normal(size=(n, 2)).round(2),
            "edge_attributes": rng.integers(1, 4, size=(len(edges), 1)) / 2,
        }
        if "gaps" in carried:
            columns["node_attributes"][0, 0] = np.nan
        builder.add(n, edges, **{name: columns[name] for name in columns if name in carried})
    return GraphCollection(**builder.build())


def networks(directed: bool = False) -> list[nx.Graph]:
    return drawn("node_labels", directed=directed).to_networkx()


def igraphs() -> list[igraph.Graph]:
    return [igraph.Graph.from_networkx(graph) for graph in networks()]


def hub_rows() -> list[dict[str, Any]]:
    rows = []
    for graph in drawn("node_attributes"):
        ends = np.vstack([graph.edges, graph.edges[:, ::-1]]).T
        rows.append({"edge_index": ends.tolist(), "num_nodes": graph.n_nodes, "x": graph.node_attributes.tolist()})
    return rows


def matrices(weighted: bool) -> list[np.ndarray]:
    return [nx.to_numpy_array(graph) * (1 + weighted * 0.5) for graph in networks()]


def of_sizes(*sizes: int) -> GraphCollection:
    return GraphCollection.from_edges([(n, [(i, i + 1) for i in range(n - 1)]) for n in sizes])


def gappy_molecules() -> GraphCollection:
    builder = from_smiles(SMILES)
    empty = builder[:0].with_parts(offsets=[0, 0], sources=[None], names=["?"])
    return type(builder).concatenate([builder[:11], empty])


def tu_folder(folder: Any) -> str:
    graphs = drawn("node_labels", labels=(3, 7))
    write_tu(folder / "TU.zip", graphs, np.arange(N_GRAPHS) % 2)
    zipfile.ZipFile(folder / "TU.zip").extractall(folder)
    load_tu(folder / "TU")
    return str(folder / "TU")


def graphml_folder(folder: Any) -> str:
    (folder / "nets").mkdir()
    for number, graph in enumerate(networks()):
        nx.write_graphml(graph, folder / "nets" / f"net_{number}.graphml")
    return str(folder / "nets")


def parquet(folder: Any) -> GraphCollection:
    write_parquet(folder / "a.parquet", drawn("node_labels", "gaps", "node_attributes").with_names(range(N_GRAPHS)))
    return read_parquet(folder / "a.parquet")[0]


def shards(folder: Any) -> GraphCollection:
    with ShardWriter(folder / "shards", 5) as writer:
        writer.add(drawn("node_labels", "edge_labels"))
    return ShardedCollection.open(folder / "shards").to_collection()


def source(make: Callable[[Any], Any], *traits: str) -> Source:
    return Source(make, frozenset(traits))


LABELS = ("a", "b", 3, 2.5, ("t", 1), "ü")
SOURCES: dict[str, Source] = {
    "unlabeled": source(lambda _: drawn()),
    "labeled": source(lambda _: drawn("node_labels")),
    "mixed labels": source(lambda _: drawn("node_labels", labels=LABELS)),
    "largest labels": source(lambda _: drawn("node_labels", labels=(2**63 - 1, -(2**63)))),
    "edge labels": source(lambda _: drawn("node_labels", "edge_labels")),
    "attributes": source(lambda _: drawn("node_attributes"), "attributes"),
    "labels and attributes": source(lambda _: drawn("node_labels", "node_attributes"), "attributes"),
    "weights": source(lambda _: drawn("edge_attributes")),
    "everything": source(
        lambda _: drawn("node_labels", "edge_labels", "node_attributes", "edge_attributes"), "attributes"
    ),
    "missing attributes": source(lambda _: drawn("node_labels", "node_attributes", "gaps"), "missing", "attributes"),
    "arcs": source(lambda _: drawn("node_labels", directed=True), "directed"),
    "labeled arcs": source(lambda _: drawn("node_labels", "edge_labels", directed=True), "directed"),
    "weighted arcs": source(lambda _: drawn("edge_attributes", directed=True), "directed"),
    "slice with unused labels": source(lambda _: (drawn("node_labels") + drawn("node_labels", labels="z"))[:N_GRAPHS]),
    "views": source(lambda _: list(drawn("node_labels", "edge_labels"))),
    "names": source(lambda _: drawn("node_labels").with_names([f"g {i}" for i in range(N_GRAPHS)])),
    "one graph": source(lambda _: drawn("node_labels")[:1], "few"),
    "identical graphs": source(lambda _: drawn("node_labels")[[0] * N_GRAPHS], "identical"),
    "some empty graphs": source(lambda _: of_sizes(0, 3, 4, 0, 5, 6, 3, 4, 5, 6, 7, 8)),
    "only empty graphs": source(lambda _: of_sizes(*[0] * N_GRAPHS), "no nodes", "no edges", "identical"),
    "isolated nodes": source(
        lambda _: GraphCollection.from_edges([(n % 3 + 1, []) for n in range(N_GRAPHS)]), "no edges"
    ),
    "networkx": source(lambda _: networks()),
    "networkx arcs": source(lambda _: networks(directed=True), "directed"),
    "igraph": source(lambda _: igraphs()),
    "PyG objects": source(lambda _: [SimpleNamespace(**row) for row in hub_rows()], "attributes"),
    "hub rows": source(lambda _: hub_rows(), "attributes"),
    "pandas": source(lambda _: pd.DataFrame(hub_rows()), "attributes"),
    "Arrow": source(lambda _: pa.Table.from_pylist(hub_rows()), "attributes"),
    "matrices": source(lambda _: matrices(False)),
    "weighted matrices": source(lambda _: matrices(True)),
    "sparse matrices": source(lambda _: [csr_array(matrix) for matrix in matrices(False)]),
    "tuples": source(
        lambda _: [(graph.n_nodes, graph.edges.tolist(), graph.node_labels) for graph in drawn("node_labels")]
    ),
    "GraKeL tuples": source(
        lambda _: [
            ([tuple(edge) for edge in graph.edges.tolist()], dict(enumerate(graph.node_labels)))
            for graph in drawn("node_labels")
        ]
    ),
    "SMILES": source(lambda _: from_smiles(SMILES), "molecules"),
    "SMILES strings": source(lambda _: list(SMILES), "molecules"),
    "RDKit": source(lambda _: from_rdkit(from_smiles(SMILES).molecules()), "molecules"),
    "unreadable molecules": source(lambda _: gappy_molecules(), "molecules", "unreadable"),
    "TU files": source(tu_folder),
    "GraphML files": source(graphml_folder),
    "Parquet": source(parquet, "missing", "attributes"),
    "shards": source(shards),
}

# Targets of every type that users have; each becomes the plain type that is named.
CLASSES: dict[str, tuple[Callable[[int], Any], str]] = {
    "texts": (lambda n: ["no", "yes"] * (n // 2), "U"),
    "integers": (lambda n: [-1, 1] * (n // 2), "i"),
    "booleans": (lambda n: [False, True] * (n // 2), "b"),
    "unsigned": (lambda n: np.array([3, 9] * (n // 2), np.uint8), "iu"),
    "objects": (lambda n: np.array(["no", "yes"] * (n // 2), dtype=object), "U"),
    "series": (lambda n: pd.Series(["no", "yes"] * (n // 2)), "U"),
    "categories": (lambda n: pd.Categorical(["no", "yes"] * (n // 2)), "U"),
    "nullable integers": (lambda n: pd.Series([-1, 1] * (n // 2), dtype="Int64"), "i"),
    "index": (lambda n: pd.Index(["no", "yes"] * (n // 2)), "U"),
    "one column": (lambda n: np.array([["no"], ["yes"]] * (n // 2)), "U"),
}
# What is no class or number: refused in one sentence.
NO_TARGETS: dict[str, Callable[[int], Any]] = {
    "None among texts": lambda n: ["no", "yes"] * (n // 2 - 1) + ["no", None],
    "texts and numbers": lambda n: ["no", 1] * (n // 2),
    "complex": lambda n: np.arange(n) * 1j,
    "dates": lambda n: np.arange(n).astype("datetime64[D]"),
    "too few": lambda n: ["no", "yes"],
    "lists": lambda n: [[1], [2, 3]] * (n // 2),
}


def collection_of(made: Any) -> GraphCollection:
    """Return the graphs of a source as a collection."""
    return as_collection(made)

"""Consumers of graphs: every estimator, transformer, writer, explanation and command; a new one is a line of CONSUMERS.

A consumer is a function of (made, folder): graphs as their source makes them, and an empty folder. It checks the
invariants that hold for its kind, and raises what the package raises where graphs are refused.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from matrix.sources import collection_of
from relaxwl import (
    GraphClassifier,
    GraphCollection,
    GraphIndex,
    GraphRegressor,
    KernelDistance,
    KernelMatrix,
    NodeClusters,
    RelaxedWeisfeilerLehman,
    ToGraphs,
    WeisfeilerLehman,
    tree_distances,
)
from relaxwl.cli import main
from relaxwl.datasets import load_tu, read_parquet, write_parquet, write_tu
from relaxwl.distributed import ShardedCollection, ShardWriter
from relaxwl.evaluation import cross_validate
from relaxwl.explanation import explain
from relaxwl.gp import GraphKernel as ProcessKernel
from relaxwl.graphs.building import CollectionBuilder
from relaxwl.kernels import load_kernel
from relaxwl.kernels.base import GraphKernel
from relaxwl.kernels.registry import get_kernel, kernel_names
from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor
from relaxwl.reports.explorer import render_explorer


@dataclass(frozen=True)
class Consumer:
    """What takes graphs, the traits of sources that it may refuse, and those that it needs."""

    run: Callable[[Any, Path], None]
    refuses: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()


# ------------------------------------------------------------------------------------------------------- kernels


def small(kernel: Any) -> Any:
    """Return a kernel with few depths and partitions."""
    few = {"max_depth": 2, "n_partitions": 2, "n_jobs": 1, "random_state": 0}
    return kernel.set_params(**{name: value for name, value in few.items() if name in kernel.get_params()})


def permuted_nodes(graphs: GraphCollection, rng: np.random.Generator) -> GraphCollection:
    """Return the same graphs with their nodes in another order."""
    builder = CollectionBuilder(directed=graphs.directed, gaps=True)
    for graph in graphs:
        order = rng.permutation(graph.n_nodes)
        new = np.argsort(order)
        labels, vectors = graph.node_labels, graph.node_attributes
        builder.add(
            graph.n_nodes,
            new[graph.edges] if graph.n_edges else [],
            node_labels=None if labels is None else [labels[node] for node in order],
            edge_labels=graph.edge_labels,
            node_attributes=None if vectors is None else vectors[order],
            edge_attributes=graph.edge_attributes,
        )
    return GraphCollection(**builder.build())


def check_kernel(kernel: GraphKernel, made: Any, folder: Path, *, definite: bool, ordered: bool) -> None:
    """Check what must contain for every kernel; ``ordered`` ones may depend on the order of graphs and nodes."""
    graphs, rng = collection_of(made), np.random.default_rng(0)
    before = graphs.fingerprint()
    fitted = clone(kernel).fit(made)
    matrix = fitted.kernel_matrix(graphs)
    assert matrix.dtype == np.float64
    assert matrix.shape == (len(graphs),) * 2
    assert np.isfinite(matrix).all()
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12, atol=1e-12)
    size = max(1.0, float(np.abs(matrix).max(initial=0)))
    assert not definite or np.linalg.eigvalsh(matrix).min(initial=0) > -1e-8 * size * len(graphs)

    def same(other: Any, order: Any = slice(None)) -> None:
        np.testing.assert_allclose(other, matrix[order][:, order], rtol=1e-9, atol=1e-9 * size)

    same(clone(kernel).fit_kernel_matrix(graphs))
    same(clone(kernel).fit(list(graphs)).kernel_matrix(list(graphs)))
    order = rng.permutation(len(graphs))
    if not ordered:
        same(clone(kernel).fit(graphs[order]).kernel_matrix(graphs[order]), order)
        same(clone(kernel).fit(permuted_nodes(graphs, rng)).kernel_matrix(graphs))
    same(pickle.loads(pickle.dumps(fitted)).kernel_matrix(graphs))
    if "n_jobs" in kernel.get_params():
        same(clone(kernel).set_params(n_jobs=2).fit_kernel_matrix(graphs))
    if hasattr(fitted, "save"):
        fitted.save(folder / "kernel.rwl")
        same(load_kernel(folder / "kernel.rwl").kernel_matrix(graphs))
    if hasattr(fitted, "transform") and getattr(kernel, "similarity", "dot") == "dot":
        features = fitted.transform(graphs)
        whole = clone(kernel).fit_transform(graphs)
        np.testing.assert_allclose(features.toarray(), whole.toarray(), rtol=1e-9, atol=1e-9)
        assert features.shape[1] == len(fitted.get_feature_names_out())
        same((features @ features.T).toarray())
    assert graphs.fingerprint() == before


def kernel_consumer(kernel: GraphKernel, name: str = "") -> Consumer:
    def run(made: Any, folder: Path) -> None:
        check_kernel(kernel, made, folder, definite=name not in INDEFINITE, ordered=name in ORDERED)

    needs_nodes = ["no nodes"] * name.startswith(("rwl", "cwl"))  # there is nothing to cluster
    return Consumer(run, frozenset([*needs_nodes, *["directed"] * (not kernel.takes_directed)]))


# ---------------------------------------------------------------------------------------------------- predictors


def targets_of(n: int, numbers: bool) -> Any:
    return np.linspace(-1, 3, n) ** 2 if numbers else np.array(["no", "yes"] * n)[:n]


def check_predictor(model: Any, made: Any, folder: Path, y: Any) -> None:
    """Check what must contain for every predictor on all graphs."""
    graphs = collection_of(made)
    fitted = clone(model).fit(made, y)
    numbers = not hasattr(fitted, "classes_")

    def answers(one: Any, some: Any) -> Any:
        return one.predict(some) if numbers else one.predict_proba(some)

    expected = answers(fitted, made)
    assert np.isfinite(expected).all()
    if not numbers:
        assert fitted.classes_.tolist() == sorted(set(np.asarray(y).ravel().tolist()))
        assert set(fitted.predict(made).tolist()) <= set(fitted.classes_.tolist())
        np.testing.assert_allclose(expected.sum(axis=1), 1)
    order = np.random.default_rng(0).permutation(len(graphs))
    np.testing.assert_allclose(answers(fitted, graphs[order]), expected[order], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(answers(fitted, list(graphs)), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(answers(pickle.loads(pickle.dumps(fitted)), graphs), answers(fitted, graphs))
    again = clone(model).set_params(n_jobs=2).fit(graphs, y)
    np.testing.assert_allclose(answers(again, graphs), expected, rtol=1e-6, atol=1e-8)
    fitted.save(folder / "model.rwl")
    loaded = type(model).load(folder / "model.rwl")
    np.testing.assert_allclose(answers(loaded, graphs), expected, rtol=1e-6, atol=1e-8)
    if not numbers:
        assert loaded.classes_.dtype.kind == fitted.classes_.dtype.kind
        assert loaded.predict(graphs).tolist() == fitted.predict(graphs).tolist()


def predictor_consumer(model: Any, numbers: bool, *needs: str) -> Consumer:
    def run(made: Any, folder: Path) -> None:
        check_predictor(model, made, folder, targets_of(len(collection_of(made)), numbers))

    return Consumer(run, frozenset({"few", "no nodes", "identical", "unreadable"}), frozenset(needs))


# ---------------------------------------------------------------------------------------------- the other consumers


def check_same(again: GraphCollection, graphs: GraphCollection) -> None:
    assert again == graphs
    assert again.names == graphs.names


def run_parquet(made: Any, folder: Path) -> None:
    graphs = collection_of(made)
    write_parquet(folder / "out.parquet", graphs, targets_of(len(graphs), numbers=False))
    again, y = read_parquet(folder / "out.parquet")
    check_same(again, graphs)
    assert y.tolist() == targets_of(len(graphs), numbers=False).tolist()
    check_same(collection_of(read_parquet(folder / "out.parquet", target=None)[0]), graphs)


def run_tu(made: Any, folder: Path) -> None:
    graphs = collection_of(made)
    write_tu(folder / "OUT.zip", graphs, [7] * len(graphs))
    again, _ = load_tu(folder / "OUT.zip", directed=graphs.directed)
    assert np.array_equal(again.indices, graphs.indices)
    assert np.array_equal(again.node_counts, graphs.node_counts)
    assert (again.node_attributes is None) == (graphs.node_attributes is None)


def run_shards(made: Any, folder: Path) -> None:
    graphs = collection_of(made)
    with ShardWriter(folder / "out", 5) as writer:
        writer.add(graphs, targets_of(len(graphs), numbers=True))
    shards = ShardedCollection.open(folder / "out")
    check_same(shards.to_collection(), graphs)
    np.testing.assert_array_equal(shards.y, targets_of(len(graphs), numbers=True))


def run_networkx(made: Any, folder: Path) -> None:
    graphs = collection_of(made)
    drawn = graphs.to_networkx()
    gaps = graphs.node_attributes is not None and bool(np.isnan(graphs.node_attributes).any())
    check_same(ToGraphs(missing="?" if gaps else None).fit_transform(drawn), graphs)


def run_explain(made: Any, folder: Path) -> None:
    graphs = collection_of(made)
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=1, n_clusters="sqrt", similarity="dot", random_state=0)
    for numbers in (False, True):
        found = explain(clone(kernel), made, targets_of(len(graphs), numbers), n_permutations=9, random_state=0)
        assert "</html>" in render_explorer(found, title="matrix", n_graphs=4)
        assert "<svg" in found.explain_graph(0).to_svg()


def run_cross_validation(made: Any, folder: Path) -> None:
    graphs = collection_of(made)
    y = targets_of(len(graphs), numbers=False)
    results = cross_validate(["wl", "auto"], graphs, y, n_folds=3, n_repeats=1, inner_folds=2, random_state=0)
    assert all(0 <= results.cell(results.datasets[0], kernel).mean <= 1 for kernel in results.kernels)


def run_distances(made: Any, folder: Path) -> None:
    graphs = collection_of(made)
    whole, ids = tree_distances(made, 2)
    nodes = [(g, v) for g, graph in enumerate(graphs) for v in range(graph.n_nodes)][::3]
    some = tree_distances(graphs, 2, nodes, n_jobs=2)
    picked = ids[[int(graphs.offsets[g]) + v for g, v in nodes]] if nodes else np.empty(0, int)
    np.testing.assert_allclose(some, whole[np.ix_(picked, picked)])


def run_transformers(made: Any, folder: Path) -> None:
    kernel = WeisfeilerLehman(max_depth=2)
    graphs = ToGraphs().fit_transform(made)
    matrix = KernelMatrix(clone(kernel)).fit_transform(graphs)
    np.testing.assert_allclose(matrix, clone(kernel).fit(graphs).kernel_matrix(graphs))
    distances = KernelDistance(clone(kernel)).fit_transform(graphs)
    assert np.isfinite(distances).all()
    assert (np.asarray(distances).diagonal() < 1e-6).all()
    groups = NodeClusters(clone(kernel))
    assert (groups.fit_transform(graphs) != groups.transform(graphs)).sum() == 0 if graphs.n_nodes else True


def run_index(made: Any, folder: Path) -> None:
    graphs = collection_of(made)
    index = GraphIndex(WeisfeilerLehman(max_depth=2)).fit(made)
    found, places = index.kneighbors(graphs, n_neighbors=min(2, len(graphs)))
    assert np.isfinite(found).all()
    assert places.shape == (len(graphs), min(2, len(graphs)))


def run_process(made: Any, folder: Path) -> None:
    graphs = collection_of(made)
    kernel = ProcessKernel(WeisfeilerLehman(max_depth=2))
    matrix = kernel(graphs)
    np.testing.assert_allclose(matrix.diagonal(), kernel.diag(graphs))


def command(*arguments: str, molecules: bool = False) -> Callable[[Any, Path], None]:
    """Return a consumer that calls the command line; ``DATA`` stands for the graphs, ``OUT`` for a file.

    ``QUICK`` stands for the options of a fit that takes little time.
    """

    def run(made: Any, folder: Path) -> None:
        graphs = collection_of(made)
        classes = targets_of(len(graphs), numbers=False)
        if isinstance(made, str):
            data = made
        elif molecules and isinstance(getattr(graphs, "sources", [None])[0], str):
            texts = [source or "" for source in graphs.sources]
            rows = [f"m{i},{text},{y}" for i, (text, y) in enumerate(zip(texts, classes, strict=True))]
            (folder / "table.csv").write_text("\n".join(["id,smiles,y", *rows]) + "\n")
            data = str(folder / "table.csv")
        else:
            data = str(folder / "data.parquet")
            write_parquet(data, graphs, classes)
        options = ["--target", "y"] if data.endswith(".csv") else []
        if Path(data).name == "nets":
            rows = [f"{name},{y}" for name, y in zip(graphs.names or (), classes, strict=True)]
            (folder / "labels.csv").write_text("\n".join(["name,y", *rows]) + "\n")
            options = ["--labels", str(folder / "labels.csv")]
        quick = "" if data.endswith(".csv") else "--effort quick"
        for words in " ".join(arguments).replace("QUICK", quick).split(" && "):
            filled = [word.replace("DATA", data).replace("OUT", str(folder / "out")) for word in words.split()]
            code = main([*filled, *options, "--quiet", "--debug"])
            assert code == 0

    return run


def consumer(run: Callable[[Any, Path], None], *refuses: str) -> Consumer:
    return Consumer(run, frozenset(refuses))


INDEFINITE = ("wwl", "tmd")  # the Laplacian of Wasserstein distances need not be positive definite
ORDERED = ("odd-sth",)  # as GraKeL's, which weighs a tree by the first graph that has it
NOT_KERNELS = ("auto", "molecules", "stats-rf", "stats-rf-all")
SMALL_SETS = ("few", "identical", "no nodes")
CONSUMERS: dict[str, Consumer] = {
    **{
        name: kernel_consumer(small(get_kernel(name).make()), name)
        for name in kernel_names()
        if name not in NOT_KERNELS
    },
    "WL of edges": kernel_consumer(WeisfeilerLehman(2, base="edge", similarity="intersection", normalize=True)),
    "WL of paths": kernel_consumer(WeisfeilerLehman(1, base="shortest-path", normalize="depth")),
    "GraphClassifier": predictor_consumer(GraphClassifier("quick", n_jobs=1, random_state=0), False),
    "GraphRegressor": predictor_consumer(GraphRegressor("quick", n_jobs=1, random_state=0), True),
    "MoleculeClassifier": predictor_consumer(MoleculeClassifier(n_jobs=1, random_state=0), False, "molecules"),
    "MoleculeRegressor": predictor_consumer(MoleculeRegressor(n_jobs=1, random_state=0), True, "molecules"),
    "Parquet": consumer(run_parquet),
    "TU files": consumer(run_tu, "missing"),
    "shards": consumer(run_shards),
    "networkx": consumer(run_networkx),
    "explain": consumer(run_explain, *SMALL_SETS),
    "cross_validate": consumer(run_cross_validation, *SMALL_SETS),
    "distances": consumer(run_distances),
    "transformers": consumer(run_transformers),
    "index": consumer(run_index),
    "Gaussian process": consumer(run_process),
    "relaxwl features": consumer(command("features DATA -o OUT.npz --kernel wl --depth 2")),
    "relaxwl kernel": consumer(command("kernel DATA -o OUT.npz --kernel sp"), "directed"),
    "relaxwl datasets": consumer(command("datasets stats DATA && datasets convert DATA OUT.parquet")),
    "relaxwl shard": consumer(command("shard DATA -o OUT")),
    "relaxwl explain": consumer(
        command("explain DATA -o OUT.html --depth 1", molecules=True), *SMALL_SETS, "unreadable"
    ),
    "relaxwl fit": consumer(
        command(
            "fit DATA -o OUT.rwl QUICK && predict OUT.rwl DATA -o OUT.csv && neighbors OUT.rwl DATA -k 2",
            molecules=True,
        ),
        *SMALL_SETS,
        "unreadable",
    ),
    "relaxwl benchmark": consumer(
        command("benchmark DATA --kernels wl --folds 3 --inner-folds 2 --repeats 1 --out OUT", molecules=True),
        *SMALL_SETS,
        "unreadable",
    ),
}

"""Unary features, vectors of nodes, several targets with gaps, and names: right, or refused in words."""

import contextlib
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from relaxwl import (
    ContinuousWeisfeilerLehman,
    GraphClassifier,
    GraphIndex,
    GraphRegressor,
    RelaxedWeisfeilerLehman,
    WeisfeilerLehman,
)
from relaxwl.datasets import read_parquet, write_parquet
from relaxwl.distributed import ShardedCollection, ShardWriter
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.building import CollectionBuilder
from relaxwl.predictors import base

ODD = (0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, -1e300, 1e-12, 0.1, float("nan"), float("inf"), 2.0**53)
NAMES = ("", "a", "a", "net_2", "net_10", "ü", "<b>", "a,b", '"', "\n", "$x$", " ", "0", "x" * 300)


@contextlib.contextmanager
def _refused_in_words() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            yield
        except ValueError as error:
            assert str(error), "an error must say something"


def _graphs(
    rng: random.Random, n_graphs: int, labels: str = "abc"
) -> list[tuple[int, list[tuple[int, int]], list[str]]]:
    found = []
    for _ in range(n_graphs):
        size = rng.choice((1, 2, 3, 5, 8, 12))
        pairs = [(rng.randrange(size), rng.randrange(size)) for _ in range(rng.randrange(2 * size))]
        edges = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})
        found.append((size, edges, [rng.choice(labels) for _ in range(size)]))
    return found


def unary_case(rng: random.Random, folder: Path) -> None:
    """Compare the products of unary features with the intersection kernel, for unseen graphs too."""
    train = GraphCollection.from_edges(_graphs(rng, rng.randrange(1, 7)))
    unseen = GraphCollection.from_edges(_graphs(rng, rng.randrange(1, 4), "abcd"))
    options: dict[str, Any] = {
        "max_depth": rng.randrange(4),
        "base": rng.choice(("subtree", "edge", "shortest-path")),
        "similarity": "intersection",
        "normalize": rng.choice((False, True, "depth")),
    }
    if rng.random() < 0.5:
        options["depth_weights"] = [rng.choice((0.0, 0.5, 1.0, 3.0)) for _ in range(options["max_depth"] + 1)]
    kernel: Any = WeisfeilerLehman(**options)
    if rng.random() < 0.5:
        kernel = RelaxedWeisfeilerLehman(**options, n_partitions=2, random_state=0)
    features = kernel.fit_transform(train)
    np.testing.assert_allclose((features @ features.T).toarray(), kernel.kernel_matrix(train), atol=1e-6)
    between = (kernel.transform(unseen) @ features.T).toarray()
    np.testing.assert_allclose(between, kernel.kernel_matrix(unseen, train), atol=1e-6)


def index_case(rng: random.Random, folder: Path) -> None:
    """Compare the nearest graphs of an index, to which graphs are added in parts, with all similarities."""
    graphs = GraphCollection.from_edges(_graphs(rng, rng.randrange(2, 12)))
    kernel = WeisfeilerLehman(max_depth=rng.randrange(4), base=rng.choice(("subtree", "edge", "shortest-path")))
    added = [rng.randrange(len(graphs)) for _ in range(rng.randrange(20))]
    index = GraphIndex(kernel, metric="cosine").fit(graphs)
    for place in added:
        index.add(graphs[[place]])
    kept = [*range(len(graphs)), *added]
    n_neighbors = rng.randrange(1, len(kept) + 1)
    distances, places = index.kneighbors(graphs, n_neighbors)
    matrix = kernel.fit(graphs).kernel_matrix(graphs)[:, kept]
    lengths = np.outer(np.sqrt(np.diag(matrix)), np.sqrt(np.diag(matrix)[kept]))
    similarities = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    expected = 1 - np.sort(similarities)[:, ::-1][:, :n_neighbors]
    np.testing.assert_allclose(distances, np.maximum(expected, 0), atol=1e-9)
    np.testing.assert_allclose(1 - np.take_along_axis(similarities, places, 1), distances, atol=1e-9)


def vectors_case(rng: random.Random, folder: Path) -> None:
    """Fit vectors of nodes to attributes of all sizes; what comes out is finite and does not depend on the order."""
    kinds = rng.choice((["attributes"], ["structure"], ["attributes", "structure"], ["labels", "structure"]))
    n_columns, builders = rng.randrange(1, 4), [CollectionBuilder(missing=rng.choice((None, "?"))) for _ in range(2)]
    odd = rng.random() < 0.4
    with _refused_in_words():
        for size, edges, labels in _graphs(rng, rng.randrange(2, 6)):
            rows = np.array([[rng.gauss(0, 1) for _ in range(n_columns)] for _ in range(size)])
            if odd:
                rows[rng.randrange(size), rng.randrange(n_columns)] = rng.choice(ODD)
            order = rng.sample(range(size), size)
            place = np.argsort(order)
            builders[0].add(size, edges, node_labels=labels, node_attributes=rows)
            builders[1].add(
                size, [(int(place[u]), int(place[v])) for u, v in edges],
                node_labels=[labels[node] for node in order], node_attributes=rows[order],
            )  # fmt: skip
        graphs, permuted = (GraphCollection(**builder.build()) for builder in builders)
        kernel = ContinuousWeisfeilerLehman(
            features=kinds, max_depth=rng.randrange(3), n_partitions=rng.randrange(1, 4), random_state=0,
            similarity=rng.choice(("dot", "intersection", "tanimoto")), n_clusters=rng.choice(("sqrt", 2, 1.5)),
        ).fit(graphs)  # fmt: skip
        gram = kernel.kernel_matrix(graphs)
        assert np.isfinite(gram).all()
        assert np.linalg.eigvalsh(gram).min() > -1e-8 * max(1.0, np.abs(gram).max())
        np.testing.assert_allclose(kernel.kernel_matrix(permuted), gram, rtol=1e-9)


def targets_case(rng: random.Random, folder: Path) -> None:
    """Fit predictors to tables of targets with gaps, constants, texts and nonsense."""
    n_graphs, n_targets = rng.choice((8, 12)), rng.randrange(1, 4)
    graphs = GraphCollection.from_edges(_graphs(rng, n_graphs))
    values: tuple[Any, ...] = rng.choice(((0, 1), ("a", "b", "c"), (0.5, 1.5, 2.25, 7.0), (0, "a", None), ODD))
    table = np.array([[rng.choice(values) for _ in range(n_targets)] for _ in range(n_graphs)], object)
    for _ in range(rng.randrange(2 * n_targets)):
        table[rng.randrange(n_graphs), rng.randrange(n_targets)] = rng.choice((None, float("nan")))
    kind = rng.choice((GraphClassifier, GraphRegressor))
    extra = rng.choice((None, None, _table(rng, n_graphs)))
    # One matrix, or features, as with thousands of graphs.
    limits = rng.choice(({}, {}, {"MATRICES_UP_TO": 5, "N_WEIGHED": 6}, {"LINEAR_FROM": 5}))
    options = {"skip_targets": True} if kind is GraphClassifier and rng.random() < 0.5 else {}
    model: Any = kind(effort="quick", random_state=0, **options)
    with mock.patch.multiple(base, **limits) if limits else contextlib.nullcontext():
        fitted = False
        with _refused_in_words():
            fitted = model.fit(graphs, table, extra) is model
        if not fitted:
            return
        found = model.predict(graphs, extra=extra)
        assert len(found) == n_graphs
        several = found.shape[1:] and found.shape[1] > 1
        probabilities = model.predict_proba(graphs, extra) if kind is GraphClassifier else []
        for one in probabilities if several else [probabilities] if kind is GraphClassifier else []:
            np.testing.assert_allclose(np.asarray(one).sum(axis=1), 1, atol=1e-9)
        if kind is GraphRegressor:
            assert np.isfinite(np.asarray(found, np.float64)).all()
        for place in range(n_targets):
            target = place if several else None
            if kind is GraphRegressor:
                intervals = [model.predict_interval(graphs, coverage, target, extra) for coverage in (0.5, 0.9)]
                assert (intervals[0][:, 0] <= intervals[0][:, 1]).all()
                assert (np.diff(intervals[0]) <= np.diff(intervals[1])).all(), "more coverage needs more room"
            elif not several or len(model.classes_[place]) > 1:
                few, many = (model.predict_set(graphs, coverage, target=target, extra=extra) for coverage in (0.5, 0.9))
                assert (few <= many).all(), "more coverage needs more classes"
        model.save(folder / "model.rwl")
        np.testing.assert_array_equal(kind.load(folder / "model.rwl").predict(graphs, extra=extra), found)


def _table(rng: random.Random, n_graphs: int) -> list[list[object]]:
    """Return columns of numbers as additional features, seldom what cannot be one."""
    values: tuple[object, ...] = rng.choice(((0.0, 1.0), (-1e9, 0.5, 3.0), (*ODD, 2.0), (1.0, "1", None, True)))
    return [[rng.choice(values) for _ in range(2)] for _ in range(n_graphs)]


def names_case(rng: random.Random, folder: Path) -> None:
    """Take names through slices, joins, files and shards; nobody loses or exchanges them."""
    made = _graphs(rng, rng.randrange(1, 8))
    names = [rng.choice(NAMES) for _ in made]
    graphs = GraphCollection.from_edges(made).with_parts(names=names)
    kept = list(graphs.names)
    assert kept == names
    chosen = rng.sample(range(len(made)), rng.randrange(1, len(made) + 1))
    assert list(graphs[chosen].names) == [names[place] for place in chosen]
    joined = GraphCollection.concatenate([graphs, graphs[chosen]])
    assert list(joined.names) == [*names, *(names[place] for place in chosen)]
    write_parquet(folder / "named.parquet", graphs)
    assert list(read_parquet(folder / "named.parquet")[0].names) == names
    with ShardWriter(folder / "shards", graphs_per_shard=rng.randrange(1, 5)) as writer:
        writer.add(graphs)
    assert list(ShardedCollection.open(folder / "shards").to_collection().names) == names

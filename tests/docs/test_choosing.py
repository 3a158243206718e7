"""The table of supported input in docs/guide/choosing.md against what kernels do."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import load_npz, vstack

from relaxwl import ContinuousWeisfeilerLehman, EditCost, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.distributed import ShardedCollection, ShardWriter, transform_to_files
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.building import CollectionBuilder
from relaxwl.kernels import baselines

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "choosing.md").read_text(encoding="utf-8")
COLUMNS = ("labels", "attributes", "edges", "weights", "arcs", "molecules", "shards")
# Paths of four nodes: what two graphs carry that differ in one thing.
CARRIED = {
    "labels": [{"node_labels": labels} for labels in ("aaab", "aabb")],
    "attributes": [{"node_attributes": values} for values in ([0, 0, 0, 3], [0, 0, 3, 3])],
    "edges": [{"edge_labels": labels} for labels in ("xxy", "xyy")],
    "weights": [{"edge_attributes": values} for values in ([1.5, 1.5, 4], [1.5, 4, 4])],
    "arcs": [{"edges": edges} for edges in ([(0, 1), (1, 2), (2, 3)], [(0, 1), (2, 1), (2, 3)])],
}
ATTRIBUTES, WEIGHTS = EditCost.from_attributes(), EditCost.from_attributes(edge_metric="euclidean")
# Arguments by which a kernel uses what its row calls an option or a cost.
OPTIONS = {
    "RelaxedWeisfeilerLehman": {
        "attributes": {"cost": ATTRIBUTES}, "edges": {"edge_labels": True}, "weights": {"cost": WEIGHTS}
    },
    "ContinuousWeisfeilerLehman": {"weights": {"edge_weights": 0}, "arcs": {"directions": "out"}},
    "WeisfeilerLehman": {"edges": {"edge_labels": True}},
    "WLOptimalAssignment": {"edges": {"edge_labels": True}},
    "WassersteinWL": {"attributes": {"scheme": "continuous"}},
    "TreeMover": {"attributes": {"cost": ATTRIBUTES}},
}  # fmt: skip
KERNELS = {
    "RelaxedWeisfeilerLehman": lambda **options: RelaxedWeisfeilerLehman(2, n_clusters=9, random_state=0, **options),
    "ContinuousWeisfeilerLehman": lambda **options: ContinuousWeisfeilerLehman(random_state=0, **options),
    "WeisfeilerLehman": WeisfeilerLehman,
    **{
        name: getattr(baselines, name)
        for name in (
            "WLOptimalAssignment", "WassersteinWL", "TreeMover", "VertexEdgeHistogram", "PersistentWL", "GradualWL",
            "ShortestPath", "OddSth", "GraphletSampling",
        )
    },
}  # fmt: skip


def row_of(name):
    """Return the entries of an estimator by column."""
    cells = re.search(rf"^\| [^|]*`{name}`[^|]*\|(.*)\|$", PAGE, re.MULTILINE)[1].split("|")
    return dict(zip(COLUMNS, (cell.strip() for cell in cells), strict=True))


def graphs_that_differ_in(what):
    builder = CollectionBuilder(directed=what == "arcs")
    for carried in CARRIED[what]:
        columns = {name: list(values) for name, values in carried.items()}
        builder.add(4, columns.pop("edges", [(0, 1), (1, 2), (2, 3)]), **columns)
    return GraphCollection(**builder.build())


def tells_apart(kernel, graphs):
    matrix = kernel.fit_kernel_matrix(graphs)
    return not np.allclose(matrix, matrix[0, 0], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.* ignores ")
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_use_what_the_table_says(name):
    row, make = row_of(name), KERNELS[name]
    for what in CARRIED:
        graphs = graphs_that_differ_in(what)
        if what == "arcs" and row[what] == "–":
            with pytest.raises(ValueError, match="is not defined for directed graphs"):
                make().fit(graphs)
            continue
        assert row[what] in ("yes", "–", "option", "cost"), what
        assert tells_apart(make(), graphs) == (row[what] == "yes"), what
        options = OPTIONS.get(name, {}).get(what)
        assert (options is not None) == (row[what] in ("option", "cost")), what
        assert options is None or tells_apart(make(**options), graphs), what


@pytest.fixture
def sharded(tmp_path):
    """Return graphs and shards of them."""
    graphs = graphs_that_differ_in("labels")[[0, 1, 0, 1]]
    with ShardWriter(tmp_path / "shards", 2) as writer:
        writer.add(graphs)
    return graphs, ShardedCollection.open(tmp_path / "shards")


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_fitted_to_shards_where_the_table_says(name, sharded):
    graphs, shards = sharded
    if row_of(name)["shards"] == "yes":
        fitted, expected = (KERNELS[name]().fit(given).weighted_counts(graphs) for given in (shards, graphs))
        np.testing.assert_array_equal(fitted.toarray(), expected.toarray())
    else:
        with pytest.raises((TypeError, ValueError), match=r"cannot be fitted to shards|is a whole GraphCollection"):
            KERNELS[name]().fit(shards)


def test_exact_kernels_are_applied_to_shards(sharded, tmp_path):
    graphs, shards = sharded
    assert row_of("approximate=False")["shards"] == "apply"
    kernel = RelaxedWeisfeilerLehman(2, approximate=False, random_state=0).fit(graphs)
    parts = [load_npz(path) for path in transform_to_files(kernel, shards, tmp_path / "features")]
    assert (vstack(parts) != kernel.transform(graphs)).nnz == 0


@pytest.mark.parametrize("what", CARRIED)
def test_forests_use_what_the_table_says(what):
    y = np.arange(12) % 2
    graphs = graphs_that_differ_in(what)[y]
    forest = baselines.StatisticsForestClassifier(20, random_state=0).fit(graphs, y)
    assert (forest.score(graphs, y) == 1) == (row_of("StatisticsForestClassifier")[what] == "yes")

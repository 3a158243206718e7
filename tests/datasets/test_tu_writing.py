"""TU files as we write them, read back."""

import numpy as np
import pytest

from relaxwl import GraphCollection
from relaxwl.datasets import load_tu, read_tu, write_tu
from relaxwl.graphs.building import CollectionBuilder


def collection(directed=False, node_label=int, edge_label=int):
    rng = np.random.default_rng(0)
    builder = CollectionBuilder(directed=directed)
    for n in (3, 1, 5, 2):
        pairs = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
        edges = [pair for pair in pairs if rng.random() < 0.6]
        builder.add(
            n,
            edges,
            node_labels=[node_label(value) for value in rng.integers(-2, 3, n)],
            edge_labels=[edge_label(value) for value in rng.integers(0, 3, len(edges))],
            node_attributes=rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-30, 30, (n, 2)),
            edge_attributes=rng.normal(size=(len(edges), 1)),
        )
    return GraphCollection(**builder.build())


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("target", ["SET.zip", "SET"])
def test_all_is_read_back(directed, target, tmp_path):
    graphs = collection(directed, edge_label=lambda value: (int(value), 7))
    write_tu(tmp_path / target, graphs, [5, -1, 5, 5])
    found = read_tu(tmp_path / target, directed=directed)
    assert found.graphs == graphs
    assert (found.name, found.classes, found.y.tolist()) == ("SET", (-1, 5), [1, 0, 1, 1])
    assert [path.name for path in tmp_path.iterdir()] == [target]


@pytest.mark.parametrize("y", [[0.1, 2.0, 1e-300, -3.5], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 0.1]]])
def test_numbers_are_graph_attributes(y, tmp_path):
    write_tu(tmp_path / "R.zip", collection(), y)
    assert load_tu(tmp_path / "R.zip")[1].tolist() == y


def test_text_is_numbered_and_the_numbers_are_explained(tmp_path):
    graphs = collection(node_label=lambda value: "ab"[value % 2])
    with pytest.warns(UserWarning, match=r"(node labels|classes) are not all integers.*README.txt") as caught:
        write_tu(tmp_path / "T", graphs, ["no", "yes", "no", "no"])
    assert len(caught) == 2
    found = read_tu(tmp_path / "T")
    assert np.array_equal(found.graphs.node_codes, graphs.node_codes)
    assert found.y.tolist() == [0, 1, 0, 0]
    told = (tmp_path / "T" / "README.txt").read_text(encoding="utf-8")
    assert "node labels stand for\n  0  a\n  1  b" in told
    assert "classes stand for\n  0  no\n  1  yes" in told


def test_what_the_layout_cannot_say_is_refused(tmp_path):
    empty = GraphCollection.from_edges([(0, []), (1, [])])
    with pytest.raises(ValueError, match="give y"):
        write_tu(tmp_path / "E.zip", empty)
    write_tu(tmp_path / "E.zip", empty, [0, 1])
    assert load_tu(tmp_path / "E.zip")[0] == empty
    with pytest.raises(ValueError, match="one value for each of 2 graphs"):
        write_tu(tmp_path / "E.zip", empty, [0])
    gappy = CollectionBuilder(missing="?")
    gappy.add(1, [], node_attributes=[[np.nan]])
    with pytest.raises(ValueError, match="some node attributes are missing"):
        write_tu(tmp_path / "G.zip", GraphCollection(**gappy.build()))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("kept")
    with pytest.raises(FileExistsError, match="name a new folder"):
        write_tu(tmp_path / "full", empty, [0, 1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["E.zip", "full"]

"""ODD-STh: GraKeL's numbers through our interface, from a process that can be stopped."""

import time

import numpy as np
import pytest

from kernels.baselines.graph_forms import grakel_graphs, random_graphs
from relaxwl.graphs import GraphCollection
from relaxwl.kernels.baselines import OddSth, _grakel
from relaxwl.kernels.limits import TimeLimitReached, time_limit

pytest.importorskip("grakel")


def test_example_of_the_docstring():
    graphs = GraphCollection.from_edges([(2, [(0, 1)], ["C", "N"]), (1, [], ["C"])])
    kernel = OddSth(height=1)
    assert kernel.fit_kernel_matrix(graphs).tolist() == [[4, 1], [1, 1]]
    assert kernel.get_feature_names_out().tolist() == ["tree 0", "tree 0(1)", "tree 1", "tree 1(0)"]


@pytest.mark.shared
@pytest.mark.parametrize(("name", "step"), [("MUTAG", 1), ("PTC_MR", 2), ("IMDB-BINARY", 10), ("EGO-1", 40)])
def test_equals_grakel(load, name, step):
    from grakel.kernels import OddSth as Reference

    graphs = load(name)[::step]
    theirs = Reference(h=2).fit_transform(grakel_graphs(graphs))
    assert np.allclose(OddSth(height=2).fit_kernel_matrix(graphs), theirs, rtol=1e-12)


def test_unseen_graphs_equal_grakel():
    from grakel.kernels import OddSth as Reference

    fitted, unseen = random_graphs(1, n_labels=3), random_graphs(2, n_labels=3)
    reference = Reference(h=2)
    reference.fit_transform(grakel_graphs(fitted))
    ours = OddSth(height=2).fit(fitted).kernel_matrix(unseen, fitted)
    assert np.allclose(ours, reference.transform(grakel_graphs(unseen)), rtol=1e-12)


def test_number_of_children_changes_nothing():
    graphs = random_graphs(3, n_labels=2)
    assert np.array_equal(OddSth(n_jobs=2).fit_kernel_matrix(graphs), OddSth().fit_kernel_matrix(graphs))


def test_graphs_without_vertices():
    graphs = GraphCollection.from_edges([(0, []), (2, [(0, 1)])])
    assert OddSth(height=1).fit_transform(graphs).toarray()[0].sum() == 0


def test_time_limit_stops_the_child():
    graphs = GraphCollection.from_edges([(150, [(i, j) for i in range(150) for j in range(i)])] * 20)
    begin = time.monotonic()
    with time_limit(0.5), pytest.raises(TimeLimitReached, match=r"0\.5 seconds"):
        OddSth().fit(graphs)
    assert time.monotonic() - begin < 10


def test_failure_of_the_child_is_told(monkeypatch, tmp_path):
    broken = tmp_path / "child.py"
    broken.write_text("raise RuntimeError('no luck')")
    monkeypatch.setattr(_grakel, "CHILD", broken)
    with pytest.raises(RuntimeError, match="no luck"):
        OddSth().fit(random_graphs(1))


def test_missing_grakel_is_explained(monkeypatch):
    monkeypatch.setattr(_grakel.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"Python up to 3.12.*relaxwl\[baselines\]"):
        OddSth().fit(random_graphs(1))


def test_bad_height_is_named():
    with pytest.raises(ValueError, match="height"):
        OddSth(height=0).fit(random_graphs(1))

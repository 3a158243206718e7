"""ODD-STh: the definition, GraKeL's numbers, and trees in files."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from kernels.baselines.graph_forms import grakel_graphs, random_graphs
from relaxwl._execution import TimeLimitReached, time_limit
from relaxwl.graphs import GraphCollection
from relaxwl.kernels import load_kernel
from relaxwl.kernels.baselines import OddSth


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_equals_the_definition(seed, height, n_labels):
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(4):
        n = int(rng.integers(1, 9))
        edges = [(a, b) for b in range(n) for a in range(b) if rng.random() < 0.4]
        graphs.append((n, edges, rng.integers(0, n_labels, n).tolist(), None))
    expected = naive.odd_sth_gram(graphs, height)
    ours = OddSth(height=height).fit_kernel_matrix(GraphCollection.from_edges([graph[:3] for graph in graphs]))
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


@pytest.mark.shared
@pytest.mark.parametrize(("name", "step", "height"), [("MUTAG", 4, 4), ("PTC_MR", 8, 2), ("IMDB-BINARY", 40, 2)])
def test_equals_grakel(load, name, step, height):
    reference = pytest.importorskip("grakel.kernels").OddSth(h=height)
    graphs = load(name)[::step]
    theirs = reference.fit_transform(grakel_graphs(graphs))
    np.testing.assert_allclose(OddSth(height=height).fit_kernel_matrix(graphs), theirs, rtol=1e-12)


def test_unseen_graphs_equal_grakel():
    reference = pytest.importorskip("grakel.kernels").OddSth(h=2)
    fitted, unseen = random_graphs(1, n_labels=3), random_graphs(2, n_labels=3)
    reference.fit_transform(grakel_graphs(fitted))
    ours = OddSth(height=2).fit(fitted).kernel_matrix(unseen, fitted)
    assert np.allclose(ours, reference.transform(grakel_graphs(unseen)), rtol=1e-12)


@pytest.mark.slow
def test_time_limit():
    graphs = GraphCollection.from_edges([(150, [(i, j) for i in range(150) for j in range(i)])] * 2000)
    OddSth().fit(graphs[:1])
    begin = time.monotonic()
    with time_limit(0.2), pytest.raises(TimeLimitReached, match=r"0\.2 seconds"):
        OddSth().fit(graphs)
    assert time.monotonic() - begin < 10


def test_large_trees_are_named_by_number():
    star = GraphCollection.from_edges([(40, [(0, leaf) for leaf in range(1, 40)])])
    kernel = OddSth(height=2).fit(star)
    assert kernel.get_feature_names_out().tolist() == [
        "tree ·", "tree #1 ·(… 40 nodes)", "tree #2 ·(… 39 nodes)", "tree #3 ·(… 40 nodes)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [
        lambda kernel: kernel.lists_.__setitem__(-1, 10**6),
        lambda kernel: kernel.lists_.__setitem__(0, (1 << 32) + 1),
        lambda kernel: kernel.lists_.__setitem__(0, len(kernel.trees_)),
        lambda kernel: kernel.trees_.__setitem__(0, 10**6),
        lambda kernel: setattr(kernel, "weights_", kernel.weights_[1:]),
        lambda kernel: setattr(kernel, "lists_", kernel.lists_[:1]),
    ],
)
def test_damaged_trees_are_refused_in_files(tmp_path, damage):
    kernel = OddSth(height=2).fit(random_graphs(1))
    damage(kernel)
    kernel.save(tmp_path / "model.rwl")
    with pytest.raises(ValueError, match="damaged"):
        load_kernel(tmp_path / "model.rwl")


def test_bad_height_is_named():
    with pytest.raises(ValueError, match="height must be an integer >= 1, not 0"):
        OddSth(height=0).fit(random_graphs(1))

"""Labels as codes of a fitted vocabulary, and kernels without depths."""

from relaxwl.graphs import GraphCollection
from relaxwl.kernels.baselines import ShortestPath
from relaxwl.kernels.baselines.histograms import label_names, n_known_labels, node_codes_in

GRAPHS = GraphCollection.from_edges([(3, [(0, 1)], ["b", "x", "a"])])


def test_codes_are_those_of_the_vocabulary_and_unseen_labels_come_behind():
    codes = node_codes_in(GRAPHS, ("a", "b", "c"))
    assert codes.tolist() == [1, 3, 0]
    assert n_known_labels(("a", "b", "c")) == 3
    assert label_names(("a", 2)) == ["a", "2"]


def test_unlabeled_nodes_are_all_alike():
    bare = GraphCollection.from_edges([(3, [(0, 1)])])
    assert node_codes_in(bare, None).tolist() == [0, 0, 0]
    assert (n_known_labels(None), label_names(None)) == (1, ["·"])


def test_one_block_has_one_gram_matrix():
    kernel = ShortestPath()
    (counts,) = kernel.fit_prepare(GRAPHS)
    assert kernel.variations() == [{}]
    assert counts.matrix.shape == (1, len(kernel.get_feature_names_out()))

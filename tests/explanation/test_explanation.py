"""What an explanation says of groups, of one graph and of two."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from explanation.planted import planted
from relaxed_kernels import optimized
from relaxwl import GraphCollection, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.explanation import explain
from relaxwl.explanation.explanation import plane


def test_clusters_better_than_chance_come_first_and_shares_sum_to_one(explanation):
    verdicts = [cluster.better_than_chance for cluster in explanation.clusters]
    assert verdicts == sorted(verdicts, reverse=True)
    assert [cluster.rank for cluster in explanation.clusters] == list(range(1, len(verdicts) + 1))
    assert sum(cluster.share for cluster in explanation.clusters) == pytest.approx(1.0)


def test_own_model_predicts(explanation):
    scores = explanation.model.scores(explanation.features)
    assert (scores.argmax(axis=1) == explanation.y).mean() > 0.9
    assert explanation.model.accuracy is not None
    assert explanation.model.accuracy > 0.8


def test_graph_can_be_drawn_with_its_most_telling_nodes(explanation):
    found = explanation.explain_graph(3)
    telling = found.clusters[:2]
    lit = set(np.concatenate([item.nodes for item in telling]).tolist())
    svg = found.to_svg(n_clusters=2, title="a < b")
    root = ElementTree.fromstring(svg)
    circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert sum(e.get("class") == "node" for e in circles) == explanation.graphs[3].n_nodes
    assert sum(e.get("class") == "node lit" for e in circles) == len(lit)
    assert root.find("{http://www.w3.org/2000/svg}title").text == "a < b"
    assert ": X" in svg
    assert "lit" not in found.to_svg(n_clusters=0).rpartition("</style>")[2]
    assert all(str(item.cluster.rank) in found._repr_svg_() for item in found.clusters[:3])
    with pytest.raises(ValueError, match="n_clusters"):
        found.to_svg(-1)


def test_drawing_does_not_sell_noise(explanation):
    found = explanation.explain_graph(3)
    better = [item for item in found.clusters if item.cluster.better_than_chance]
    lit = set(np.concatenate([item.nodes for item in better]).tolist())
    assert len(better) < len(found.clusters)
    assert found.to_svg(n_clusters=1000).count("node lit") == len(lit) < explanation.graphs[3].n_nodes
    noise = replace(found, clusters=tuple(item for item in found.clusters if item not in better))
    assert "not significant" in noise.to_svg()
    assert "not significant" not in found.to_svg()


def test_graph_evidence_sums_up_to_the_scores(explanation):
    found = explanation.explain_graph(3)
    np.testing.assert_allclose(found.evidence.sum(axis=0) + explanation.model.intercept, found.scores)
    assert (found.actual, found.predicted) == (1, 1)
    ranks = [item.cluster.rank for item in found.clusters]
    assert ranks == sorted(ranks)
    groups = explanation.kernel.node_clusters(explanation.graphs[[3]])
    for item in found.clusters:
        inside = np.flatnonzero(groups[item.cluster.partition][item.cluster.depth] == item.cluster.number)
        np.testing.assert_array_equal(item.nodes, inside)


@pytest.mark.parametrize("similarity", ["dot", "intersection", "tanimoto"])
@pytest.mark.parametrize("normalize", [False, True, "depth"])
@pytest.mark.parametrize("depth_weights", [None, [0.5, 2.0, 0.0]])
def test_pair_values_sum_up_to_the_kernel_value(similarity, normalize, depth_weights):
    graphs, y = planted(12)
    kernel = optimized(
        max_depth=2, n_partitions=2, similarity=similarity, normalize=normalize, depth_weights=depth_weights,
        random_state=0,
    ).fit(graphs)  # fmt: skip
    found = explain(kernel, graphs, y, n_permutations=0)
    pair = found.explain_pair(1, 2)
    expected = kernel.kernel_matrix(graphs)[1, 2]
    assert pair.value == pytest.approx(expected)
    total = sum(part.value for part in pair.shared)
    whole = not normalize and depth_weights is None and similarity != "tanimoto"
    assert total == (pair.value if whole else pytest.approx(pair.value))
    assert sum(part.share for part in pair.shared) == pytest.approx(1.0)
    values = [part.value for part in pair.shared]
    assert values == sorted(values, reverse=True)
    if normalize == "depth" or (not normalize and similarity != "tanimoto"):
        prefixes = [matrix[1, 2] for matrix in kernel.compare(kernel.prepare(graphs), None, kernel.variations())]
        for depth, added in enumerate(np.diff(prefixes, prepend=0.0)):
            of_depth = sum(part.value for part in pair.shared if part.cluster.depth == depth)
            assert of_depth == pytest.approx(added, abs=1e-12)
    if depth_weights is None and not normalize and similarity == "dot":
        copies = [len(part.cluster.columns) for part in pair.shared]
        counted = [n * part.counts[0] * part.counts[1] for n, part in zip(copies, pair.shared, strict=True)]
        assert [part.value for part in pair.shared] == counted
        assert max(copies) == 2, "depth 0 is the same in both partitions"
    evidence = found.explain_graph(0)
    np.testing.assert_allclose(evidence.evidence.sum(axis=0) + found.model.intercept, evidence.scores)


def test_clusters_of_single_trees_and_of_similar_ones_are_explained_together():
    graphs, y = planted(12)
    found = explain(RelaxedWeisfeilerLehman(2, random_state=0), graphs, y, n_permutations=9)
    sizes = [found.level(partition, 1).n_clusters for partition in range(4)]
    # Single trees are not compared with each other: there may be as many as there are nodes.
    assert found.center_distances(0, 1) is None
    assert [found.center_distances(place, 1).shape for place in (1, 2, 3)] == [(size, size) for size in sizes[1:]]
    assert found.members(next(one for one in found.clusters if one.partition == 0 and one.depth)).nearest
    pair = found.explain_pair(0, 1)
    assert sum(part.value for part in pair.shared) == pytest.approx(pair.value)


@pytest.mark.parametrize("similarity", ["dot", "intersection", "tanimoto"])
@pytest.mark.parametrize("normalize", [True, "depth"])
def test_pairs_of_unseen_graphs_count_what_was_not_met_in_fitting(similarity, normalize):
    graphs, y = planted(20)
    options = {"max_depth": 2, "similarity": similarity, "normalize": normalize}
    for kernel in (WeisfeilerLehman(**options), optimized(n_partitions=2, random_state=0, **options)):
        found = explain(kernel.fit(graphs[:4]), graphs, y, n_permutations=0)
        pair = found.explain_pair(10, 11)
        assert pair.value == pytest.approx(kernel.kernel_matrix(graphs)[10, 11])
        assert sum(part.value for part in pair.shared) == pytest.approx(pair.value)
    nothing = GraphCollection.concatenate([graphs[:4], GraphCollection.from_edges([(0, [], [])])])
    assert explain(kernel, nothing, [0, 1, 0, 1, 0], n_permutations=0).explain_pair(0, 4).shared == ()


def test_wl_pairs_and_graphs():
    graphs, y = planted(12)
    found = explain(WeisfeilerLehman(max_depth=2), graphs, y, n_permutations=9)
    assert sum(part.value for part in found.explain_pair(0, 1).shared) == found.explain_pair(0, 1).value
    evidence = found.explain_graph(0)
    np.testing.assert_allclose(evidence.evidence.sum(axis=0) + found.model.intercept, evidence.scores)
    assert found.center_distances(0, 1) is None
    assert found.members(found.clusters[0]).nearest[0].words == "no difference"


def test_indices_are_checked(explanation):
    with pytest.raises(IndexError, match="graph 40"):
        explanation.explain_graph(40)
    with pytest.raises(ValueError, match="partition 7"):
        explanation.level(7, 0)
    assert explanation.explain_graph(-1).graph == 39


def test_equal_clusters_of_several_partitions_are_one(explanation):
    nodes = [frozenset(np.flatnonzero(explanation.level(c.partition, c.depth).clusters == c.number).tolist())
             for c in explanation.clusters]  # fmt: skip
    depths = [cluster.depth for cluster in explanation.clusters]
    assert len(set(zip(depths, nodes, strict=True))) == len(nodes)
    columns = sorted(column for cluster in explanation.clusters for column in cluster.columns)
    assert columns == np.flatnonzero(np.asarray(explanation.counts.sum(axis=0))).tolist()
    assert sum(cluster.share for cluster in explanation.clusters) == pytest.approx(1.0)


def test_table_of_clusters_has_effect_sizes_with_intervals(explanation):
    table = explanation.to_pandas()
    assert table["rank"].tolist() == list(range(1, len(explanation.clusters) + 1))
    counts, inside = np.zeros(2), np.array([True, False])
    for place, cluster in enumerate(explanation.clusters):  # noqa: B007 - the first that varies in both classes
        counts = explanation.counts[:, [cluster.columns[0]]].toarray()[:, 0]
        inside = explanation.y == cluster.typical_class
        if np.ptp(counts[inside]) > 0 and np.ptp(counts[~inside]) > 0:
            break
    expected = stats.ttest_ind(counts[inside], counts[~inside], equal_var=False).confidence_interval(0.95)
    assert table.loc[place, ["low", "high"]].tolist() == pytest.approx([expected.low, expected.high])
    assert table.loc[place, "low"] < table.loc[place, "difference"] < table.loc[place, "high"]
    assert "<ol><li>depth" in explanation._repr_html_()


def test_table_of_a_numeric_target_has_correlations():
    graphs, _ = planted(30)
    y = graphs.node_counts + np.linspace(0, 0.9, len(graphs))
    found = explain(optimized(max_depth=1, n_partitions=1, random_state=0), graphs, y, n_permutations=19)
    table = found.to_pandas()
    counts = found.counts[:, [found.clusters[0].columns[0]]].toarray()[:, 0]
    expected = stats.pearsonr(counts, y)
    assert table.loc[0, "correlation"] == pytest.approx(expected.statistic)
    interval = expected.confidence_interval(0.95)
    assert table.loc[0, ["low", "high"]].tolist() == pytest.approx([interval.low, interval.high])


# -------- maps of centers


def test_map_keeps_centers_with_no_distance_together():
    star = (4, [(0, 1), (0, 2), (0, 3)])
    graphs = GraphCollection.from_edges([star, (5, [(i, i + 1) for i in range(4)])] * 3)
    kernel = optimized(max_depth=1, n_partitions=1, n_clusters=3, random_state=0)
    found = explain(kernel, graphs, [0, 1] * 3, n_permutations=9)
    points, distances = plane(found.center_distances(0, 1)), found.center_distances(0, 1)
    assert points.shape == (3, 2)
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    # Three points always fit: the plane shows the roots of their distances exactly.
    np.testing.assert_allclose(apart, np.sqrt(distances), atol=1e-6)
    assert plane(found.center_distances(0, 0)).shape == (1, 2)


def test_points_on_a_line_keep_the_roots_of_their_distances():
    places = np.array([0.0, 1.0, 4.0, 9.0])
    points = plane(np.abs(np.subtract.outer(places, places)) ** 2)
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(apart, np.abs(np.subtract.outer(places, places)), atol=1e-6)


@pytest.mark.parametrize("n", [3, 4, 37, 100, 111, 256])
def test_equidistant_points_have_a_map(n):
    points = plane(1.0 - np.eye(n))
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()
    np.testing.assert_allclose((points**2).sum(axis=0), 0.5)


@pytest.mark.parametrize(("distances", "expected"), [(np.zeros((0, 0)), []), ([[0]], [0]), ([[0, 9], [9, 0]], [0, 3])])
def test_fewer_than_three_points_stand_in_a_row(distances, expected):
    points = plane(np.asarray(distances, float))
    assert points[:, 0].tolist() == expected
    assert not points[:, 1].any()

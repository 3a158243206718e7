import logging
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import naive
from clustering_rows import random_content, random_ground, tree_rows
from relaxwl import WassersteinKMeans
from relaxwl.clustering.kmeans import SUGGESTING, _suggesting, _updated, evenly, number_of_clusters
from relaxwl.distances.transport import GroundCost

ROOTS = 1 - np.eye(3)


def distances_to_own(content, kmeans, ground, root_cost):
    centers = [
        (root, dict(zip(points.tolist(), masses.tolist(), strict=True)))
        for root, points, masses in (kmeans.centers_.row(c) for c in range(len(kmeans.centers_)))
    ]
    return centers, naive.nearest_centers(content, centers, ground, root_cost, tolerance=1e-7)


@pytest.mark.parametrize("center", ["median", "mean", "medoid", "lp", "entropic"])
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_labels_and_distances_are_those_of_brute_force(center, init):
    content, ground = random_content(40, 6, seed=1), random_ground(6)
    kmeans = WassersteinKMeans(5, center, init, random_state=0).fit(
        tree_rows(content, 6), ground=ground, root_cost=ROOTS
    )
    _, (labels, distances) = distances_to_own(content, kmeans, ground, ROOTS)
    assert kmeans.labels_.tolist() == labels
    # The linear program of the oracle forgives masses of 1e-7, which entropic centers are full of.
    np.testing.assert_allclose(kmeans.distances_, distances, atol=1e-5 if center == "entropic" else 1e-9)
    assert kmeans.inertia_ == pytest.approx(sum(distances))
    assert kmeans.centers_.is_integral or center not in ("median", "medoid")


@pytest.mark.parametrize("center", ["median", "mean", "medoid", "lp", "entropic"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_unsigned_grounds_give_the_same_clusters(center, dtype):
    rows, ground = tree_rows(random_content(40, 6, seed=1), 6), random_ground(6)
    whole, real = (
        WassersteinKMeans(5, center, random_state=0).fit(rows, ground=GroundCost(costs, ROOTS), check=False)
        for costs in (ground.astype(dtype), ground)
    )
    assert whole.ground_.children.dtype == dtype
    np.testing.assert_array_equal(whole.labels_, real.labels_)
    np.testing.assert_array_equal(whole.distances_, real.distances_)
    assert whole.centers_.same_as(real.centers_).all()


@pytest.mark.parametrize("center", ["median", "mean", "medoid"])
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_grows(center, seed):
    content, ground = random_content(60, 8, seed=seed), random_ground(8, seed)
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, len(content)).astype(float)
    inertias = [
        WassersteinKMeans(7, center, max_iter=rounds, random_state=seed)
        .fit(tree_rows(content, 8), ground=ground, sample_weight=weights)
        .inertia_
        for rounds in range(8)
    ]
    assert (np.diff(inertias) <= 1e-9 * inertias[0]).all()


def test_one_round_of_medoids_is_that_of_the_definition():
    content, ground = random_content(30, 6, seed=3), random_ground(6)
    rows = tree_rows(content, 6)
    seeds = WassersteinKMeans(4, "medoid", "random", max_iter=0, random_state=5).fit(
        rows, ground=ground, root_cost=np.zeros((3, 3))
    )
    centers, (labels, _) = distances_to_own(content, seeds, ground, np.zeros((3, 3)))
    assert all(center in [(root, dict(kinds)) for root, kinds in content] for center in centers)
    better = naive.best_centers(content, labels, 4, ground, np.zeros((3, 3)), centers)
    expected = naive.nearest_centers(content, better, ground, np.zeros((3, 3)))[1]
    kmeans = WassersteinKMeans(4, "medoid", init="random", max_iter=1, random_state=5).fit(
        rows, ground=ground, root_cost=np.zeros((3, 3))
    )
    assert kmeans.n_iter_ == 1
    assert kmeans.inertia_ == pytest.approx(sum(expected))


@pytest.mark.parametrize("center", ["median", "mean"])
def test_threads_change_nothing(monkeypatch, center):
    monkeypatch.setattr("relaxwl.clustering.kmeans.CHUNK_ROWS", 32)
    rows, ground = tree_rows(random_content(300, 10, seed=2), 10), random_ground(10)
    one, two = (
        WassersteinKMeans(17, center, n_jobs=n_jobs, random_state=0).fit(rows, ground=ground) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.distances_, two.distances_)
    np.testing.assert_array_equal(one.centers_.counts, two.centers_.counts)


def test_as_many_clusters_as_rows_and_more():
    content, ground = random_content(9, 5), random_ground(5)
    for k in (9, 100):
        kmeans = WassersteinKMeans(k, random_state=0).fit(tree_rows(content, 5), ground=ground)
        assert kmeans.labels_.tolist() == list(range(9))
        assert kmeans.inertia_ == 0.0
        assert kmeans.n_iter_ == 0
        assert kmeans.predict(tree_rows(content, 5)).tolist() == list(range(9))


def test_as_many_clusters_as_rows_of_which_some_coincide():
    ground = np.array([[0.0, 0.0, 5.0, 1.0], [0.0, 0.0, 5.0, 1.0], [5.0, 5.0, 0.0, 5.0], [1.0, 1.0, 5.0, 0.0]])
    rows = tree_rows([(0, {0: 1}), (0, {1: 1}), (0, {2: 1})], 3)
    kmeans = WassersteinKMeans(3, random_state=0).fit(rows, ground=ground)
    assert kmeans.labels_.tolist() == kmeans.predict(rows).tolist() == [0, 0, 2]
    assert (kmeans.inertia_, kmeans.n_iter_) == (0.0, 0)


def test_one_cluster():
    content, ground = random_content(30, 5), random_ground(5)
    kmeans = WassersteinKMeans(1, random_state=0).fit(tree_rows(content, 5), ground=ground, root_cost=ROOTS)
    assert not kmeans.labels_.any()
    _, (_, distances) = distances_to_own(content, kmeans, ground, ROOTS)
    assert kmeans.inertia_ == pytest.approx(sum(distances))


def test_one_row():
    kmeans = WassersteinKMeans(random_state=0).fit(tree_rows([(0, {1: 3})], 5), ground=random_ground(5))
    assert kmeans.labels_.tolist() == [0]


def test_weights_pull_the_center():
    content = [(0, {0: 1}), (0, {0: 9})]
    ground = 1 - np.eye(2)
    for weights, mass in (([5.0, 1.0], 1.0), ([1.0, 5.0], 9.0)):
        kmeans = WassersteinKMeans(1, random_state=0).fit(
            tree_rows(content, 1), ground=ground, sample_weight=np.array(weights)
        )
        assert kmeans.centers_.counts.tolist() == [mass]
        assert kmeans.inertia_ == 8.0


def test_light_clusters_find_their_center_too():
    content = [(0, {0: 9}), (0, {0: 1}), (0, {0: 2})]
    for seed in range(5):
        kmeans = WassersteinKMeans(1, random_state=seed).fit(
            tree_rows(content, 1), ground=1 - np.eye(2), sample_weight=np.array([0.5, 0.125, 0.125])
        )
        assert kmeans.centers_.counts.tolist() == [9.0]


@pytest.mark.parametrize("center", ["median", "mean", "medoid", "lp", "entropic"])
def test_rows_without_weight_do_no_harm(center):
    content = random_content(20, 4)
    weights = np.zeros(20)
    weights[:3] = 1.0
    kmeans = WassersteinKMeans(4, center, random_state=1).fit(
        tree_rows(content, 4), ground=random_ground(4), sample_weight=weights
    )
    assert np.isfinite(kmeans.inertia_)
    assert np.isfinite(kmeans.centers_.counts).all()


def test_no_weight_at_all():
    rows = tree_rows(random_content(20, 4), 4)
    kmeans = WassersteinKMeans(4, random_state=1).fit(rows, ground=random_ground(4), sample_weight=np.zeros(20))
    assert kmeans.inertia_ == 0.0
    assert kmeans.n_iter_ == 0


def test_empty_clusters_are_reseeded():
    # Two kinds of rows that coincide under the ground cost, so that two of the seeds always tie and one starves.
    ground = np.array([[0.0, 0.0, 5.0, 1.0], [0.0, 0.0, 5.0, 1.0], [5.0, 5.0, 0.0, 5.0], [1.0, 1.0, 5.0, 0.0]])
    content = [(0, {0: 1}), (0, {1: 1}), (0, {2: 4}), (0, {2: 5})]
    for seed in range(10):
        kmeans = WassersteinKMeans(3, random_state=seed).fit(tree_rows(content, 3), ground=ground)
        assert kmeans.labels_[0] == kmeans.labels_[1]
        assert kmeans.inertia_ == 0.0
        assert np.isfinite(kmeans.centers_.counts).all()


def test_clusters_that_cannot_be_filled_stay_empty():
    content = [(0, {0: 1}), (0, {1: 1}), (0, {2: 1})]
    ground = np.ones((4, 4)) - np.eye(4)
    ground[:3, :3] = 0.0  # all rows coincide
    for init in ("random", "k-means++"):
        kmeans = WassersteinKMeans(2, init=init, random_state=0).fit(tree_rows(content, 3), ground=ground)
        assert kmeans.labels_.tolist() == [0, 0, 0]
        assert kmeans.inertia_ == 0.0


def test_spread_seeds_find_far_groups():
    content = [(0, {point: 20}) for point in range(4) for _ in range(1)]
    content += [(0, {point: 20, 4: extra}) for point in range(4) for extra in (1, 2, 3)]
    ground = 10 * (1 - np.eye(6))
    ground[4, :] = ground[:, 4] = 5.0
    ground[4, 4] = 0.0
    kmeans = WassersteinKMeans(4, init="k-means++", random_state=0).fit(tree_rows(content, 5), ground=ground)
    groups = {kmeans.labels_[place] for place in range(4)}
    assert len(groups) == 4


@pytest.mark.parametrize("weighted", [False, True])
def test_spread_seeds_are_drawn_as_defined(weighted):
    content, ground = random_content(30, 6, seed=4), random_ground(6)
    weights = np.random.default_rng(0).integers(0, 3, 30).astype(float) if weighted else np.ones(30)
    kmeans = WassersteinKMeans(7, init="k-means++", max_iter=0, random_state=3).fit(
        tree_rows(content, 6), ground=ground, root_cost=ROOTS, sample_weight=weights
    )
    uniforms = np.random.default_rng(3).random(7)
    drawn = [content[row] for row in sorted(naive.spread_seeds(content, weights, ground, ROOTS, uniforms))]
    assert distances_to_own(content, kmeans, ground, ROOTS)[0] == drawn


def test_rows_without_weight_are_no_seeds():
    content, weights = random_content(20, 5), np.zeros(20)
    weights[13] = 1.0
    for seed in range(5):
        kmeans = WassersteinKMeans(1, init="k-means++", max_iter=0, random_state=seed).fit(
            tree_rows(content, 5), ground=random_ground(5), root_cost=ROOTS, sample_weight=weights
        )
        assert distances_to_own(content, kmeans, random_ground(5), ROOTS)[0] == [content[13]]


def test_seeds_are_drawn_whatever_the_size_of_weights():
    content, ground = random_content(30, 6, seed=4), random_ground(6)
    fits = [
        WassersteinKMeans(7, init="k-means++", max_iter=0, random_state=3).fit(
            tree_rows(content, 6), ground=ground, root_cost=ROOTS, sample_weight=np.full(30, weight)
        )
        for weight in (1.0, 1e308, 1e-308)
    ]
    for kmeans, weight in zip(fits, (1.0, 1e308, 1e-308), strict=True):
        assert kmeans.centers_ == fits[0].centers_
        assert kmeans.inertia_ == pytest.approx(weight * fits[0].inertia_)


@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_the_centers_of_a_sample_are_good_ones(init, monkeypatch):
    monkeypatch.setattr("relaxwl.clustering.kmeans.MANY_ROWS", 500)
    content, ground = random_content(900, 9, seed=1), random_ground(9)
    rows = tree_rows(content, 9)
    for seed in range(3):
        inertias = [
            WassersteinKMeans(20, init=init, max_iter=max_iter, random_state=seed)
            .fit(rows, ground=ground, root_cost=ROOTS)
            .inertia_
            for max_iter in (None, 8, 0)
        ]
        assert inertias[0] <= 1.1 * inertias[1]
        assert inertias[0] < inertias[2]


@pytest.mark.parametrize(("init", "max_iter"), [("random", None), ("k-means++", None), ("k-means++", 0)])
@pytest.mark.parametrize(("least", "n_sample"), [(60, 16 * 8), (200, 200)])
def test_centers_of_many_rows_are_those_of_the_sample_and_every_row_is_assigned_once(
    init, max_iter, least, n_sample, monkeypatch
):
    monkeypatch.setattr("relaxwl.clustering.kmeans.MANY_ROWS", least)
    content, ground = random_content(300, 6), random_ground(6)
    rows = tree_rows(content, 6)
    whole = WassersteinKMeans(8, init=init, max_iter=max_iter, random_state=0).fit(rows, ground=ground, root_cost=ROOTS)
    monkeypatch.setattr("relaxwl.clustering.kmeans.MANY_ROWS", 10**6)
    monkeypatch.setattr("relaxwl.clustering.kmeans.ROUNDS", 1)
    sample = rows.take(np.linspace(0, 299, n_sample).astype(np.int64))
    alone = WassersteinKMeans(8, init=init, max_iter=max_iter, random_state=0).fit(
        sample, ground=ground, root_cost=ROOTS
    )
    assert whole.centers_ == alone.centers_
    _, (labels, distances) = distances_to_own(content, whole, ground, ROOTS)
    assert (whole.n_iter_, whole.labels_.tolist()) == (0, labels)
    np.testing.assert_allclose(whole.distances_, distances, atol=1e-9)


def test_no_round_from_random_seeds_is_one_assignment_to_rows(monkeypatch):
    monkeypatch.setattr("relaxwl.clustering.kmeans.MANY_ROWS", 200)
    content, ground = random_content(300, 6), random_ground(6)
    kmeans = WassersteinKMeans(8, init="random", max_iter=0, random_state=0).fit(
        tree_rows(content, 6), ground=ground, root_cost=ROOTS
    )
    centers, (labels, _) = distances_to_own(content, kmeans, ground, ROOTS)
    assert centers == [content[row] for row in sorted(np.random.default_rng(0).choice(300, 8, replace=False))]
    assert kmeans.labels_.tolist() == labels


def test_rounds_that_nobody_asked_for_end_when_they_gain_next_to_nothing(monkeypatch):
    rows, ground = tree_rows(random_content(300, 6), 6), random_ground(6)
    monkeypatch.setattr("relaxwl.clustering.kmeans.ROUNDS", 50)

    def fitted(least_gain, max_iter=None):
        monkeypatch.setattr("relaxwl.clustering.kmeans.LEAST_GAIN", least_gain)
        kmeans = WassersteinKMeans(8, max_iter=max_iter, random_state=0).fit(rows, ground=ground, root_cost=ROOTS)
        return kmeans.n_iter_, kmeans.inertia_

    rounds, inertias = zip(*(fitted(least_gain) for least_gain in (0.0, 1 / 64, 1.0)), strict=True)
    assert rounds[0] >= rounds[1] > rounds[2] == 1
    assert inertias[0] <= inertias[1] <= inertias[2]
    assert fitted(1.0, max_iter=50) == fitted(0.0, max_iter=50)


def test_predict_on_new_rows():
    content, ground = random_content(50, 6), random_ground(6)
    kmeans = WassersteinKMeans(6, random_state=0).fit(tree_rows(content, 6), ground=ground, root_cost=ROOTS)
    np.testing.assert_array_equal(kmeans.predict(tree_rows(content, 6)), kmeans.labels_)
    new = random_content(30, 6, seed=9)
    labels, distances = kmeans.predict_with_distances(tree_rows(new, 6))
    _, expected = distances_to_own(new, kmeans, ground, ROOTS)
    assert labels.tolist() == expected[0]
    np.testing.assert_allclose(distances, expected[1], atol=1e-9)


def test_predict_wants_rows_over_the_same_points_and_roots():
    kmeans = WassersteinKMeans(3, random_state=0).fit(
        tree_rows(random_content(20, 5, n_roots=2), 5), ground=random_ground(5)
    )
    for predict in (kmeans.predict, kmeans.predict_with_distances):
        with pytest.raises(TypeError, match=r"rows must be relaxwl\.unfolding\.TreeRows"):
            predict(np.zeros((3, 5)))
        with pytest.raises(ValueError, match="rows must be over the 5 points"):
            predict(tree_rows([(0, {8: 1})], 9))
        with pytest.raises(ValueError, match=r"rows\.roots must be from 0 to 2, not 7"):
            predict(tree_rows([(7, {1: 1})], 5))
    assert len(kmeans.predict(tree_rows([], 5))) == 0


def test_scikit_learn_habits():
    content, ground = random_content(20, 5), random_ground(5)
    kmeans = WassersteinKMeans(3, random_state=0)
    copy = clone(kmeans)
    assert copy.get_params() == kmeans.get_params()
    labels = kmeans.fit_predict(tree_rows(content, 5), ground=ground)
    np.testing.assert_array_equal(labels, copy.set_params(n_jobs=2).fit(tree_rows(content, 5), ground=ground).labels_)
    restored = pickle.loads(pickle.dumps(kmeans))
    np.testing.assert_array_equal(restored.predict(tree_rows(content, 5)), labels)


@pytest.mark.parametrize(
    ("rule", "n_rows", "expected"),
    [
        ("sqrt", 30, 5),
        ("sqrt", 0, 1),
        ("log2", 30, 4),
        ("log2", 1, 1),
        (0.5, 100, 5),
        (2.0, 100, 20),
        (7, 3, 3),
        (7, 1, 1),
        (np.int64(4), 10, 4),
        (lambda rows: rows // 3, 10, 3),
        (lambda rows: 0, 10, 1),
    ],
)
def test_number_of_clusters(rule, n_rows, expected):
    assert number_of_clusters(rule, n_rows) == expected


@pytest.mark.parametrize("rule", ["cube", 0, -3, True, 0.0, float("nan"), float("inf"), None])
def test_bad_number_of_clusters(rule):
    with pytest.raises(ValueError, match="n_clusters must be"):
        number_of_clusters(rule, 10)


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"init": "farthest"}, {}, "init must be one of random, k-means"),
        ({"center": "mode"}, {}, "center must be one of median, lp, entropic, medoid, mean"),
        ({"center": "mode", "n_clusters": 99}, {}, "center must be one of"),
        ({"max_iter": -1}, {}, "max_iter must be an integer >= 0"),
        ({}, {"ground": np.zeros((3, 3))}, "rows must be over the 2 points that have costs, not over 5"),
        ({}, {"ground": -np.ones((6, 6))}, "ground"),
        ({}, {"root_cost": np.zeros((1, 1))}, "rows.roots must be from 0 to 0"),
        ({}, {"root_cost": np.zeros((3, 4))}, "root_cost must be square with one row a point, not"),
        ({}, {"root_cost": -ROOTS}, r"root_cost has a cost that is negative: root_cost\[0, 1\] = -1.0"),
        ({}, {"root_cost": np.triu(ROOTS)}, r"root_cost must be symmetric, .*root_cost\[1, 0\] = 0.0"),
        ({}, {"root_cost": ROOTS + np.eye(3)}, "root_cost must be zero on the diagonal"),
        ({}, {"root_cost": ROOTS * np.nan}, "root_cost has a cost that is not finite"),
        ({}, {"root_cost": [[0, 9, 1], [9, 0, 1], [1, 1, 0]]}, r"root_cost breaks .* > root_cost\[0, 2\]"),
        ({}, {"sample_weight": np.ones(3)}, "sample_weight must be 20 finite numbers"),
        ({}, {"sample_weight": -np.ones(20)}, "sample_weight must be 20 finite numbers"),
    ],
)
def test_bad_input_is_named(parameters, arguments, message):
    arguments = {"ground": random_ground(5), **arguments}
    with pytest.raises(ValueError, match=message):
        WassersteinKMeans(**parameters).fit(tree_rows(random_content(20, 5), 5), **arguments)


def test_rows_are_wanted():
    with pytest.raises(TypeError, match=r"rows must be relaxwl\.unfolding\.TreeRows"):
        WassersteinKMeans().fit(np.zeros((3, 3)), ground=random_ground(2))
    with pytest.raises(ValueError, match="there are no rows to cluster"):
        WassersteinKMeans().fit(tree_rows([], 5), ground=random_ground(5))


def test_verbose_logs_rounds(caplog):
    with caplog.at_level(logging.INFO, "relaxwl"):
        WassersteinKMeans(5, random_state=0, verbose=1).fit(
            tree_rows(random_content(60, 6), 6), ground=random_ground(6)
        )
    assert "round 1: objective" in caplog.text
    assert "rows changed cluster" in caplog.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: replace(rows, points=rows.points + 2 * 10**9), "rows.points must be from 0 to 4"),
        (lambda rows: replace(rows, points=rows.points - 1), "rows.points must be from 0 to 4"),
        (lambda rows: replace(rows, roots=rows.roots + 10**9), "root codes up to|rows.roots must be"),
        (lambda rows: replace(rows, roots=rows.roots - 1), "rows.roots must be from 0"),
        (lambda rows: replace(rows, indptr=rows.indptr[::-1].copy()), "rows.indptr must rise"),
    ],
)
@pytest.mark.parametrize("root_cost", [None, ROOTS])
def test_rows_that_would_crash_are_refused(change, message, root_cost):
    rows, ground = tree_rows(random_content(20, 5), 5), random_ground(5)
    with pytest.raises(ValueError, match=message):
        WassersteinKMeans(3).fit(change(rows), ground=ground, root_cost=root_cost)
    kmeans = WassersteinKMeans(3, random_state=0).fit(rows, ground=ground, root_cost=root_cost)
    with pytest.raises(ValueError, match=message):
        kmeans.predict(change(rows))


def test_what_a_round_did_is_logged(caplog):
    rows, ground = tree_rows(random_content(60, 6), 6), random_ground(6)
    before, after = (
        WassersteinKMeans(5, init="random", max_iter=rounds, random_state=0, verbose=1) for rounds in (0, 1)
    )
    with caplog.at_level(logging.INFO, "relaxwl"):
        before.fit(rows, ground=ground)
        after.fit(rows, ground=ground)
    changed, moved = (before.labels_ != after.labels_).sum(), 5 - after.centers_.same_as(before.centers_).sum()
    assert caplog.messages == [
        f"  round 1: objective {after.inertia_:.6g}, {moved} centers moved, {changed} rows changed cluster"
    ]


def test_a_sample_has_some_rows_for_each_cluster(caplog, monkeypatch):
    monkeypatch.setattr("relaxwl.clustering.kmeans.MANY_ROWS", 100)
    rows, ground = tree_rows(random_content(201, 6), 6), random_ground(6)
    for k, n_rows in ((3, 100), (7, 112)):
        with caplog.at_level(logging.INFO, "relaxwl"):
            WassersteinKMeans(k, random_state=0, verbose=1).fit(rows, ground=ground)
        assert f"{n_rows} rows as a sample" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, "relaxwl"):
        WassersteinKMeans(3, random_state=0, verbose=1).fit(rows.take(np.arange(100)), ground=ground)
    assert "sample" not in caplog.text


def test_all_members_suggest_a_center_unless_there_are_many_or_gains_decide(monkeypatch):
    rows, ground, limits = tree_rows(random_content(60, 6), 6), random_ground(6), []

    def spying(*arguments):
        limits.append(arguments[-1])
        return _updated(*arguments)

    monkeypatch.setattr("relaxwl.clustering.kmeans._updated", spying)
    for many, max_iter in ((60, 1), (59, 1), (60, None)):
        monkeypatch.setattr("relaxwl.clustering.kmeans.MANY_ROWS", many)
        WassersteinKMeans(3, max_iter=max_iter, random_state=0).fit(rows, ground=ground)
    assert limits == [None, SUGGESTING, *[SUGGESTING] * (len(limits) - 2)]
    assert len(limits) > 2


def test_room_for_the_costs_of_roots_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr("relaxwl.clustering.kmeans.check_memory", lambda *words: asked.append(words))
    WassersteinKMeans(1, random_state=0).fit(tree_rows([(9, {0: 1}), (2, {1: 1})], 5), ground=random_ground(5))
    assert asked[0] == (16.0 * 11**2, "the costs between root codes up to 9", "give root_cost")


def test_medians_of_real_masses_are_refused():
    rows = tree_rows(random_content(20, 5), 5).measures()
    rows.counts[3] += 0.5
    with pytest.raises(ValueError, match="center 'median' needs whole-number masses"):
        WassersteinKMeans(3).fit(rows, ground=random_ground(5), root_cost=ROOTS)
    WassersteinKMeans(3, "mean", random_state=0).fit(rows, ground=random_ground(5), root_cost=ROOTS)


@pytest.mark.parametrize("limit", [None, 1, 3, 7, 100])
@pytest.mark.parametrize("which", [[2, 0], [1], [], [3, 1, 0, 2]])
def test_members_that_suggest_are_evenly_spread_over_those_with_weight(limit, which):
    rng = np.random.default_rng(0)
    labels, weights = rng.integers(4, size=40).astype(np.int32), rng.integers(3, size=40).astype(float)
    starts, members = _suggesting(labels, weights, np.array(which, np.int64), 4, limit)
    expected = [[row for row in range(40) if labels[row] == one and weights[row] > 0] for one in which]
    if limit is not None:
        expected = [[rows[place] for place in evenly(len(rows), limit)] for rows in expected]
    assert [members[start:stop].tolist() for start, stop in pairwise(starts)] == expected


def test_members_without_weight_suggest_nothing(monkeypatch):
    monkeypatch.setattr("relaxwl.clustering.kmeans.SUGGESTING", 3)
    content, ground = random_content(200, 6), random_ground(6)
    weights = np.zeros(200)
    weights[::17] = 1.0
    kmeans = WassersteinKMeans(3, random_state=0).fit(
        tree_rows(content, 6), ground=ground, root_cost=ROOTS, sample_weight=weights
    )
    assert np.isfinite(kmeans.inertia_)
    assert np.isfinite(kmeans.centers_.counts).all()

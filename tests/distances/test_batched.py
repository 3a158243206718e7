"""Distances of many pairs of rows at once, by both engines."""

from dataclasses import replace

import numpy as np
import pytest

import naive
from relaxwl.distances import batched
from relaxwl.distances.batched import level_distances, paired_distances, row_distances
from relaxwl.distances.ground import GroundCost
from relaxwl.distances.transport import check_ground
from relaxwl.unfolding import TreeRows


def random_rows(rng, n_rows, n_points, most=14, n_roots=3):
    """Return rows of up to `most` units of mass, on either side of what the unit engine takes."""
    rows = [np.unique(rng.integers(0, n_points, rng.integers(0, most + 1)), return_counts=True) for _ in range(n_rows)]
    return TreeRows(
        rng.integers(0, n_roots, n_rows).astype(np.int32),
        np.concatenate([[0], np.cumsum([len(points) for points, _ in rows])]),
        np.concatenate([points for points, _ in rows]).astype(np.int32),
        np.concatenate([counts for _, counts in rows]).astype(np.int32),
        n_points,
    )


def random_ground(rng, n_points, factor):
    places = rng.random((n_points + 1, 2))
    ground = np.abs(places[:, None] - places[None]).sum(-1)
    return np.ceil(factor * ground) if factor else ground


def dense(rows):
    masses = np.zeros((len(rows), rows.n_points))
    for row in range(len(rows)):
        _, points, counts = rows.row(row)
        masses[row, points] = counts
    return masses


@pytest.mark.parametrize("factor", [3, 60, 9000, 0])
@pytest.mark.parametrize("max_units", [0, 4, 9])
def test_both_engines_agree_with_matching_units(monkeypatch, factor, max_units):
    monkeypatch.setattr(batched, "MAX_UNITS", max_units)
    rng = np.random.default_rng(8)
    rows = random_rows(rng, 60, 7)
    ground, roots = random_ground(rng, 7, factor), random_ground(rng, 3, 4)
    level = level_distances(rows, GroundCost(ground, roots))
    assert level.dtype == ({3: np.uint8, 60: np.uint16, 9000: np.uint32, 0: np.float64}[factor])
    masses = dense(rows)
    expected = np.array(
        [
            [
                roots[rows.roots[i], rows.roots[j]] + naive.padded_transport_by_units(masses[i], masses[j], ground)
                for j in range(60)
            ]
            for i in range(60)
        ]
    )
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(level[:-1, :-1], expected, rtol=1e-12 if factor == 0 else 0)
    np.testing.assert_allclose(level[-1, :-1], roots[rows.roots, -1] + masses @ ground[:-1, -1], rtol=1e-12)
    np.testing.assert_array_equal(level, level.T)


@pytest.mark.parametrize(("heavy", "dtype"), [(60, np.uint8), (70, np.uint16)])
def test_sums_on_the_way_fit_into_the_type_of_the_distances(heavy, dtype):
    """Points that are cheap to delete in rows of many units, dear ones in rows of few: 9 times the largest is 1,000."""
    rng = np.random.default_rng(0)
    blanks = np.array([7] * 6 + [heavy] * 6 + [0])
    ground = np.minimum(blanks[:, None] + blanks, rng.integers(4, 8, (13, 13)).cumsum(axis=1) // 8 + blanks[:, None])
    ground = np.maximum(np.minimum(ground, ground.T), abs(blanks[:, None] - blanks)) * (1 - np.eye(13, dtype=int))
    ground[:, -1] = ground[-1] = blanks
    for middle in range(13):
        ground = np.minimum(ground, ground[:, [middle]] + ground[middle])
    assert (ground[:, -1] == blanks).all()
    parts = [(0, np.sort(rng.choice(6, 5, replace=False)), np.array([2, 2, 2, 2, 1.0])) for _ in range(20)]
    parts += [(0, np.sort(rng.choice(np.arange(6, 12), 2, replace=False)), np.ones(2)) for _ in range(20)]
    rows = TreeRows.from_parts(parts, 12)
    rows = replace(rows, counts=rows.counts.astype(np.int32))
    level = level_distances(rows, GroundCost(ground.astype(float), np.zeros((2, 2))))
    assert level.dtype == dtype
    expected = [[naive.padded_transport_by_units(x, y, ground) for x in dense(rows)] for y in dense(rows)]
    np.testing.assert_array_equal(level[:-1, :-1], expected)


@pytest.mark.parametrize("n_rows", [1, 255, 256, 257, 600])
def test_blocks_of_any_size(n_rows):
    rng = np.random.default_rng(n_rows)
    rows = random_rows(rng, n_rows, 12, most=6)
    ground, roots = random_ground(rng, 12, 5), random_ground(rng, 3, 4)
    level = level_distances(rows, GroundCost(ground, roots))
    few = np.sort(rng.choice(n_rows, min(n_rows, 9), replace=False))
    across = row_distances(rows, rows.take(few), GroundCost(ground, roots))
    np.testing.assert_array_equal(across, level[:-1, :-1][:, few])
    np.testing.assert_array_equal(row_distances(rows.take(few), rows, GroundCost(ground, roots)), across.T)


def test_real_masses_and_mixed_rows():
    rng = np.random.default_rng(1)
    rows, ground = random_rows(rng, 20, 6), random_ground(rng, 6, 0)
    centers = random_rows(rng, 8, 6)
    centers = TreeRows(
        centers.roots, centers.indptr, centers.points, centers.counts * rng.random(len(centers.counts)), 6
    )
    roots = random_ground(rng, 3, 4)
    expected = [
        [
            roots[r, c] + naive.padded_transport_by_program(x, y, ground)
            for c, y in zip(centers.roots, dense(centers), strict=True)
        ]
        for r, x in zip(rows.roots, dense(rows), strict=True)
    ]
    np.testing.assert_allclose(row_distances(rows, centers, GroundCost(ground, roots)), expected, rtol=1e-9)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_given_pairs(monkeypatch, n_jobs):
    monkeypatch.setattr(batched, "CHUNK_PAIRS", 16)
    rng = np.random.default_rng(3)
    rows_a, rows_b = random_rows(rng, 40, 9), random_rows(rng, 30, 9)
    ground, roots = random_ground(rng, 9, 5), random_ground(rng, 3, 4)
    pairs = np.stack([rng.integers(0, 40, 100), rng.integers(0, 30, 100)], axis=1)
    expected = row_distances(rows_a, rows_b, GroundCost(ground, roots))[pairs[:, 0], pairs[:, 1]]
    np.testing.assert_array_equal(paired_distances(rows_a, rows_b, pairs, GroundCost(ground, roots), n_jobs), expected)


@pytest.mark.parametrize("factor", [3, 0])
def test_threads_change_nothing(factor):
    rng = np.random.default_rng(9)
    rows = random_rows(rng, 700, 15, most=11)
    ground, roots = random_ground(rng, 15, factor), random_ground(rng, 3, 4)
    alone = level_distances(rows, GroundCost(ground, roots), n_jobs=1)
    np.testing.assert_array_equal(level_distances(rows, GroundCost(ground, roots), n_jobs=3), alone)
    if factor:
        check_ground(alone)

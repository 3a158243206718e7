import numpy as np
import pytest

from relaxwl.comparison.design import Design
from relaxwl.comparison.separation import separate


def of_rows(rows, is_y, learned=True):
    """Separate rows of numbers by a Gaussian kernel."""
    gaps = np.square(rows[:, None] - rows).sum(axis=2)
    design = Design.of(is_y, np.zeros(len(is_y), np.int64), np.zeros((len(is_y), 0)))
    return separate({"rows": np.exp(-gaps / 2)}, design, 0, learned=learned)


@pytest.mark.parametrize(("n_x", "n_y"), [(30, 30), (60, 20)])
def test_equal_distributions_are_near_and_others_far(n_x, n_y):
    rng = np.random.default_rng(0)
    is_y = np.arange(n_x + n_y) >= n_x
    near = [of_rows(rng.normal(size=(len(is_y), 2)), is_y, learned=False).distance for _ in range(10)]
    assert np.mean(near) < 0.12
    far = of_rows(rng.normal(size=(len(is_y), 2)) + 6 * is_y[:, None], is_y)
    assert far.distance > 0.85
    assert far.auroc == 1.0
    assert far.interval[0] <= far.distance <= far.interval[1]
    assert ((far.probabilities > 0.5) == is_y).mean() > 0.95


def test_the_distance_is_a_lower_bound():
    # Two values: side X has the second with probability 0.2, side Y with probability 0.8.
    rng, shares = np.random.default_rng(1), np.array([0.2, 0.8])
    divergence = 1 + (shares * np.log2(shares)).sum()
    is_y = np.arange(400) >= 200
    values = (rng.random(400) < shares[is_y.astype(int)]).astype(float)[:, None]
    assert of_rows(3 * values, is_y, learned=False).distance == pytest.approx(np.sqrt(divergence), abs=0.1)


def test_two_graphs_a_side_are_enough_to_answer():
    found = of_rows(np.array([[0.0], [0.1], [5.0], [5.2]]), np.array([False, False, True, True]))
    assert 0 <= found.distance <= 1

"""Problems of transport of every kind, and how POT solves them."""

import numpy as np
import ot
from hypothesis import strategies as st

import naive

RELATIVE = 1e-9


def random_ground(rng, n_points, kind):
    """Return a pseudo-metric over n_points and ⊥: Euclidean, whole, with duplicates, uniform or of two scales."""
    places = rng.random((n_points + 1, 3))
    if kind == "duplicates":
        places[: n_points // 2] = places[rng.integers(0, n_points // 2 + 1, n_points // 2)]
    if kind == "scales":
        places *= 10.0 ** rng.integers(-6, 7, (n_points + 1, 1))
    ground = np.abs(places[:, None] - places[None]).sum(-1)
    if kind == "whole":
        ground = np.ceil(5 * ground)
    if kind == "uniform":
        ground = 1.0 - np.eye(n_points + 1)
    return ground


KINDS = ["euclidean", "whole", "duplicates", "scales", "uniform"]


def random_measure(rng, n_points, kind):
    """Return masses: real, whole, sparse, huge and tiny together, or few equal ones."""
    if kind == "real":
        return rng.random(n_points)
    if kind == "whole":
        return rng.integers(0, 4, n_points).astype(float)
    if kind == "sparse":
        return rng.random(n_points) * (rng.random(n_points) < 0.3)
    if kind == "scales":
        return 10.0 ** rng.uniform(-6, 6, n_points) * (rng.random(n_points) < 0.7)
    return (rng.random(n_points) < 0.5) / 3.0


MASSES = ["real", "whole", "sparse", "scales", "equal"]


def by_pot(x, y, ground):
    a, b = naive.padded_measures(x, y)
    total = a.sum()
    if total == 0:
        return 0.0
    return ot.emd2(a / total, b / b.sum(), np.ascontiguousarray(ground, float), numItermax=10**7) * total


def problem(max_points=7):
    """Return a strategy for (x, y, ground) with whole masses and a whole metric."""

    def build(drawn):
        x, y, places = drawn
        places = np.array(places, float)
        return np.array(x), np.array(y), np.abs(places[:, None] - places[None]).sum(-1)

    def sized(n):
        masses = st.lists(st.integers(0, 5), min_size=n, max_size=n)
        place = st.tuples(st.integers(0, 6), st.integers(0, 6))
        return st.tuples(masses, masses, st.lists(place, min_size=n + 1, max_size=n + 1)).map(build)

    return st.integers(0, max_points).flatmap(sized)

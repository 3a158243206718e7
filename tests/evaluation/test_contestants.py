"""Which kernels an argument means, and what identifies them."""

import numpy as np
import pytest

from relaxwl.evaluation.contestants import resolve
from relaxwl.kernels import WeisfeilerLehman


def identity(**parameters):
    return resolve(WeisfeilerLehman(**parameters))[0].identity()


def test_identity_is_that_of_the_kernel_not_of_its_means():
    assert identity() == identity(n_jobs=2)
    assert identity() != identity(max_depth=2)
    assert identity(depth_weights=np.ones(5)) == identity(depth_weights=np.ones(5))
    assert identity(depth_weights=np.ones(5)) != identity(depth_weights=np.arange(5.0))


def test_estimators_are_cloned_and_given_threads():
    kernel = WeisfeilerLehman()
    [(parameters, copy)] = resolve(kernel)[0].variants(7, 3, None)
    assert parameters == {}
    assert copy is not kernel
    assert (copy.n_jobs, kernel.n_jobs) == (3, None)
    [(_, own)] = resolve(WeisfeilerLehman(n_jobs=1))[0].variants(7, 3, None)
    assert own.n_jobs == 1


def test_names_must_be_told_apart():
    with pytest.raises(ValueError, match="two kernels are called 'WeisfeilerLehman'"):
        resolve([WeisfeilerLehman(), WeisfeilerLehman(max_depth=1)])
    assert [c.name for c in resolve({"a": WeisfeilerLehman(), "b": WeisfeilerLehman(max_depth=1)})] == ["a", "b"]


def test_what_is_no_kernel_is_refused():
    with pytest.raises(TypeError, match="names or GraphKernel estimators"):
        resolve([3])
    with pytest.raises(ValueError, match="kernels is empty"):
        resolve([])


def test_names_are_those_of_the_registry():
    contestants = resolve("wl, rwl-star,pwl")
    assert [(c.name, c.title) for c in contestants] == [("wl", "WL"), ("rwl-star", "R-WL*"), ("pwl", "PWL")]
    with pytest.raises(ValueError, match="no kernel is called 'xl'"):
        resolve("xl")


def test_depths_are_restricted_where_there_is_a_choice():
    wl, pwl, own = *resolve("wl,pwl"), *resolve(WeisfeilerLehman())
    assert wl.depths_within(None) == (1, 2, 3, 4, 5)
    assert wl.depths_within((0, 1, 2)) == (1, 2)
    assert pwl.depths_within((1, 2)) == (5,)
    assert own.depths_within(None) is None
    assert own.depths_within((0, 1)) == (0, 1)


def test_costs_and_functions_are_told_apart_by_content():
    from relaxwl import EditCost, RelaxedWeisfeilerLehman

    def of(**parameters):
        return resolve(RelaxedWeisfeilerLehman(**parameters))[0].identity()

    cheap, dear = np.full((3, 3), 1.0) - np.eye(3), np.full((3, 3), 2.0) - 2 * np.eye(3)
    assert of(cost=EditCost.from_matrix("ab", cheap)) == of(cost=EditCost.from_matrix("ab", cheap))
    assert of(cost=EditCost.from_matrix("ab", cheap)) != of(cost=EditCost.from_matrix("ab", dear))
    assert of(n_clusters=lambda n: n // 2) != of(n_clusters=lambda n: n // 3)
    assert of(cost=EditCost.from_callable(lambda a, b: 1.0 * (a != b))) != of(
        cost=EditCost.from_callable(lambda a, b: 2.0 * (a != b))
    )

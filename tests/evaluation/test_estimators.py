"""Which kernels an argument means, and what identifies them."""

import functools
import os
import subprocess
import sys

import numpy as np
import pytest

from relaxwl import EditCost, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.clustering.partitioners import KMedoidsPartitioner, RadiusPartitioner
from relaxwl.evaluation import cross_validate
from relaxwl.evaluation.selection import identity, require_recognisable, resolve


def of(kernel, name=None):
    return identity(resolve(kernel if name is None else {name: kernel})[0])


def plain(**parameters):
    return of(WeisfeilerLehman(**parameters))


def relaxed(name=None, **parameters):
    return of(RelaxedWeisfeilerLehman(**parameters), name)


def test_identity_is_that_of_the_kernel_not_of_its_means():
    assert plain() == plain(n_jobs=2) == plain(verbose=1)
    assert plain() != plain(max_depth=2)
    assert relaxed() == relaxed(random_state=3)
    assert plain(depth_weights=np.ones(5)) == plain(depth_weights=np.ones(5))
    assert plain(depth_weights=np.ones(5)) != plain(depth_weights=np.arange(5.0))
    assert plain() == of(WeisfeilerLehman(), "named")  # plain data need no name


def test_the_choice_belongs_to_the_identity():
    assert identity(resolve("wl")[0]) != identity(resolve("wl", (1, 2))[0])
    assert (
        len({identity(entry) for entry in resolve("ve-hist,wl,gs,sp,wwl,pwl,wl-oa,rwl,rwl-star,gwl,gwl-oa,auto")}) == 12
    )


def test_estimators_are_cloned_and_given_threads_and_seeds():
    kernel = RelaxedWeisfeilerLehman()
    [variant] = resolve(kernel)[0].variants(7, 3)
    assert variant.parameters == {}
    assert variant.estimator is not kernel
    assert (variant.estimator.n_jobs, variant.estimator.random_state) == (3, 7)
    assert (kernel.n_jobs, kernel.random_state) == (None, None)
    assert variant.settings == tuple({"max_depth": depth} for depth in range(5))
    [own] = resolve(WeisfeilerLehman(n_jobs=1))[0].variants(7, 3)
    assert own.estimator.n_jobs == 1


def test_names_must_be_told_apart():
    with pytest.raises(ValueError, match="two kernels are called 'WeisfeilerLehman'"):
        resolve([WeisfeilerLehman(), WeisfeilerLehman(max_depth=1)])
    assert [c.name for c in resolve({"a": WeisfeilerLehman(), "b": WeisfeilerLehman(max_depth=1)})] == ["a", "b"]


def test_what_is_no_kernel_is_refused():
    for wrong in ([3], WeisfeilerLehman):
        with pytest.raises(TypeError, match="names, GraphKernel estimators or predictors"):
            resolve(wrong)
    with pytest.raises(ValueError, match="kernels is empty"):
        resolve([])


def test_names_are_those_of_the_registry():
    estimators = resolve("wl, rwl-star,pwl")
    assert [(c.name, c.title) for c in estimators] == [("wl", "WL"), ("rwl-star", "R-WL*"), ("pwl", "PWL")]
    with pytest.raises(ValueError, match="no kernel is called 'xl'"):
        resolve("xl")


def test_names_can_be_written_everywhere():
    [entry] = resolve({"caf\udce9": WeisfeilerLehman()})
    assert entry.name == entry.title == r"caf\udce9"


def test_data_are_told_apart_by_content():
    cheap, dear = np.full((3, 3), 1.0) - np.eye(3), np.full((3, 3), 2.0) - 2 * np.eye(3)
    assert relaxed(cost=EditCost.from_matrix("ab", cheap)) == relaxed(cost=EditCost.from_matrix("ab", cheap))
    assert relaxed(cost=EditCost.from_matrix("ab", cheap)) != relaxed(cost=EditCost.from_matrix("ab", dear))
    assert relaxed(n_clusters=[2.0, "sqrt"]) != relaxed(n_clusters=["sqrt", 2.0])
    assert relaxed(partitioner=KMedoidsPartitioner()) == relaxed(partitioner=KMedoidsPartitioner())
    assert relaxed(partitioner=RadiusPartitioner(1.0)) != relaxed(partitioner=RadiusPartitioner(2.0))


class Rule:
    """A partitioner, or a rule for the number of groups, as users write them."""

    def fit(self, rows, ground, rng):
        return self

    def __call__(self, n):
        return n // 2


CODE = {
    "function": {"n_clusters": lambda n: n // 2},
    "in a list": {"n_clusters": [2.0, lambda n: n // 2]},
    "partial": {"n_clusters": functools.partial(max, 3)},
    "object": {"n_clusters": Rule()},
    "partitioner": {"partitioner": Rule()},
    "cost": {"cost": EditCost.from_callable(lambda a, b: 1.0 * (a != b))},
}


@pytest.mark.parametrize("parameters", CODE.values(), ids=CODE)
def test_code_is_known_by_the_name_that_the_user_gives(parameters, tmp_path, toy):
    kernel = RelaxedWeisfeilerLehman(**parameters)
    assert relaxed("a", **parameters) == relaxed("a", **parameters)
    assert relaxed("a", **parameters) != relaxed("b", **parameters)
    require_recognisable(resolve({"a": kernel})[0])
    [name] = parameters
    with pytest.raises(ValueError, match=f"{name} of RelaxedWeisfeilerLehman is code"):
        cross_validate(kernel, *toy, store=tmp_path / "results.jsonl")


def test_without_a_store_code_needs_no_name(toy):
    kernel = RelaxedWeisfeilerLehman(max_depth=1, n_clusters=lambda n: 2)
    assert len(cross_validate(kernel, *toy, n_folds=2, n_repeats=1, C=(1.0,)).folds) == 2


@pytest.mark.slow
def test_identity_is_the_same_in_another_process():
    program = """
from relaxwl import EditCost, RelaxedWeisfeilerLehman
from relaxwl.evaluation.selection import identity, resolve
kernel = RelaxedWeisfeilerLehman(n_clusters=lambda n: 3, cost=EditCost(2.0))
print(*[identity(entry) for entry in [*resolve("wl,rwl-star,auto"), *resolve({"mine": kernel})]])
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, timeout=120, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1

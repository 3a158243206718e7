"""Which kernels an argument means, and what identifies them."""

import functools
import os
import subprocess
import sys

import numpy as np
import pytest

from relaxwl.evaluation.contestants import resolve
from relaxwl.kernels import WeisfeilerLehman

# Digests of the registry's kernels with the settings of their variants.
IDENTITIES = {
    "ve-hist": "be6010fbc43b",
    "wl": "092c4bd55748",
    "gs": "28b014553e1b",
    "sp": "ffdfa903541f",
    "odd-sth": "40f1769f4302",
    "wwl": "9457fde8540d",
    "pwl": "f7422960e96e",
    "wl-oa": "dd92d5ac0d90",
    "rwl": "6dadf79576f2",
    "rwl-star": "1fb080a24a7a",
    "rwl-auto": "33aaaa43ba9c",
}


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


class Threshold:
    """A partitioner, or a rule for the number of clusters, as users write them: with a ``repr`` that says nothing."""

    def __init__(self, value):
        self.value = value

    def fit(self, rows, ground, rng):
        return self

    def __call__(self, n):
        return int(n // self.value)

    def doubled(self, n):
        return 2 * self(n)


class OtherThreshold(Threshold):
    def __call__(self, n):
        return int(n // self.value) + 1


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __call__(self, n):
        return self.value


def share(n, divisor=2):
    return n // divisor


def nested(n, of=2):
    return sum(1 for i in range(n) if i % of)


def other_nested(n, of=2):
    return sum(2 for i in range(n) if i % of)


other_nested.__qualname__ = nested.__qualname__  # as in a notebook where a cell was changed and run again


def described(**parameters):
    from relaxwl import RelaxedWeisfeilerLehman

    return resolve(RelaxedWeisfeilerLehman(**parameters))[0].identity()


@pytest.mark.parametrize("parameter", ["partitioner", "n_clusters"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: Threshold(2.0), lambda: Threshold(50.0)),
        (lambda: Threshold(2.0), lambda: OtherThreshold(2.0)),
        (lambda: Threshold(np.ones(3)), lambda: Threshold(np.zeros(3))),
        (lambda: Threshold(np.random.default_rng(0)), lambda: Threshold(np.random.default_rng(1))),
        (lambda: Slotted(1), lambda: Slotted(2)),
        (lambda: functools.partial(share, divisor=2), lambda: functools.partial(share, divisor=3)),
        (lambda: functools.partial(Threshold(2.0), 1), lambda: functools.partial(Threshold(3.0), 1)),
        (lambda: Threshold(2.0).doubled, lambda: Threshold(3.0).doubled),
        (lambda: nested, lambda: other_nested),
    ],
)
def test_objects_are_told_apart_by_their_state_and_what_they_do(parameter, one, other):
    assert described(**{parameter: one()}) == described(**{parameter: one()})
    assert described(**{parameter: one()}) != described(**{parameter: other()})


def test_an_object_that_refers_to_itself_has_an_identity():
    first, second = Threshold(1.0), Threshold(2.0)
    first.self, second.self = first, second
    assert described(partitioner=first) != described(partitioner=second)


def test_identity_of_an_object_is_the_same_in_another_process():
    program = """
class Words:
    def __init__(self, words): self.words = words
    def __call__(self, n): return n in {"a", "b", "c", "d"}
from relaxwl import RelaxedWeisfeilerLehman
from relaxwl.evaluation.contestants import resolve
print(resolve(RelaxedWeisfeilerLehman(n_clusters=Words({"x", "y", "z"})))[0].identity())
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


def test_identities_of_the_registry_stay_as_they_are():
    """Records of long runs carry these: a change makes them unusable, and has to be meant."""
    found = {contestant.name: contestant.identity()[:12] for contestant in resolve(",".join(IDENTITIES))}
    assert found == IDENTITIES

"""Every kernel by name."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import relaxwl
from relaxwl import RelaxedWeisfeilerLehman
from relaxwl._registry import estimator_names, get_estimator
from relaxwl.datasets.smiles import from_smiles
from relaxwl.evaluation.selection import fit_variant
from relaxwl.graphs import GraphCollection
from relaxwl.kernels.base import GraphKernel
from relaxwl.kernels.registry import ENTRIES, get_kernel, kernel_names

NAMES = ["ve-hist", "wl", "wl-tanimoto", "gs", "sp", "odd-sth", "wwl", "tmd", "pwl", "wl-oa", "gwl", "gwl-oa"]
NAMES += ["rwl", "rwl-tanimoto", "rwl-star", "rwl-star-paper", "cwl", "stats-rf", "stats-rf-all"]
PREDICTORS = ["auto", "molecules"]


def graphs_for(name):
    return small_graphs() if name != "molecules" else from_smiles(["CCC", "C1CC1", "CC(C)C", "CC"])


def small_graphs():
    return GraphCollection.from_edges(
        [(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)]), (4, [(0, 1), (0, 2), (0, 3)]), (2, [(0, 1)])]
    )


def test_names():
    assert kernel_names() == NAMES
    assert estimator_names() == [*NAMES, *PREDICTORS]


def test_kernels_name_no_class_of_a_layer_above():
    places = [place for entry in ENTRIES for place in (entry.location, entry.regressor) if place]
    assert all(place.startswith("relaxwl.kernels") for place in places)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"'wll'.*ve-hist, wl, wl-tanimoto, gs"):
        get_kernel("wll")


@pytest.mark.parametrize("name", [*NAMES, *PREDICTORS])
def test_every_kernel_runs_in_every_variant(name):
    entry = get_estimator(name)
    assert entry.name == name
    assert entry.title
    assert "\n" not in entry.description
    for variant in entry.variants(random_state=0, n_jobs=1):
        kernel = variant.estimator
        if not isinstance(kernel, GraphKernel):
            assert len(kernel.fit(graphs_for(name), [0, 1, 0, 1]).predict(graphs_for(name))) == 4
            return
        assert kernel.n_jobs == 1
        known = kernel.get_params()
        assert {name: known[name] for name in variant.parameters} == variant.parameters
        matrices = kernel.compare(kernel.fit_prepare(small_graphs()), None, variant.settings)
        assert matrices
        assert all(np.isfinite(matrix).all() for matrix in matrices)


PROTOCOL = {  # number of variants, and of candidates from each
    "ve-hist": (1, 6),
    "wl": (1, 5),
    "wl-tanimoto": (1, 5),
    "gs": (3, 1),
    "sp": (1, 1),
    "wwl": (1, 6),
    "tmd": (2, 6),
    "pwl": (1, 1),
    "wl-oa": (1, 5),
    "gwl": (4, 10),
    "gwl-oa": (4, 10),
    "rwl": (1, 4),
    "rwl-star": (1, 4),
    "rwl-star-paper": (1, 4),
    "cwl": (1, 3),
}


@pytest.mark.parametrize("name", PROTOCOL)
def test_settings_of_the_protocol(name):
    n_variants, n_candidates = PROTOCOL[name]
    entry = get_kernel(name)
    variants = entry.variants(random_state=0)
    assert len(variants) == n_variants
    assert len(fit_variant(variants[0], small_graphs()).matrices) == n_candidates


def test_seeds_and_threads_reach_the_kernels_that_know_them():
    assert get_kernel("gs").make(random_state=5).random_state == 5
    assert get_kernel("rwl-star").make(random_state=5, n_jobs=2).n_jobs == 2
    assert "random_state" not in get_kernel("wl").make(random_state=5).get_params()


def test_the_relaxed_kernel_is_that_of_the_paper_or_has_its_defaults():
    default = RelaxedWeisfeilerLehman(random_state=0)
    assert get_kernel("rwl-star").make(random_state=0).get_params() == default.get_params()
    paper = {"max_depth": 4, "n_partitions": 3, "n_clusters": "sqrt", "max_iter": None, "similarity": "dot"}
    for name, approximate in (("rwl", False), ("rwl-star-paper", True)):
        [variant] = get_kernel(name).variants(random_state=0)
        expected = default.set_params(**paper, approximate=approximate, normalize=True)
        assert variant.estimator.get_params() == expected.get_params()


@pytest.mark.parametrize("name", ["wl", "rwl"])
def test_tanimoto_by_name_is_the_kernel_with_that_similarity(name):
    named = get_kernel(f"{name}-tanimoto").make(random_state=0)
    given = get_kernel(name).make(random_state=0, similarity="tanimoto")
    np.testing.assert_array_equal(named.fit_kernel_matrix(small_graphs()), given.fit_kernel_matrix(small_graphs()))


def test_the_choice_of_depths_can_be_restricted():
    assert get_kernel("wl").within((0, 1, 2)).settings == ({"max_depth": 1}, {"max_depth": 2})
    assert get_kernel("pwl").within((1, 2)).settings == ({"max_depth": 5},)  # one depth is no choice
    assert get_kernel("sp").within((1, 2)).settings == ({},)
    assert len(get_kernel("wwl").within(None).settings) == 6
    of_two = replace(get_kernel("wl"), settings=({"max_depth": 1}, {"max_depth": 2}))
    assert of_two.within((2,)).settings == ({"max_depth": 2},)
    with pytest.raises(ValueError, match="depths 8, 9 were asked for, but the kernel wl offers 1, 2, 3, 4, 5"):
        get_kernel("wl").within((8, 9))


def test_the_registry_is_read_without_numerics():
    program = "import sys, relaxwl.cli; print([m for m in ('numpy', 'scipy', 'sklearn', 'numba') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=True)
    assert run.stdout.strip() == "[]"


def test_what_the_package_offers_is_there_after_importing_relaxwl():
    for name in relaxwl.kernels.__all__:
        assert getattr(relaxwl.kernels, name)
    assert relaxwl.kernels.baselines.ShortestPath is get_kernel("sp").estimator_class()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        relaxwl.kernels.nonsense  # noqa: B018

"""The choice of parameters within a fold."""

import json

import numpy as np
import pytest

from evaluation.toy_kernels import QUICK
from relaxwl.evaluation import cross_validate
from relaxwl.evaluation.folds import Split
from relaxwl.evaluation.selection import Candidate, FittedVariant, Selection, part_of
from relaxwl.graphs import GraphCollection
from relaxwl.kernels import WeisfeilerLehman


def test_of_equal_variants_the_first_wins():
    gram = np.diag(np.ones(12)) + np.equal.outer(np.arange(12) % 2, np.arange(12) % 2)
    y = np.arange(12) % 2
    train, test = np.arange(8), np.arange(8, 12)
    split = Split(train, test, ((train[:4], train[4:]), (train[4:], train[:4])))
    blind = np.ones((12, 12))
    selection = Selection([split], y, (1.0, 2.0), 1)
    done = []

    def advance(share, what):
        done.append(share)
        assert what == "choosing"

    for name, matrix in (("blind", blind), ("first", gram), ("equal", gram), ("worse", blind)):
        selection.enter(FittedVariant(None, None, [Candidate({"name": name}, matrix)], 0.0, 0.0), part_of(advance, 4))
    assert sum(done) == pytest.approx(1)
    assert selection.choices[0].parameters == {"name": "first", "C": 1.0}
    assert selection.choices[0].n_candidates == 4
    assert selection.choices[0].offered == {"name": ["blind", "first", "equal", "worse"], "C": [1.0, 2.0]}


def test_the_solver_of_scikit_learn_gives_the_same_table(toy):
    ours, theirs = (cross_validate("wl", *toy, solver=solver, **QUICK) for solver in ("path", "libsvm"))
    assert [r.predictions for r in ours.folds] == [r.predictions for r in theirs.folds]
    assert [r.inner_accuracy for r in ours.folds] == [r.inner_accuracy for r in theirs.folds]
    assert theirs.folds[0].settings["solver"] == "libsvm"
    with pytest.raises(ValueError, match="solver must be one of path, libsvm"):
        cross_validate("wl", *toy, solver="magic")


def test_ties_go_to_the_first_candidate_and_the_smallest_c():
    # Every graph is its own class's only feature: all depths and all C are perfect.
    labels = np.arange(40) % 2
    separable = GraphCollection.from_edges([(3, [(0, 1), (1, 2)][: 1 + label]) for label in labels])
    results = cross_validate(WeisfeilerLehman(max_depth=3), separable, labels, depths=(1, 2, 3), **QUICK)
    assert {json.dumps(record.parameters) for record in results.folds} == {'{"max_depth": 1, "C": 0.125}'}
    assert results.cell("toy", "WeisfeilerLehman").mean == 1


def test_depths_restrict_the_choice(toy):
    results = cross_validate(WeisfeilerLehman(max_depth=3), *toy, depths=[2], **QUICK)
    assert {record.parameters["max_depth"] for record in results.folds} == {2}
    assert {record.n_candidates for record in results.folds} == {1}


@pytest.mark.parametrize("kernel", ["wl", "wwl", "ve-hist", "rwl-star"])
def test_gram_matrices_are_timed_apart_from_the_fit(toy, kernel):
    for record in cross_validate(kernel, *toy, n_folds=3, n_repeats=1, inner_folds=2).folds:
        assert record.gram_seconds > 0
        assert record.fit_seconds > 0
        assert record.kernel_seconds == record.fit_seconds + record.gram_seconds


def test_time_limit_stops_the_choice_of_parameters_too(toy):
    results = cross_validate(WeisfeilerLehman(max_depth=2), *toy, time_limit=1e-9, **QUICK)
    assert results.cell("toy", "WeisfeilerLehman").given_up == "out of time"

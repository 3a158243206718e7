"""The run that does not count."""

import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import relaxwl
from relaxwl.evaluation import cross_validate
from relaxwl.evaluation.contestants import resolve
from relaxwl.evaluation.warm_up import MOST_NODES, N_GRAPHS, small_part, warm_up
from relaxwl.graphs import GraphCollection
from relaxwl.kernels import WeisfeilerLehman


class Foreign(WeisfeilerLehman):
    """A kernel from elsewhere, whose fits we must not add to."""


@pytest.fixture
def fits(monkeypatch):
    """Numbers of graphs of all fits of WeisfeilerLehman."""
    seen = []
    fit_prepare = WeisfeilerLehman.fit_prepare

    def spied(self, X):
        seen.append(len(X))
        return fit_prepare(self, X)

    monkeypatch.setattr(WeisfeilerLehman, "fit_prepare", spied)
    return seen


def test_it_happens_once_and_only_before_something_is_computed(toy, fits, tmp_path):
    store = tmp_path / "results.jsonl"
    for _ in range(2):
        cross_validate("wl", *toy, n_folds=3, n_repeats=2, C=(1.0,), store=store)
        assert fits == [N_GRAPHS, len(toy[1])]


@pytest.mark.parametrize("protocol", ["transductive", "inductive"])
def test_it_changes_no_result(toy, monkeypatch, protocol):
    def predictions():
        results = cross_validate("gs,rwl-star", *toy, n_folds=3, n_repeats=1, C=(1.0,), protocol=protocol)
        return [results.predictions("data", kernel).tolist() for kernel in ("gs", "rwl-star")]

    warm = predictions()
    monkeypatch.setattr("relaxwl.evaluation.protocol.warm_up", lambda *args, **kwargs: None)
    assert predictions() == warm


def test_kernels_from_elsewhere_do_not_take_part(toy, fits):
    warm_up(resolve(Foreign())[0], toy[0], None, unseen=True)
    assert fits == []
    warm_up(resolve(WeisfeilerLehman())[0], toy[0], None, unseen=True)
    assert fits == [N_GRAPHS]


def test_errors_are_for_the_run_that_counts(toy):
    warm_up(resolve(WeisfeilerLehman(max_depth=-1))[0], toy[0], None, unseen=True)


def test_two_threads_leave_the_warnings_of_the_process_alone(toy):
    before = list(warnings.filters)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(cross_validate, "wl", *toy, n_folds=3, n_repeats=2, C=(1.0,)) for _ in range(6)]
        for run in runs:
            run.result()
    assert warnings.filters == before


def test_nothing_touches_the_warning_filters():
    """They belong to the process: changing them, even for a moment, takes warnings from other threads."""
    touching = re.compile(r"catch_warnings|simplefilter|filterwarnings")
    rooms = [Path(relaxwl.__file__).parent / room for room in ("evaluation", "kernels", "learning")]
    found = [path for room in rooms for path in room.rglob("*.py") if touching.search(path.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize("sizes", [[], [5000], [1, 2], [9] * 30, [1] * 20 + [30] * 20, [MOST_NODES, 1]])
def test_the_part_is_small(sizes):
    part = small_part(GraphCollection.from_edges([(n, []) for n in sizes]))
    assert len(part) <= N_GRAPHS
    assert np.sum(part.node_counts) <= MOST_NODES

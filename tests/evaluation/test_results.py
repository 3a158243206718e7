"""Records and their store."""

from dataclasses import replace

import pytest

from evaluation.records import SETTINGS, described, key, repetitions, sketch, table_of_four
from relaxwl.evaluation import Results


def test_unknown_names_are_refused_with_the_known_ones():
    results = table_of_four()
    with pytest.raises(KeyError, match=r"no kernel 'unknown' .* rwl-star, wl, sp"):
        results.cell("EGO-1", "unknown")
    with pytest.raises(KeyError, match=r"no data set 'EGO-9' .* EGO-1, EGO-2"):
        results.cell("EGO-9", "wl")
    with pytest.raises(KeyError, match="there are: none"):
        Results([]).cell("EGO-1", "wl")


def test_kernels_answer_to_their_titles():
    results = table_of_four()
    assert results.cell("EGO-1", "R-WL*") == results.cell("EGO-1", "rwl-star")
    assert results.predictions("EGO-1", "R-WL*").tolist() == results.predictions("EGO-1", "rwl-star").tolist()


def test_a_title_that_two_kernels_share_is_refused():
    results = Results([*repetitions((1.0, 0.5), title="same"), *repetitions((1.0, 0.5), kernel="sp", title="same")])
    with pytest.raises(KeyError, match=r"no kernel 'same' .* wl, sp"):
        results.cell("EGO-1", "same")


def test_results_write_their_own_table():
    results = table_of_four()
    assert results.table() == str(results)
    assert results.table("csv").startswith("kernel,EGO-1 mean")


def test_predictions_are_in_the_order_of_the_graphs():
    results = Results(repetitions((1.0, 0.5))[::-1])
    assert results.predictions("EGO-1", "wl").tolist() == [["a", "b", "a", "a"]]


def test_runs_are_separated_by_settings_data_and_kernel():
    inductive = SETTINGS | {"protocol": "inductive"}
    records = [
        *repetitions((1.0, 1.0)),
        *repetitions((0.5, 1.0), kernel="sp"),
        *repetitions((0.5, 0.5), settings=inductive, fingerprint="other"),
        *repetitions((0.0, 0.5), data="d1"),
        described(),
        described(fingerprint="d1"),
        sketch(),
        replace(sketch(), key=key(data="d1")),
    ]
    results = Results(records)
    parts = results.split()
    assert [len(part.folds) for part in parts] == [4, 2, 2]
    assert [list(part.dataset_records) for part in parts] == [[("EGO-1", "d0")], [("EGO-1", "d0")], [("EGO-1", "d1")]]
    assert [len(part.sketches) for part in parts] == [1, 0, 1]
    for part in parts:
        part.require_one_run()
    with pytest.raises(ValueError, match="3 runs"):
        results.require_one_run()


def test_select_restricts_by_what_is_given():
    results = table_of_four()
    assert results.select(dataset="EGO-2").datasets == ["EGO-2"]
    assert results.select(kernel="wl").kernels == ["wl"]
    assert len(results.select(protocol="inductive").folds) == 0
    assert len(results.select()) == len(results)


def test_results_are_a_sequence():
    results = table_of_four()
    assert isinstance(results[:3], Results)
    assert results[0] == described("EGO-1", 0.1)
    assert repr(results) == "Results(2 data sets, 3 kernels, 13 folds)"
    assert "R-WL*" in str(results)


def test_folds_as_a_table_of_pandas():
    pytest.importorskip("pandas")
    frame = table_of_four().to_pandas()
    assert len(frame) == 13
    assert frame.groupby(["dataset", "kernel"]).accuracy.mean()["EGO-1", "rwl-star"] == 0.875
    assert {"repetition", "fold", "max_depth", "C", "fit_seconds", "peak_memory_mb"} <= set(frame)

"""Records and their store."""

import contextlib
import json
import re

import numpy as np
import pytest

from evaluation.records import SETTINGS, changed, described, fold, repetitions, table_of_four
from platforms import linux
from relaxwl.evaluation import Results, ResultStore, cross_validate
from relaxwl.evaluation.records import record_from_json, record_to_json
from relaxwl.kernels import WeisfeilerLehman


def test_unknown_names_are_refused_with_the_known_ones():
    results = table_of_four()
    with pytest.raises(KeyError, match=r"no kernel 'unknown' .* rwl-star-paper, wl, sp"):
        results.cell("EGO-1", "unknown")
    with pytest.raises(KeyError, match=r"no data set 'EGO-9' .* EGO-1, EGO-2"):
        results.cell("EGO-9", "wl")
    with pytest.raises(KeyError, match="there are: none"):
        Results([]).cell("EGO-1", "wl")


def test_kernels_answer_to_their_titles():
    results = table_of_four()
    assert results.cell("EGO-1", "R-WL*") == results.cell("EGO-1", "rwl-star-paper")
    assert results.predictions("EGO-1", "R-WL*").tolist() == results.predictions("EGO-1", "rwl-star-paper").tolist()


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
    ]
    results = Results(records)
    parts = results.split()
    assert [len(part.folds) for part in parts] == [4, 2, 2]
    assert [list(part.dataset_records) for part in parts] == [[("EGO-1", "d0")], [("EGO-1", "d0")], [("EGO-1", "d1")]]
    for part in parts:
        part.require_one_run()
    with pytest.raises(ValueError, match="3 runs"):
        results.require_one_run()


def test_select_restricts_by_what_is_given():
    results = table_of_four()
    assert results.select(dataset="EGO-2").datasets == ["EGO-2"]
    assert results.select(kernel="wl").kernels == ["wl"]
    assert len(results.select()) == len(results)


def test_results_are_a_sequence():
    results = table_of_four()
    assert isinstance(results[:3], Results)
    assert results[0] == described("EGO-1", 0.1)
    assert repr(results) == "Results(2 data sets, 3 kernels, 13 folds)"
    assert results._repr_html_().count("<table>") == len(list(results.split()))
    assert "R-WL*" in str(results)


def test_folds_as_a_table_of_pandas():
    pytest.importorskip("pandas")
    frame = table_of_four().to_pandas()
    assert len(frame) == 13
    assert frame.groupby(["dataset", "kernel"]).accuracy.mean()["EGO-1", "rwl-star-paper"] == 0.875
    assert {"repetition", "fold", "max_depth", "C", "fit_seconds", "peak_memory_mb"} <= set(frame)


def test_store_keeps_what_it_is_given(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    assert list(store.load()) == []
    store.append([])
    assert not store.path.exists()
    first, second = repetitions((0.5, 1.0))
    store.append([first])
    store.append([second, described()])
    assert list(store.load()) == [first, second, described()]


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_a_torn_last_line_is_dropped_with_a_warning_and_does_not_spoil_the_next(tmp_path, kept):
    store = ResultStore(tmp_path / "results.jsonl")
    first, second = repetitions((0.5, 1.0))
    store.append([first, second])
    content = store.path.read_bytes()
    start = content.index(b"\n") + 1
    store.path.write_bytes(content[:start] + content[start:].rstrip()[:kept])
    with pytest.warns(UserWarning, match="line 2: left out"):
        assert list(store.load()) == [first]
    store.append([second])
    with pytest.warns(UserWarning, match="line 2: left out"):
        assert list(store.load()) == [first, second]


def test_of_many_lines_that_are_no_records_the_first_are_named(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.path.write_text('3\n"text"\n{"type": "fold"}\n[]\n[]\n')
    with pytest.warns(UserWarning, match="left out") as caught:
        assert list(store.load()) == []
    assert [re.search(r"line \d|\d lines", str(warning.message))[0] for warning in caught] == [
        "line 1", "line 2", "line 3", "5 lines",
    ]  # fmt: skip


def test_a_record_with_a_strange_key_is_dropped(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.path.write_text(changed(repetitions((0.5, 1.0))[0], {"key": "wl"}))
    with pytest.warns(UserWarning, match="line 1: left out, because its key"):
        assert list(store.load()) == []


def test_a_last_line_without_its_newline_is_whole(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    first, second = repetitions((0.5, 1.0))
    store.path.write_text(record_to_json(first))
    store.append([second])
    assert list(store.load()) == [first, second]


def test_of_two_records_of_a_fold_the_first_counts(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.append([fold(0, 0, 1.0), fold(0, 0, 0.5)])
    assert [record.accuracy for record in store.load().folds] == [1.0]


def test_a_store_in_no_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        ResultStore(tmp_path / "missing" / "results.jsonl")


def test_no_single_bit_can_change_a_table(tmp_path):
    """Every flip of one bit is noticed, and the record that it hit is left out or, in rare cases, still the same."""
    store = ResultStore(tmp_path / "results.jsonl")
    records = repetitions((0.5, 1.0))
    store.append(records)
    content = store.path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, 8 * len(content), 1500):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        for line in bytes(damaged).split(b"\n"):
            if line.strip():
                with contextlib.suppress(ValueError):
                    assert record_from_json(line) in records


def test_a_damaged_line_is_named_and_computed_again(tmp_path, toy):
    store = ResultStore(tmp_path / "results.jsonl")
    settings = {"n_folds": 2, "n_repeats": 1, "C": (1.0,), "store": store}
    table = str(cross_validate("wl", *toy, **settings))
    lines = store.path.read_text().splitlines()
    [place] = [number for number, line in enumerate(lines) if '"fold":1' in line]
    lines[place] = lines[place].replace('"accuracy":', '"accuracy":0.0,"x":', 1)
    store.path.write_text("\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match=f"line {place + 1}: left out, because it does not match its checksum"):
        again = cross_validate("wl", *toy, **settings)
    assert str(again) == table
    assert len(store.path.read_text().splitlines()) == len(lines) + 1


def test_names_that_are_no_unicode_can_be_kept(tmp_path, toy):
    graphs, y = toy
    store = ResultStore(tmp_path / "results.jsonl")
    classes = np.where(y == "dense", "caf\udce9", "$x$")
    results = cross_validate({"k\udce9": WeisfeilerLehman(1)}, graphs, classes, n_folds=2, n_repeats=1, C=(1.0,),
                             store=store, dataset="d\udce9")  # fmt: skip
    assert set(store.load().predictions(r"d\udce9", r"k\udce9").ravel()) <= set(classes)
    assert [record.targets for record in store.load().folds] == [record.targets for record in results.folds]
    for form in ("text", "markdown", "csv"):
        results.table(form).encode()


def test_the_store_is_plain_json(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.append(list(table_of_four()))
    assert all(isinstance(json.loads(line), dict) for line in store.path.read_text().splitlines())


def test_a_line_that_lost_its_checksum_is_left_out(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    records = repetitions((1, 0.5), (0.5, 1))
    store.append(records)
    first, *others = store.path.read_text().splitlines()
    without = [line.split(',"checksum"')[0] + "}" for line in others]
    store.path.write_text("\n".join([first, *without]) + "\n")
    with pytest.warns(UserWarning, match="does not end with a checksum"):
        assert list(store.load()) == records[:1]


@linux
def test_a_store_is_a_regular_file_and_errors_name_it(tmp_path):
    with pytest.raises(OSError, match="it is a folder"):
        ResultStore(tmp_path).load()
    with pytest.raises(OSError, match=r"'/dev/full'"):
        ResultStore("/dev/full").append(repetitions((1, 0.5)))

"""Folds that users give."""

import json

import numpy as np
import pytest

from evaluation.toy_kernels import QUICK, Broken
from relaxwl.evaluation import cross_validate
from relaxwl.evaluation.folds import Data, Settings, kernel_seed, outer_splits, read_splits
from relaxwl.kernels import WeisfeilerLehman
from relaxwl.molecules import from_smiles

FOLDS = [
    {"test": [9, 8], "model_selection": [{"train": [0, 3, 1, 2], "validation": [5, 4]}]},
    {"test": [0, 1], "model_selection": [{"train": [2, 3, 4, 5], "validation": [6, 7]}]},
]


def test_a_file_is_read(tmp_path):
    path = tmp_path / "folds.json"
    path.write_text(json.dumps(FOLDS))
    splits = read_splits(path, 10)
    assert splits.n_folds == 2
    assert splits.name == read_splits(str(path), 10).name
    assert splits.name.startswith("folds.json ")
    [first, _] = splits.given
    assert first.test.tolist() == [8, 9]
    assert first.train.tolist() == [0, 1, 2, 3, 4, 5]
    assert [[part.tolist() for part in pair] for pair in first.inner] == [[[0, 1, 2, 3], [4, 5]]]
    assert first.n_held_out == 2
    changed = [FOLDS[0], FOLDS[1] | {"test": [1]}]
    assert read_splits(FOLDS, 10).name != read_splits(changed, 10).name


@pytest.mark.parametrize(
    ("folds", "words"),
    [
        ([], "must contain a list of folds"),
        ({"test": [1]}, "must contain a list of folds"),
        ([{"test": [1]}], "splits, fold 0: there must be 'test' and 'model_selection'"),
        ([FOLDS[0], FOLDS[1] | {"test": [10]}], "fold 1, test: positions must lie from 0 to 9"),
        ([FOLDS[0] | {"test": [-1]}], "positions must lie from 0 to 9"),
        ([FOLDS[0] | {"test": [0]}], "fold 0: a graph is in two of its parts"),
        ([FOLDS[0] | {"test": [9, 9]}], "twice in one"),
        ([FOLDS[0] | {"test": [0.5]}], "must be a list of positions"),
        ([FOLDS[0] | {"test": []}], "must be a list of positions"),
        ([FOLDS[0] | {"test": [9, True]}], "must be a list of positions"),
    ],
)
def test_folds_that_make_no_sense_are_named(folds, words):
    with pytest.raises(ValueError, match=words):
        read_splits(folds, 10)


def test_bad_files_and_words_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file nowhere\.json with folds"):
        read_splits("nowhere.json", 10)
    broken = tmp_path / "broken.json"
    broken.write_text("[")
    with pytest.raises(ValueError, match=r"broken.json is not a JSON file"):
        read_splits(broken, 10)
    for words in ("random:", "random:x", "random:0", "random:1_0", "random:\N{FULLWIDTH DIGIT FIVE}"):
        with pytest.raises(ValueError, match="must name a number of splits, as in 'random:5'"):
            read_splits(words, 10)
    with pytest.raises(ValueError, match="needs the group"):
        read_splits("scaffold:5", 10)


def test_random_splits_are_stratified_and_differ():
    y = np.repeat([0, 1], [30, 20])
    splits = read_splits("random:4", 50)
    settings = Settings("inductive", splits.n_folds, 3, (1.0,), None, 0)
    parts = outer_splits(y, settings, 0, splits)
    assert len(parts) == 4
    assert len({tuple(part.test) for part in parts}) == 4
    for part in parts:
        assert np.bincount(y[part.test]).tolist() == [6, 4]
        assert sorted([*part.train, *part.test]) == list(range(50))
        assert part.train.tolist() == sorted(part.train)
        assert part.n_held_out == 40


@pytest.mark.parametrize("groups", [np.arange(60) // 3, np.maximum(np.arange(60) - 40, 0)], ids=["equal", "unequal"])
def test_groups_are_not_torn_apart(groups):
    splits = read_splits("scaffold:5", 60, [f"scaffold {group}" for group in groups])
    settings = Settings("inductive", 5, 3, (1.0,), None, 0, task="regression")
    for part in outer_splits(np.random.default_rng(0).standard_normal(60), settings, 0, splits):
        assert not set(groups[part.train]) & set(groups[part.test])
        assert len(set(groups[part.test])) == 4  # a fifth of the groups, whatever their sizes


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("words", [None, "random:5"])
def test_copies_of_a_molecule_are_not_torn_apart(task, words):
    pytest.importorskip("rdkit.Chem")
    graphs = from_smiles([smiles for n in range(1, 21) for smiles in ("C" * n + "O", "O" + "C" * n, "N" + "C" * n)])
    splits = None if words is None else read_splits(words, 60)
    settings = Settings("inductive", 5, 2, (1.0,), None, 0, task=task)
    data = Data.of(graphs, np.arange(60) % 2, "data", settings, splits, None, None)
    assert len(set(data.copies)) == 40
    for part in outer_splits(data.y, settings, 0, splits, data.copies):
        for one, other in ((part.train, part.test), *part.inner):
            assert not set(data.copies[one]) & set(data.copies[other])
    assert Data.of(graphs[::3], np.arange(20) % 2, "data", settings, splits, None, None).copies is None


def test_given_folds_are_evaluated_as_they_are(toy):
    graphs, y = toy
    folds = [
        {"test": list(range(8 * f, 8 * f + 8)),
         "model_selection": [{"train": [(8 * f + 8 + i) % 40 for i in range(24)],
                              "validation": [(8 * f + 32 + i) % 40 for i in range(8)]}]}
        for f in range(5)
    ]  # fmt: skip
    results = cross_validate("wl", graphs, y, splits=folds)
    assert [record.test_indices for record in results.folds] == [fold["test"] for fold in folds]
    assert {record.settings["protocol"] for record in results.folds} == {"inductive"}
    assert all(round(record.inner_accuracy * 8, 9) % 1 == 0 for record in results.folds)
    cell = results.cell("data", "wl")
    assert cell.accuracies == tuple(record.accuracy for record in results.folds)
    assert results.predictions("data", "wl").shape == (1, 40)


@pytest.mark.shared
def test_the_published_folds_fit_their_data_sets(shared):
    sizes = {"DD": 1178, "IMDB-BINARY": 1000, "NCI1": 4110, "PROTEINS": 1113, "REDDIT-BINARY": 2000}
    for name, size in sizes.items():
        splits = read_splits(shared / "data" / "splits" / f"{name}.json", size)
        assert splits.n_folds == 10
        assert sorted(np.concatenate([split.test for split in splits.given])) == list(range(size))


def test_folds_are_stratified_disjoint_and_differ_between_repetitions(toy):
    _, y = toy
    codes = np.unique(y, return_inverse=True)[1]
    settings = Settings("transductive", 4, 3, (1.0,), None, 0)
    first, second = (outer_splits(codes, settings, repetition) for repetition in (0, 1))
    assert sorted(np.concatenate([split.test for split in first]).tolist()) == list(range(40))
    assert any((a.test != b.test).any() for a, b in zip(first, second, strict=True))
    for split in first:
        assert not set(split.train) & set(split.test)
        assert np.bincount(codes[split.test]).tolist() == [5, 5]
        for fit, held_out in split.inner:
            assert sorted([*fit, *held_out]) == split.train.tolist()


def test_seeds_of_repetitions_differ():
    assert len({kernel_seed(seed, repetition) for seed in range(3) for repetition in range(5)}) == 15


def test_bad_data_is_named(toy):
    graphs, y = toy
    with pytest.raises(ValueError, match="one value for each of 40 graphs"):
        cross_validate(WeisfeilerLehman(), graphs, y[:-1])
    with pytest.raises(ValueError, match="single class"):
        cross_validate(WeisfeilerLehman(), graphs, ["a"] * 40)
    with pytest.raises(ValueError, match="no finite square Gram matrix"):
        cross_validate(Broken(), graphs, y, **QUICK)


@pytest.mark.parametrize("values", [np.arange(40), np.arange(40) / 7, np.arange(40) // 3 + 0.5])
def test_continuous_y_is_named_as_such(toy, values):
    graphs = toy[0][:40]
    with pytest.raises(ValueError, match=rf"y looks continuous \({len(np.unique(values))} distinct values\)"):
        cross_validate("wl", graphs, values, task="classification", **QUICK)
    with pytest.raises(ValueError, match="regression"):
        cross_validate("wl", graphs, values, **QUICK)


def test_a_small_class_is_not_called_continuous(toy):
    values = np.where(np.arange(40) < 2, 0, 1)
    with pytest.raises(ValueError, match="class 0 has 2 graphs"):
        cross_validate("wl", toy[0][:40], values, **QUICK)

"""Data sets as users name them: what a name means, and what is said of one that means nothing."""

import numpy as np
import pytest

from inputs.one_graph_of_each_kind import EXPECTED
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import Columns, Source, check_source, is_table, open_source
from relaxwl.datasets import EGONET_MODELS, make_egonets, write_parquet

QUIET = Console(quiet=True)


def test_embedded_networks_are_those_of_the_generator(monkeypatch):
    asked = []

    def few(n_graphs, *, level, random_state):
        asked.append((n_graphs, level, random_state))
        return make_egonets(8, level=level, n_nodes=20, random_state=random_state)

    monkeypatch.setattr("relaxwl.commands.sources.make_egonets", few)
    source = open_source("egonets-2", QUIET, seed=3)
    assert asked == [(200, 2, 3)]
    graphs, y = few(200, level=2, random_state=3)
    assert source.graphs == graphs
    assert source.require_classes().tolist() == [EGONET_MODELS[number] for number in y]


def test_classes_of_tu_files_are_numbered_and_their_values_told(dataset, capsys):
    for path, values in ((dataset, range(4)), (_renumbered(dataset), (5, 7, 9, 11))):
        source = open_source(str(path), Console())
        assert source.name == "TINY"
        assert set(source.require_classes()) == {0, 1, 2, 3}
        told = f"in the file {', '.join(f'{number} is {value}' for number, value in enumerate(values))}"
        assert (told in capsys.readouterr().err) == (values != range(4))


def _renumbered(dataset):
    """Copy a data set, its classes 0 to 3 as 5, 7, 9 and 11."""
    folder = dataset.parent / "renumbered"
    folder.mkdir(exist_ok=True)
    for file in dataset.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    classes = 5 + 2 * np.loadtxt(dataset / "TINY_graph_labels.txt", int)
    np.savetxt(folder / "TINY_graph_labels.txt", classes, fmt="%d")
    return folder


def test_parquet_files_carry_their_targets(tmp_path):
    write_parquet(tmp_path / "three.parquet", EXPECTED, [0.5, 1.5, 2.5])
    source = open_source(str(tmp_path / "three.parquet"), QUIET)
    assert (source.name, source.graphs) == ("three", EXPECTED)
    assert source.require_targets().tolist() == source.require_numbers().tolist() == [0.5, 1.5, 2.5]
    with pytest.raises(UserError, match="three has no classes"):
        source.require_classes()


def test_what_has_no_targets_says_where_they_would_stand():
    source = Source("bare", EXPECTED, None)
    for wanted in (source.require_classes, source.require_targets, source.require_numbers):
        with pytest.raises(UserError, match=r"bare has no .*NAME_graph_labels\.txt"):
            wanted()
    with pytest.raises(UserError, match="bare has no number"):
        Source("bare", EXPECTED, np.array(["a", "b", "a"])).require_numbers()


def test_rows_of_a_table_keep_their_lines(table):
    table.with_name("gaps.csv").write_text("smiles,y\nCC,1\nC(,2\nCO,3\n")
    with pytest.warns(UserWarning, match="1 of 3 molecules"):
        source = open_source(str(table.with_name("gaps.csv")), QUIET, columns=Columns(target="y", errors="nan"))
    assert source.readable.tolist() == [0, 2]
    assert source.row_names() == {"line": [2, 3, 4], "smiles": ["CC", "C(", "CO"]}
    assert source.require_classes().tolist() == [1, 2, 3]  # few whole numbers are classes
    measured = open_source(str(table), QUIET, columns=Columns("structure", "measured"))
    with pytest.raises(UserError, match="are measured numbers, no classes; try --task regression"):
        measured.require_classes()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.zip", "nothing.zip: there is no such file or folder"),
        ("no/where", "no/where: there is no such file or folder"),
        ("egonets-5", "egonets-1 to egonets-4"),
    ],
)
def test_names_that_mean_nothing_are_refused_before_anything_is_loaded(name, message):
    with pytest.raises(UserError, match=message):
        check_source(name)


def test_names_that_may_mean_something_pass(dataset):
    for name in (str(dataset), "egonets-4", "MUTAG"):
        check_source(name)
    assert [is_table(name) for name in ("a.csv", "b.TSV", "c.zip", "MUTAG")] == [True, True, False, False]

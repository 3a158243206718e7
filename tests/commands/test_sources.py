"""Data sets as users name them: what a name means, and what is said of one that means nothing."""

import io
from argparse import Namespace

import networkx as nx
import numpy as np
import pytest

from inputs.one_graph_of_each_kind import EXPECTED
from relaxwl import GraphCollection
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import Source, check_source, is_table, open_source
from relaxwl.datasets import make_egonets, write_parquet, write_tu
from relaxwl.datasets.synthetic import EGONET_MODELS

QUIET = Console(quiet=True)


def opened(name, console=QUIET, **options):
    return open_source(str(name), Namespace(**options), console)


def test_embedded_networks_are_those_of_the_generator(monkeypatch):
    asked = []

    def few(n_graphs, *, level, random_state):
        asked.append((n_graphs, level, random_state))
        return make_egonets(8, level=level, n_nodes=20, random_state=random_state)

    monkeypatch.setattr("relaxwl.commands.sources.make_egonets", few)
    source = opened("egonets-2", seed=3)
    assert asked == [(200, 2, 3)]
    graphs, y = few(200, level=2, random_state=3)
    assert source.graphs == graphs
    assert source.require_targets("classification", Console(True))[1].tolist() == [
        EGONET_MODELS[number] for number in y
    ]


def test_classes_of_tu_files_are_numbered_and_their_values_told(dataset, capsys):
    for path, values in ((dataset, range(4)), (_renumbered(dataset), (5, 7, 9, 11))):
        source = opened(path, Console())
        assert source.name == "TINY"
        assert set(source.require_targets("classification", Console(True))[1]) == {0, 1, 2, 3}
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
    source = opened(tmp_path / "three.parquet")
    assert (source.name, source.graphs) == ("three", EXPECTED)
    assert (
        source.require_targets("auto", Console(True))[1].tolist()
        == source.require_targets("regression", Console(True))[1].tolist()
        == [0.5, 1.5, 2.5]
    )
    with pytest.raises(UserError, match="the targets of three are measured numbers, not classes"):
        source.require_targets("classification", Console(True))


def test_what_has_no_targets_says_where_they_would_stand():
    source = Source("bare", EXPECTED, None)
    for task in ("classification", "regression", "auto"):
        with pytest.raises(UserError, match=r"bare has no .*NAME_graph_labels\.txt"):
            source.require_targets(task, Console(True))
    with pytest.raises(UserError, match="bare has no number"):
        Source("bare", EXPECTED, np.array(["a", "b", "a"])).require_targets("regression", Console(True))


def test_rows_of_a_table_keep_their_lines(table):
    table.with_name("gaps.csv").write_text("smiles,y\nCC,1\nC(,2\nCO,3\n")
    with pytest.warns(UserWarning, match="1 of 3 molecules"):
        source = opened(table.with_name("gaps.csv"), target="y", errors="nan")
    assert source.readable.tolist() == [0, 2]
    assert source.row_names() == {"line": [2, 3, 4], "smiles": ["CC", "C(", "CO"], "y": ["1", "2", "3"]}
    assert source.graphs.names == ("CC", "C(", "CO")
    assert source.require_targets("classification", Console(True))[1].tolist() == [
        1,
        2,
        3,
    ]  # few whole numbers are classes
    measured = opened(table, smiles="structure", target="measured")
    with pytest.raises(UserError, match="are measured numbers, not classes; try --task regression"):
        measured.require_targets("classification", Console(True))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.zip", "nothing.zip: there is no such file or folder"),
        ("no/where", "no/where: there is no such file or folder"),
        ("table.csv.gz", "table.csv.gz is compressed; decompress it first: gunzip -k table.csv.gz"),
        ("table.csv.bz2", "table.csv.bz2 is compressed; decompress it first: bunzip2 -k table.csv.bz2"),
        ("C[C@H](O)N", r"no file or folder C\[C@H\]\(O\)N; SMILES are read from a .smi file"),
        ("egonets-5", "egonets-1 to egonets-4"),
    ],
)
def test_names_that_mean_nothing_are_refused_before_anything_is_loaded(name, message):
    with pytest.raises(UserError, match=message):
        check_source(name)


@pytest.mark.parametrize("ending", ["graphml", "gml", "edgelist"])
def test_a_single_graph_file_is_refused(tmp_path, ending):
    (tmp_path / f"one.{ending}").write_text("0 1\n")
    with pytest.raises(UserError, match=rf"one\.{ending} is a single graph; give its folder"):
        opened(tmp_path / f"one.{ending}")


@pytest.mark.parametrize("target", ["link", "absent"])
def test_links_that_lead_nowhere_are_refused(tmp_path, target):
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(UserError, match="link is a symbolic link to a file or folder that does not exist"):
        check_source(str(tmp_path / "link"))


def test_names_that_may_mean_something_pass(dataset):
    for name in (str(dataset), "egonets-4", "MUTAG"):
        check_source(name)
    tables = [is_table(name) for name in ("a.csv", "b.TSV", "c.sdf", "-", "c.zip", "MUTAG")]
    assert tables == [True, True, True, True, False, False]


@pytest.fixture
def folder(tmp_path):
    """Twelve networks, rings and paths, whose classes stand in a table."""
    path = tmp_path / "nets"
    path.mkdir()
    rows = []
    for number in range(1, 13):
        graph = nx.cycle_graph(number + 2) if number % 2 else nx.path_graph(number + 2)
        nx.set_node_attributes(graph, {node: "hub" if node == 0 else "leaf" for node in graph}, "role")
        nx.set_node_attributes(graph, {node: float(node) for node in graph}, "size")
        nx.set_edge_attributes(graph, 0.5, "weight")
        nx.write_graphml(graph, path / f"net_{number}.graphml")
        rows.append(f"net_{number}{'.graphml' * (number < 4)},{['path', 'ring'][number % 2]},{number / 4}")
    rows = rows[::-1]
    (tmp_path / "classes.csv").write_text("\n".join(["file,shape,size", *rows]) + "\n")
    return path


def test_labels_are_joined_to_files_by_their_names(folder, tmp_path):
    table = tmp_path / "classes.csv"
    options = {"node_label": "role", "node_attributes": "size", "edge_attributes": ""}
    source = opened(folder, labels=f"{table}:shape", **options)
    assert source.graphs.names == tuple(f"net_{number}" for number in range(1, 13))
    assert source.row_names() == {"graph": [f"net_{number}" for number in range(1, 13)]}
    assert source.require_targets("classification", Console(True))[1].tolist() == ["ring", "path"] * 6
    assert source.graphs.node_vocabulary == ("hub", "leaf")
    assert source.graphs.node_attributes.shape[1] == 1
    assert source.graphs.edge_attributes is None
    numbers = opened(folder, labels=f"{table}:size", **options).require_targets("regression", Console(True))[1]
    assert numbers.tolist() == [number / 4 for number in range(1, 13)]
    write_parquet(tmp_path / "nets.parquet", source.graphs)
    again = opened(tmp_path / "nets.parquet", labels=f"{table}:shape")
    assert again.graphs == source.graphs
    assert again.require_targets("classification", Console(True))[1].tolist() == ["ring", "path"] * 6


@pytest.mark.parametrize(
    ("change", "option", "message"),
    [
        (("net_5,", "net_6,"), "classes.csv:shape", "line 9: 'net_6' occurs twice"),
        (("net_5,", "net_50,"), "classes.csv:shape", r"classes.csv has no row for the graph 'net_5' of .*nets"),
        (("net_5,", "NET_5,"), "classes.csv:shape", r"classes.csv has no row for the graph 'net_5' of .*nets"),
        (("file,", "net_x,a,1\nfile,"), "classes.csv:shape", "has no column 'shape' after its first"),
        (("size\n", "size\nnet_0,ring,1\n"), "classes.csv:shape", r"line 2: there is no graph 'net_0' in .*nets"),
        (("", ""), "classes.csv:file", "has no column 'file' after its first"),
        (("", ""), "classes.csv", "has several columns; name one, as in --labels .*classes.csv:COLUMN"),
        (("", ""), "absent.csv:shape", "there is no file .*absent.csv"),
        ((",ring,", ",,"), "classes.csv:shape", "column 'shape': '' is not a class"),
    ],
)
def test_labels_that_do_not_fit_are_named(folder, tmp_path, change, option, message):
    table = tmp_path / "classes.csv"
    table.write_text(table.read_text().replace(*change, 1) if change[0] else table.read_text())
    options = {"labels": str(tmp_path / option), "node_attributes": "", "edge_attributes": ""}
    with pytest.raises((UserError, ValueError), match=message):
        opened(folder, **options)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("egonets-1", {"labels": "x.csv"}, "--labels does not apply to egonets-1, embedded networks"),
        (
            "T.zip",
            {"target": "labels.csv"},
            "--target does not apply to .*a data set in TU layout; options that apply:",
        ),
        ("T.zip", {"node_label": "role"}, "--node-label does not apply"),
        ("nets", {"smiles": "smiles"}, "--smiles does not apply to .*a folder of graph files; options that apply:"),
        ("a.csv", {"node_attributes": ""}, "--node-attributes does not apply to .*a table of molecules"),
        ("a.csv", {"directed": True}, "--directed does not apply"),
        ("a.parquet", {"errors": "skip"}, "--errors does not apply to .*a Parquet file"),
    ],
)
def test_options_that_do_not_apply_are_refused(folder, tmp_path, name, options, message):
    write_tu(tmp_path / "T.zip", GraphCollection.from_edges([(2, [(0, 1)])] * 2), [0, 1])
    write_parquet(tmp_path / "a.parquet", EXPECTED, [0, 1, 0])
    path = name if name.startswith("egonets") else str(tmp_path / name)
    with pytest.raises(UserError, match=message):
        opened(path, **options)


def test_standardized_molecules_are_named_once(tmp_path):
    pytest.importorskip("rdkit")
    (tmp_path / "salts.csv").write_text("smiles\nOCC.[Na+]\n")
    assert opened(tmp_path / "salts.csv", standardize=True).full_names() == ("OCC.[Na+]",)
    (tmp_path / "salts.csv").write_text("id,smiles\na,OCC.[Na+]\n")
    assert opened(tmp_path / "salts.csv", standardize=True).full_names() == ("a CCO",)


def test_tables_are_read_by_several_processes(tmp_path, monkeypatch):
    pytest.importorskip("rdkit")
    asked = []
    monkeypatch.setattr("relaxwl.datasets.smiles.map_processes", lambda f, items, n: asked.append(n) or f(items))
    (tmp_path / "a.csv").write_text("smiles\nCCO\nC\n")
    assert opened(tmp_path / "a.csv", jobs=3).readable.tolist() == [0, 1]
    assert asked == [3]


def test_standard_input_holds_a_table_or_lines(monkeypatch):
    pytest.importorskip("rdkit")
    for text in ("id,SMILES\nx,CCO\ny,C\n", "id\tsmiles\nx\tCCO\ny\tC\n", "CCO x\nC y\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        source = opened("-")
        assert source.name == "standard input"
        assert source.graphs.sources == ("CCO", "C")
        assert source.graphs.names == ("x", "y")

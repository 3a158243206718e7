"""Reading the TU layout: what is legal reads right, what is not names its file and line."""

import contextlib
import logging
import math
import random
import shutil
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from platforms import linux, posix
from relaxwl import GraphCollection, _memory
from relaxwl._memory import MemoryRefusal, forget_peak_memory, peak_memory
from relaxwl.datasets import load_tu, read_tu, write_tu
from relaxwl.datasets.tu import OPTIONAL, TUFormatError, find_data_sets
from relaxwl.graphs.building import CollectionBuilder

SHARED_NAMES = ("MUTAG", "PTC_MR", "NCI1", "PROTEINS", "BZR", "IMDB-BINARY", "EGO-1")

# A triangle with a tail and an isolated last node; a single edge.
TOY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n5, 6\n6, 5\n",
    "graph_indicator": "1\n1\n1\n1\n2\n2\n",
    "graph_labels": "7\n-3\n",
    "node_labels": "5\n0\n5\n-1\n0\n0\n",
    "node_attributes": " 0.5, 1e2\n-0.25,2\n1,2\n3,4\n5,6\n7,8\n",
    "edge_labels": "1\n1\n2\n2\n1\n1\n0\n0\n",
    "edge_attributes": "0.5\n0.5\n1.5\n1.5\n2.5\n2.5\n3.5\n3.5\n",
    "graph_attributes": "1.25\n2.5\n",
}


def write(folder: Path, files: dict[str, str | bytes], name: str = "TOY") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for kind, text in files.items():
        (folder / f"{name}_{kind}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def toy(**changes: str | bytes | None) -> dict[str, str | bytes]:
    files = {**TOY, **changes}
    return {kind: text for kind, text in files.items() if text is not None}


def pack(path: Path, members: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    return path


def as_members(files: dict[str, str | bytes], name: str = "TOY") -> dict[str, str | bytes]:
    return {f"{name}/{name}_{kind}.txt": text for kind, text in files.items()}


# ------------------------------------------------------------------------------------------------------ legal files


def test_reads_everything_that_the_files_say(tmp_path):
    data = read_tu(write(tmp_path, toy()))
    assert data.name == "TOY"
    assert data.y.tolist() == [1, 0]
    assert data.classes == (-3, 7)
    assert data.graph_attributes.tolist() == [[1.25], [2.5]]
    assert data.graphs.node_counts.tolist() == [4, 2]
    first, second = data.graphs
    assert first.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert first.node_labels == [5, 0, 5, -1]
    assert first.edge_labels == [1, 1, 2]
    assert first.node_attributes.tolist() == [[0.5, 100], [-0.25, 2], [1, 2], [3, 4]]
    assert first.edge_attributes.tolist() == [[0.5], [2.5], [1.5]]
    assert second.edges.tolist() == [[0, 1]]
    assert second.edge_labels == [0]


def test_load_returns_graphs_and_classes(tmp_path):
    graphs, y = load_tu(str(write(tmp_path, toy())))
    assert isinstance(graphs, GraphCollection)
    assert y.dtype.kind == "i"
    assert y.tolist() == [1, 0]


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.removesuffix("\n"),
        lambda text: text.replace("\n", "\r\n").removesuffix("\r\n"),
        lambda text: text + "\n\n \t\r\n",
        lambda text: text.replace(",", " , ").replace("\n", "  \n"),
        lambda text: text.replace(", ", ","),
        lambda text: "\ufeff" + text,
    ],
    ids=["crlf", "no final newline", "crlf, none final", "empty lines at the end", "blanks", "no blanks", "utf-8 mark"],
)
def test_spelling_does_not_matter(tmp_path, rewrite):
    plain = read_tu(write(tmp_path / "plain", toy()))
    other = read_tu(write(tmp_path / "other", {kind: rewrite(text) for kind, text in toy().items()}))
    assert other.graphs == plain.graphs
    assert other.y.tolist() == plain.y.tolist()


def test_edges_listed_once_and_self_loops(tmp_path):
    bare = {"edge_labels": None, "edge_attributes": None}
    twice, _ = load_tu(write(tmp_path / "twice", toy(**bare)))
    once, _ = load_tu(write(tmp_path / "once", toy(A="3, 1\n4, 4\n1, 2\n2, 3\n5, 6\n5, 6\n", **bare)))
    assert once == twice


def test_several_columns_of_labels_become_tuples(tmp_path):
    files = toy(
        node_labels="1, 2\n1, 1\n0, 9\n1, 2\n0, 9\n-1, 10\n", edge_labels="2,0\n2,0\n1,5\n1,5\n1,4\n1,4\n2,0\n2,0\n"
    )
    graphs, _ = load_tu(write(tmp_path, files))
    assert graphs.node_vocabulary == ((-1, 10), (0, 9), (1, 1), (1, 2))
    assert graphs[0].node_labels == [(1, 2), (1, 1), (0, 9), (1, 2)]
    assert graphs[0].edge_labels == [(2, 0), (1, 4), (1, 5)]


def test_regression_targets_where_there_are_no_classes(tmp_path):
    data = read_tu(write(tmp_path / "one", toy(graph_labels=None)))
    assert data.classes is None
    assert data.y.tolist() == [1.25, 2.5]
    _, several = load_tu(write(tmp_path / "two", toy(graph_labels=None, graph_attributes="1, nan\n3, 4\n")))
    assert several.shape == (2, 2)
    assert math.isnan(several[0, 1])


def test_graphs_alone(tmp_path):
    folder = write(tmp_path, toy(graph_labels=None, graph_attributes=None))
    data = read_tu(folder)
    assert data.y is None
    assert len(data.graphs) == 2
    with pytest.raises(TUFormatError, match=r"neither TOY_graph_labels.txt nor .* have no y"):
        load_tu(folder)


def test_graphs_without_nodes_are_legal_if_the_labels_count_them(tmp_path, caplog):
    files = toy(graph_indicator="2\n2\n2\n2\n4\n4\n", graph_labels="1\n1\n1\n1\n1\n", graph_attributes=None)
    with caplog.at_level(logging.WARNING):
        graphs, y = load_tu(write(tmp_path, files))
    assert graphs.node_counts.tolist() == [0, 4, 0, 2, 0]
    assert y.tolist() == [0] * 5
    assert "3 graphs have no nodes, the first is graph 1" in caplog.text


def test_no_edges_and_no_graphs(tmp_path):
    bare = {"A": "", "graph_indicator": "1\n2", "graph_labels": "1\n1"}
    assert load_tu(write(tmp_path / "edgeless", bare))[0].n_edges == 0
    nothing, y = load_tu(write(tmp_path / "nothing", {"A": "", "graph_indicator": "", "graph_labels": "\n"}))
    assert len(nothing) == len(y) == 0


def test_integers_written_as_decimals(tmp_path):
    plain = read_tu(write(tmp_path / "plain", toy()))
    folder = write(tmp_path / "saved", toy())
    for kind in ("A", "graph_indicator", "graph_labels", "node_labels"):
        path = folder / f"TOY_{kind}.txt"
        np.savetxt(path, np.loadtxt(path, delimiter=",", ndmin=2), delimiter=",")
    saved = read_tu(folder)
    assert saved.graphs == plain.graphs
    assert saved.classes == plain.classes


def test_ignored_files_are_not_read(tmp_path):
    folder = write(tmp_path, toy(edge_attributes="nonsense", node_attributes="1,,2"))
    graphs, _ = load_tu(folder, ignore={"edge_attributes", "node_attributes"})
    assert graphs.edge_attributes is None
    assert graphs.edge_codes is not None
    with pytest.raises(ValueError, match="ignore names 'A'"):
        load_tu(folder, ignore=["A"])


# --------------------------------------------------------------------------------------------- folders and archives


def test_folder_zip_and_nested_folder_agree(tmp_path):
    plain, y = load_tu(write(tmp_path / "plain", toy()))
    write(tmp_path / "outer" / "TOY", toy())
    extra = {"TOY/": "", "README.txt": "1,2", "__MACOSX/TOY/._TOY_A.txt": "\0", "TOY/.TOY_A.txt": "x"}
    paths = [
        tmp_path / "outer",
        pack(tmp_path / "nested.zip", as_members(toy()) | extra),
        pack(tmp_path / "flat.ZIP", {f"TOY_{kind}.txt": text for kind, text in toy().items()}),
        pack(tmp_path / "windows.zip", {f"TOY\\TOY_{kind}.txt": text for kind, text in toy().items()}),
        pack(tmp_path / "no_suffix", as_members(toy())),
    ]
    for path in paths:
        graphs, classes = load_tu(path)
        assert graphs == plain, path
        assert classes.tolist() == y.tolist()


def test_archives_are_not_unpacked(tmp_path):
    path = pack(tmp_path / "TOY.zip", as_members(toy()))
    load_tu(path)
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_no_data_set_or_several(tmp_path):
    pack(tmp_path / "empty.zip", {"README.txt": "hello"})
    with pytest.raises(TUFormatError, match=r"empty.zip holds no data set"):
        load_tu(tmp_path / "empty.zip")
    pack(tmp_path / "two.zip", as_members(toy(), "ONE") | as_members(toy(), "TWO"))
    with pytest.raises(TUFormatError, match=r"holds 2 data sets \(ONE/ONE, TWO/TWO\)"):
        load_tu(tmp_path / "two.zip")
    write(tmp_path / "all" / "ONE", toy(), "ONE")
    write(tmp_path / "all" / "TWO", toy(), "TWO")
    with pytest.raises(TUFormatError, match=r"holds 2 data sets \(ONE/ONE, TWO/TWO\)"):
        load_tu(tmp_path / "all")
    assert len(load_tu(tmp_path / "all" / "TWO")[0]) == 2


def test_paths_that_are_no_data_set(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        load_tu(tmp_path / "absent")
    write(tmp_path, toy())
    with pytest.raises(TUFormatError, match=r"TOY_A.txt is neither a folder nor a zip file"):
        load_tu(tmp_path / "TOY_A.txt")


@pytest.mark.parametrize("kind", ["A", "graph_indicator"])
def test_required_files(tmp_path, kind):
    with pytest.raises(TUFormatError, match=f"TOY_{kind}.txt is missing"):
        load_tu(write(tmp_path, toy(**{kind: None})))


def test_truncated_and_damaged_archives(tmp_path):
    whole = pack(tmp_path / "TOY.zip", as_members(toy(A="1, 2\n" * 500, edge_labels=None, edge_attributes=None)))
    content = whole.read_bytes()
    reference, _ = load_tu(whole)
    random_state = random.Random(0)
    broken = tmp_path / "broken.zip"
    for trial in range(300):
        damaged = bytearray(content)
        if trial % 2:
            del damaged[random_state.randrange(len(damaged)) :]
        else:
            damaged[random_state.randrange(len(damaged))] ^= 1 << random_state.randrange(8)
        broken.write_bytes(damaged)
        if trial % 2:
            with pytest.raises(TUFormatError, match=r"broken\.zip .* is it complete\?"):
                load_tu(broken)
        else:  # some bits carry nothing, or hide an optional file
            with contextlib.suppress(TUFormatError):
                assert np.array_equal(load_tu(broken)[0].indices, reference.indices)


def test_find_data_sets_ignores_the_rest():
    assert find_data_sets(["a/X_A.txt", "a/X_graph_indicator.txt", "X_A.txt.bak", "__MACOSX/a/X_A.txt"]) == ["a/X"]


# -------------------------------------------------------------------------------------------------- malformed files


MALFORMED = {
    "three columns of edges": ({"A": "1, 2\n1, 2, 3\n"}, r"TOY_A.txt, line 2: '1, 2, 3' has 3 columns"),
    "one column of edges": ({"A": "1, 2\n\t3\n"}, r"TOY_A.txt, line 2: '3' has 1 columns .* 2 are expected"),
    "blank instead of comma": ({"A": "1 2\n"}, r"TOY_A.txt, line 1: '1 2' has 1 columns"),
    "word": ({"A": "1, 2\n2, x\n"}, r"TOY_A.txt, line 2: 'x' is not a number"),
    "second number": ({"graph_indicator": "1\n1 1\n"}, r"graph_indicator.txt, line 2: '1 1' is not a number"),
    "sign alone": ({"A": "1, -\n"}, r"TOY_A.txt, line 1: '-' is not a number"),
    "not UTF-8": ({"A": b"1, \xff\xfe\n"}, r"TOY_A.txt, line 1: .* is not a number"),
    "binary": ({"A": b"\0\0\0"}, r"TOY_A.txt, line 1"),
    "empty cell": ({"A": "1, 2\n1,\n"}, r"TOY_A.txt, line 2: '1,' has an empty cell"),
    "underscore": ({"A": "1, 2_0\n"}, r"TOY_A.txt, line 1: '2_0' is not a number"),
    "fraction": ({"A": "1, 2\n1, 2.5\n"}, r"TOY_A.txt, line 2: '1, 2.5' does not hold integers"),
    "huge": ({"node_labels": "1\n99999999999999999999\n"}, r"node_labels.txt, line 2: .* too large"),
    "empty line": ({"A": "1, 2\n\n2, 3\n"}, r"TOY_A.txt, line 2: the line is empty"),
    "empty line in attributes": ({"node_attributes": "1\n2\n \r\n3\n"}, r"node_attributes.txt, line 3: the line is em"),
    "node too large": ({"A": "1, 2\n5, 7\n"}, r"TOY_A.txt, line 2: edge \(5, 7\), but nodes are .* 1 to 6"),
    "node zero": ({"A": "0, 1\n"}, r"TOY_A.txt, line 1: edge \(0, 1\), but nodes are numbered from 1"),
    "node negative": ({"A": "1, -1\n"}, r"TOY_A.txt, line 1: edge \(1, -1\)"),
    "edge between graphs": ({"A": "1, 2\n4, 5\n"}, r"TOY_A.txt, line 2: edge \(4, 5\) joins graph 1 to graph 2"),
    "graph zero": ({"graph_indicator": "0\n1\n"}, r"graph_indicator.txt, line 1: graph 0, but .* numbered from 1"),
    "not sorted": ({"graph_indicator": "1\n2\n1\n"}, r"graph_indicator.txt, line 3: graph 1 comes after graph 2"),
    "too many graphs": ({"graph_indicator": "1\n2\n2\n2\n3\n3\n"}, r"graph_indicator.txt, line 5: graph 3, but .* 2 l"),
    "gap": (
        {"graph_indicator": "1\n1\n3\n", "graph_labels": None, "graph_attributes": None},
        r"graph_indicator.txt, line 3: graph 2 has no nodes",
    ),
    "few node labels": (
        {"node_labels": "1\n" * 5},
        r"node_labels.txt, line 5: the file has 5 lines, but .* requires 6",
    ),
    "many node labels": (
        {"node_labels": "1\n" * 7},
        r"node_labels.txt, line 7: the file has 7 lines, but .* requires 6",
    ),
    "few edge labels": ({"edge_labels": "1\n" * 7}, r"edge_labels.txt, line 7: .* TOY_A.txt requires 8"),
    "many edge attributes": ({"edge_attributes": "1\n" * 9}, r"edge_attributes.txt, line 9: .* TOY_A.txt requires 8"),
    "few node attributes": ({"node_attributes": "1\n"}, r"node_attributes.txt, line 1: the file has 1 lines"),
    "no node labels": ({"node_labels": ""}, r"node_labels.txt, line 1: the file has 0 lines"),
    "few graph attributes": (
        {"graph_attributes": "1\n"},
        r"graph_attributes.txt, line 1: .* TOY_graph_labels.txt requires",
    ),
    "ragged labels": ({"node_labels": "1, 2\n1\n"}, r"node_labels.txt, line 2: '1' has 1 columns .* 2 are"),
    "ragged attributes": ({"node_attributes": "1.5\n1, 2\n"}, r"node_attributes.txt, line 2: '1, 2' has 2 columns"),
    "word before ragged": ({"node_attributes": "1.5\nx\n1, 2\n"}, r"node_attributes.txt, line 2: 'x' is not a number"),
    "class of two columns": ({"graph_labels": "1, 2\n1, 2\n"}, r"graph_labels.txt, line 1: '1, 2' has 2 columns"),
    "nan": ({"node_attributes": "1\n2\nNaN\n4\n5\n6\n"}, r"node_attributes.txt, line 3: 'NaN' holds .* not finite"),
    "odd space": ({"node_attributes": "1\n2\n3\x1d\n4\n5\n6\n"}, r"node_attributes.txt, line 3: .* is not a number"),
    "underflow": (
        {"node_labels": "1\n2\n3\n1e-400\n5\n6\n"},
        r"node_labels.txt, line 4: '1e-400' does not hold integers",
    ),
    "no zero": (
        {"node_labels": f"0.0\n0\n-0\n+0e5\n5\n0.{'0' * 400}1\n"},
        r"node_labels.txt, line 6: .* hold integers",
    ),
    "no number as class": ({"graph_labels": "1\nnan\n"}, r"graph_labels.txt, line 2: 'nan' does not hold integers"),
    "infinity": ({"edge_attributes": "1\n" * 7 + "1e999"}, r"edge_attributes.txt, line 8: '1e999' holds"),
    "infinite target": ({"graph_attributes": "1\n-1e400\n"}, r"graph_attributes.txt, line 2: '-1e400' holds"),
    "conflicting labels": (
        {"edge_labels": "1\n9\n2\n2\n1\n1\n0\n0\n"},
        r"graph 0: .*TOY_A.txt, line \d\); directed=True",
    ),
}


@pytest.mark.parametrize("archived", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files_are_named_with_their_line(tmp_path, case, archived):
    changes, message = MALFORMED[case]
    files = toy(**changes)
    path = pack(tmp_path / "x.zip", as_members(files)) if archived else write(tmp_path, files)
    with pytest.raises(TUFormatError, match=message):
        load_tu(path)


def test_attributes_are_rounded_to_the_nearest_number_and_targets_may_be_missing(tmp_path):
    files = toy(node_attributes="1e-400\n2\n3\n4e-324\n5\n6\n", graph_attributes="-1e-400\nnan\n", graph_labels=None)
    found = read_tu(write(tmp_path, files))
    assert found.graphs.node_attributes[:, 0].tolist() == [0, 2, 3, 5e-324, 5, 6]
    np.testing.assert_array_equal(found.y, [0, np.nan])


def test_long_lines_are_shortened(tmp_path):
    with pytest.raises(TUFormatError) as error:
        load_tu(write(tmp_path, toy(A="1, 2\n" + "9" * 1000 + ",1,1\n")))
    assert len(str(error.value)) < 300 + len(str(tmp_path))


# ------------------------------------------------------------------------------------------------------- the parser


@given(st.text("01.5e-+,_ x\r\n\t", max_size=40), st.integers(1, 3))
def test_any_text_parses_as_split_and_float_would(tmp_path_factory, text, n_columns):
    """The oracle: split the text at newlines and commas, and let Python read the cells."""
    expected = []
    lines = text.rstrip().split("\n") if text.strip() else []
    for line in lines:
        cells = line.split(",")
        try:
            if len(cells) != n_columns or "_" in line:
                raise ValueError
            expected.append([float(cell) for cell in cells])
        except ValueError:
            expected = None
            break
    indicator = "1\n" * max(len(lines), 1)
    header = ",".join(["0"] * n_columns) + "\n"
    files = {"A": "", "graph_indicator": "1\n" + (indicator if lines else ""), "node_attributes": header + text}
    folder = write(tmp_path_factory.mktemp("text"), files)
    try:
        values = read_tu(folder).graphs.node_attributes[1:].tolist()
    except TUFormatError as error:
        assert expected is None or not np.isfinite(expected).all(), error  # noqa: PT017
    else:
        assert values == expected
    shutil.rmtree(folder)


decimals = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e6, 1e6).map("{:.6f}".format),
    st.floats(allow_nan=False, allow_infinity=False).map("{:.18e}".format),
    st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,2})?", fullmatch=True),
)


@given(st.lists(decimals, min_size=1, max_size=10))
@example(["9007199254740991e22", "9007199254740993", "1e-22", "1e23", "-0.0", "0." + "0" * 40 + "1", "0" * 40 + "1.5"])
def test_decimals_are_correctly_rounded(tmp_path_factory, texts):
    files = {"A": "", "graph_indicator": "1\n" * len(texts), "node_attributes": "\n".join(texts)}
    folder = write(tmp_path_factory.mktemp("decimals"), files)
    values = read_tu(folder).graphs.node_attributes[:, 0]
    assert values.tobytes() == np.array([float(text) for text in texts]).tobytes()
    shutil.rmtree(folder)


# --------------------------------------------------------------------------------------------------------- real data


@pytest.mark.parametrize("name", SHARED_NAMES)
def test_real_data_as_numpy_reads_it(shared, name):
    path = shared / "data" / f"{name}.zip"
    data = read_tu(path)
    graphs = data.graphs

    def numpy_reads(kind: str) -> np.ndarray:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}/{name}_{kind}.txt") as file:
            return np.loadtxt(file, delimiter=",", ndmin=2)

    indicator = numpy_reads("graph_indicator").astype(int)[:, 0]
    assert graphs.graph_of_node.tolist() == (indicator - 1).tolist()
    classes = np.array(data.classes)[data.y]
    assert classes.tolist() == numpy_reads("graph_labels")[:, 0].tolist()
    listed = numpy_reads("A").astype(int) - 1
    pairs = {(min(u, v), max(u, v)) for u, v in listed.tolist() if u != v}
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    assert {(u, v) for u, v in zip(sources.tolist(), graphs.indices.tolist(), strict=True) if u < v} == pairs
    if graphs.node_vocabulary is not None:
        labels = np.array(graphs.node_vocabulary)[graphs.node_codes]
        assert labels.tolist() == numpy_reads("node_labels")[:, 0].tolist()
    if graphs.node_attributes is not None:
        assert np.array_equal(graphs.node_attributes, numpy_reads("node_attributes"))


def test_reddit_binary(shared):
    graphs, y = load_tu(shared / "data" / "REDDIT-BINARY.zip")
    assert (len(graphs), graphs.n_nodes, graphs.n_edges) == (2000, 859_233, 995_508)
    assert np.bincount(y).tolist() == [1000, 1000]


# ------------------------------------------------------------------------------------- what is not what it seems


def test_a_name_that_occurs_twice_in_a_zip_is_refused(tmp_path):
    path = tmp_path / "toy.zip"
    for second in ("TOY/TOY_node_labels.txt", "TOY\\TOY_node_labels.txt"):
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in as_members(toy()).items():
                archive.writestr(name, text)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                archive.writestr(second, "1\n" * 6)
            archive.infolist()[-1].filename = second  # kept as it is also where the separator is another
        with pytest.raises(TUFormatError, match=r"contains TOY/TOY_node_labels\.txt twice"):
            read_tu(path)


def test_a_zip_that_unpacks_to_much_more_than_its_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxwl._storage.FREE_BYTES", 1 << 10)
    path = tmp_path / "toy.zip"
    files = toy()
    for blank in (0, 10**6):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in as_members(files).items():
                archive.writestr(name, text + "\n" * blank if name.endswith("_A.txt") else text)
        if not blank:
            assert len(read_tu(path).graphs)
    with pytest.raises(TUFormatError, match=r"toy\.zip would unpack to 1 MiB, more than 200 times its size"):
        read_tu(path)


@pytest.mark.parametrize("folder", ["../../", "/", "../TOY/"])
def test_a_zip_writes_nothing_wherever_its_names_lead(tmp_path, folder):
    path = tmp_path / "inside" / "toy.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for kind, text in toy().items():
            archive.writestr(f"{folder}TOY_{kind}.txt", text)
    with contextlib.suppress(TUFormatError):
        read_tu(path)
    assert [file.name for file in tmp_path.rglob("*")] == ["inside", "toy.zip"]


def test_a_link_in_a_zip_is_not_followed(tmp_path):
    with zipfile.ZipFile(tmp_path / "toy.zip", "w") as archive:
        for name, text in as_members(toy()).items():
            member = zipfile.ZipInfo(name)
            member.external_attr = 0o120777 << 16
            archive.writestr(member, "/etc/passwd" if name.endswith("_A.txt") else text)
    with pytest.raises(TUFormatError, match=r"_A\.txt, line 1: '/etc/passwd' has 1 columns"):
        read_tu(tmp_path / "toy.zip")


def test_files_with_misspelt_names_are_named(tmp_path, caplog):
    files = toy()
    files["node_label"] = files.pop("node_labels")
    folder = write(tmp_path / "TOY", files)
    (folder / "TAY_edge_labels.txt").write_text("1\n")
    (folder / "README.txt").touch()
    (folder / "TOY_label_readme.txt").touch()
    with caplog.at_level(logging.INFO):
        data = read_tu(folder)
    assert data.graphs.node_vocabulary is None
    assert "node_labels" not in data.optional_files
    assert data.optional_files == tuple(kind for kind in OPTIONAL if kind in files)
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == 2
    assert "TAY_edge_labels.txt is not a file of the TU layout" in warned[0]
    assert "TOY_node_label.txt is not a file of the TU layout" in warned[1]
    assert "read with graph_labels, graph_attributes, node_attributes" in caplog.text


@linux
def test_devices_are_refused(tmp_path):
    folder = write(tmp_path / "TOY", toy())
    (folder / "TOY_node_labels.txt").unlink()
    (folder / "TOY_node_labels.txt").symlink_to("/dev/zero")
    with pytest.raises(OSError, match=r"TOY_node_labels\.txt: it is not a regular file"):
        read_tu(folder)
    with pytest.raises(OSError, match="it is not a regular file"):
        read_tu("/dev/zero")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_damage_of_any_method_is_one_clear_error(tmp_path, method):
    path = tmp_path / "toy.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, text in as_members(toy()).items():
            archive.writestr(name, text * 50 if "graph_labels" not in name else text)
    content = path.read_bytes()
    generator = random.Random(0)
    for _ in range(150):
        damaged = bytearray(content)
        for _ in range(3):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        path.write_bytes(damaged)
        with contextlib.suppress(TUFormatError, MemoryRefusal):  # a size that does not fit, where memory is short
            read_tu(path)


# ------------------------------------------------------------------------------------------------------- memory


def peak_of_reading(path):
    forget_peak_memory()
    before = peak_memory()
    with contextlib.suppress(TUFormatError):
        read_tu(path)
    return peak_memory() - before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets the peak")
@pytest.mark.parametrize(
    "files",
    [
        {"node_labels": ",".join("1" * 50_000) + "\n" * 50_000},
        {"node_labels": "," * 50_000 + "\n" * 50_000},
        {"node_attributes": ",".join("1" * 50_000) + "\n" * 50_000},
        {"graph_labels": "1\n" * 500_000},
        {"graph_attributes": "nan\n" * 200_000, "graph_labels": "1\n" * 200_000},
    ],
)
def test_reading_takes_memory_by_what_is_there(tmp_path, files):
    toy_files = {"A": "1,1\n", "graph_indicator": "1\n", "graph_labels": "1\n", **files}
    read_tu(write(tmp_path / "warm", {"A": "1,1\n", "graph_indicator": "1\n"}))
    peak = peak_of_reading(write(tmp_path / "TOY", toy_files))
    assert peak <= 2**26 + 50 * sum(map(len, toy_files.values()))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets the peak")
@pytest.mark.parametrize(
    "method",
    [
        zipfile.ZIP_DEFLATED,
        pytest.param(zipfile.ZIP_LZMA, marks=pytest.mark.slow),
        pytest.param(zipfile.ZIP_BZIP2, marks=pytest.mark.slow),
    ],
)
def test_a_member_is_unpacked_no_further_than_its_size(tmp_path, method):
    path = tmp_path / "toy.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, text in as_members({**TOY, "node_labels": "\n" * 2**27}).items():
            archive.writestr(name, text)
    content = path.read_bytes()
    path.write_bytes(content.replace((2**27).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    assert path.stat().st_size < 2**20
    assert peak_of_reading(path) <= 2**26 + 50 * path.stat().st_size


def test_what_would_fill_the_memory_is_refused_before(tmp_path, monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: 2.0**25)
    path = pack(tmp_path / "toy.zip", as_members(toy(node_labels="1\n" * 2**24)))
    with pytest.raises(MemoryRefusal, match=r"reading .*TOY \(\d+ bytes\) would need"):
        read_tu(path)
    files = toy(A="", graph_indicator="1\n" * 2**20, node_labels=None, node_attributes=None)
    with pytest.raises(MemoryRefusal, match=r"making graphs of .*big would need"):
        read_tu(write(tmp_path / "big", files))


# -------- tU files as we write them, read back


def collection(directed=False, node_label=int, edge_label=int):
    rng = np.random.default_rng(0)
    builder = CollectionBuilder(directed=directed)
    for n in (3, 1, 5, 2):
        pairs = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
        edges = [pair for pair in pairs if rng.random() < 0.6]
        builder.add(
            n,
            edges,
            node_labels=[node_label(value) for value in rng.integers(-2, 3, n)],
            edge_labels=[edge_label(value) for value in rng.integers(0, 3, len(edges))],
            node_attributes=rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-30, 30, (n, 2)),
            edge_attributes=rng.normal(size=(len(edges), 1)),
        )
    return GraphCollection(**builder.build())


@pytest.mark.parametrize("directed", [False, True])
def test_all_is_read_back(directed, tmp_path):
    target = "SET.zip"
    graphs = collection(directed, edge_label=lambda value: (int(value), 7))
    write_tu(tmp_path / target, graphs, [5, -1, 5, 5])
    found = read_tu(tmp_path / target, directed=directed)
    assert found.graphs == graphs
    assert (found.name, found.classes, found.y.tolist()) == ("SET", (-1, 5), [1, 0, 1, 1])
    assert [path.name for path in tmp_path.iterdir()] == [target]


@pytest.mark.parametrize("y", [[0.1, 2.0, 1e-300, -3.5], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 0.1]]])
def test_numbers_are_graph_attributes(y, tmp_path):
    write_tu(tmp_path / "R.zip", collection(), y)
    assert load_tu(tmp_path / "R.zip")[1].tolist() == y


def test_text_is_numbered_and_the_numbers_are_explained(tmp_path):
    graphs = collection(node_label=lambda value: "ab"[value % 2])
    with pytest.warns(UserWarning, match=r"(node labels|classes) are not all integers.*README.txt") as caught:
        write_tu(tmp_path / "T.zip", graphs, ["no", "yes", "no", "no"])
    assert len(caught) == 2
    found = read_tu(tmp_path / "T.zip")
    assert np.array_equal(found.graphs.node_codes, graphs.node_codes)
    assert found.y.tolist() == [0, 1, 0, 0]
    told = zipfile.ZipFile(tmp_path / "T.zip").read("T/README.txt").decode()
    assert "node labels stand for\n  0  a\n  1  b" in told
    assert "classes stand for\n  0  no\n  1  yes" in told


def test_what_the_layout_cannot_say_is_refused(tmp_path):
    empty = GraphCollection.from_edges([(0, []), (1, [])])
    with pytest.raises(ValueError, match="pass y"):
        write_tu(tmp_path / "E.zip", empty)
    write_tu(tmp_path / "E.zip", empty, [0, 1])
    assert load_tu(tmp_path / "E.zip")[0] == empty
    with pytest.raises(ValueError, match="one value for each of 2 graphs"):
        write_tu(tmp_path / "E.zip", empty, [0])
    gappy = CollectionBuilder(missing="?")
    gappy.add(1, [], node_attributes=[[np.nan]])
    with pytest.raises(ValueError, match="some node attributes are missing"):
        write_tu(tmp_path / "G.zip", GraphCollection(**gappy.build()))
    with pytest.raises(ValueError, match=r"must end in \.zip"):
        write_tu(tmp_path / "folder", empty, [0, 1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["E.zip"]

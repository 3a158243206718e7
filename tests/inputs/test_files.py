"""Folders of graph files."""

import itertools
import string
import tracemalloc
import warnings

import networkx as nx
import pytest

from relaxwl import as_collection


def graphs():
    made = [nx.path_graph(3), nx.cycle_graph(4)]
    for graph in made:
        nx.set_node_attributes(graph, "C", "element")
    return made


@pytest.mark.parametrize(("ending", "write"), [("graphml", nx.write_graphml), ("gml", nx.write_gml)])
def test_folders_of_files(tmp_path, ending, write):
    for number, graph in enumerate(graphs()):
        write(graph, tmp_path / f"{number}.{ending}")
    assert as_collection(tmp_path, node_label="element", node_attributes=[]) == as_collection(
        graphs(), node_label="element"
    )


def test_files_are_read_in_natural_order_and_name_their_graphs(tmp_path):
    for number in (10, 9, 2):
        nx.write_graphml(nx.path_graph(number), tmp_path / f"net_{number}.graphml")
    found = as_collection(tmp_path)
    assert found.names == ("net_2", "net_9", "net_10")
    assert found.node_counts.tolist() == [2, 9, 10]
    with pytest.raises(ValueError, match=r"graph 0 \(net_2\): node '0' has no attribute 'role'|net_2\.graphml"):
        as_collection(tmp_path, node_label="role")
    nx.write_gml(nx.path_graph(2), tmp_path / "a.gml")
    with pytest.raises(ValueError, match=r"end in \.gml and \.graphml; keep one kind in a folder"):
        as_collection(tmp_path)


def test_weighted_edge_lists(tmp_path):
    (tmp_path / "a.edgelist").write_text("a b 2.5\nb c 1\n")
    (tmp_path / "b.edgelist").write_text("a b\n")
    with pytest.raises(ValueError, match=r"graph 1 \(b\.edgelist\): edge .* has no attribute 'weight'"):
        as_collection(tmp_path, edge_attributes="weight")
    (tmp_path / "b.edgelist").write_text("# nothing\na b {'weight': 4}\n")
    assert as_collection(tmp_path, edge_attributes="weight").edge_attributes.ravel().tolist() == [2.5, 2.5, 1, 1, 4, 4]
    assert as_collection(tmp_path, edge_attributes="weight", directed=True).n_edges == 3
    (tmp_path / "b.edgelist").write_text("a_1 1_0 {'1_0': '1_0', \"weight\": 4}  # 1_0\n")
    assert as_collection(tmp_path, edge_attributes="weight").n_edges == 3


@pytest.mark.parametrize("data", ["1_0", "\N{FULLWIDTH DIGIT FIVE}", "1e-400", "-0.0_1", "0x10", "1j", "1e-324"])
@pytest.mark.parametrize("form", ["{}", "{{'w': {}}}", "{{'a': 'it\\'s', 'w': [1.5, {}]}}"])
def test_numbers_that_only_python_reads_are_refused_in_edge_lists(tmp_path, data, form):
    good = "{'v1_0': 1e-300, 'w': -.5E+3, 'x': '1e-400', 'y': 0e-400, 'z': 0.0}"
    (tmp_path / "a.edgelist").write_text(f"a b {good}  # 1_0\nb 1_0 {form.format(data)}\n", encoding="utf-8")
    reason = "'.*' is not (a number: numbers are written in ASCII|0, and no floating-point number is as small)"
    with pytest.raises(ValueError, match=rf"a\.edgelist cannot be read as edgelist: line 2: {reason}"):
        as_collection(tmp_path)
    (tmp_path / "a.edgelist").write_text(f"a b {good}\n", encoding="utf-8")
    assert as_collection(tmp_path, edge_label="y", edge_attributes=[]).edge_vocabulary == (0,)


@pytest.mark.parametrize("number", ["1" * 400, "1" * 5000])
def test_integers_beyond_all_floats_are_refused_by_the_name_of_the_file(tmp_path, number):
    (tmp_path / "a.edgelist").write_text(f"a b {{'w': {number}}}\n")
    with pytest.raises(ValueError, match=r"a\.edgelist"):
        as_collection(tmp_path, edge_attributes="w")


GML = """graph [
  node [ id 0 label "1e5 # 1_0" ]
  node [ id 1 label "b" ] # 1e5
  edge [ source 0 target 1 w %s ]
]
"""


def test_numbers_that_networkx_reads_in_parts_are_refused_in_gml(tmp_path):
    for number, value in {"1.0e-05": 1e-5, "+.5": 0.5, "-2.E1": -20, "7": 7}.items():
        (tmp_path / "a.gml").write_text(GML % number)
        assert as_collection(tmp_path, edge_attributes="w").edge_attributes.tolist() == [[value], [value]]
    for number in ("1e-05", "1E5", "1_0", "0x10", "1.5.2", "1.5e", "2inf", "-1.0e-400"):
        (tmp_path / "a.gml").write_text(GML % number)
        with pytest.raises(ValueError, match=rf"a\.gml cannot be read as gml: line 4: '{number}' is not (a number|0,)"):
            as_collection(tmp_path)


@pytest.mark.parametrize("text", ["1_0", "\N{FULLWIDTH DIGIT FIVE}", "1e-400"])
@pytest.mark.parametrize("kind", ["int", "long", "float", "double"])
def test_numbers_that_only_python_reads_are_refused_in_graphml(tmp_path, text, kind):
    graph = nx.path_graph(["a_1", "1_0"])
    nx.set_node_attributes(graph, "1_0", "x")
    nx.write_graphml(graph, tmp_path / "a.graphml")
    assert as_collection(tmp_path, node_label="x").node_vocabulary == ("1_0",)
    written = (tmp_path / "a.graphml").read_text(encoding="utf-8")
    default = f'attr.type="{kind}"><default>{text}</default></key>'
    for changed in (
        written.replace('"string"', f'"{kind}"').replace(">1_0<", f"> {text}<"),
        written.replace('attr.type="string" />', default).replace('<data key="d0">1_0</data>', ""),
    ):
        (tmp_path / "a.graphml").write_text(changed, encoding="utf-8")
        with pytest.raises(ValueError, match=rf"a\.graphml .*: a value of d0: ' ?{text}' is not (a number|0,)"):
            as_collection(tmp_path)


def names_of(number):
    return ("".join(letters) for letters in itertools.islice(itertools.product(string.ascii_letters, repeat=3), number))


@pytest.mark.parametrize(
    ("ending", "lines", "times"),
    [
        ("edgelist", (f"{i} {i * 7 % 12_000}\n" for i in range(20_000)), 80),
        ("edgelist", (f"a {name}\n" for name in names_of(30_000)), 150),
        ("edgelist", (f"{a} {b}\n" for a, b in zip(*[names_of(30_000)] * 2, strict=True)), 200),
        ("gml", ("graph[", *(f"node[id {i} label {i}]" for i in range(10_000)), "]"), 80),
        (
            "graphml",
            (
                '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">',
                *(f'<edge source="{2 * i}" target="{2 * i + 1}"/>' for i in range(10_000)),
                "</graph></graphml>",
            ),
            80,
        ),
    ],
    ids=["usual", "star", "pairs", "gml", "graphml"],
)
def test_graph_files_take_memory_in_proportion(tmp_path, ending, lines, times):
    path = tmp_path / f"a.{ending}"
    path.write_text("".join(lines))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of the edges are loops
        as_collection(tmp_path)  # what is imported and kept for all later calls
        tracemalloc.start()
        as_collection(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < times * path.stat().st_size  # most of it is the graph of networkx


def test_graph_files_that_would_fill_the_memory_are_refused_before(tmp_path, monkeypatch):
    for number in range(2):
        (tmp_path / f"{number}.edgelist").write_text("a b\n" * 1000)
    monkeypatch.setattr("relaxwl._memory.physical_memory", lambda: 5e5)
    with pytest.raises(ValueError, match="the graphs of 2 files would need"):
        as_collection(tmp_path)


def test_edge_lists_and_directions(tmp_path):
    nx.write_edgelist(nx.path_graph(3), tmp_path / "a.edgelist")
    assert as_collection(tmp_path).n_edges == 2
    other = tmp_path / "arcs"
    other.mkdir()
    nx.write_graphml(nx.DiGraph([(0, 1)]), other / "a.graphml")
    assert as_collection(other).directed
    (other / "b.graphml").write_text("<graphml")
    with pytest.raises(ValueError, match=r"b\.graphml cannot be read as graphml"):
        as_collection(other)


def test_long_lines_of_edge_lists_are_refused_before_they_are_parsed(tmp_path):
    (tmp_path / "a.edgelist").write_text("0 1 {}\n1 2 {'w': " + "1+" * 10**6 + "1}\n")
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"a\.edgelist cannot be read as edgelist: line 2 has more than 65536 bytes"):
        as_collection(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_what_a_parser_says_is_cut_short(tmp_path):
    (tmp_path / "a.edgelist").write_text("0 1 {'w': " + "-" * 60_000 + "1}\n")
    with pytest.raises(ValueError, match=r"a\.edgelist cannot be read") as caught:
        as_collection(tmp_path)
    assert len(str(caught.value)) < 1000


ENTITIES = "".join(f'<!ENTITY {a} "{f"&{b};" * 10}">' for a, b in zip("bcdefghij", "abcdefghi", strict=True))


@pytest.mark.parametrize(
    "entities", [f'<!ENTITY a "aaaaaaaaaa">{ENTITIES}', '<!ENTITY j SYSTEM "file:///etc/passwd">'], ids=["many", "file"]
)
def test_entities_of_graphml_files_are_not_expanded(tmp_path, entities):
    graph = '<graphml><graph edgedefault="undirected"><node id="&j;"/></graph></graphml>'
    (tmp_path / "a.graphml").write_text(f'<?xml version="1.0"?><!DOCTYPE x [{entities}]>{graph}')
    with pytest.raises(ValueError, match=r"a\.graphml cannot be read as graphml"):
        as_collection(tmp_path)

"""Folders of graph files."""

import os
import tracemalloc
import warnings

import networkx as nx
import numpy as np
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
    for weight in ("1_0", "\N{FULLWIDTH DIGIT FIVE}"):
        (tmp_path / "b.edgelist").write_text(f"a b 1  # one\nb c {weight}\n", encoding="utf-8")
        with pytest.raises(ValueError, match=r"b\.edgelist cannot be read as edgelist: line 2: .* is not a number"):
            as_collection(tmp_path)


def test_an_edge_list_takes_little_more_memory_than_its_edges(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "a.edgelist"
    np.savetxt(path, rng.integers(0, 12_000, (20_000, 2)), "%d")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of the edges are loops
        as_collection(tmp_path)  # what is imported and kept for all later calls
        tracemalloc.start()
        as_collection(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 66 * path.stat().st_size  # most of it is the graph of networkx


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("ending", ["graphml", "gml", "edgelist"])
def test_pipes_are_refused(tmp_path, ending):
    os.mkfifo(tmp_path / f"a.{ending}")
    with pytest.raises(OSError, match="it is a pipe"):
        as_collection(tmp_path)


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

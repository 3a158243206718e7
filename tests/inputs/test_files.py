"""Folders of graph files."""

import os

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

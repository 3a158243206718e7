"""A network scientist: a folder of GraphML files and a table of labels, classes, roles and a page."""

import csv

import networkx as nx

from journeys.steps import relaxwl, walk


def journey(folder):
    """Walk the journey."""
    (folder / "nets").mkdir()
    rows = []
    for place in range(24):
        kind = ("ring", "star")[place % 2]
        size = 6 + place // 2 % 4
        graph = nx.cycle_graph(size) if kind == "ring" else nx.star_graph(size - 1)
        nx.set_node_attributes(graph, {node: ("hub" if node == 0 else "member") for node in graph}, "role")
        nx.write_graphml(graph, folder / "nets" / f"net_{place}.graphml")
        rows.append(f"net_{place}.graphml,{kind},{size}")
    (folder / "labels.csv").write_text("\n".join(["file,kind,size", *reversed(rows), ""]))  # in another order

    unnamed = relaxwl(folder, "fit", "nets", "--labels", "labels.csv", "-o", "model.rwl", code=2)[1]
    assert "has several columns; name one" in unnamed
    wrong = relaxwl(folder, "fit", "nets", "--target", "kind", "-o", "model.rwl", code=2)[1]
    assert "--target does not apply to nets, a folder of graph files" in wrong

    fit = ("fit", "nets", "--labels", "labels.csv:kind", "--node-label", "role", "--effort", "quick", "-o", "model.rwl")
    said, _ = relaxwl(folder, *fit)
    assert "24 graphs, 2 classes" in said
    assert "100.0 %" in said

    # The model remembers --node-label.
    said, _ = relaxwl(folder, "predict", "model.rwl", "nets", "-o", "out.csv", "--labels", "labels.csv:kind")
    assert "accuracy 100.0 %" in said
    table = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    assert [row["graph"] for row in table[:3]] == ["net_0", "net_1", "net_2"]
    assert table[1]["prediction"] == "star"

    both = ("--labels", "labels.csv:kind,size", "--node-label", "role", "--task", "classification")
    said, _ = relaxwl(folder, "fit", "nets", *both, "--effort", "quick", "-o", "both.rwl")
    assert said.splitlines()[1].startswith("kind")
    assert said.splitlines()[2].startswith("size")

    said, _ = relaxwl(
        folder,
        "explain",
        "nets",
        "--labels",
        "labels.csv:kind",
        "--node-label",
        "role",
        "--depth",
        "1",
        "-o",
        "page.html",
    )
    assert "significantly associated with the classes; page written to page.html" in said
    assert (folder / "page.html").stat().st_size > 10_000
    said, _ = relaxwl(folder, "neighbors", "model.rwl", "nets", "-k", "1", "--quiet")
    assert said.splitlines()[0].startswith("net_0")


if __name__ == "__main__":
    walk(journey)

"""``relaxwl distance``: distances between graphs, or between two neighborhoods with the edit script."""

import re
from argparse import Namespace

import numpy as np

from relaxwl._storage import atomic_write
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import Source, open_source
from relaxwl.costs.codebook import check_finite, cost_text
from relaxwl.distances.graphs import graph_distances
from relaxwl.distances.tree import tree_edit_distance, tree_edit_mapping
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.unfolding.tree import UnfoldingTree, unfolding_tree

# Maximum size of trees for which an edit script is printed; for larger ones only the distance is.
MAX_SCRIPT_SIZE = 2000
# Maximum number of distances of graphs that are printed; more are written to a file.
MAX_PRINTED = 1000
WHOLE = re.compile(r"[0-9]+")


def run(arguments: Namespace, console: Console) -> None:
    """Print or write the distances between graphs; or print that of two unfolding trees and the edit script."""
    if (arguments.nodes is None) == (arguments.other is None):
        raise UserError("give a second data set, or --nodes with two nodes of the first, and not both")
    source = open_source(arguments.dataset, arguments, console)
    if arguments.nodes is None:
        _compare_graphs(source, arguments, console)
        return
    if arguments.output:
        raise UserError(
            "--output is for distances of graphs; leave it out, or give a second data set instead of --nodes"
        )
    a, b = (_tree(source, text, arguments) for text in arguments.nodes)
    distance = tree_edit_distance(a, b, discount=arguments.discount)
    data = {"dataset": source.name, "depth": arguments.depth, "distance": distance, "sizes": [a.size, b.size]}
    lines = [f"tree edit distance at depth {arguments.depth}: {cost_text(distance)}"]
    for text, tree in zip(arguments.nodes, (a, b), strict=True):
        lines.append(f"  {text}: {tree if tree.size <= 40 else f'a tree of {tree.size} nodes'}")
    if arguments.discount != 1.0:
        lines.append("(edits are shown without --discount)")
    elif max(a.size, b.size) <= MAX_SCRIPT_SIZE:
        mapping = tree_edit_mapping(a, b)
        script = mapping.script()
        data["script"] = [str(operation) for operation in script]
        lines += [f"in words: {mapping.describe()}", *(f"  {operation}" for operation in script)]
        if arguments.svg:
            with atomic_write(arguments.svg) as file:
                file.write(mapping.to_svg().encode())
            lines.append(f"drawn in {arguments.svg}")
    elif arguments.svg:
        raise UserError(f"trees of {a.size} and {b.size} nodes are too large to draw; use a smaller --depth")
    else:
        lines.append(f"(the script is shown for trees of up to {MAX_SCRIPT_SIZE} nodes; use a smaller --depth)")
    console.result("\n".join(lines), data)


def _compare_graphs(source: Source, arguments: Namespace, console: Console) -> None:
    """Print or write the distances of the graphs of one data set to those of another."""
    other = open_source(arguments.other, arguments, console)
    if arguments.svg:
        raise UserError("--svg draws two neighborhoods; give --nodes instead of a second data set")
    distances = graph_distances(
        source.graphs, other.graphs, depth=arguments.depth, discount=arguments.discount,
        edge_labels=arguments.edge_labels, n_jobs=arguments.jobs,
    )  # fmt: skip
    names = [each.full_names() or [str(place) for place in range(len(each.graphs))] for each in (source, other)]
    shape = f"{distances.shape[0]} × {distances.shape[1]} distances at depth {arguments.depth}"
    if arguments.output:
        with atomic_write(arguments.output) as file:
            np.savez_compressed(file, D=distances, names=np.array(names[0]), other_names=np.array(names[1]))
        summary = {"output": arguments.output, "shape": list(distances.shape)}
        console.result(f"{shape} written to {arguments.output}", summary)
        return
    if distances.size > MAX_PRINTED:
        raise UserError(f"{shape} are too many to print; write them to a file with -o D.npz")
    console.note(f"graph of {source.name}, graph of {other.name}, distance at depth {arguments.depth}")
    rows = [
        (a, b, distance)
        for a, row in zip(names[0], distances.tolist(), strict=True)
        for b, distance in zip(names[1], row, strict=True)
    ]
    console.result(
        "\n".join(f"{a}\t{b}\t{cost_text(distance)}" for a, b, distance in rows),
        [{"graph": a, "other": b, "distance": distance} for a, b, distance in rows],
    )


def _tree(source: Source, text: str, arguments: Namespace) -> UnfoldingTree:
    graph_text, separator, node_text = text.rpartition(":")
    names = source.graphs.names or ()
    if not separator or not (WHOLE.fullmatch(graph_text) or graph_text in names) or not WHOLE.fullmatch(node_text):
        named = f" or {names[0]}:5" if names else ""
        raise UserError(f"--nodes takes GRAPH:NODE, both counted from 0, such as 0:5{named}; not {text!r}")
    graph, node = names.index(graph_text) if graph_text in names else int(graph_text), int(node_text)
    if graph >= len(source.graphs):
        raise UserError(f"{text}: {source.name} has {len(source.graphs)} graphs, counted from 0")
    view = source.graphs[graph]
    if node >= view.n_nodes:
        raise UserError(f"{text}: graph {graph} has {view.n_nodes} nodes, counted from 0")
    _check_depth(source.graphs[[graph]], node, arguments.depth)
    return unfolding_tree(view, node, arguments.depth, edge_labels=arguments.edge_labels)


def _check_depth(graph: GraphCollection, node: int, depth: int) -> None:
    """Raise an error if a tree has more nodes than floating point holds, before the tree is built."""
    graph = graph.seen("both")
    owners = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    sizes: Float64 = np.ones(graph.n_nodes)
    for _ in range(depth):
        sizes = np.asarray(1.0 + np.bincount(owners, sizes[graph.indices], graph.n_nodes), np.float64)
    check_finite(sizes[node], depth)

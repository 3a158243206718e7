"""``relaxwl distance``: tree edit distance between two neighborhoods, and the edit script."""

import re
from argparse import Namespace

import numpy as np

from relaxwl._storage import atomic_write
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import Source, open_source
from relaxwl.costs.codebook import check_finite, cost_text
from relaxwl.distances.tree import tree_edit_distance, tree_edit_mapping
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.unfolding.tree import UnfoldingTree, unfolding_tree

# Maximum size of trees for which an edit script is printed; for larger ones only the distance is.
MAX_SCRIPT_SIZE = 2000
WHOLE = re.compile(r"[0-9]+")


def run(arguments: Namespace, console: Console) -> None:
    """Print the distance between two unfolding trees and the edit script."""
    source = open_source(arguments.dataset, arguments, console)
    a, b = (_tree(source, text, arguments) for text in arguments.nodes)
    distance = tree_edit_distance(a, b)
    data = {"dataset": source.name, "depth": arguments.depth, "distance": distance, "sizes": [a.size, b.size]}
    lines = [f"tree edit distance at depth {arguments.depth}: {cost_text(distance)}"]
    for text, tree in zip(arguments.nodes, (a, b), strict=True):
        lines.append(f"  {text}: {tree if tree.size <= 40 else f'a tree of {tree.size} nodes'}")
    if max(a.size, b.size) <= MAX_SCRIPT_SIZE:
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

"""Small explanations for the tests of the explorer page."""

import functools
import json
import re

import networkx
import numpy as np

from relaxed_kernels import optimized
from relaxwl import GraphCollection
from relaxwl.datasets import make_egonets
from relaxwl.explanation import Explanation, explain
from relaxwl.reports.explorer import render_explorer

NASTY = ("<script>alert(1)</script>", "</script>", '"><img src=x onerror=alert(2)>', "&amp; \u2028 'ü'", "Ω" * 40)


@functools.cache
def egonets() -> Explanation:
    """Return what is found in a few ego networks, which have no labels."""
    graphs, y = make_egonets(40, n_nodes=(30, 40), random_state=0)
    kernel = optimized(max_depth=3, n_partitions=2, random_state=0)
    return explain(kernel, graphs, y, n_permutations=99)


@functools.cache
def nasty() -> Explanation:
    """Return what is found in graphs whose labels, names and classes look like markup."""
    rng = np.random.default_rng(0)
    graphs = []
    for i in range(16):
        n = int(rng.integers(5, 9))
        edges = [(j, j + 1) for j in range(n - 1)]
        labels = [NASTY[(i % 2 + k) % len(NASTY)] for k in rng.integers(3, size=n)]
        graph = networkx.Graph()
        graph.add_nodes_from((v, {"label": label}) for v, label in enumerate(labels))
        graph.add_edges_from((a, b, {"label": NASTY[rng.integers(2)]}) for a, b in edges)
        graphs.append(graph)
    kernel = optimized(max_depth=2, n_partitions=1, edge_labels=True, random_state=0)
    classes = ["<b>bold</b>", "</script><script>alert(3)</script>"]
    collection = GraphCollection.from_networkx(graphs, node_label="label", edge_label="label")
    collection = collection.with_names([f"{NASTY[i % len(NASTY)]} {i}" for i in range(16)])
    return explain(kernel, collection, [classes[i % 2] for i in range(16)], n_permutations=19)


@functools.cache
def page_of(name: str, title: str = "Ego networks") -> str:
    """Return the page of one of the explanations, rendered once."""
    return render_explorer({"egonets": egonets, "nasty": nasty}[name](), title=title)


def data_of(page: str) -> dict:
    """Return the data that a page carries."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    return json.loads(match.group(1))

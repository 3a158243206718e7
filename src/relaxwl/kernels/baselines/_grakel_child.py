"""The program of the child process that runs GraKeL; started by ``_grakel.py``, it imports nothing of this package.

It reads one pickled job from standard input and writes one pickled result for each graph to standard output, so that
the parent sees how far it is and can stop it at any time.
"""

import hashlib
import pickle
import sys
from typing import Any

import numpy as np
from grakel import Graph
from grakel.kernels.odd_sth import make_big_dag

# Longer descriptions of trees travel as a checksum.
LONGEST_NAME = 64


def grakel_graph(job: dict[str, Any], graph: int) -> Graph:
    """Return one graph of the job in GraKeL's form: dictionaries of neighbours and of labels."""
    start, stop = job["offsets"][graph], job["offsets"][graph + 1]
    bounds = job["indptr"][start : stop + 1]
    neighbours = (job["indices"][bounds[0] : bounds[-1]] - start).tolist()
    ends = (bounds - bounds[0]).tolist()
    edges = {node: dict.fromkeys(neighbours[ends[node] : ends[node + 1]], 1.0) for node in range(stop - start)}
    return Graph(edges, dict(enumerate(job["labels"][start:stop].tolist())), {}, "dictionary")


def tree_counts(job: dict[str, Any], graph: int) -> tuple[list[str], np.ndarray]:
    """Return the trees of one graph's decomposition and how often each occurs."""
    if job["offsets"][graph] == job["offsets"][graph + 1]:
        return [], np.empty(0)
    trees = make_big_dag(grakel_graph(job, graph), job["height"])[0].values()
    return [short_name(name) for _, _, name in trees], np.array([count for _, count, _ in trees], float)


def short_name(name: str) -> str:
    """Return the description of a tree, or a checksum if it is long."""
    if len(name) <= LONGEST_NAME:
        return name
    return "checksum " + hashlib.blake2b(name.encode(), digest_size=16).hexdigest()


def main() -> None:
    """Answer the job on standard input."""
    job = pickle.load(sys.stdin.buffer)
    for graph in job["graphs"]:
        pickle.dump((graph, *tree_counts(job, graph)), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

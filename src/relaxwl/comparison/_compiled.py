"""Compiled loops: cycles and cliques of four nodes."""

import numpy as np

from relaxwl._compiling import njit


@njit(nogil=True, cache=True)
def small_subgraphs(nodes, window, indptr, indices, out):
    """Write ``out``, float64 (n_nodes, 3): the triangles, 4-cycles and 4-cliques through each of some nodes.

    The nodes belong to one graph, the nodes ``window[0]`` to ``window[1] - 1``, whose neighbors ascend in both
    directions. Cycles may have chords. A cycle through a node has one node opposite to it, and the number of cycles
    with the same opposite node is the number of pairs of common neighbors. A clique is counted once, by its nodes in
    ascending order: ``near`` marks the neighbors of the node, ``both`` its common neighbors with a second one.
    """
    first, last = window
    paths = np.zeros(last - first, np.int64)
    near = np.zeros(last - first, np.bool_)
    both = np.zeros(last - first, np.bool_)
    for place in range(len(nodes)):
        node = nodes[place]
        begin, end = indptr[node], indptr[node + 1]
        for entry in range(begin, end):
            near[indices[entry] - first] = True
            for further in range(indptr[indices[entry]], indptr[indices[entry] + 1]):
                paths[indices[further] - first] += 1
        paths[node - first] = 0
        triangles, cycles, cliques = 0.0, 0.0, 0.0
        for entry in range(begin, end):
            second = indices[entry]
            for further in range(indptr[second], indptr[second + 1]):
                other = indices[further] - first
                cycles += paths[other] * (paths[other] - 1) / 2
                paths[other] = 0  # each opposite node counts once
                both[other] = near[other]
            for further in range(indptr[second], indptr[second + 1]):
                third = indices[further]
                if third > second and both[third - first]:
                    triangles += 1
                    for last_step in range(indptr[third], indptr[third + 1]):
                        if indices[last_step] > third and both[indices[last_step] - first]:
                            cliques += 1
            for further in range(indptr[second], indptr[second + 1]):
                both[indices[further] - first] = False
        for entry in range(begin, end):
            near[indices[entry] - first] = False
        out[place, 0], out[place, 1], out[place, 2] = triangles, cycles, cliques

"""The definitions, slow and obvious: oracles for the package, of which nothing is imported here.

A tree is a nested tuple ``(label, ((edge label, tree), ...))``, the edge label None where there is none. A cost is
a function of two labels in which None is the blank ⊥.
"""

import itertools
from collections import Counter

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog

# ---------------------------------------------------------------------------------------------------------------
# Trees


def unfolding_tree(neighbors, labels, vertex, depth, edge_labels=None):
    """Write the unfolding tree of a vertex out: ``neighbors[v]`` and ``edge_labels[v]`` are aligned lists."""
    if depth == 0:
        return (labels[vertex], ())
    edges = [None] * len(neighbors[vertex]) if edge_labels is None else edge_labels[vertex]
    below = [unfolding_tree(neighbors, labels, other, depth - 1, edge_labels) for other in neighbors[vertex]]
    return (labels[vertex], tuple(zip(edges, below, strict=True)))


def sorted_tree(tree):
    """Sort children everywhere by what they look like written out, so that isomorphic trees become equal."""
    label, children = tree
    return (label, tuple(sorted(((edge, sorted_tree(child)) for edge, child in children), key=repr)))


def tree_size(tree):
    return 1 + sum(tree_size(child) for _, child in tree[1])


def tree_vertices(tree):
    """Return for every vertex, the root first, its (label, edge label, parent)."""
    vertices = []

    def visit(node, edge, parent):
        vertices.append((node[0], edge, parent))
        me = len(vertices) - 1
        for child_edge, child in node[1]:
            visit(child, child_edge, me)

    visit(tree, None, None)
    return vertices


def tree_isomorphic(a, b):
    """Try every matching of the children."""
    if a[0] != b[0] or len(a[1]) != len(b[1]):
        return False
    return any(
        all(
            edge == other_edge and tree_isomorphic(child, other)
            for (edge, child), (other_edge, other) in zip(a[1], order, strict=True)
        )
        for order in itertools.permutations(b[1])
    )


# ---------------------------------------------------------------------------------------------------------------
# The tree edit distance


def discrete(a, b):
    """The cost that is 1 for everything."""
    return 0.0 if a == b else 1.0


def no_edge_cost(a, b):
    return 0.0


def is_tree_mapping(mapping, parents, other_parents):
    """Check the definition: one-to-one, root on root, parents of mapped vertices mapped."""
    definite = all((v == w) == (v2 == w2) for (v, v2), (w, w2) in itertools.product(mapping, repeat=2))
    root = (0, 0) in mapping
    structure = all((parents[v], other_parents[w]) in mapping for v, w in mapping if (v, w) != (0, 0))
    return definite and root and structure


def all_tree_mappings(a, b):
    """Yield every set of vertex pairs that satisfies the definition."""
    parents = [parent for _, _, parent in tree_vertices(a)]
    other_parents = [parent for _, _, parent in tree_vertices(b)]

    def extend(vertex, chosen):
        if vertex == len(parents):
            mapping = frozenset(chosen.items())
            assert is_tree_mapping(mapping, parents, other_parents)
            yield mapping
            return
        yield from extend(vertex + 1, chosen)
        for other in range(1, len(other_parents)):
            if other not in chosen.values() and chosen.get(parents[vertex]) == other_parents[other]:
                yield from extend(vertex + 1, {**chosen, vertex: other})

    yield from extend(1, {0: 0})


def tree_mapping_cost(mapping, a, b, cost=discrete, edge_cost=no_edge_cost):
    """Add up relabelling of mapped vertices and edges, deletion and insertion of all others."""
    left, right = tree_vertices(a), tree_vertices(b)
    total = 0.0
    for v, w in mapping:
        total += cost(left[v][0], right[w][0])
        if v != 0:
            total += edge_cost(left[v][1], right[w][1])
    for v, (label, edge, _) in enumerate(left):
        if v not in {pair[0] for pair in mapping}:
            total += cost(label, None) + edge_cost(edge, None)
    for w, (label, edge, _) in enumerate(right):
        if w not in {pair[1] for pair in mapping}:
            total += cost(None, label) + edge_cost(None, edge)
    return total


def brute_force_tree_distance(a, b, cost=discrete, edge_cost=no_edge_cost):
    """The definition of SdTed: the least cost over all mappings."""
    return min(tree_mapping_cost(mapping, a, b, cost, edge_cost) for mapping in all_tree_mappings(a, b))


def tree_deletion_cost(tree, cost=discrete, edge_cost=no_edge_cost):
    """The distance to the empty tree."""
    below = sum(edge_cost(edge, None) + tree_deletion_cost(child, cost, edge_cost) for edge, child in tree[1])
    return cost(tree[0], None) + below


def recursive_tree_distance(a, b, cost=discrete, edge_cost=no_edge_cost):
    """The recursion of the paper: a perfect matching of the child trees, both sides padded with empty trees."""
    left = [*a[1], *[None] * len(b[1])]
    right = [*b[1], *[None] * len(a[1])]
    matrix = np.zeros((len(left), len(right)))
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            if one is not None and other is not None:
                matrix[i, j] = edge_cost(one[0], other[0]) + recursive_tree_distance(one[1], other[1], cost, edge_cost)
            elif one is not None or other is not None:
                edge, tree = one or other
                matrix[i, j] = edge_cost(edge, None) + tree_deletion_cost(tree, cost, edge_cost)
    return cost(a[0], b[0]) + matrix[linear_sum_assignment(matrix)].sum()


def transport_tree_distance(a, b, cost=discrete, edge_cost=no_edge_cost):
    """The same as optimal transport between the counts of distinct children, the lighter side padded at ⊥."""
    left, right = Counter(map(_sorted_branch, a[1])), Counter(map(_sorted_branch, b[1]))
    points = [*dict.fromkeys([*left, *right]), None]
    x = np.array([left[point] for point in points], dtype=float)
    y = np.array([right[point] for point in points], dtype=float)
    x[-1], y[-1] = max(0, y.sum() - x.sum()), max(0, x.sum() - y.sum())
    ground = np.zeros((len(points), len(points)))
    for i, j in itertools.combinations(range(len(points)), 2):
        (edge, tree), other = points[i], points[j]
        if other is None:
            ground[i, j] = edge_cost(edge, None) + tree_deletion_cost(tree, cost, edge_cost)
        else:
            ground[i, j] = edge_cost(edge, other[0]) + transport_tree_distance(tree, other[1], cost, edge_cost)
        ground[j, i] = ground[i, j]
    return cost(a[0], b[0]) + transport_cost(x, y, ground)


def _sorted_branch(branch):
    return (branch[0], sorted_tree(branch[1]))


def transport_cost(x, y, ground):
    """Optimal transport between equal masses as a linear program."""
    n, m = ground.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    result = linprog(ground.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([x, y]))
    assert result.success
    return float(result.fun)


# ---------------------------------------------------------------------------------------------------------------
# Weisfeiler-Lehman refinement. A graph is (n_nodes, edges, labels, edge labels or None); edges are listed once.


def neighborhoods(graph, edge_labels=False):
    """Return, for each vertex, its neighbours as pairs (edge label, vertex); label 0 if labels do not count."""
    n_nodes, edges, _, names = graph
    around = [[] for _ in range(n_nodes)]
    for place, (a, b) in enumerate(edges):
        name = names[place] if edge_labels else 0
        around[a].append((name, b))
        around[b].append((name, a))
    return around


def refinements(graphs, max_depth, edge_labels=False):
    """Return, for each depth, the label of every vertex of every graph: nested tuples, equal exactly if trees are."""
    current = [[(label,) for label in graph[2]] for graph in graphs]
    depths = [current]
    for _ in range(max_depth):
        following = []
        for graph, labels in zip(graphs, current, strict=True):
            around = neighborhoods(graph, edge_labels)
            following.append(
                [
                    (graph[2][v], tuple(sorted(((name, labels[w]) for name, w in around[v]), key=repr)))
                    for v in range(graph[0])
                ]
            )
        current = following
        depths.append(current)
    return depths


def canonical_rows(graphs, root_codes, previous, edge_codes=None):
    """Return the distinct rows in canonical order and the row of each vertex, all graphs' vertices after each other.

    A row is (root code, number of children, ((edge code, previous id), count) for each kind of child, ascending).
    """
    rows, vertex = [], 0
    for place, graph in enumerate(graphs):
        for v, around in enumerate(neighborhoods(graph, edge_codes is not None)):
            kinds = Counter(((edge_codes[name] if edge_codes else 0), previous[vertex + w]) for name, w in around)
            rows.append((root_codes[place][v], len(around), tuple(sorted(kinds.items()))))
        vertex += graph[0]
    distinct = sorted(set(rows))
    return distinct, [distinct.index(row) for row in rows]


def shortest_path_lengths(graph):
    """Floyd and Warshall; infinity where there is no path."""
    n_nodes = graph[0]
    lengths = np.full((n_nodes, n_nodes), np.inf)
    np.fill_diagonal(lengths, 0)
    for a, b in graph[1]:
        lengths[a, b] = lengths[b, a] = 1
    for middle in range(n_nodes):
        lengths = np.minimum(lengths, lengths[:, middle, None] + lengths[None, middle, :])
    return lengths


def base_counts(graph, labels, base, edge_labels=False):
    """Count labels, unordered label pairs on edges, or (label, label, length) over ordered pairs of vertices."""
    if base == "subtree":
        return Counter(labels)
    if base == "edge":
        names = graph[3] if edge_labels else [0] * len(graph[1])
        ends = [tuple(sorted((labels[a], labels[b]), key=repr)) for a, b in graph[1]]
        return Counter(zip(names, ends, strict=True))
    lengths = shortest_path_lengths(graph)
    pairs = itertools.permutations(range(graph[0]), 2)
    return Counter((labels[a], labels[b], lengths[a, b]) for a, b in pairs if np.isfinite(lengths[a, b]))


def wl_counts(graphs, max_depth, base="subtree", edge_labels=False):
    """Return, for each graph, one Counter a depth."""
    depths = refinements(graphs, max_depth, edge_labels)
    return [
        [base_counts(graph, labels[place], base, edge_labels) for labels in depths]
        for place, graph in enumerate(graphs)
    ]


def count_kernel(counts, others, weights=None, minimum=False, normalize=False):
    """Compare lists of Counters: Σ over depths of the weighted dot product, or of the minima."""

    def value(one, other):
        total = 0.0
        for depth, (a, b) in enumerate(zip(one, other, strict=True)):
            weight = 1.0 if weights is None else weights[depth]
            total += weight * sum(min(a[key], b[key]) if minimum else a[key] * b[key] for key in a)
        return total

    matrix = np.array([[value(one, other) for other in others] for one in counts]).reshape(len(counts), len(others))
    if normalize:
        left, right = ([value(one, one) for one in side] for side in (counts, others))
        for i, j in itertools.product(range(len(counts)), range(len(others))):
            if left[i] and right[j]:
                matrix[i, j] /= np.sqrt(left[i] * right[j])
    return matrix


# ---------------------------------------------------------------------------------------------------------------
# Clusters of rows. A row or centre is (root code, {point: mass}); the ground cost has the blank ⊥ last.


def row_distance(row, center, ground, root_cost):
    """The cost between the roots and the transport cost between the children, the lighter side padded at ⊥."""
    x, y = np.zeros(len(ground)), np.zeros(len(ground))
    for point, mass in row[1].items():
        x[point] += mass
    for point, mass in center[1].items():
        y[point] += mass
    x[-1], y[-1] = max(0.0, y.sum() - x.sum()), max(0.0, x.sum() - y.sum())
    used, wanted = np.flatnonzero(x), np.flatnonzero(y)
    if len(used) == 0:
        return float(root_cost[row[0]][center[0]])
    costs = np.asarray(ground, float)[np.ix_(used, wanted)]
    if all(float(mass).is_integer() for mass in [*x, *y]):
        units = np.repeat(np.arange(len(used)), x[used].astype(int))
        places = np.repeat(np.arange(len(wanted)), y[wanted].astype(int))
        spread = costs[np.ix_(units, places)]
        moved = spread[linear_sum_assignment(spread)].sum()
    else:
        moved = transport_cost(x[used], y[wanted] * (x.sum() / y.sum()), costs)
    return float(root_cost[row[0]][center[0]]) + float(moved)


def deletion_cost(center, ground, root_cost):
    """The distance to the empty tree: delete the root and all children."""
    return root_cost[center[0]][-1] + sum(mass * ground[point][-1] for point, mass in center[1].items())


def nearest_centers(rows, centers, ground, root_cost, tolerance=1e-9):
    """Compute every distance; of those within the tolerance of the least, the lowest index wins."""
    labels, distances = [], []
    for row in rows:
        all_distances = [row_distance(row, center, ground, root_cost) for center in centers]
        least = min(all_distances)
        labels.append(next(c for c, distance in enumerate(all_distances) if distance <= least + tolerance))
        distances.append(least)
    return labels, distances


def center_grounds(centers, ground, root_cost):
    """Return the distances between centres, ⊥ last: the ground cost of the depth above."""
    k = len(centers)
    out = np.zeros((k + 1, k + 1))
    for i, j in itertools.combinations(range(k), 2):
        out[i, j] = out[j, i] = row_distance(centers[i], centers[j], ground, root_cost)
    for i in range(k):
        out[i, k] = out[k, i] = deletion_cost(centers[i], ground, root_cost)
    return out


def best_centers(rows, labels, k, ground, root_cost, old):
    """Return, for each cluster, the member that is the best centre, the first of equals; empty ones keep theirs."""
    centers = list(old)
    for cluster in range(k):
        members = [row for row, label in zip(rows, labels, strict=True) if label == cluster]
        sums = [sum(row_distance(row, other, ground, root_cost) for row in members) for other in members]
        if members:
            centers[cluster] = members[int(np.argmin(sums))]
    return centers


def relaxed_groups(graphs, root_codes, centers_by_depth, root_cost):
    """R-WL* with given centres: return, for each depth, the group of every vertex.

    ``centers_by_depth[0]`` are the labels themselves. At every further depth a vertex is the row of its neighbours'
    groups and joins the nearest centre; distances between centres are the ground cost of the next depth.
    """
    codes = [code for graph in root_codes for code in graph]
    groups = [[center[0] for center in centers_by_depth[0]].index(code) for code in codes]
    ground = center_grounds(centers_by_depth[0], np.zeros((1, 1)), root_cost)
    result = [groups]
    for centers in centers_by_depth[1:]:
        rows, vertex = [], 0
        for graph in graphs:
            for around in neighborhoods(graph):
                rows.append((codes[len(rows)], Counter(result[-1][vertex + w] for _, w in around)))
            vertex += graph[0]
        result.append(nearest_centers(rows, centers, ground, root_cost)[0])
        ground = center_grounds(centers, ground, root_cost)
    return result


def exact_groups(graphs, root_codes, centers_by_depth, root_cost):
    """R-WL with given centres: as R-WL*, but rows count the exact trees of the depth below, numbered canonically."""
    codes = [code for graph in root_codes for code in graph]
    used = sorted(set(codes))
    trees, ids = [(code, {}) for code in used], [used.index(code) for code in codes]
    ground = np.zeros((1, 1))
    result = [nearest_centers([trees[i] for i in ids], centers_by_depth[0], ground, root_cost)[0]]
    for centers in centers_by_depth[1:]:
        ground = center_grounds(trees, ground, root_cost)
        canonical, ids = canonical_rows(graphs, root_codes, ids)
        trees = [(root, {child: count for (_, child), count in children}) for root, _, children in canonical]
        labels = nearest_centers(trees, centers, ground, root_cost)[0]
        result.append([labels[i] for i in ids])
    return result

"""The definitions, slow and obvious: oracles for the package, of which nothing is imported here.

A tree is a nested tuple ``(label, ((edge label, tree), ...))``, the edge label None where there is none. A cost is
a function of two labels in which None is the blank ⊥. A graph is ``(n_nodes, edges, labels, edge labels or None)``;
edges are listed once. A measure is a list of masses, one for each point; the ground cost has the blank ⊥ last.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog

# ---------------------------------------------------------------------------------------------------------------
# Trees


def unfolding_tree(neighbors, labels, node, depth, edge_labels=None):
    """Write the unfolding tree of a node out: ``neighbors[v]`` and ``edge_labels[v]`` are aligned lists."""
    if depth == 0:
        return (labels[node], ())
    edges = [None] * len(neighbors[node]) if edge_labels is None else edge_labels[node]
    below = [unfolding_tree(neighbors, labels, other, depth - 1, edge_labels) for other in neighbors[node]]
    return (labels[node], tuple(zip(edges, below, strict=True)))


def sorted_tree(tree):
    """Sort children everywhere by what they look like written out, so that isomorphic trees become equal."""
    label, children = tree
    return (label, tuple(sorted(((edge, sorted_tree(child)) for edge, child in children), key=repr)))


def tree_size(tree):
    return 1 + sum(tree_size(child) for _, child in tree[1])


def tree_nodes(tree):
    """Return for every node, the root first, its (label, edge label, parent)."""
    nodes = []

    def visit(node, edge, parent):
        nodes.append((node[0], edge, parent))
        me = len(nodes) - 1
        for child_edge, child in node[1]:
            visit(child, child_edge, me)

    visit(tree, None, None)
    return nodes


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
# Transport


def transport_cost(x, y, costs):
    """Minimize Σ plan·cost between equal masses subject to the marginals, as a linear program."""
    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    # One equation follows from the others; leaving it out forgives the rounding of the total mass.
    equations = np.vstack([rows, columns[:-1]])
    result = linprog(costs.ravel(), A_eq=equations, b_eq=np.concatenate([x, y[:-1]]))
    assert result.success
    return float(result.fun)


def uniform_transport_cost(costs):
    """The transport cost between uniform distributions on the rows and on the columns."""
    n, m = costs.shape
    return transport_cost(np.full(n, 1 / n), np.full(m, 1 / m), costs)


def padded_measures(x, y):
    """Append to the lighter measure, at ⊥, what it lacks."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    missing = x.sum() - y.sum()
    return np.append(x, max(0.0, -missing)), np.append(y, max(0.0, missing))


def padded_transport_by_program(x, y, ground):
    """The transport cost between padded measures as a linear program over all pairs of points with mass."""
    x, y = padded_measures(x, y)
    sources, sinks = np.flatnonzero(x), np.flatnonzero(y)
    if len(sources) == 0 or len(sinks) == 0:
        return 0.0
    return transport_cost(x[sources], y[sinks], np.asarray(ground, float)[np.ix_(sources, sinks)])


def padded_transport_by_units(x, y, ground):
    """The same for whole masses: spread them out into units and match these one to one."""
    x, y = padded_measures(x, y)
    sources = np.repeat(np.arange(len(x)), x.astype(int))
    sinks = np.repeat(np.arange(len(y)), y.astype(int))
    costs = np.asarray(ground, float)[np.ix_(sources, sinks)]
    return float(costs[linear_sum_assignment(costs)].sum())


def rational_transport(x, y, ground):
    """The same in rational numbers, without any rounding: the best matching of each set of units (bits), one by one.

    Units that both measures have stay where they are, as under every metric.
    """
    x, y = padded_measures(x, y)
    sources = np.repeat(np.arange(len(x)), np.maximum(x - y, 0).astype(int))
    sinks = np.repeat(np.arange(len(y)), np.maximum(y - x, 0).astype(int))
    costs = [[Fraction(float(ground[source][sink])) for sink in sinks] for source in sources]
    best = {0: Fraction(0)}
    for row in costs:
        longer = {}
        for taken, cost in best.items():
            for place in range(len(sinks)):
                if not taken >> place & 1:
                    more = taken | 1 << place
                    longer[more] = min(cost + row[place], longer.get(more, cost + row[place]))
        best = longer
    return min(best.values())


# ---------------------------------------------------------------------------------------------------------------
# The tree edit distance


def discrete_cost(a, b):
    """The cost that is 1 for everything."""
    return 0.0 if a == b else 1.0


def no_edge_cost(a, b):
    return 0.0


def is_tree_mapping(mapping, parents, other_parents):
    """Check the definition: one-to-one, root on root, parents of mapped nodes mapped."""
    definite = all((v == w) == (v2 == w2) for (v, v2), (w, w2) in itertools.product(mapping, repeat=2))
    root = (0, 0) in mapping
    structure = all((parents[v], other_parents[w]) in mapping for v, w in mapping if (v, w) != (0, 0))
    return definite and root and structure


def all_tree_mappings(a, b):
    """Yield every set of node pairs that satisfies the definition."""
    parents = [parent for _, _, parent in tree_nodes(a)]
    other_parents = [parent for _, _, parent in tree_nodes(b)]

    def extend(node, chosen):
        if node == len(parents):
            mapping = frozenset(chosen.items())
            assert is_tree_mapping(mapping, parents, other_parents)
            yield mapping
            return
        yield from extend(node + 1, chosen)
        for other in range(1, len(other_parents)):
            if other not in chosen.values() and chosen.get(parents[node]) == other_parents[other]:
                yield from extend(node + 1, {**chosen, node: other})

    yield from extend(1, {0: 0})


def tree_mapping_cost(mapping, a, b, cost=discrete_cost, edge_cost=no_edge_cost):
    """Add up relabeling of mapped nodes and edges, deletion and insertion of all others."""
    left, right = tree_nodes(a), tree_nodes(b)
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


def brute_force_tree_distance(a, b, cost=discrete_cost, edge_cost=no_edge_cost):
    """The definition of SdTed: the least cost over all mappings."""
    return min(tree_mapping_cost(mapping, a, b, cost, edge_cost) for mapping in all_tree_mappings(a, b))


def tree_deletion_cost(tree, cost=discrete_cost, edge_cost=no_edge_cost):
    """The distance to the empty tree."""
    below = sum(edge_cost(edge, None) + tree_deletion_cost(child, cost, edge_cost) for edge, child in tree[1])
    return cost(tree[0], None) + below


def recursive_tree_distance(a, b, cost=discrete_cost, edge_cost=no_edge_cost, memo=None):
    """The recursion of the paper: a perfect matching of the child trees, both sides padded with empty trees.

    A dict given as ``memo`` keeps the distances between subtrees; it serves one pair of costs only.
    """
    memo = {} if memo is None else memo
    if (a, b) in memo:
        return memo[a, b]
    left = [*a[1], *[None] * len(b[1])]
    right = [*b[1], *[None] * len(a[1])]
    matrix = np.zeros((len(left), len(right)))
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            if one is not None and other is not None:
                below = recursive_tree_distance(one[1], other[1], cost, edge_cost, memo)
                matrix[i, j] = edge_cost(one[0], other[0]) + below
            elif one is not None or other is not None:
                edge, tree = one or other
                matrix[i, j] = edge_cost(edge, None) + tree_deletion_cost(tree, cost, edge_cost)
    memo[a, b] = cost(a[0], b[0]) + matrix[linear_sum_assignment(matrix)].sum()
    return memo[a, b]


def transport_tree_distance(a, b, cost=discrete_cost, edge_cost=no_edge_cost):
    """The same as optimal transport between the counts of distinct children, the lighter side padded at ⊥."""
    left, right = Counter(map(_sorted_branch, a[1])), Counter(map(_sorted_branch, b[1]))
    points = [*dict.fromkeys([*left, *right]), None]
    x, y = ([side[point] for point in points[:-1]] for side in (left, right))
    ground = np.zeros((len(points), len(points)))
    for i, j in itertools.combinations(range(len(points)), 2):
        (edge, tree), other = points[i], points[j]
        if other is None:
            ground[i, j] = edge_cost(edge, None) + tree_deletion_cost(tree, cost, edge_cost)
        else:
            ground[i, j] = edge_cost(edge, other[0]) + transport_tree_distance(tree, other[1], cost, edge_cost)
        ground[j, i] = ground[i, j]
    return cost(a[0], b[0]) + padded_transport_by_program(x, y, ground)


def discounted_tree_distance(a, b, cost, factors):
    """The distance of trees, with one factor for each level: ``factors[0]`` weighs all that is below the roots.

    A tree that is None is empty: it has nothing but the root ⊥. Both sides are padded with empty trees.
    """
    left, right = ([] if tree is None else [child for _, child in tree[1]] for tree in (a, b))
    size = len(left) + len(right)
    left, right = left + [None] * (size - len(left)), right + [None] * (size - len(right))
    roots = [None if tree is None else tree[0] for tree in (a, b)]
    if not size:
        return cost(*roots)
    below = np.array(
        [[0.0 if p is q is None else discounted_tree_distance(p, q, cost, factors[1:]) for q in right] for p in left]
    )
    return cost(*roots) + factors[0] * below[linear_sum_assignment(below)].sum()


def graph_distance(graph, other, depth, cost, factors, shares=False):
    """The cheapest way to turn the trees of the nodes of one graph into those of the other, each node's into one.

    The smaller graph gets empty trees. With ``shares``, the nodes of each graph have together the mass 1.
    """
    sides = []
    for each in (graph, other):
        neighbors = neighbor_lists(each)
        sides.append([unfolding_tree(neighbors, each[2], node, depth) for node in range(each[0])])
    points = [*sides[0], *sides[1], None]
    ground = np.zeros((len(points), len(points)))
    for i, j in itertools.product(range(len(points) - 1), range(len(points))):
        ground[i, j] = ground[j, i] = discounted_tree_distance(points[i], points[j], cost, factors)
    n, m = map(len, sides)
    x, y = np.repeat([1, 0], [n, m]), np.repeat([0, 1], [n, m])
    if shares:
        return padded_transport_by_program(x / max(n, 1), y / max(m, 1), ground)
    return padded_transport_by_units(x, y, ground)


def euclidean_cost(a, b):
    """The distance of two vectors; ⊥ is the origin."""
    a, b = (np.zeros_like(b if a is None else a) if vector is None else np.asarray(vector, float) for vector in (a, b))
    return float(np.sqrt(((a - b) ** 2).sum()))


def _sorted_branch(branch):
    return (branch[0], sorted_tree(branch[1]))


# ---------------------------------------------------------------------------------------------------------------
# Weisfeiler-Lehman refinement


def neighborhoods(graph, edge_labels=False):
    """Return, for each node, its neighbors as pairs (edge label, node); label 0 if labels do not count."""
    n_nodes, edges, _, names = graph
    around = [[] for _ in range(n_nodes)]
    for place, (a, b) in enumerate(edges):
        name = names[place] if edge_labels else 0
        around[a].append((name, b))
        around[b].append((name, a))
    return around


def neighbor_lists(graph):
    return [[node for _, node in around] for around in neighborhoods(graph)]


def refinements(graphs, max_depth, edge_labels=False):
    """Return, for each depth, the label of every node of every graph: nested tuples, equal exactly if trees are."""
    current = [[(label,) for label in graph[2]] for graph in graphs]
    depths = [current]
    for _ in range(max_depth):
        following = []
        for graph, labels in zip(graphs, current, strict=True):
            written = [repr(label) for label in labels]
            following.append([])
            for own, around in zip(graph[2], neighborhoods(graph, edge_labels), strict=True):
                ordered = sorted(around, key=lambda branch: (repr(branch[0]), written[branch[1]]))
                following[-1].append((own, tuple((name, labels[w]) for name, w in ordered)))
        current = following
        depths.append(current)
    return depths


def canonical_rows(graphs, root_codes, previous, edge_codes=None):
    """Return the distinct rows in canonical order and the row of each node, all graphs' nodes after each other.

    A row is (root code, number of children, ((edge code, previous id), count) for each kind of child, ascending).
    """
    rows, node = [], 0
    for place, graph in enumerate(graphs):
        for v, around in enumerate(neighborhoods(graph, edge_codes is not None)):
            kinds = Counter(((edge_codes[name] if edge_codes else 0), previous[node + w]) for name, w in around)
            rows.append((root_codes[place][v], len(around), tuple(sorted(kinds.items()))))
        node += graph[0]
    distinct = sorted(set(rows))
    return distinct, [distinct.index(row) for row in rows]


# ---------------------------------------------------------------------------------------------------------------
# Counts of labels, edges and shortest paths, and their kernels


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
    """Count labels, unordered label pairs on edges, or (label, label, length) over ordered pairs of nodes."""
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


def node_edge_counts(graph):
    return base_counts(graph, graph[2], "subtree") + base_counts(graph, graph[2], "edge")


def count_product(counts, others, minimum=False):
    """The dot product of two Counters, or the sum of the minima."""
    return sum(min(counts[key], others[key]) if minimum else counts[key] * others[key] for key in counts)


def count_kernel(counts, others, weights=None, minimum=False, normalize=False):
    """Compare lists of Counters: Σ over depths of the weighted dot product, or of the minima.

    ``normalize`` makes the similarity of a graph with itself 1; with "depth" that of each depth, before weighting.
    """

    def value(one, other):
        total = 0.0
        for depth, (a, b) in enumerate(zip(one, other, strict=True)):
            weight = 1.0 if weights is None else weights[depth]
            product = count_product(a, b, minimum)
            if normalize == "depth" and product:
                product /= np.sqrt(count_product(a, a, minimum) * count_product(b, b, minimum))
            total += weight * product
        return total

    matrix = np.array([[value(one, other) for other in others] for one in counts]).reshape(len(counts), len(others))
    if normalize is True:
        left, right = ([value(one, one) for one in side] for side in (counts, others))
        for i, j in itertools.product(range(len(counts)), range(len(others))):
            if left[i] and right[j]:
                matrix[i, j] /= np.sqrt(left[i] * right[j])
    return matrix


def tanimoto_kernel(counts, others, weights=None, by_depth=False):
    """Compare lists of Counters by Σ min / Σ max of the weighted counts of all depths (0/0 is 0).

    ``by_depth`` takes each depth for itself and adds the depths up by their weights.
    """

    def ratio(pairs):
        smaller = sum(min(a, b) for a, b in pairs)
        larger = sum(max(a, b) for a, b in pairs)
        return smaller / larger if larger else 0.0

    def value(one, other):
        factors = [1.0] * len(one) if weights is None else weights
        if by_depth:
            depths = zip(factors, one, other, strict=True)
            return sum(factor * ratio([(a[key], b[key]) for key in {*a, *b}]) for factor, a, b in depths)
        depths = zip(factors, one, other, strict=True)
        return ratio([(factor * a[key], factor * b[key]) for factor, a, b in depths for key in {*a, *b}])

    return np.array([[value(one, other) for other in others] for one in counts]).reshape(len(counts), len(others))


def unary_code(counts, training, weights=None, normalize=False, longest=64):
    """Turn lists of Counters into dicts of (depth, key, step) whose products are the intersections with training.

    Up to the largest training count each unit is a step, if that is at most ``longest``; else each distinct count.
    """
    n_depths = len(training[0])
    steps = {}
    for depth in range(n_depths):
        for key in {key for graph in training for key in graph[depth]}:
            met = sorted({graph[depth][key] for graph in training if graph[depth][key] > 0})
            unit = met[-1] <= longest and all(value == int(value) for value in met)
            steps[depth, key] = list(range(1, int(met[-1]) + 1)) if unit else met
    coded = []
    for graph in counts:
        sizes = [sum(depth.values()) for depth in graph]
        factors = [1.0] * n_depths if weights is None else weights
        whole = sum(factor * size for factor, size in zip(factors, sizes, strict=True))
        code = {}
        for depth in range(n_depths):
            norm = {False: 1.0, True: whole, "depth": sizes[depth]}[normalize] or 1.0
            for key, count in graph[depth].items():
                below = 0
                for end in steps.get((depth, key), []):
                    share = max(min(count, end) - below, 0) / (end - below)
                    code[depth, key, end] = share * np.sqrt((end - below) * factors[depth] / norm)
                    below = end
        coded.append(code)
    return coded


# ---------------------------------------------------------------------------------------------------------------
# Barycenters


def optimal_barycenter_cost(members, ground):
    """The least sum of distances to any measure: all members filled up at ⊥ to more mass than can matter.

    A linear program over a plan from each member and the common marginal of all plans, which comes last.
    """
    n, size = len(members), len(ground)
    total = 1 + 2 * np.sum(members)
    plans = n * size * size
    equations, sides = [], []
    for i, member in enumerate(members):
        masses = np.append(member, total - sum(member))
        for point in range(size):
            sends, receives = np.zeros((size, size)), np.zeros((size, size))
            sends[point], receives[:, point] = 1, 1
            for block, side, marginal in ((sends, masses[point], 0), (receives, 0, -1)):
                equation = np.zeros(plans + size)
                equation[i * size * size : (i + 1) * size * size] = block.ravel()
                equation[plans + point] = marginal
                equations.append(equation)
                sides.append(side)
    costs = np.concatenate([np.tile(ground.ravel(), n), np.zeros(size)])
    return linprog(costs, A_eq=np.array(equations), b_eq=sides).fun


def barycenter_cost(members, center, ground, weights):
    """The weighted sum of distances to a center; whole masses only."""
    distances = [padded_transport_by_units(member, center, ground) for member in members]
    return sum(weight * distance for weight, distance in zip(weights, distances, strict=True))


def barycenter_move_changes(members, center, ground, weights):
    """How the cost changes if one unit of a center moves from a point (or ⊥) to another; infinite where it cannot."""
    size = len(ground)
    before = barycenter_cost(members, center, ground, weights)
    changes = np.full((size, size), np.inf)
    for origin, goal in itertools.product(range(size), repeat=2):
        moved = np.append(center, 1)
        moved[origin] -= 1
        moved[goal] += 1
        if moved[origin] >= 0:
            changes[origin, goal] = barycenter_cost(members, moved[:-1], ground, weights) - before
    return changes


# ---------------------------------------------------------------------------------------------------------------
# Clusters of rows. A row or center is (root code, {point: mass}).


def row_distance(row, center, ground, root_cost):
    """The cost between the roots and the transport cost between the children, the lighter side padded at ⊥."""
    x, y = ([children.get(point, 0.0) for point in range(len(ground) - 1)] for _, children in (row, center))
    whole = all(float(mass).is_integer() for mass in [*x, *y])
    transport = padded_transport_by_units if whole else padded_transport_by_program
    return float(root_cost[row[0]][center[0]]) + transport(x, y, ground)


def row_deletion_cost(center, ground, root_cost):
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


def spread_seeds(rows, weights, ground, root_cost, uniforms):
    """k-means++: draw by weight, then by weight times distance to the nearest seed; one uniform number a draw."""
    seeds = []
    for uniform in uniforms:
        shares = [
            weight * min([row_distance(row, rows[seed], ground, root_cost) for seed in seeds], default=1.0)
            for row, weight in zip(rows, weights, strict=True)
        ]
        reached = list(itertools.accumulate(shares))
        seeds.append(next(place for place, value in enumerate(reached) if value > uniform * reached[-1]))
    return seeds


def center_grounds(centers, ground, root_cost):
    """Return the distances between centers, ⊥ last: the ground cost of the depth above."""
    k = len(centers)
    out = np.zeros((k + 1, k + 1))
    for i, j in itertools.combinations(range(k), 2):
        out[i, j] = out[j, i] = row_distance(centers[i], centers[j], ground, root_cost)
    for i in range(k):
        out[i, k] = out[k, i] = row_deletion_cost(centers[i], ground, root_cost)
    return out


def best_centers(rows, labels, k, ground, root_cost, old):
    """Return, for each cluster, the member that is the best center, the first of equals; empty ones keep theirs."""
    centers = list(old)
    for cluster in range(k):
        members = [row for row, label in zip(rows, labels, strict=True) if label == cluster]
        sums = [sum(row_distance(row, other, ground, root_cost) for row in members) for other in members]
        if members:
            centers[cluster] = members[int(np.argmin(sums))]
    return centers


# ---------------------------------------------------------------------------------------------------------------
# Relaxed Weisfeiler-Lehman groups


def relaxed_groups(graphs, root_codes, centers_by_depth, root_cost):
    """R-WL* with given centers: return, for each depth, the group of every node.

    ``centers_by_depth[0]`` are the labels themselves. At every further depth a node is the row of its neighbors'
    groups and joins the nearest center; distances between centers are the ground cost of the next depth.
    """
    codes = [code for graph in root_codes for code in graph]
    groups = [[center[0] for center in centers_by_depth[0]].index(code) for code in codes]
    ground = center_grounds(centers_by_depth[0], np.zeros((1, 1)), root_cost)
    result = [groups]
    for centers in centers_by_depth[1:]:
        rows, node = [], 0
        for graph in graphs:
            for around in neighborhoods(graph):
                rows.append((codes[len(rows)], Counter(result[-1][node + w] for _, w in around)))
            node += graph[0]
        result.append(nearest_centers(rows, centers, ground, root_cost)[0])
        ground = center_grounds(centers, ground, root_cost)
    return result


def exact_groups(graphs, root_codes, centers_by_depth, root_cost):
    """R-WL with given centers: as R-WL*, but rows count the exact trees of the depth below, numbered canonically."""
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


# ---------------------------------------------------------------------------------------------------------------
# Baselines: graphlets


def graphlet_law(graph, max_size):
    """Return the probability of each graphlet, named by its sorted edges in the smallest renumbering."""
    n = graph[0]
    neighbors = neighbor_lists(graph)
    sizes = range(min(3, n), min(max_size, n) + 1)
    law = Counter()
    for size in sizes:
        subsets = list(itertools.combinations(range(n), size))
        for subset in subsets:
            edges = {(i, j) for i, j in itertools.combinations(range(size), 2) if subset[j] in neighbors[subset[i]]}
            law[size, smallest_graphlet_form(edges, size)] += 1 / len(subsets) / len(sizes)
    return law


def smallest_graphlet_form(edges, size):
    """Return the sorted edges in the renumbering of the nodes in which they are least."""
    forms = []
    for order in itertools.permutations(range(size)):
        forms.append(tuple(sorted(tuple(sorted((order[i], order[j]))) for i, j in edges)))
    return min(forms)


# ---------------------------------------------------------------------------------------------------------------
# Baselines: Wasserstein distances and best assignments


def wl_label_costs(graph, other, depth):
    """Return, for each pair of nodes, the share of depths at which their labels differ."""
    depths = refinements([graph, other], depth)
    return np.mean([[[a != b for b in right] for a in left] for left, right in depths], axis=0)


def smoothed_attributes(graph, values, depth):
    """Iterate the mean of own vector and neighbors' average; return the vectors of all depths end to end."""
    neighbors = neighbor_lists(graph)
    places = [np.asarray(values, float)]
    for _ in range(depth):
        last = places[-1]
        around = [last[list(near)].mean(axis=0) if len(near) else last[v] for v, near in enumerate(neighbors)]
        places.append((last + np.array(around)) / 2)
    return np.hstack(places)


# ---------------------------------------------------------------------------------------------------------------
# Nodes as vectors


def structural_features(graph):
    """Return a row for each node, as the words say: subsets, deletions and powers of the matrix of steps."""
    neighbors = [set(near) for near in neighbor_lists(graph)]
    size = graph[0]
    steps = np.array([[(u in neighbors[v]) / max(len(neighbors[v]), 1) for u in range(size)] for v in range(size)])
    cores = [0] * size
    for least in range(1, size):
        left = set(range(size))
        while any(len(neighbors[v] & left) < least for v in left):
            left = {v for v in left if len(neighbors[v] & left) >= least}
        for v in left:
            cores[v] = least
    rows = []
    for v, near in enumerate(neighbors):
        degree = len(near)
        pairs = list(itertools.combinations(sorted(near), 2))
        triangles = sum(b in neighbors[a] for a, b in pairs)
        around = np.mean([len(neighbors[u]) for u in near]) if near else 0.0
        back = [np.linalg.matrix_power(steps, power)[v, v] for power in (2, 3, 4)]
        share = triangles / len(pairs) if pairs else 0.0
        rows.append([*np.log1p([degree, triangles, cores[v]]), share, np.log1p(around), degree / size, *back])
    return np.array(rows).reshape(size, 9)


def averaged_rows(neighbors, weights, rows):
    """Return the rounded mean of each row of whole numbers and of the weighted average of its neighbors' rows."""
    result = []
    for v, (near, heights) in enumerate(zip(neighbors, weights, strict=True)):
        around = rows[v] if sum(heights) == 0 else np.average([rows[u] for u in near], axis=0, weights=heights)
        result.append(np.rint((rows[v] + around) / 2))
    return np.array(result).reshape(np.shape(rows))


def nearest_rows(rows, centers):
    """Return the nearest of the centers of each row, all of whole numbers: the first of equally near ones."""
    apart = [
        [sum((int(a) - int(b)) ** 2 for a, b in zip(row, center, strict=True)) for center in centers] for row in rows
    ]
    return [distances.index(min(distances)) for distances in apart]


# ---------------------------------------------------------------------------------------------------------------
# Baselines: persistence


def refined_label_order(label):
    """Return a key that orders refined labels: root, number of children, then the sorted children with counts."""
    if len(label) == 1:
        return label
    kinds = Counter(child for _, child in label[1])
    return label[0], len(label[1]), tuple(sorted((refined_label_order(kind), n) for kind, n in kinds.items()))


def persistence_features(graph, depth, power=1.0, offset=1.0, uniform=False):
    """Return ({label: persistence}, {label: cycle weight}) of one depth.

    Components are sets of nodes, looked up anew for each edge. Of two components that merge, the one whose lowest
    label is higher ends.
    """
    neighbors = neighbor_lists(graph)
    depths = [labels for [labels] in refinements([graph], depth)]
    now = depths[depth]

    def weight(v, u):
        if uniform:
            return 1.0
        last = depths[max(depth - 1, 0)]
        total = offset + (last[v] != last[u])
        if depth > 0:
            a, b = (Counter(last[w] for w in neighbors[x]) for x in (v, u))
            total += sum(abs(a[label] - b[label]) ** power for label in a.keys() | b.keys()) ** (1 / power)
        return total

    pairs = [(v, u) for v in range(len(now)) for u in neighbors[v] if v < u]
    edges = [
        (weight(v, u), *sorted((refined_label_order(now[v]), refined_label_order(now[u]))), v, u) for v, u in pairs
    ]
    edges.sort(key=lambda edge: edge[:3])
    components = [{v} for v in range(len(now))]
    persistence, cycles = Counter(), Counter()
    for value, _, _, v, u in edges:
        one = next(part for part in components if v in part)
        other = next(part for part in components if u in part)
        if one is other:
            cycles[now[v]] += value**power
            cycles[now[u]] += value**power
            continue
        low, high = sorted((one, other), key=lambda part: min(refined_label_order(now[w]) for w in part))
        persistence[min((now[w] for w in high), key=refined_label_order)] += value**power
        components = [part for part in components if part is not one and part is not other] + [low | high]
    largest = max((edge[0] for edge in edges), default=1.0 if uniform else offset)
    for part in components:
        persistence[min((now[w] for w in part), key=refined_label_order)] += largest**power
    return persistence, cycles


# ---------------------------------------------------------------------------------------------------------------
# ODD-STh


def visit_order(neighbors, labels, root, height):
    """Return the levels of a search of ``height`` steps, and its nodes in the order in which they are taken up.

    Edges lead from a level to the next. A node waits until all its predecessors are taken up; of those that wait the
    one with the lowest label comes first, and of equal ones the one that has waited longest.
    """
    level = {root: 0}
    queue = [root]
    for node in queue:
        for other in neighbors[node]:
            if other not in level and level[node] < height:
                level[other] = level[node] + 1
                queue.append(other)
    below = {v: [w for w in neighbors[v] if level.get(w) == level[v] + 1] for v in level}
    order, waiting = [], [root]
    while waiting:
        taken = min(waiting, key=lambda node: labels[node])
        waiting.remove(taken)
        order.append(taken)
        waiting += [w for w in below[taken] if all(v in order for v in level if w in below[v])]
    return below, order


def visit_tree_counts(graph, height):
    """Count the ordered trees of visits of a graph, written out as nested tuples; children in reverse order."""
    n_nodes, edges, labels, _ = graph
    neighbors = {v: sorted([b for a, b in edges if a == v] + [a for a, b in edges if b == v]) for v in range(n_nodes)}
    counts = Counter()
    for root in range(n_nodes):
        below, order = visit_order(neighbors, labels, root, height)
        trees = {}
        for node in reversed(order):
            children = sorted(below[node], key=order.index, reverse=True)
            trees[node] = (labels[node], tuple(trees[child] for child in children))
        counts.update(trees.values())
    return counts


def odd_sth_gram(graphs, height):
    """Return Σ_tree C·f·f', where C is the count of the tree in the first graph that has it."""
    counts = [visit_tree_counts(graph, height) for graph in graphs]
    weights = {}
    for found in counts:
        for tree, times in found.items():
            weights.setdefault(tree, times)
    return [[sum(weights[tree] * a[tree] * b[tree] for tree in a) for b in counts] for a in counts]


# --------------------------------------------------------------------------------------------------- directed graphs


def directed_tree(n_nodes, arcs, labels, node, depth, directions="both", arc_labels=None):
    """The unfolding tree of a directed graph as nested tuples ``(label, ((edge, tree), ...))``, children in any order.

    An arc is seen from its tail as leaving and from its head as entering; an edge is ``(direction, arc label)``.
    """
    if depth == 0:
        return labels[node], ()
    children = []
    for position, (tail, head) in enumerate(arcs):
        label = None if arc_labels is None else arc_labels[position]
        if tail == node and directions in ("both", "out"):
            children.append((("→", label), head))
        if head == node and directions in ("both", "in"):
            children.append((("←", label), tail))
    below = [
        (edge, directed_tree(n_nodes, arcs, labels, other, depth - 1, directions, arc_labels))
        for edge, other in children
    ]
    return labels[node], tuple(sorted(below))


def directed_distances(n_nodes, arcs, source):
    """Lengths of the shortest paths along arcs from a node; nodes that cannot be reached are absent."""
    reached = {source: 0}
    frontier = [source]
    while frontier:
        frontier = [head for tail, head in arcs if tail in frontier and head not in reached]
        frontier = list(dict.fromkeys(frontier))
        for node in frontier:
            reached[node] = 1 + min(reached[tail] for tail, head in arcs if head == node and tail in reached)
    return reached


def cv_plus_intervals(means, stds, folds, scores, coverage):
    """Ends of CV+ intervals: order statistics of prediction ± score × deviation over all calibration examples."""
    n = len(scores)
    k = math.ceil(round(coverage * (n + 1), 9))
    ends = []
    for mean, std in zip(means, stds, strict=True):
        below = sorted(mean[folds[i]] - std[folds[i]] * scores[i] for i in range(n))
        above = sorted(mean[folds[i]] + std[folds[i]] * scores[i] for i in range(n))
        ends.append((below[n - k], above[k - 1]) if k <= n else (-math.inf, math.inf))
    return ends


def cv_plus_sets(probabilities, folds, scores, codes, coverage, by_class):
    """Classes of which fewer than ⌈coverage (n + 1)⌉ calibration examples conform better."""
    inside = []
    for row in probabilities:
        chosen = []
        for code in range(row.shape[1]):
            compared = [i for i in range(len(codes)) if not by_class or codes[i] == code]
            smaller = sum(scores[i] < 1 - row[folds[i], code] for i in compared)
            chosen.append(smaller < math.ceil(round(coverage * (len(compared) + 1), 9)))
        inside.append(chosen)
    return inside


def column_weights(table, targets, n_rounds=2, ridge=1e-2, step=1e-5):
    """Weights of columns: mean squared slopes of exponential kernel regressions, by differences."""
    table, targets = np.asarray(table, float), np.asarray(targets, float)
    weights = np.ones(table.shape[1])

    def distances(x, weights):
        return np.array([[np.sqrt(np.sum(weights * (a - b) ** 2)) for b in table] for a in x])

    for _ in range(n_rounds):
        apart = distances(table, weights)
        width = np.median(apart[apart > 0])
        duals = np.linalg.solve(np.exp(-apart / width) + ridge * np.eye(len(table)), targets)
        squares = np.zeros(table.shape[1])
        for row in table:
            for column in range(table.shape[1]):
                shift = np.zeros(table.shape[1])
                shift[column] = step
                # An exponential kernel has a peak at its own point, whose two slopes cancel in the difference.
                ahead, behind = (np.exp(-distances([row + sign * shift], weights) / width) @ duals for sign in (1, -1))
                squares[column] += np.sum(((ahead - behind) / (2 * step)) ** 2) / len(table)
        weights = squares / squares.mean()
    return weights


# ---------------------------------------------------------------------------------------------------------------
# Graphs as rows of statistics


def graph_statistics(graph):
    """Return statistics of a labeled graph by name, as the words say: matrices of all nodes, and loops over nodes."""
    size, edges, labels, _ = graph
    near = [set(others) for others in neighbor_lists(graph)]
    degrees = np.array([len(others) for others in near])
    rows = structural_features(graph)
    triangles, cores = np.expm1(rows[:, 1]), np.rint(np.expm1(rows[:, 2]))
    lengths = shortest_path_lengths(graph)
    paths = [d for v in range(size) for u, d in enumerate(lengths[v]) if u != v and d < np.inf]
    parts = {tuple(np.flatnonzero(row < np.inf)) for row in lengths}
    adjacency = np.array([[float(u in near[v]) for u in range(size)] for v in range(size)])
    scale = [1 / math.sqrt(degree) if degree else 0.0 for degree in degrees]
    laplacian = np.diag((degrees > 0) * 1.0) - adjacency * np.outer(scale, scale)
    inner, outer = (np.linalg.eigvalsh(matrix) for matrix in (laplacian, adjacency))
    ends = np.array([(degrees[v], degrees[u]) for v in range(size) for u in near[v]], float).reshape(-1, 2)
    varied = len(ends) and ends.std() > 0
    spread = degrees.std()
    found = {
        "nodes": size, "edges": len(edges), "density": len(edges) / max(size * (size - 1) / 2, 1),
        "components": len(parts), "share of the largest component": max(map(len, parts)) / size,
        "degree, mean": degrees.mean(), "degree, deviation": spread, "degree, highest": degrees.max(),
        "degree, skewness": np.mean((degrees - degrees.mean()) ** 3) / spread**3 if spread else 0.0,
        "degree, 75% quantile": np.quantile(degrees, 0.75), "share of degree 2": np.mean(degrees == 2),
        "share of degree 5 to 6": np.mean((degrees >= 5) & (degrees <= 6)),
        "degree assortativity": np.corrcoef(ends.T)[0, 1] if varied else 0.0,
        "triangles": triangles.sum() / 3, "clustering": rows[:, 3].mean(), "core number, mean": cores.mean(),
        "transitivity": triangles.sum() / max(sum(d * (d - 1) / 2 for d in degrees), 1),
        "return in 3 steps, mean": rows[:, 7].mean(),
        "share of nodes in the highest core": np.mean(cores == cores.max()),
        "path length, mean": np.mean(paths) if paths else 0.0, "diameter": max(paths, default=0),
        "path length, deviation": np.std(paths) if paths else 0.0,
        "eccentricity, mean": np.mean([max(d for d in row if d < np.inf) for row in lengths]),
        "share of connected pairs": len(paths) / max(size * (size - 1), 1),
        "share of paths of length 2": np.mean(np.array(paths) == 2) if paths else 0.0,
        "Laplacian eigenvalues, 25% quantile": np.quantile(inner, 0.25), "Laplacian eigenvalues, largest": inner[-1],
        "Laplacian eigenvalues, second smallest": inner[min(1, size - 1)],
        "heat trace at 3": np.exp(-3 * inner).mean(), "graph energy of a node": np.abs(outer).mean(),
        "adjacency eigenvalues, largest": outer[-1], "adjacency eigenvalues, smallest": outer[0],
        "adjacency eigenvalues, deviation": outer.std(),
    }  # fmt: skip
    for label in set(labels):
        found[f"number of label {label!r}"] = labels.count(label)
        found[f"share of label {label!r}"] = labels.count(label) / size
    return found


def attribute_statistics(graph, values):
    """Return statistics of an attribute of the nodes by name."""
    near = neighbor_lists(graph)
    linked = [v for v in range(graph[0]) if near[v]]
    around = np.array([np.mean([values[u] for u in near[v]]) for v in linked])
    own = np.array([values[v] for v in linked])
    covariance = np.mean(own * around) - own.mean() * around.mean() if linked else 0.0
    return {
        "mean": np.mean(values), "deviation": np.std(values), "lowest": min(values), "highest": max(values),
        "covariance with neighbors": covariance,
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------
# Comparisons of collections


def small_subgraphs(n_nodes, edges, node):
    """Count the triangles, 4-cycles (with or without chords) and 4-cliques that contain a node."""
    linked = {frozenset(edge) for edge in edges}

    def all_linked(pairs):
        return all(frozenset(pair) in linked for pair in pairs)

    others = [other for other in range(n_nodes) if other != node]
    triangles = sum(all_linked(itertools.combinations((node, *pair), 2)) for pair in itertools.combinations(others, 2))
    cycles = cliques = 0
    for a, b, c in itertools.combinations(others, 3):
        # The node opposite to the given one is a, b or c in turn.
        for opposite, x, y in ((a, b, c), (b, a, c), (c, a, b)):
            cycles += all_linked([(node, x), (x, opposite), (opposite, y), (y, node)])
        cliques += all_linked(itertools.combinations((node, a, b, c), 2))
    return triangles, cycles, cliques


def mean_discrepancy(gram, is_y):
    """Return the unbiased squared maximum mean discrepancy, pair by pair."""
    n = range(len(gram))

    def mean(first, second):
        return np.mean([gram[i][j] for i in n for j in n if i != j and is_y[i] == first and is_y[j] == second])

    return mean(True, True) + mean(False, False) - 2 * mean(True, False)


def chances_of_subsets(odds, size):
    """Return the probability of each subset of a size, proportional to the product of the odds of its members."""
    products = {part: math.prod(odds[i] for i in part) for part in itertools.combinations(range(len(odds)), size)}
    return {part: product / sum(products.values()) for part, product in products.items()}


def are_isomorphic(graph, other):
    """Whether some renaming of nodes turns a graph (n_nodes, edges, labels, edge labels) into another one."""
    n_nodes, edges, labels, names = graph
    if n_nodes != other[0] or len(edges) != len(other[1]):
        return False
    theirs = {frozenset(edge): name for edge, name in zip(other[1], other[3] or [None] * len(edges), strict=True)}
    for order in itertools.permutations(range(n_nodes)):
        renamed = {
            frozenset((order[a], order[b])): name
            for (a, b), name in zip(edges, names or [None] * len(edges), strict=True)
        }
        if renamed == theirs and all(labels[v] == other[2][order[v]] for v in range(n_nodes)):
            return True
    return False

"""The baselines by their definitions, slow and obvious; nothing of the package is imported here.

A graph is ``(neighbors, labels)``: ``neighbors[v]`` lists the neighbours of vertex v, ``labels[v]`` is its label.
"""

import itertools
from collections import Counter, deque

import numpy as np
from scipy.optimize import linprog

# ---------------------------------------------------------------------------------------------------------------
# Labels as words


def wl_words(graph, depth):
    """Return, for each vertex, its Weisfeiler-Lehman label written out, for depths 0 to ``depth``."""
    neighbors, labels = graph
    words = [list(labels)]
    for _ in range(depth):
        last = words[-1]
        words.append(
            [(labels[v], tuple(sorted((last[u] for u in neighbors[v]), key=repr))) for v in range(len(labels))]
        )
    return words


# ---------------------------------------------------------------------------------------------------------------
# Histograms and shortest paths


def vertex_edge_counts(graph):
    neighbors, labels = graph
    counts = Counter(("vertex", label) for label in labels)
    for v, around in enumerate(neighbors):
        counts.update(("edge", *sorted((labels[v], labels[u]))) for u in around if v < u)
    return counts


def shortest_path_counts(graph):
    """Count (label, label', distance) over ordered pairs of distinct connected vertices."""
    neighbors, labels = graph
    counts = Counter()
    for source in range(len(labels)):
        distance = {source: 0}
        queue = deque([source])
        while queue:
            v = queue.popleft()
            for u in neighbors[v]:
                if u not in distance:
                    distance[u] = distance[v] + 1
                    queue.append(u)
        counts.update((labels[source], labels[v], d) for v, d in distance.items() if d > 0)
    return counts


def dot(counts, other):
    return sum(value * other[key] for key, value in counts.items())


# ---------------------------------------------------------------------------------------------------------------
# Graphlets


def graphlet_law(graph, max_size):
    """Return the probability of each graphlet, named by its sorted edges in the smallest renumbering."""
    neighbors, _ = graph
    n = len(neighbors)
    sizes = range(min(3, n), min(max_size, n) + 1)
    law = Counter()
    for size in sizes:
        subsets = list(itertools.combinations(range(n), size))
        for subset in subsets:
            edges = {(i, j) for i, j in itertools.combinations(range(size), 2) if subset[j] in neighbors[subset[i]]}
            law[size, smallest_form(edges, size)] += 1 / len(subsets) / len(sizes)
    return law


def smallest_form(edges, size):
    forms = []
    for order in itertools.permutations(range(size)):
        forms.append(tuple(sorted(tuple(sorted((order[i], order[j]))) for i, j in edges)))
    return min(forms)


# ---------------------------------------------------------------------------------------------------------------
# Wasserstein distances


def transport_cost(costs):
    """Solve the transport between uniform distributions as a linear program."""
    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    marginals = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    return linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=marginals).fun


def label_costs(graph, other, depth):
    """Return the share of depths at which vertices' labels differ."""
    words, other_words = wl_words(graph, depth), wl_words(other, depth)
    n, m = len(words[0]), len(other_words[0])
    differ = [[[a[v] != b[w] for w in range(m)] for v in range(n)] for a, b in zip(words, other_words, strict=True)]
    return np.mean(differ, axis=0)


def smoothed(neighbors, values, depth):
    """Iterate the mean of own vector and neighbours' average; return the vectors of all depths end to end."""
    places = [np.asarray(values, float)]
    for _ in range(depth):
        last = places[-1]
        around = [last[list(near)].mean(axis=0) if len(near) else last[v] for v, near in enumerate(neighbors)]
        places.append((last + np.array(around)) / 2)
    return np.hstack(places)


# ---------------------------------------------------------------------------------------------------------------
# Persistence


def rank(word):
    """Return a key that orders labels by content: root, number of children, then the sorted children with counts."""
    if not isinstance(word, tuple):
        return (word,)
    label, children = word
    return label, len(children), tuple(sorted((rank(child), count) for child, count in Counter(children).items()))


def persistence_features(graph, depth, power=1.0, offset=1.0, uniform=False):
    """Return ({label: persistence}, {label: cycle weight}) of one depth.

    Components are sets of vertices, looked up anew for each edge. Of two components that merge, the one whose lowest
    label is higher ends.
    """
    neighbors, _ = graph
    words = wl_words(graph, depth)
    now = words[depth]

    def weight(v, u):
        if uniform:
            return 1.0
        last = words[max(depth - 1, 0)]
        total = offset + (last[v] != last[u])
        if depth > 0:
            a, b = (Counter(last[w] for w in neighbors[x]) for x in (v, u))
            total += sum(abs(a[word] - b[word]) ** power for word in a.keys() | b.keys()) ** (1 / power)
        return total

    pairs = [(v, u) for v in range(len(now)) for u in neighbors[v] if v < u]
    edges = [(weight(v, u), *sorted((rank(now[v]), rank(now[u]))), v, u) for v, u in pairs]
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
        low, high = sorted((one, other), key=lambda part: min(rank(now[w]) for w in part))
        persistence[min((now[w] for w in high), key=rank)] += value**power
        components = [part for part in components if part is not one and part is not other] + [low | high]
    largest = max((edge[0] for edge in edges), default=1.0 if uniform else offset)
    for part in components:
        persistence[min((now[w] for w in part), key=rank)] += largest**power
    return persistence, cycles

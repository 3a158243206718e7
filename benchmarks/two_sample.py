"""Level and power of the two-sample test, on pools of 600 graphs: 400 original ones, and 200 others with swapped edges.

    python benchmarks/two_sample.py [--rows ...] [--sizes 20 50] [--draws 200] [--complete 20]

The blocks of a pool are computed once, without its groups; draws are subsets of it, with 499 permutations each. Columns
are the test, each of its views alone, and the best of the four descriptors of graph generation (degrees, clustering,
spectra, orbits of four nodes) by the same statistic with Gaussian kernels of total variation. ``--complete 20`` runs
whole tests on as many draws, which check the shortcut. The level is that of three times as many draws of equal sets.
``distance`` is the mean bound of the Jensen-Shannon distance over the first 20 draws. Cells are kept in
``records/two_sample.jsonl``.
"""

import argparse
from functools import partial

import networkx as nx
import numpy as np
from harness import DATA, RECORDS, Records, markdown
from scipy.spatial import Delaunay
from scipy.spatial.distance import cdist

from relaxwl import GraphCollection, two_sample_test
from relaxwl.comparison.design import Design
from relaxwl.comparison.separation import separate
from relaxwl.comparison.two_sample import combined_scores, share_reached, view_statistics, view_weights
from relaxwl.comparison.views import N_BINS, ClusteringHistogram, SubgraphStatistics, views_of
from relaxwl.datasets import load_tu, make_egonets
from relaxwl.predictors.blocks import KernelBlocks
from relaxwl.predictors.views import Objects

N_ORIGINAL, N_OTHERS, N_PERMUTATIONS, N_DISTANCES, N_TIMES = 400, 200, 499, 20, 3
LEVEL = 0.05


def blocks_of_nodes(rng):
    """Return a stochastic block model of 2 to 5 communities, as (number of nodes, edges)."""
    sizes = rng.integers(20, 41, rng.integers(2, 6))
    chances = np.where(np.eye(len(sizes)) > 0, 0.3, 0.005)
    graph = nx.stochastic_block_model(sizes.tolist(), chances.tolist(), seed=int(rng.integers(2**31)))
    return graph.number_of_nodes(), list(graph.edges)


def planar(rng):
    """Return the Delaunay triangulation of 64 random points."""
    corners = Delaunay(rng.random((64, 2))).simplices
    pairs = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1)
    return 64, [tuple(pair) for pair in np.unique(pairs, axis=0).tolist()]


def of_collection(graphs, rng):
    """Return 600 random graphs of a collection, without labels."""
    return [
        (graphs[g].n_nodes, [tuple(e) for e in graphs[g].edges.tolist()])
        for g in rng.permutation(len(graphs))[:600].tolist()
    ]


def swapped(n, edges, share, rng):
    """Return edges of which a share was replaced by swapping ends of pairs, so that all degrees stay the same."""
    edges, known = list(edges), {frozenset(edge) for edge in edges}
    left, tries = round(share * len(edges) / 2), 100 * len(edges)
    while left and tries:
        tries -= 1
        i, j = rng.integers(len(edges), size=2)
        (a, b), (c, d) = edges[i], edges[j]
        c, d = (c, d) if rng.random() < 0.5 else (d, c)
        if len({a, b, c, d}) == 4 and not known & {frozenset((a, d)), frozenset((c, b))}:
            known -= {frozenset((a, b)), frozenset((c, d))}
            known |= {frozenset((a, d)), frozenset((c, b))}
            edges[i], edges[j] = (a, d), (c, b)
            left -= 1
    return edges


def rewired(n, edges, share, rng):
    """Return edges of which a share was moved to random pairs of nodes."""
    edges, known = list(edges), {frozenset(edge) for edge in edges}
    for place in np.flatnonzero(rng.random(len(edges)) < share).tolist():
        for _ in range(50):
            pair = rng.integers(n, size=2).tolist()
            if pair[0] != pair[1] and frozenset(pair) not in known:
                known -= {frozenset(edges[place])}
                known |= {frozenset(pair)}
                edges[place] = tuple(pair)
                break
    return edges


def tu(name):
    return lambda rng: of_collection(load_tu(DATA / f"{name}.zip")[0], rng)


ROWS = {
    "block model, swap 5 %": (lambda rng: [blocks_of_nodes(rng) for _ in range(600)], swapped, 0.05),
    "block model, swap 10 %": (lambda rng: [blocks_of_nodes(rng) for _ in range(600)], swapped, 0.10),
    "PROTEINS, swap 10 %": (tu("PROTEINS"), swapped, 0.10),
    "planar, swap 2 %": (lambda rng: [planar(rng) for _ in range(600)], swapped, 0.02),
    "IMDB-BINARY, swap 10 %": (tu("IMDB-BINARY"), swapped, 0.10),
    "IMDB-MULTI, rewire 5 %": (tu("IMDB-MULTI"), rewired, 0.05),
    "dense ego networks, rewire 5 %": (
        lambda rng: of_collection(make_egonets(600, level=2, random_state=0)[0], rng), rewired, 0.05,
    ),
}  # fmt: skip


def pool(name):
    """Return the graphs of a row: original ones, and others that were altered."""
    make, alter, share = ROWS[name]
    rng = np.random.default_rng(0)
    raw = make(rng)
    altered = [(n, alter(n, edges, share, rng)) for n, edges in raw[N_ORIGINAL:]]
    return GraphCollection.from_edges(raw[:N_ORIGINAL] + altered)


def descriptors(graphs):
    """Return a kernel for each descriptor of graph generation: Gaussian, of half the Manhattan distance."""
    degrees = np.array(
        [np.bincount(np.minimum(g.as_collection().degrees, 99), minlength=100) / g.n_nodes for g in graphs]
    )
    spectra = []
    for graph in graphs.to_networkx():
        values = np.linalg.eigvalsh(nx.normalized_laplacian_matrix(graph).toarray())
        spectra.append(np.histogram(values, 200, (-1e-5, 2))[0] / len(values))
    orbits = np.log1p(SubgraphStatistics().table(graphs))
    tables = {
        "degree": degrees, "clustering histogram": ClusteringHistogram().transform(graphs)[:, :N_BINS],
        "spectrum": np.array(spectra), "orbits": orbits / orbits.std(axis=0).clip(1e-9),
    }  # fmt: skip
    found = {}
    for name, table in tables.items():
        distances = cdist(table, table, "cityblock") / 2
        found[name] = np.exp(-((distances / np.median(distances[distances > 0])) ** 2) / 2)
    return found


def draws(n, n_draws, is_null, seed):
    """Yield the places of each draw, n of each side."""
    rng = np.random.default_rng([n, is_null, seed])
    for _ in range(n_draws):
        first = rng.permutation(N_ORIGINAL)
        yield np.concatenate([first[:n], first[n : 2 * n] if is_null else N_ORIGINAL + rng.permutation(N_OTHERS)[:n]])


def measure(blocks, others, n, n_draws, is_null, seed):
    """Return the share of draws in which the test and each kernel alone reject equality, and the mean distance."""
    rejected, distances = {}, []
    for number, places in enumerate(draws(n, n_draws, is_null, seed)):
        own = {name: block[np.ix_(places, places)] for name, block in blocks.items()}
        design = Design.of(np.arange(2 * n) >= n, np.zeros(2 * n, np.int64), np.zeros((2 * n, 0)))
        residuals = design.permuted(N_PERMUTATIONS, 1000 * seed + number)
        values = view_statistics(own, residuals)
        combined = combined_scores(values, view_weights(own)).max(axis=1)
        pvalues = {"test": share_reached(combined, combined[0])}
        beside = {f"({name})": block[np.ix_(places, places)] for name, block in others.items()}
        alone = np.column_stack([values, view_statistics(beside, residuals)])
        pvalues |= {name: share_reached(of, of[0]) for name, of in zip([*own, *beside], alone.T, strict=True)}
        for name, pvalue in pvalues.items():
            rejected.setdefault(name, []).append(pvalue <= LEVEL)
        if number < N_DISTANCES:
            distances.append(separate(own, design, number).distance)
    shares = {name: float(np.mean(of)) for name, of in rejected.items()}
    return {**shares, "distance": float(np.mean(distances)), "draws": n_draws}


def complete(graphs, n, n_draws, seed):
    """Return the share of whole tests that reject."""
    pvalues = [
        two_sample_test(graphs[p[:n]], graphs[p[n:]], n_permutations=199, random_state=k).pvalue
        for k, p in enumerate(draws(n, n_draws, False, seed))
    ]
    return {"test": float(np.mean(np.array(pvalues) <= LEVEL)), "draws": n_draws}


def table(records, sizes):
    """Return the table of the rows that were measured at all sizes: shares of draws that reject, and distances."""
    rows = []
    for row in ROWS:
        keys = {kind: [(row, kind, size, 0) for size in sizes] for kind in ("altered", "equal")}
        altered, equal = (
            [records.cells[key]["measures"] for key in of if key in records.cells] for of in keys.values()
        )
        if len(altered) < len(sizes):
            continue
        alone = [name for name in altered[0] if name not in ("test", "distance", "draws")]
        # The kernels that reject most often with few graphs: one of the views, and one of the descriptors.
        view, other = (
            max((name for name in alone if name.startswith("(") == is_other), key=altered[0].get)
            for is_other in (False, True)
        )
        shares = [" / ".join(f"{100 * cell[name]:.0f}" for cell in altered) + " %" for name in ("test", view, other)]
        level = " / ".join(f"{100 * cell['test']:.1f}" for cell in equal) + " %" if equal else "–"
        distances = [" / ".join(f"{cell['distance']:.2f}" for cell in of) or "–" for of in (altered, equal)]
        rows.append([
            row, shares[0], f"{view} {shares[1]}", f"{other[1:-1]} {shares[2]}", distances[0], level, distances[1],
        ])  # fmt: skip
    return markdown(["", "test", "best view", "best descriptor", "distance", "equal sets: test", "distance"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[20, 50])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--complete", type=int, default=0)
    options = parser.parse_args()
    records = Records(RECORDS / "two_sample.jsonl")
    for name in options.rows:
        seed = list(ROWS).index(name)
        kinds = {"equal": True, "altered": False}
        if name == "block model, swap 10 %":
            del kinds["equal"]
        wanted = [(name, kind, size, 0) for size in options.sizes for kind in kinds]
        wanted += [(name, "complete", options.sizes[0], 0)] if options.complete else []
        if all(key in records.cells for key in wanted):
            continue
        graphs = pool(name)
        blocks = KernelBlocks(views_of(graphs, "auto", 0, None)[0]).fit(Objects(graphs))
        others = descriptors(graphs)
        for key in wanted:
            _, kind, size, _ = key
            if kind == "complete":
                records.fill([(key, partial(complete, graphs, size, options.complete, seed))])
            else:
                # Levels differ less than powers do, so they take more draws.
                n_draws = options.draws * (N_TIMES if kinds[kind] else 1)
                records.fill([(key, partial(measure, blocks, others, size, n_draws, kinds[kind], seed))])
    print(table(records, options.sizes))
    nulls = [r["measures"] for (_, method, *_), r in records.cells.items() if method == "equal"]
    level = sum(m["test"] * m["draws"] for m in nulls) / sum(m["draws"] for m in nulls)
    print(f"\nlevel over all cells: {100 * level:.1f} %\n{records.source()}")


if __name__ == "__main__":
    main()

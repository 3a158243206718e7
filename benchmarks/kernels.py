"""All kernels under the protocol of the paper, on nine sets: the tables of "All kernels" in docs/results.md.

    python benchmarks/kernels.py FOLDER [--sets ...] [--kernels ...] [--write docs/results.md] [--table-only]

``FOLDER/results.jsonl`` keeps every fold, so that a run that was stopped goes on where it was, and
``records/kernels.jsonl`` a line for each kernel and set. Nested 10-fold cross-validation with five repetitions. All
kernels are run on sets of at most 1,000 graphs, those of ``LARGE_KERNELS`` on the larger ones, those of the paper on
the paper's sets. Not run ("–"): R-WL where a depth has more than 10,000 distinct trees, ODD-STh on more than 500,000
nodes. A kernel whose repetition takes longer than two hours is given up on this set ("> 2 h").
"""

import argparse
from functools import cache, partial
from pathlib import Path

import numpy as np
from harness import DATA, RECORDS, Records, markdown

from relaxwl import RelaxedWeisfeilerLehman
from relaxwl.datasets import load_tu
from relaxwl.evaluation import ResultStore, cross_validate
from relaxwl.evaluation.statistics import describe_dataset
from relaxwl.evaluation.tables import PAPER_ACCURACIES
from relaxwl.kernels.registry import get_kernel
from relaxwl.unfolding import leaves, refine

PAPER_SETS = ["EGO-1", "IMDB-BINARY", "REDDIT-BINARY"]
SMALL = ["MUTAG", "PTC_MR", "BZR", "EGO-1", "IMDB-BINARY"]
LARGE = ["PROTEINS", "NCI1", "DD", "REDDIT-BINARY"]
RELAXED = get_kernel("rwl-star-paper").fixed | {"normalize": True}
# R-WL* with one change. Shortest paths have many features: two depths are what is affordable.
CHANGED = {
    "R-WL* intersection": RelaxedWeisfeilerLehman(**RELAXED | {"similarity": "intersection"}),
    "R-WL* tanimoto": RelaxedWeisfeilerLehman(**RELAXED | {"similarity": "tanimoto"}),
    "R-WL* edge": RelaxedWeisfeilerLehman(**RELAXED, base="edge"),
    "R-WL* paths": RelaxedWeisfeilerLehman(**RELAXED | {"max_depth": 2}, base="shortest-path"),
    "R-WL* 50 partitions": RelaxedWeisfeilerLehman(**RELAXED | {"n_partitions": 50, "max_iter": 0}),
}
NAMED = [
    "stats-rf",
    "ve-hist",
    "wl",
    "wl-tanimoto",
    "gs",
    "sp",
    "odd-sth",
    "wwl",
    "tmd",
    "pwl",
    "wl-oa",
    "gwl",
    "gwl-oa",
]
KERNELS = {name: name for name in (*NAMED, "rwl", "rwl-star", "rwl-star-paper")} | CHANGED
LARGE_KERNELS = ["stats-rf", "ve-hist", "wl", "wl-tanimoto", "wwl", "wl-oa", "rwl-star", "rwl-star-paper"]
# Rows and columns of the tables, and the published numbers beside them.
TABLES = {
    "paper": (list(PAPER_ACCURACIES), PAPER_SETS, PAPER_ACCURACIES),
    "small": (list(KERNELS), SMALL, None),
    "large": (LARGE_KERNELS, LARGE, None),
}
N_REPEATS, LIMIT_SECONDS, MOST_TREES, MOST_NODES, DEPTHS = 5, 7200.0, 10_000, 500_000, 4
# Whose predictions are also counted on graphs without twins.
COMPARED = ("wl", "rwl-star", "rwl-star-paper")


def title(kernel):
    """Return the name of a kernel in tables."""
    return kernel if kernel in CHANGED else get_kernel(kernel).title


@cache
def read(name):
    return load_tu(DATA / f"{name}.zip")


@cache
def described(name):
    """Return the sizes of a set."""
    return describe_dataset(name, *read(name))


@cache
def twins(name):
    """Return a number for each graph, equal for graphs that refinement of node labels does not distinguish."""
    graphs, _ = read(name)
    rows, ids = leaves(graphs.node_codes)
    n_before = 0
    while len(rows) > n_before:  # refinement is stable when it makes no more distinct trees
        n_before = len(rows)
        rows, ids = refine(graphs, graphs.node_codes, ids, len(rows))
    ends = np.cumsum(graphs.node_counts)
    found = {}
    return np.array([found.setdefault(tuple(sorted(part)), len(found)) for part in np.split(ids, ends[:-1])])


def applies(kernel, name):
    """Return whether a kernel is run on a set."""
    if kernel == "rwl":
        return max(described(name).distinct_trees) <= MOST_TREES
    return kernel != "odd-sth" or read(name)[0].n_nodes <= MOST_NODES


def cells(sets, kernels, store):
    """Yield all cells of the tables."""
    pairs = dict.fromkeys((name, kernel) for rows, columns, _ in TABLES.values() for name in columns for kernel in rows)
    for name, kernel in pairs:
        if name in sets and kernel in kernels and applies(kernel, name):
            yield (name, kernel, "nested", 0), partial(measure, kernel, name, store)


def measure(kernel, name, store):
    """Return the accuracies of the repetitions in percent, and what the fits took."""
    graphs, y = read(name)
    entry = KERNELS[kernel]
    results = cross_validate(
        entry if isinstance(entry, str) else {kernel: entry},
        graphs,
        y,
        n_repeats=N_REPEATS,
        time_limit=LIMIT_SECONDS,
        store=store,
        dataset=name,
        n_jobs=1,
    )
    cell = results.cell(name, kernel)
    if cell.given_up:
        return {"given_up": cell.given_up}
    measures = {
        "accuracy": 100 * cell.mean,
        "deviation": 100 * cell.std,
        "n_repetitions": len(cell.accuracies),
        "n_fits": sum(record.n_fits for record in cell.records),
        "n_unconverged": sum(record.n_unconverged for record in cell.records),
    }
    if kernel in COMPARED:
        groups = twins(name)
        alone = np.bincount(groups)[groups] == 1
        right = [
            target == prediction
            for record in cell.records
            for place, target, prediction in zip(record.test_indices, record.targets, record.predictions, strict=True)
            if alone[place]
        ]
        measures["accuracy_without_twins"] = 100 * float(np.mean(right))
    return measures


def table(records, kernels, sets, reference):
    """Return the table of some kernels on some sets, with the published numbers of a reference beside them."""
    found = {name: [records.cells.get((name, kernel, "nested", 0)) for kernel in kernels] for name in sets}
    measures = {name: [None if cell is None else cell["measures"] for cell in cells] for name, cells in found.items()}
    header, columns = [""], [[title(kernel) for kernel in kernels]]
    for name in sets:
        numbers = [None if m is None or "given_up" in m else round(m["accuracy"] + 1e-9, 1) for m in measures[name]]
        best = max((number for number in numbers if number is not None), default=None)
        header.append(name)
        columns.append([cell_text(name, kernel, m, best) for kernel, m in zip(kernels, measures[name], strict=True)])
        if reference:
            header.append("published")
            pairs = [reference[kernel][name] for kernel in kernels]
            columns.append(["–" if pair is None else f"{pair[0]:.1f} ± {pair[1]:.1f}" for pair in pairs])
    return markdown(header, zip(*columns, strict=True))


def cell_text(name, kernel, measures, best):
    """Return what a cell shows: mean and deviation over repetitions, or why there is no number."""
    if measures is None:
        return "–" if not applies(kernel, name) else "missing"
    if "given_up" in measures:
        return "> 2 h"
    mean, n_repetitions = round(measures["accuracy"] + 1e-9, 1), measures["n_repetitions"]
    text = f"{mean:.1f}" + (f" ± {measures['deviation']:.1f}" if n_repetitions > 1 else "")
    text += f" ({n_repetitions})" if n_repetitions < N_REPEATS else ""
    return f"**{text}**" if mean == best else text


def twins_table(records):
    """Return how many graphs have twins, and what kernels score on the others, where this was counted."""
    rows = []
    for name in [*SMALL, *LARGE]:
        groups, y = twins(name), read(name)[1]
        classes = np.unique(np.asarray(y), return_inverse=True)[1]
        counts = np.zeros((groups.max() + 1, classes.max() + 1), int)
        np.add.at(counts, (groups, classes), 1)
        row = [name, f"{100 * np.mean(counts.sum(axis=1)[groups] > 1):.1f} %"]
        row.append(f"{100 * counts.max(axis=1).sum() / len(groups):.1f}")
        for kernel in COMPARED:
            cell = records.cells.get((name, kernel, "nested", 0))
            measures = cell["measures"] if cell else {}
            if "accuracy_without_twins" in measures:
                row.append("{accuracy:.1f} / {accuracy_without_twins:.1f}".format(**measures))
        if len(row) == 3 + len(COMPARED):
            rows.append(row)
    accuracies = [f"{title(kernel)}: all / without twins" for kernel in COMPARED]
    return markdown(["", "graphs with twins", "bound", *accuracies], rows)


def sizes_table():
    """Return the sizes of all sets."""
    rows = []
    for name in [*SMALL, *LARGE]:
        d = described(name)
        means = (f"{d.mean_nodes:.1f}", f"{d.mean_edges:.1f}", f"{d.mean_density:.3f}", f"{d.mean_degree:.2f}")
        trees = (f"{number:,}" for number in d.distinct_trees)
        largest = f"{100 * max(d.class_sizes.values()) / d.n_graphs:.1f} %"
        rows.append([name, f"{d.n_graphs:,}", len(d.class_sizes), largest, *means, d.n_node_labels or 0, *trees])
    heads = ["graphs", "classes", "majority class", "nodes", "edges", "density", "degree", "labels"]
    return markdown(["", *heads, *(f"trees {depth}" for depth in range(DEPTHS + 1))], rows)


def write(page, parts):
    """Put each part between its marks."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        start = text.index(f"<!-- {name}: written by benchmarks/kernels.py -->\n")
        first = text.index("\n", start) + 1
        text = f"{text[:first]}\n{part}\n\n{text[text.index(f'<!-- end of {name} -->') :]}"
    page.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where folds are kept")
    parser.add_argument("--sets", nargs="+", choices=[*SMALL, *LARGE], default=[*SMALL, *LARGE])
    parser.add_argument("--kernels", nargs="+", choices=list(KERNELS), default=list(KERNELS))
    parser.add_argument("--records", default=RECORDS / "kernels.jsonl")
    parser.add_argument("--write", type=Path, help="page that gets the tables")
    parser.add_argument("--table-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    records = Records(arguments.records)
    if not arguments.table_only:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        store = ResultStore(arguments.folder / "results.jsonl")
        records.fill(cells(arguments.sets, arguments.kernels, store))
    parts = {name: table(records, *shown) for name, shown in TABLES.items()}
    parts |= {"twins": twins_table(records), "sizes": sizes_table()}
    print("\n\n".join(parts.values()))
    print(records.source())
    if arguments.write:
        write(arguments.write, parts)


if __name__ == "__main__":
    main()

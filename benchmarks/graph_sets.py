"""Graph classification on 20 sets: predictors and kernels under one protocol, and on published folds, in one table.

    python benchmarks/graph_sets.py FOLDER [--sets ...] [--methods ...] [--folds nested published]

``FOLDER/results.jsonl`` keeps every fold at once, so that a run that was stopped goes on where it was;
``records/graph_sets.jsonl`` keeps a line for each repetition, with the commit, the machine and the date. Nested 10-fold
cross-validation with parameters chosen by three inner folds, 3 repetitions up to 1,200 graphs, else 1; published folds
(Errica et al. 2020) where there are some. A repetition that takes longer than two hours is given up ("> 2 h"). Beyond
10,000 graphs methods that need a Gram matrix are not run ("–"). Ranks are taken over the sets on which all methods have
a number, and over those of them that were not used in the first decisions on the predictor. ``--methods "auto without
WL"`` measures what a kind of views contributes, which views.py draws. ``--write docs/results.md`` puts the nested table
and the plot of ranks into the page.
"""

import argparse
from collections import Counter
from functools import cache, partial
from pathlib import Path

import numpy as np
from harness import DATA, RECORDS, Records, markdown
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from relaxwl import GraphClassifier
from relaxwl.datasets import load_tu
from relaxwl.evaluation import ResultStore, cross_validate
from relaxwl.evaluation.tables import Ranks
from relaxwl.kernels.base import GraphKernel
from relaxwl.reports.plots import ranks_figure, save_figure

# The cheapest first.
SETS = [
    "MUTAG", "PTC_MR", "OHSU", "BZR", "MSRC_9", "EGO-1", "Synthie", "MSRC_21", "IMDB-BINARY", "PROTEINS",
    "PROTEINS_full", "IMDB-MULTI", "AIDS", "Letter-med", "NCI1", "Mutagenicity", "REDDIT-BINARY", "Tox21_AHR", "DD",
    "DBLP_v1",
]  # fmt: skip
# Sets whose scores on outer folds informed the design of GraphClassifier (decisions 1 to 11 of DECISIONS.md).
DESIGN_SETS = [
    "MUTAG", "PTC_MR", "BZR", "EGO-1", "Synthie", "IMDB-BINARY", "PROTEINS", "PROTEINS_full", "IMDB-MULTI", "NCI1",
    "Mutagenicity",
]  # fmt: skip
PUBLISHED_FOLDS = ["IMDB-BINARY", "PROTEINS", "NCI1", "REDDIT-BINARY", "DD"]
MANY_GRAPHS, LIMIT_SECONDS = 1200, 7200.0
# Methods whose cost is linear in the number of graphs; others are run up to so many graphs.
LINEAR_METHODS, MOST_GRAPHS = ("auto", "statistics"), 10_000
BIN_WIDTHS = (1e-3, 1e-2, 1e-1, 1.0, 4.0)


class PropagationAttr(GraphKernel):
    """GraKeL's propagation kernel on node attributes; the width of its bins is chosen with the other parameters."""

    def __init__(self, width=1.0, max_depth=5, random_state=None):
        self.width = width
        self.max_depth = max_depth
        self.random_state = random_state

    def uses(self):
        """Return which labels and attributes of graphs take part."""
        return frozenset({"node_attributes"})

    def fit(self, X, y=None):
        """Learn nothing."""
        self.n_graphs_in_ = len(X)
        return self

    def prepare(self, X):
        """Return GraKeL's graphs."""
        from grakel import Graph

        made = []
        for graph in X:
            adjacency = np.zeros((graph.n_nodes, graph.n_nodes))
            for node in range(graph.n_nodes):
                adjacency[node, graph.neighbors(node)] = 1
            made.append(Graph(adjacency, node_labels=dict(enumerate(graph.node_attributes))))
        return made

    def fit_prepare(self, X):
        """Return GraKeL's graphs."""
        return self.fit(X).prepare(X)

    def variations(self):
        """Return the widths of bins."""
        return [{"width": width} for width in BIN_WIDTHS]

    def compare(self, x, y=None, settings=({},)):
        """Return a Gram matrix for each width."""
        from grakel import PropagationAttr as Propagation

        found = []
        for setting in settings:
            kernel = Propagation(t_max=self.max_depth, w=setting.get("width", self.width), random_state=0)
            found.append(np.asarray(kernel.fit_transform(x) if y is None else kernel.fit(y).transform(x), float))
        return found

    def kernel_matrix(self, X, Y=None):
        """Return the Gram matrix."""
        return self.compare(self.prepare(X), None if Y is None else self.prepare(Y))[0]


class Without(GraphClassifier):
    """The default classifier without one kind of its views, to see what that contributes."""

    def __init__(self, dropped="WL", n_jobs=None, random_state=None):
        super().__init__(n_jobs=n_jobs, random_state=random_state)
        self.dropped = dropped

    def _views(self, objects, *options):
        views, left_out = super()._views(objects, *options)
        kept = [view for view in views if kind_of_view(view) != self.dropped]
        return kept or views, left_out


def kind_of_view(view):
    """Return what a view shows of graphs: trees, relaxed trees, ends of shortest paths, vectors of nodes."""
    kernel = getattr(view, "kernel", None)
    if getattr(kernel, "base", "subtree") == "shortest-path":
        return "shortest paths"
    kinds = {"WeisfeilerLehman": "WL", "RelaxedWeisfeilerLehman": "R-WL*", "ContinuousWeisfeilerLehman": "vectors"}
    return kinds.get(type(kernel).__name__, "other")


METHODS = {name: name for name in ("auto", "wl", "wl-tanimoto", "rwl-star", "rwl-star-paper", "cwl", "wwl")}
METHODS |= {"propagation": PropagationAttr(), "statistics": "stats-rf"}
# Measured only when they are asked for.
DROPPED = {f"auto without {kind}": Without(kind) for kind in ("WL", "R-WL*", "shortest paths", "vectors")}
ALL = METHODS | DROPPED


@cache
def read(name):
    return load_tu(DATA / f"{name}.zip")


def measure(method, name, folds, repetition, store):
    """Return the accuracy of a repetition in percent (published folds: mean and deviation over them), or why none."""
    graphs, y = read(name)
    kernel = ALL[method]
    results = cross_validate(
        kernel if isinstance(kernel, str) else {method: kernel},
        graphs,
        y,
        splits=DATA / "splits" / f"{name}.json" if folds == "published" else None,
        n_repeats=repetition + 1,
        time_limit=LIMIT_SECONDS,
        store=store,
        dataset=name,
        n_jobs=1,
    )
    cell = results.cell(name, kernel if isinstance(kernel, str) else method)
    if cell.given_up:
        return {"given_up": cell.given_up}
    shown = cell.accuracies if folds == "published" else cell.accuracies[repetition : repetition + 1]
    return {"accuracy": 100 * float(np.mean(shown)), "deviation": 100 * float(np.std(shown))}


def cells(sets, methods, kinds, store):
    """Yield all cells of the table: one repetition of each first, then the others."""
    for kind in kinds:
        for repetition in range(3 if kind == "nested" else 1):
            for name in sets:
                graphs, _ = read(name)
                if repetition >= (3 if len(graphs) <= MANY_GRAPHS else 1):
                    continue
                if kind == "published" and name not in PUBLISHED_FOLDS:
                    continue
                for method in methods:
                    if len(graphs) > MOST_GRAPHS and method not in LINEAR_METHODS:
                        continue
                    if method != "propagation" or graphs.node_attributes is not None:
                        yield (name, method, kind, repetition), partial(measure, method, name, kind, repetition, store)


def table(records, kind):
    """Return the table of a kind of folds, and ranks over the sets on which all methods but propagation finished."""
    accuracies = records.values("accuracy", kind)
    given_up = {key[:2] for key, record in records.cells.items() if key[2] == kind and "given_up" in record["measures"]}
    shown = [method for method in METHODS if method in accuracies]
    sets = [name for name in SETS if any(name in accuracies[method] for method in shown)]
    rows = []
    repetitions = Counter(key[:2] for key in records.cells if key[2] == kind)
    for name in sets:
        planned = 3 if kind == "nested" and len(read(name)[0]) <= MANY_GRAPHS else 1
        numbers = [
            round(accuracies[method][name] + 1e-9, 1) if name in accuracies[method] else None for method in shown
        ]
        best = max(number for number in numbers if number is not None)
        texts = []
        for method, number in zip(shown, numbers, strict=True):
            n = repetitions[name, method]
            text = "–" if number is None else f"{number:.1f}" + (f" ({n})" if n < planned else "")
            texts.append("> 2 h" if (name, method) in given_up else text)
        rows.append([name, *(f"**{text}**" if number == best else text
                             for text, number in zip(texts, numbers, strict=True))])  # fmt: skip
    ranked = [method for method in shown if method != "propagation"]
    complete = [name for name in sets if all(name in accuracies[method] for method in ranked)]
    ranks = None
    if complete and len(ranked) > 1:
        places = np.array(
            [rankdata([-round(accuracies[method][name] + 1e-9, 1) for method in ranked]) for name in complete]
        )
        n, k = places.shape
        p_value = float(friedmanchisquare(*places.T).pvalue) if n > 1 and k > 2 else float("nan")
        critical = float(studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n)))
        ranks = Ranks(tuple(ranked), tuple(places.mean(axis=0).tolist()), n, p_value, critical)
        others = [name not in DESIGN_SETS for name in complete]
        for what, part in (("", places), (" not used in decisions 1 to 11", places[others])):
            if len(part):
                means = dict(zip(ranked, part.mean(axis=0), strict=True))
                text = f"mean rank, {len(part)} sets{what}"
                rows.append([text, *(f"{means[m]:.2f}" if m in means else "" for m in shown)])
    return markdown(["", *shown], rows), ranks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where folds are kept")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=list(ALL), default=list(METHODS))
    parser.add_argument("--folds", nargs="+", choices=["nested", "published"], default=["nested", "published"])
    parser.add_argument("--records", default=RECORDS / "graph_sets.jsonl")
    parser.add_argument("--write", type=Path, help="page that gets the nested table, with images/ranks.svg beside it")
    parser.add_argument("--table-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    records = Records(arguments.records)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    store = ResultStore(arguments.folder / "results.jsonl")
    if not arguments.table_only:
        records.fill(cells(arguments.sets, arguments.methods, arguments.folds, store))
    for kind in arguments.folds:
        text, ranks = table(records, kind)
        print(f"{kind} folds\n\n{text}\n")
        if ranks is not None:
            test = f"Friedman's test: p = {ranks.p_value:.2g}; critical difference {ranks.critical_difference:.2f}"
            print(f"{test}\n")
            if arguments.write and kind == "nested":
                save_figure(ranks_figure(ranks), arguments.write.parent / "images" / "ranks.svg")
                page = arguments.write.read_text(encoding="utf-8")
                start, end = page.index("<!-- nested:"), page.index("<!-- end of nested -->")
                mark = page[start : page.index("\n", start) + 1]
                arguments.write.write_text(f"{page[:start]}{mark}\n{text}\n\n{test}.\n\n{page[end:]}", encoding="utf-8")
    print(records.source())


if __name__ == "__main__":
    main()

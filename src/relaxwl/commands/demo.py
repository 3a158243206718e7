"""``relaxwl demo``: comparison of kernels on embedded data in about a minute."""

from argparse import Namespace
from functools import partial
from pathlib import Path

import numpy as np

from relaxwl.commands.console import Console
from relaxwl.datasets import make_egonets
from relaxwl.datasets.synthetic import EGONET_MODELS
from relaxwl.evaluation import Results, cross_validate, results_table
from relaxwl.evaluation.records import Cell, Record, best_cells
from relaxwl.predictors import GraphClassifier
from relaxwl.reports.effects import write_effects

KERNELS = ["ve-hist", "wl", "wwl", "rwl-star"]
LEVELS = (1, 2, 3, 4)


def run(arguments: Namespace, console: Console) -> None:
    """Compare four kernels on ego networks of four densities, then fit a predictor."""
    console.note(
        "Ego networks from four kinds of random networks, at four densities. The numbers of nodes and edges have\n"
        "the same distribution in all kinds, so counts cannot separate them (chance level 25 %).\n"
    )
    records: list[Record] = []
    for level in LEVELS:
        graphs, y = make_egonets(arguments.graphs, level=level, n_nodes=arguments.nodes, random_state=arguments.seed)
        with console.bar(f"density {level}"):
            records += cross_validate(
                KERNELS,
                graphs,
                np.array(EGONET_MODELS)[y],
                n_folds=5,
                n_repeats=arguments.repeats,
                n_jobs=arguments.jobs,
                random_state=arguments.seed,
                dataset=f"egonets-{level}",
                verbose=console.verbose,
            )
    results = Results(records)
    cells = {kernel: [results.cell(f"egonets-{level}", kernel) for level in LEVELS] for kernel in KERNELS}
    table = results_table(results).render("text")
    folder, look = Path(arguments.out), ""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        from relaxwl.reports.html import write_report

        write_report(results, folder / "report.html", title="Ego networks at four densities")
        look = f"open {folder / 'report.html'}; then "
    except ImportError:
        console.note("no report page: it needs matplotlib (pip install 'relaxwl[plot]')")
    words, score = _predictor(arguments, folder, console)
    following = "relaxwl explain egonets-4 -o explorer.html, or relaxwl benchmark YOUR_DATA --kernels wl rwl-star."
    console.result(
        f"{table}\n\n{_found(cells)}\n\n{words}\n\nNext: {look}{following}",
        {**{kernel: [cell.mean for cell in row] for kernel, row in cells.items()}, "GraphClassifier": score},
    )


def _predictor(arguments: Namespace, folder: Path, console: Console) -> tuple[str, float]:
    """Fit a predictor on three quarters of some graphs; return its report and accuracy on the others in words."""
    console.note("GraphClassifier selects kernels automatically; it is fitted on three quarters of the graphs …")
    make = partial(make_egonets, n_nodes=arguments.nodes, random_state=arguments.seed)
    graphs, y = make(max(arguments.graphs, 40), level=1)
    names = np.array(EGONET_MODELS)[y]
    n_train = 3 * len(graphs) // 4
    model = GraphClassifier(effort="quick", n_jobs=arguments.jobs, random_state=arguments.seed)
    model.fit(graphs[:n_train], names[:n_train])
    unseen, strange = graphs[n_train:], make(20, level=4)[0]
    score = model.score(unseen, names[n_train:])
    page = folder / "effects.html"
    shown = unseen[:6]
    write_effects(
        model.explain(shown), page, title="Effects of nodes", report=model.report_, novelty=model.novelty(shown),
        truth=names[n_train : n_train + 6].tolist(),
    )  # fmt: skip
    usual, odd = (float(np.mean(model.novelty(some) < 0.05)) for some in (unseen, strange))
    lines = [
        "GraphClassifier(effort='quick') on density 1:",
        str(model.report_),
        f"Accuracy on {len(unseen)} new graphs: {100 * score:.0f} % (chance level 25 %).",
        f"Unlike the training graphs (novelty below 0.05): {usual:.0%} of these, {odd:.0%} of graphs of density 4.",
        f"Effects of nodes on predictions: {page}",
    ]
    return "\n".join(lines), score


def _found(cells: dict[str, list[Cell]]) -> str:
    """Return the best kernels at each density, in one line."""
    winners = []
    for place, level in enumerate(LEVELS):
        best = best_cells(row[place] for row in cells.values())
        if best:
            titles = " and ".join(cell.title for cell in best)
            winners.append(f"{titles} at density {level} ({best[0].percent:.0f} %)")
    counting = max(cell.mean for cell in cells["ve-hist"])
    return f"Best: {', '.join(winners)}; counts alone (VE-Hist): at most {100 * counting:.0f} %."

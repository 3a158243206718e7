"""``relaxwl demo``: the whole thing on embedded data in about a minute."""

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
    """Compare four kernels on ego networks of four densities, then let a predictor choose by itself."""
    console.note(
        "Ego networks from four kinds of random networks, at four densities. All kinds have the same numbers of\n"
        "nodes and edges, so counting cannot tell them apart (chance is 25 %). Who can?\n"
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
    page = _report(results, Path(arguments.out), console)
    words, score = _predictor(arguments, Path(arguments.out), console)
    console.result(
        f"{table}\n\n{_found(cells)}\n\n{words}\n\n{_next(page)}",
        {**{kernel: [cell.mean for cell in row] for kernel, row in cells.items()}, "GraphClassifier": score},
    )


def _predictor(arguments: Namespace, folder: Path, console: Console) -> tuple[str, float]:
    """Let a predictor learn from three quarters of some graphs, and say how it does on the others, how sure and why."""
    console.note("Nobody has to choose a kernel: GraphClassifier learns from three quarters of the graphs …")
    make = partial(make_egonets, n_nodes=arguments.nodes, random_state=arguments.seed)
    graphs, y = make(max(arguments.graphs, 40), level=1)
    names = np.array(EGONET_MODELS)[y]
    n_train = 3 * len(graphs) // 4
    model = GraphClassifier(effort="quick", n_jobs=arguments.jobs, random_state=arguments.seed)
    model.fit(graphs[:n_train], names[:n_train])
    unseen, strange = graphs[n_train:], make(20, level=4)[0]
    score = model.score(unseen, names[n_train:])
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "effects.html"
    shown = unseen[:6]
    write_effects(
        model.explain(shown), page, title="Why these classes", report=model.report_, novelty=model.novelty(shown),
        truth=names[n_train : n_train + 6].tolist(),
    )  # fmt: skip
    usual, odd = (float(np.median(model.novelty(some))) for some in (unseen, strange))
    lines = [
        "GraphClassifier(effort='quick') on density 1:",
        str(model.report_),
        f"It is right for {100 * score:.0f} % of {len(unseen)} graphs that it has never seen (chance: 25 %).",
        f"Their novelty is {usual:.2f}, that of graphs of density 4 is {odd:.2f}: above 1, a prediction is a guess.",
        f"Which nodes decide: {page}",
    ]
    return "\n".join(lines), score


def _report(results: Results, folder: Path, console: Console) -> Path | None:
    """Write the report page, if matplotlib is there to draw it."""
    try:
        from relaxwl.reports.html import write_report
    except ImportError:
        console.note("no report page: it needs matplotlib (pip install 'relaxwl[plot]')")
        return None
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "report.html"
    write_report(results, page, title="Ego networks at four densities")
    return page


def _found(cells: dict[str, list[Cell]]) -> str:
    """Say in one line who was best at which density, as it is."""
    winners = []
    for place, level in enumerate(LEVELS):
        best = best_cells(row[place] for row in cells.values())
        if best:
            titles = " and ".join(cell.title for cell in best)
            winners.append(f"{titles} at density {level} ({best[0].percent:.0f} %)")
    counting = max(cell.mean for cell in cells["ve-hist"])
    return f"Found: best was {', '.join(winners)}; counting alone (VE-Hist) got {100 * counting:.0f} % at most."


def _next(page: Path | None) -> str:
    look = f"open {page}; then " if page is not None else ""
    return (
        f"Next: {look}relaxwl explain egonets-4 -o explorer.html, or relaxwl benchmark YOUR_DATA --kernels wl rwl-star."
    )

"""``relaxwl fit`` and ``relaxwl predict``: a model from graphs with targets, and answers for other graphs."""

import csv
import io
from argparse import Namespace
from typing import Any

import numpy as np

from relaxwl._storage import atomic_write
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import Source, open_source
from relaxwl.predictors import GraphClassifier, GraphRegressor
from relaxwl.predictors.persistence import load_predictor
from relaxwl.reports.effects import write_effects

TASKS: dict[str, type] = {"classes": GraphClassifier, "numbers": GraphRegressor}


def run_fit(arguments: Namespace, console: Console) -> None:
    """Fit a classifier or a regressor and save it."""
    source = open_source(arguments.dataset, console, arguments.seed)
    kind, y = _task(arguments.target, source)
    model = kind(
        effort=arguments.effort,
        time_limit=arguments.time_limit,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        verbose=int(console.shows_kernels),
    )
    console.note(f"{source.name}: {source.graphs!r}")
    with console.kernel_bar(source.name):
        model.fit(source.graphs, y)
    model.set_params(verbose=0).save(arguments.output)
    report = model.report_
    console.result(
        f"{report}\nthe model is {arguments.output}; use it with: relaxwl predict {arguments.output} DATA -o FILE.csv",
        {
            "output": arguments.output, "chosen": report.chosen, "metric": report.metric, "score": report.score,
            "baseline": report.baseline, "left_out": list(report.left_out), "seconds": report.seconds,
        },
    )  # fmt: skip


def run_predict(arguments: Namespace, console: Console) -> None:
    """Write a table with a row for each graph."""
    model = load_predictor(arguments.model_file, tuple(TASKS.values()))
    model.set_params(n_jobs=arguments.jobs)
    source = open_source(arguments.dataset, console, arguments.seed)
    header, rows = _answers(model, source)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(rows)
    with atomic_write(arguments.output) as file:
        file.write(text.getvalue().encode())
    summary: dict[str, Any] = {"output": arguments.output, "graphs": len(rows)}
    words = f"{len(rows)} predictions written to {arguments.output}{_agreement(rows, source, summary)}"
    if arguments.page is not None:
        n_shown = _write_page(model, source, arguments.page, arguments.page_graphs)
        summary["page"] = arguments.page
        words += f"\nwhat the vertices of {n_shown} graphs do to them: {arguments.page}"
    console.result(words, summary)


def _write_page(model: Any, source: Source, path: str, n_graphs: int) -> int:
    """Write a page about the vertices behind the predictions for the first graphs, and return how many these are."""
    graphs = source.graphs[:n_graphs]
    write_effects(
        model.explain(graphs),
        path,
        title=f"What vertices of {source.name} do to predictions",
        report=model.report_,
        novelty=model.novelty(graphs),
        truth=None if source.y is None or source.y.ndim != 1 else source.y[:n_graphs].tolist(),
    )
    return len(graphs)


def _task(target: str, source: Source) -> tuple[Any, Any]:
    """Say from the targets, or from the option, whether to classify."""
    y = source.y
    if y is None or y.ndim != 1:
        raise UserError(
            f"{source.name} has no class or number for each graph (NAME_graph_labels.txt), and fit needs them"
        )
    if target == "auto":
        target = "numbers" if y.dtype.kind == "f" else "classes"
    if target == "numbers" and y.dtype.kind not in "iuf":
        raise UserError(f"the targets of {source.name} are no numbers; use --target classes")
    return TASKS[target], y.astype(np.float64) if target == "numbers" else y


def _answers(model: Any, source: Source) -> tuple[list[str], list[list[Any]]]:
    novelty = model.novelty(source.graphs)
    if isinstance(model, GraphRegressor):
        mean, deviation = model.predict(source.graphs, return_std=True)
        columns: list[Any] = [mean, deviation, novelty]
        header = ["graph", "prediction", "deviation", "novelty"]
    else:
        probabilities = model.predict_proba(source.graphs)
        columns = [model.classes_[probabilities.argmax(axis=1)], *probabilities.T, novelty]
        header = ["graph", "prediction", *(f"probability of {name}" for name in model.classes_), "novelty"]
    return header, [[place, *values] for place, values in enumerate(zip(*(c.tolist() for c in columns), strict=True))]


def _agreement(rows: list[list[Any]], source: Source, summary: dict[str, Any]) -> str:
    """Say how well the predictions fit targets that the data set has."""
    if source.y is None or source.y.ndim != 1 or not rows:
        return ""
    predicted = np.array([row[1] for row in rows])
    if predicted.dtype.kind == "f" and source.y.dtype.kind in "iuf":
        summary["rmse"] = float(np.sqrt(np.mean((predicted - source.y) ** 2)))
        return f"; root mean squared error {summary['rmse']:.4g}"
    summary["accuracy"] = float(np.mean(predicted.astype(str) == source.y.astype(str)))
    return f"; {100 * summary['accuracy']:.1f} % agree with the classes that the data set has"

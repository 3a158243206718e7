"""``relaxwl fit`` and ``relaxwl predict``: a model from graphs with targets, and answers for other graphs."""

import csv
import io
from argparse import Namespace
from typing import Any

import numpy as np

from relaxwl._storage import atomic_write
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import Columns, MoleculeSource, Source, open_source
from relaxwl.graphs.arrays import Int64
from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor
from relaxwl.predictors import GraphClassifier, GraphRegressor
from relaxwl.predictors.persistence import load_predictor
from relaxwl.reports.effects import write_effects

GRAPHS: dict[str, type] = {"classification": GraphClassifier, "regression": GraphRegressor}
MOLECULES: dict[str, type] = {"classification": MoleculeClassifier, "regression": MoleculeRegressor}
# A model does not remember which graphs it was fitted on.
KNOWN = " (where the model has learned from these graphs, that says little about others)"


def run_fit(arguments: Namespace, console: Console) -> None:
    """Fit a classifier or a regressor and save it."""
    source = open_source(arguments.dataset, console, arguments.seed, Columns.of(arguments))
    task, y = _task(arguments.task, source)
    common = {"n_jobs": arguments.jobs, "random_state": arguments.seed, "verbose": console.verbose}
    if isinstance(source, MoleculeSource):
        model = MOLECULES[task](**common)
    else:
        model = GRAPHS[task](effort=arguments.effort, time_limit=arguments.time_limit, **common)
    console.note(f"{source.name}: {source.graphs!r}")
    with console.bar(source.name):
        model.fit(_objects(model, source), y)
    model.names_ = getattr(source.graphs, "names", None)
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
    model = load_predictor(arguments.model_file, (*GRAPHS.values(), *MOLECULES.values()))
    model.set_params(n_jobs=arguments.jobs)
    source = open_source(arguments.dataset, console, arguments.seed, Columns.of(arguments))
    answers = _answers(model, source)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*source.row_names(), *answers])
    table.writerows(_rows(source, list(answers.values())))
    with atomic_write(arguments.output) as file:
        file.write(text.getvalue().encode())
    summary: dict[str, Any] = {"output": arguments.output, "graphs": len(source.readable)}
    told = _agreement(np.asarray(answers["prediction"]), source, summary)
    n_empty = len(source.graphs) - len(source.readable)
    empty = f", and {n_empty} without a prediction," if n_empty else ""
    words = f"{len(source.readable)} predictions{empty} written to {arguments.output}{told}"
    if arguments.page is not None:
        n_shown = _write_page(model, source, arguments.page, arguments.page_graphs)
        summary["page"] = arguments.page
        words += f"\nwhat the {model.nodes} of {n_shown} {model.things} do to them: {arguments.page}"
    console.result(words, summary)


def _write_page(model: Any, source: Source, path: str, n_graphs: int) -> int:
    """Write a page about the nodes behind the predictions for the first graphs, and return how many these are."""
    places = source.readable[:n_graphs]
    graphs = _objects(model, source, places)
    write_effects(
        model.explain(graphs),
        path,
        title=f"What {model.nodes} do to predictions: {source.name}",
        report=model.report_,
        novelty=model.novelty(graphs),
        truth=None if source.y is None or source.y.ndim != 1 else source.y[places].tolist(),
    )
    return len(graphs)


def _objects(model: Any, source: Source, places: Int64 | None = None) -> Any:
    """Return what a model takes, all or at some places: molecules as they were read, so that none is read again."""
    if isinstance(source, MoleculeSource) and isinstance(model, tuple(MOLECULES.values())):
        molecules = source.table.molecules
        return molecules if places is None else [molecules[place] for place in places.tolist()]
    if places is None or len(places) == len(source.graphs):
        return source.graphs
    return source.graphs[places]


def _rows(source: Source, answers: list[Any]) -> list[list[Any]]:
    """Return a row for each graph: its names and the answers, which are empty where nothing could be read."""
    place_of = {place: number for number, place in enumerate(source.readable.tolist())}
    columns = [answer.tolist() for answer in answers]
    nothing = [""] * len(columns)
    return [
        [*names, *(nothing if place not in place_of else [column[place_of[place]] for column in columns])]
        for place, names in enumerate(zip(*source.row_names().values(), strict=True))
    ]


def _task(task: str, source: Source) -> tuple[str, Any]:
    """Say from the targets, or from the option, whether to classify."""
    y = source.y
    if y is None or y.ndim != 1:
        raise UserError(f"{source.name} has no class or number for each graph ({source.targets_from}); fit needs them")
    if task == "auto":
        task = "regression" if y.dtype.kind == "f" else "classification"
    if task == "regression" and y.dtype.kind not in "iuf":
        raise UserError(f"the targets of {source.name} are no numbers; use --task classification")
    return task, y.astype(np.float64) if task == "regression" else y


def _answers(model: Any, source: Source) -> dict[str, Any]:
    """Return the columns of answers for the graphs that could be read."""
    graphs = _objects(model, source, source.readable)
    novelty = model.novelty(graphs)
    if isinstance(model, GraphRegressor):
        mean, deviation = model.predict(graphs, return_std=True)
        return {"prediction": mean, "deviation": deviation, "novelty": novelty}
    probabilities = model.predict_proba(graphs)
    likeliest = model.classes_[probabilities.argmax(axis=1)]
    of_classes = {f"probability of {name}": p for name, p in zip(model.classes_, probabilities.T, strict=True)}
    return {"prediction": likeliest, **of_classes, "novelty": novelty}


def _agreement(predicted: Any, source: Source, summary: dict[str, Any]) -> str:
    """Say how well the predictions fit targets that the data set has."""
    if source.y is None or source.y.ndim != 1 or not len(predicted):
        return ""
    y = source.y[source.readable]
    if predicted.dtype.kind == "f" and y.dtype.kind in "iuf":
        summary["rmse"] = float(np.sqrt(np.nanmean((predicted - y) ** 2)))
        return f"; root mean squared error {summary['rmse']:.4g}{KNOWN}"
    summary["accuracy"] = float(np.mean(predicted.astype(str) == y.astype(str)))
    return f"; {100 * summary['accuracy']:.1f} % agree with the classes that the data set has{KNOWN}"

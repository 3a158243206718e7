"""``relaxwl fit``, ``relaxwl predict`` and ``relaxwl neighbors``: models and predictions."""

import csv
import io
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from relaxwl._storage import atomic_write
from relaxwl._validation import as_task, infer_task, is_known
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import (
    SHARDS,
    MoleculeSource,
    Source,
    check_columns,
    check_source,
    open_source,
    reading_options,
)
from relaxwl.datasets.molecules import read_targets
from relaxwl.datasets.smiles import MoleculeCollection, MoleculeError
from relaxwl.distances.graphs import GraphDistance
from relaxwl.distributed.shards import MANIFEST, ShardedCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels.persistence import read_value
from relaxwl.learning.scoring import get_score
from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor
from relaxwl.predictors import GraphClassifier, GraphRegressor
from relaxwl.predictors.persistence import load_predictor
from relaxwl.reports.effects import write_effects

GRAPHS: dict[str, type] = {"classification": GraphClassifier, "regression": GraphRegressor}
MOLECULES: dict[str, type] = {"classification": MoleculeClassifier, "regression": MoleculeRegressor}
# Note on scores: a model cannot tell whether it was fitted on these graphs or molecules.
KNOWN = " (optimistic if the model was trained on these {objects})"
# Number of parts of the data, of which --validate holds one out.
N_PARTS = 5
# Number of nearest training graphs that the page lists for each graph.
N_NEAREST = 3


def run_fit(arguments: Namespace, console: Console) -> None:
    """Fit a classifier or a regressor and save it; for shards, which are read one at a time, a linear model."""
    if Path(arguments.dataset, MANIFEST).exists():
        reading_options(arguments, SHARDS, arguments.dataset)
        source, shards = None, ShardedCollection.open(arguments.dataset)
        if arguments.validate is not None or shards.manifest.target is None:
            problem = (
                "has no targets" if arguments.validate is None else "is a folder of shards: --validate needs a table"
            )
            raise UserError(f"{arguments.dataset} {problem}")
        task, y = arguments.task if arguments.task != "auto" or shards.y is None else infer_task(shards.y), None
        of_molecules = isinstance(shards[0], MoleculeCollection)
    else:
        source = open_source(arguments.dataset, arguments, console, several=True)
        task, y = _task(arguments.task, source, arguments.skip_targets, console)
        of_molecules = isinstance(source, MoleculeSource)
    get_score(arguments.scoring, task)
    options = {"scoring": arguments.scoring, "n_jobs": arguments.jobs, "random_state": arguments.seed}
    options |= {"skip_targets": arguments.skip_targets} if task == "classification" else {}
    of_graphs = {name: value for name in ("effort", "time_limit") if (value := getattr(arguments, name)) is not None}
    if of_molecules and of_graphs:
        option = next(iter(of_graphs)).replace("_", "-")
        raise UserError(f"--{option} does not apply to molecules; omit it")
    options |= {name: getattr(arguments, name) for name in ("standardize", "stereo")} if of_molecules else of_graphs
    model = (MOLECULES if of_molecules else GRAPHS)[task](**options, verbose=console.verbose)
    console.note(f"{arguments.dataset}: {shards!r}" if source is None else str(source))
    held_out = None
    with console.bar(arguments.dataset if source is None else source.name):
        if source is not None and arguments.validate is not None:
            held_out = _validated(model, source, y, arguments.validate)
        model.fit(shards if source is None else _objects(model, source), y)
    if source is not None:
        model.names_, model.columns_ = source.full_names(), source.columns
    model.set_params(verbose=0).save(arguments.output)
    report = model.report_
    several = hasattr(report, "reports")
    reports = dict(zip(report.names, report.reports, strict=True)) if several else {"": report}
    summary: list[dict[str, Any]] = [
        {
            **({"target": name} if name else {}), "chosen": one.chosen, "metric": one.metric, "score": one.score,
            "baseline": one.baseline, "left_out": list(one.left_out),
        }
        for name, one in reports.items()
    ]  # fmt: skip
    data: dict[str, Any] = {"output": arguments.output, "seconds": report.seconds}
    data |= {"score": report.score, "targets": summary} if several else summary[0]
    words = [str(report)]
    if held_out is not None:
        score, n_held_out, how = held_out
        first = next(iter(reports.values()))
        of = f", mean of {len(reports)} targets" if several else ""
        words.append(
            f"held out: {first.metric} {first.number(score).strip()}{of} on {n_held_out} {model.things} {how}, by a "
            f"model fitted without them (the estimate above, {first.validation}: "
            f"{first.number(report.score).strip()})"
        )
        data["held_out"] = score
    words.append(f"model saved to {arguments.output}; use it with: relaxwl predict {arguments.output} DATA -o FILE.csv")
    console.result("\n".join(words), data)


def _validated(model: Any, source: Source, y: Any, how: str) -> tuple[float, int, str]:
    """Fit on a part and score the rest; return the score, the number of objects held out, and which these are."""
    groups = source.groups(how)
    n_objects = len(groups)
    if n_objects < 2 * N_PARTS or groups.max() + 1 < N_PARTS:
        raise UserError(f"--validate {how} needs at least {2 * N_PARTS} {model.things}, of {N_PARTS} groups")
    if how == "scaffold":
        # The largest scaffolds stay in training, as in published scaffold splits.
        sizes = np.bincount(groups)
        order = np.argsort(-sizes, kind="stable")
        before = np.cumsum(sizes[order]) - sizes[order]
        held_out = np.flatnonzero(np.isin(groups, order[before >= n_objects - n_objects // N_PARTS]))
    else:
        stratified = isinstance(model, GraphClassifier) and source.several is None
        kind = StratifiedGroupKFold if stratified else GroupKFold
        folds = kind(N_PARTS, shuffle=True, random_state=model.random_state)
        held_out = next(folds.split(groups, y if stratified else None, groups))[1]
    training = np.setdiff1d(np.arange(n_objects), held_out)

    def part(rows: Int64) -> Any:
        return {name: column[rows] for name, column in y.items()} if isinstance(y, dict) else y[rows]

    other = clone(model).set_params(scoring=get_score(model.scoring, model._task).name)
    if isinstance(model, GraphClassifier):
        other.set_params(skip_targets=True)
    other.fit(_objects(model, source, training), part(training))
    score = other.score(_objects(model, source, held_out), part(held_out))
    return float(score), len(held_out), "of other scaffolds" if how == "scaffold" else "chosen at random"


def run_predict(arguments: Namespace, console: Console) -> None:
    """Write a table with a row for each graph."""
    model, source = _opened(arguments, console)
    if arguments.page is not None:
        _check_page(model, source, arguments.page_graphs)
    answers, names = _answers(model, source, arguments.coverage), source.row_names()
    columns = list(names.values())
    n_rows = len(columns[0])
    for answer in answers.values():  # empty for rows that could not be read
        cells = dict(zip(source.readable.tolist(), answer.tolist(), strict=True))
        columns.append([cells.get(place, "") for place in range(n_rows)])
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*names, *answers])
    table.writerows(zip(*columns, strict=True))
    with atomic_write(arguments.output) as file:
        file.write(text.getvalue().encode())
    truth, n_read = _truth(model, source), len(source.readable)
    summary: dict[str, Any] = {"output": arguments.output, "graphs": n_read}
    empty = f", and {n_rows - n_read} without a prediction," if n_rows > n_read else ""
    words = f"{n_read} predictions{empty} written to {arguments.output}"
    words += _agreement(model, answers, truth, source, summary)
    if arguments.page is not None:
        n_shown = _write_page(model, source, truth, arguments.page, arguments.page_graphs)
        summary["page"] = arguments.page
        words += (
            f"\neffects of {model.nodes} on the predictions of {n_shown} {model.things} written to {arguments.page}"
        )
    console.result(words, summary)


def run_neighbors(arguments: Namespace, console: Console) -> None:
    """Print the training graphs that are most similar to each graph; with --distance, the nearest of a data set."""
    things = "graphs"
    if arguments.distance:
        known, source = (open_source(each, arguments, console) for each in (arguments.model_file, arguments.dataset))
        search = GraphDistance(n_jobs=arguments.jobs).fit(known.graphs)
        found_in = search.kneighbors(source.graphs, min(arguments.neighbors, len(known.graphs)))
        nearest = _named(*found_in, known.full_names() or [None] * len(known.graphs), "graph")
    else:
        model, source = _opened(arguments, console)
        nearest = _nearest(model, _objects(model, source, source.readable), arguments.neighbors)
        things = f"training {model.things}"
    called = source.full_names() or range(len(source.graphs))
    found = list(zip([called[place] for place in source.readable.tolist()], nearest, strict=True))
    lines = [
        line for name, near in found for line in (str(name), *(f"  {distance:.4f}  {one}" for distance, one in near))
    ]
    meaning = "" if arguments.distance else " (1 minus similarity)"
    console.note(f"under each name: distance{meaning} and name of the nearest {things}")
    console.result(
        "\n".join(lines),
        [
            {"graph": name, "neighbors": [{"name": one, "distance": distance} for distance, one in near]}
            for name, near in found
        ],
    )


def _opened(arguments: Namespace, console: Console) -> tuple[Any, Source]:
    """Return a model and the graphs to predict, read with the options of the fit.

    A table without the column of SMILES raises an error before the model is loaded.
    """
    check_columns(arguments.dataset, arguments, read_value(arguments.model_file, "columns_"))
    model = load_predictor(arguments.model_file, (*GRAPHS.values(), *MOLECULES.values()))
    model.set_params(n_jobs=arguments.jobs)
    check_source(arguments.dataset, of_molecules=isinstance(model, tuple(MOLECULES.values())))
    return model, open_source(arguments.dataset, arguments, console, several=True, remembered=model.columns_)


def _check_page(model: Any, source: Source, n_graphs: int) -> None:
    """Raise an error if a molecule of the page is too large to be explained."""
    places = source.readable[:n_graphs]
    try:
        model._explainable(_objects(model, source, places))
    except MoleculeError as error:
        line = source.row_names()["line"][places[error.index]]
        raise UserError(
            f"{source.name}, line {line}: {error.problem}; leave out --page, or use a smaller --page-graphs"
        ) from None


def _write_page(model: Any, source: Source, truth: dict[str, Any], path: str, n_graphs: int) -> int:
    """Write the page of effects for the first graphs, and return their number."""
    places = source.readable[:n_graphs]
    graphs = _objects(model, source, places)
    several = len(model.target_names_) > 1
    target = model.report_.names[0] if several else model.target_names_[0]
    known, title = truth.get(target), f"Effects of {model.nodes} on predictions: {source.name}"
    write_effects(
        model.explain(graphs, target=target),
        path,
        title=f"{title}, {target}" if several else title,
        report=model.report_.reports[0] if several else model.report_,
        novelty=model.novelty(graphs),
        truth=None if known is None else known[places].tolist(),
        neighbors=_nearest(model, graphs, N_NEAREST) if hasattr(model, "kernel_weights_") else None,
    )
    return len(places)


def _nearest(model: Any, graphs: Any, n_neighbors: int) -> list[list[tuple[float, str]]]:
    """Return distance and name of the nearest training objects."""
    distances, places = model.kneighbors(graphs, min(n_neighbors, model.n_objects_in_))
    names = model.names_ or [None] * model.n_objects_in_
    return _named(distances, places, names, "training graph")


def _named(distances: Float64, places: Int64, names: Any, thing: str) -> list[list[tuple[float, str]]]:
    """Return distances and names row by row; a graph without a name is a ``thing`` with its number."""
    return [
        [(far, names[place] or f"{thing} {place}") for far, place in zip(*row, strict=True)]
        for row in zip(distances.tolist(), places.tolist(), strict=True)
    ]


def _objects(model: Any, source: Source, places: Int64 | None = None) -> Any:
    """Return the inputs of a model, all or at some positions; molecules are not read again."""
    if isinstance(source, MoleculeSource) and isinstance(model, tuple(MOLECULES.values())):
        molecules = source.table.molecules
        return molecules if places is None else [molecules[place] for place in places.tolist()]
    return source.graphs if places is None or len(places) == len(source.graphs) else source.graphs[places]


def _task(task: str, source: Source, skip_targets: bool, console: Console) -> tuple[str, Any]:
    """Return the task, inferred from the targets or given as an option; unusable targets raise an error."""
    y: Any = source.y if source.several is None else dict(source.several)
    if y is None or (not isinstance(y, dict) and y.ndim != 1):
        raise UserError(f"{source.name} has no targets ({source.targets_from}), which fit requires")
    columns = y if isinstance(y, dict) else {"": y}
    for name, column in list(columns.items()):
        if name and not is_known(column).any():
            if not skip_targets:
                raise UserError(f"the target {name!r} has no values; leave it out, or use --skip-targets")
            console.note(f"the target {name!r} has no values and is left out")
            del columns[name]
    if not columns:
        raise UserError(f"no target of {source.name} has a value")
    texts = [name for name, column in columns.items() if column.dtype.kind not in "iuf"]
    if task == "auto":
        found = {name: source.task(column[is_known(column)], task, console, name) for name, column in columns.items()}
        measured = [name for name, kind in found.items() if kind == "regression"]
        task = "regression" if measured else "classification"
        if measured and texts:
            raise UserError(
                f"the target {measured[0]!r} holds measured numbers and {texts[0]!r} classes; fit them separately"
            )
    if task == "regression":
        if texts:
            of = f"the values of {texts[0]!r} are" if texts[0] else f"the targets of {source.name} are"
            raise UserError(f"{of} not numbers; use --task classification")
        return task, columns if isinstance(y, dict) else as_task(y, task)
    for name, column in columns.items():
        known, which = as_task(column[is_known(column)], task), f"target {name!r}: " if name else ""
        classes, counts = np.unique(known.astype(str).astype(object), return_counts=True)
        rare = classes[counts == 1]
        if len(classes) < 2 and not (skip_targets and name):
            more = "; --skip-targets keeps it as a constant" if name else ""
            raise UserError(f"{which}all values are {classes[0]!r}, so there is nothing to learn{more}")
        if len(classes) > 1 and len(rare) and len(classes) <= len(known) / 2:
            raise UserError(
                f"{which}the class {rare[0]!r} occurs once, but a class needs at least two {source.things}; "
                "remove the row or merge classes"
            )
    return task, columns if isinstance(y, dict) else as_task(y, task)


def _answers(model: Any, source: Source, coverage: float | None) -> dict[str, Any]:
    """Return the columns of predictions for the readable graphs; several targets are named in the headers."""
    graphs = _objects(model, source, source.readable)
    answers: dict[str, Any] = {}
    several = len(model.target_names_) > 1
    if isinstance(model, GraphRegressor):
        means, stds = (found.reshape(len(source.readable), -1).T for found in model.predict(graphs, return_std=True))
    else:
        tables, classes = model.predict_proba(graphs), model.classes_
        tables, classes = (tables, classes) if isinstance(tables, list) else ([tables], [classes])
    for number, target in enumerate(model.target_names_):
        of = f"{target}: " if several else ""
        if isinstance(model, GraphRegressor):
            answers |= {f"{of}prediction": means[number], f"{of}std": stds[number]}
            if coverage is not None:
                lower, upper = model.predict_interval(graphs, coverage, target=number).T
                answers |= {f"{of}lower": lower, f"{of}upper": upper}
            continue
        names, table = classes[number], tables[number]
        answers[f"{of}prediction"] = names[table.argmax(axis=1)]
        answers |= {f"{of}probability of {name}": p for name, p in zip(names, table.T, strict=True)}
        if coverage is not None:
            constant = np.ones(table.shape, bool)
            members = model.predict_set(graphs, coverage, target=number) if len(names) > 1 else constant
            sets = ["{" + ", ".join(map(str, names[member])) + "}" for member in members]
            answers[f"{of}set"] = np.array(sets, dtype=object)
    return {**answers, "novelty": model.novelty(graphs)}


def _truth(model: Any, source: Source) -> dict[str, Any]:
    """Return the true values by target: from the option, or from columns with the names of the fit."""
    names = model.target_names_
    if source.y is not None and source.y.ndim == 1 and len(names) == 1:
        return {names[0]: source.y}
    given = source.several or {}
    found: dict[str, Any] = {name: given[name] for name in names if name in given}
    columns = source.row_names()
    remembered = names if len(names) > 1 else (model.columns_ or {}).get("target", [])
    for name, column in zip(names, remembered, strict=False):
        if name not in found and column in columns:
            texts = [str(value) for value in columns[column]]
            values = read_targets(texts, list(range(len(texts))), source.name, column, "nan", gaps=True)
            if is_known(values).any():
                found[name] = values
    return found


def _agreement(
    model: Any, answers: dict[str, Any], truth: dict[str, Any], source: Source, summary: dict[str, Any]
) -> str:
    """Return the score of the predictions in words; with several targets, the mean."""
    found, of_numbers = [], isinstance(model, GraphRegressor)
    for name, known in truth.items():
        predicted = answers["prediction" if len(model.target_names_) == 1 else f"{name}: prediction"]
        known = known[source.readable]
        there = is_known(known)
        y, predicted = as_task(known[there], "regression" if of_numbers else "classification"), predicted[there]
        if len(y) and (not of_numbers or y.dtype.kind in "iuf"):
            wrong = (predicted - y) ** 2 if of_numbers else predicted.astype(str) == y.astype(str)
            found.append(float(np.sqrt(wrong.mean()) if of_numbers else wrong.mean()))
    if not found:
        return ""
    of = f" (mean of {len(found)} targets)" if len(found) > 1 else ""
    of += KNOWN.format(objects="molecules" if isinstance(source, MoleculeSource) else "graphs")
    score = summary["rmse" if of_numbers else "accuracy"] = float(np.mean(found))
    if of_numbers:
        return f"; root mean squared error {score:.4g}{of}"
    return f"; accuracy {100 * score:.1f} %{of}"

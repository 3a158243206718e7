"""``relaxwl fit``, ``relaxwl predict`` and ``relaxwl neighbors``: a model of graphs with targets, and its answers."""

import csv
import io
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from relaxwl._storage import atomic_write
from relaxwl.commands.console import Console, UserError, in_options
from relaxwl.commands.sources import Columns, MoleculeSource, Source, open_source, whole_numbers
from relaxwl.datasets.molecules import read_targets
from relaxwl.datasets.smiles import MoleculeCollection
from relaxwl.distributed.shards import MANIFEST, ShardedCollection
from relaxwl.graphs.arrays import Int64
from relaxwl.learning.scoring import get_score
from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor
from relaxwl.predictors import GraphClassifier, GraphRegressor
from relaxwl.predictors.persistence import load_predictor
from relaxwl.reports.effects import write_effects

GRAPHS: dict[str, type] = {"classification": GraphClassifier, "regression": GraphRegressor}
MOLECULES: dict[str, type] = {"classification": MoleculeClassifier, "regression": MoleculeRegressor}
# A model does not remember which graphs it was fitted on.
KNOWN = " (where the model has learned from these graphs, that says little about others)"
# Parts of which --validate holds one out.
N_PARTS = 5
# Training graphs that the page names beside each graph.
N_NEAREST = 3


def run_fit(arguments: Namespace, console: Console) -> None:
    """Fit a classifier or a regressor and save it."""
    if Path(arguments.dataset, MANIFEST).exists():
        _fit_shards(arguments, console)
        return
    source = open_source(arguments.dataset, console, arguments.seed, Columns.of(arguments), several=True)
    task, y = _task(arguments.task, source, arguments.skip_targets, console)
    get_score(arguments.scoring, task)
    options = {"scoring": arguments.scoring, "n_jobs": arguments.jobs, "random_state": arguments.seed}
    options |= {"skip_targets": arguments.skip_targets} if task == "classification" else {}
    if isinstance(source, MoleculeSource):
        model = MOLECULES[task](**options, standardize=arguments.standardize, verbose=console.verbose)
    else:
        model = GRAPHS[task](
            effort=arguments.effort, time_limit=arguments.time_limit, **options, verbose=console.verbose
        )
    if arguments.validate == "scaffold" and not isinstance(source, MoleculeSource):
        raise UserError(f"--validate scaffold: {source.name} is no table of molecules, so it has no scaffolds")
    console.note(f"{source.name}: {source.graphs!r}")
    with console.bar(source.name):
        held_out = None if arguments.validate is None else _validated(model, source, y, arguments.validate)
        model.fit(_objects(model, source), y)
    model.names_, model.columns_ = source.full_names(), source.columns or None
    model.set_params(verbose=0).save(arguments.output)
    report = model.report_
    reports = dict(zip(report.names, report.reports, strict=True)) if source.several is not None else {"": report}
    summary: list[dict[str, Any]] = [
        {
            **({"target": name} if name else {}), "chosen": one.chosen, "metric": one.metric, "score": one.score,
            "baseline": one.baseline, "left_out": list(one.left_out),
        }
        for name, one in reports.items()
    ]  # fmt: skip
    data: dict[str, Any] = {"output": arguments.output, "seconds": report.seconds}
    data |= summary[0] if source.several is None else {"score": report.score, "targets": summary}
    words = [in_options(str(report))]
    if held_out is not None:
        score, n_held_out, how = held_out
        first = next(iter(reports.values()))
        of = "" if source.several is None else f", mean of {len(reports)} targets"
        words.append(
            f"held out: {first.metric} {first.number(score).strip()}{of}, of {n_held_out} {model.things} {how} that a "
            f"model fitted without them predicts (the estimate above, {first.validation}: "
            f"{first.number(report.score).strip()})"
        )
        data["held_out"] = score
    words.append(f"the model is {arguments.output}; use it with: relaxwl predict {arguments.output} DATA -o FILE.csv")
    console.result("\n".join(words), data)


def _validated(model: Any, source: Source, y: Any, how: str) -> tuple[float, int, str]:
    """Fit on a part and score the rest; return the score, the number of objects held out, and which these are."""
    n_objects, groups = len(source.graphs), source.groups(how)
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


def _fit_shards(arguments: Namespace, console: Console) -> None:
    """Fit a linear model to a folder of shards, which are read one at a time, and save it."""
    shards = ShardedCollection.open(arguments.dataset)
    if arguments.validate is not None or shards.manifest.target is None:
        problem = "has no targets" if arguments.validate is None else "is a folder of shards: --validate needs a table"
        raise UserError(f"{arguments.dataset} {problem}")
    is_number = shards.manifest.target == "f" if arguments.task == "auto" else arguments.task == "regression"
    kinds = MOLECULES if isinstance(shards[0], MoleculeCollection) else GRAPHS
    options = {"scoring": arguments.scoring, "n_jobs": arguments.jobs, "random_state": arguments.seed}
    model = kinds["regression" if is_number else "classification"](**options, verbose=console.verbose)
    console.note(f"{arguments.dataset}: {shards!r}")
    with console.bar(arguments.dataset):
        model.fit(shards)
    model.set_params(verbose=0).save(arguments.output)
    report = model.report_
    data = {"output": arguments.output, "seconds": report.seconds, "chosen": report.chosen, "score": report.score}
    console.result(f"{in_options(str(report))}\nthe model is {arguments.output}", data)


def run_predict(arguments: Namespace, console: Console) -> None:
    """Write a table with a row for each graph."""
    model, source = _opened(arguments, console)
    answers = _answers(model, source, arguments.coverage)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    names = source.row_names()
    table.writerow([*names, *answers])
    table.writerows(_rows(source, list(answers.values())))
    with atomic_write(arguments.output) as file:
        file.write(text.getvalue().encode())
    truth = _truth(model, source)
    summary: dict[str, Any] = {"output": arguments.output, "graphs": len(source.readable)}
    agreement = _agreement(model, answers, truth, source, summary)
    n_empty = len(source.graphs) - len(source.readable)
    empty = f", and {n_empty} without a prediction," if n_empty else ""
    words = f"{len(source.readable)} predictions{empty} written to {arguments.output}{agreement}"
    if arguments.page is not None:
        n_shown = _write_page(model, source, truth, arguments.page, arguments.page_graphs)
        summary["page"] = arguments.page
        words += f"\nwhat the {model.nodes} of {n_shown} {model.things} do to them: {arguments.page}"
    console.result(words, summary)


def run_neighbors(arguments: Namespace, console: Console) -> None:
    """Print the training graphs that are most similar to each graph."""
    model, source = _opened(arguments, console)
    nearest = _nearest(model, _objects(model, source, source.readable), arguments.neighbors)
    called = source.full_names() or range(len(source.graphs))
    names = [called[place] for place in source.readable.tolist()]
    lines = [
        line
        for name, found in zip(names, nearest, strict=True)
        for line in (str(name), *(f"  {distance:.4f}  {near}" for distance, near in found))
    ]
    data = [
        {"graph": name, "neighbors": [{"name": near, "distance": distance} for distance, near in found]}
        for name, found in zip(names, nearest, strict=True)
    ]
    console.note(f"under each name: distance (1 minus similarity) and name of the nearest training {model.things}")
    console.result("\n".join(lines), data)


def _opened(arguments: Namespace, console: Console) -> tuple[Any, Source]:
    """Return a model and the graphs that it is asked about, read as those of the fit were."""
    model = load_predictor(arguments.model_file, (*GRAPHS.values(), *MOLECULES.values()))
    model.set_params(n_jobs=arguments.jobs)
    source = open_source(
        arguments.dataset, console, arguments.seed, Columns.of(arguments), several=True, remembered=model.columns_
    )
    return model, source


def _write_page(model: Any, source: Source, truth: dict[str, Any], path: str, n_graphs: int) -> int:
    """Write a page about the nodes behind the predictions for the first graphs, and return how many these are."""
    places = source.readable[:n_graphs]
    graphs = _objects(model, source, places)
    several = len(model.target_names_) > 1
    target = model.report_.names[0] if several else model.target_names_[0]
    known, title = truth.get(target), f"What {model.nodes} do to predictions: {source.name}"
    write_effects(
        model.explain(graphs, target=target),
        path,
        title=f"{title}, {target}" if several else title,
        report=model.report_.reports[0] if several else model.report_,
        novelty=model.novelty(graphs),
        truth=None if known is None else known[places].tolist(),
        neighbors=_nearest(model, graphs, N_NEAREST) if hasattr(model, "kernel_weights_") else None,
    )
    return len(graphs)


def _nearest(model: Any, graphs: Any, n_neighbors: int) -> list[list[tuple[float, str]]]:
    """Return distance and name of the nearest training objects."""
    distances, places = model.kneighbors(graphs, min(n_neighbors, model.n_objects_in_))
    names = model.names_ or [None] * model.n_objects_in_
    return [
        [(far, names[place] or f"training object {place}") for far, place in zip(*row, strict=True)]
        for row in zip(distances.tolist(), places.tolist(), strict=True)
    ]


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


def _task(task: str, source: Source, skip_targets: bool, console: Console) -> tuple[str, Any]:
    """Say from the targets, or from the option, whether to classify; refuse targets that cannot be learned."""
    y: Any = source.y if source.several is None else dict(source.several)
    if y is None or (not isinstance(y, dict) and y.ndim != 1):
        raise UserError(f"{source.name} has no class or number for each graph ({source.targets_from}); fit needs them")
    columns = y if isinstance(y, dict) else {"": y}
    for name, column in list(columns.items()):
        if name and _known(column).size == 0:
            if not skip_targets:
                raise UserError(f"the target {name!r} has no value at all; leave it out, or use --skip-targets")
            console.note(f"the target {name!r} has no value at all and is left out")
            del columns[name]
    if not columns:
        raise UserError(f"no target of {source.name} has a value")
    measured = [name for name, column in columns.items() if whole_numbers(_known(column)).dtype.kind == "f"]
    texts = [name for name, column in columns.items() if column.dtype.kind not in "iuf"]
    if task == "auto":
        task = "regression" if measured else "classification"
        if measured and texts:
            raise UserError(
                f"the target {measured[0]!r} holds measured numbers and {texts[0]!r} classes; fit them one after the "
                "other"
            )
    if task == "regression" and texts:
        of = f"the target {texts[0]!r} holds" if texts[0] else f"the targets of {source.name} are"
        raise UserError(f"{of} no numbers; use --task classification")
    if task == "classification":
        for name, column in columns.items():
            known = whole_numbers(_known(column))
            classes, counts = np.unique(known.astype(str).astype(object), return_counts=True)
            if len(classes) < 2 and skip_targets and name:
                continue
            rare = classes[counts == 1]
            if len(classes) < 2 or (len(rare) and len(classes) <= len(known) / 2):
                which = f"target {name!r}: " if name else ""
                problem = (
                    f"all values are {classes[0]!r}, so there is nothing to learn"
                    if len(classes) < 2
                    else f"the class {rare[0]!r} occurs once, and a class needs two {source.things} or more; leave the "
                    "row out or join classes"
                )
                more = "; --skip-targets keeps it as a constant" if len(classes) < 2 and name else ""
                raise UserError(f"{which}{problem}{more}")
    return task, columns if isinstance(y, dict) else y.astype(np.float64) if task == "regression" else y


def _known(column: Any) -> Any:
    """Return a target without its gaps."""
    return column[~np.isnan(column)] if column.dtype.kind == "f" else column[[value is not None for value in column]]


def _answers(model: Any, source: Source, coverage: float | None) -> dict[str, Any]:
    """Return the columns of answers for the graphs that could be read; those of several targets begin with its name."""
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
    """Return what is known to be right, by target: asked for, or in columns that are called as those of the fit."""
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
            if _known(values).size:
                found[name] = values
    return found


def _agreement(
    model: Any, answers: dict[str, Any], truth: dict[str, Any], source: Source, summary: dict[str, Any]
) -> str:
    """Say how well the predictions fit the known values; of several targets, on average."""
    found = []
    for name, known in truth.items():
        predicted = answers["prediction" if len(model.target_names_) == 1 else f"{name}: prediction"]
        y = known[source.readable]
        there = np.array([value is not None and value == value for value in y.tolist()], bool)
        y, predicted = whole_numbers(y[there]), predicted[there]
        if not len(y):
            continue
        if isinstance(model, GraphRegressor):
            if y.dtype.kind not in "iuf":
                continue
            found.append(float(np.sqrt(np.mean((predicted - y) ** 2))))
        else:
            found.append(float(np.mean(predicted.astype(str) == y.astype(str))))
    if not found:
        return ""
    of = f" (mean of {len(found)} targets)" if len(found) > 1 else ""
    score = summary["rmse" if isinstance(model, GraphRegressor) else "accuracy"] = float(np.mean(found))
    if isinstance(model, GraphRegressor):
        return f"; root mean squared error {score:.4g}{of}{KNOWN}"
    return f"; {100 * score:.1f} % agree with the classes that the data set has{of}{KNOWN}"

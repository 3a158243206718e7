"""``relaxwl benchmark`` and ``relaxwl report``: kernels compared by nested cross-validation."""

import os
import sys
import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from relaxwl._registry import estimator_names
from relaxwl._storage import atomic_write, check_writable
from relaxwl._validation import is_known
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import MoleculeSource, Source, check_source, open_source
from relaxwl.evaluation import Results, ResultStore, cross_validate, results_table, runtime_table
from relaxwl.evaluation.folds import DEFAULT_C
from relaxwl.evaluation.selection import is_kernel, resolve
from relaxwl.evaluation.tables import PAPER_ACCURACIES, PAPER_DATASETS
from relaxwl.learning.scoring import get_score

RESULTS_FILE = "results.jsonl"
# Formats in which the table of accuracies is written, and their file extensions.
TABLES = (("markdown", "md"), ("csv", "csv"))


def run(arguments: Namespace, console: Console) -> None:
    """Evaluate kernels on data sets; an interrupted run is resumed."""
    datasets, kernels = _what(arguments, console)
    folder = Path(arguments.out)
    for name in (RESULTS_FILE, *(f"results.{suffix}" for _, suffix in TABLES)):
        if folder.is_dir():
            check_writable(folder / name)
    known = ResultStore(folder / RESULTS_FILE).load() if (folder / RESULTS_FILE).is_file() else ()
    if len(known):
        console.note(
            f"{folder / RESULTS_FILE} has {len(known)} records; those with these settings are not computed again"
        )
    records = [record for name in datasets for record in _evaluate(name, kernels, folder, arguments, console)]
    results = Results(records)
    reference = PAPER_ACCURACIES if arguments.paper else None
    # For several targets of a data set, rows are targets, with a mean; otherwise rows are kernels.
    options = {"reference": reference, "metric": arguments.scoring, "mean": any(": " in n for n in results.datasets)}
    table = results_table(results, **options)
    for form, suffix in TABLES:
        with atomic_write(folder / f"results.{suffix}") as file:
            file.write(table.render(form).encode() + b"\n")
    console.result(
        f"{table.render(arguments.format)}\n\n{runtime_table(results).render(arguments.format)}",
        [
            {
                # Null if there is no number, because the kernel did not finish.
                "dataset": cell.dataset,
                "kernel": cell.kernel,
                "metric": cell.metric,
                "mean": cell.mean if cell.finished else None,
                "std": cell.std if cell.finished and cell.has_spread else None,
                "accuracies": cell.accuracies,
                "given_up": cell.given_up or None,
            }
            for dataset in results.datasets
            for cell in (results.cell(dataset, kernel, arguments.scoring) for kernel in results.kernels)
        ],
    )
    console.note(f"records and tables are in {folder}; a page with plots: relaxwl report {folder} -o report.html")


def _evaluate(name: str, kernels: list[str] | None, folder: Path, arguments: Namespace, console: Console) -> list[Any]:
    """Evaluate kernels on one data set, target by target; the folder is created only if this is possible."""
    source = open_source(name, arguments, console, several=True)
    splits = arguments.splits
    if splits is not None and Path(splits).is_dir():
        splits = str(Path(splits) / f"{source.name}.json")
        if not Path(splits).is_file():
            raise UserError(f"--splits {arguments.splits}: there is no file {Path(splits).name} in this folder")
    if source.several is not None and splits is not None and ":" not in splits:
        raise UserError(f"--splits {splits}: folds of a file are for one target; use random:N or scaffold:N")
    parts: list[tuple[Source, Any]] = [] if source.several else [(source, slice(None))]
    for target, column in (source.several or {}).items():
        rows = np.flatnonzero(is_known(column))
        y = column[rows]
        part = Source(f"{source.name}: {target}", source.graphs[rows], y.astype(str) if y.dtype.kind == "O" else y)
        parts.append((part, rows))
    told = [
        part.require_targets(arguments.task, console) for part, _ in parts
    ]  # errors are raised before any evaluation
    for task, _ in told:
        _check_scoring(kernels or _default_kernels(task, source, arguments), task, arguments)
    scaffolds = source.groups("scaffold") if splits is not None and splits.startswith("scaffold:") else None
    console.note(str(source))
    folder.mkdir(parents=True, exist_ok=True)
    records: list[Any] = []
    for (part, rows), (task, y) in zip(parts, told, strict=True):
        with console.bar(part.name):
            records += cross_validate(
                kernels or _default_kernels(task, source, arguments),
                part.graphs,
                y,
                protocol=arguments.protocol,
                task=task,
                splits=splits,
                groups=None if scaffolds is None else scaffolds[rows],
                solver=arguments.solver,
                n_folds=arguments.folds,
                n_repeats=arguments.repeats,
                inner_folds=arguments.inner_folds,
                C=arguments.C or DEFAULT_C,
                depths=arguments.depths,
                n_jobs=arguments.jobs,
                random_state=arguments.seed,
                time_limit=arguments.time_limit,
                store=ResultStore(folder / RESULTS_FILE),
                dataset=part.name,
                verbose=console.verbose,
            )
    return records


def run_report(arguments: Namespace, console: Console) -> None:
    """Write the report page of earlier results."""
    from relaxwl.reports.html import write_report  # needs matplotlib, unlike other commands

    path = Path(arguments.results)
    path = path / RESULTS_FILE if path.is_dir() else path
    if not path.is_file():
        raise UserError(f"{path}: there are no results; run 'relaxwl benchmark … --out DIR' first")
    output = Path(arguments.output)
    explorer = arguments.explorer
    # The path of the explorer page relative to the report.
    if explorer and not explorer.startswith(("http://", "https://")) and not (output.parent / explorer).is_file():
        if not Path(explorer).is_file():
            raise UserError(f"--explorer {explorer}: there is no such page; run 'relaxwl explain … -o {explorer}'")
        explorer = Path(os.path.relpath(explorer, output.parent)).as_posix()
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        results = ResultStore(path).load()
    if not results.datasets:  # a file of another kind, of which each line would have a note
        raise UserError(f"{path} has no results; run 'relaxwl benchmark … --out DIR' first")
    for note in notes:
        warnings.warn(note.message, stacklevel=2)
    reference = PAPER_ACCURACIES if set(results.datasets) & set(PAPER_DATASETS) else None
    metric = arguments.scoring
    for record in results.folds if metric is not None else []:
        if metric not in record.scores and (metric != "accuracy" or record.accuracy is None):
            raise UserError(f"--scoring {metric}: {path} has no such score of {record.title}")
    write_report(results, output, title=arguments.title, reference=reference, explorer=explorer, metric=metric)
    console.result(f"report written to {arguments.output}", {"output": arguments.output, "records": len(results)})


def _default_kernels(task: str, source: Source, arguments: Namespace) -> list[str]:
    """Return what is evaluated if no kernels are named: predictors where kernels do not apply."""
    of_molecules, by_rank = isinstance(source, MoleculeSource), arguments.scoring not in (None, "accuracy", "mcc")
    if task == "classification" and not of_molecules and not by_rank:
        return ["ve-hist", "wl", "wwl", "rwl-star"]
    return ["stats-rf", "auto", *(["molecules"] if of_molecules else [])]


def _check_scoring(kernels: list[str], task: str, arguments: Namespace) -> None:
    """Raise an error if there is no such score of the task or of the kernels."""
    entries = resolve(kernels, arguments.depths and tuple(arguments.depths))
    get_score(arguments.scoring, task)
    if arguments.scoring in ("roc_auc", "average_precision", "log_loss"):
        unsure = next((entry.name for entry in entries if is_kernel(entry)), None)
        if unsure is not None:
            raise UserError(
                f"--scoring {arguments.scoring} needs probabilities, which the SVM of {unsure} does not provide; use "
                "auto, molecules or stats-rf"
            )


def _what(arguments: Namespace, console: Console) -> tuple[list[str], list[str] | None]:
    """Return the data sets and the named kernels; invalid ones raise an error before anything is loaded."""
    datasets, kernels = list(arguments.dataset), arguments.kernels
    if arguments.paper:
        folder, kernels = Path(arguments.data), kernels or list(PAPER_ACCURACIES)
        paths = {
            name: [path for path in (folder / f"{name}.zip", folder / name) if path.exists()] for name in PAPER_DATASETS
        }
        for name in [] if datasets else [name for name, found in paths.items() if not found]:
            console.note(f"{name} is not in {folder}: left out")
        datasets = datasets or [str(found[0]) for found in paths.values() if found]
    kernels = [name for part in kernels or [] for name in part.split(",") if name]
    unknown = [name for name in kernels if name not in estimator_names() and ":" not in name]
    if any(":" in name for name in kernels):
        sys.path.insert(0, str(Path.cwd()))  # usually contains a user's own module
    if not datasets and unknown:
        raise UserError(
            f"{unknown[0]!r} is not a kernel; list data sets before --kernels, or write kernels as wl,rwl-star"
        )
    if not datasets:
        raise UserError("name at least one data set, or use --paper with --data FOLDER")
    if unknown:
        raise UserError(f"there is no kernel {unknown[0]!r}; the kernels are {', '.join(estimator_names())}")
    for name in datasets:
        check_source(name)
    twice = [name for name in kernels if kernels.count(name) > 1]
    if twice:
        raise UserError(f"--kernels lists {twice[0]} twice")
    if kernels and arguments.task != "auto":
        _check_scoring(kernels, arguments.task, arguments)
    return datasets, kernels or None

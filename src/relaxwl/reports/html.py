"""The report page of an evaluation: tables, plots and settings."""

import logging
import math
import os
from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import quote

from relaxwl._progress import html_table
from relaxwl._validation import counted
from relaxwl.evaluation.records import Cell, best_cells
from relaxwl.evaluation.results import Results
from relaxwl.evaluation.tables import (
    BASELINES,
    METRICS,
    Column,
    Table,
    TableCell,
    dataset_table,
    results_table,
    runtime_table,
)
from relaxwl.reports import pages, plots

FITTED_ON = {"transductive": "all graphs, without their targets", "inductive": "the training graphs of each fold"}
# Maximum number of columns of a table; wider ones have a compact style, so that they fit on a screen.
MAX_COLUMNS = 9
# Characters that are not escaped in URLs, besides letters and digits; existing escapes are kept.
URL_CHARACTERS = ":/?#[]@!$&'()*+,;=%"
Reference = Mapping[str, Mapping[str, tuple[float, float] | None]]

logger = logging.getLogger(__name__)


def write_report(
    results: Results,
    path: str | os.PathLike[str],
    *,
    title: str = "Graph kernels compared",
    reference: Reference | None = None,
    explorer: str | None = None,
    metric: str | None = None,
) -> None:
    """Write tables and plots of results to a self-contained HTML file.

    Parameters
    ----------
    results : Results
        The results of :func:`relaxwl.evaluation.cross_validate` or :meth:`~relaxwl.evaluation.ResultStore.load`. Runs
        with different settings are in separate sections.
    path : path
        The file, for instance ``report.html``.
    title : str, default="Graph kernels compared"
        Headline of the page.
    reference : mapping, optional
        Published accuracies in percent, ``reference[kernel][dataset] = (mean, std)``, shown in additional columns.
    explorer : str, optional
        An explorer page (see :func:`relaxwl.reports.write_explorer`) to link to: its path, relative to this page, or an
        address that begins with http.
    metric : str, optional
        The score, by default the accuracy, or ``"rmse"`` for regression; see :meth:`relaxwl.evaluation.Results.cell`.

    See Also
    --------
    relaxwl.evaluation.cross_validate : Evaluate kernels.
    write_explorer : A page about the clusters of a kernel.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.evaluation import cross_validate
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 6)
    >>> results = cross_validate(WeisfeilerLehman(1), graphs, ["path", "triangle"] * 6, n_folds=3, n_repeats=1)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(results, Path(folder, "report.html"))
    ...     Path(folder, "report.html").exists()
    True
    """
    pages.write(path, render_report(results, title=title, reference=reference, explorer=explorer, metric=metric))


def render_report(
    results: Results,
    *,
    title: str = "Graph kernels compared",
    reference: Reference | None = None,
    explorer: str | None = None,
    metric: str | None = None,
) -> str:
    """Return the report page as text: self-contained HTML.

    Parameters
    ----------
    results : Results
        The results.
    title : str, default="Graph kernels compared"
        Headline of the page.
    reference, explorer, metric : optional
        As in :func:`write_report`.

    Returns
    -------
    str
        The page.

    See Also
    --------
    write_report : Write the page to a file.

    Examples
    --------
    >>> render_report(Results([]))
    Traceback (most recent call last):
        ...
    ValueError: there are no results to report; run an evaluation first
    """
    parts = results.split()
    if not parts:
        raise ValueError("there are no results to report; run an evaluation first")
    body = [_part(part, number, len(parts), reference, metric) for number, part in enumerate(parts, 1)]
    repetitions = max((record.repetition + 1 for record in results.folds), default=0)
    counts = ((len(results.kernels), "method"), (len(results.datasets), "data set"), (repetitions, "repetition"))
    kernels, datasets, runs = (counted(n, what) for n, what in counts)
    n_folds = _settings(results)["n_folds"]
    shown = " and ".join(dict.fromkeys(METRICS[metric or part.metric][0] for part in parts))
    shown = shown if shown.isupper() else shown[0].lower() + shown[1:]
    lead = f"{kernels} on {datasets}: {shown} in {runs} of {n_folds}-fold cross-validation."
    link = ""
    if explorer is not None:  # a file beside the page, or a page on the web
        address = quote(explorer, safe=URL_CHARACTERS if explorer.startswith(("http://", "https://")) else "/")
        link = f'<p><a href="{escape(address)}">Explorer page: the clusters of the relaxed kernel</a></p>\n'
    times = sorted(record.finished_at.replace("T", " ").replace("+00:00", " UTC") for record in results.folds)
    provenance = f"Results computed from {times[0]} to {times[-1]}." if times else ""
    return pages.report(title, lead, "\n".join(body), explorer=link, provenance=provenance)


def _settings(results: Results) -> dict[str, Any]:
    return next(record.settings for record in results if hasattr(record, "settings"))


def _part(results: Results, number: int, n_parts: int, reference: Reference | None, metric: str | None) -> str:
    """Return the sections about one run."""
    settings, datasets = _settings(results), results.datasets
    metric = metric or results.metric
    title, baseline = METRICS[metric][0], BASELINES.get(metric, "")
    cells = {name: [results.cell(name, kernel, metric) for kernel in results.kernels] for name in datasets}
    finished = {name: [cell for cell in cells[name] if cell.finished] for name in datasets}
    tiles: list[str] = []
    figures: list[str] = []
    for name in datasets:
        best = best_cells(finished[name])
        if best:
            titles = " and ".join(cell.title for cell in best)
            score, chance = best[0].written(best[0].mean), f"; {baseline} {best[0].written(best[0].chance)}"
            tiles.append(
                f"<li><strong>{score}</strong>{escape(titles)} <span>best on {escape(name)}"
                f"{chance if baseline else ''}</span></li>"
            )
            # Scores in words, for screen readers.
            shown = [(cell, f" ± {cell.written(cell.std)}" if cell.has_spread else "") for cell in finished[name]]
            words = ", ".join(f"{cell.title} {cell.written(cell.mean)}{spread}" for cell, spread in shown)
            figure, said = f"f{number}-{len(figures) + 1}", f"{title} on {name}: {words}"
            figures.append(_figure(figure, said, plots.accuracy_figure, results, name, metric))
    scores = _table(results_table(results, reference if metric == "accuracy" else None, metric))
    if any(figures):
        repeated = any(cell.has_spread for name in datasets for cell in finished[name])
        notes = ["Bars show one standard deviation over repetitions."] * repeated
        notes += [f"The dotted line is the {baseline}."] if baseline else []
        scores += _grid(figures) + (f'<p class="note">{" ".join(notes)}</p>' if notes else "")
    rows = [
        (TableCell(results.title(kernel)), *(TableCell(_most_chosen(cells[name][place])) for name in datasets))
        for place, kernel in enumerate(results.kernels)
    ]
    note = "For each parameter the value that inner cross-validation chose most often, and in how many of the folds"
    chosen = Table("Chosen parameters", (Column("kernel"), *map(Column, datasets)), tuple(rows), (note,))
    seconds = "Seconds for the Gram matrices of each kernel on each data set"
    drawn = _figure(f"f{number}-runtime", seconds, plots.runtime_figure, results) if results.folds else ""
    described = dataset_table(results)
    if results.metric == "rmse":  # regression: targets are not classes
        columns, cut = [c for c in described.columns if c.title != "classes"], lambda row: (*row[:2], *row[3:])
        described = Table(described.title, tuple(columns), tuple(map(cut, described.rows)), described.notes)
    versions = dict.fromkeys(", ".join(map(" ".join, record.versions.items())) for record in results.folds)
    given = settings.get("splits")
    of_kernels = {
        "inner folds": f"{settings['inner_folds']}, within the training part, for kernel parameters and C together",
        "C": ", ".join(map(_penalty, settings["C"])),
        "depths": ", ".join(map(str, settings["depths"] or ["all that each kernel offers"])),
        "classifier": "support vector machine (SVC) on the Gram matrix, scaled to mean diagonal 1 in training",
    }
    has_kernels = any(record.parameters for record in results.folds) or not results.folds
    drawing = f"given ({given})" if given else "shuffled" if results.metric == "rmse" else "stratified and shuffled"
    entries = {
        "protocol": f"{settings['protocol']}: kernels are fitted on {FITTED_ON[settings['protocol']]}",
        "outer folds": f"{settings['n_folds']}, {drawing}, the same for all kernels",
        **(of_kernels if has_kernels else {}),
        "seed": str(settings["random_state"]),
        "versions": "; ".join(versions),
    }
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in entries.items())
    sections = {
        title: scores,
        "Chosen parameters": _table(chosen) if has_kernels else "",
        "Runtime": _table(runtime_table(results)) + _grid([drawn]),
        "Data sets": _table(described) if described.rows else "",
        "Protocol": f"<dl>{items}</dl>",
    }
    prefix = f"Run {number} ({settings['protocol']}): " if n_parts > 1 else ""
    named = [(f"{name.split()[0].lower()}-{number}", name, content) for name, content in sections.items() if content]
    links = "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name, _ in named)
    blocks = [
        f'<section id="{anchor}">\n<h2>{escape(prefix + name)}</h2>\n{content}\n</section>'
        for anchor, name, content in named
    ]
    findings = f'<ul class="findings">{"".join(tiles)}</ul>' if tiles else ""
    return "\n".join([f'<nav aria-label="Sections">{links}</nav>', findings, *blocks])


def _figure(name: str, description: str, draw: Any, *arguments: Any) -> str:
    """Return a figure as an element of the page, or nothing if matplotlib is missing."""
    try:
        return f"<figure>{plots.inline_svg(draw(*arguments), name, description)}</figure>"
    except ImportError as error:
        logger.warning("the report has no pictures: %s", error)
        return ""


def _grid(figures: list[str]) -> str:
    return f'<div class="figures">{"".join(figures)}</div>' if any(figures) else ""


def _most_chosen(cell: Cell) -> str:
    """Return the most frequently chosen value of each parameter."""
    names = dict.fromkeys(name for record in cell.records for name in record.parameters)
    words = []
    for name in names:
        counts = Counter(record.parameters.get(name) for record in cell.records)
        value, count = min(counts.items(), key=lambda item: (-item[1], str(item[0])))
        shown = _penalty(value) if name == "C" else f"{value:g}" if isinstance(value, float) else str(value)
        words.append(f"{name} {shown} ({100 * count / len(cell.records):.0f} %)")
    return "\n".join(words) or "–"


def _penalty(value: Any) -> str:
    """Write a power of two as such.

    >>> _penalty(0.125), _penalty(0.3)
    ('2^-3', '0.3')
    """
    mantissa, exponent = math.frexp(value)
    return f"2^{exponent - 1}" if mantissa == 0.5 else f"{value:g}"


def _table(table: Table) -> str:
    # A line break keeps the columns of published numbers as narrow as the others.
    titles = [column.title.replace(" published", "\npublished") for column in table.columns]
    notes = f'<p class="note">{escape(". ".join(table.notes))}.</p>' if table.notes else ""
    kind = "scroll wide" if len(table.columns) > MAX_COLUMNS else "scroll"
    return (
        f'<div class="{kind}" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f"{html_table(titles, table.rows)}</div>{notes}"
    )

"""One self-contained page with everything that an evaluation has found: tables, pictures, settings."""

import logging
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import relaxwl
from relaxwl.evaluation.records import Cell, GramSketch, best_cells
from relaxwl.evaluation.results import Results, finished_cells
from relaxwl.evaluation.tables import Column, Table, TableCell, dataset_table, results_table, runtime_table
from relaxwl.reports import pages, plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FITTED_ON = {
    "transductive": "all graphs, never on their classes",
    "inductive": "the training graphs of each fold alone",
}
BEST = ' class="best"'
# Tables with more columns are set closer, so that they fit on a screen.
MAX_COLUMNS = 9
# A number behind a name: EGO-1, EGO-2, ... are levels of the same family.
LEVEL = re.compile(r"[-_ ]?\d+$")
# What an address on the web may consist of, besides letters and digits; escapes in it stay what they are.
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
) -> None:
    """Write the report to a file, which is complete or not there at all.

    Parameters
    ----------
    results : Results
        The results of :func:`relaxwl.evaluation.cross_validate` or :meth:`relaxwl.evaluation.ResultStore.load`. Runs
        with different settings get sections of their own.
    path : path
        The file, for instance ``report.html``.
    title : str
        Headline of the page.
    reference : mapping, optional
        Published accuracies in percent, ``reference[kernel][dataset] = (mean, std)``, to stand beside ours.
    explorer : str, optional
        An explorer page (see :func:`relaxwl.reports.write_explorer`) to link to: its path, relative to this page, or an
        address that begins with http.

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
    pages.write(path, render_report(results, title=title, reference=reference, explorer=explorer))


def render_report(
    results: Results,
    *,
    title: str = "Graph kernels compared",
    reference: Reference | None = None,
    explorer: str | None = None,
) -> str:
    """Return the report as a page that needs no other file and no network.

    Parameters
    ----------
    results : Results
        The results.
    title, reference, explorer
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
    body = [_Part(part, number, len(parts), reference).render() for number, part in enumerate(parts, 1)]
    return Template(pages.template("report.html")).substitute(
        title=escape(title),
        version=escape(relaxwl.__version__),
        style=pages.template("report.css").strip(),
        lead=escape(_lead(results)),
        explorer=_explorer_link(explorer),
        provenance=escape(_provenance(results)),
        body="\n".join(body),
    )


class _Part:
    """The sections about one run."""

    def __init__(self, results: Results, number: int, n_parts: int, reference: Reference | None) -> None:
        self.results, self.number, self.reference = results, number, reference
        self.settings = _settings(results)
        self.prefix = f"Run {number} ({self.settings['protocol']}): " if n_parts > 1 else ""
        self.drawn = 0

    def render(self) -> str:
        sections = [
            ("accuracy", "accuracy", self._accuracy()),
            ("density", "accuracy against density", self._density()),
            ("matrices", "the graphs as the kernels see them", self._matrices()),
            ("chosen", "what was chosen", self._chosen()),
            ("runtime", "runtime", self._runtime()),
            ("data", "data sets", self._data()),
            ("protocol", "protocol", self._protocol()),
        ]
        shown = [(f"{name}-{self.number}", words, content) for name, words, content in sections if content]
        links = "".join(f'<a href="#{name}">{escape(_sentence(words))}</a>' for name, words, _ in shown)
        blocks = [
            f'<section id="{name}">\n<h2>{escape(_sentence(self.prefix + words))}</h2>\n{content}\n</section>'
            for name, words, content in shown
        ]
        return "\n".join([f'<nav aria-label="Sections">{links}</nav>', self._findings(), *blocks])

    # ------------------------------------------------------------------------------------------- sections

    def _findings(self) -> str:
        tiles = []
        for name in self.results.datasets:
            best = best_cells(self._finished(name))
            if best:
                accuracy = f"{100 * best[0].mean:.1f} %"
                titles = " and ".join(cell.title for cell in best)
                tiles.append(
                    f"<li><strong>{accuracy}</strong>{escape(titles)} <span>best on {escape(name)}; largest class "
                    f"{100 * best[0].chance:.1f} %</span></li>"
                )
        return f'<ul class="findings">{"".join(tiles)}</ul>' if tiles else ""

    def _accuracy(self) -> str:
        figures = []
        for name in self.results.datasets:
            cells = self._finished(name)
            if cells:
                listed = ", ".join(map(_in_words, cells))
                figures.append(self._figure(f"Accuracy on {name}: {listed}", plots.accuracy_figure, self.results, name))
        repeated = any(cell.has_spread for cell in finished_cells(self.results))
        bars = "Bars show one standard deviation over repetitions. " if repeated else ""
        caption = (
            f'<p class="note">{bars}The dotted line is what always answering with the most frequent class would '
            "reach.</p>"
        )
        table = _table(results_table(self.results, self.reference))
        return table + (_grid(figures) + caption if any(figures) else "")

    def _density(self) -> str:
        parts = []
        for family, names in _families(self.results).items():
            description = f"Accuracy of each kernel on the {family} data sets, ordered by density"
            parts.append(self._figure(description, plots.density_figure, self.results, names, caption=description))
        return _grid(parts) if any(parts) else ""

    def _matrices(self) -> str:
        blocks = []
        for name, sketches in self._shown_sketches().items():
            figures = [figure for sketch in sketches for figure in self._sketch(sketch)]
            if any(figures):
                blocks.append(f"<h3>{escape(name)}</h3>{_grid(figures, 'figures small')}")
        if not blocks:
            return ""
        text = (
            "<p>The Gram matrix is scaled so that each graph has similarity 1 with itself, and sorted by class: bright "
            "blocks on the diagonal are classes whose graphs resemble each other. Kernel PCA shows the graphs in the "
            "plane of the first two principal components. For each data set: the best kernel, and the best of the "
            "other family (relaxed or not).</p>"
        )
        return text + "".join(blocks)

    def _sketch(self, sketch: GramSketch) -> list[str]:
        about = f"{sketch.title} on {sketch.key.dataset}"
        chosen = ", ".join(f"{name} {value}" for name, value in sketch.parameters.items() if name != "C")
        return [
            self._figure(f"Gram matrix of {about}, sorted by class", plots.gram_figure, sketch, caption=chosen),
            self._figure(f"Kernel PCA of {about}, marked by class", plots.embedding_figure, sketch),
        ]

    def _chosen(self) -> str:
        rows = []
        for kernel in self.results.kernels:
            cells = [self.results.cell(name, kernel) for name in self.results.datasets]
            title = next((cell.title for cell in cells if cell.title != kernel), kernel)
            rows.append((TableCell(title), *(TableCell(_most_chosen(cell)) for cell in cells)))
        columns = (Column("kernel"), *map(Column, self.results.datasets))
        note = "For each parameter the value that inner cross-validation chose most often, and in how many of the folds"
        return _table(Table("Chosen parameters", columns, tuple(rows), (note,)))

    def _runtime(self) -> str:
        description = "Seconds for the Gram matrices of each kernel on each data set"
        return _table(runtime_table(self.results)) + _grid(
            [self._figure(description, plots.runtime_figure, self.results)]
        )

    def _data(self) -> str:
        records = list(self.results.dataset_records.values())
        if not records:
            return ""
        caption = "Distinct unfolding trees: where their number approaches that of the nodes, nothing is alike"
        figure = self._figure(caption, plots.distinct_trees_figure, records, caption=caption)
        return _table(dataset_table(records)) + _grid([figure])

    def _protocol(self) -> str:
        settings = self.settings
        entries = {
            "protocol": f"{settings['protocol']}: kernels are fitted on {FITTED_ON[settings['protocol']]}",
            "outer folds": f"{settings['n_folds']}, stratified and shuffled, the same for all kernels",
            "inner folds": f"{settings['inner_folds']}, within the training part, for kernel parameters and C together",
            "C": ", ".join(map(_penalty, settings["C"])),
            "depths": self._depths(),
            "classifier": "support vector machine (SVC) on the Gram matrix, scaled to mean diagonal 1 in training",
            "seed": str(settings["random_state"]),
        }
        versions = Counter(
            ", ".join(f"{name} {value}" for name, value in record.versions.items()) for record in self.results.folds
        )
        entries["versions"] = "; ".join(versions)
        items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in entries.items())
        return f"<dl>{items}</dl>"

    # ------------------------------------------------------------------------------------------- inside

    def _depths(self) -> str:
        """Say which depths inner folds chose from, as the records have it (those of old do not)."""
        by_depths: dict[str, list[str]] = {}
        for kernel in self.results.kernels:
            folds = [record for record in self.results.folds if record.key.kernel == kernel]
            if any("max_depth" in record.parameters for record in folds):
                depths = folds[0].offered.get("max_depth") or self.settings["depths"] or ["not recorded"]
                by_depths.setdefault(", ".join(map(str, depths)), []).append(folds[0].title)
        return "; ".join(f"{words} ({', '.join(titles)})" for words, titles in by_depths.items()) or "nothing to choose"

    def _finished(self, dataset: str) -> list[Cell]:
        return [cell for cell in finished_cells(self.results) if cell.dataset == dataset]

    def _shown_sketches(self) -> dict[str, list[GramSketch]]:
        """Return for each data set the sketch of its best kernel, and of the best one of the other family."""
        available = {(sketch.key.dataset, sketch.key.kernel): sketch for sketch in self.results.sketches}
        shown = {}
        for name in self.results.datasets:
            ranked = sorted(self._finished(name), key=lambda cell: -cell.mean)
            families = {plots.is_relaxed(cell.kernel): cell for cell in reversed(ranked)}
            best = [cell for cell in ranked if cell in families.values()]
            shown[name] = [available[name, cell.kernel] for cell in best if (name, cell.kernel) in available]
        return shown

    def _figure(self, description: str, draw: Any, *arguments: Any, caption: str = "") -> str:
        """Return a drawn figure as an element of the page, or nothing where matplotlib is missing."""
        try:
            figure: Figure = draw(*arguments)
        except ImportError as error:
            logger.warning("the report has no pictures: %s", error)
            return ""
        self.drawn += 1
        svg = plots.inline_svg(figure, f"f{self.number}-{self.drawn}", description)
        text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        return f"<figure>{svg}{text}</figure>"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _settings(results: Results) -> dict[str, Any]:
    return next(record.settings for record in results if hasattr(record, "settings"))


def _lead(results: Results) -> str:
    n_kernels, n_datasets = len(results.kernels), len(results.datasets)
    repetitions = max((record.repetition + 1 for record in results.folds), default=0)
    kernels = f"{n_kernels} graph kernel{'s' if n_kernels != 1 else ''}"
    datasets = f"{n_datasets} data set{'s' if n_datasets != 1 else ''}"
    runs = f"{repetitions} repetition{'s' if repetitions != 1 else ''}"
    n_folds = _settings(results)["n_folds"]
    return (
        f"{kernels} on {datasets}: accuracy of a support vector machine in {runs} of {n_folds}-fold cross-validation."
    )


def _explorer_link(address: str | None) -> str:
    """Link to a file beside the page, or to a page on the web."""
    if address is None:
        return ""
    address = quote(address, safe=URL_CHARACTERS) if address.startswith(("http://", "https://")) else quote(address)
    return f'<p><a href="{escape(address)}">See what the relaxed kernel sees: the explorer page</a></p>\n'


def _provenance(results: Results) -> str:
    times = sorted(record.finished_at for record in results.folds)
    return f"Results computed from {times[0]} to {times[-1]}." if times else ""


def _in_words(cell: Cell) -> str:
    """Say a kernel's accuracy, for those who do not see the picture."""
    return f"{cell.title} {100 * cell.mean:.1f} %" + (f" ± {100 * cell.std:.1f}" if cell.has_spread else "")


def _families(results: Results) -> dict[str, list[str]]:
    """Group data sets whose names differ in a final number alone; two make a family."""
    families: dict[str, list[str]] = {}
    for name in results.datasets:
        if LEVEL.search(name):
            families.setdefault(LEVEL.sub("", name), []).append(name)
    return {stem: names for stem, names in families.items() if len(names) > 1}


def _most_chosen(cell: Cell) -> str:
    """Say which value of each parameter was chosen most often."""
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
    # A second line keeps the column of published numbers as narrow as ours.
    titles = [escape(column.title).replace(" published", "\npublished") for column in table.columns]
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    rows = []
    for first, *rest in table.rows:
        cells = "".join(f"<td{BEST if cell.bold else ''}>{escape(cell.text)}</td>" for cell in rest)
        rows.append(f'<tr><th scope="row">{escape(first.text)}</th>{cells}</tr>')
    notes = f'<p class="note">{escape(". ".join(table.notes))}.</p>' if table.notes else ""
    body = "\n".join(rows)
    kind = "scroll wide" if len(table.columns) > MAX_COLUMNS else "scroll"
    return (
        f'<div class="{kind}" tabindex="0" role="region" aria-label="{escape(table.title)}"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>{notes}"
    )


def _grid(figures: Iterable[str], kind: str = "figures") -> str:
    shown = "".join(figures)
    return f'<div class="{kind}">{shown}</div>' if shown else ""

"""One self-contained page about two collections of graphs: a test, a distance, and what differs."""

import os
from html import escape

from relaxwl import drawing
from relaxwl._progress import html_table
from relaxwl.comparison import Differences, TwoSampleResult
from relaxwl.comparison.two_sample import COLUMNS
from relaxwl.drawing.trees import shortened
from relaxwl.reports import pages

# Numbers of differences in the table, of pictures of centers, and of pictures of graphs; nodes of drawn trees.
N_ROWS, N_CENTERS, N_GRAPHS, N_TREE_NODES = 30, 9, 3, 40
LEAD = (
    "The p-value is the probability of kernels that differ at least as much if both collections come from one "
    "distribution. The distance is a lower bound of the Jensen-Shannon distance, from 0 (not told apart) to 1: how "
    "well the collection of a graph is predicted from the other graphs."
)
VIEWS = "Each view alone, with its p-value as if it were the only one, and corrected for the number of views."
DIFFERENCES = (
    "Of {all:,} clusters of neighborhoods and statistics, {some:,} differ significantly. p-values are corrected for "
    "all of them; the effect is the difference of the means in standard deviations."
)
TYPICAL = "The graphs of each collection that look most like their own collection, and most like the other one."


def write_comparison(
    result: TwoSampleResult,
    path: str | os.PathLike[str],
    *,
    title: str = "Two collections",
    explorer: str | None = None,
) -> None:
    """Write a comparison to a self-contained HTML file.

    Parameters
    ----------
    result : TwoSampleResult
        The result of :func:`relaxwl.two_sample_test`.
    path : path
        The file, for instance ``comparison.html``.
    title : str, default="Two collections"
        Headline of the page.
    explorer : str, optional
        An explorer page to link to: ``write_explorer(result.explanation(), explorer)`` writes it.

    See Also
    --------
    write_explorer : Interactive page of the clusters of a kernel.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from relaxwl import two_sample_test
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(24, level=1, n_nodes=20, random_state=0)
    >>> result = two_sample_test(graphs[y == 0], graphs[y == 1], n_permutations=99, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     write_comparison(result, Path(folder, "comparison.html"))
    ...     Path(folder, "comparison.html").exists()
    True
    """
    pages.write(path, render_comparison(result, title=title, explorer=explorer))


def render_comparison(result: TwoSampleResult, *, title: str = "Two collections", explorer: str | None = None) -> str:
    """Return the page of a comparison as text.

    Parameters
    ----------
    result : TwoSampleResult
        The result of :func:`relaxwl.two_sample_test`.
    title : str, default="Two collections"
        Headline of the page.
    explorer : str, optional
        An explorer page to link to.

    Returns
    -------
    str
        The page.

    See Also
    --------
    write_comparison : Write the page to a file.

    Examples
    --------
    >>> from relaxwl import two_sample_test
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(24, level=1, n_nodes=20, random_state=0)
    >>> result = two_sample_test(graphs[y == 0], graphs[y == 1], n_permutations=99, random_state=0)
    >>> render_comparison(result).count("<section>")
    3
    """
    low, high = result.interval
    tiles = [
        (f"{result.pvalue:.3g}", "p-value", f"{result.n_permutations:,} permutations"),
        (f"{result.distance:.2f}", "distance, at least", f"{low:.2f} to {high:.2f}"),
        (f"{result.auroc:.2f}", "AUROC", "0.5 is chance"),
        *((f"{size:,}", "graphs", name) for size, name in zip(result.sizes, result.names, strict=True)),
    ]
    listed = "".join(
        f"<li><strong>{escape(value)}</strong>{escape(what)} <span>{escape(detail)}</span></li>"
        for value, what, detail in tiles
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in result.notes)
    differences = result.explain()
    said = DIFFERENCES.format(all=len(differences.found), some=len(differences.significant))
    table = f'<div class="scroll">{html_table(differences.heads, differences.rows(N_ROWS))}</div>'
    body = "".join([
        f'<ul class="findings">{listed}</ul>',
        f'<section><h2>Views</h2><p>{VIEWS}</p><div class="scroll">{html_table(COLUMNS, result.rows())}</div>{notes}',
        f"</section><section><h2>What differs</h2><p>{escape(said)}</p>{table}{_centers(differences)}</section>",
        f"<section><h2>Typical graphs</h2><p>{TYPICAL}</p>{_graphs(result, differences)}</section>",
    ])  # fmt: skip
    link = f'<p><a href="{escape(explorer)}">Explore the clusters</a></p>\n' if explorer else ""
    return pages.report(title, LEAD, body, explorer=link)


def _centers(differences: Differences) -> str:
    """Return pictures of the centers of the most significant clusters that can be drawn."""
    shown = [one for one in differences.significant if one.center is not None and one.center.size <= N_TREE_NODES]
    figures = []
    for one in shown[:N_CENTERS]:
        assert one.center is not None
        x, y = one.means
        caption = (
            f"{x:.3g} and {y:.3g} nodes a graph, more in {differences.names[one.effect > 0]}, p = {one.pvalue:.3g}"
        )
        picture = one.center.to_svg(collapse=True, title=caption, embed_style=False)
        figures.append(f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>")
    return f'<div class="figures small">{"".join(figures)}</div>' if figures else ""


def _graphs(result: TwoSampleResult, differences: Differences) -> str:
    """Return pictures of typical and atypical graphs of both collections."""
    graphs, figures = result.pool.graphs, []
    place_of = {place: row for row, place in enumerate(result.pool.places.tolist())}
    for which, chosen in (("most like", differences.typical), ("least like", differences.atypical)):
        for side, name in enumerate(result.names):
            for place in chosen[side][:N_GRAPHS]:
                graph = graphs[place_of[place + side * result.sizes[0]]]
                called = shortened(graph.name or f"graph {place}")
                edges = [(a, b) for a, b in graph.edges.tolist()]
                labels = None if graph.node_labels is None else [str(label) for label in graph.node_labels]
                caption = f"{called} of {name}, {which} {name}"
                picture = drawing.graph_svg(graph.n_nodes, edges, labels=labels, title=caption, embed_style=False)
                figures.append(f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>")
    return f'<div class="figures small">{"".join(figures)}</div>'

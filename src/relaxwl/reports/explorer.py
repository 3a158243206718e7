"""The explorer page: clusters, a map of them, and their positions in graphs.

The page contains its data as JSON and draws with plain JavaScript. Its security policy prevents it from loading files.
"""

import base64
import hashlib
import json
import os
from html import escape
from string import Template
from typing import Any

import relaxwl
from relaxwl import drawing
from relaxwl.explanation import Explanation
from relaxwl.reports import pages
from relaxwl.reports.explorer_data import explorer_data


def write_explorer(explanation: Explanation, path: str | os.PathLike[str], **options: Any) -> None:
    """Write the explorer page of an explanation to a self-contained HTML file.

    Parameters
    ----------
    explanation : Explanation
        The result of :func:`relaxwl.explanation.explain`.
    path : path
        The file, for instance ``explorer.html``.
    **options
        ``title``, ``max_clusters``, ``n_graphs``, ``n_nearest`` and ``n_farthest``, as in
        :func:`render_explorer`.

    See Also
    --------
    relaxwl.explanation.explain : Explain a kernel.
    write_effects : A page about the nodes behind predictions.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.explanation import explain
    >>> path, star = [(i, i + 1) for i in range(6)], [(0, i) for i in range(1, 7)]
    >>> graphs = GraphCollection.from_edges([(7, path), (7, star)] * 10)
    >>> explanation = explain(WeisfeilerLehman(1), graphs, ["path", "star"] * 10, n_permutations=0)
    >>> with TemporaryDirectory() as folder:
    ...     write_explorer(explanation, Path(folder, "explorer.html"), n_graphs=4)
    ...     Path(folder, "explorer.html").exists()
    True
    """
    pages.write(path, render_explorer(explanation, **options))


def render_explorer(
    explanation: Explanation,
    *,
    title: str = "Clusters of neighborhoods",
    max_clusters: int = 1500,
    n_graphs: int = 24,
    n_nearest: int = 3,
    n_farthest: int = 2,
) -> str:
    """Return the explorer page as text: self-contained HTML.

    Parameters
    ----------
    explanation : Explanation
        The result of :func:`relaxwl.explanation.explain`.
    title : str, default="Clusters of neighborhoods"
        Headline of the page.
    max_clusters : int, default=1500
        Maximum number of clusters on the page; a note states how many are left out.
    n_graphs : int, default=24
        Number of graphs on the page: those of each class with the largest scores.
    n_nearest : int, default=3
        Number of members shown for each cluster that are nearest to its center.
    n_farthest : int, default=2
        Number of members shown for each cluster that are farthest from its center.

    Returns
    -------
    str
        The page.

    See Also
    --------
    write_explorer : Write the page to a file.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.explanation import explain
    >>> path, star = [(i, i + 1) for i in range(6)], [(0, i) for i in range(1, 7)]
    >>> graphs = GraphCollection.from_edges([(7, path), (7, star)] * 10)
    >>> page = render_explorer(explain(WeisfeilerLehman(1), graphs, ["path", "star"] * 10), n_graphs=4)
    >>> page.count("<html"), "<script src" in page
    (1, False)
    """
    data = explorer_data(
        explanation, max_clusters=max_clusters, n_graphs=n_graphs, n_nearest=n_nearest, n_farthest=n_farthest
    )
    script = pages.script("explorer")
    digest = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    return Template(pages.template("explorer.html")).substitute(
        title=escape(title),
        version=escape(relaxwl.__version__),
        style=drawing.STYLE + pages.template("explorer.css"),
        script_hash=f"sha256-{digest}",
        lead=escape(_lead(explanation)),
        data=embedded_json(data),
        script=script,
    )


def embedded_json(data: Any) -> str:
    r"""Return JSON that is safe within script tags.

    >>> embedded_json({"label": "</script>"})
    '{"label":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _lead(explanation: Explanation) -> str:
    graphs, better = explanation.graphs, sum(cluster.better_than_chance for cluster in explanation.clusters)
    words = (
        f"{len(graphs):,} graphs with {graphs.n_nodes:,} nodes {explanation.what}. Their neighborhoods "
        f"form {len(explanation.clusters):,} clusters; {better:,} of them are {explanation.telling}."
    )
    if explanation.target.values is not None:
        words += (
            f' The graphs are shown as two classes, "{explanation.classes[0]}" and "{explanation.classes[1]}"; '
            "scores are predicted targets minus this value."
        )
    return f"{words} {explanation.quality}".rstrip()

"""One self-contained page that shows what single vertices do to predictions."""

import os
from collections.abc import Sequence
from html import escape
from string import Template
from typing import Any

import numpy as np

import relaxwl
from relaxwl import drawing
from relaxwl.drawing.svg import shortened
from relaxwl.predictors import FitReport, VertexEffects
from relaxwl.reports import pages

# Larger graphs are cut around the vertices with the strongest effects.
MAX_DRAWN_NODES = 300
N_STRONGEST = 5
# Effects below this share of a graph's strongest are not coloured.
LEAST_SHARE = 0.05
ADDS_UP = (
    "The effects of a graph's vertices add up: together with what a graph without any vertex would get, they are the "
    "value above the picture."
)
DOES_NOT_ADD_UP = (
    "The effects of a graph's vertices do not add up to the value above the picture: the kernels are normalised or "
    "compare by minima, so a vertex's part depends on the others."
)


def write_effects(effects: Sequence[VertexEffects], path: str | os.PathLike[str], **options: Any) -> None:
    """Write a page about the vertices behind predictions to a file, which is complete or not there at all.

    Parameters
    ----------
    effects : sequence of VertexEffects
        What ``explain`` of a :class:`relaxwl.GraphClassifier` or :class:`relaxwl.GraphRegressor` returned.
    path : path
        The file, for instance ``effects.html``.
    **options
        See :func:`render_effects`.
    """
    pages.write(path, render_effects(effects, **options))


def render_effects(
    effects: Sequence[VertexEffects],
    *,
    title: str = "What vertices do to predictions",
    report: FitReport | None = None,
    novelty: Sequence[float] | None = None,
    truth: Sequence[Any] | None = None,
) -> str:
    """Return the page as text; it needs no other file, no network and no script.

    Parameters
    ----------
    effects : sequence of VertexEffects
        What ``explain`` of a predictor returned.
    title : str
        Headline of the page.
    report : FitReport, optional
        The predictor's ``report_``: how good it is, beside chance.
    novelty : sequence of float, optional
        What the predictor's ``novelty`` says of the same graphs; above 1 the page warns.
    truth : sequence, optional
        What is known to be right.

    Examples
    --------
    >>> from relaxwl import GraphClassifier
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(40, level=1, n_nodes=20, random_state=0)
    >>> model = GraphClassifier(effort="quick", random_state=0).fit(graphs, y)
    >>> page = render_effects(model.explain(graphs[:2]), report=model.report_)
    >>> page.count("<figure>")
    2
    """
    for name, values in (("novelty", novelty), ("truth", truth)):
        if values is not None and len(values) != len(effects):
            raise ValueError(f"{name} must have one entry for each of {len(effects)} graphs, not {len(values)}")
    figures = [
        _figure(place, one, None if novelty is None else float(novelty[place]), None if truth is None else truth[place])
        for place, one in enumerate(effects)
    ]
    return Template(pages.template("report.html")).substitute(
        title=escape(title),
        version=escape(relaxwl.__version__),
        style=drawing.STYLE + pages.template("report.css").strip(),
        lead=escape(_lead(effects)),
        explorer="",
        provenance="",
        body=f'{report_tiles(report)}<section><div class="figures">{"".join(figures)}</div></section>',
    )


def _lead(effects: Sequence[VertexEffects]) -> str:
    words = (
        "The effect of a vertex is how much the decision for the predicted class, or the predicted number, falls when "
        "the vertex is not counted. Orange vertices speak for the prediction, blue ones against it; the stronger the "
        "colour, the stronger the effect."
    )
    kinds = {one.adds_up for one in effects}
    return " ".join([words, *([ADDS_UP] if True in kinds else []), *([DOES_NOT_ADD_UP] if False in kinds else [])])


def report_tiles(report: FitReport | None) -> str:
    """Say how good the model is, with the score of who does not look at the graphs beside it."""
    if report is None:
        return ""
    score, chance = (report.number(value).strip() for value in (report.score, report.baseline))
    tiles = (
        f"<li><strong>{escape(score)}</strong>{escape(report.metric)} <span>cross-validated</span></li>"
        f"<li><strong>{escape(chance)}</strong>{escape(report.baseline_name)} <span>chance level</span></li>"
    )
    return (
        f'<ul class="findings">{tiles}</ul><details><summary>What was tried</summary>'
        f"<pre>{escape(str(report))}</pre></details>"
    )


def _figure(place: int, found: VertexEffects, novelty: float | None, truth: Any) -> str:
    graph = found.graph
    labels = None if graph.node_labels is None else [str(label) for label in graph.node_labels]
    largest = float(np.abs(found.effects).max(initial=0.0))
    strong = np.flatnonzero(np.abs(found.effects) > LEAST_SHARE * largest)
    order = sorted(strong, key=lambda vertex: -abs(found.effects[vertex]))[: MAX_DRAWN_NODES // 2]
    picture = drawing.graph_svg(
        graph.n_nodes,
        [(a, b) for a, b in graph.edges.tolist()],
        labels=labels,
        highlight={int(vertex): float(found.effects[vertex] / largest) for vertex in sorted(order)},
        max_nodes=MAX_DRAWN_NODES,
        title=f"Graph {place}, {graph.n_nodes} vertices, coloured by their effects on the prediction",
        embed_style=False,
    )
    number = isinstance(found.prediction, (float, np.floating))
    said = f"{found.prediction:.4g}" if number else f"class {found.prediction}, decision {found.value:.3g}"
    words = f"Graph {place}: {said}"
    if truth is not None:
        words += f" (known: {truth:.4g})" if isinstance(truth, (float, np.floating)) else f" (known: {truth})"
    if novelty is not None:
        words += f"; novelty {novelty:.2f}" + (", so this is a guess" if novelty > 1 else "")
    rows = "".join(_row(int(vertex), found, labels) for vertex in found.strongest(N_STRONGEST))
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("vertex", "label", "effect"))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<figure><h3>{escape(words)}</h3>{picture}<figcaption>The strongest effects</figcaption>{table}</figure>"


def _row(vertex: int, found: VertexEffects, labels: list[str] | None) -> str:
    label = "" if labels is None else escape(shortened(labels[vertex]))
    return f'<tr><th scope="row">{vertex}</th><td>{label}</td><td>{found.effects[vertex]:+.3g}</td></tr>'

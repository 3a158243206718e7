"""One self-contained page with the effects of nodes, or atoms, on predictions."""

import math
import os
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from relaxwl._progress import html_table
from relaxwl.drawing.trees import shortened
from relaxwl.predictors import FitReport, NodeEffects
from relaxwl.reports import pages

N_STRONGEST = 5
# Share of the strongest effect on the page below which effects are left out.
NEGLIGIBLE = 0.01
# Maximum number of nodes of a graph whose clusters are shown; larger graphs have many, whose pictures show little.
MAX_CLUSTERED = 60
LEAD = (
    "The effect of a node (or atom) is the decrease of the predicted number, or of the decision value of the predicted "
    "class, when the node is not counted. Orange nodes raise the value and blue nodes lower it; stronger colors are "
    "larger effects, on one scale for all graphs of this page. For small graphs, the clusters of similar neighborhoods "
    "with the largest effects are shown with their nodes and centers."
)
ADDS_UP = "The effects of all nodes and the value of a graph without nodes add up to the value in the heading."
DOES_NOT_ADD_UP = (
    "The effects do not add up to the value in the heading: the kernels are normalized or compare counts by minima, "
    "so the effect of a node depends on the other nodes."
)


def write_effects(effects: Sequence[NodeEffects], path: str | os.PathLike[str], **options: Any) -> None:
    """Write the effects of nodes on predictions to a self-contained HTML file.

    Parameters
    ----------
    effects : sequence of NodeEffects
        The results of ``explain`` of a predictor.
    path : path
        The file, for instance ``effects.html``.
    **options
        ``title``, ``report``, ``novelty``, ``truth``, ``neighbors`` and ``node_names``, as in :func:`render_effects`.

    See Also
    --------
    relaxwl.GraphClassifier.explain : Effects of nodes on predictions.
    write_explorer : A page about the clusters of a kernel.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from relaxwl import GraphCollection, GraphClassifier
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 6)
    >>> model = GraphClassifier(effort="quick", random_state=0).fit(graphs, ["path", "triangle"] * 6)
    >>> with TemporaryDirectory() as folder:
    ...     write_effects(model.explain(graphs[:2]), Path(folder, "effects.html"), report=model.report_)
    ...     Path(folder, "effects.html").exists()
    True
    """
    pages.write(path, render_effects(effects, **options))


def render_effects(
    effects: Sequence[NodeEffects],
    *,
    title: str = "Effects of nodes on predictions",
    report: FitReport | None = None,
    novelty: Sequence[float] | None = None,
    truth: Sequence[Any] | None = None,
    neighbors: Sequence[Sequence[tuple[float, str]]] | None = None,
    node_names: Sequence[Sequence[Any]] | None = None,
) -> str:
    """Return the page of effects as text: self-contained HTML without scripts.

    Parameters
    ----------
    effects : sequence of NodeEffects
        The results of ``explain`` of a predictor.
    title : str, default="Effects of nodes on predictions"
        Headline of the page.
    report : FitReport, optional
        The predictor's ``report_``.
    novelty : sequence of float, optional
        The predictor's ``novelty`` of the same graphs; below 0.05 the page warns.
    truth : sequence, optional
        The true classes or values.
    neighbors : sequence of lists of (distance, name), optional
        The nearest training objects of each, from the predictor's ``kneighbors``.
    node_names : sequence of sequences, optional
        Names of the nodes of each graph, shown instead of their numbers, such as ``[list(g) for g in graphs]`` for
        networkx graphs.

    Returns
    -------
    str
        The page.

    See Also
    --------
    write_effects : Write the page to a file.

    Examples
    --------
    >>> from relaxwl import GraphClassifier
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(40, level=1, n_nodes=20, random_state=0)
    >>> model = GraphClassifier(effort="quick", random_state=0).fit(graphs, y)
    >>> page = render_effects(model.explain(graphs[:2]), report=model.report_)
    >>> page.count("<section>")
    2
    """
    given = {"novelty": novelty, "truth": truth, "neighbors": neighbors, "node_names": node_names}
    for name, values in given.items():
        if values is not None and len(values) != len(effects):
            raise ValueError(f"{name} must have one entry for each of {len(effects)} graphs, not {len(values)}")
    for place, (one, names) in enumerate(zip(effects, node_names or (), strict=False)):
        if len(names) != one.graph.n_nodes:
            raise ValueError(f"node_names[{place}] must have {one.graph.n_nodes} names, not {len(names)}")
    strongest = max((float(np.abs(one.effects).max(initial=0.0)) for one in effects), default=0.0)
    decimals = _decimals([one.prediction for one in effects] + list(truth if truth is not None else ()))
    sections = []
    for place, one in enumerate(effects):
        words = _name(place, one) + ": " + _said(one.prediction, decimals, "class ", "predicted ")
        words += "" if isinstance(one.prediction, (float, np.floating)) else f", decision value {one.value:.3g}"
        if truth is not None:
            words += f" (true: {_said(truth[place], decimals)})"
        if novelty is not None:
            words += f"; novelty p = {novelty[place]:.2g}" + (
                ", unlike the training graphs" if novelty[place] < 0.05 else ""
            )
        names = list(map(str, node_names[place] if node_names else range(one.graph.n_nodes)))
        sections.append(_section(words, names, one, strongest, neighbors[place] if neighbors else ()))
    kinds = {one.adds_up for one in effects}
    lead = [LEAD, *([ADDS_UP] if True in kinds else []), *([DOES_NOT_ADD_UP] if False in kinds else [])]
    return pages.report(title, " ".join(lead), _tiles(report) + "".join(sections))


def _name(place: int, found: NodeEffects) -> str:
    name = found.graph.name
    if found.molecule is None:
        return f"Graph {place}" if name is None else name
    from rdkit import Chem

    smiles = str(Chem.MolToSmiles(found.molecule))
    return smiles if name in (None, smiles) else f"{name} ({smiles})"


def _decimals(values: list[Any]) -> int:
    """Return the number of decimals for which the largest number has four significant digits."""
    numbers = [float(value) for value in values if isinstance(value, (float, np.floating))]
    largest = max((abs(value) for value in numbers if math.isfinite(value)), default=0.0)
    return 4 - math.ceil(math.log10(largest)) if largest else 0


def _said(value: Any, decimals: int, of_class: str = "", of_number: str = "") -> str:
    """Return a class or a number as text with a prefix."""
    if not isinstance(value, (float, np.floating)):
        return f"{of_class}{value}"
    return f"{of_number}{round(float(value), decimals) + 0.0:.12g}"  # adding 0.0 drops the sign of a negative zero


def _tiles(report: FitReport | None) -> str:
    """Return the score of the model and that of the baseline."""
    if report is None:
        return ""
    score, chance = (report.number(value).strip() for value in (report.score, report.baseline))
    tiles = (
        f"<li><strong>{escape(score)}</strong>{escape(report.metric)} <span>{escape(report.validation)}</span></li>"
        f"<li><strong>{escape(chance)}</strong>{escape(report.baseline_name)} <span>baseline</span></li>"
    )
    return (
        f'<ul class="findings">{tiles}</ul><details><summary>Settings tried</summary>'
        f"<pre>{escape(str(report))}</pre></details>"
    )


def _section(
    words: str, names: list[str], found: NodeEffects, strongest: float, neighbors: Sequence[tuple[float, str]]
) -> str:
    """Return the section of an object: picture, largest effects, clusters, descriptors and nearest training objects."""
    labels, node = found.graph.node_labels, "node" if found.molecule is None else "atom"
    columns = found.columns()
    least = NEGLIGIBLE * max([strongest, *(abs(one.effect) for one in columns)])
    title = f"{words}; {found.graph.n_nodes} {node}s, colored by their effects on the prediction"
    picture = found.to_svg(title, strongest, names)
    listed = [place for place in found.strongest(N_STRONGEST).tolist() if abs(found.effects[place]) > least]
    heads = (node, "effect") if labels is None else (node, "label", "effect")
    texts = [[] if labels is None else [shortened(str(labels[place]))] for place in listed]
    rows = [
        (shortened(names[place]), *text, f"{found.effects[place]:+.3g}")
        for place, text in zip(listed, texts, strict=True)
    ]
    table = html_table(heads, rows) if rows else f"<p>No {node} changes the prediction noticeably.</p>"
    figures = [f"<figure>{picture}<figcaption>Largest effects</figcaption>{table}</figure>"]
    figures += found.cluster_figures(least=least) if found.graph.n_nodes <= MAX_CLUSTERED else []
    shown = [(one.name, f"{one.deviation:+.2g}", f"{one.effect:+.3g}") for one in columns if abs(one.effect) > least]
    if shown:
        carried = abs(columns[0].effect) > float(np.abs(found.effects).max(initial=0.0))
        said = "Descriptors of the whole molecule have the largest effects" if carried else "Descriptors"
        heads = ("descriptor", "z-score", "effect")
        said += "; z-score: standard deviations from the mean of the training molecules"
        figures.append(f"<figure><figcaption>{said}</figcaption>{html_table(heads, shown)}</figure>")
    if neighbors:
        near = [(called, f"{distance:.3f}") for distance, called in neighbors]
        said = f"Nearest training {'graphs' if found.molecule is None else 'molecules'}"
        figures.append(f"<figure><figcaption>{said}</figcaption>{html_table(('name', 'distance'), near)}</figure>")
    return f'<section><h2>{escape(words)}</h2><div class="figures">{"".join(figures)}</div></section>'

"""One self-contained page that shows what atoms, and groups of them, do to predictions for molecules."""

import os
from collections.abc import Sequence
from html import escape
from string import Template
from typing import Any

import relaxwl
from relaxwl import drawing
from relaxwl.molecules import MoleculeExplanation
from relaxwl.predictors import FitReport
from relaxwl.reports import pages
from relaxwl.reports.effects import report_tiles

LEAD = (
    "Orange atoms raise the prediction, blue ones lower it: by how much it would change without what lies around them. "
    "Beside each molecule stand the groups of alike neighbourhoods that did most, with their atoms and their centres. "
    "Effects do not add up."
)


def write_molecules(
    explanations: Sequence[MoleculeExplanation],
    path: str | os.PathLike[str],
    *,
    title: str,
    report: FitReport,
    novelty: Sequence[float],
    truth: Sequence[Any] | None = None,
) -> None:
    """Write a page of explained molecules to a file, which is complete or not there at all.

    Parameters
    ----------
    explanations : sequence of MoleculeExplanation
        What ``explain`` of a predictor of molecules returned.
    path : path
        The file.
    title : str
        Headline of the page.
    report : FitReport
        The predictor's ``report_``.
    novelty : sequence of float
        What its ``novelty`` says of the same molecules.
    truth : sequence, optional
        What is known to be right.
    """
    known = [None] * len(explanations) if truth is None else truth
    sections = [_section(*one) for one in zip(explanations, novelty, known, strict=True)]
    page = Template(pages.template("report.html")).substitute(
        title=escape(title),
        version=escape(relaxwl.__version__),
        style=drawing.STYLE + pages.template("report.css").strip(),
        lead=LEAD,
        explorer="",
        provenance="",
        body=report_tiles(report) + "".join(sections),
    )
    pages.write(path, page)


def _section(explanation: MoleculeExplanation, novelty: float, truth: Any) -> str:
    from rdkit import Chem

    known = "" if truth is None else f"known: {truth}; "
    return (
        f"<section><h2>{escape(Chem.MolToSmiles(explanation.molecule))}</h2>"
        f"<p>{escape(known)}novelty {novelty:.2f}</p>{explanation.to_html()}</section>"
    )

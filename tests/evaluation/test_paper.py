"""The accuracies that the paper reports."""

import re

from relaxwl.evaluation.tables import PAPER_ACCURACIES, PAPER_DATASETS


def test_published_numbers_are_those_of_the_paper(shared):
    lines = (shared / "paper" / "paper.tex").read_text(encoding="utf-8").splitlines()
    names = {"VE-Hist": "ve-hist", "WL": "wl", "GS": "gs", "SP": "sp", "ODD-STh": "odd-sth", "WWL": "wwl", "PWL": "pwl"}
    names["R-WL*"] = "rwl-star"
    found = {}
    for name, *cells in (line.strip().split(" & ") for line in lines if r"\pm" in line and line.count(" & ") == 6):
        pairs = (tuple(map(float, re.findall(r"\d+\.\d+", cell))) or None for cell in cells)
        found[names[name]] = dict(zip(PAPER_DATASETS, pairs, strict=True))
    assert found == PAPER_ACCURACIES

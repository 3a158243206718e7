"""Pages and examples use the words of the field, in American spelling."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"api", "gallery", "command-line"}
PAGES = [
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not GENERATED & set(page.relative_to(ROOT).parts)),
    *sorted((ROOT / "examples").rglob("*.*")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "paper.md")),
]
# What must not be written, and what is written instead.
WORDS = {
    r"vert(?:ex|ices)\b(?! for node)": "node",
    r"neighbor": "neighbor",
    r"center|barycenter": "center",
    r"\w+labell": "labeled, relabeled, unlabeled",
    r"\w*(?:normaliz|quantiz|standardiz|optimiz|recognis)(?:e|ed|es|ing|ation)\b": "normalize, …",
    r"learned|color|behavior|license": "learned, color, behavior, license",
    r"one-class machine|linear machine": "SVM",
    r"dearer|honest|mends|as many as pay|stranger than|not to be had|goes on where|largest class": "see issue 30",
    r"groups? of (?:trees|neighborhoods|similar)|groupings?": "cluster, partition",
}
# Names of classes and files, and outputs, are not prose.
CODE = re.compile(r"```text\n.*?^```|`[^`\n]+`|VertexEdgeHistogram|NodeClusters|LABELED-EGOS", re.S | re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_words_of_the_field(page):
    text = CODE.sub(" ", page.read_text(encoding="utf-8"))
    found = {match[0]: right for wrong, right in WORDS.items() for match in re.finditer(wrong, text, re.I)}
    assert not found, f"{page.name}: write {found}"

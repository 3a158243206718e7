"""Code, messages, pages and examples use the words of the field, in American spelling."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GENERATED = {"api", "gallery", "command-line"}
PAGES = [
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not GENERATED & set(page.relative_to(ROOT).parts)),
    *sorted((ROOT / "examples").rglob("*.*")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "paper.md")),
]
CODE = [path for ending in ("py", "js", "html", "css") for path in sorted((ROOT / "src").rglob(f"*.{ending}"))]
# What must not be written, and what is written instead. The class brackets keep a renaming script off these lines.
SPELLING = {
    r"vert[e]x|vert[i]ces": "node",
    r"neighbo[u]r|behavi[o]ur|colo[u]r(?!s\.CSS)|favo[u]r": "neighbor, behavior, color, favor",
    r"(?:bary|\b)cent[r]e": "center",
    r"label[l](?:ed|ing)": "labeled, relabeled, unlabeled",
    r"(?:normal|quant|standard|optim|recogn|neutral|su[m]mar|initial)i[s](?:e|ed|es|ing|ation)\b": "normalize, …",
    r"learn[t]\b|licen[c]e\b": "learned, license",
}
PRIVATE = {
    r"\bMOST[_]": "MAX_",
    r"contestan[t]": "estimator",
    r"\b(?:Voting|linear |one-class )[Mm]achine": "SVM, model",
    r"\b(?:Held|Spread)?Crow[d]\b|\bFeedin[g]\b|\b[F]ed\b|_Belo[w]\b|\bkeep_wel[l]|\bin_tur[n]\b": "a plain name",
    r"refuse_beyond_memor[y]|complai[n]|stranger[s]\b|\badmi[t]\b|rooms of the hous[e]": "a plain name",
    r"\b(?:Trie[d]|GivenU[p]|Keepe[r]|Her[e])\(": "Trial, FailedRun, RecordKeeper, LocalTasks",
    r"groups? of (?:trees|neighborhoods|similar)|grouping[s]?\b": "cluster, partition",
    r"deare[r]|mend[s]\b|as many as pa[y]|not to be ha[d]|go[e]s on where|without a[n] answer": "plain words",
}
# Phrases that read like a translation: not on pages, nor in docstrings of public names.
TRANSLATED = (
    r"not met in fittin[g]|out of fol[d]\b|gone on [w]ith|to be ha[d]\b|what is not [t]here|where that is affordabl[e]|"
    r"[wW]hatever the|has little to coun[t]|standard st[d]|one a lin[e]\b|one a shar[d]\b|are no vector[s]|"
    r"speaks? (?:for|against) [at]|take par[t]\b|how sure it may b[e]|the way bac[k]\b|"
    r"[lL]ooks? at oute[r]|inside of [w]riting"
)
# Phrases of messages: not in code either.
MESSAGES = {
    r"no value at al[l]|machine code cannot be kep[t]|nobody reads [f]rom|[a]gain and again in|was taken as a[ ]kernel|"
    r"nothing was kep[t]|what [a]pplies:|says little[:]|what a kernel has to bea[t]|packed in a wa[y] that is not|"
    r"chosen by [i]tself|is no folder o[f]|and it goes o[n]\b|say with [m{]|forgets direction[s]": "a plain message"
}
PROSE = {
    r"hones[t]|stra[n]ger than|largest clas[s]|so this is a gues[s]|mean of the other[s]": "plain words",
    TRANSLATED: "plain English",
}
# Names of classes and files, and outputs, are not prose.
NAMES = re.compile(
    r"```text\n.*?^```|`[^`\n]+`|VertexEdgeHistogram|VertexHistogram|[Vv]ertex[-/ ]edge|says vertex for node",
    re.S | re.M,
)


@pytest.mark.parametrize("path", [*PAGES, *CODE], ids=lambda path: str(path.relative_to(ROOT)))
def test_words_are_those_of_the_field(path):
    text = path.read_text(encoding="utf-8")
    words = SPELLING | PRIVATE | MESSAGES if path in CODE else SPELLING | PRIVATE | MESSAGES | PROSE
    text = NAMES.sub(" ", text) if path in PAGES else text.replace("VertexEdgeHistogram", "").replace("Vertex-edge", "")
    found = {match[0]: right for wrong, right in words.items() for match in re.finditer(wrong, text)}
    assert not found, f"{path.name}: write {found}"

"""The report: self-contained, well-formed, honest about what it holds."""

import html
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from evaluation.records import SETTINGS, described, repetitions, table_of_four
from relaxwl.evaluation import Results
from relaxwl.evaluation.tables import PAPER_ACCURACIES
from relaxwl.reports import render_report, write_report

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Checker(HTMLParser):
    """Checks that elements are closed in order, and collects identifiers, links and text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.identifiers, self.attributes, self.text = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.attributes += attributes
        self.identifiers += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


@pytest.fixture(scope="module")
def page():
    return render_report(table_of_four(), reference=PAPER_ACCURACIES)


def test_page_is_well_formed(page):
    checked = Checker(page)
    assert checked.open == []
    assert len(set(checked.identifiers)) == len(checked.identifiers)
    inner = [value[1:] for name, value in checked.attributes if name == "href" and value.startswith("#")]
    assert set(inner) <= set(checked.identifiers)


def test_page_needs_nothing_from_elsewhere(page):
    for name, value in Checker(page).attributes:
        if name in ("href", "src", "xlink:href"):
            assert value.startswith(("#", "data:"))
    assert "<script" not in page
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_page_holds_the_findings(page):
    text = " ".join(Checker(page).text)
    for words in ("87.50 ± 12.50", "R-WL*", "68.70 ± 1.15", "out of time", "max_depth 2 (100 %)", "0.250 s + 2.0 s"):
        assert words in text
    assert "prefers-color-scheme: dark" in page
    assert page.count("<svg") == 2 + 1


def test_bars_are_explained_only_where_there_are_some(page):
    assert "Bars show one standard deviation" in page
    once = render_report(Results([*repetitions((1.0, 0.5)), described()]))
    assert "Bars show" not in once
    assert "±" not in once.replace("Numbers without ±", "")
    assert "The dotted line" in once


def test_tables_with_many_columns_are_set_closer():
    record = replace(described(), distinct_trees=[1, 5, 9, 9, 9])
    page = render_report(Results([*repetitions((1.0, 0.5)), record]))
    assert page.count('class="scroll wide"') == 1


def test_names_cannot_break_the_page():
    dangerous = '<script>alert("x")</script>'
    results = Results([*repetitions((1.0, 1.0), dataset=dangerous, title="a & b"), described(dangerous)])
    page = render_report(results, title=dangerous)
    assert "<script" not in page
    assert Checker(page).open == []


def test_kernels_that_tie_are_all_named():
    tied = [*repetitions((1.0, 0.5), kernel="wl", title="WL"), *repetitions((0.5, 1.0), kernel="sp", title="SP")]
    worse = repetitions((0.5, 0.5), kernel="gs", title="GS")
    text = " ".join(Checker(render_report(Results([*tied, *worse]))).text)
    assert "75.0 % WL and SP  best on EGO-1; majority-class baseline" in text


def test_regression_is_shown_by_its_score():
    records = [
        replace(record, accuracy=None, parameters={}, targets=[1.0, 3.0], scores={"rmse": 0.5, "mae": 0.25})
        for record in repetitions((1.0, 0.5), (0.5, 0.5), settings=SETTINGS | {"task": "regression"})
    ]
    page = render_report(Results([*records, described()]))
    text = " ".join(Checker(page).text)
    assert "RMSE in 2 repetitions" in text
    assert "0.500 wl  best on EGO-1; mean predictor 1.000" in text
    assert "%" not in text
    for absent in ("accuracy", "classifier", "classes", "Chosen parameters"):
        assert absent not in text
    assert "<h2>MAE</h2>" in render_report(Results(records), metric="mae")


def test_links_to_the_explorer():
    results = Results(repetitions((1.0, 1.0)))
    for address, link in (
        ("my page.html", "my%20page.html"),
        ("https://example.org/a?b=1&c=%20", "https://example.org/a?b=1&amp;c=%20"),
        ("javascript:alert(1)", "javascript%3Aalert%281%29"),
    ):
        assert f'href="{link}"' in render_report(results, explorer=address)


def test_runs_with_other_settings_get_sections_of_their_own():
    other = repetitions((0.5, 0.5), settings=SETTINGS | {"protocol": "inductive"}, fingerprint="other")
    page = render_report(Results([*repetitions((1.0, 1.0)), *other]))
    assert "Run 1 (transductive): Accuracy" in page
    assert "Run 2 (inductive): Accuracy" in page
    assert len(set(Checker(page).identifiers)) == len(Checker(page).identifiers)


def test_same_results_give_the_same_page(page):
    assert render_report(table_of_four(), reference=PAPER_ACCURACIES) == page


def test_without_matplotlib_there_are_tables(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = render_report(table_of_four())
    assert "<svg" not in page
    assert "87.50 ± 12.50" in page
    assert Checker(page).open == []


def test_nothing_to_report_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="no results to report"):
        write_report(Results([]), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("width", [500, 1200])
def test_page_does_not_scroll_sideways(tmp_path, page, width):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.importorskip("conftest").unavailable("Chromium")
    measuring = "<script>document.title = 'width ' + document.documentElement.scrollWidth</script></body>"
    (tmp_path / "report.html").write_text(page.replace("</body>", measuring))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},800", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path / 'report.html'}"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert int(re.search(r"<title>width (\d+)</title>", shown).group(1)) <= width


@pytest.mark.parametrize("name", ["$x^{$", "a $5 set", "$$", "\\$\\frac{", "_x", "\ud800", "a\x00b\n", "<&>"])
def test_names_are_shown_as_they_are(tmp_path, name):
    pytest.importorskip("matplotlib")
    of = {"dataset": name, "kernel": f"k{name}"}
    records = [*repetitions((1, 0.5), (0.5, 1), **of), described(name)]
    write_report(Results(records), tmp_path / "page.html", title=name)
    page = (tmp_path / "page.html").read_bytes().decode()
    if name.isprintable():
        assert html.unescape(page).count(name) > 3

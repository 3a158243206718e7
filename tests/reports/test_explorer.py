"""The explorer page as text: escaping, size, determinism, and data that says what the explanation says."""

import json
import re

import pytest

from relaxwl.reports.explorer import embedded_json, render_explorer, write_explorer
from reports.explorer_pages import NASTY, data_of, egonets, nasty, page_of


@pytest.mark.slow
def test_page_is_deterministic_and_self_contained():
    page = page_of("egonets")
    assert page == render_explorer(egonets(), title="Ego networks")
    assert "<title>Ego networks</title>" in page
    assert not re.search(r'(src|href)\s*=\s*"(?!#|data:)', page)
    assert "default-src 'none'" in page
    assert len(page) < 1_000_000
    for heading in ("The center", "By class", "Where it is found"):
        assert f'"{heading}"' in page


def test_labels_and_titles_cannot_break_out():
    page = page_of("nasty", "<script>alert(0)</script>")
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert "&lt;script&gt;alert(0)" in page
    data = data_of(page)
    assert set(NASTY[:4]) <= set(data["labels"])
    assert data["meta"]["classes"] == nasty().classes.tolist()
    assert [NASTY[0], NASTY[0]] in data["edges"]


@pytest.mark.parametrize("text", [*NASTY, "<!--", "]]>"])
def test_embedded_json_round_trips_without_markup(text):
    embedded = embedded_json({"a": [text]})
    assert not set("<>&") & set(embedded)
    assert json.loads(embedded) == {"a": [text]}


def test_lead_says_how_the_accuracy_was_found():
    accuracy = f"{100 * egonets().model.accuracy:.1f}"
    page = page_of("egonets")
    assert f"classifies {accuracy} % of held-out graphs correctly (nested cross-validation)" in page
    assert f"majority-class baseline {100 * egonets().target.chance:.1f} %" in page


def test_file_is_written(tmp_path):
    path = tmp_path / "explorer.html"
    write_explorer(egonets(), path, title="Ego networks")
    assert path.read_text(encoding="utf-8") == page_of("egonets")

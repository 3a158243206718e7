from comparison.random_graphs import DENSE, SPARSE
from relaxwl import two_sample_test
from relaxwl.reports import render_comparison, write_comparison


def test_the_page_shows_views_differences_and_graphs(tmp_path):
    result = two_sample_test(SPARSE, DENSE, n_permutations=99, random_state=0)
    page = render_comparison(result, title="Sparse & dense", explorer="clusters.html")
    assert "<h1>Sparse &amp; dense</h1>" in page
    assert 'href="clusters.html"' in page
    assert page.count("<section>") == 3
    assert all(row[0] in page for row in result.explain().rows(3))
    assert page.count("<figure>") > 12
    write_comparison(result, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")

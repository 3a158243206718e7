"""A researcher: distances, kernels compared on equal folds, significance, tables for a paper, and seeds."""

import numpy as np

import relaxwl
from journeys.steps import walk
from relaxwl.evaluation import cross_validate, results_table


def journey(folder):
    """Walk the journey."""
    graphs, y = relaxwl.datasets.make_egonets(32, level=1, n_nodes=20, random_state=0)
    first, second = (relaxwl.unfolding_tree(graphs[place], 0, 2) for place in (0, 1))
    distance = relaxwl.tree_edit_distance(first, second)
    assert distance >= 0
    assert relaxwl.tree_edit_distance(first, first) == 0

    kernel = relaxwl.RelaxedWeisfeilerLehman(2, 2, random_state=0)
    one = kernel.fit_kernel_matrix(graphs)
    two = relaxwl.RelaxedWeisfeilerLehman(2, 2, random_state=0, n_jobs=2).fit_kernel_matrix(graphs)
    np.testing.assert_array_equal(one, two)
    assert np.linalg.eigvalsh(one).min() > -1e-6 * np.linalg.eigvalsh(one).max()

    options = {"n_folds": 4, "n_repeats": 2, "depths": [1, 2], "store": folder / "results.jsonl", "dataset": "ego"}
    results = cross_validate({"WL": relaxwl.WeisfeilerLehman(), "R-WL*": kernel}, graphs, y, **options)
    assert results.cell("ego", "WL").has_spread
    for metric in ("accuracy", "balanced_accuracy", "mcc"):
        assert np.isfinite(results.cell("ego", "WL", metric).mean)
    latex = results_table(results).to_latex()
    assert r"\toprule" in latex
    assert "R-WL*" in latex
    table = results.to_pandas()
    assert len(table) == 2 * 2 * 4
    again = cross_validate({"WL": relaxwl.WeisfeilerLehman(), "R-WL*": kernel}, graphs, y, **options)
    assert again.cell("ego", "R-WL*").accuracies == results.cell("ego", "R-WL*").accuracies

    explanation = relaxwl.explanation.explain(
        relaxwl.RelaxedWeisfeilerLehman(1, 1, random_state=0), graphs, y, random_state=0
    )
    relaxwl.reports.write_explorer(explanation, folder / "page.html", title="Ego networks")
    assert "Ego networks" in (folder / "page.html").read_text()


if __name__ == "__main__":
    walk(journey)

"""The table of a fit."""

from dataclasses import replace

from relaxwl.predictors import FitReport
from relaxwl.predictors.report import Trial

TRIED = (Trial("all", 0.812, "C = 4"), Trial("exact", 0.5))
REPORT = FitReport(
    "9 graphs", "accuracy", "cross-validated", TRIED, "all", 0.812, True, 0.25, "majority class", ("WL", "R-WL*"),
    ("paths",), (), 2.0,
)  # fmt: skip


def test_what_was_chosen_is_marked_and_numbers_stand_below_each_other():
    assert str(REPORT).splitlines() == [
        "9 graphs",
        "kernels: WL, R-WL*",
        "                accuracy, cross-validated",
        "all              81.2 %  C = 4  <- chosen",
        "exact            50.0 %",
        "majority class   25.0 %",
        "left out: paths",
        "2.0 s",
    ]


def test_errors_are_no_percentages():
    report = replace(REPORT, metric="RMSE", baseline_name="mean")
    assert report.number(0.123456) == "0.1235"
    assert "mean   0.25" in str(report)
    assert replace(REPORT, metric="weighted accuracy").number(0.5) == " 50.0 %"

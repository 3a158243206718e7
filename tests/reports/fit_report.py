"""What a predictor says of its fit."""

from relaxwl.predictors import FitReport
from relaxwl.predictors.report import Trial

REPORT = FitReport(
    "3 graphs", "accuracy", "cross-validated", (Trial("all", 0.8),), "all", 0.8, True, 0.6, "majority class", ("WL",),
    (), (), 1.0,
)  # fmt: skip

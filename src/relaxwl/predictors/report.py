"""The ``report_`` of a fit: settings that were tried, the chosen one, and scores."""

from dataclasses import dataclass
from html import escape

import numpy as np

from relaxwl.learning.heads import Trial


@dataclass(frozen=True)
class FitReport:
    """A summary of a fit; printing it shows a table.

    Attributes
    ----------
    task : str
        The task in words.
    metric : str
        Name of the score.
    validation : str
        The validation, such as "cross-validated".
    tried : tuple of Trial
        The settings that were compared.
    chosen : str
        Name of the chosen setting.
    score : float
        Its cross-validated score. It was chosen by these scores, so it is a little optimistic.
    greater_is_better : bool
        Whether larger scores are better.
    baseline : float
        The same score of the majority-class baseline, or of the mean predictor.
    baseline_name : str
        Name of the constant prediction.
    kernels : tuple of str
        The kernels that were fitted.
    left_out : tuple of str
        Kernels and settings that were not tried, with reasons.
    warnings : tuple of str
        Warnings about the score.
    seconds : float
        Duration of the fit.
    """

    task: str
    metric: str
    validation: str
    tried: tuple[Trial, ...]
    chosen: str
    score: float
    greater_is_better: bool
    baseline: float
    baseline_name: str
    kernels: tuple[str, ...]
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        width = max(len(name) for name in (self.baseline_name, *(one.name for one in self.tried)))
        lines = [self.task, f"kernels: {', '.join(self.kernels)}", f"{'':{width}}  {self.metric}, {self.validation}"]
        scores = [one.score for one in self.tried]
        best = max(scores) if self.greater_is_better else min(scores)
        for one in self.tried:
            mark = "  <- chosen" if one.name == self.chosen and len(self.tried) > 1 else ""
            if mark and one.score != best:
                mark += ": within one standard error of the best"
            detail = "" if len(self.tried) == 1 else one.detail and "  " + one.detail
            lines.append(f"{one.name:{width}}  {self.number(one.score)}{detail}{mark}")
        lines.append(f"{self.baseline_name:{width}}  {self.number(self.baseline)}")
        # The only setting is that of a Gaussian process: its weights, each on a line.
        details = self.tried[0].detail.split("; ") if len(self.tried) == 1 and self.tried[0].detail else []
        lines += [f"{' ' * len('weights: ') if place else ''}{detail}" for place, detail in enumerate(details)]
        lines += [f"left out: {reason}" for reason in self.left_out]
        lines += [f"note: {warning}" for warning in self.warnings]
        lines.append(f"{self.seconds:.1f} s")
        return "\n".join(lines)

    def number(self, value: float) -> str:
        """Return a score as text for the report.

        Parameters
        ----------
        value : float
            The score.

        Returns
        -------
        str
            The formatted score.
        """
        return f"{100 * value:5.1f} %" if self.metric.endswith("accuracy") else f"{value:.4g}"

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        return f"<pre>{escape(str(self))}</pre>"


@dataclass(frozen=True)
class FitReports:
    """Reports of several targets; printing it shows one line per target and the mean.

    Attributes
    ----------
    names : tuple of str
        Names of the targets with a model.
    reports : tuple of FitReport
        One for each target with a model.
    """

    names: tuple[str, ...]
    reports: tuple[FitReport, ...]

    @property
    def score(self) -> float:
        """Mean score of the targets with a model."""
        return float(np.nanmean([report.score for report in self.reports])) if self.reports else float("nan")

    @property
    def seconds(self) -> float:
        """Duration of the fit."""
        return max((report.seconds for report in self.reports), default=0.0)

    def __str__(self) -> str:
        if not self.reports:
            return "no target has two classes"
        first = self.reports[0]
        width = max(len(name) for name in (*self.names, "mean"))
        validation = " or ".join(dict.fromkeys(report.validation for report in self.reports))
        lines = [f"{'':{width}}  {first.metric}, {validation} ({first.baseline_name})"]
        for name, report in zip(self.names, self.reports, strict=True):
            numbers = f"{report.number(report.score)} ({report.number(report.baseline)})"
            lines.append(f"{name:{width}}  {numbers}  {report.task}; {report.chosen}")
        lines.append(f"{'mean':{width}}  {first.number(self.score)}")
        lines += [f"left out: {reason}" for reason in first.left_out]
        lines += [
            f"note: {name}: {text}" for name, one in zip(self.names, self.reports, strict=True) for text in one.warnings
        ]
        lines.append(f"{self.seconds:.1f} s")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the reports in a notebook."""
        return f"<pre>{escape(str(self))}</pre>"
